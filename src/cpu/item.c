/* SPDX-License-Identifier: Apache-2.0 */
#include "base/half.h"
#include "cpu/cpu.h"

#include <math.h>
#include <string.h>

/* Most groups are single heads: no need to divide. */
int64_t attn_item_query(const attn_item *item, int row) {
    return item->cpu->group == 1 ? item->row0 + row : (item->row0 + row) / item->cpu->group;
}

int64_t attn_item_head(const attn_item *item, int row) {
    const int group = item->cpu->group;
    return group == 1 ? item->head_kv : item->head_kv * group + (item->row0 + row) % group;
}

int attn_item_in_panels(const attn_item *item) {
    return item->rows > item->kernels->dots_most;
}

attn_span attn_item_span(const attn_item *item) {
    return attn_keys_of_any(&item->plan->problem, &item->sequence, attn_item_query(item, 0),
                            attn_item_query(item, item->rows - 1) + 1);
}

/* ------------------------------------------------------------------------------------------------------------ begin */

static const void *query_address(const attn_item *item, int row) {
    const attn_problem *p = &item->plan->problem;
    const int64_t at = attn_q_offset_of(p, &item->sequence, attn_item_head(item, row), attn_item_query(item, row));
    return (const char *)item->tensors->q + at * (int64_t)attn_type_size(p->type);
}

/* The row as reals, scaled. */
static void load_query(const attn_item *item, int row, void *to) {
    const attn_problem *p = &item->plan->problem;
    const void *address = query_address(item, row);
    if (p->type != item->kernels->type || p->q_strides[3] != 1) {
        item->kernels->load_row(to, p->type, address, p->q_strides[3], p->dim);
        address = to;
    }
    item->kernels->scale_row(to, address, p->dim, p->scale);
}

static void pack_queries(const attn_item *item, int height,
                         void (*pack)(void *panel, const void *const *rows, int count, int64_t dim)) {
    const attn_kernels *kernels = item->kernels;
    const int64_t dim = item->plan->problem.dim;
    const void *rows[2 * ATTN_LANES_MAX];
    for (int first = 0; first < item->rows; first += height) {
        const int count = item->rows - first < height ? item->rows - first : height;
        for (int r = 0; r < count; r++) {
            void *row = attn_reals_at(kernels, item->scratch.rows, r * dim);
            load_query(item, first + r, row);
            rows[r] = row;
        }
        pack(attn_reals_at(kernels, item->scratch.q, first * dim), rows, count, dim);
    }
}

/* Rows for dots(): padded with zeros to dim_step. */
static void copy_queries(const attn_item *item) {
    const attn_kernels *kernels = item->kernels;
    const int64_t step = item->cpu->dim_step;
    for (int r = 0; r < item->rows; r++) {
        void *to = attn_reals_at(kernels, item->scratch.q, r * step);
        load_query(item, r, to);
        for (int64_t i = item->plan->problem.dim; i < step; i++) attn_store(kernels->type, to, i, 0.0);
    }
}

void attn_item_begin(attn_item *item) {
    const attn_kernels *kernels = item->kernels;
    if (!item->few) {
        pack_queries(item, kernels->mr, kernels->pack_q);
    } else if (attn_item_in_panels(item)) {
        pack_queries(item, kernels->nr, kernels->pack_k);
    } else {
        copy_queries(item);
    }
    kernels->begin_rows(item->scratch.m, item->scratch.l, item->rows);
    memset(item->scratch.o, 0, (size_t)item->rows * (size_t)item->cpu->o_stride * attn_type_size(kernels->type));
}

/* ------------------------------------------------------------------------------------------------------------- pass */

void attn_item_pass(attn_item *item, attn_span span) {
    if (span.end <= span.begin) return;
    for (int64_t key0 = span.begin / ATTN_TILE_KEYS * ATTN_TILE_KEYS; key0 < span.end; key0 += ATTN_TILE_KEYS) {
        attn_tile tile = attn_tile_load(item, key0, span);
        for (int first = 0; first < item->rows; first += ATTN_BLOCK_ROWS) {
            const int left = item->rows - first;
            attn_block_pass(item, &tile, first, left < ATTN_BLOCK_ROWS ? left : ATTN_BLOCK_ROWS);
        }
    }
}

/* ----------------------------------------------------------------------------------------------------------- finish */

typedef struct attn_row_result {
    double divisor; /* o = the sums so far / divisor */
    double m, l;    /* lse = m + log(l) */
} attn_row_result;

/* A row whose largest score is -inf has no key, unless one that it may see has a score of -inf: then exp(-inf - -inf)
 * makes it NaN, by the definition. */
static int sees_any_key(const attn_item *item, int row) {
    const attn_problem *p = &item->plan->problem;
    const int64_t query = attn_item_query(item, row), head = attn_item_head(item, row);
    const attn_span span = attn_keys_of_row(p, &item->sequence, query);
    for (int64_t key = span.begin; key < span.end; key++)
        if (attn_pair_allowed(p, item->tensors, item->b, head, query, key)) return 1;
    return 0;
}

/* No weights, and sums of 0: o = 0 and lse = m. */
static attn_row_result result_without_keys(double m) {
    return (attn_row_result){1.0, m, 1.0};
}

static attn_row_result result_without_sink(const attn_item *item, int row, double m, double l) {
    if (m != -INFINITY) return (attn_row_result){l, m, l};
    if (l != l || sees_any_key(item, row)) return (attn_row_result){NAN, NAN, NAN};
    return result_without_keys(-INFINITY);
}

/* The sink, any number but -inf, joins the largest score and the sum. */
static attn_row_result result_with_sink(double m, double l, double sink) {
    if (m == -INFINITY && l == 0) return result_without_keys(sink);
    const double largest = sink > m ? sink : m;
    const double own = exp(m - largest);
    const double sum = l * own + exp(sink - largest);
    return (attn_row_result){sum / own, largest, sum};
}

static attn_row_result result_of_row(const attn_item *item, int row) {
    const attn_type type = item->kernels->type;
    const double m = attn_load(type, item->scratch.m, row), l = attn_load(type, item->scratch.l, row);
    if (attn_item_query(item, row) >= item->sequence.q_len) return result_without_keys(-INFINITY);
    const double sink = item->plan->problem.with & ATTN_WITH_SINKS
                            ? (double)item->tensors->sinks[attn_item_head(item, row)]
                            : -INFINITY;
    return sink == -INFINITY ? result_without_sink(item, row, m, l) : result_with_sink(m, l, sink);
}

static void write_row(const attn_item *item, int row) {
    const attn_problem *p = &item->plan->problem;
    const attn_kernels *kernels = item->kernels;
    const int64_t head = attn_item_head(item, row), query = attn_item_query(item, row);
    const attn_row_result result = result_of_row(item, row);
    char *o = item->tensors->o;
    o += attn_o_offset_of(p, &item->sequence, head, query) * (int64_t)attn_type_size(p->o_type);
    const void *sums = attn_reals_at(kernels, item->scratch.o, row * item->cpu->o_stride);
    kernels->store_row(p->o_type, o, p->o_strides[3], sums, p->dim_v, result.divisor);
    if (p->with & ATTN_WITH_LSE)
        item->tensors->lse[attn_lse_offset_of(p, &item->sequence, head, query)] = (float)(result.m + log(result.l));
}

void attn_item_finish(attn_item *item) {
    for (int row = 0; row < item->rows; row++) write_row(item, row);
}
