/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "group.h"
#include "data.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------------------- rounds */

/* A while for the threads of the last one, who may spin in wait for more work, to go to sleep. */
static void settle(void) {
    nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
}

static void measure_machine(machine_speed *speed, attn_engine *engine, int round) {
    attn_engine_speed measured = ATTN_ENGINE_SPEED_INIT;
    settle();
    if (attn_engine_measure(engine, &measured, NULL) != ATTN_OK) return;
    speed->peak_flops[round] = measured.flops_f32;
    speed->read_bytes[round] = measured.read_bytes;
}

/* The order turns from round to round, so that nobody always follows the same one. */
static void measure_round(group *g, attn_engine *const *engines, int round) {
    for (int i = 0; i < g->speed_count; i++) measure_machine(&g->speeds[i], engines[i], round);
    for (int i = 0; i < g->member_count; i++) {
        settle();
        member_sample(&g->members[(i + round) % g->member_count], round);
    }
}

static void add_members(group *g, const contender *c, unsigned types, int threads) {
    if (c->kind == CONTENDER_FLOOR && threads > 1) return;
    for (attn_type type = ATTN_F32; type <= ATTN_BF16; type++) {
        if (!((c->types & types) >> type & 1)) continue;
        g->members[g->member_count++] = (member){.who = c, .type = type, .threads = threads};
    }
}

static void forget_times(group *g) {
    for (int round = 0; round < ROUNDS_MOST; round++) {
        for (int i = 0; i < g->speed_count; i++) g->speeds[i].peak_flops[round] = g->speeds[i].read_bytes[round] = NAN;
        for (int i = 0; i < g->member_count; i++) g->members[i].seconds[round] = NAN;
    }
}

static int measure_with(group *g, attn_engine *const *engines, const char *folder, unsigned types, const effort *e) {
    data d;
    int status = data_make(&d, folder, &g->shape, types);
    for (int i = 0; i < g->member_count && status == 0; i++) member_start(&g->shape, &g->members[i], &d, e);
    data_free(&d);
    for (int round = 0; round < e->rounds && status == 0; round++) measure_round(g, engines, round);
    for (int i = 0; i < g->member_count; i++) member_end(&g->members[i]);
    return status;
}

int group_measure(group *g, const contender_list *contenders, unsigned types, const effort *e) {
    attn_engine *engines[THREAD_COUNTS_MOST] = {NULL};
    char folder[] = "/tmp/attn-bench-XXXXXX";
    if (mkdtemp(folder) == NULL) return perror(folder), -1;
    int status = 0;
    g->rounds = e->rounds;
    for (int t = 0; t < g->speed_count; t++) {
        const int threads = g->speeds[t].threads;
        for (int i = 0; i < contenders->count; i++) add_members(g, &contenders->items[i], types, threads);
        engines[t] = contenders_engine(contenders, threads);
        if (engines[t] == NULL) status = -1;
    }
    forget_times(g);
    if (status == 0) status = measure_with(g, engines, folder, types, e);
    for (int t = 0; t < g->speed_count; t++) attn_engine_close(engines[t]);
    rmdir(folder);
    return status;
}

void group_free(group *g) {
    for (int i = 0; i < g->member_count; i++) cJSON_Delete(g->members[i].about);
}

/* ---------------------------------------------------------------------------------------------------------- results */

const machine_speed *group_speed(const group *g, int threads) {
    for (int i = 0; i < g->speed_count; i++) {
        if (g->speeds[i].threads == threads) return &g->speeds[i];
    }
    return NULL;
}

const member *best_peer(const group *g, const member *m) {
    const member *best = NULL;
    for (int i = 0; i < g->member_count; i++) {
        const member *peer = &g->members[i];
        if (peer->who->kind != CONTENDER_PEER || !member_is_measured(peer)) continue;
        if (peer->threads != m->threads || (peer->type != m->type && peer->type != ATTN_F32)) continue;
        if (best == NULL || member_seconds(g, peer).median < member_seconds(g, best).median) best = peer;
    }
    return best;
}

const member *one_thread(const group *g, const member *m) {
    for (int i = 0; i < g->member_count && m->threads > 1; i++) {
        const member *one = &g->members[i];
        if (one->who == m->who && one->type == m->type && one->threads == 1 && member_is_measured(one)) return one;
    }
    return NULL;
}

spread member_seconds(const group *g, const member *m) {
    return spread_of(m->seconds, g->rounds);
}

static spread a_second(const group *g, const member *m, double work) {
    double all[ROUNDS_MOST];
    for (int i = 0; i < g->rounds; i++) all[i] = work;
    return spread_of_ratio(all, m->seconds, g->rounds);
}

spread member_flops(const group *g, const member *m) {
    return a_second(g, m, shape_flops(&g->shape));
}

spread member_bytes(const group *g, const member *m) {
    return a_second(g, m, shape_bytes(&g->shape, m->type));
}

spread member_share(const group *g, const member *m) {
    const machine_speed *speed = group_speed(g, m->threads);
    const int reads = shape_reads(&g->shape);
    const double work = reads ? shape_bytes(&g->shape, m->type) : shape_flops(&g->shape);
    const double *rate = reads ? speed->read_bytes : speed->peak_flops;
    double at_best[ROUNDS_MOST];
    for (int i = 0; i < g->rounds; i++) at_best[i] = work / rate[i];
    return spread_of_ratio(at_best, m->seconds, g->rounds);
}

spread member_against(const group *g, const member *m, const member *other) {
    return spread_of_ratio(other->seconds, m->seconds, g->rounds);
}
