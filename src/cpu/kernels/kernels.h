/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of one instruction set, as tables of functions: one for f32 tiles (inputs f32, f16, bf16), one for f64.
 *
 * Words used here. A *tile* is up to ATTN_TILE_KEYS keys of one head. A *block* is up to ATTN_BLOCK_ROWS query rows,
 * whose scores against a tile stand in a buffer of ATTN_SCORE_STRIDE columns. Rows are handled in *row panels* of `mr`,
 * keys (for scores) and columns of v (for outputs) in *panels* of `nr`. `real` is the type of the tile: float or
 * double.
 *
 * Layouts, all contiguous and aligned to 64 bytes:
 *     q panels    [ceil(rows / mr)][dim][mr]      missing rows are 0
 *     k panels    [ceil(keys / nr)][dim][nr]      transposed; missing keys are 0
 *     v panels    [ceil(dim_v / nr)][keys][nr]    missing columns are 0
 *     scores      [rows][ATTN_SCORE_STRIDE]
 *     o           [rows][o stride], o stride a multiple of nr
 *
 * What every kernel keeps, so that results do not depend on how rows are dealt to blocks, panels and threads: each
 * element of a score is one chain of fused multiply-adds over 0 .. dim - 1, each element of o one chain over the tile's
 * keys, added to o once a tile. A kernel for fewer rows computes the same chains. (The ways of few rows are the
 * exception: dots() sums over dim in lanes, and o is added to more often. Which way a row goes is the plan's choice.)
 *
 * All but the table is written once, in kernels.inc, over the handful of vector operations that a file of an
 * instruction set defines.
 */
#ifndef ATTN_CPU_KERNELS_KERNELS_H
#define ATTN_CPU_KERNELS_KERNELS_H

#include "attn/attn.h"

enum {
    ATTN_TILE_KEYS = 256,
    ATTN_SCORE_STRIDE = ATTN_TILE_KEYS + 16, /* rows of scores start in different sets of a cache */
    ATTN_BLOCK_ROWS = 96,                    /* a multiple of every mr */
    ATTN_ROW_PANELS = ATTN_BLOCK_ROWS / 2,   /* at most: mr is 2 or more */
    ATTN_LANES_MAX = 16,                     /* of any vector */
    ATTN_PART_KEYS = 32 /* of few rows' k or v: they stay in the first cache while all rows pass over them */
};

/* Of one row panel within a tile: the keys that at least one of its rows may see, counted from the tile's first. */
typedef struct attn_panel_keys {
    int begin, end;
} attn_panel_keys;

/* Of one row within a tile: the keys that it may see, and the columns in which its weights will be read. */
typedef struct attn_row_keys {
    int begin, end;
    int from, to;  /* contain begin .. end - 1; weights outside of it become 0 */
    int max_known; /* row_max is over just these keys */
} attn_row_keys;

/* Rows of k or v where the caller has them: contiguous elements of any type that converts to real by itself (real, or
 * for f32 also f16 and bf16), stride elements apart. */
typedef struct attn_rows {
    attn_type type;
    const void *data;
    int64_t stride;
} attn_rows;

/*
 * Rows of memory that will be read soon, to be fetched towards the core a few lines at a time and evenly over the work,
 * as a core can wait for a few lines of memory only. What a row is asked for may lie behind the caller's last one:
 * nothing is accessed.
 */
typedef struct attn_ahead {
    const char *row;
    int64_t rows;      /* to go */
    int64_t stride;    /* bytes from row to row */
    int64_t row_bytes; /* of a row that are wanted */
    int64_t at;        /* bytes of the row that have been fetched */
} attn_ahead;

/* The same, handed from call to call. */
typedef struct attn_next {
    attn_ahead rows;
    int64_t lines; /* at a time */
} attn_next;

enum { ATTN_LINE_BYTES = 64 }; /* of a cache; where lines are longer, some are asked for twice */

/* The lines to fetch in each of some steps, of which there is one at least. */
static inline int64_t attn_lines_of_step(const attn_ahead *ahead, int64_t steps) {
    return ahead->rows * ((ahead->row_bytes + ATTN_LINE_BYTES - 1) / ATTN_LINE_BYTES) / steps + 1;
}

typedef struct attn_kernels {
    attn_type type; /* of real */
    int bytes;      /* of a real */
    int mr, nr;
    int lanes;     /* reals in a vector: dots() wants dim padded to a multiple of it */
    int dots_rows; /* rows that dots() and accumulate_rows() handle best at a time */
    int dots_most; /* up to here dots() is faster than scores_in_place() */

    /* dst[0 .. n - 1] = src[0], src[stride], ... of any float type, as real. */
    void (*load_row)(void *dst, attn_type type, const void *src, int64_t stride, int64_t n);
    /* dst[0], dst[stride], ... = src[0 .. n - 1] / divisor, rounded to type. */
    void (*store_row)(attn_type type, void *dst, int64_t stride, const void *src, int64_t n, double divisor);
    /* dst[0 .. n - 1] = scale * src[0 .. n - 1], rounded once; dst may be src. */
    void (*scale_row)(void *dst, const void *src, int64_t n, double scale);

    /* One q panel from up to mr rows of contiguous reals. Writes up to lanes - 1 reals beyond it. */
    void (*pack_q)(void *panel, const void *const *rows, int count, int64_t dim);
    /* One k panel from up to nr keys, each a row of contiguous reals. */
    void (*pack_k)(void *panel, const void *const *keys, int count, int64_t dim);
    /* Row `key` of every v panel from dim_v contiguous reals; panels of `keys` rows each. */
    void (*pack_v)(void *panels, const void *row, int64_t key, int64_t keys, int64_t dim_v);

    /* scores[r][0 .. nr - 1] = dot(q_r, k_0 ..) for rows row_begin .. row_end - 1 of a block, row_begin a multiple of
     * mr, against one k panel. row_max[r][lanes] takes the largest score of each lane. Fetches lines of `next` with
     * each full row panel. */
    void (*scores)(void *scores, void *row_max, const void *q_panels, const void *k_panel, int64_t dim, int row_begin,
                   int row_end, attn_next *next);
    /*
     * For few rows, where packing k would cost more than it saves: scores[r][j] = dot(q_r, k_j) with the keys where they
     * lie.
     *
     * dots(): contiguous q rows of `dim` reals, dim a multiple of lanes; vectors go along dim.
     * scores_in_place(): q in panels of nr rows, laid out like k panels; vectors go across the rows.
     */
    void (*dots)(void *scores, const void *q, int rows, const attn_rows *k, int keys, int64_t dim);
    void (*scores_in_place)(void *scores, const void *q_panels, int rows, const void *k, int64_t k_stride, int keys,
                            int64_t dim);

    /* The passes over one row of scores (softcap also over what follows, up to whole vectors), in this order: s =
     * softcap * tanh(s / softcap); s += bias, or excluded where bias is -inf; s -= slope * |distance + j|; excluded
     * where not mask[j * stride]. Excluded is -inf. */
    void (*softcap)(void *scores, int n, double softcap);
    void (*add_bias)(void *scores, const void *bias, int n);
    void (*add_alibi)(void *scores, int n, double slope, double distance);
    void (*apply_mask)(void *scores, const uint8_t *mask, int64_t stride, int n);
    void (*exclude)(void *scores, int n); /* all -inf */

    /*
     * Online softmax of `rows` rows over n scores each, n a multiple of nr (or of lanes after dots()): raises m to the
     * largest score, turns the scores into exp(s - m), updates l = l * alpha + sum, with alpha = exp(m before - m). A
     * row that has seen no key keeps m = -inf, and gets weights and alpha of 0. row_max as scores() left it, or NULL:
     * looked for here.
     */
    void (*softmax)(void *scores, int rows, int n, const void *row_max, void *m, void *l, void *alpha);
    /* The same where each row sees keys of its own: other scores in its row may be anything. Scores up to a vector behind
     * keys.end may be overwritten, where weights are not read. */
    void (*softmax_ragged)(void *scores, int rows, const attn_row_keys *keys, const void *row_max, void *m, void *l,
                           void *alpha);

    /* o[r][0 .. nr - 1] = alpha_r * o + sum of p[r][j] v[j][0 .. nr - 1] over each row panel's keys; rows of a panel
     * without keys stay as they are. v has its rows v_stride reals apart. alpha NULL: 1. Fetches lines of `next` with each
     * row panel. */
    void (*accumulate)(void *o, int64_t o_stride, const void *p, const void *v, int64_t v_stride, const void *alpha,
                       const attn_panel_keys *panels, int rows, attn_next *next);
    /* For few rows, with the values where they lie: o[r][0 .. columns - 1] = alpha_r * o + sum of p[r][j]
     * v[j][0 .. columns - 1] over keys 0 .. keys - 1, columns a multiple of lanes. */
    void (*accumulate_rows)(void *o, int64_t o_stride, int64_t columns, const void *p, int rows, const attn_rows *v,
                            int keys, const void *alpha);

    /* Statistics of rows that have seen no key: m = -inf, l = 0. */
    void (*begin_rows)(void *m, void *l, int rows);
    /* 1 if all n reals are finite. */
    int (*all_finite)(const void *data, int64_t n);

    /* For measuring: `count` rounds of independent fused multiply-adds in registers; gives the operations done (two
     * each) and a value to keep. And the sum of n reals, read once. */
    double (*spin_fma)(int64_t count, double *flops);
    double (*sum)(const void *data, int64_t n);
} attn_kernels;

/* An instruction set: the table for each tile type. */
typedef struct attn_kernel_set {
    uint32_t cpu; /* its ATTN_CPU_ bit */
    const char *name;
    const attn_kernels *f32, *f64;
} attn_kernel_set;

extern const attn_kernel_set attn_kernels_portable;
extern const attn_kernel_set attn_kernels_avx2;   /* where ATTN_HAVE_AVX2 */
extern const attn_kernel_set attn_kernels_avx512; /* where ATTN_HAVE_AVX512 */
extern const attn_kernel_set attn_kernels_neon;   /* where ATTN_HAVE_NEON */

#endif
