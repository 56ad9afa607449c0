/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/checked.h"
#include "base/half.h"
#include "problem/problem.h"

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Keys beyond the last column of bias or mask are excluded; one column stands for all keys. */
static int64_t limit_by_columns(const attn_view *view, int64_t limit) {
    if (view->type == ATTN_TYPE_DEFAULT || view->shape[3] == 1) return limit;
    return smaller(limit, view->shape[3]);
}

/* Keys at or beyond it exist for no row. */
static int64_t key_limit(const attn_problem *p, int64_t kv_len) {
    return limit_by_columns(&p->mask, limit_by_columns(&p->bias, kv_len));
}

/* The window's ends of row 0, before they are cut to 0 .. limit; each row moves them on by one. Where the sums
 * saturate, they are beyond any key either way. */
static int64_t window_begin(const attn_problem *p, int64_t q_offset) {
    return p->window_left == ATTN_UNBOUNDED ? INT64_MIN : attn_add_saturated(q_offset, -p->window_left);
}

static int64_t window_end(const attn_problem *p, int64_t q_offset) {
    if (p->window_right == ATTN_UNBOUNDED) return INT64_MAX;
    return attn_add_saturated(attn_add_saturated(q_offset, p->window_right), 1);
}

static attn_span cut_span(int64_t begin, int64_t end, int64_t limit) {
    attn_span span = {larger(begin, 0), smaller(end, limit)};
    if (span.end <= span.begin) span.begin = span.end = 0;
    return span;
}

/* Keys from the first that row `from` may see to the last that row `to` may see. */
static attn_span keys_between(const attn_problem *p, const attn_sequence *s, int64_t from, int64_t to) {
    int64_t begin = window_begin(p, s->q_offset), end = window_end(p, s->q_offset);
    return cut_span(attn_add_saturated(begin, from), attn_add_saturated(end, to), key_limit(p, s->kv_len));
}

attn_span attn_keys_of_row(const attn_problem *p, const attn_sequence *s, int64_t row) {
    if (row >= s->q_len) return (attn_span){0, 0};
    return keys_between(p, s, row, row);
}

attn_span attn_keys_of_any(const attn_problem *p, const attn_sequence *s, int64_t row0, int64_t row1) {
    int64_t last = smaller(row1, s->q_len) - 1;
    if (last < row0) return (attn_span){0, 0};
    return keys_between(p, s, row0, last);
}

attn_span attn_keys_of_all(const attn_problem *p, const attn_sequence *s, int64_t row0, int64_t row1) {
    if (row1 <= row0 || row1 > s->q_len) return (attn_span){0, 0};
    return keys_between(p, s, row1 - 1, row0);
}

int attn_pair_allowed(const attn_problem *p, const attn_tensors *tensors, int64_t b, int64_t head, int64_t row,
                      int64_t key) {
    if (p->mask.type != ATTN_TYPE_DEFAULT) {
        const unsigned char *mask = tensors->mask;
        if (mask[attn_view_offset_of(&p->mask, b, head, row, key)] == 0) return 0;
    }
    if (p->bias.type != ATTN_TYPE_DEFAULT) {
        double bias = attn_load(p->bias.type, tensors->bias, attn_view_offset_of(&p->bias, b, head, row, key));
        if (bias == -INFINITY) return 0; /* NaN does not exclude: it is data that is used, and reaches the row */
    }
    return 1;
}

/* Sum over i of 0 .. rows - 1 of i + first, each term held within 0 .. limit. */
static double sum_of_clamped(int64_t first, int64_t rows, int64_t limit) {
    int64_t to_zero = first == INT64_MIN ? INT64_MAX : -first;
    int64_t ramp = smaller(larger(to_zero, 0), rows);                            /* the first term that is above 0 */
    int64_t flat = smaller(larger(attn_add_saturated(limit, to_zero), 0), rows); /* the first that is at the limit */
    double ends = ((double)ramp + (double)first) + ((double)flat - 1.0 + (double)first);
    double on_ramp = flat > ramp ? (double)(flat - ramp) * ends / 2.0 : 0.0;
    return on_ramp + (double)(rows - flat) * (double)limit;
}

double attn_pairs_at_most(const attn_problem *p) {
    int packed = (p->with & (ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV)) != 0;
    int64_t q_offset = p->q_offset == ATTN_OFFSET_END ? p->seq_kv - p->seq_q : p->q_offset;
    int64_t limit = key_limit(p, p->seq_kv);
    double pairs = sum_of_clamped(window_end(p, q_offset), p->seq_q, limit) -
                   sum_of_clamped(window_begin(p, q_offset), p->seq_q, limit);
    return pairs * (double)p->heads_q * (packed ? 1.0 : (double)p->batch);
}
