/* SPDX-License-Identifier: Apache-2.0 */
#include "base/compiler.h"
#include "base/half.h"
#include "cpu/cpu.h"

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

void *attn_reals_at(const attn_kernels *kernels, void *base, int64_t index) {
    return (char *)base + index * (int64_t)attn_type_size(kernels->type);
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
    for (int64_t at = 0; at < from->columns * from->element; at += 64) ATTN_FETCH(row + at);
}

/* Rows begin .. end - 1 as contiguous reals, padded with zeros to step. Meanwhile the same rows of `ahead` are fetched,
 * which are wanted next: memory would wait for the conversion otherwise, and the conversion for memory. */
static void convert_rows(const attn_item *item, const attn_head_rows *from, int begin, int end, int64_t step, void *to,
                         const attn_head_rows *ahead) {
    const attn_kernels *kernels = item->kernels;
    for (int key = begin; key < end; key++) {
        void *row = attn_reals_at(kernels, to, (key - begin) * step);
        if (ahead->column == 1) fetch_row(ahead, key);
        kernels->load_row(row, from->type, row_at(from, key), from->column, from->columns);
        for (int64_t i = from->columns; i < step; i++) attn_store(kernels->type, row, i, 0.0);
    }
}

void attn_tile_convert_k(const attn_item *item, const attn_tile *tile, int begin, int end, void *to) {
    const attn_head_rows from = rows_of_k(item, tile->key0), ahead = rows_of_v(item, tile->key0);
    convert_rows(item, &from, begin, end, item->cpu->dim_step, to, &ahead);
}

void attn_tile_convert_v(const attn_item *item, const attn_tile *tile, int begin, int end, void *to) {
    const int64_t next = tile->key0 + ATTN_TILE_KEYS;
    const attn_head_rows from = rows_of_v(item, tile->key0);
    const attn_head_rows ahead = rows_of_k(item, next < item->sequence.kv_len ? next : tile->key0);
    convert_rows(item, &from, begin, end, item->cpu->o_stride, to, &ahead);
}

static void load_panels(const attn_item *item, attn_tile *tile) {
    const attn_head_rows k = rows_of_k(item, tile->key0), v = rows_of_v(item, tile->key0);
    pack_keys(item, &k, tile->begin, tile->end);
    pack_values(item, &v, tile->begin, tile->end);
    tile->k = item->scratch.k;
    tile->v = item->scratch.v;
    tile->v_stride = item->kernels->nr;
    tile->v_panel = (int64_t)item->kernels->nr * ATTN_TILE_KEYS;
}

/* For few rows: where the caller has them, or NULL: to be converted part by part. */
static void load_rows(const attn_item *item, attn_tile *tile) {
    const attn_head_rows k = rows_of_k(item, tile->key0), v = rows_of_v(item, tile->key0);
    tile->k = item->cpu->direct_k ? k.first : NULL;
    tile->k_stride = item->cpu->direct_k ? k.row : item->cpu->dim_step;
    tile->v = item->cpu->direct_v ? v.first : NULL;
    tile->v_stride = item->cpu->direct_v ? v.row : item->cpu->o_stride;
    tile->v_panel = item->kernels->nr;
}

/* What is read in place comes from memory, just when it is wanted. */
static void look_ahead(const attn_item *item, attn_tile *tile, attn_span span) {
    const int64_t element = (int64_t)attn_type_size(item->kernels->type);
    if (item->cpu->direct_v)
        tile->ahead_v = (attn_ahead){(const char *)tile->v + tile->begin * tile->v_stride * element, tile->v_stride};
    if (item->cpu->direct_k && tile->key0 + ATTN_TILE_KEYS < span.end)
        tile->ahead_k = (attn_ahead){(const char *)tile->k + ATTN_TILE_KEYS * tile->k_stride * element, tile->k_stride};
}

attn_tile attn_tile_load(const attn_item *item, int64_t key0, attn_span span) {
    attn_tile tile = {.key0 = key0, .finite = -1};
    tile.begin = span.begin > key0 ? (int)(span.begin - key0) : 0;
    tile.end = span.end < key0 + ATTN_TILE_KEYS ? (int)(span.end - key0) : ATTN_TILE_KEYS;
    if (item->few) {
        load_rows(item, &tile);
        look_ahead(item, &tile, span);
    } else {
        load_panels(item, &tile);
    }
    return tile;
}
