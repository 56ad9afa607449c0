/* SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"
#include <stddef.h>

static int chosen(const choice *c, const group *g) {
    return g->part == c->part && (c->reads < 0 || shape_reads(&g->shape) == c->reads);
}

rows rows_of(const results *r, const choice *c) {
    rows all = {.count = 0};
    for (int i = 0; i < r->group_count; i++) {
        const group *g = r->groups[i];
        for (int t = 0; chosen(c, g) && t < g->speed_count; t++) {
            const int threads = g->speeds[t].threads;
            if (c->threads == 0 || c->threads == threads) all.items[all.count++] = (row){g, threads};
        }
    }
    return all;
}

static int is_in_row(const row *at, const member *m) {
    return m->threads == at->threads && member_is_measured(m);
}

static int has(const columns *all, const member *m) {
    for (int i = 0; i < all->count; i++) {
        if (all->items[i].who == m->who && all->items[i].type == m->type) return 1;
    }
    return 0;
}

columns columns_of(const rows *all) {
    columns found = {.count = 0};
    for (int i = 0; i < all->count; i++) {
        const row *at = &all->items[i];
        for (int k = 0; k < at->group->member_count; k++) {
            const member *m = &at->group->members[k];
            if (is_in_row(at, m) && !has(&found, m)) found.items[found.count++] = (column){m->who, m->type};
        }
    }
    return found;
}

const member *cell(const row *at, const column *c) {
    for (int i = 0; i < at->group->member_count; i++) {
        const member *m = &at->group->members[i];
        if (is_in_row(at, m) && m->who == c->who && m->type == c->type) return m;
    }
    return NULL;
}

const member *ours_f32(const row *at) {
    for (int i = 0; i < at->group->member_count; i++) {
        const member *m = &at->group->members[i];
        if (is_in_row(at, m) && m->who->kind == CONTENDER_OURS && m->type == ATTN_F32) return m;
    }
    return NULL;
}

/* All groups of a part have the same ones. */
int threads_of(const results *r, group_part part, int threads[THREAD_COUNTS_MOST]) {
    for (int i = 0; i < r->group_count; i++) {
        const group *g = r->groups[i];
        if (g->part != part) continue;
        for (int t = 0; t < g->speed_count; t++) threads[t] = g->speeds[t].threads;
        return g->speed_count;
    }
    return 0;
}
