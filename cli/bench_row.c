/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_row.h"
#include "clock.h"
#include "compute.h"
#include "describe.h"
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS_LEAST = 3, REPEATS_MOST = 10000 };
static const double seconds_wanted = 1.0;

/* ----------------------------------------------------------------------------------------------------------- timing */

typedef struct stopwatch {
    double *seconds; /* of each counted run */
    int count;
    double total;
} stopwatch;

static int is_enough(const bench_effort *effort, const stopwatch *w) {
    if (effort->repeat > 0) return w->count >= effort->repeat;
    return w->count >= REPEATS_MOST || (w->count >= REPEATS_LEAST && w->total >= seconds_wanted);
}

static attn_status time_runs(const attn_plan *plan, const attn_tensors *tensors, const bench_effort *effort,
                             stopwatch *w, attn_reason *reason) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < effort->warm_up && status == ATTN_OK; i++) status = attn_run(plan, tensors, reason);
    while (status == ATTN_OK && !is_enough(effort, w)) {
        double start = clock_seconds();
        status = attn_run(plan, tensors, reason);
        w->seconds[w->count] = clock_seconds() - start;
        w->total += w->seconds[w->count++];
    }
    return status;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(const double *sorted, int count, double part) {
    double position = part * (count - 1);
    int below = (int)position;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

static void summarise(stopwatch *w, bench_row *row) {
    qsort(w->seconds, (size_t)w->count, sizeof *w->seconds, compare_doubles);
    row->repeats = w->count;
    row->least = w->seconds[0];
    row->quarter = quantile(w->seconds, w->count, 0.25);
    row->median = quantile(w->seconds, w->count, 0.5);
    row->three_quarters = quantile(w->seconds, w->count, 0.75);
    row->most = w->seconds[w->count - 1];
}

/* ------------------------------------------------------------------------------------------------------ measurement */

static void note_engine(const attn_engine *engine, bench_row *row) {
    attn_engine_info info = ATTN_ENGINE_INFO_INIT;
    attn_engine_get_info(engine, &info, NULL);
    row->label = info.cpu != 0 ? attn_cpu_name(info.cpu) : info.name;
    row->threads = info.threads;
}

static void note_plan(const attn_plan *plan, bench_row *row) {
    attn_plan_info info = ATTN_PLAN_INFO_INIT;
    attn_plan_get_info(plan, &info, NULL);
    snprintf(row->kernel, sizeof row->kernel, "%s", info.kernel != NULL ? info.kernel : "");
    row->flops = info.flops;
    row->bytes = info.bytes;
}

/* An engine that cannot be measured (the oracle) leaves the speeds at 0. */
static void note_speed(attn_engine *engine, attn_type type, bench_row *row) {
    attn_engine_speed speed = ATTN_ENGINE_SPEED_INIT;
    if (attn_engine_measure(engine, &speed, NULL) != ATTN_OK) return;
    row->peak_flops = type == ATTN_F64 ? speed.flops_f64 : speed.flops_f32;
    row->read_bytes = speed.read_bytes;
}

static case_status time_plan(const attn_plan *plan, const attn_tensors *tensors, const bench_effort *effort,
                             bench_row *row, case_error *error) {
    attn_reason reason;
    size_t room = effort->repeat > 0 ? (size_t)effort->repeat : REPEATS_MOST;
    stopwatch w = {calloc(room, sizeof(double)), 0, 0.0};
    if (w.seconds == NULL) return case_fail(error, CASE_ERROR_MEMORY, "out of memory");
    case_status status = case_fail_from(error, time_runs(plan, tensors, effort, &w, &reason), &reason);
    if (status == CASE_OK) summarise(&w, row);
    free(w.seconds);
    return status;
}

case_status bench_measure(attn_engine *engine, const case_file *c, const case_outputs *outputs,
                          const bench_effort *effort, bench_row *row, case_error *error) {
    attn_plan *plan = NULL;
    attn_reason reason;
    attn_tensors tensors = case_tensors(c, outputs);
    *row = (bench_row){0};
    note_engine(engine, row);
    if (!effort->no_peak) note_speed(engine, c->problem.type, row);
    case_status status = case_fail_from(error, attn_plan_create(engine, &c->problem, 0, &plan, &reason), &reason);
    if (status == CASE_OK) {
        note_plan(plan, row);
        status = time_plan(plan, &tensors, effort, row, error);
    }
    attn_plan_destroy(plan);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- report */

/* Work a second in billions; 0 where no time passed. */
static double billions(double work, double seconds) {
    return seconds > 0 ? 1e-9 * work / seconds : 0;
}

static void print_percent(double part, double whole) {
    if (whole > 0) {
        printf(" %7.1f%%", 100 * part / whole);
    } else {
        printf(" %8s", "-");
    }
}

void bench_print_problem(const attn_problem *problem, const char *title) {
    char text[256];
    describe_problem(problem, text, sizeof text);
    printf("%s%s%s\n", title, title[0] != '\0' ? ": " : "", text);
    printf("  %-9s %7s %11s %11s %11s %7s %9s %8s %8s %8s  %s\n", "cpu", "threads", "median ms", "min ms", "max ms",
           "runs", "GFLOP/s", "of peak", "GB/s", "of read", "kernel");
}

void bench_print_row(const bench_row *row) {
    double gflops = billions(row->flops, row->median), gbytes = billions(row->bytes, row->median);
    printf("  %-9s %7d %11.4f %11.4f %11.4f %7d %9.2f", row->label, row->threads, 1e3 * row->median, 1e3 * row->least,
           1e3 * row->most, row->repeats, gflops);
    print_percent(gflops, 1e-9 * row->peak_flops);
    printf(" %8.2f", gbytes);
    print_percent(gbytes, 1e-9 * row->read_bytes);
    printf("  %s\n", row->kernel);
    fflush(stdout);
}

static void add_seconds(cJSON *object, const bench_row *row) {
    cJSON *seconds = cJSON_AddObjectToObject(object, "seconds");
    json_add_number(seconds, "median", row->median);
    json_add_number(seconds, "min", row->least);
    json_add_number(seconds, "quarter", row->quarter);
    json_add_number(seconds, "three_quarters", row->three_quarters);
    json_add_number(seconds, "max", row->most);
}

/* A rate beside the best that the machine can do; null where that is not known. */
static void add_rate(cJSON *object, const char *name, double rate, double best) {
    cJSON *pair = cJSON_AddObjectToObject(object, name);
    json_add_number(pair, "median", rate);
    if (best > 0) {
        json_add_number(pair, "machine", best);
        json_add_number(pair, "fraction", rate / best);
    } else {
        cJSON_AddNullToObject(pair, "machine");
        cJSON_AddNullToObject(pair, "fraction");
    }
}

cJSON *bench_json(const attn_problem *problem, const char *title, const bench_row *row) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "title", title);
    cJSON_AddItemToObject(object, "problem", json_problem(problem));
    cJSON_AddStringToObject(object, "cpu", row->label);
    cJSON_AddNumberToObject(object, "threads", row->threads);
    cJSON_AddStringToObject(object, "kernel", row->kernel);
    cJSON_AddNumberToObject(object, "repeats", row->repeats);
    add_seconds(object, row);
    json_add_number(object, "flops", row->flops);
    json_add_number(object, "bytes", row->bytes);
    add_rate(object, "gflops", billions(row->flops, row->median), 1e-9 * row->peak_flops);
    add_rate(object, "gbytes_per_second", billions(row->bytes, row->median), 1e-9 * row->read_bytes);
    return object;
}
