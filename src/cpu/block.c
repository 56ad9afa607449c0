/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One block of rows against one tile of keys: scores, what is added to them, exclusion, softmax, dropout, output.
 *
 * Which keys a row may see comes from problem/ as spans. A panel of rows is taken through the union of its rows' spans;
 * where a row's own span is shorter, its scores outside are set to -inf, which softmax turns into weights of exactly 0.
 * Weights of 0 are harmless as long as the values are finite. Where a tile holds a NaN or an infinity and not all rows
 * of a block see all keys, each row is multiplied with a copy of the values in which the keys that it may not see are
 * 0.
 */
#include "base/half.h"
#include "base/philox.h"
#include "cpu/cpu.h"

#include <string.h>

/* Up to so many query rows, converting in registers is faster, each time that a row of k or v is read. */
enum { STORAGE_ROWS = 8 };

static int end_of_part(const attn_tile *tile, int begin) {
    return begin + ATTN_PART_KEYS < tile->end ? begin + ATTN_PART_KEYS : tile->end;
}

typedef struct attn_block {
    const attn_item *item;
    attn_tile *tile;
    int first, count;                      /* rows of the item */
    int panels;                            /* row panels */
    int full;                              /* every row sees every column that softmax passes over */
    attn_panel_keys keys[ATTN_ROW_PANELS]; /* of each row panel: the union of its rows' spans */
    attn_row_keys rows[ATTN_BLOCK_ROWS];   /* of each row, unless full */
} attn_block;

/* ------------------------------------------------------------------------------------------------------------ spans */

static attn_panel_keys within_tile(const attn_tile *tile, attn_span span) {
    const int64_t begin = span.begin - tile->key0, end = span.end - tile->key0;
    attn_panel_keys keys = {begin > tile->begin ? (int)(begin < tile->end ? begin : tile->end) : tile->begin,
                            end < tile->end ? (int)(end > tile->begin ? end : tile->begin) : tile->end};
    if (keys.end <= keys.begin) keys.begin = keys.end = 0;
    return keys;
}

/* The columns that softmax passes over for these keys: whole panels, or whole vectors after dots(). */
static attn_panel_keys columns_of(const attn_block *block, attn_panel_keys keys) {
    const attn_kernels *kernels = block->item->kernels;
    if (keys.end == keys.begin) return keys;
    const int begin = block->item->few ? keys.begin : keys.begin / kernels->nr * kernels->nr;
    const int unit = block->item->few ? kernels->lanes : kernels->nr;
    return (attn_panel_keys){begin, begin + (keys.end - begin + unit - 1) / unit * unit};
}

static attn_panel_keys keys_of_queries(const attn_block *block, int64_t i0, int64_t i1) {
    const attn_item *item = block->item;
    return within_tile(block->tile, attn_keys_of_any(&item->plan->problem, &item->sequence, i0, i1));
}

static int all_see(const attn_block *block, int64_t i0, int64_t i1, attn_panel_keys columns) {
    const attn_item *item = block->item;
    const attn_panel_keys seen =
        within_tile(block->tile, attn_keys_of_all(&item->plan->problem, &item->sequence, i0, i1));
    return seen.begin <= columns.begin && seen.end >= columns.end;
}

/* Rows first .. last of a panel: the keys of any of them, and of each. */
static void find_keys_of_panel(attn_block *block, int panel, int first, int last) {
    const attn_item *item = block->item;
    const attn_panel_keys any = keys_of_queries(block, attn_item_query(item, first), attn_item_query(item, last) + 1);
    const attn_panel_keys columns = columns_of(block, any);
    block->keys[panel] = any;
    for (int row = first; row <= last; row++) {
        const int64_t query = attn_item_query(item, row);
        const attn_panel_keys own = keys_of_queries(block, query, query + 1);
        const int max_known = !item->few && own.begin == columns.begin && own.end == columns.end;
        block->rows[row - block->first] = (attn_row_keys){own.begin, own.end, any.begin, any.end, max_known};
    }
}

/* Returns 0 if no row of the block sees any key of the tile. */
static int find_keys(attn_block *block) {
    const attn_item *item = block->item;
    const int last = block->first + block->count - 1, mr = item->kernels->mr;
    const int64_t i0 = attn_item_query(item, block->first), i1 = attn_item_query(item, last) + 1;
    const attn_panel_keys any = keys_of_queries(block, i0, i1);
    if (any.end == any.begin) return 0;
    block->full = all_see(block, i0, i1, columns_of(block, any));
    for (int panel = 0; panel < block->panels; panel++) {
        const int first = block->first + panel * mr;
        block->keys[panel] = any;
        if (!block->full) find_keys_of_panel(block, panel, first, first + mr - 1 < last ? first + mr - 1 : last);
    }
    return 1;
}

/* ----------------------------------------------------------------------------------------------------------- scores */

static void *scores_at(const attn_block *block, int row, int column) {
    return attn_reals_at(block->item->kernels, block->item->scratch.scores,
                         (int64_t)(row - block->first) * ATTN_SCORE_STRIDE + column);
}

static int panel_meets(const attn_block *block, int panel, int begin, int end) {
    return block->keys[panel].begin < end && block->keys[panel].end > begin;
}

/* One k panel stays in the first cache while all rows that see it pass by. Spans never fall from row to row, so those
 * are neighbours. */
static void compute_scores(const attn_block *block) {
    const attn_item *item = block->item;
    const attn_kernels *kernels = item->kernels;
    const int64_t dim = item->plan->problem.dim;
    const char *k = item->scratch.k;
    const void *q = attn_reals_at(kernels, item->scratch.q, block->first * dim);
    for (int begin = block->tile->begin / kernels->nr * kernels->nr; begin < block->tile->end; begin += kernels->nr) {
        int from = 0, to = block->panels;
        while (from < to && !panel_meets(block, from, begin, begin + kernels->nr)) from++;
        while (to > from && !panel_meets(block, to - 1, begin, begin + kernels->nr)) to--;
        if (from == to) continue;
        const int row_end = to * kernels->mr < block->count ? to * kernels->mr : block->count;
        const void *k_panel = k + begin * dim * kernels->bytes;
        kernels->scores(scores_at(block, block->first, begin), item->scratch.row_max, q, k_panel, dim,
                        from * kernels->mr, row_end, &block->tile->next_k);
    }
}

/* Few rows are one block. */
static void scores_of_few(const attn_block *block, const attn_rows *k, int begin, int end) {
    const attn_item *item = block->item;
    const attn_kernels *kernels = item->kernels;
    void *scores = scores_at(block, 0, begin);
    if (attn_item_in_panels(item)) {
        kernels->scores_in_place(scores, item->scratch.q, block->count, k->data, k->stride, end - begin,
                                 item->plan->problem.dim);
    } else {
        kernels->dots(scores, item->scratch.q, block->count, k, end - begin, item->cpu->dim_step);
    }
}

/* Rows of storage from a key of the tile on. */
static attn_rows rows_from(attn_rows rows, int key) {
    rows.data = (const char *)rows.data + key * rows.stride * (int64_t)attn_type_size(rows.type);
    return rows;
}

/* Rows of k or v can be used where they lie. */
static int usable(const attn_item *item, const attn_rows *rows) {
    return rows->data && (rows->type == item->kernels->type || item->rows <= STORAGE_ROWS);
}

static void compute_scores_of_few(const attn_block *block) {
    const attn_item *item = block->item;
    const attn_tile *tile = block->tile;
    if (usable(item, &tile->rows_k)) {
        const attn_rows k = rows_from(tile->rows_k, tile->begin);
        scores_of_few(block, &k, tile->begin, tile->end);
        return;
    }
    for (int begin = tile->begin; begin < tile->end; begin += ATTN_PART_KEYS) {
        const int end = end_of_part(tile, begin);
        const attn_rows k = {item->kernels->type, item->scratch.k, item->cpu->dim_step};
        attn_tile_convert_k(item, tile, begin, end, item->scratch.k);
        scores_of_few(block, &k, begin, end);
    }
}

/* --------------------------------------------------------------------------------------------- additions, exclusion */

static const void *bias_of_row(const attn_item *item, int row, int64_t key, int n) {
    const attn_view *view = &item->plan->problem.bias;
    const int64_t at = attn_view_offset_of(view, item->b, attn_item_head(item, row), attn_item_query(item, row), key);
    const void *first = (const char *)item->tensors->bias + at * (int64_t)attn_type_size(view->type);
    if (view->type == item->kernels->type && view->strides[3] == 1) return first;
    item->kernels->load_row(item->scratch.rows, view->type, first, view->strides[3], n);
    return item->scratch.rows;
}

/* What the problem adds to scores n keys from `key` on, which the row may see by its span. */
static void adjust_row(const attn_item *item, int row, void *s, int64_t key, int n) {
    const attn_problem *p = &item->plan->problem;
    const attn_kernels *kernels = item->kernels;
    if (p->softcap > 0) kernels->softcap(s, n, p->softcap);
    if (p->bias.type != ATTN_TYPE_DEFAULT) kernels->add_bias(s, bias_of_row(item, row, key, n), n);
    const int64_t query = attn_item_query(item, row), head = attn_item_head(item, row);
    if (p->with & ATTN_WITH_ALIBI) {
        const double distance = (double)key - (double)query - (double)item->sequence.q_offset;
        kernels->add_alibi(s, n, (double)item->tensors->alibi_slopes[head], distance);
    }
    if (p->mask.type != ATTN_TYPE_DEFAULT) {
        const uint8_t *mask = item->tensors->mask;
        mask += attn_view_offset_of(&p->mask, item->b, head, query, key);
        kernels->apply_mask(s, mask, p->mask.strides[3], n);
    }
}

static int adjusts(const attn_problem *p) {
    return p->softcap > 0 || p->bias.type != ATTN_TYPE_DEFAULT || p->mask.type != ATTN_TYPE_DEFAULT ||
           (p->with & ATTN_WITH_ALIBI);
}

/* The keys that a row may see by its span; empty: begin = end. */
static attn_panel_keys keys_of_row(const attn_block *block, int row) {
    const attn_row_keys *keys = &block->rows[row - block->first];
    return block->full ? block->keys[0] : (attn_panel_keys){keys->begin, keys->end};
}

static void adjust_rows(attn_block *block) {
    for (int r = 0; r < block->count; r++) {
        const int row = block->first + r;
        const attn_panel_keys keys = keys_of_row(block, row);
        block->rows[r].max_known = 0;
        if (keys.end == keys.begin) continue;
        adjust_row(block->item, row, scores_at(block, row, keys.begin), block->tile->key0 + keys.begin,
                   keys.end - keys.begin);
    }
}

/* --------------------------------------------------------------------------------------------------------- softmax */

static void compute_softmax(attn_block *block) {
    const attn_item *item = block->item;
    const attn_kernels *kernels = item->kernels;
    const int adjusted = adjusts(&item->plan->problem);
    void *m = attn_reals_at(kernels, item->scratch.m, block->first);
    void *l = attn_reals_at(kernels, item->scratch.l, block->first);
    void *alpha = attn_reals_at(kernels, item->scratch.alpha, block->first);
    if (adjusted) adjust_rows(block);
    if (block->full) {
        const attn_panel_keys keys = block->keys[0];
        kernels->softmax(scores_at(block, block->first, keys.begin), block->count, keys.end - keys.begin,
                         adjusted || item->few ? NULL : item->scratch.row_max, m, l, alpha);
    } else {
        kernels->softmax_ragged(scores_at(block, block->first, 0), block->count, block->rows, item->scratch.row_max, m,
                                l, alpha);
    }
}

/* ---------------------------------------------------------------------------------------------------------- dropout */

static void drop_row(const attn_block *block, int row, const attn_dropout *dropout) {
    const attn_item *item = block->item;
    const attn_panel_keys keys = keys_of_row(block, row);
    const int64_t head_index = item->b * item->plan->problem.heads_q + attn_item_head(item, row);
    uint8_t keep[4] = {0, 0, 0, 0};
    for (int j = keys.begin; j < keys.end; j++) {
        const int64_t key = block->tile->key0 + j;
        if (j == keys.begin || key % 4 == 0)
            attn_dropout_keep(dropout, head_index, attn_item_query(item, row), key / 4, keep);
        void *weight = scores_at(block, row, j);
        const double p = attn_load(item->kernels->type, weight, 0);
        attn_store(item->kernels->type, weight, 0, keep[key % 4] ? p * (double)dropout->keep_scale : 0.0);
    }
}

static void drop_weights(const attn_block *block) {
    const attn_item *item = block->item;
    const double p = item->plan->problem.dropout_p;
    if (!(p > 0)) return;
    const attn_dropout dropout = attn_dropout_make(p, item->tensors->dropout_seed, item->tensors->dropout_offset);
    for (int r = 0; r < block->count; r++) drop_row(block, block->first + r, &dropout);
}

/* ----------------------------------------------------------------------------------------------------------- output */

static const void *values_at(const attn_block *block, int panel, int key) {
    const attn_tile *tile = block->tile;
    const int64_t element = block->item->kernels->bytes;
    return (const char *)tile->v + (panel * tile->v_panel + key * tile->v_stride) * element;
}

static int value_panels(const attn_block *block) {
    return (int)(block->item->cpu->o_stride / block->item->kernels->nr);
}

/* Panels lie in one piece; rows are apart. */
static int look_for_infinities(const attn_block *block) {
    const attn_tile *tile = block->tile;
    const attn_kernels *kernels = block->item->kernels;
    const int panels = value_panels(block);
    int finite = 1;
    if (tile->v_stride == kernels->nr) {
        for (int panel = 0; panel < panels && finite; panel++)
            finite = kernels->all_finite(values_at(block, panel, tile->begin),
                                         (int64_t)(tile->end - tile->begin) * kernels->nr);
    } else {
        for (int key = tile->begin; key < tile->end && finite; key++)
            finite = kernels->all_finite(values_at(block, 0, key), block->item->cpu->o_stride);
    }
    return finite;
}

static int tile_is_finite(const attn_block *block) {
    if (block->tile->finite < 0) block->tile->finite = look_for_infinities(block);
    return block->tile->finite;
}

static void *output_at(const attn_block *block, int row, int panel) {
    const attn_kernels *kernels = block->item->kernels;
    const int64_t stride = block->item->cpu->o_stride;
    return attn_reals_at(kernels, block->item->scratch.o, row * stride + (int64_t)panel * kernels->nr);
}

static void accumulate_block(const attn_block *block) {
    const attn_item *item = block->item;
    const attn_kernels *kernels = item->kernels;
    for (int panel = 0; panel < value_panels(block); panel++)
        kernels->accumulate(output_at(block, block->first, panel), item->cpu->o_stride,
                            scores_at(block, block->first, 0), values_at(block, panel, 0), block->tile->v_stride,
                            attn_reals_at(kernels, item->scratch.alpha, block->first), block->keys, block->count,
                            &block->tile->next_v);
}

/* Few rows that see all keys begin .. end - 1. */
static void accumulate_few(const attn_block *block, const attn_rows *v, int begin, int end) {
    const attn_item *item = block->item;
    const void *alpha = begin == block->tile->begin ? item->scratch.alpha : NULL;
    const int64_t columns = item->cpu->direct_v ? item->plan->problem.dim_v : item->cpu->o_stride;
    item->kernels->accumulate_rows(item->scratch.o, item->cpu->o_stride, columns, scores_at(block, 0, begin),
                                   block->count, v, end - begin, alpha);
}

static void accumulate_whole_tile(const attn_block *block) {
    const attn_item *item = block->item;
    const attn_tile *tile = block->tile;
    if (usable(item, &tile->rows_v)) {
        const attn_rows v = rows_from(tile->rows_v, tile->begin);
        accumulate_few(block, &v, tile->begin, tile->end);
        return;
    }
    for (int begin = tile->begin; begin < tile->end; begin += ATTN_PART_KEYS) {
        const int end = end_of_part(tile, begin);
        const attn_rows v = {item->kernels->type, item->scratch.v, tile->v_stride};
        attn_tile_convert_v(item, tile, begin, end, item->scratch.v);
        accumulate_few(block, &v, begin, end);
    }
}

static void convert_all_values(const attn_block *block) {
    const attn_item *item = block->item;
    attn_tile *tile = block->tile;
    void *first = attn_reals_at(item->kernels, item->scratch.v, tile->begin * tile->v_stride);
    attn_tile_convert_v(item, tile, tile->begin, tile->end, first);
    tile->v = item->scratch.v;
}

/* The row's values of one panel, 0 where it may not see the key. */
static void copy_visible(const attn_block *block, int row, int panel, attn_panel_keys keys) {
    const attn_item *item = block->item;
    const attn_kernels *kernels = item->kernels;
    const size_t bytes = (size_t)kernels->nr * (size_t)kernels->bytes;
    const attn_panel_keys seen = keys_of_row(block, row);
    for (int j = keys.begin; j < keys.end; j++) {
        char *to = (char *)item->scratch.clean + (size_t)j * bytes;
        int visible = j >= seen.begin && j < seen.end;
        if (visible)
            visible = attn_pair_allowed(&item->plan->problem, item->tensors, item->b, attn_item_head(item, row),
                                        attn_item_query(item, row), block->tile->key0 + j);
        if (visible) {
            memcpy(to, values_at(block, panel, j), bytes);
        } else {
            memset(to, 0, bytes);
        }
    }
}

static void accumulate_row_by_row(const attn_block *block) {
    const attn_item *item = block->item;
    const attn_kernels *kernels = item->kernels;
    for (int r = 0; r < block->count; r++) {
        const int row = block->first + r;
        const attn_panel_keys keys = block->keys[r / kernels->mr];
        for (int panel = 0; panel < value_panels(block); panel++) {
            copy_visible(block, row, panel, keys);
            kernels->accumulate(output_at(block, row, panel), item->cpu->o_stride, scores_at(block, row, 0),
                                item->scratch.clean, kernels->nr, attn_reals_at(kernels, item->scratch.alpha, row),
                                &keys, 1, &block->tile->next_v);
        }
    }
}

static void accumulate(const attn_block *block) {
    const attn_problem *p = &block->item->plan->problem;
    const int pairwise = p->bias.type != ATTN_TYPE_DEFAULT || p->mask.type != ATTN_TYPE_DEFAULT;
    const int all_seen = block->full && !pairwise;
    const attn_item *item = block->item;
    if (all_seen && item->few) {
        accumulate_whole_tile(block);
        return;
    }
    if (!block->tile->v) convert_all_values(block);
    if (all_seen || tile_is_finite(block)) {
        accumulate_block(block);
    } else {
        accumulate_row_by_row(block);
    }
}

void attn_block_pass(const attn_item *item, attn_tile *tile, int first, int count) {
    const attn_kernels *kernels = item->kernels;
    attn_block block = {.item = item, .tile = tile, .first = first, .count = count};
    block.panels = (count + kernels->mr - 1) / kernels->mr;
    if (!find_keys(&block)) return;
    if (item->few) {
        compute_scores_of_few(&block);
    } else {
        kernels->exclude(item->scratch.row_max, count * kernels->lanes);
        compute_scores(&block);
    }
    compute_softmax(&block);
    drop_weights(&block);
    accumulate(&block);
}
