/* SPDX-License-Identifier: Apache-2.0 */
/* One problem with so many threads, by everybody in turn, round after round. */
#ifndef GROUP_H
#define GROUP_H

#include "member.h"

enum { MEMBERS_MOST = 3 * CONTENDERS_MOST };

typedef enum group_part { PART_SHAPES, PART_LENGTHS, PART_THREADS } group_part;

typedef struct group {
    group_part part; /* of the report */
    task task;
    unsigned types; /* bits, 1 << attn_type: those that are measured */
    int rounds;
    double peak_flops[ROUNDS_MOST], read_bytes[ROUNDS_MOST]; /* a second, what the machine can do in that round */
    member members[MEMBERS_MOST];
    int member_count;
} group;

/* Fills in the times of a group whose part, task and types are set. Returns 0, or -1 after a message. */
int group_measure(group *g, const contender_list *contenders, const effort *e);
void group_free(group *g);

/* The fastest peer that does what m does, or in f32 what m does in 16 bits; NULL without one. */
const member *best_peer(const group *g, const member *m);

/* Over the rounds: seconds, operations or bytes a second, and their share of what the machine could do then. */
spread member_seconds(const group *g, const member *m);
spread member_flops(const group *g, const member *m);
spread member_bytes(const group *g, const member *m);
spread member_share(const group *g, const member *m);
/* How many times as fast as the other. */
spread member_against(const group *g, const member *m, const member *other);

#endif
