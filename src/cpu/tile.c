/* SPDX-License-Identifier: Apache-2.0 */
#include "base/compiler.h"
#include "base/half.h"
#include "cpu/cpu.h"

enum { ROWS_AHEAD = 32 }; /* between the rows that are converted and those that are fetched meanwhile */

/* A view of one head's rows of k or v. */
typedef struct attn_head_rows {
    const char *first; /* key key0 of the tile */
    attn_type type;
    int64_t element;     /* bytes */
    int64_t row, column; /* strides in elements */
    int64_t columns;
} attn_head_rows;

static const void *row_at(const attn_head_rows *from, int key) {
    return from->first + key * from->row * from->element;
}

static attn_head_rows rows_of_k(const attn_item *item, int64_t key0) {
    const attn_problem *p = &item->plan->problem;
    const int64_t element = (int64_t)attn_type_size(p->kv_type);
    const char *first = item->tensors->k;
    first += attn_k_offset_of(p, &item->sequence, item->head_kv, key0) * element;
    return (attn_head_rows){first, p->kv_type, element, p->k_strides[2], p->k_strides[3], p->dim};
}

static attn_head_rows rows_of_v(const attn_item *item, int64_t key0) {
    const attn_problem *p = &item->plan->problem;
    const int64_t element = (int64_t)attn_type_size(p->kv_type);
    const char *first = item->tensors->v;
    first += attn_v_offset_of(p, &item->sequence, item->head_kv, key0) * element;
    return (attn_head_rows){first, p->kv_type, element, p->v_strides[2], p->v_strides[3], p->dim_v};
}

/* A row as contiguous reals: where it lies if it is that already, else converted into buffer. */
static const void *as_reals(const attn_kernels *kernels, const attn_head_rows *from, int key, void *buffer) {
    const void *row = row_at(from, key);
    if (from->type == kernels->type && from->column == 1) return row;
    kernels->load_row(buffer, from->type, row, from->column, from->columns);
    return buffer;
}

static void pack_keys(const attn_item *item, const attn_head_rows *from, int begin, int end) {
    const attn_kernels *kernels = item->kernels;
    const void *keys[2 * ATTN_LANES_MAX];
    for (int first = begin / kernels->nr * kernels->nr; first < end; first += kernels->nr) {
        /* Keys before begin are not read: they stand in the panel as copies of one that is, and nobody uses them. */
        const int count = end - first < kernels->nr ? end - first : kernels->nr;
        for (int i = 0; i < count; i++) {
            const int key = first + i < begin ? begin : first + i;
            keys[i] = as_reals(kernels, from, key, attn_reals_at(kernels, item->scratch.rows, i * from->columns));
        }
        kernels->pack_k(attn_reals_at(kernels, item->scratch.k, first * from->columns), keys, count, from->columns);
    }
}

static void pack_values(const attn_item *item, const attn_head_rows *from, int begin, int end) {
    for (int key = begin; key < end; key++) {
        const void *row = as_reals(item->kernels, from, key, item->scratch.rows);
        item->kernels->pack_v(item->scratch.v, row, key, ATTN_TILE_KEYS, from->columns);
    }
}

static void fetch_row(const attn_head_rows *from, int key) {
    const char *row = row_at(from, key);
    for (int64_t at = 0; at < from->columns * from->element; at += ATTN_LINE_BYTES) ATTN_FETCH(row + at);
}

/* Rows begin .. end - 1 as contiguous reals, padded with zeros to step. Meanwhile those behind them are fetched: memory
 * would wait for the conversion otherwise, and the conversion for memory. */
static void convert_rows(const attn_item *item, const attn_head_rows *from, int begin, int end, int64_t step,
                         void *to) {
    const attn_kernels *kernels = item->kernels;
    for (int key = begin; key < end; key++) {
        void *row = attn_reals_at(kernels, to, (key - begin) * step);
        if (from->column == 1) fetch_row(from, key + ROWS_AHEAD);
        kernels->load_row(row, from->type, row_at(from, key), from->column, from->columns);
        for (int64_t i = from->columns; i < step; i++) attn_store(kernels->type, row, i, 0.0);
    }
}

void attn_tile_convert_k(const attn_item *item, const attn_tile *tile, int begin, int end, void *to) {
    const attn_head_rows from = rows_of_k(item, tile->key0);
    convert_rows(item, &from, begin, end, item->cpu->dim_step, to);
}

void attn_tile_convert_v(const attn_item *item, const attn_tile *tile, int begin, int end, void *to) {
    const attn_head_rows from = rows_of_v(item, tile->key0);
    convert_rows(item, &from, begin, end, item->cpu->o_stride, to);
}

/* The rows of the tile behind this one, to be fetched in so many steps. */
static attn_next next_rows(const attn_item *item, const attn_head_rows *from, int64_t left, int64_t steps) {
    attn_next next = {.lines = 0};
    if (left <= 0 || from->column != 1 || !item->cpu->fetch_next) return next;
    const int64_t rows = left < ATTN_TILE_KEYS ? left : ATTN_TILE_KEYS;
    next.rows =
        (attn_ahead){row_at(from, ATTN_TILE_KEYS), rows, from->row * from->element, from->columns * from->element, 0};
    next.lines = attn_lines_of_step(&next.rows, steps);
    return next;
}

static void load_panels(const attn_item *item, attn_tile *tile, attn_span span) {
    const attn_head_rows k = rows_of_k(item, tile->key0), v = rows_of_v(item, tile->key0);
    pack_keys(item, &k, tile->begin, tile->end);
    pack_values(item, &v, tile->begin, tile->end);
    const attn_kernels *kernels = item->kernels;
    const int64_t left = span.end - tile->key0 - ATTN_TILE_KEYS, panels = item->rows / kernels->mr + 1;
    tile->next_k = next_rows(item, &k, left, panels * (ATTN_TILE_KEYS / kernels->nr));
    tile->next_v = next_rows(item, &v, left, panels * (item->cpu->o_stride / kernels->nr));
    tile->v = item->scratch.v;
    tile->v_stride = item->kernels->nr;
    tile->v_panel = (int64_t)item->kernels->nr * ATTN_TILE_KEYS;
}

/* For few rows: where the caller has them. */
static void load_rows(const attn_item *item, attn_tile *tile) {
    const attn_kernels *kernels = item->kernels;
    const attn_head_rows k = rows_of_k(item, tile->key0), v = rows_of_v(item, tile->key0);
    tile->rows_k = (attn_rows){k.type, item->cpu->direct_k ? k.first : NULL, k.row};
    tile->rows_v = (attn_rows){v.type, item->cpu->direct_v ? v.first : NULL, v.row};
    const int whole_panels = item->cpu->direct_v && v.type == kernels->type && v.columns % kernels->nr == 0;
    tile->v = whole_panels ? v.first : NULL;
    tile->v_stride = whole_panels ? v.row : item->cpu->o_stride;
    tile->v_panel = kernels->nr;
}

attn_tile attn_tile_load(const attn_item *item, int64_t key0, attn_span span) {
    attn_tile tile = {.key0 = key0, .finite = -1};
    tile.begin = span.begin > key0 ? (int)(span.begin - key0) : 0;
    tile.end = span.end < key0 + ATTN_TILE_KEYS ? (int)(span.end - key0) : ATTN_TILE_KEYS;
    if (item->few) {
        load_rows(item, &tile);
    } else {
        load_panels(item, &tile, span);
    }
    return tile;
}
