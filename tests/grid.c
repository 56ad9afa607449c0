/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU engine against the float64 oracle over thousands of random problems, on every instruction set of this
 * machine.
 *
 *     grid [--seed S] [--count N]            the grid; also by ATTN_TEST_SEED and ATTN_TEST_GRID
 *     grid [--seed S] --index I              problem I alone, in detail
 *
 * Every result is held against limits from theory (support/compare.h), and every byte beside the outputs against what
 * it held before. Over the plain problems it also compares the errors with those of a naive attention in the same type.
 */
#include "support/compare.h"
#include "support/effort.h"
#include "support/engine.h"
#include "support/naive.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREAD_CHOICES = 3, MAX_CPUS = 8, MISSES_SHOWN = 20 };
#define DEFAULT_SEED UINT64_C(20240607)

/* One instruction set, opened with 1, 2 and 3 threads. */
typedef struct cpu_engines {
    uint32_t bit;
    attn_engine *engines[THREAD_CHOICES];
    double worst_ratio;
    test_errors errors, naive_errors; /* over the plain f32 problems */
    double worst_rms_ratio;           /* of one problem */
} cpu_engines;

typedef struct test_grid {
    uint64_t seed;
    int64_t index, count; /* of the problem at work; of all */
    int verbose;
    attn_engine *oracle;
    cpu_engines cpus[MAX_CPUS];
    int cpu_count;
    int64_t passed, failed;
    double oracle_ratio, naive_ratio;
} test_grid;

/* ---------------------------------------------------------------------------------------------------------- reports */

/* For the handler of a crash, which may not print in the usual way. */
static char crash_text[128];

static void on_crash(int signal_number) {
    ssize_t written = write(STDOUT_FILENO, crash_text, strlen(crash_text));
    (void)written;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void announce(const test_grid *grid, const char *engine) {
    snprintf(crash_text, sizeof crash_text, "crashed in grid --seed %" PRIu64 " --index %" PRId64 " on %s\n",
             grid->seed, grid->index, engine);
}

static void miss(test_grid *grid, const test_recipe *recipe, const char *engine, const char *what) {
    char text[1024];
    grid->failed++;
    if (grid->failed > MISSES_SHOWN) return;
    test_recipe_describe(recipe, text, sizeof text);
    printf("FAIL grid --seed %" PRIu64 " --index %" PRId64 " on %s: %s\n     %s\n", grid->seed, grid->index, engine,
           what, text);
}

/* Counts one comparison. 1 if it passed. */
static int judge(test_grid *grid, const test_recipe *recipe, const char *engine, const test_worst *worst, int intact) {
    char what[320];
    snprintf(what, sizeof what,
             "%s%s[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
             "] is %.9g, exactly %.9g; error %.3g of the limit %.3g",
             intact ? "" : "written beside the outputs; worst ", worst->column < 0 ? "lse" : "o", worst->b, worst->h,
             worst->row, worst->column, worst->got, worst->expected, worst->ratio, worst->limit);
    if (grid->verbose) printf("%s: %s\n", engine, what);
    if (intact && worst->ratio <= 1.0) {
        grid->passed++;
        return 1;
    }
    miss(grid, recipe, engine, what);
    return 0;
}

/* ------------------------------------------------------------------------------------------------------ one problem */

/* Plans and runs, every third time in a workspace of exactly the size promised, full of NaN, before a page of no
 * access. */
static attn_status run_guarded(attn_engine *engine, int64_t index, const attn_problem *problem, attn_tensors tensors,
                               attn_reason *reason) {
    attn_plan *plan = NULL;
    if (index % 3 != 0) return test_run(engine, problem, &tensors, reason);
    attn_status status = attn_plan_create(engine, problem, 1, &plan, reason);
    if (status != ATTN_OK) return status;
    tensors.workspace_bytes = attn_plan_workspace(plan);
    test_block workspace = test_block_make(tensors.workspace_bytes, TEST_BLOCK_AT_END, 0);
    memset(workspace.data, 0xFF, workspace.size);
    tensors.workspace = workspace.data;
    status = attn_run(plan, &tensors, reason);
    test_block_free(&workspace);
    attn_plan_destroy(plan);
    return status;
}

/* 1 if the outputs could be compared. */
static int run_engine(test_grid *grid, attn_engine *engine, const char *name, const test_case *made,
                      const test_expected *expected, test_output *output, double *worst_ratio) {
    attn_reason reason = {""};
    attn_tensors tensors = test_tensors_with(made, output);
    attn_type arithmetic = made->problem.type == ATTN_F64 || engine == grid->oracle ? ATTN_F64 : ATTN_F32;
    announce(grid, name);
    attn_status status = run_guarded(engine, grid->index, &made->recipe.problem, tensors, &reason);
    if (status != ATTN_OK) {
        miss(grid, &made->recipe, name, reason.text[0] ? reason.text : attn_status_string(status));
        return 0;
    }
    test_worst worst = test_compare(expected, output, arithmetic);
    *worst_ratio = fmax(*worst_ratio, worst.ratio);
    return judge(grid, &made->recipe, name, &worst, test_output_gaps_intact(output));
}

static int repeats_rows(const test_tensor *tensor) {
    for (int n = 0; n < 4; n++) {
        if (tensor->shape[n] > 1 && tensor->strides[n] == 0) return 1;
    }
    return 0;
}

/* Large enough, and of different rows, for a mean of errors to say something. */
static int measures_accuracy(const test_case *made) {
    const attn_problem *p = &made->problem;
    if (repeats_rows(&made->q) || repeats_rows(&made->k) || repeats_rows(&made->v)) return 0;
    return made->recipe.plain && p->type == ATTN_F32 && p->seq_kv >= 8 &&
           p->batch * p->heads_q * p->seq_q * p->dim_v >= 256;
}

static void add_accuracy(cpu_engines *cpu, const test_expected *expected, const test_output *output,
                         const test_output *naive) {
    test_errors ours = {0, 0, 0}, theirs = {0, 0, 0};
    test_errors_add(expected, output, &ours);
    test_errors_add(expected, naive, &theirs);
    test_errors_add(expected, output, &cpu->errors);
    test_errors_add(expected, naive, &cpu->naive_errors);
    cpu->worst_rms_ratio = fmax(cpu->worst_rms_ratio, test_errors_rms(&ours) / test_errors_rms(&theirs));
}

static void run_cpu(test_grid *grid, cpu_engines *cpu, int choice, const test_case *made, const test_expected *expected,
                    const test_output *naive) {
    char name[64];
    test_output output = test_output_make(&made->problem);
    snprintf(name, sizeof name, "cpu/%s with %d threads", attn_cpu_name(cpu->bit), choice + 1);
    int compared = run_engine(grid, cpu->engines[choice], name, made, expected, &output, &cpu->worst_ratio);
    if (compared && naive && measures_accuracy(made)) add_accuracy(cpu, expected, &output, naive);
    test_output_free(&output);
}

/* The oracle itself with the strides of the problem, as `expected` is from a contiguous copy. */
static void run_oracle(test_grid *grid, const test_case *made, const test_expected *expected) {
    test_output output = test_output_make(&made->problem);
    run_engine(grid, grid->oracle, "oracle", made, expected, &output, &grid->oracle_ratio);
    test_output_free(&output);
}

/* Float from end to end: for double there is no limit it could keep. */
static int run_naive(test_grid *grid, const test_case *made, const test_expected *expected, test_output *output) {
    if (made->problem.type == ATTN_F64) return 0;
    test_case *single = test_case_convert(made, ATTN_F32);
    announce(grid, "naive");
    *output = test_output_make(&single->problem);
    test_naive(single, output);
    test_case_free(single);
    test_worst worst = test_compare(expected, output, ATTN_F32);
    grid->naive_ratio = fmax(grid->naive_ratio, worst.ratio);
    judge(grid, &made->recipe, "naive", &worst, test_output_gaps_intact(output));
    return 1;
}

static double pairs_of(const attn_problem *p) {
    return (double)p->batch * (double)p->heads_q * (double)p->seq_q * (double)p->seq_kv;
}

static void run_problem(test_grid *grid) {
    test_recipe recipe = test_recipe_random(grid->seed, (uint64_t)grid->index);
    attn_reason reason = {""};
    test_expected expected;
    test_output naive;
    announce(grid, "the test's own making of it");
    test_case *made = test_case_make(&recipe);
    announce(grid, "oracle");
    if (test_expected_make(grid->oracle, made, &expected, &reason) != ATTN_OK) {
        miss(grid, &recipe, "oracle", reason.text);
        test_case_free(made);
        return;
    }
    int wants_naive = measures_accuracy(made) || pairs_of(&made->problem) < 3000 || grid->verbose;
    int has_naive = wants_naive && run_naive(grid, made, &expected, &naive);
    if (grid->index % 4 == 0 || grid->verbose) run_oracle(grid, made, &expected);
    for (int n = 0; n < grid->cpu_count; n++) {
        for (int choice = 0; choice < THREAD_CHOICES; choice++) {
            int turn = (grid->index + n) % THREAD_CHOICES == choice;
            if (turn || grid->verbose)
                run_cpu(grid, &grid->cpus[n], choice, made, &expected, has_naive ? &naive : NULL);
        }
    }
    if (has_naive) test_output_free(&naive);
    test_expected_free(&expected);
    test_case_free(made);
}

/* --------------------------------------------------------------------------------------------------------- the grid */

static void open_engines(test_grid *grid) {
    grid->oracle = test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 0);
    for (uint32_t bit = test_next_cpu(0); bit && grid->cpu_count < MAX_CPUS; bit = test_next_cpu(bit)) {
        cpu_engines *cpu = &grid->cpus[grid->cpu_count++];
        cpu->bit = bit;
        for (int n = 0; n < THREAD_CHOICES; n++) cpu->engines[n] = test_engine_open(ATTN_ENGINE_CPU, bit, n + 1);
    }
}

static void close_engines(test_grid *grid) {
    attn_engine_close(grid->oracle);
    for (int n = 0; n < grid->cpu_count; n++) {
        for (int choice = 0; choice < THREAD_CHOICES; choice++) attn_engine_close(grid->cpus[n].engines[choice]);
    }
}

/* The promise of accuracy: errors at most twice those of a naive float attention on the same data. */
static void judge_accuracy(test_grid *grid) {
    printf("worst error / limit: naive %.3f, oracle %.3f\n", grid->naive_ratio, grid->oracle_ratio);
    for (int n = 0; n < grid->cpu_count; n++) {
        const cpu_engines *cpu = &grid->cpus[n];
        if (cpu->errors.count == 0) continue; /* a grid too small to have one of those problems */
        double rms = test_errors_rms(&cpu->errors), naive_rms = test_errors_rms(&cpu->naive_errors);
        int good =
            rms <= 2.0 * naive_rms && cpu->errors.max <= 2.0 * cpu->naive_errors.max && cpu->worst_rms_ratio <= 2.0;
        printf("cpu/%s: worst error / limit %.3f; f32 errors over %" PRId64
               " elements: rms %.3g = %.2f of naive (worst problem %.2f), max %.3g = %.2f of naive%s\n",
               attn_cpu_name(cpu->bit), cpu->worst_ratio, cpu->errors.count, rms, rms / naive_rms, cpu->worst_rms_ratio,
               cpu->errors.max, cpu->errors.max / cpu->naive_errors.max, good ? "" : " FAIL: more than 2");
        if (good)
            grid->passed++;
        else
            grid->failed++;
    }
}

static uint64_t number_from(const char *text, uint64_t otherwise) {
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static int read_options(test_grid *grid, int count, char **arguments) {
    grid->seed = number_from(getenv("ATTN_TEST_SEED"), DEFAULT_SEED);
    grid->count = test_grid_count();
    for (int n = 1; n < count; n += 2) {
        const char *value = n + 1 < count ? arguments[n + 1] : NULL;
        if (value && strcmp(arguments[n], "--seed") == 0) {
            grid->seed = number_from(value, 0);
        } else if (value && strcmp(arguments[n], "--count") == 0) {
            grid->count = (int64_t)number_from(value, 0);
        } else if (value && strcmp(arguments[n], "--index") == 0) {
            grid->index = (int64_t)number_from(value, 0);
            grid->verbose = 1;
        } else {
            fprintf(stderr, "usage: grid [--seed S] [--count N | --index I]\n");
            return 0;
        }
    }
    return 1;
}

static void run_one(test_grid *grid) {
    char text[1024];
    test_recipe recipe = test_recipe_random(grid->seed, (uint64_t)grid->index);
    test_recipe_describe(&recipe, text, sizeof text);
    printf("grid --seed %" PRIu64 " --index %" PRId64 ": %s\n", grid->seed, grid->index, text);
    fflush(stdout);
    run_problem(grid);
}

static void run_all(test_grid *grid) {
    time_t start = time(NULL);
    for (grid->index = 0; grid->index < grid->count; grid->index++) run_problem(grid);
    judge_accuracy(grid);
    printf("%" PRId64 " problems of seed %" PRIu64 " on %d instruction sets in %.0f s\n", grid->count, grid->seed,
           grid->cpu_count, difftime(time(NULL), start));
}

int main(int count, char **arguments) {
    static test_grid all; /* zeroed */
    if (!read_options(&all, count, arguments)) return 2;
    signal(SIGSEGV, on_crash);
    signal(SIGBUS, on_crash);
    signal(SIGILL, on_crash);
    signal(SIGFPE, on_crash);
    signal(SIGABRT, on_crash);
    open_engines(&all);
    if (all.verbose)
        run_one(&all);
    else
        run_all(&all);
    close_engines(&all);
    printf("%" PRId64 " passed, %" PRId64 " failed\n", all.passed, all.failed);
    return all.failed > 0;
}
