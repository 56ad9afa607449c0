/* SPDX-License-Identifier: Apache-2.0 */
/* What the case_*.c files share: the table of tensors, and how a layout arranges their dimensions. */
#ifndef CASE_SLOTS_H
#define CASE_SLOTS_H

#include "case.h"

/* What a tensor's elements may be. */
typedef enum case_kind {
    CASE_KIND_REAL,    /* F32, F16, BF16 or F64 */
    CASE_KIND_F32,     /* the library takes nothing else there */
    CASE_KIND_INTEGER, /* I32 or I64 */
    CASE_KIND_BOOL
} case_kind;

typedef struct case_slot_row {
    const char *name;
    case_kind kind;
    /*
     * A letter a dimension, in the order (batch, head, row, column): B batch entries, H query heads, G key heads, N
     * rows, M keys, D columns of q, E columns of v, C batch entries + 1. '*': the library checks it.
     */
    const char *dims;
} case_slot_row;

extern const case_slot_row case_slot_rows[CASE_SLOTS];

/* The slot with this name, or CASE_SLOTS. */
case_slot case_slot_of(const char *name);

/* The letters of a slot's dimensions in the order in which a layout has them in memory. */
typedef struct case_dims {
    char letters[5]; /* terminated */
    int rank;
} case_dims;
case_dims case_dims_of(case_slot slot, case_layout layout);

/* A tensor seen as (batch, head, row, column), whatever the layout; absent dimensions are 1. For slots whose dims begin
 * with batch and head. */
typedef struct case_view {
    int64_t shape[4];
    int64_t strides[4]; /* in elements */
} case_view;
/* 0 says that a stride does not fit int64_t, which happens to empty tensors only. */
int case_view_of(case_slot slot, case_layout layout, const case_tensor *tensor, case_view *view);

/* 1 and the product, or 0 if it does not fit. Neither factor is negative. */
int case_multiply(int64_t a, int64_t b, int64_t *product);
/* Elements of a shape; 0 says that they do not fit. */
int case_count(int rank, const int64_t *shape, int64_t *count);

/* Frees what the tensor owns and leaves none. */
void case_tensor_free(case_tensor *tensor);

/* Every option absent. */
case_options case_options_default(void);

/* The text of an option as it stands in a file; "" if it has its default value. */
typedef struct case_option_text {
    const char *key;
    char value[40];
} case_option_text;
enum { CASE_OPTIONS = 11 };
void case_options_format(const case_options *options, case_option_text texts[CASE_OPTIONS]);

#endif
