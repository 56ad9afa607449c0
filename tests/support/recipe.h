/* SPDX-License-Identifier: Apache-2.0 */
/* What a random attention problem is made from, in a few numbers; random_problem.h makes the tensors. */
#ifndef TEST_SUPPORT_RECIPE_H
#define TEST_SUPPORT_RECIPE_H

#include "attn/attn.h"

typedef enum test_garbage {
    TEST_GARBAGE_NAN,
    TEST_GARBAGE_INFINITY,
    TEST_GARBAGE_HUGE,
    TEST_GARBAGE_MIXED
} test_garbage;

typedef struct test_recipe {
    attn_problem problem;                     /* zero strides are left to the library's default */
    uint64_t seed;                            /* of the data */
    double q_size, k_size, v_size, bias_size; /* standard deviations */
    int mask_percent; /* of the runs of mask_run keys that may be seen; a fifth of the rows is all or nothing */
    int64_t mask_run;
    int bias_hidden_percent;                        /* of the runs of mask_run keys whose bias is -inf */
    int full_lengths_percent, zero_lengths_percent; /* of the batch entries; the others have random lengths */
    test_garbage garbage;
    int unaligned; /* base addresses are multiples of the element size only */
    int plain;     /* nothing but shapes, scale and window: what the yardstick of accuracy is taken from */
} test_recipe;

/* Problem number `index` of the grid with this seed. */
test_recipe test_recipe_random(uint64_t seed, uint64_t index);
/* The problem as it is, unit normal data, full lengths. */
test_recipe test_recipe_plain(const attn_problem *problem, uint64_t seed);
/* One line of text. */
void test_recipe_describe(const test_recipe *recipe, char *text, size_t size);

#endif
