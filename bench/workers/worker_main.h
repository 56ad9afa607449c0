/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the workers in C: reads requests, loads tensors, keeps time. ../README.md has the protocol. */
#ifndef WORKER_MAIN_H
#define WORKER_MAIN_H

#include <stddef.h>
#include <stdint.h>

typedef struct problem {
    char type[8]; /* "f32", "f16", "bf16" */
    size_t element_bytes;
    int64_t heads_q, heads_kv, rows, keys, dim;
    int causal, threads;
    char cpu[16];   /* the instruction set to use; empty: any */
    int copies;     /* of k and v, which the runs go through in turn */
    const void *q;  /* [heads_q, rows, dim] */
    const void **k; /* copies of [heads_kv, keys, dim] */
    const void **v;
    void *o; /* [heads_q, rows, dim], zeroed */
} problem;

/* What a worker says of itself. Each text may be empty. */
typedef struct about {
    char version[128];
    char environment[64]; /* NAME=value that it wants to be started with */
    char variant[64];     /* of the several ways that a library may have, the one that runs */
    char skip[256];       /* why it cannot */
    int rows_every;       /* 0, or: only each so-many-th row is computed, and times are multiplied by it */
    size_t workspace_bytes;
} about;

typedef struct worker_calls {
    void (*hello)(about *a);
    void (*prepare)(const problem *p, about *a);
    void (*run)(const problem *p, int copy);
} worker_calls;

int worker_main(const worker_calls *calls);

#endif
