/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that says which tiles, items and splits a problem gets. */
#include "base/checked.h"
#include "base/reason.h"
#include "cpu/cpu.h"

#include <stdio.h>
#include <string.h>

enum {
    L2_BYTES_UNKNOWN = 2 * 1024 * 1024, /* where the caches are not known */
    ITEM_BYTES_LEAST = 128 * 1024,      /* of an item's q and o */
    ITEM_BYTES_MOST = 1024 * 1024,
    ITEM_ROWS_LEAST = 192, /* fewer rows would not pay for packing k and v of every tile */
    ITEMS_PER_THREAD = 4,  /* so that threads finish together */
    FEW_ROWS = 32,         /* up to here, k and v are used where they lie: packing would not pay */
    SPLITS_IN_ALL = 64     /* items of few rows in one run, if the keys allow */
};

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

static int64_t round_up(int64_t a, int64_t unit) {
    return divide_up(a, unit) * unit;
}

int64_t attn_cpu_rows_of_group(const attn_problem *p) {
    return p->heads_kv ? p->heads_q / p->heads_kv * p->seq_q : 0;
}

int64_t attn_cpu_groups(const attn_problem *p) {
    return p->batch * p->heads_kv;
}

static int64_t choose_l2_bytes(const attn_plan *plan) {
    const int64_t l2 = plan->engine->info.l2_bytes;
    return l2 ? l2 : L2_BYTES_UNKNOWN;
}

/* An item's q and o pass by for every tile: they take a third of the second cache, beside the tile and its scores. */
static int64_t choose_item_bytes(const attn_plan *plan) {
    return smaller(larger(choose_l2_bytes(plan) / 3, ITEM_BYTES_LEAST), ITEM_BYTES_MOST);
}

/*
 * Items get as many rows as the cache allows, as each packs the keys for itself, but not so many that threads would wait
 * for each other. Rows are dealt out evenly. How many there are changes no result.
 */
static int64_t choose_item_rows(const attn_plan *plan, const attn_cpu_plan *cpu) {
    const attn_problem *p = &plan->problem;
    const int64_t row_bytes = (p->dim + cpu->o_stride) * (int64_t)attn_type_size(cpu->kernels->type);
    const int64_t most = larger(round_up(choose_item_bytes(plan) / row_bytes, cpu->kernels->mr), cpu->kernels->mr);
    const int64_t rows = larger(attn_cpu_rows_of_group(p), 1);
    const int64_t threads = plan->engine->info.threads;
    const double share = (double)rows * (double)attn_cpu_groups(p) / (double)(threads * ITEMS_PER_THREAD);
    const int64_t fair = share < (double)most ? (int64_t)share : most;
    const int64_t wanted = smaller(larger(fair, ITEM_ROWS_LEAST), most);
    return round_up(divide_up(rows, divide_up(rows, wanted)), cpu->kernels->mr);
}

static int choose_splits(const attn_problem *p) {
    const int64_t by_keys = divide_up(p->seq_kv, ATTN_SPLIT_KEYS);
    const int64_t by_groups = SPLITS_IN_ALL / larger(attn_cpu_groups(p), 1);
    return (int)larger(smaller(by_keys, by_groups), 1);
}

/* With a packed q any sequence may turn out to have few rows. */
static int64_t choose_few_rows(const attn_problem *p) {
    const int64_t group = p->heads_kv ? p->heads_q / p->heads_kv : 1;
    const int64_t shortest = p->with & ATTN_WITH_CU_SEQLENS_Q ? group : attn_cpu_rows_of_group(p);
    if (p->with & ATTN_WITH_BATCH_INVARIANCE) return 0;
    return shortest <= FEW_ROWS ? FEW_ROWS : 0;
}

static int read_in_place(const attn_kernels *kernels, const int64_t *strides, int64_t columns) {
    return strides[3] == 1 && columns % kernels->lanes == 0;
}

/* Fetching a tile while the one before is worked on takes room: where the second cache has none, it would throw out what
 * is in use. */
static int choose_fetch_next(const attn_plan *plan, const attn_cpu_plan *cpu) {
    const attn_problem *p = &plan->problem;
    const int64_t rows = smaller(cpu->item_rows, attn_cpu_rows_of_group(p));
    const int64_t columns = p->dim + cpu->o_stride, real = cpu->kernels->bytes;
    const int64_t item = rows * columns * real;
    const int64_t scores = smaller(rows, ATTN_BLOCK_ROWS) * ATTN_SCORE_STRIDE * real;
    const int64_t tiles = ATTN_TILE_KEYS * columns * (real + (int64_t)attn_type_size(p->kv_type));
    return item + scores + tiles <= choose_l2_bytes(plan);
}

static size_t take(size_t *at, int64_t count, size_t element) {
    const size_t begin = *at;
    *at += attn_align_size((size_t)count * element);
    return begin;
}

/* Tiles are small: no product here comes near overflow, as dim and dim_v are at most 1024 and rows are limited above. */
static void lay_out_scratch(const attn_problem *p, attn_cpu_plan *cpu) {
    const attn_kernels *kernels = cpu->kernels;
    const size_t real = attn_type_size(kernels->type);
    const int64_t rows = larger(cpu->item_rows, cpu->few_rows);
    const int64_t wider = larger(p->dim, p->dim_v);
    attn_scratch_layout *s = &cpu->scratch;
    s->q = take(&s->size, round_up(rows, kernels->nr) * cpu->dim_step + kernels->lanes, real);
    s->o = take(&s->size, rows * cpu->o_stride, real);
    s->m = take(&s->size, rows, real);
    s->l = take(&s->size, rows, real);
    s->alpha = take(&s->size, rows, real);
    s->row_max = take(&s->size, (int64_t)ATTN_BLOCK_ROWS * kernels->lanes, real);
    s->scores = take(&s->size, smaller(rows, ATTN_BLOCK_ROWS) * ATTN_SCORE_STRIDE, real);
    s->k = take(&s->size, ATTN_TILE_KEYS * cpu->dim_step, real);
    s->v = take(&s->size, ATTN_TILE_KEYS * cpu->o_stride, real);
    s->rows = take(&s->size, larger(larger(kernels->nr, kernels->mr) * wider, ATTN_TILE_KEYS), real);
    s->clean = take(&s->size, (int64_t)ATTN_TILE_KEYS * kernels->nr, real);
}

static attn_status size_workspace(attn_plan *plan, attn_cpu_plan *cpu, attn_reason *reason) {
    const size_t real = attn_type_size(cpu->kernels->type);
    const int64_t slots = cpu->max_splits > 1 ? attn_cpu_groups(&plan->problem) * cpu->max_splits : 0;
    cpu->partial_bytes = attn_align_size((size_t)(cpu->few_rows * (cpu->o_stride + 2)) * real);
    size_t partials, scratch;
    if (!attn_mul_size((size_t)cpu->workers, cpu->scratch.size, &scratch) ||
        !attn_mul_size((size_t)slots, cpu->partial_bytes, &partials) ||
        !attn_add_size(scratch, partials, &plan->workspace_bytes))
        return attn_fail(reason, ATTN_ERROR_OVERFLOW, "the workspace of %d threads does not fit size_t", cpu->workers);
    cpu->partials_at = scratch;
    return ATTN_OK;
}

static int choose_workers(const attn_plan *plan, const attn_cpu_plan *cpu) {
    const int64_t blocks = divide_up(larger(attn_cpu_rows_of_group(&plan->problem), 1), cpu->item_rows);
    const int64_t parts = larger(blocks, cpu->few_rows ? cpu->max_splits : 1);
    const double items = (double)parts * (double)attn_cpu_groups(&plan->problem);
    const int threads = plan->engine->info.threads;
    return items >= (double)threads ? threads : (int)larger((int64_t)items, 1);
}

static void name_kernel(const attn_plan *plan, attn_cpu_plan *cpu, const char *isa) {
    const char *type = attn_type_name(plan->problem.type);
    if (cpu->few_rows && !(plan->problem.with & ATTN_WITH_CU_SEQLENS_Q)) {
        snprintf(cpu->kernel, sizeof(cpu->kernel), "few_rows_%s_%s_%dx4", type, isa, cpu->kernels->dots_rows);
    } else {
        snprintf(cpu->kernel, sizeof(cpu->kernel), "forward_%s_%s_%dx%d", type, isa, cpu->kernels->mr,
                 cpu->kernels->nr);
    }
}

attn_status attn_cpu_plan_make(attn_plan *plan, attn_reason *reason) {
    const attn_problem *p = &plan->problem;
    const attn_cpu *engine = plan->engine->state;
    attn_cpu_plan *cpu = attn_memory_take(&plan->engine->memory, sizeof(*cpu));
    if (!cpu) return attn_fail(reason, ATTN_ERROR_MEMORY, "no memory for a plan (%zu bytes)", sizeof(*cpu));
    memset(cpu, 0, sizeof(*cpu));
    plan->state = cpu;
    cpu->kernels = p->type == ATTN_F64 ? engine->kernels->f64 : engine->kernels->f32;
    cpu->group = p->heads_kv ? (int)(p->heads_q / p->heads_kv) : 1;
    cpu->dim_step = round_up(p->dim, cpu->kernels->lanes);
    cpu->o_stride = round_up(p->dim_v, cpu->kernels->nr);
    cpu->item_rows = choose_item_rows(plan, cpu);
    cpu->few_rows = choose_few_rows(p);
    cpu->max_splits = cpu->few_rows ? choose_splits(p) : 1;
    cpu->direct_k = read_in_place(cpu->kernels, p->k_strides, p->dim);
    cpu->direct_v = read_in_place(cpu->kernels, p->v_strides, p->dim_v);
    cpu->fetch_next = choose_fetch_next(plan, cpu);
    cpu->workers = choose_workers(plan, cpu);
    lay_out_scratch(p, cpu);
    name_kernel(plan, cpu, engine->kernels->name);
    plan->kernel = cpu->kernel;
    return size_workspace(plan, cpu, reason);
}
