/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of tables and plots: everybody who was measured, with each type. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "results.h"

typedef struct column {
    const contender *who;
    attn_type type;
} column;

typedef struct columns {
    column items[MEMBERS_MOST];
    int count;
} columns;

/* Which groups a table or plot is of. */
typedef struct choice {
    group_part part;
    int threads; /* 0: any */
    int reads;   /* shapes that read (1), that compute (0), any (-1) */
} choice;

int choice_has(const choice *c, const group *g);
columns columns_of(const results *r, const choice *c);
/* The member of a column in a group, if it was measured; or NULL. */
const member *column_member(const column *c, const group *g);

/* The numbers of threads for which the part has groups, rising. Returns how many. */
int threads_of(const results *r, group_part part, int threads[GROUPS_MOST]);

#endif
