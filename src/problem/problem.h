/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that checks a problem, fills in its defaults, and says which keys a row may see. It knows no backend.
 *
 * A *completed* problem is an attn_problem in which nothing is left to default: types, sizes, strides and scale are
 * explicit (attn_problem_complete in attn.h makes it). Every function here but the checks wants a completed one.
 *
 * In a completed problem: strides of packed tensors are for (unused, head, row, column); bias and mask have stride 0 in
 * every dimension of size 1; strides of lse are explicit also without ATTN_WITH_LSE.
 */
#ifndef ATTN_PROBLEM_PROBLEM_H
#define ATTN_PROBLEM_PROBLEM_H

#include "attn/attn.h"

/* ------------------------------------------------------------------------------------------------- checks (check.c) */

/* Pointers, lengths and overlaps of one run. Reads the length tensors, nothing else. */
attn_status attn_tensors_check(const attn_problem *completed, const attn_tensors *tensors, attn_reason *reason);

/* struct_size as the caller's header has it, or ATTN_ERROR_ARGUMENT with both sizes in the reason. */
attn_status attn_check_struct_size(const char *name, size_t given, size_t expected, attn_reason *reason);

/* ---------------------------------------------------------------------------------------------- overlap (overlap.c) */

/* A strided set of elements in memory. Its bytes from first to last fit ptrdiff_t. */
typedef struct attn_extent {
    const void *data;
    size_t element_size;
    int rank; /* at most 4 */
    int64_t shape[4];
    int64_t strides[4]; /* in elements */
} attn_extent;

/* 1 if two different indices name overlapping memory of one tensor; 0 if it is certain that none do. */
int attn_overlaps_itself(const attn_extent *extent);
/* 1 if the two share a byte. Exact for interleaved tensors (slices of one fused buffer) as well, with bounded work:
 * should a layout be too intricate to decide, 1. */
int attn_overlaps(const attn_extent *a, const attn_extent *b);

/* ------------------------------------------------------------------------------------- one batch entry (sequence.c) */

/* One batch entry of one run: where its rows and keys begin and how many there are. */
typedef struct attn_sequence {
    int64_t batch_q;  /* index for the batch stride of q, o, lse: b, or 0 where they are packed */
    int64_t batch_kv; /* the same for k and v */
    int64_t row0;     /* first row of the sequence in q, o, lse: 0, or cu_seqlens_q[b] */
    int64_t key0;     /* first key of the sequence in k, v: 0, or cu_seqlens_kv[b] */
    int64_t rows;     /* rows that there is room for: those at or beyond q_len are to be written as zero */
    int64_t q_len;    /* rows that exist */
    int64_t kv_len;   /* keys that exist */
    int64_t q_offset; /* position of row 0 in key coordinates */
} attn_sequence;

attn_sequence attn_sequence_of(const attn_problem *completed, const attn_tensors *tensors, int64_t b);

/* Rows of a packed o that belong to no sequence: from this row to seq_q. seq_q where q is not packed. */
int64_t attn_rows_in_sequences(const attn_problem *completed, const attn_tensors *tensors);

/* Element offsets of (sequence, head, row) in each tensor; row and key count from the sequence's first. */
int64_t attn_q_offset_of(const attn_problem *completed, const attn_sequence *sequence, int64_t head, int64_t row);
int64_t attn_o_offset_of(const attn_problem *completed, const attn_sequence *sequence, int64_t head, int64_t row);
int64_t attn_lse_offset_of(const attn_problem *completed, const attn_sequence *sequence, int64_t head, int64_t row);
int64_t attn_k_offset_of(const attn_problem *completed, const attn_sequence *sequence, int64_t head_kv, int64_t key);
int64_t attn_v_offset_of(const attn_problem *completed, const attn_sequence *sequence, int64_t head_kv, int64_t key);
/* Of bias or mask; b, head, row and key in the caller's terms. */
int64_t attn_view_offset_of(const attn_view *view, int64_t b, int64_t head, int64_t row, int64_t key);

/* ---------------------------------------------------------------------------- which keys may be seen (visibility.c) */

/* Keys begin .. end - 1; empty when end <= begin, and then begin = end = 0. */
typedef struct attn_span {
    int64_t begin, end;
} attn_span;

/* Keys that the rule of lengths, window and the widths of bias and mask lets a row see. Empty for rows that do not
 * exist. begin and end never fall from one row to the next (among rows whose span is not empty). */
attn_span attn_keys_of_row(const attn_problem *completed, const attn_sequence *sequence, int64_t row);

/* Keys that at least one of rows row0 .. row1 - 1 may see (their union has no holes when row1 > row0, as the spans are
 * consecutive windows), and those that every one of them may see. */
attn_span attn_keys_of_any(const attn_problem *completed, const attn_sequence *sequence, int64_t row0, int64_t row1);
attn_span attn_keys_of_all(const attn_problem *completed, const attn_sequence *sequence, int64_t row0, int64_t row1);

/* 1 if mask and bias let the pair be seen as well (they are the only rules that do not make spans). */
int attn_pair_allowed(const attn_problem *completed, const attn_tensors *tensors, int64_t b, int64_t head, int64_t row,
                      int64_t key);

/* Pairs of row and key in all spans of a run with full lengths, over batch and query heads; for flop counts. Packed
 * tensors count as one sequence that holds all of their rows or keys. */
double attn_pairs_at_most(const attn_problem *completed);

#endif
