/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that look random and are the same on every machine: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
#ifndef TEST_SUPPORT_PRNG_H
#define TEST_SUPPORT_PRNG_H

#include <stdint.h>

typedef struct test_prng {
    uint64_t state;
} test_prng;

/* Different (seed, stream) give unrelated sequences. */
test_prng test_prng_make(uint64_t seed, uint64_t stream);
uint64_t test_prng_next(test_prng *prng);
/* low .. high, both included. */
int64_t test_prng_range(test_prng *prng, int64_t low, int64_t high);
/* 1 in `percent` of 100 cases. */
int test_prng_chance(test_prng *prng, int percent);
/* [0, 1) */
double test_prng_uniform(test_prng *prng);
/* Mean 0, variance 1, and bounded (|x| < 6): the sum of twelve uniform numbers. */
double test_prng_normal(test_prng *prng);
/* One of the count numbers. */
int64_t test_prng_pick(test_prng *prng, const int64_t *numbers, int count);

#endif
