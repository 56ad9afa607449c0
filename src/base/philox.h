/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), the generator
 * of dropout: a function of its counter and key alone. */
#ifndef ATTN_BASE_PHILOX_H
#define ATTN_BASE_PHILOX_H

#include <stdint.h>

void attn_philox_4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* What decides dropout for one run. Made once from the problem's probability and the run's seed and offset. */
typedef struct attn_dropout {
    uint32_t key[2];
    uint32_t offset_low;
    uint32_t threshold; /* a word below it drops: floor(p * 2^32) */
    double keep_scale;  /* 1 / (1 - p) */
} attn_dropout;

attn_dropout attn_dropout_make(double p, uint64_t seed, uint64_t offset);

/*
 * Four decisions at once, for keys 4 * quad .. 4 * quad + 3 of one row: keep[n] is 1 or 0. The counter is
 * {quad, row, head_index, low half of offset}, the key {low half of seed, high half of seed ^ high half of offset};
 * head_index is b * Hq + h; each word is the low 32 bits of its number. Word n of the output decides key 4 * quad + n.
 */
void attn_dropout_keep(const attn_dropout *dropout, int64_t head_index, int64_t row, int64_t quad, uint8_t keep[4]);

#endif
