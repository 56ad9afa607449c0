/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "group.h"
#include "data.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------------------- rounds */

/* A moment for the threads of the last one, who may spin a while for more work, to go to sleep. */
static void settle(void) {
    nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
}

/* The order turns from round to round, so that nobody always follows the same one. */
static void measure_round(group *g, attn_engine *engine, int round) {
    attn_engine_speed speed = ATTN_ENGINE_SPEED_INIT;
    settle();
    if (attn_engine_measure(engine, &speed, NULL) == ATTN_OK) {
        g->peak_flops[round] = speed.flops_f32;
        g->read_bytes[round] = speed.read_bytes;
    }
    for (int i = 0; i < g->member_count; i++) {
        settle();
        member_sample(&g->members[(i + round) % g->member_count], round);
    }
}

static void add_members(group *g, const contender_list *contenders) {
    for (int i = 0; i < contenders->count; i++) {
        if (contenders->items[i].kind == CONTENDER_FLOOR && g->task.threads > 1) continue;
        for (attn_type type = ATTN_F32; type <= ATTN_BF16; type++) {
            if ((contenders->items[i].types & g->types) >> type & 1) {
                g->members[g->member_count++] = (member){.who = &contenders->items[i], .type = type};
            }
        }
    }
}

static void forget_times(group *g) {
    for (int round = 0; round < ROUNDS_MOST; round++) {
        g->peak_flops[round] = g->read_bytes[round] = NAN;
        for (int i = 0; i < g->member_count; i++) g->members[i].seconds[round] = NAN;
    }
}

static unsigned types_of(const group *g) {
    unsigned types = 0;
    for (int i = 0; i < g->member_count; i++) types |= 1u << g->members[i].type;
    return types;
}

static int measure_with(group *g, attn_engine *engine, const char *folder, const effort *e) {
    data d;
    int status = data_make(&d, folder, &g->task.shape, types_of(g));
    for (int i = 0; i < g->member_count && status == 0; i++) member_start(&g->task, &g->members[i], &d, e);
    data_free(&d);
    for (int round = 0; round < e->rounds && status == 0; round++) measure_round(g, engine, round);
    for (int i = 0; i < g->member_count; i++) member_end(&g->members[i]);
    return status;
}

int group_measure(group *g, const contender_list *contenders, const effort *e) {
    char folder[] = "/tmp/attn-bench-XXXXXX";
    if (mkdtemp(folder) == NULL) return perror(folder), -1;
    g->rounds = e->rounds;
    add_members(g, contenders);
    forget_times(g);
    attn_engine *engine = contenders_engine(contenders, g->task.threads);
    int status = engine == NULL ? -1 : measure_with(g, engine, folder, e);
    attn_engine_close(engine);
    rmdir(folder);
    return status;
}

void group_free(group *g) {
    for (int i = 0; i < g->member_count; i++) cJSON_Delete(g->members[i].about);
}

/* ---------------------------------------------------------------------------------------------------------- results */

const member *best_peer(const group *g, const member *m) {
    const member *best = NULL;
    for (int i = 0; i < g->member_count; i++) {
        const member *peer = &g->members[i];
        if (peer->who->kind != CONTENDER_PEER || !member_is_measured(peer)) continue;
        if (peer->type != m->type && peer->type != ATTN_F32) continue;
        if (best == NULL || member_seconds(g, peer).median < member_seconds(g, best).median) best = peer;
    }
    return best;
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
    return a_second(g, m, shape_flops(&g->task.shape));
}

spread member_bytes(const group *g, const member *m) {
    return a_second(g, m, shape_bytes(&g->task.shape, m->type));
}

spread member_share(const group *g, const member *m) {
    int reads = shape_reads(&g->task.shape);
    double work = reads ? shape_bytes(&g->task.shape, m->type) : shape_flops(&g->task.shape);
    double at_best[ROUNDS_MOST];
    for (int i = 0; i < g->rounds; i++) at_best[i] = work / (reads ? g->read_bytes[i] : g->peak_flops[i]);
    return spread_of_ratio(at_best, m->seconds, g->rounds);
}

spread member_against(const group *g, const member *m, const member *other) {
    return spread_of_ratio(other->seconds, m->seconds, g->rounds);
}
