/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured: this library, and the peers that it is compared with. */
#ifndef CONTENDERS_H
#define CONTENDERS_H

#include <attn/attn.h>

typedef enum contender_kind { CONTENDER_OURS, CONTENDER_PEER, CONTENDER_FLOOR } contender_kind;

typedef struct contender {
    char name[24];       /* "attn", "attn-avx2", "onnxruntime" */
    contender_kind kind; /* a floor is shown, but is nobody to be compared with */
    unsigned types;      /* bits, 1 << attn_type */
    char cpu[16];        /* the instruction set that ours has to use; empty: its choice */
    char *command[5];    /* ends with NULL */
    char version[160];   /* what its worker says */
    char absent[200];    /* why it is not here; empty: it is */
} contender;

enum { CONTENDERS_MOST = 16 };

typedef struct contender_list {
    contender items[CONTENDERS_MOST];
    int count;
} contender_list;

/*
 * This library once for each instruction set in cpus (a comma-separated list; NULL: once, with its own choice), then
 * the peers in the list peers (NULL: all). Returns NULL or the word that names nothing.
 */
const char *contenders_choose(const char *cpus, const char *peers, contender_list *list);

/* Asks each for its version, and takes the types of those who are absent away. */
void contenders_greet(contender_list *list);

/* The one of that name, or NULL. */
const contender *contenders_find(const contender_list *list, const char *name);

/* An engine to measure the machine with: the best of the instruction sets that ours may use. NULL after a message. */
attn_engine *contenders_engine(const contender_list *list, int threads);

#endif
