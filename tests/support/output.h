/* SPDX-License-Identifier: Apache-2.0 */
/* Poisoned and guarded outputs of a problem. */
#ifndef TEST_SUPPORT_OUTPUT_H
#define TEST_SUPPORT_OUTPUT_H

#include "random_problem.h"

typedef struct test_output {
    test_tensor o;
    test_tensor lse; /* [.., .., row, 1]; data NULL where the problem has none */
} test_output;

/* Poisoned outputs of the problem's layout, with margins on all sides. */
test_output test_output_make(const attn_problem *problem);
void test_output_free(test_output *output);
void test_output_poison(test_output *output);
/* 1 if nothing beside the elements of the outputs was written. */
int test_output_gaps_intact(const test_output *output);
/* 1 if nothing at all was written. */
int test_output_untouched(const test_output *output);
/* The case's inputs with these outputs. */
attn_tensors test_tensors_with(const test_case *source, const test_output *output);
/* 1 if both hold the same bits. The layouts may differ, the types may not. */
int test_output_same_bits(const test_output *a, const test_output *b);
/* The bits of one row of o and its lse are the same in both. */
int test_row_same_bits(const test_output *a, int64_t ab, int64_t ah, int64_t arow, const test_output *b, int64_t bb,
                       int64_t bh, int64_t brow);

#endif
