/* SPDX-License-Identifier: Apache-2.0 */
#include "base/philox.h"

/* Multipliers and Weyl key increments of the paper's section 4.3. */
#define PHILOX_M0 UINT32_C(0xD2511F53)
#define PHILOX_M1 UINT32_C(0xCD9E8D57)
#define PHILOX_W0 UINT32_C(0x9E3779B9)
#define PHILOX_W1 UINT32_C(0xBB67AE85)
enum { PHILOX_ROUNDS = 10 };

void attn_philox_4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t product0 = (uint64_t)PHILOX_M0 * c0;
        uint64_t product1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)product1;
        c3 = (uint32_t)product0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

attn_dropout attn_dropout_make(double p, uint64_t seed, uint64_t offset) {
    attn_dropout dropout;
    dropout.key[0] = (uint32_t)seed;
    dropout.key[1] = (uint32_t)(seed >> 32) ^ (uint32_t)(offset >> 32);
    dropout.offset_low = (uint32_t)offset;
    dropout.threshold = (uint32_t)(p * 0x1p32); /* p < 1, so the floor fits */
    dropout.keep_scale = 1.0 / (1.0 - p);
    return dropout;
}

void attn_dropout_keep(const attn_dropout *dropout, int64_t head_index, int64_t row, int64_t quad, uint8_t keep[4]) {
    uint32_t counter[4] = {(uint32_t)quad, (uint32_t)row, (uint32_t)head_index, dropout->offset_low};
    uint32_t words[4];
    attn_philox_4x32_10(counter, dropout->key, words);
    for (int n = 0; n < 4; n++) keep[n] = words[n] >= dropout->threshold;
}
