/* SPDX-License-Identifier: Apache-2.0 */
/* All that one run of the benchmark found out; what the reports are made of. */
#ifndef RESULTS_H
#define RESULTS_H

#include "group.h"

enum { GROUPS_MOST = 96 };

typedef struct machine {
    char cpu[96];    /* the processor's name */
    char isa[24];    /* the instruction set that the peak is measured with */
    char system[96]; /* name and release */
    char date[24];
    int processors;
    double l2_bytes, l3_bytes;
} machine;

typedef struct results {
    machine machine;
    contender_list contenders;
    group *groups[GROUPS_MOST];
    int group_count;
} results;

/* Describes this machine; the contenders say which instruction sets count. */
void machine_describe(machine *m, const contender_list *contenders);

/* A group without numbers of threads yet, which belongs to the results; NULL after a message. */
group *results_add(results *r, group_part part, const shape *s);
void results_free(results *r);

/* Medians over all groups of so many threads; NAN without any. */
double results_peak_flops(const results *r, int threads);
double results_read_bytes(const results *r, int threads);

/* Return 0, or -1 after a message. results_read() takes what results_write() has written. */
int results_write(const results *r, const char *path);
int results_read(results *r, const char *path);

const char *part_name(group_part part);

#endif
