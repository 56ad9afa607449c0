/* SPDX-License-Identifier: Apache-2.0 */
/* Bring your own: threads, memory, several callers at once; and what happens when either runs out. */
#include "support/cmocka_all.h"
#include "support/compare.h"
#include "support/effort.h"
#include "support/engine.h"
#include "support/sanitizer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --------------------------------------------------------------------------------------------- every malloc counted */

/* Calls of malloc and its kin by anyone in this process, so that "running allocates nothing" is seen and not believed. */
#if defined(__GLIBC__) && !TEST_SANITIZED
#define COUNTS_MALLOC 1
static atomic_int malloc_calls;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    atomic_fetch_add(&malloc_calls, 1);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    atomic_fetch_add(&malloc_calls, 1);
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    atomic_fetch_add(&malloc_calls, 1);
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    atomic_fetch_add(&malloc_calls, 1);
    return __libc_memalign(alignment, size);
}

static int count_mallocs(void) {
    return atomic_load(&malloc_calls);
}
#else
#define COUNTS_MALLOC 0
static int count_mallocs(void) {
    return 0;
}
#endif

/* ---------------------------------------------------------------------------------------------------------------
 * problems */

/* Square with padding and a mask, decode, packed, f16, batch invariant, few rows in groups: each takes another path. */
static attn_problem problem_number(int number) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.heads_q = 6;
    problem.heads_kv = 2;
    problem.seq_q = problem.seq_kv = 150;
    problem.dim = 40;
    problem.with = ATTN_WITH_LSE;
    switch (number) {
    case 0:
        problem.batch = 2;
        problem.window_right = ATTN_CAUSAL;
        problem.mask = (attn_view){ATTN_BOOL, {1, 1, 150, 150}, {0, 0, 0, 0}};
        break;
    case 1:
        problem.seq_q = 1;
        problem.seq_kv = 3000;
        break;
    case 2:
        problem.batch = 3;
        problem.with |= ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV;
        break;
    case 3:
        problem.type = ATTN_F16;
        break;
    case 4:
        problem.with |= ATTN_WITH_BATCH_INVARIANCE;
        break;
    default:
        problem.type = ATTN_BF16;
        problem.seq_q = 9;
        problem.seq_kv = 1100;
        problem.dropout_p = 0.25;
        break;
    }
    return problem;
}

enum { PROBLEMS = 6 };

static test_case *case_number(int number) {
    attn_problem problem = problem_number(number);
    test_recipe recipe = test_recipe_plain(&problem, 400 + (uint64_t)number);
    return test_case_make(&recipe);
}

/* --------------------------------------------------------------------------------------------- the caller's threads */

typedef struct parallel_log {
    int limit; /* threads of the engine */
    atomic_int calls;
    atomic_int bad; /* calls with a count out of range */
} parallel_log;

static void note(parallel_log *log, int count) {
    atomic_fetch_add(&log->calls, 1);
    if (count < 1 || count > log->limit) atomic_fetch_add(&log->bad, 1);
}

static void in_order(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    note(user, count);
    for (int n = 0; n < count; n++) task(arg, n);
}

static void in_reverse(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    note(user, count);
    for (int n = count - 1; n >= 0; n--) task(arg, n);
}

typedef struct one_task {
    void (*task)(void *arg, int index);
    void *arg;
    int index;
} one_task;

static void *run_task(void *pointer) {
    one_task *one = pointer;
    one->task(one->arg, one->index);
    return NULL;
}

static void on_threads(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    pthread_t threads[16];
    one_task tasks[16];
    note(user, count);
    for (int n = 0; n < count; n++) {
        tasks[n] = (one_task){task, arg, n};
        assert_int_equal(pthread_create(&threads[n], NULL, run_task, &tasks[n]), 0);
    }
    for (int n = 0; n < count; n++) pthread_join(threads[n], NULL);
}

static attn_engine *open_with_threads(attn_parallel_for parallel_for, parallel_log *log) {
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    attn_engine *engine = NULL;
    attn_reason reason = {"stale"};
    options.threads = log->limit;
    options.parallel_for = parallel_for;
    options.parallel_user = log;
    test_assert_ok(attn_engine_open(&options, &engine, &reason), &reason);
    return engine;
}

static void any_parallel_for_gives_the_same_bits(void **state) {
    attn_parallel_for hooks[] = {in_order, in_reverse, on_threads};
    attn_engine *own = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 4);
    (void)state;
    for (int number = 0; number < PROBLEMS; number++) {
        test_case *source = case_number(number);
        test_output expected = test_run_case(own, source);
        for (int n = 0; n < 3; n++) {
            parallel_log log = {5, 0, 0};
            attn_engine *engine = open_with_threads(hooks[n], &log);
            test_output output = test_run_case(engine, source);
            assert_true(test_output_same_bits(&output, &expected));
            assert_true(atomic_load(&log.calls) > 0);
            assert_int_equal(atomic_load(&log.bad), 0);
            test_output_free(&output);
            attn_engine_close(engine);
        }
        test_output_free(&expected);
        test_case_free(source);
    }
    attn_engine_close(own);
}

/* ---------------------------------------------------------------------------------------------- the caller's memory */

typedef struct memory_log {
    atomic_int allocations; /* so far */
    atomic_int alive;
    atomic_int wrong_sizes; /* of release */
    int fail_at;            /* number of the allocation to refuse, or -1 */
} memory_log;

/* In front of each block; keeps the alignment of any standard type. */
typedef union block_header {
    size_t size;
    max_align_t align;
} block_header;

static void *logged_allocate(void *user, size_t size) {
    memory_log *log = user;
    if (atomic_fetch_add(&log->allocations, 1) == log->fail_at) return NULL;
    block_header *header = malloc(sizeof *header + size);
    if (!header) return NULL;
    header->size = size;
    atomic_fetch_add(&log->alive, 1);
    memset(header + 1, 0xEE, size);
    return header + 1;
}

static void logged_release(void *user, void *block, size_t size) {
    memory_log *log = user;
    if (!block) {
        atomic_fetch_add(&log->wrong_sizes, 1);
        return;
    }
    block_header *header = (block_header *)block - 1;
    if (header->size != size) atomic_fetch_add(&log->wrong_sizes, 1);
    atomic_fetch_sub(&log->alive, 1);
    free(header);
}

static attn_engine_options logged_options(memory_log *log, int threads) {
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    options.threads = threads;
    options.allocate = logged_allocate;
    options.release = logged_release;
    options.memory_user = log;
    return options;
}

static void all_memory_is_from_the_hooks_and_returned(void **state) {
    (void)state;
    for (int number = 0; number < PROBLEMS; number++) {
        memory_log log = {0, 0, 0, -1};
        attn_engine_options options = logged_options(&log, 3);
        attn_engine *engine = NULL;
        attn_plan *plan = NULL, *other = NULL;
        test_case *source = case_number(number);
        assert_int_equal(attn_engine_open(&options, &engine, NULL), ATTN_OK);
        assert_true(atomic_load(&log.alive) > 0);
        assert_int_equal(attn_plan_create(engine, &source->problem, 0, &plan, NULL), ATTN_OK);
        assert_int_equal(attn_plan_create(engine, &source->problem, 1, &other, NULL), ATTN_OK);
        attn_plan_destroy(plan);
        attn_plan_destroy(other);
        attn_engine_close(engine);
        assert_int_equal(atomic_load(&log.alive), 0);
        assert_int_equal(atomic_load(&log.wrong_sizes), 0);
        test_case_free(source);
    }
}

static void running_allocates_nothing(void **state) {
    (void)state;
    free(malloc(1));
    assert_true(!COUNTS_MALLOC || count_mallocs() > 0);
    for (int number = 0; number < PROBLEMS; number++) {
        memory_log log = {0, 0, 0, -1};
        attn_engine_options options = logged_options(&log, 3);
        attn_engine *engine = NULL;
        attn_plan *plan = NULL;
        attn_reason reason = {"stale"};
        test_case *source = case_number(number);
        test_output output = test_output_make(&source->problem);
        attn_tensors tensors = test_tensors_with(source, &output);
        assert_int_equal(attn_engine_open(&options, &engine, NULL), ATTN_OK);
        assert_int_equal(attn_plan_create(engine, &source->problem, 0, &plan, NULL), ATTN_OK);
        for (int run = 0; run < 3; run++) {
            int hooks = atomic_load(&log.allocations), mallocs = count_mallocs();
            attn_status status = attn_run(plan, &tensors, &reason);
            assert_int_equal(count_mallocs(), mallocs);
            assert_int_equal(atomic_load(&log.allocations), hooks);
            test_assert_ok(status, &reason);
        }
        attn_plan_destroy(plan);
        attn_engine_close(engine);
        test_output_free(&output);
        test_case_free(source);
    }
}

/* Opens, plans and runs with the n-th allocation refused. */
static attn_status open_plan_run(memory_log *log, const test_case *source, test_output *output, attn_reason *reason) {
    attn_engine_options options = logged_options(log, 3);
    attn_tensors tensors = test_tensors_with(source, output);
    attn_engine *engine = NULL;
    attn_status status = attn_engine_open(&options, &engine, reason);
    if (status != ATTN_OK) {
        assert_null(engine);
        return status;
    }
    status = test_run(engine, &source->problem, &tensors, reason);
    attn_engine_close(engine);
    return status;
}

static void each_failed_allocation_is_an_error_without_a_leak(void **state) {
    (void)state;
    for (int number = 0; number < PROBLEMS; number++) {
        test_case *source = case_number(number);
        test_output output = test_output_make(&source->problem);
        attn_status status = ATTN_ERROR_MEMORY;
        int fail_at = 0;
        for (; status != ATTN_OK; fail_at++) {
            memory_log log = {0, 0, 0, fail_at};
            attn_reason reason = {"stale"};
            status = open_plan_run(&log, source, &output, &reason);
            assert_int_equal(atomic_load(&log.alive), 0);
            assert_int_equal(atomic_load(&log.wrong_sizes), 0);
            if (status == ATTN_OK) break;
            test_assert_refused(status, ATTN_ERROR_MEMORY, &reason, "memory", NULL);
            assert_true(test_output_untouched(&output));
            assert_true(fail_at < 100);
        }
        assert_true(fail_at >= 3); /* the engine, the plan and its workspace at least */
        assert_true(test_output_gaps_intact(&output));
        test_output_free(&output);
        test_case_free(source);
    }
}

/* ------------------------------------------------------------------------------------------ several callers at once */

typedef struct caller {
    pthread_t thread;
    attn_engine *engine;
    const attn_plan *plan; /* NULL: its own */
    int own_workspace;
    const test_case *source;
    const test_output *expected;
    int wrong; /* runs that failed or differed */
} caller;

static void *call_often(void *pointer) {
    caller *self = pointer;
    test_output output = test_output_make(&self->source->problem);
    attn_tensors tensors = test_tensors_with(self->source, &output);
    test_block workspace = test_block_make(attn_plan_workspace(self->plan) + 1, TEST_BLOCK_AT_END, 0);
    if (self->own_workspace) {
        tensors.workspace = workspace.data;
        tensors.workspace_bytes = workspace.size;
    }
    for (int n = 0; n < (test_is_short() ? 2 : 8); n++) {
        attn_reason reason = {"stale"};
        attn_status status = self->plan ? attn_run(self->plan, &tensors, &reason)
                                        : test_run(self->engine, &self->source->problem, &tensors, &reason);
        if (status != ATTN_OK || !test_output_same_bits(&output, self->expected)) self->wrong++;
        test_output_poison(&output);
    }
    test_block_free(&workspace);
    test_output_free(&output);
    return NULL;
}

/* Four threads with one engine and one plan: in turns through its workspace, at once with their own, and plans apart. */
static void an_engine_and_a_plan_serve_several_callers(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 3);
    (void)state;
    for (int number = 0; number < PROBLEMS; number++) {
        test_case *source = case_number(number);
        test_output expected = test_run_case(engine, source);
        attn_plan *plan = NULL;
        assert_int_equal(attn_plan_create(engine, &source->problem, 0, &plan, NULL), ATTN_OK);
        for (int way = 0; way < 3; way++) {
            caller callers[4];
            for (int n = 0; n < 4; n++) {
                int own_workspace = way == 1 || (way == 0 && n == 3);
                callers[n] = (caller){.engine = engine, .source = source, .expected = &expected};
                callers[n].plan = way == 2 ? NULL : plan;
                callers[n].own_workspace = own_workspace;
                assert_int_equal(pthread_create(&callers[n].thread, NULL, call_often, &callers[n]), 0);
            }
            for (int n = 0; n < 4; n++) {
                pthread_join(callers[n].thread, NULL);
                assert_int_equal(callers[n].wrong, 0);
            }
        }
        attn_plan_destroy(plan);
        test_output_free(&expected);
        test_case_free(source);
    }
    attn_engine_close(engine);
}

/* A child with little address space: its threads cannot all start. Exit status: what became of the engine. */
static void open_many_threads_in_little_space(void) {
    struct rlimit limit = {600u << 20, 600u << 20};
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    attn_engine *engine = NULL;
    attn_reason reason = {""};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(100);
    options.threads = 1024;
    attn_status status = attn_engine_open(&options, &engine, &reason);
    if (status != ATTN_OK && (engine || !strstr(reason.text, "thread"))) _exit(101);
    attn_engine_close(engine);
    _exit((int)status);
}

static void threads_that_cannot_start_are_an_error(void **state) {
    int result = 0;
    (void)state;
    if (TEST_SANITIZED || sizeof(void *) < 8) skip(); /* a sanitizer's shadow alone is past the limit */
    pid_t child = fork();
    if (child == 0) open_many_threads_in_little_space();
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    /* An emulator may not enforce the limit. */
    if (WEXITSTATUS(result) != ATTN_OK) assert_int_equal(WEXITSTATUS(result), ATTN_ERROR_SYSTEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_parallel_for_gives_the_same_bits),
        cmocka_unit_test(all_memory_is_from_the_hooks_and_returned),
        cmocka_unit_test(running_allocates_nothing),
        cmocka_unit_test(each_failed_allocation_is_an_error_without_a_leak),
        cmocka_unit_test(an_engine_and_a_plan_serve_several_callers),
        cmocka_unit_test(threads_that_cannot_start_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
