/* SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"

int choice_has(const choice *c, const group *g) {
    return g->part == c->part && (c->threads == 0 || g->task.threads == c->threads) &&
           (c->reads < 0 || shape_reads(&g->task.shape) == c->reads);
}

static void add(columns *all, const member *m) {
    for (int i = 0; i < all->count; i++) {
        if (all->items[i].who == m->who && all->items[i].type == m->type) return;
    }
    if (all->count < MEMBERS_MOST) all->items[all->count++] = (column){m->who, m->type};
}

columns columns_of(const results *r, const choice *c) {
    columns all = {.count = 0};
    for (int i = 0; i < r->group_count; i++) {
        const group *g = r->groups[i];
        for (int k = 0; choice_has(c, g) && k < g->member_count; k++) {
            if (member_is_measured(&g->members[k])) add(&all, &g->members[k]);
        }
    }
    return all;
}

const member *column_member(const column *c, const group *g) {
    for (int i = 0; i < g->member_count; i++) {
        const member *m = &g->members[i];
        if (m->who == c->who && m->type == c->type && member_is_measured(m)) return m;
    }
    return NULL;
}

static int has(const int *values, int count, int value) {
    for (int i = 0; i < count; i++) {
        if (values[i] == value) return 1;
    }
    return 0;
}

/* The groups of a part are measured with rising numbers of threads for each shape, so that the first shape has them
 * all. */
int threads_of(const results *r, group_part part, int threads[GROUPS_MOST]) {
    int count = 0;
    for (int i = 0; i < r->group_count; i++) {
        const group *g = r->groups[i];
        if (g->part == part && !has(threads, count, g->task.threads)) threads[count++] = g->task.threads;
    }
    return count;
}
