/* SPDX-License-Identifier: Apache-2.0 */
/* The rows and columns of tables and plots: a row is a group with so many threads, a column a contender with a type. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "results.h"

/* Which rows a table or plot is of. */
typedef struct choice {
    group_part part;
    int threads; /* 0: any */
    int reads;   /* shapes that read (1), that compute (0), any (-1) */
} choice;

typedef struct row {
    const group *group;
    int threads;
} row;

enum { ROWS_MOST = GROUPS_MOST * THREAD_COUNTS_MOST };

typedef struct rows {
    row items[ROWS_MOST];
    int count;
} rows;

typedef struct column {
    const contender *who;
    attn_type type;
} column;

typedef struct columns {
    column items[3 * CONTENDERS_MOST];
    int count;
} columns;

rows rows_of(const results *r, const choice *c);
/* Everybody who was measured in any of the rows. */
columns columns_of(const rows *all);
/* Who stands there; NULL if nobody was measured. */
const member *cell(const row *at, const column *c);
/* Our f32, if it was measured; or NULL. */
const member *ours_f32(const row *at);

/* The numbers of threads of the part. Returns how many. */
int threads_of(const results *r, group_part part, int threads[THREAD_COUNTS_MOST]);

#endif
