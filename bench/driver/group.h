/* SPDX-License-Identifier: Apache-2.0 */
/* One problem, by everybody in turn with one number of threads and the next, round after round. */
#ifndef GROUP_H
#define GROUP_H

#include "member.h"

enum { THREAD_COUNTS_MOST = 12, MEMBERS_MOST = 3 * CONTENDERS_MOST * THREAD_COUNTS_MOST };

typedef enum group_part { PART_SHAPES, PART_LENGTHS, PART_THREADS } group_part;

/* What the machine can do with so many threads, a second, in each round. */
typedef struct machine_speed {
    int threads;
    double peak_flops[ROUNDS_MOST], read_bytes[ROUNDS_MOST];
} machine_speed;

typedef struct group {
    group_part part; /* of the report */
    shape shape;
    int rounds;
    machine_speed speeds[THREAD_COUNTS_MOST];
    int speed_count;
    member members[MEMBERS_MOST];
    int member_count;
} group;

/*
 * Fills in the times of a group whose part, shape, numbers of threads and their count are set, with those of the types
 * (bits, 1 << attn_type). Returns 0, or -1 after a message.
 */
int group_measure(group *g, const contender_list *contenders, unsigned types, const effort *e);
void group_free(group *g);

/* NULL if the group has nothing with so many threads. */
const machine_speed *group_speed(const group *g, int threads);

/* The fastest peer that does what m does, or in f32 what m does in 16 bits; NULL without one. */
const member *best_peer(const group *g, const member *m);
/* The same contender and type with one thread, if it is not m itself; NULL without one. */
const member *one_thread(const group *g, const member *m);

/* Over the rounds: seconds, operations or bytes a second, and their share of what the machine could do then. */
spread member_seconds(const group *g, const member *m);
spread member_flops(const group *g, const member *m);
spread member_bytes(const group *g, const member *m);
spread member_share(const group *g, const member *m);
/* How many times as fast as the other. */
spread member_against(const group *g, const member *m, const member *other);

#endif
