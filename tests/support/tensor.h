/* SPDX-License-Identifier: Apache-2.0 */
/* A strided tensor of four dimensions in guarded memory. */
#ifndef TEST_SUPPORT_TENSOR_H
#define TEST_SUPPORT_TENSOR_H

#include "attn/attn.h"
#include "guarded.h"
#include "prng.h"

typedef struct test_tensor {
    attn_type type;
    int64_t shape[4];
    int64_t strides[4]; /* in elements, as in attn_problem */
    void *data;         /* element (0, 0, 0, 0) */
    test_block block; /* from the lowest element (and the margin before it) to the highest (and the margin after it) */
} test_tensor;

/* Strides of a tensor stored densely with dimension order[0] outermost and order[3] innermost. */
void test_dense_strides(const int64_t shape[4], const int order[4], int64_t strides[4]);
/* The order that a packed tensor has by default: rows, then heads, then columns. */
extern const int test_order_bhsd[4];
extern const int test_order_bshd[4];

/* What random strides may do; nothing of it makes elements overlap but TEST_STRIDES_BROADCAST. */
enum { TEST_STRIDES_NEGATIVE = 1, TEST_STRIDES_BROADCAST = 2, TEST_STRIDES_COLUMN_STEP = 4 };
void test_random_strides(test_prng *prng, const int64_t shape[4], unsigned allowed, int64_t strides[4]);

int64_t test_tensor_count(const test_tensor *tensor);
/* Takes memory for the type, shape and strides that are set: margin elements are left free on both sides. */
void test_tensor_allocate(test_tensor *tensor, test_block_edge edge, int64_t slack_elements, int64_t margin_elements);
void test_tensor_free(test_tensor *tensor);

int64_t test_tensor_offset(const test_tensor *tensor, int64_t b, int64_t h, int64_t row, int64_t column);
double test_tensor_get(const test_tensor *tensor, int64_t b, int64_t h, int64_t row, int64_t column);
void test_tensor_set(test_tensor *tensor, int64_t b, int64_t h, int64_t row, int64_t column, double value);
/* Every element of source, converted. The shapes are the same. */
void test_tensor_copy(test_tensor *target, const test_tensor *source);

/* Fills the whole block, margins and gaps included, with numbers that are NaN in every floating-point type. */
void test_tensor_poison(test_tensor *tensor);
/* 1 if every byte of the block that belongs to no element still holds what test_tensor_poison wrote. */
int test_tensor_gaps_intact(const test_tensor *tensor);
/* 1 if the whole block still does. */
int test_tensor_untouched(const test_tensor *tensor);

#endif
