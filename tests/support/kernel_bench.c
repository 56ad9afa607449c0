/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One block of rows against one full tile of keys, and few rows against one in place, as the engine runs them: everything
 * from memory that is in the second cache by then. Medians over repeats of about a millisecond each.
 */
#include "support/kernel_bench.h"

#include "support/element.h"
#include "support/prng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 15, ROWS = ATTN_BLOCK_ROWS, KEYS = ATTN_TILE_KEYS, STRIDE = ATTN_SCORE_STRIDE, DIM_MAX = 128 };

static const double SECONDS_PER_REPEAT = 1e-3;

typedef struct bench {
    const attn_kernels *kernels;
    int64_t dim;
    int few;                             /* rows of the passes over keys and values in place */
    attn_rows placed;                    /* those: KEYS of dim elements */
    char *q, *k, *v, *rows, *scores, *o; /* rows: KEYS rows of dim reals */
    char *halves;                        /* the same in f16, whose bits are numbers of bf16 as well */
    char *row_max, *m, *l, *alpha;
    double kept; /* of spin_fma, lest it is left out */
} bench;

typedef void (*bench_pass)(bench *b);

/* ----------------------------------------------------------------------------------------------------------- timing */

static double now(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double seconds_of(bench *b, bench_pass pass, int64_t passes) {
    const double start = now();
    for (int64_t n = 0; n < passes; n++) pass(b);
    return now() - start;
}

/* Seconds of one pass: the median. */
static double measure(bench *b, bench_pass pass) {
    double seconds[REPEATS];
    int64_t passes = 1;
    while (seconds_of(b, pass, passes) < SECONDS_PER_REPEAT) passes *= 2;
    for (int i = 0; i < REPEATS; i++) seconds[i] = seconds_of(b, pass, passes) / (double)passes;
    qsort(seconds, REPEATS, sizeof seconds[0], by_size);
    return seconds[REPEATS / 2];
}

/* ----------------------------------------------------------------------------------------------------------- passes */

static char *real_at(const bench *b, char *base, int64_t index) {
    return base + index * (int64_t)attn_type_size(b->kernels->type);
}

static void pass_spin(bench *b) {
    double flops;
    b->kept += b->kernels->spin_fma(1000, &flops);
}

static void pass_scores(bench *b) {
    const int nr = b->kernels->nr;
    attn_next nothing = {.lines = 0};
    for (int key = 0; key < KEYS; key += nr)
        b->kernels->scores(real_at(b, b->scores, key), b->row_max, b->q, real_at(b, b->k, key * b->dim), b->dim, 0,
                           ROWS, &nothing);
}

static void pass_accumulate(bench *b) {
    attn_panel_keys panels[ATTN_ROW_PANELS];
    attn_next nothing = {.lines = 0};
    const int nr = b->kernels->nr;
    for (int i = 0; i < ATTN_ROW_PANELS; i++) panels[i] = (attn_panel_keys){0, KEYS};
    for (int64_t column = 0; column < b->dim; column += nr)
        b->kernels->accumulate(real_at(b, b->o, column), DIM_MAX, b->scores, real_at(b, b->v, column * KEYS), nr,
                               b->alpha, panels, ROWS, &nothing);
}

static void pass_dots(bench *b) {
    b->kernels->dots(b->scores, b->rows, b->few, &b->placed, KEYS, b->dim);
}

static void pass_scores_in_place(bench *b) {
    b->kernels->scores_in_place(b->scores, b->q, b->few, b->placed.data, b->placed.stride, KEYS, b->dim);
}

static void pass_accumulate_rows(bench *b) {
    b->kernels->accumulate_rows(b->o, DIM_MAX, b->dim, b->scores, b->few, &b->placed, KEYS, b->alpha);
}

/* Weights of weights: in (0, 1] from the first pass on, none of them subnormal. */
static void pass_softmax(bench *b) {
    b->kernels->softmax(b->scores, ROWS, KEYS, b->row_max, b->m, b->l, b->alpha);
}

static void pass_softmax_finding_max(bench *b) {
    b->kernels->softmax(b->scores, ROWS, KEYS, NULL, b->m, b->l, b->alpha);
}

static void pass_pack_k(bench *b) {
    const int nr = b->kernels->nr;
    const void *keys[2 * ATTN_LANES_MAX];
    for (int key = 0; key < KEYS; key += nr) {
        for (int i = 0; i < nr; i++) keys[i] = real_at(b, b->rows, (key + i) * b->dim);
        b->kernels->pack_k(real_at(b, b->k, key * b->dim), keys, nr, b->dim);
    }
}

static void pass_pack_v(bench *b) {
    for (int64_t key = 0; key < KEYS; key++)
        b->kernels->pack_v(b->v, real_at(b, b->rows, key * b->dim), key, KEYS, b->dim);
}

/* --------------------------------------------------------------------------------------------------------- printing */

/* What matrix products do is compared with the peak. */
static void print_product(bench *b, const char *name, bench_pass pass, int rows, double peak) {
    const double flops = 2.0 * rows * KEYS * (double)b->dim, seconds = measure(b, pass);
    printf("  %-24s D=%-4d %9.1f GFLOP/s %6.1f %% of the peak\n", name, (int)b->dim, flops / seconds * 1e-9,
           100 * flops / seconds / peak);
}

/* What comes beside them: with the time that the block's two products would take at the peak. */
static void print_overhead(bench *b, const char *name, bench_pass pass, int64_t elements, double peak) {
    const double products = 4.0 * ROWS * KEYS * (double)b->dim / peak, seconds = measure(b, pass);
    printf("  %-24s D=%-4d %9.3f ns/element %4.1f %% on top of the products at the peak\n", name, (int)b->dim,
           seconds / (double)elements * 1e9, 100 * seconds / products);
}

/* With the type of storage and the number of rows. */
static void print_few(bench *b, const char *name, bench_pass pass, double peak) {
    char text[64];
    snprintf(text, sizeof text, "%s %s %d", name, attn_type_name(b->placed.type), b->few);
    print_product(b, text, pass, b->few, peak);
}

static void bench_few(bench *b, attn_type storage, double peak) {
    const int counts[] = {1, b->kernels->dots_rows, 8, 32};
    b->placed = (attn_rows){storage, storage == b->kernels->type ? b->rows : b->halves, b->dim};
    for (int i = 0; i < 4; i++) {
        b->few = counts[i];
        print_few(b, "dots", pass_dots, peak);
        if (storage == b->kernels->type) print_few(b, "scores_in_place", pass_scores_in_place, peak);
        print_few(b, "accumulate_rows", pass_accumulate_rows, peak);
    }
}

static void bench_dim(bench *b, int64_t dim, double peak) {
    b->dim = dim;
    print_product(b, "scores", pass_scores, ROWS, peak);
    print_overhead(b, "softmax", pass_softmax, (int64_t)ROWS * KEYS, peak);
    print_overhead(b, "softmax, finding max", pass_softmax_finding_max, (int64_t)ROWS * KEYS, peak);
    print_product(b, "accumulate", pass_accumulate, ROWS, peak);
    print_overhead(b, "pack_k", pass_pack_k, KEYS * dim, peak);
    print_overhead(b, "pack_v", pass_pack_v, KEYS * dim, peak);
    bench_few(b, b->kernels->type, peak);
    if (b->kernels->type == ATTN_F32) bench_few(b, ATTN_F16, peak);
    if (b->kernels->type == ATTN_F32) bench_few(b, ATTN_BF16, peak);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static char *take(attn_type type, int64_t count, test_prng *prng) {
    const size_t size = ((size_t)count * attn_type_size(type) + 63) / 64 * 64;
    char *memory = aligned_alloc(64, size);
    if (!memory) {
        fprintf(stderr, "no memory to measure with\n");
        exit(2);
    }
    for (int64_t i = 0; i < count; i++) test_store(type, memory, i, test_prng_uniform(prng) - 0.5);
    return memory;
}

static bench bench_make(const attn_kernels *kernels) {
    bench b = {.kernels = kernels};
    const attn_type type = kernels->type;
    test_prng prng = test_prng_make(1, 1);
    b.q = take(type, ROWS * DIM_MAX, &prng);
    b.k = take(type, KEYS * DIM_MAX, &prng);
    b.v = take(type, KEYS * DIM_MAX, &prng);
    b.rows = take(type, KEYS * DIM_MAX, &prng);
    b.halves = take(ATTN_F16, KEYS * DIM_MAX, &prng);
    b.o = take(type, ROWS * DIM_MAX, &prng);
    b.scores = take(type, ROWS * STRIDE, &prng);
    b.row_max = take(type, ROWS * ATTN_LANES_MAX, &prng);
    b.m = take(type, ROWS, &prng);
    b.l = take(type, ROWS, &prng);
    b.alpha = take(type, ROWS, &prng);
    kernels->begin_rows(b.m, b.l, ROWS);
    return b;
}

static void bench_free(bench *b) {
    char *const memory[] = {b->q, b->k, b->v, b->rows, b->halves, b->o, b->scores, b->row_max, b->m, b->l, b->alpha};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) free(memory[i]);
}

static void bench_table(const attn_kernel_set *set, const attn_kernels *kernels) {
    bench b = bench_make(kernels);
    double flops = 0;
    b.kept = kernels->spin_fma(1000, &flops);
    const double peak = flops / measure(&b, pass_spin);
    printf("%s %s: %d x %d panels of %d lanes, peak %.1f GFLOP/s%s\n", set->name, attn_type_name(kernels->type),
           kernels->mr, kernels->nr, kernels->lanes, peak * 1e-9, b.kept == b.kept ? "" : "?");
    bench_dim(&b, 64, peak);
    bench_dim(&b, 128, peak);
    bench_free(&b);
}

void test_bench_kernels(const attn_kernel_set *set) {
    bench_table(set, set->f32);
    bench_table(set, set->f64);
}
