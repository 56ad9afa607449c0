/* SPDX-License-Identifier: Apache-2.0 */
/* One contender with one element type and so many threads on one problem: its worker, and the times of its rounds. */
#ifndef MEMBER_H
#define MEMBER_H

#include "contenders.h"
#include "data.h"
#include "shapes.h"
#include "stats.h"
#include "worker.h"

typedef struct effort {
    int rounds, slow_rounds; /* slow is what takes longer than slow_seconds; it joins the first rounds only */
    double sample_seconds;   /* shorter runs are repeated until they last as long; their mean is the sample */
    double slow_seconds;
    double trial_seconds; /* for a worker to find the best of its variants */
} effort;

typedef struct member {
    const contender *who;
    attn_type type;
    int threads;
    char skipped[200]; /* why there are no times; empty: there are */
    cJSON *about;      /* what the worker says of itself */
    worker worker;
    int repeats, rounds;
    double error; /* against our f32 result, in units of its largest value */
    double peak_bytes;
    double seconds[ROUNDS_MOST];
} member;

/* Starts the worker, has its result checked, and finds out how often a sample has to repeat it. */
void member_start(const shape *s, member *m, const data *d, const effort *e);
/* The time of one round, unless the member is skipped or its rounds are over. */
void member_sample(member *m, int round);
void member_end(member *m);
int member_is_measured(const member *m);
/* Bytes that the worker says it needs beside the tensors; NAN if it says nothing. */
double member_workspace(const member *m);

#endif
