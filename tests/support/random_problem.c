/* SPDX-License-Identifier: Apache-2.0 */
#include "random_problem.h"

#include "element.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each part of a case has a generator of its own, so that a converted case can draw the lengths alone again. */
enum { STREAM_LENGTHS, STREAM_PLACES, STREAM_TENSORS, STREAM_VIEWS, STREAM_HEADS };

static void *take(size_t size) {
    void *memory = calloc(size ? size : 1, 1);
    if (!memory) {
        fprintf(stderr, "no memory for %zu bytes\n", size);
        exit(2);
    }
    return memory;
}

static int64_t add_saturated(int64_t a, int64_t b) {
    if (b > 0 && a > INT64_MAX - b) return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b) return INT64_MIN;
    return a + b;
}

/* ---------------------------------------------------------------------------------------------------------- lengths */

static int compare_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* batch + 1 cumulative lengths, some of the sequences empty, and now and then rows at the end that belong to none. */
static void draw_cuts(test_prng *prng, int64_t batch, int64_t total, int64_t *cuts) {
    int64_t end = test_prng_chance(prng, 60) ? total : test_prng_range(prng, 0, total);
    for (int64_t b = 0; b <= batch; b++) cuts[b] = test_prng_range(prng, 0, end);
    for (int64_t b = 1; b < batch; b++) {
        if (test_prng_chance(prng, 25)) cuts[b + 1] = cuts[b];
    }
    cuts[0] = 0;
    if (batch > 0) cuts[batch] = end;
    qsort(cuts, (size_t)batch + 1, sizeof *cuts, compare_i64);
}

static int64_t draw_length(test_prng *prng, const test_recipe *recipe, int64_t room) {
    if (test_prng_chance(prng, recipe->full_lengths_percent)) return room;
    if (test_prng_chance(prng, recipe->zero_lengths_percent)) return 0;
    return test_prng_range(prng, 0, room);
}

static void place_rows(test_case *made, test_prng *prng) {
    const attn_problem *problem = &made->problem;
    int64_t *cuts = take(sizeof *cuts * (size_t)(problem->batch + 1));
    int packed = (problem->with & ATTN_WITH_CU_SEQLENS_Q) != 0;
    draw_cuts(prng, problem->batch, problem->seq_q, cuts);
    for (int64_t b = 0; b < problem->batch; b++) {
        test_sequence *sequence = &made->sequences[b];
        sequence->batch_q = packed ? 0 : b;
        sequence->row0 = packed ? cuts[b] : 0;
        sequence->rows = packed ? cuts[b + 1] - cuts[b] : problem->seq_q;
        sequence->q_len = sequence->rows;
        if (problem->with & ATTN_WITH_Q_LENS) sequence->q_len = draw_length(prng, &made->recipe, sequence->rows);
    }
    free(cuts);
}

static void place_keys(test_case *made, test_prng *prng) {
    const attn_problem *problem = &made->problem;
    int64_t *cuts = take(sizeof *cuts * (size_t)(problem->batch + 1));
    int packed = (problem->with & ATTN_WITH_CU_SEQLENS_KV) != 0;
    draw_cuts(prng, problem->batch, problem->seq_kv, cuts);
    for (int64_t b = 0; b < problem->batch; b++) {
        test_sequence *sequence = &made->sequences[b];
        sequence->batch_kv = packed ? 0 : b;
        sequence->key0 = packed ? cuts[b] : 0;
        sequence->keys = packed ? cuts[b + 1] - cuts[b] : problem->seq_kv;
        sequence->kv_len = sequence->keys;
        if (problem->with & ATTN_WITH_KV_LENS) sequence->kv_len = draw_length(prng, &made->recipe, sequence->keys);
    }
    free(cuts);
}

static void place_offsets(test_case *made, test_prng *prng) {
    const attn_problem *problem = &made->problem;
    for (int64_t b = 0; b < problem->batch; b++) {
        test_sequence *sequence = &made->sequences[b];
        int64_t drawn = test_prng_range(prng, -sequence->rows - 2, sequence->keys + 2);
        if (problem->with & ATTN_WITH_Q_OFFSETS)
            sequence->q_offset = drawn;
        else if (problem->q_offset == ATTN_OFFSET_END)
            sequence->q_offset = sequence->kv_len - sequence->q_len;
        else
            sequence->q_offset = problem->q_offset;
    }
}

/* The library's form of the lengths: an array of I32 or I64 that ends where memory ends. */
static test_block make_integers(const test_case *made, int64_t count) {
    attn_type type = made->problem.length_type;
    return test_block_make((size_t)count * attn_type_size(type), TEST_BLOCK_AT_END, 0);
}

static void write_lengths(test_case *made) {
    const attn_problem *problem = &made->problem;
    int64_t batch = problem->batch;
    if (problem->with & ATTN_WITH_Q_LENS) made->tensors.q_lens = (made->q_lens = make_integers(made, batch)).data;
    if (problem->with & ATTN_WITH_KV_LENS) made->tensors.kv_lens = (made->kv_lens = make_integers(made, batch)).data;
    if (problem->with & ATTN_WITH_Q_OFFSETS)
        made->tensors.q_offsets = (made->q_offsets = make_integers(made, batch)).data;
    if (problem->with & ATTN_WITH_CU_SEQLENS_Q)
        made->tensors.cu_seqlens_q = (made->cu_q = make_integers(made, batch + 1)).data;
    if (problem->with & ATTN_WITH_CU_SEQLENS_KV)
        made->tensors.cu_seqlens_kv = (made->cu_kv = make_integers(made, batch + 1)).data;
    for (int64_t b = 0; b < batch; b++) {
        const test_sequence *s = &made->sequences[b];
        attn_type type = problem->length_type;
        if (made->q_lens.data) test_store(type, made->q_lens.data, b, (double)s->q_len);
        if (made->kv_lens.data) test_store(type, made->kv_lens.data, b, (double)s->kv_len);
        if (made->q_offsets.data) test_store(type, made->q_offsets.data, b, (double)s->q_offset);
        if (made->cu_q.data) test_store(type, made->cu_q.data, b + 1, (double)(s->row0 + s->rows));
        if (made->cu_kv.data) test_store(type, made->cu_kv.data, b + 1, (double)(s->key0 + s->keys));
    }
}

/* ---------------------------------------------------------------------------------------------------------- tensors */

static void set_geometry(test_tensor *tensor, attn_type type, int packed, const int64_t shape[4],
                         const int64_t strides[4]) {
    static const int64_t none[4] = {0, 0, 0, 0};
    tensor->type = type;
    memcpy(tensor->shape, shape, sizeof tensor->shape);
    if (packed) tensor->shape[0] = 1;
    memcpy(tensor->strides, strides, sizeof tensor->strides);
    if (memcmp(strides, none, sizeof none) == 0) {
        test_dense_strides(tensor->shape, packed ? test_order_bshd : test_order_bhsd, tensor->strides);
    }
    if (packed) tensor->strides[0] = 0;
}

static void fill_with_garbage(test_tensor *tensor, test_garbage garbage, test_prng *prng) {
    const double values[] = {(double)NAN, (double)INFINITY, tensor->type == ATTN_F16 ? 65504.0 : 3e38,
                             -(double)INFINITY};
    int64_t count = (int64_t)(tensor->block.size / attn_type_size(tensor->type));
    for (int64_t n = 0; n < count; n++) {
        double value = garbage == TEST_GARBAGE_MIXED ? values[test_prng_range(prng, 0, 3)] : values[garbage];
        if (tensor->type == ATTN_BOOL) value = (double)test_prng_range(prng, 0, 255);
        test_store(tensor->type, tensor->block.data, n, value);
    }
}

static void allocate(const test_case *made, test_tensor *tensor, test_prng *prng) {
    int at_end = made->recipe.unaligned && test_prng_chance(prng, 60);
    int64_t slack = made->recipe.unaligned && !at_end ? test_prng_range(prng, 1, 31) : 0;
    test_tensor_allocate(tensor, at_end ? TEST_BLOCK_AT_END : TEST_BLOCK_AT_BEGIN, slack, 0);
    fill_with_garbage(tensor, made->recipe.garbage, prng);
}

static void allocate_tensors(test_case *made) {
    const attn_problem *p = &made->problem;
    test_prng prng = test_prng_make(made->recipe.seed, STREAM_PLACES);
    int packed_q = (p->with & ATTN_WITH_CU_SEQLENS_Q) != 0, packed_kv = (p->with & ATTN_WITH_CU_SEQLENS_KV) != 0;
    const int64_t q_shape[4] = {p->batch, p->heads_q, p->seq_q, p->dim};
    const int64_t k_shape[4] = {p->batch, p->heads_kv, p->seq_kv, p->dim};
    const int64_t v_shape[4] = {p->batch, p->heads_kv, p->seq_kv, p->dim_v};
    set_geometry(&made->q, p->type, packed_q, q_shape, p->q_strides);
    set_geometry(&made->k, p->type, packed_kv, k_shape, p->k_strides);
    set_geometry(&made->v, p->type, packed_kv, v_shape, p->v_strides);
    allocate(made, &made->q, &prng);
    allocate(made, &made->k, &prng);
    allocate(made, &made->v, &prng);
    made->tensors.q = made->q.data;
    made->tensors.k = made->k.data;
    made->tensors.v = made->v.data;
    if (p->bias.type) {
        set_geometry(&made->bias, p->bias.type, 0, p->bias.shape, p->bias.strides);
        allocate(made, &made->bias, &prng);
        made->tensors.bias = made->bias.data;
    }
    if (p->mask.type) {
        set_geometry(&made->mask, p->mask.type, 0, p->mask.shape, p->mask.strides);
        allocate(made, &made->mask, &prng);
        made->tensors.mask = made->mask.data;
    }
}

/* Keys that the view has columns for. */
static int64_t columns_of(const attn_view *view, int64_t keys) {
    return view->type == ATTN_TYPE_DEFAULT || view->shape[3] == 1 || view->shape[3] > keys ? keys : view->shape[3];
}

/* Keys begin .. end - 1 that the lengths and the window let at least one row see. */
static void used_keys(const test_case *made, const test_sequence *sequence, int64_t *begin, int64_t *end) {
    const attn_problem *problem = &made->problem;
    int64_t columns = columns_of(&problem->bias, problem->seq_kv),
            mask_columns = columns_of(&problem->mask, problem->seq_kv);
    if (mask_columns < columns) columns = mask_columns;
    *begin = 0;
    *end = sequence->q_len > 0 ? sequence->kv_len : 0;
    if (*end > columns) *end = columns;
    if (problem->window_left != ATTN_UNBOUNDED) {
        int64_t first = add_saturated(sequence->q_offset, -problem->window_left);
        if (first > *begin) *begin = first;
    }
    if (problem->window_right != ATTN_UNBOUNDED) {
        int64_t last = add_saturated(add_saturated(sequence->q_offset, sequence->q_len), problem->window_right);
        if (last < *end) *end = last;
    }
}

static void fill_row(test_tensor *tensor, int64_t b, int64_t h, int64_t row, double size, test_prng *prng) {
    for (int64_t d = 0; d < tensor->shape[3]; d++) test_tensor_set(tensor, b, h, row, d, size * test_prng_normal(prng));
}

static void fill_tensors(test_case *made) {
    const test_recipe *recipe = &made->recipe;
    test_prng prng = test_prng_make(recipe->seed, STREAM_TENSORS);
    for (int64_t b = 0; b < made->problem.batch; b++) {
        const test_sequence *s = &made->sequences[b];
        int64_t begin, end;
        used_keys(made, s, &begin, &end);
        for (int64_t h = 0; h < made->problem.heads_q; h++) {
            for (int64_t i = 0; i < s->q_len; i++)
                fill_row(&made->q, s->batch_q, h, s->row0 + i, recipe->q_size, &prng);
        }
        for (int64_t h = 0; h < made->problem.heads_kv; h++) {
            for (int64_t j = begin; j < end; j++) {
                fill_row(&made->k, s->batch_kv, h, s->key0 + j, recipe->k_size, &prng);
                fill_row(&made->v, s->batch_kv, h, s->key0 + j, recipe->v_size, &prng);
            }
        }
    }
}

/* One row of a mask: runs of keys that may or may not be seen, and at times all of them or none. */
static void fill_mask_row(test_case *made, int64_t b, int64_t h, int64_t i, int64_t columns, test_prng *prng) {
    static const int64_t trues[] = {1, 1, 1, 2, 128, 255};
    int64_t seen = 0;
    int64_t style = test_prng_range(prng, 0, 9);
    for (int64_t j = 0; j < columns; j++) {
        if (j % made->recipe.mask_run == 0) seen = test_prng_chance(prng, made->recipe.mask_percent);
        if (style < 2) seen = style;
        test_tensor_set(&made->mask, b, h, i, j, seen ? (double)test_prng_pick(prng, trues, 6) : 0.0);
    }
}

static void fill_bias_row(test_case *made, int64_t b, int64_t h, int64_t i, int64_t columns, test_prng *prng) {
    int hidden = 0;
    for (int64_t j = 0; j < columns; j++) {
        if (j % made->recipe.mask_run == 0) hidden = test_prng_chance(prng, made->recipe.bias_hidden_percent);
        double value = made->recipe.bias_size * test_prng_normal(prng);
        test_tensor_set(&made->bias, b, h, i, j, hidden ? -(double)INFINITY : value);
    }
}

typedef void (*fill_view_row)(test_case *, int64_t, int64_t, int64_t, int64_t, test_prng *);

/* Writes what at least one batch entry has rows and keys for; a dimension that is broadcast is written once an entry. */
static void fill_view(test_case *made, const test_tensor *view, fill_view_row fill, test_prng *prng) {
    for (int64_t b = 0; b < made->problem.batch; b++) {
        const test_sequence *s = &made->sequences[b];
        int64_t rows = s->q_len < view->shape[2] ? s->q_len : view->shape[2];
        int64_t columns = s->kv_len < view->shape[3] ? s->kv_len : view->shape[3];
        for (int64_t h = 0; h < view->shape[1]; h++) {
            for (int64_t i = 0; i < rows; i++) fill(made, view->shape[0] > 1 ? b : 0, h, i, columns, prng);
        }
    }
}

static void make_per_head(test_case *made) {
    const attn_problem *problem = &made->problem;
    test_prng prng = test_prng_make(made->recipe.seed, STREAM_HEADS);
    size_t size = sizeof(float) * (size_t)problem->heads_q;
    if (problem->with & ATTN_WITH_ALIBI) {
        made->slopes_block = test_block_make(size, TEST_BLOCK_AT_END, 0);
        made->tensors.alibi_slopes = made->slopes = (float *)(void *)made->slopes_block.data;
    }
    if (problem->with & ATTN_WITH_SINKS) {
        made->sinks_block = test_block_make(size, TEST_BLOCK_AT_END, 0);
        made->tensors.sinks = made->sinks = (float *)(void *)made->sinks_block.data;
    }
    for (int64_t h = 0; h < problem->heads_q; h++) {
        float slope = (float)exp2(-(double)test_prng_range(&prng, 1, 10));
        float sink = (float)(2.0 * test_prng_normal(&prng));
        if (made->slopes) made->slopes[h] = test_prng_chance(&prng, 10) ? -slope / 16.0F : slope;
        if (made->sinks) made->sinks[h] = test_prng_chance(&prng, 5) ? -INFINITY : sink;
    }
}

/* ------------------------------------------------------------------------------------------------------ whole cases */

static test_case *make_unfilled(const test_recipe *recipe) {
    test_case *made = take(sizeof *made);
    attn_problem *problem = &made->problem;
    made->recipe = *recipe;
    *problem = recipe->problem;
    if (problem->heads_kv == 0) problem->heads_kv = problem->heads_q;
    if (problem->dim_v == 0) problem->dim_v = problem->dim;
    if (problem->scale == ATTN_SCALE_DEFAULT) problem->scale = 1.0 / sqrt((double)problem->dim);
    made->tensors = (attn_tensors)ATTN_TENSORS_INIT;
    made->sequences = take(sizeof *made->sequences * (size_t)problem->batch);
    test_prng prng = test_prng_make(recipe->seed, STREAM_LENGTHS);
    place_rows(made, &prng);
    place_keys(made, &prng);
    place_offsets(made, &prng);
    write_lengths(made);
    allocate_tensors(made);
    make_per_head(made);
    made->tensors.dropout_seed = recipe->seed;
    made->tensors.dropout_offset = recipe->seed >> 7;
    return made;
}

test_case *test_case_make(const test_recipe *recipe) {
    test_case *made = make_unfilled(recipe);
    test_prng prng = test_prng_make(recipe->seed, STREAM_VIEWS);
    fill_tensors(made);
    if (made->bias.data) fill_view(made, &made->bias, fill_bias_row, &prng);
    if (made->mask.data) fill_view(made, &made->mask, fill_mask_row, &prng);
    return made;
}

test_case *test_case_convert(const test_case *source, attn_type type) {
    test_recipe recipe = source->recipe;
    attn_problem *problem = &recipe.problem;
    problem->type = type;
    problem->kv_type = problem->o_type = ATTN_TYPE_DEFAULT;
    memset(problem->q_strides, 0, sizeof problem->q_strides);
    memset(problem->k_strides, 0, sizeof problem->k_strides);
    memset(problem->v_strides, 0, sizeof problem->v_strides);
    memset(problem->o_strides, 0, sizeof problem->o_strides);
    memset(problem->lse_strides, 0, sizeof problem->lse_strides);
    memset(problem->bias.strides, 0, sizeof problem->bias.strides);
    memset(problem->mask.strides, 0, sizeof problem->mask.strides);
    if (problem->bias.type) problem->bias.type = ATTN_F64;
    test_case *made = make_unfilled(&recipe);
    test_tensor_copy(&made->q, &source->q);
    test_tensor_copy(&made->k, &source->k);
    test_tensor_copy(&made->v, &source->v);
    if (made->bias.data) test_tensor_copy(&made->bias, &source->bias);
    if (made->mask.data) test_tensor_copy(&made->mask, &source->mask);
    return made;
}

void test_case_free(test_case *source) {
    if (!source) return;
    test_tensor *tensors[] = {&source->q, &source->k, &source->v, &source->bias, &source->mask};
    test_block *blocks[] = {&source->q_lens,    &source->kv_lens,      &source->cu_q,       &source->cu_kv,
                            &source->q_offsets, &source->slopes_block, &source->sinks_block};
    for (size_t n = 0; n < sizeof tensors / sizeof *tensors; n++) test_tensor_free(tensors[n]);
    for (size_t n = 0; n < sizeof blocks / sizeof *blocks; n++) test_block_free(blocks[n]);
    free(source->sequences);
    free(source);
}

/* ------------------------------------------------------------------------------------------------------ definitions */

/* The element of a view for a pair; 0 if the view has no column for the key. */
static int view_at(const test_case *source, const attn_view *view, const test_tensor *tensor, const int64_t pair[4],
                   double *value) {
    int64_t at[4];
    if (pair[3] >= columns_of(view, source->problem.seq_kv)) return 0;
    for (int n = 0; n < 4; n++) at[n] = view->shape[n] == 1 ? 0 : pair[n];
    *value = test_tensor_get(tensor, at[0], at[1], at[2], at[3]);
    return 1;
}

double test_bias_at(const test_case *source, int64_t b, int64_t h, int64_t i, int64_t j) {
    const int64_t pair[4] = {b, h, i, j};
    double value;
    if (!source->bias.data) return 0.0;
    return view_at(source, &source->problem.bias, &source->bias, pair, &value) ? value : -(double)INFINITY;
}

int test_may_see(const test_case *source, int64_t b, int64_t h, int64_t i, int64_t j) {
    const attn_problem *problem = &source->problem;
    const test_sequence *s = &source->sequences[b];
    const int64_t pair[4] = {b, h, i, j};
    int64_t p = add_saturated(i, s->q_offset);
    double value;
    if (i >= s->q_len || j >= s->kv_len) return 0;
    if (problem->window_left != ATTN_UNBOUNDED && j < add_saturated(p, -problem->window_left)) return 0;
    if (problem->window_right != ATTN_UNBOUNDED && j > add_saturated(p, problem->window_right)) return 0;
    if (source->mask.data && (!view_at(source, &problem->mask, &source->mask, pair, &value) || value == 0)) return 0;
    return test_bias_at(source, b, h, i, j) > -(double)INFINITY;
}
