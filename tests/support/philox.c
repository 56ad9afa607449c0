/* SPDX-License-Identifier: Apache-2.0 */
#include "philox.h"

#include <math.h>

void test_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    for (uint32_t round = 0; round < 10; round++) {
        uint64_t even = (uint64_t)x0 * 0xD2511F53U, odd = (uint64_t)x2 * 0xCD9E8D57U;
        uint32_t k0 = key[0] + round * 0x9E3779B9U, k1 = key[1] + round * 0xBB67AE85U;
        x0 = (uint32_t)(odd >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)odd;
        x2 = (uint32_t)(even >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)even;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}

int test_dropout_keeps(double p, uint64_t seed, uint64_t offset, int64_t batch, int64_t heads, int64_t head,
                       int64_t row, int64_t key) {
    const uint32_t counter[4] = {(uint32_t)(key / 4), (uint32_t)row, (uint32_t)(batch * heads + head),
                                 (uint32_t)offset};
    const uint32_t philox_key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32) ^ (uint32_t)(offset >> 32)};
    uint32_t words[4];
    test_philox(counter, philox_key, words);
    return (double)words[key % 4] >= floor(p * 4294967296.0);
}
