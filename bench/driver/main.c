/* SPDX-License-Identifier: Apache-2.0 */
/* How fast attention is here: this library, its peers and the machine itself, measured in turn. */
#define _GNU_SOURCE
#include "docs.h"
#include "options.h"
#include "plots.h"
#include "table.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* OpenBLAS at its best: its worker finds the fastest kernels, and its own threads share the blocks. */
static void set_environment(void) {
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    signal(SIGPIPE, SIG_IGN); /* a worker that died is noticed when it does not answer */
}

static int measure(results *r, group_part part, const shape *s, const int *threads, int count, const options *o) {
    group *g = results_add(r, part, s);
    if (g == NULL) return -1;
    for (int i = 0; i < count; i++) g->speeds[g->speed_count++].threads = threads[i];
    table_print_title(g);
    if (group_measure(g, &r->contenders, part == PART_SHAPES ? o->types : 1u << ATTN_F32, &o->effort) != 0) return -1;
    table_print_group(g);
    /* After each, so that little is lost if this is stopped. */
    return o->json == NULL ? 0 : results_write(r, o->json);
}

static int measure_shapes(results *r, const options *o) {
    int status = 0;
    for (int i = 0; i < o->shapes.count && status == 0; i++) {
        status = measure(r, PART_SHAPES, &o->shapes.items[i], o->threads, o->thread_count, o);
    }
    return status;
}

static int most_threads(const options *o) {
    int most = 1;
    for (int t = 0; t < o->thread_count; t++) most = o->threads[t] > most ? o->threads[t] : most;
    return most;
}

static int measure_lengths(results *r, const options *o) {
    enum { SHORTEST = 1024 };
    const int threads = most_threads(o);
    int status = 0;
    for (int64_t n = SHORTEST; n <= o->longest && status == 0; n *= 2) {
        shape s = shape_of_length(n);
        status = measure(r, PART_LENGTHS, &s, &threads, 1, o);
    }
    return status;
}

/* 1, 2, 4, ... and all of them. */
static int measure_threads(results *r, const options *o) {
    const int most = most_threads(o);
    int threads[THREAD_COUNTS_MOST], count = 0;
    shape_list list;
    shapes_choose("B", &list);
    for (int t = 1; t < most && count < THREAD_COUNTS_MOST - 1; t *= 2) threads[count++] = t;
    threads[count++] = most;
    return measure(r, PART_THREADS, &list.items[0], threads, count, o);
}

static int measure_all(results *r, const options *o) {
    contenders_greet(&r->contenders);
    machine_describe(&r->machine, &r->contenders);
    table_print_machine(r);
    int status = 0;
    if (o->parts >> PART_SHAPES & 1) status = measure_shapes(r, o);
    if (status == 0 && (o->parts >> PART_LENGTHS & 1)) status = measure_lengths(r, o);
    if (status == 0 && (o->parts >> PART_THREADS & 1)) status = measure_threads(r, o);
    return status;
}

static int report_again(results *r, const options *o) {
    if (results_read(r, o->from) != 0) return -1;
    table_print_machine(r);
    for (int i = 0; i < r->group_count; i++) {
        table_print_title(r->groups[i]);
        table_print_group(r->groups[i]);
    }
    return 0;
}

/* Of a folder beside the page, its name is the way there. */
static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static int write_reports(const results *r, const options *o) {
    int status = 0;
    if (o->json != NULL && results_write(r, o->json) != 0) status = -1;
    if (o->out != NULL && plots_write(r, o->out) != 0) status = -1;
    if (o->docs != NULL && docs_write(r, o->docs, o->out == NULL ? NULL : last_part(o->out)) != 0) status = -1;
    return status;
}

int main(int argc, char **argv) {
    static results r; /* several hundred kilobytes with its groups: none for the stack */
    options o;
    int status = options_read(&o, &r.contenders, argc, argv);
    if (status != 0) return status < 0 ? 2 : 0;
    set_environment();
    status = o.from != NULL ? report_again(&r, &o) : measure_all(&r, &o);
    /* What has been measured is reported even if the rest could not be. */
    if (write_reports(&r, &o) != 0) status = -1;
    results_free(&r);
    return status != 0;
}
