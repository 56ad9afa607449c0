/* SPDX-License-Identifier: Apache-2.0 */
/*
 * o = sum of w_n o_n   with   w_n = exp(lse_n - lse),   lse = log sum exp(lse_n)
 *
 * for results o_n, lse_n over disjoint sets of keys: each o_n is already divided by exp(lse_n).
 */
#include <inttypes.h>
#include <math.h>

#include "attn/attn.h"
#include "base/checked.h"
#include "base/half.h"
#include "base/reason.h"
#include "problem/problem.h"

enum { DIM_MAX = 1024, COLUMNS_AT_ONCE = 64 };

typedef struct merge {
    attn_type part_type, o_type;
    int64_t rows, dim_v;
    int parts;
    const void *const *o_parts;
    const float *const *lse_parts;
    void *o;
    float *lse;
} merge;

/* ----------------------------------------------------------------------------------------------------------- checks */

static int is_float(attn_type type) {
    return type == ATTN_F32 || type == ATTN_F16 || type == ATTN_BF16 || type == ATTN_F64;
}

static attn_status take_types(const attn_merge_shape *shape, merge *m, attn_reason *reason) {
    m->part_type = shape->part_type == ATTN_TYPE_DEFAULT ? ATTN_F32 : shape->part_type;
    m->o_type = shape->o_type == ATTN_TYPE_DEFAULT ? m->part_type : shape->o_type;
    if (is_float(m->part_type) && is_float(m->o_type)) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_ARGUMENT, "part_type is %d, o_type %d; each is one of f32, f16, bf16, f64",
                     (int)m->part_type, (int)m->o_type);
}

static attn_status take_sizes(const attn_merge_shape *shape, merge *m, attn_reason *reason) {
    if (shape->batch < 0 || shape->heads < 0 || shape->seq < 0)
        return attn_fail(reason, ATTN_ERROR_SHAPE,
                         "batch %" PRId64 ", heads %" PRId64 ", seq %" PRId64 ": none may be less than 0", shape->batch,
                         shape->heads, shape->seq);
    if (shape->dim_v < 1 || shape->dim_v > DIM_MAX)
        return attn_fail(reason, ATTN_ERROR_SHAPE, "dim_v is %" PRId64 ", not 1 to %d", shape->dim_v, DIM_MAX);
    m->dim_v = shape->dim_v;
    int64_t bytes; /* of the widest type */
    if (attn_mul_i64(shape->batch, shape->heads, &m->rows) && attn_mul_i64(m->rows, shape->seq, &m->rows) &&
        attn_mul_i64(m->rows, m->dim_v * (int64_t)sizeof(double), &bytes) && bytes <= PTRDIFF_MAX)
        return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_OVERFLOW,
                     "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "] has more bytes than ptrdiff_t", shape->batch,
                     shape->heads, shape->seq, shape->dim_v);
}

static attn_status check_pointers(const merge *m, attn_reason *reason) {
    if (m->parts < 1) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "parts is %d, less than 1", m->parts);
    if (!m->o_parts || !m->lse_parts)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "%s is NULL", m->o_parts ? "lse_parts" : "o_parts");
    if (m->rows == 0) return ATTN_OK;
    if (!m->o) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "o is NULL");
    for (int n = 0; n < m->parts; n++)
        if (!m->o_parts[n] || !m->lse_parts[n])
            return attn_fail(reason, ATTN_ERROR_ARGUMENT, "%s[%d] is NULL", m->o_parts[n] ? "lse_parts" : "o_parts", n);
    return ATTN_OK;
}

static attn_extent contiguous(const void *data, attn_type type, int64_t count) {
    return (attn_extent){data, attn_type_size(type), 1, {count}, {1}};
}

/* Overlaps other than the one that is allowed: the result lies exactly on a part of the same type. */
static int clashes(const attn_extent *result, attn_type result_type, const attn_extent *part, attn_type part_type) {
    if (result->data == part->data && result_type == part_type) return 0;
    return attn_overlaps(result, part);
}

static attn_status check_overlaps(const merge *m, attn_reason *reason) {
    int64_t elements = m->rows * m->dim_v;
    attn_extent o = contiguous(m->o, m->o_type, elements);
    attn_extent lse = contiguous(m->lse, ATTN_F32, m->lse ? m->rows : 0);
    if (attn_overlaps(&o, &lse)) return attn_fail(reason, ATTN_ERROR_OVERLAP, "o overlaps lse");
    for (int n = 0; n < m->parts; n++) {
        attn_extent o_part = contiguous(m->o_parts[n], m->part_type, elements);
        attn_extent lse_part = contiguous(m->lse_parts[n], ATTN_F32, m->rows);
        if (clashes(&o, m->o_type, &o_part, m->part_type) || attn_overlaps(&o, &lse_part))
            return attn_fail(reason, ATTN_ERROR_OVERLAP, "o overlaps part %d and is not the same as its o", n);
        if (clashes(&lse, ATTN_F32, &lse_part, ATTN_F32) || attn_overlaps(&lse, &o_part))
            return attn_fail(reason, ATTN_ERROR_OVERLAP, "lse overlaps part %d and is not the same as its lse", n);
    }
    return ATTN_OK;
}

/* ------------------------------------------------------------------------------------------------------------- work */

static int has_keys(const merge *m, int part, int64_t row) {
    return m->lse_parts[part][row] != -INFINITY;
}

/* lse = largest + log(sum), kept apart: beside a largest of 3e38, log(sum) would be rounded away, and the weights with it. */
typedef struct row_sum {
    double largest, sum;
} row_sum;

static row_sum sum_of_row(const merge *m, int64_t row) {
    row_sum s = {-INFINITY, 0.0};
    for (int n = 0; n < m->parts; n++)
        if ((double)m->lse_parts[n][row] > s.largest) s.largest = (double)m->lse_parts[n][row];
    for (int n = 0; n < m->parts; n++)
        if (has_keys(m, n, row)) s.sum += exp((double)m->lse_parts[n][row] - s.largest);
    return s;
}

/* Parts without keys have no weight, whatever lies in their o. All parts of a column are read before it is written. */
static void merge_columns(const merge *m, int64_t row, row_sum s, int64_t begin, int64_t count) {
    double sums[COLUMNS_AT_ONCE] = {0.0}, values[COLUMNS_AT_ONCE];
    int64_t first = row * m->dim_v + begin;
    for (int n = 0; n < m->parts; n++) {
        if (!has_keys(m, n, row)) continue;
        double weight = exp((double)m->lse_parts[n][row] - s.largest) / s.sum;
        attn_load_row(m->part_type, m->o_parts[n], first, 1, count, values);
        for (int64_t c = 0; c < count; c++) sums[c] += weight * values[c];
    }
    for (int64_t c = 0; c < count; c++) attn_store(m->o_type, m->o, first + c, sums[c]);
}

static void merge_row(const merge *m, int64_t row) {
    row_sum s = sum_of_row(m, row);
    for (int64_t begin = 0; begin < m->dim_v; begin += COLUMNS_AT_ONCE) {
        int64_t left = m->dim_v - begin;
        merge_columns(m, row, s, begin, left < COLUMNS_AT_ONCE ? left : COLUMNS_AT_ONCE);
    }
    if (!m->lse) return;
    /* Last: it may lie on a part's. */
    m->lse[row] = s.sum == 0.0 ? -INFINITY : (float)(s.largest + log(s.sum));
}

attn_status attn_merge(const attn_merge_shape *shape, int parts, const void *const *o_parts,
                       const float *const *lse_parts, void *o, float *lse, attn_reason *reason) {
    if (!shape) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "shape is NULL");
    merge m = {.parts = parts, .o_parts = o_parts, .lse_parts = lse_parts, .o = o, .lse = lse};
    attn_status status = attn_check_struct_size("attn_merge_shape", shape->struct_size, sizeof *shape, reason);
    if (!status) status = take_types(shape, &m, reason);
    if (!status) status = take_sizes(shape, &m, reason);
    if (!status) status = check_pointers(&m, reason);
    if (!status) status = check_overlaps(&m, reason);
    if (status) return status;
    for (int64_t row = 0; row < m.rows; row++) merge_row(&m, row);
    return attn_succeed(reason);
}
