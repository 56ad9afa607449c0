/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention problems with their tensors, made from a seed.
 *
 * A recipe says what is to be made, in a few numbers; test_recipe_random draws one, test_recipe_plain takes an
 * attn_problem. A case holds the tensors. Everything in it that no row may use by the rule of lengths and windows, and
 * every gap between elements, is garbage (NaN, Inf or huge), so that its use shows in the result.
 *
 * Which keys a row may see is written here a second time, pair by pair and straight from the definition: the library's
 * own functions are what is being tested.
 */
#ifndef TEST_SUPPORT_RANDOM_PROBLEM_H
#define TEST_SUPPORT_RANDOM_PROBLEM_H

#include "recipe.h"
#include "tensor.h"

typedef struct test_sequence {
    int64_t batch_q, batch_kv; /* index in the tensors: 0 where they are packed */
    int64_t row0, key0;        /* first row and key in the tensors */
    int64_t rows, keys;        /* room in the tensors */
    int64_t q_len, kv_len;     /* in use */
    int64_t q_offset;
} test_sequence;

typedef struct test_case {
    test_recipe recipe;
    attn_problem problem; /* defaults of heads_kv, dim_v and scale filled in; strides as in the recipe */
    attn_tensors tensors; /* inputs only */
    test_tensor q, k, v, bias, mask;
    test_sequence *sequences; /* one a batch entry */
    float *slopes, *sinks;    /* or NULL */
    test_block slopes_block, sinks_block;
    test_block q_lens, kv_lens, cu_q, cu_kv, q_offsets;
} test_case;

test_case *test_case_make(const test_recipe *recipe);
/* The same numbers as contiguous tensors of another type, bias included. */
test_case *test_case_convert(const test_case *source, attn_type type);
void test_case_free(test_case *source);

/* 1 if query row i of batch entry b and query head h may see key j. */
int test_may_see(const test_case *source, int64_t b, int64_t h, int64_t i, int64_t j);
/* Bias of that pair; 0 without a bias, -inf beyond its last column. */
double test_bias_at(const test_case *source, int64_t b, int64_t h, int64_t i, int64_t j);

#endif
