/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases from shapes, options and a seed. The same options give the same bytes on every machine. */
#ifndef MAKE_CASE_H
#define MAKE_CASE_H

#include "case.h"

/* A random bias or mask. */
typedef struct make_case_view {
    int wanted;
    int64_t shape[4]; /* 0 stands for the full size of that dimension: batch, query heads, rows, keys */
} make_case_view;

typedef struct make_case_options {
    uint64_t seed;
    attn_type type; /* of q, k and v; default F32 */
    case_layout layout;
    int64_t batch, heads_q, heads_kv; /* heads_kv 0: heads_q */
    int64_t seq_q, seq_kv;            /* seq_kv 0: seq_q. With CASE_THD: rows of the whole packed tensors */
    int64_t dim, dim_v;               /* dim_v 0: dim */
    case_options options;             /* causal, windows, scale, dropout, ... */
    make_case_view bias, mask;
    attn_type bias_type;        /* default F32 */
    double bias_excluded;       /* fraction of the bias that is -inf; 0 */
    double mask_kept;           /* fraction of the mask that may be seen; 0.75 */
    int alibi, sinks;           /* wanted if nonzero */
    int q_lens, kv_lens;        /* random lengths, 0 and the full length among them, if nonzero */
    attn_type length_type;      /* I32 (default) or I64 */
    const char *title, *origin; /* NULL: a title made of the shapes; "random" and the seed */
} make_case_options;

/* Everything at its default, one batch entry, one head; sizes are yours to set. */
void make_case_options_init(make_case_options *options);

/* Makes a finished case. c is to be freed with case_free, after failure too. */
case_status make_case(const make_case_options *options, case_file *c, case_error *error);

#endif
