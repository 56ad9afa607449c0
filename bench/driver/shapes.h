/* SPDX-License-Identifier: Apache-2.0 */
/* The problems that are measured. */
#ifndef SHAPES_H
#define SHAPES_H

#include <attn/attn.h>

typedef struct shape {
    char name[32];
    int64_t heads_q, heads_kv, rows, keys, dim;
    int causal;
} shape;

enum { SHAPES_MOST = 32 };

typedef struct shape_list {
    shape items[SHAPES_MOST];
    int count;
} shape_list;

/*
 * The shapes that a comma-separated list of words names: each word stands for the shape of that name and for those
 * whose name goes on with a dash ("A" for A and A-causal, "decode" for decode-4k and its like). NULL: all of them.
 * Returns NULL, or the first word that names nothing.
 */
const char *shapes_choose(const char *names, shape_list *list);

/* One head of n rows and keys, as a function of n. */
shape shape_of_length(int64_t n);

/* Operations of one run: 2 multiply-adds of dim for each pair of a row and a key that it sees. */
double shape_flops(const shape *s);
/* Bytes of q, k, v and o, each counted once. */
double shape_bytes(const shape *s, attn_type type);
/* Whether reading keys and values is what takes the time: one row. */
int shape_reads(const shape *s);

/* "8 heads, 2048 rows, 2048 keys, D 128, causal" */
const char *shape_describe(const shape *s, char *text, size_t size);

#endif
