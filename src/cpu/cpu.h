/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU engine, inside. The words (tile, block, panel) are those of kernels/kernels.h; here come two more:
 *
 * The query heads of a group share their keys and values, so they are handled together: the *stacked rows* of a group
 * are numbered row * group + head within the group, row after row, so that neighbours see nearly the same keys. An
 * *item* is a run of stacked rows of one (batch entry, key head) and the keys that one thread carries them through.
 *
 *     engine.c   open, run, close: the backend's table           plan.c     sizes: tiles, items, splits, scratch memory
 *     forward.c  deals items to threads; merges split keys       item.c     one item: begin, tile by tile, finish
 *     tile.c     brings keys and values of a tile into shape     block.c    one block of rows against one tile
 *     isa.c machine.c pool.c   the machine                       measure.c  its peak and bandwidth
 *     explain.c  a plan in words
 */
#ifndef ATTN_CPU_CPU_H
#define ATTN_CPU_CPU_H

#include "backend.h"
#include "cpu/kernels/kernels.h"
#include "cpu/pool.h"
#include "problem/problem.h"

/* engine->state */
typedef struct attn_cpu {
    const attn_kernel_set *kernels;
    attn_pool *pool; /* NULL where the caller brings parallel_for */
    attn_parallel_for parallel_for;
    void *parallel_user;
} attn_cpu;

/* Calls task(arg, i) for each i of 0 .. count - 1 on the engine's or the caller's threads. */
void attn_cpu_parallel(const attn_engine *engine, int count, void (*task)(void *arg, int index), void *arg);

/* ----------------------------------------------------------------------------------------------------------- plan.c */

/* Where a thread's buffers begin, in bytes from the start of its scratch memory. */
typedef struct attn_scratch_layout {
    size_t q, o, m, l, alpha, row_max, scores, k, v, rows, clean;
    size_t size;
} attn_scratch_layout;

/* A split gets so many keys at least: its results have to be kept and merged. */
enum { ATTN_SPLIT_KEYS = 4 * ATTN_TILE_KEYS };

/* plan->state */
typedef struct attn_cpu_plan {
    const attn_kernels *kernels;
    int group;         /* query heads of one key head */
    int64_t dim_step;  /* dim, padded for the lanes of dots() */
    int64_t o_stride;  /* dim_v, padded for panels */
    int64_t item_rows; /* stacked rows of an item at most */
    int64_t few_rows;  /* a sequence of at most so many stacked rows goes the few-rows way; 0: none does */
    int max_splits;    /* parts into which the keys of such a sequence are cut at most */
    int direct_k;      /* whole vectors of keys (values) can be read where they lie, of whatever type */
    int direct_v;
    int fetch_next; /* a tile's rows are fetched while the one before is worked on */
    int workers;    /* threads that take part at most */
    attn_scratch_layout scratch;
    size_t partial_bytes; /* of one split's results: see attn_partial_of */
    size_t partials_at;   /* in the workspace, behind the threads' scratch */
    char kernel[64];
} attn_cpu_plan;

attn_status attn_cpu_plan_make(attn_plan *plan, attn_reason *reason);

/* Stacked rows of one group, and groups, of a run with full lengths. */
int64_t attn_cpu_rows_of_group(const attn_problem *completed);
int64_t attn_cpu_groups(const attn_problem *completed);

/* -------------------------------------------------------------------------------------------------------- explain.c */

size_t attn_cpu_plan_explain(const attn_plan *plan, char *text, size_t size);

/* --------------------------------------------------------------------------------------- tile.c, item.c and block.c */

/* One thread's buffers; reals unless said otherwise. */
typedef struct attn_scratch {
    void *q;       /* the item's q panels: of mr rows, or of nr for scores_in_place(); or its rows for dots() */
    void *o;       /* [item_rows][o_stride], not yet divided by l */
    void *m, *l;   /* [item_rows] */
    void *alpha;   /* [item_rows] */
    void *row_max; /* [ATTN_BLOCK_ROWS][lanes] */
    void *scores;
    void *k, *v; /* a tile in panels, or rows of it converted */
    void *rows;  /* up to nr rows of k or v, or a tile's bias for one row, converted */
    void *clean; /* [ATTN_TILE_KEYS][nr], see block.c */
} attn_scratch;

typedef struct attn_item {
    const attn_plan *plan;
    const attn_cpu_plan *cpu;
    const attn_kernels *kernels;
    const attn_tensors *tensors;
    attn_sequence sequence;
    int64_t b, head_kv;
    int64_t row0; /* first stacked row */
    int rows;
    int few; /* 1: a few-rows way: through dots() up to kernels->dots_most rows, else through scores_in_place() */
    attn_scratch scratch;
} attn_item;

/* Keys key0 .. key0 + keys - 1 of an item's head; key0 is a multiple of ATTN_TILE_KEYS. Those of begin .. end - 1,
 * counted from key0, are there; others may be garbage. */
typedef struct attn_tile {
    int64_t key0;
    int begin, end;
    const void *v;    /* in panels: k is, too, in the scratch memory. NULL: see rows_v, or convert */
    int64_t v_stride; /* reals from key to key */
    int64_t v_panel;  /* reals from panel to panel */
    /* For few rows: where the caller has them, from key0 on; data NULL: they are not contiguous or no whole vectors, and
     * are to be converted. */
    attn_rows rows_k, rows_v;
    attn_next next_k, next_v; /* for panels: the caller's rows of the next tile, to be fetched meanwhile */
    int finite;               /* all of v is: 1, 0, or -1: not looked at yet */
} attn_tile;

/* Keys of the tile at key0 that lie in span, packed into panels unless the item has few rows. */
attn_tile attn_tile_load(const attn_item *item, int64_t key0, attn_span span);

/* Keys begin .. end - 1 of the tile as rows of reals, dim_step (o_stride) apart, for few rows. */
void attn_tile_convert_k(const attn_item *item, const attn_tile *tile, int begin, int end, void *to);
void attn_tile_convert_v(const attn_item *item, const attn_tile *tile, int begin, int end, void *to);

/* Element `index` of a buffer of reals. */
static inline void *attn_reals_at(const attn_kernels *kernels, void *base, int64_t index) {
    return (char *)base + index * kernels->bytes;
}

/* Takes rows first .. first + count - 1 of the item, at most ATTN_BLOCK_ROWS and first a multiple of mr, past one tile. */
void attn_block_pass(const attn_item *item, attn_tile *tile, int first, int count);

/* Of an item of few rows: their scores come from scores_in_place(), not from dots(). */
int attn_item_in_panels(const attn_item *item);

/* Query row and query head of a row of the item. */
int64_t attn_item_query(const attn_item *item, int row);
int64_t attn_item_head(const attn_item *item, int row);

/* Packs the item's queries and clears its results. */
void attn_item_begin(attn_item *item);
/* Takes all rows of the item through the keys of span, tile by tile. */
void attn_item_pass(attn_item *item, attn_span span);
/* Writes o and lse. */
void attn_item_finish(attn_item *item);
/* Keys that any row of the item may see. */
attn_span attn_item_span(const attn_item *item);

/* -------------------------------------------------------------------------------------------------------- forward.c */

void attn_cpu_forward(const attn_plan *plan, const attn_tensors *tensors, void *workspace);

/* -------------------------------------------------------------------------------------------------------- measure.c */

attn_status attn_cpu_measure(attn_engine *engine, attn_engine_speed *speed, attn_reason *reason);

#endif
