/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe.h"

#include "prng.h"
#include "tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* 1, primes, and the neighbours of every tile and vector width that a kernel may have: 6, 8, 12, 16, 32, 64, 96, 128,
 * 256. */
static const int64_t edge_sizes[] = {1,  2,  3,   5,   6,   7,   8,   9,   11,  12,  13,  15, 16,
                                     17, 23, 24,  25,  31,  32,  33,  37,  63,  64,  65,  71, 95,
                                     96, 97, 101, 127, 128, 129, 191, 193, 255, 256, 257, 263};
static const int64_t dims[] = {1,  2,  3,  4,  5,  7,  8,  15, 16, 17, 24,  31,  32,  33,  40,  47,
                               48, 63, 64, 64, 64, 65, 72, 80, 96, 97, 100, 112, 127, 128, 128, 129};
static const int64_t large_dims[] = {192, 224, 255, 256, 257, 320, 512, 576, 1024};
static const int64_t groups[] = {1, 1, 1, 2, 3, 4, 5, 7, 8};

/* ----------------------------------------------------------------------------------------------------------- shapes */

static int64_t draw_edge(test_prng *prng) {
    return edge_sizes[test_prng_range(prng, test_prng_chance(prng, 50) ? COUNT(edge_sizes) / 2 : 0,
                                      COUNT(edge_sizes) - 1)];
}

/* Few rows against a long K and V. */
static void draw_decode_shape(test_prng *prng, attn_problem *problem) {
    static const int64_t few[] = {1, 1, 1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32};
    problem->seq_q = test_prng_pick(prng, few, COUNT(few));
    double shortest = test_prng_chance(prng, 60) ? 200.0 : 1.0;
    problem->seq_kv = (int64_t)(shortest * pow(3000.0 / shortest, test_prng_uniform(prng)));
}

static void draw_square_shape(test_prng *prng, attn_problem *problem) {
    problem->seq_q = draw_edge(prng);
    problem->seq_kv = test_prng_chance(prng, 40) ? problem->seq_q : draw_edge(prng);
}

static void draw_empty_dimension(test_prng *prng, attn_problem *problem) {
    switch (test_prng_range(prng, 0, 3)) {
    case 0:
        problem->batch = 0;
        break;
    case 1:
        problem->heads_q = problem->heads_kv = 0;
        break;
    case 2:
        problem->seq_q = 0;
        break;
    default:
        problem->seq_kv = 0;
        break;
    }
}

static void draw_shape(test_prng *prng, attn_problem *problem) {
    static const int64_t batches[] = {1, 1, 1, 2, 3, 5};
    static const int64_t heads[] = {1, 1, 2, 3};
    problem->batch = test_prng_pick(prng, batches, COUNT(batches));
    problem->heads_kv = test_prng_pick(prng, heads, COUNT(heads));
    problem->heads_q = problem->heads_kv * test_prng_pick(prng, groups, COUNT(groups));
    problem->dim = test_prng_chance(prng, 94) ? test_prng_pick(prng, dims, COUNT(dims))
                                              : test_prng_pick(prng, large_dims, COUNT(large_dims));
    problem->dim_v = problem->dim;
    if (test_prng_chance(prng, 35)) problem->dim_v = test_prng_pick(prng, dims, COUNT(dims));
    if (test_prng_chance(prng, 40))
        draw_decode_shape(prng, problem);
    else
        draw_square_shape(prng, problem);
    if (test_prng_chance(prng, 4)) draw_empty_dimension(prng, problem);
}

static int64_t next_smaller_edge(int64_t size) {
    int64_t smaller = 1;
    for (int n = 0; n < COUNT(edge_sizes); n++) {
        if (edge_sizes[n] <= size * 2 / 3) smaller = edge_sizes[n];
    }
    return smaller;
}

static double work_of(const attn_problem *problem) {
    return (double)problem->batch * (double)problem->heads_q * (double)problem->seq_q * (double)problem->seq_kv *
           (double)(problem->dim + problem->dim_v);
}

/* Makes one of the sizes smaller. Few rows stay as few, and many keys many, for as long as something else can give way. */
static void reduce(test_prng *prng, attn_problem *problem) {
    int64_t group = problem->heads_q / problem->heads_kv;
    switch (test_prng_range(prng, 0, 4)) {
    case 0:
        if (problem->batch > 1) problem->batch--;
        break;
    case 1:
        if (problem->heads_kv > 1) problem->heads_q = group * --problem->heads_kv;
        break;
    case 2:
        if (group > 1) problem->heads_q = problem->heads_kv * test_prng_range(prng, 1, group - 1);
        break;
    case 3:
        if (problem->seq_q > 32) problem->seq_q = next_smaller_edge(problem->seq_q);
        break;
    default:
        if (problem->seq_kv > 600)
            problem->seq_kv = problem->seq_kv * 3 / 4;
        else if (problem->heads_q == 1)
            problem->seq_kv = next_smaller_edge(problem->seq_kv);
        break;
    }
}

/* The oracle takes about a nanosecond for each multiplication, and there are thousands of problems. */
static void limit_work(test_prng *prng, attn_problem *problem) {
    double limit = test_prng_chance(prng, 90) ? 3e6 : 2.5e7;
    while (work_of(problem) > limit) reduce(prng, problem);
}

/* ------------------------------------------------------------------------------------------------------ what it has */

static void draw_types(test_prng *prng, attn_problem *problem) {
    static const int64_t types[] = {ATTN_F32, ATTN_F32, ATTN_F32,  ATTN_F32,  ATTN_F32,
                                    ATTN_F16, ATTN_F16, ATTN_BF16, ATTN_BF16, ATTN_F64};
    problem->type = (attn_type)test_prng_pick(prng, types, COUNT(types));
    if (problem->type == ATTN_F16 || problem->type == ATTN_BF16) {
        if (test_prng_chance(prng, 30)) problem->o_type = ATTN_F32;
    }
    problem->length_type = test_prng_chance(prng, 50) ? ATTN_I32 : ATTN_I64;
    if (test_prng_chance(prng, 70)) problem->with |= ATTN_WITH_LSE;
}

static int64_t draw_window(test_prng *prng, const attn_problem *problem) {
    switch (test_prng_range(prng, 0, 5)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return problem->seq_kv + test_prng_range(prng, 0, 3);
    case 3:
        return INT64_MAX;
    default:
        return test_prng_range(prng, 0, problem->seq_kv);
    }
}

static void draw_windows(test_prng *prng, attn_problem *problem) {
    if (test_prng_chance(prng, 60))
        problem->window_right = ATTN_CAUSAL;
    else if (test_prng_chance(prng, 40))
        problem->window_right = draw_window(prng, problem);
    if (test_prng_chance(prng, 40)) problem->window_left = draw_window(prng, problem);
    if (test_prng_chance(prng, 30))
        problem->q_offset = test_prng_range(prng, -problem->seq_q - 2, problem->seq_kv + 2);
    else if (test_prng_chance(prng, 20))
        problem->q_offset = 0;
    else if (test_prng_chance(prng, 4))
        problem->q_offset = test_prng_chance(prng, 50) ? INT64_MAX / 2 : -(INT64_MAX / 2);
    if (test_prng_chance(prng, 15)) problem->with |= ATTN_WITH_Q_OFFSETS;
}

/* Where the elements are. A packed tensor has no batch: the stride given for it may be anything. */
static void draw_strides(test_prng *prng, int packed, int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                         unsigned allowed, int64_t strides[4]) {
    int64_t shape[4] = {packed ? 1 : batch, heads, rows, columns};
    if (test_prng_chance(prng, 35)) return; /* the default */
    test_random_strides(prng, shape, allowed, strides);
    if (packed) strides[0] = test_prng_range(prng, -1000000, 1000000);
    /* A broadcast over everything would read as the default. */
    if (strides[0] == 0 && strides[1] == 0 && strides[2] == 0 && strides[3] == 0) strides[3] = 1;
}

static void draw_layouts(test_prng *prng, attn_problem *p) {
    const unsigned input = TEST_STRIDES_NEGATIVE | TEST_STRIDES_COLUMN_STEP;
    const unsigned shared = input | TEST_STRIDES_BROADCAST;
    int packed_q = (p->with & ATTN_WITH_CU_SEQLENS_Q) != 0, packed_kv = (p->with & ATTN_WITH_CU_SEQLENS_KV) != 0;
    int64_t lse[4] = {0, 0, 0, 0};
    draw_strides(prng, packed_q, p->batch, p->heads_q, p->seq_q, p->dim, shared, p->q_strides);
    draw_strides(prng, packed_kv, p->batch, p->heads_kv, p->seq_kv, p->dim, shared, p->k_strides);
    draw_strides(prng, packed_kv, p->batch, p->heads_kv, p->seq_kv, p->dim_v, shared, p->v_strides);
    draw_strides(prng, packed_q, p->batch, p->heads_q, p->seq_q, p->dim_v, input, p->o_strides);
    draw_strides(prng, packed_q, p->batch, p->heads_q, p->seq_q, 1, 0, lse);
    for (int n = 0; n < 3; n++) p->lse_strides[n] = lse[n];
}

/* The packed tensors hold as many rows as the padded ones would. */
static void draw_packing(test_prng *prng, attn_problem *problem) {
    if (test_prng_chance(prng, 70)) {
        problem->with |= ATTN_WITH_CU_SEQLENS_Q;
        problem->seq_q *= problem->batch;
    }
    if (test_prng_chance(prng, 70)) {
        problem->with |= ATTN_WITH_CU_SEQLENS_KV;
        problem->seq_kv *= problem->batch;
    }
}

static int64_t draw_columns(test_prng *prng, int64_t keys) {
    if (keys > 3 && test_prng_chance(prng, 15)) return test_prng_range(prng, 2, keys - 1);
    if (test_prng_chance(prng, 10)) return 1;
    return keys;
}

/* A bias or mask, broadcast where it would otherwise be larger than the rest of the problem. */
static void draw_view(test_prng *prng, const attn_problem *problem, attn_type type, attn_view *view) {
    const int64_t full[4] = {problem->batch, problem->heads_q, problem->seq_q, problem->seq_kv};
    int64_t size = 1;
    view->type = type;
    for (int n = 3; n >= 0; n--) {
        view->shape[n] = n == 3 ? draw_columns(prng, full[3]) : full[n];
        if (n < 3 && test_prng_chance(prng, 35)) view->shape[n] = 1;
        if (size * view->shape[n] > 200000) view->shape[n] = 1;
        size *= view->shape[n] > 0 ? view->shape[n] : 1;
    }
    if (test_prng_chance(prng, 65)) return;
    test_random_strides(prng, view->shape, TEST_STRIDES_NEGATIVE | TEST_STRIDES_COLUMN_STEP | TEST_STRIDES_BROADCAST,
                        view->strides);
    /* A view that repeats one element by strides alone is refused: it could not be told from the default. */
    int steps = 0;
    for (int n = 0; n < 4; n++) steps += view->shape[n] > 1 && view->strides[n] != 0;
    if (steps == 0) memset(view->strides, 0, sizeof view->strides);
}

static void draw_views(test_prng *prng, test_recipe *recipe) {
    static const int64_t types[] = {ATTN_F32, ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64};
    static const int64_t runs[] = {1, 1, 3, 16, 100, 256};
    static const int64_t percents[] = {3, 20, 50, 90, 100};
    recipe->mask_run = test_prng_pick(prng, runs, COUNT(runs));
    recipe->mask_percent = (int)test_prng_pick(prng, percents, COUNT(percents));
    if (test_prng_chance(prng, 30)) draw_view(prng, &recipe->problem, ATTN_BOOL, &recipe->problem.mask);
    if (test_prng_chance(prng, 70)) return;
    draw_view(prng, &recipe->problem, (attn_type)test_prng_pick(prng, types, COUNT(types)), &recipe->problem.bias);
    recipe->bias_size = test_prng_chance(prng, 80) ? 1.0 : 10.0;
    recipe->bias_hidden_percent = test_prng_chance(prng, 50) ? 0 : (int)test_prng_range(prng, 1, 100);
}

/* Sizes of the numbers, with a scale that keeps the logits within a few units of each other: what larger ones do is for
 * the tests of identities, as no two float computations agree on them. */
static void draw_numbers(test_prng *prng, test_recipe *recipe) {
    static const double sizes[] = {1.0, 1.0, 0.125, 30.0, 150.0};
    attn_problem *problem = &recipe->problem;
    recipe->v_size = test_prng_chance(prng, 80) ? 1.0 : sizes[test_prng_range(prng, 2, 3)];
    if (test_prng_chance(prng, 60)) {
        recipe->q_size = test_prng_chance(prng, 50) ? 1.0 : 2.0;
        return;
    }
    recipe->q_size = sizes[test_prng_range(prng, 0, 4)];
    recipe->k_size = sizes[test_prng_range(prng, 0, 4)];
    problem->scale =
        (double)test_prng_range(prng, 0, 3) / (recipe->q_size * recipe->k_size * sqrt((double)problem->dim));
    if (test_prng_chance(prng, 20)) problem->scale = -problem->scale;
}

static void draw_features(test_prng *prng, test_recipe *recipe) {
    static const double softcaps[] = {0.5, 2.0, 15.0, 50.0};
    static const double dropouts[] = {0.1, 0.5, 0.9};
    attn_problem *problem = &recipe->problem;
    if (test_prng_chance(prng, 20)) draw_packing(prng, problem);
    if (test_prng_chance(prng, 20)) problem->with |= ATTN_WITH_Q_LENS;
    if (test_prng_chance(prng, 30)) problem->with |= ATTN_WITH_KV_LENS;
    if (test_prng_chance(prng, 55)) draw_windows(prng, problem);
    if (test_prng_chance(prng, 20)) problem->softcap = softcaps[test_prng_range(prng, 0, 3)];
    if (test_prng_chance(prng, 20)) problem->with |= ATTN_WITH_SINKS;
    if (test_prng_chance(prng, 12)) problem->with |= ATTN_WITH_BATCH_INVARIANCE;
    if (test_prng_chance(prng, 8)) problem->dropout_p = dropouts[test_prng_range(prng, 0, 2)];
    /* Distances of 2^63 leave no digits for the rest of a logit. */
    int near_offset = problem->q_offset == ATTN_OFFSET_END || llabs(problem->q_offset) < 100000;
    if (near_offset && test_prng_chance(prng, 20)) problem->with |= ATTN_WITH_ALIBI;
    draw_views(prng, recipe);
    recipe->full_lengths_percent = (int)test_prng_range(prng, 0, 60);
    recipe->zero_lengths_percent = (int)test_prng_range(prng, 0, 30);
}

test_recipe test_recipe_random(uint64_t seed, uint64_t index) {
    test_prng prng = test_prng_make(seed, index);
    attn_problem problem = ATTN_PROBLEM_INIT;
    test_recipe recipe = test_recipe_plain(&problem, test_prng_next(&prng));
    draw_shape(&prng, &recipe.problem);
    if (work_of(&recipe.problem) > 0) limit_work(&prng, &recipe.problem);
    draw_types(&prng, &recipe.problem);
    recipe.plain = test_prng_chance(&prng, 20);
    if (!recipe.plain)
        draw_features(&prng, &recipe);
    else if (test_prng_chance(&prng, 40))
        recipe.problem.window_right = ATTN_CAUSAL;
    draw_numbers(&prng, &recipe);
    if (test_prng_chance(&prng, 60)) draw_layouts(&prng, &recipe.problem);
    recipe.unaligned = test_prng_chance(&prng, 50);
    recipe.garbage = (test_garbage)test_prng_range(&prng, 0, 3);
    return recipe;
}

test_recipe test_recipe_plain(const attn_problem *problem, uint64_t seed) {
    test_recipe recipe = {*problem, seed, 1.0, 1.0, 1.0, 1.0, 50, 1, 0, 100, 0, TEST_GARBAGE_NAN, 0, 1};
    return recipe;
}

/* ------------------------------------------------------------------------------------------------------ description */

typedef struct text_end {
    char *at;
    size_t room;
} text_end;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
add(text_end *end, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(end->at, end->room, format, arguments);
    va_end(arguments);
    size_t step = length < 0 ? 0 : (size_t)length < end->room ? (size_t)length : end->room;
    end->at += step;
    end->room -= step;
}

static void add_numbers(text_end *end, const char *name, const int64_t numbers[4]) {
    add(end, "%s%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, name, numbers[0], numbers[1], numbers[2], numbers[3]);
}

static void add_strides(text_end *end, const char *name, const int64_t strides[4]) {
    if (strides[0] || strides[1] || strides[2] || strides[3]) add_numbers(end, name, strides);
}

static void add_view(text_end *end, const char *name, const attn_view *view) {
    if (view->type == ATTN_TYPE_DEFAULT) return;
    add(end, " %s %s", name, attn_type_name(view->type));
    add_numbers(end, " ", view->shape);
    add_strides(end, "/", view->strides);
}

void test_recipe_describe(const test_recipe *recipe, char *text, size_t size) {
    const attn_problem *p = &recipe->problem;
    text_end end = {text, size};
    add(&end, "%s->%s", attn_type_name(p->type), attn_type_name(p->o_type ? p->o_type : p->type));
    add(&end, " B=%" PRId64 " Hq=%" PRId64 " Hkv=%" PRId64, p->batch, p->heads_q, p->heads_kv);
    add(&end, " Nq=%" PRId64 " Nkv=%" PRId64 " D=%" PRId64 " Dv=%" PRId64, p->seq_q, p->seq_kv, p->dim, p->dim_v);
    add(&end, " with=0x%x%s%s", p->with, recipe->plain ? " plain" : "", recipe->unaligned ? " unaligned" : "");
    if (p->window_left != ATTN_UNBOUNDED) add(&end, " left=%" PRId64, p->window_left);
    if (p->window_right != ATTN_UNBOUNDED) add(&end, " right=%" PRId64, p->window_right);
    if (p->q_offset != ATTN_OFFSET_END) add(&end, " q_offset=%" PRId64, p->q_offset);
    if (p->scale != ATTN_SCALE_DEFAULT) add(&end, " scale=%g", p->scale);
    if (p->softcap > 0) add(&end, " softcap=%g", p->softcap);
    if (p->dropout_p > 0) add(&end, " dropout=%g", p->dropout_p);
    add(&end, " sizes q=%g k=%g v=%g bias=%g", recipe->q_size, recipe->k_size, recipe->v_size, recipe->bias_size);
    add_view(&end, "bias", &p->bias);
    add_view(&end, "mask", &p->mask);
    add_strides(&end, " q/", p->q_strides);
    add_strides(&end, " k/", p->k_strides);
    add_strides(&end, " v/", p->v_strides);
    add_strides(&end, " o/", p->o_strides);
}
