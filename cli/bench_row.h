/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a benchmark: a problem on an engine with so many threads. */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include "case.h"
#include "json.h"

/* How often a problem runs. */
typedef struct bench_effort {
    int64_t warm_up; /* runs that are not counted */
    int64_t repeat;  /* counted runs; 0: as many as fit in a second, but 3 at least */
    int no_peak;     /* leave the machine's own speeds out */
} bench_effort;

typedef struct bench_row {
    const char *label; /* the instruction set, or "oracle" */
    char kernel[64];
    int threads;
    int repeats;
    double least, quarter, median, three_quarters, most; /* seconds */
    double flops, bytes;                                 /* of one run */
    double peak_flops, read_bytes;                       /* a second, what the machine can do; 0: not known */
} bench_row;

/* Measures the machine, then the case. The outputs are overwritten. */
case_status bench_measure(attn_engine *engine, const case_file *c, const case_outputs *outputs,
                          const bench_effort *effort, bench_row *row, case_error *error);

/* The lines of a table. */
void bench_print_problem(const attn_problem *problem, const char *title);
void bench_print_row(const bench_row *row);

/* The row as an object, which belongs to the caller. */
cJSON *bench_json(const attn_problem *problem, const char *title, const bench_row *row);

/* The value below which so much (0 to 1) of the sorted values lies, by linear interpolation. */
double quantile(const double *sorted, int count, double part);

#endif
