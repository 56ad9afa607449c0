/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory. A workspace is a few tiles a thread and at most one packed copy of a group's K and V, whatever the sequence
 * length; and what a process with one head of 65,536 tokens really takes is its tensors and at most 32 MiB.
 */
#define _GNU_SOURCE
#include "support/cmocka_all.h"
#include "support/effort.h"
#include "support/engine.h"
#include "support/sanitizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double MEBIBYTE = 1048576.0;

/* --------------------------------------------------------------------------------------------------------- promised */

static size_t workspace_of(attn_engine *engine, const attn_problem *problem) {
    attn_plan *plan = NULL;
    attn_reason reason = {"stale"};
    test_assert_ok(attn_plan_create(engine, problem, 1, &plan, &reason), &reason);
    size_t size = attn_plan_workspace(plan);
    attn_plan_destroy(plan);
    return size;
}

/* Self-attention, decode, and a few rows; the latter two with groups that share K and V. */
static attn_problem long_problem(int way, attn_type type, int64_t keys) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.type = type;
    problem.heads_q = 8;
    problem.heads_kv = way == 0 ? 8 : 2;
    problem.seq_q = way == 0 ? keys : way == 1 ? 1 : 32;
    problem.seq_kv = keys;
    problem.dim = 64;
    problem.window_right = ATTN_CAUSAL;
    return problem;
}

/* One packed copy of a group's keys and values in the type of the arithmetic. */
static double packed_copy(const attn_problem *problem) {
    double size = problem->type == ATTN_F64 ? 8.0 : 4.0;
    return (double)problem->seq_kv * (double)(problem->dim + problem->dim) * size;
}

static void check_workspace(uint32_t cpu, int way, attn_type type) {
    const double tiles = 4.0 * MEBIBYTE; /* a thread */
    attn_engine *one = test_engine_open(ATTN_ENGINE_CPU, cpu, 1), *many = test_engine_open(ATTN_ENGINE_CPU, cpu, 16);
    for (int64_t keys = 1024; keys <= 1 << 20; keys *= 4) {
        attn_problem problem = long_problem(way, type, keys);
        double of_one = (double)workspace_of(one, &problem), of_many = (double)workspace_of(many, &problem);
        assert_true(of_one <= packed_copy(&problem) + tiles);
        assert_true(of_many <= packed_copy(&problem) + 16.0 * tiles);
        /* What further threads add does not depend on the sequence. */
        assert_true(of_many - of_one <= 15.0 * tiles);
    }
    attn_engine_close(many);
    attn_engine_close(one);
}

static void workspace_is_linear_and_not_times_threads(void **state) {
    (void)state;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        for (int way = 0; way < 3; way++) {
            check_workspace(cpu, way, ATTN_F32);
            check_workspace(cpu, way, ATTN_BF16);
            check_workspace(cpu, way, ATTN_F64);
        }
    }
}

/* More batch entries, and more heads that share nothing, take turns in the same workspace. */
static void workspace_does_not_grow_with_batch_and_heads(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2);
    (void)state;
    for (int way = 0; way < 3; way++) {
        attn_problem problem = long_problem(way, ATTN_F32, 4096);
        double small = (double)workspace_of(engine, &problem);
        problem.batch = 1000;
        problem.heads_q *= 4;
        problem.heads_kv *= 4;
        assert_true((double)workspace_of(engine, &problem) <= 2.0 * small + MEBIBYTE);
    }
    attn_engine_close(engine);
}

/* A bias, a mask, ALiBi, dropout or lengths bring no matrix of rows times keys with them. */
static void features_need_no_matrix(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2);
    attn_problem problem = long_problem(0, ATTN_F32, 65536);
    (void)state;
    problem.bias = (attn_view){ATTN_F16, {1, 8, 65536, 65536}, {0, 0, 0, 0}};
    problem.mask = (attn_view){ATTN_BOOL, {1, 8, 65536, 65536}, {0, 0, 0, 0}};
    problem.dropout_p = 0.5;
    problem.softcap = 10.0;
    problem.with = ATTN_WITH_LSE | ATTN_WITH_ALIBI | ATTN_WITH_SINKS | ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS |
                   ATTN_WITH_BATCH_INVARIANCE;
    assert_true((double)workspace_of(engine, &problem) <= packed_copy(&problem) + 8.0 * MEBIBYTE);
    attn_engine_close(engine);
}

/* -------------------------------------------------------------------------------------------------------------
 * measured */

enum { TOKENS = 65536, DIM = 64 };

/* How a child ended: seconds of the run, and the most memory it ever had, in MiB, beside its tensors. */
typedef struct measurement {
    double seconds, extra;
} measurement;

static attn_problem one_head(int64_t window_left) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.seq_q = problem.seq_kv = TOKENS;
    problem.dim = DIM;
    problem.window_left = problem.window_right = window_left;
    return problem;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* In a process of its own, as a peak never falls again. */
static void run_and_measure(uint32_t cpu, int64_t window, int result) {
    size_t count = (size_t)TOKENS * DIM;
    float *tensors[4];
    for (int n = 0; n < 4; n++) {
        tensors[n] = malloc(count * sizeof(float));
        if (!tensors[n]) _exit(1);
        for (size_t i = 0; i < count; i++) tensors[n][i] = (float)(i * 2654435761U % 1009) / 504.5F - 1.0F;
    }
    attn_problem problem = one_head(window);
    attn_tensors pointers = ATTN_TENSORS_INIT;
    pointers.q = tensors[0];
    pointers.k = tensors[1];
    pointers.v = tensors[2];
    pointers.o = tensors[3];
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 0);
    attn_plan *plan = NULL;
    double start = now();
    if (attn_plan_create(engine, &problem, 0, &plan, NULL) != ATTN_OK) _exit(1);
    if (attn_run(plan, &pointers, NULL) != ATTN_OK) _exit(1);
    measurement measured = {now() - start, 0};
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    measured.extra = ((double)usage.ru_maxrss * 1024.0 - 4.0 * (double)count * sizeof(float)) / MEBIBYTE;
    _exit(write(result, &measured, sizeof measured) == (ssize_t)sizeof measured ? 0 : 1);
}

static measurement measure(uint32_t cpu, int64_t window) {
    int ends[2], status = 0;
    measurement measured = {0, 0};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) run_and_measure(cpu, window, ends[1]);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(read(ends[0], &measured, sizeof measured), sizeof measured);
    close(ends[0]);
    close(ends[1]);
    return measured;
}

/*
 * Every key for every row where that is a matter of seconds, else (portable C, an emulator) a window that leaves the
 * plan its workspace: what can be measured either way is what the library allocates, and it allocates by plan.
 */
static void peak_memory_of_65536_tokens(void **state) {
    enum { WINDOW = 256, SECONDS = 45 };
    (void)state;
    if (TEST_SANITIZED || test_is_short()) skip(); /* memory of a sanitizer or an emulator would be measured */
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        measurement narrow = measure(cpu, WINDOW);
        double whole_seconds = narrow.seconds * TOKENS / (2 * WINDOW + 1);
        printf("%s: window of %d: %.1f MiB beside the tensors in %.1f s", attn_cpu_name(cpu), WINDOW, narrow.extra,
               narrow.seconds);
        assert_true(narrow.extra <= 32.0);
        if (whole_seconds > SECONDS || test_next_cpu(cpu)) {
            printf("\n");
            continue;
        }
        measurement whole = measure(cpu, ATTN_UNBOUNDED);
        printf("; all keys: %.1f MiB in %.1f s\n", whole.extra, whole.seconds);
        assert_true(whole.extra <= 32.0);
    }
}

/* The workspace that the window above is to leave as it is. */
static void a_window_leaves_the_workspace(void **state) {
    (void)state;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 0);
        attn_problem narrow = one_head(256), whole = one_head(ATTN_UNBOUNDED);
        double of_narrow = (double)workspace_of(engine, &narrow), of_whole = (double)workspace_of(engine, &whole);
        assert_true(of_whole <= of_narrow + 2.0 * MEBIBYTE);
        assert_true(of_whole <= 32.0 * MEBIBYTE);
        attn_engine_close(engine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workspace_is_linear_and_not_times_threads),
        cmocka_unit_test(workspace_does_not_grow_with_batch_and_heads),
        cmocka_unit_test(features_need_no_matrix),
        cmocka_unit_test(a_window_leaves_the_workspace),
        cmocka_unit_test(peak_memory_of_65536_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
