/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a problem as a table, so that every check of them is one loop. */
#ifndef ATTN_PROBLEM_TENSOR_H
#define ATTN_PROBLEM_TENSOR_H

#include "problem/problem.h"

typedef enum attn_tensor_id {
    ATTN_TENSOR_O, /* the outputs come first */
    ATTN_TENSOR_LSE,
    ATTN_TENSOR_Q,
    ATTN_TENSOR_K,
    ATTN_TENSOR_V,
    ATTN_TENSOR_BIAS,
    ATTN_TENSOR_MASK,
    ATTN_TENSOR_ALIBI_SLOPES,
    ATTN_TENSOR_SINKS,
    ATTN_TENSOR_Q_LENS,
    ATTN_TENSOR_KV_LENS,
    ATTN_TENSOR_CU_SEQLENS_Q,
    ATTN_TENSOR_CU_SEQLENS_KV,
    ATTN_TENSOR_Q_OFFSETS
} attn_tensor_id;

enum { ATTN_OUTPUTS = ATTN_TENSOR_LSE + 1, ATTN_TENSORS = ATTN_TENSOR_Q_OFFSETS + 1 };

typedef struct attn_tensor {
    const char *name;
    int named; /* the problem has it */
    attn_type type;
    int64_t shape[4]; /* (batch, head, row, column); 1 where it has no such dimension, or is packed */
    int64_t strides[4];
} attn_tensor;

/* The problem has to be completed; of shape and strides alone, in so far as they are. */
attn_tensor attn_tensor_of(const attn_problem *problem, attn_tensor_id id);

/* Where the problem names the tensor: "ATTN_WITH_LSE", "problem.bias". Static storage. */
const char *attn_tensor_named_by(attn_tensor_id id);

/* The pointer of one run. */
const void *attn_tensor_data(const attn_tensors *tensors, attn_tensor_id id);

/* 1 if it has no element. */
int attn_tensor_empty(const attn_tensor *tensor);

attn_extent attn_tensor_extent(const attn_tensor *tensor, const void *data);

/* Bytes of memory behind it, an element that strides of 0 repeat counted once. */
double attn_tensor_bytes(const attn_tensor *tensor);

#endif
