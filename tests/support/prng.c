/* SPDX-License-Identifier: Apache-2.0 */
#include "prng.h"

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

test_prng test_prng_make(uint64_t seed, uint64_t stream) {
    test_prng prng = {mix(mix(seed + UINT64_C(0x9E3779B97F4A7C15)) ^ mix(stream + UINT64_C(0xD1B54A32D192ED03)))};
    return prng;
}

uint64_t test_prng_next(test_prng *prng) {
    prng->state += UINT64_C(0x9E3779B97F4A7C15);
    return mix(prng->state);
}

int64_t test_prng_range(test_prng *prng, int64_t low, int64_t high) {
    return low + (int64_t)(test_prng_next(prng) % ((uint64_t)(high - low) + 1));
}

int test_prng_chance(test_prng *prng, int percent) {
    return test_prng_range(prng, 0, 99) < percent;
}

double test_prng_uniform(test_prng *prng) {
    return (double)(test_prng_next(prng) >> 11) * 0x1p-53;
}

double test_prng_normal(test_prng *prng) {
    /* Each 64-bit number holds four 16-bit uniform ones. */
    int64_t sum = 0;
    for (int n = 0; n < 3; n++) {
        uint64_t bits = test_prng_next(prng);
        sum += (int64_t)(bits & 0xFFFF) + (int64_t)((bits >> 16) & 0xFFFF);
        sum += (int64_t)((bits >> 32) & 0xFFFF) + (int64_t)(bits >> 48);
    }
    return (double)sum * 0x1p-16 - 6.0;
}

int64_t test_prng_pick(test_prng *prng, const int64_t *numbers, int count) {
    return numbers[test_prng_range(prng, 0, count - 1)];
}
