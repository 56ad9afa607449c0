/* SPDX-License-Identifier: Apache-2.0 */
/* Names, engines, problems and plans: what each entry point gives, and every way in which it refuses. */
#include "support/cmocka_all.h"
#include "support/engine.h"
#include "support/recipe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A reason as a caller may have left it. */
static attn_reason stale_reason(void) {
    attn_reason reason;
    memset(reason.text, 'x', sizeof reason.text);
    return reason;
}

/* ----------------------------------------------------------------------------------------------------------------
 * names */

static void status_strings_are_distinct(void **state) {
    (void)state;
    for (int a = ATTN_OK; a <= ATTN_ERROR_DEVICE; a++) {
        assert_true(strlen(attn_status_string((attn_status)a)) > 0);
        for (int b = ATTN_OK; b < a; b++) {
            assert_string_not_equal(attn_status_string((attn_status)a), attn_status_string((attn_status)b));
        }
    }
    assert_true(strlen(attn_status_string((attn_status)-1)) > 0);
    assert_true(strlen(attn_status_string((attn_status)10)) > 0);
    assert_true(strlen(attn_status_string((attn_status)9999)) > 0);
}

static void version_is_that_of_the_header(void **state) {
    char text[32];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", ATTN_VERSION_MAJOR, ATTN_VERSION_MINOR, ATTN_VERSION_PATCH);
    assert_int_equal(attn_version(), ATTN_VERSION_MAJOR * 10000 + ATTN_VERSION_MINOR * 100 + ATTN_VERSION_PATCH);
    assert_string_equal(attn_version_string(), text);
}

static void types_have_sizes_and_names(void **state) {
    static const struct {
        attn_type type;
        size_t size;
        const char *name;
    } types[] = {{ATTN_F32, 4, "f32"},   {ATTN_F16, 2, "f16"}, {ATTN_BF16, 2, "bf16"}, {ATTN_F64, 8, "f64"},
                 {ATTN_BOOL, 1, "bool"}, {ATTN_I32, 4, "i32"}, {ATTN_I64, 8, "i64"}};
    (void)state;
    for (size_t n = 0; n < sizeof types / sizeof *types; n++) {
        assert_int_equal(attn_type_size(types[n].type), types[n].size);
        assert_string_equal(attn_type_name(types[n].type), types[n].name);
    }
    for (int bad = -1; bad <= 100; bad += 101) {
        assert_int_equal(attn_type_size((attn_type)bad), 0);
        assert_string_equal(attn_type_name((attn_type)bad), "?");
    }
    assert_int_equal(attn_type_size(ATTN_TYPE_DEFAULT), 0);
}

static void cpus_have_names(void **state) {
    (void)state;
    assert_string_equal(attn_cpu_name(ATTN_CPU_PORTABLE), "portable");
    assert_string_equal(attn_cpu_name(ATTN_CPU_AVX2), "avx2");
    assert_string_equal(attn_cpu_name(ATTN_CPU_AVX512), "avx512");
    assert_string_equal(attn_cpu_name(ATTN_CPU_NEON), "neon");
    assert_string_equal(attn_cpu_name(0), "?");
    assert_string_equal(attn_cpu_name(ATTN_CPU_PORTABLE | ATTN_CPU_AVX2), "?");
    assert_string_equal(attn_cpu_name(0x80000000U), "?");
    assert_true(attn_cpu_available() & ATTN_CPU_PORTABLE);
}

/* --------------------------------------------------------------------------------------------------------------
 * engines */

static attn_engine_options bad_engine(attn_engine_kind kind, uint32_t cpu_mask, int threads) {
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    options.kind = kind;
    options.cpu_mask = cpu_mask;
    options.threads = threads;
    return options;
}

static void assert_engine_refused(const attn_engine_options *options, attn_status expected, const char *text,
                                  const char *other_text) {
    attn_reason reason = stale_reason();
    attn_engine *engine = (attn_engine *)&reason;
    attn_status status = attn_engine_open(options, &engine, &reason);
    test_assert_refused(status, expected, &reason, text, other_text);
    assert_null(engine);
    engine = (attn_engine *)&reason;
    assert_int_equal(attn_engine_open(options, &engine, NULL), expected);
    assert_null(engine);
}

static void *no_allocation(void *user, size_t size) {
    (void)user;
    (void)size;
    return NULL;
}

static void engine_open_refuses(void **state) {
    attn_reason reason = stale_reason();
    char given[32], expected[32];
    (void)state;
    test_assert_refused(attn_engine_open(NULL, NULL, &reason), ATTN_ERROR_ARGUMENT, &reason, "engine", "NULL");
    assert_int_equal(attn_engine_open(NULL, NULL, NULL), ATTN_ERROR_ARGUMENT);

    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    snprintf(expected, sizeof expected, "%zu", sizeof options);
    for (size_t size = 0; size < 2 * sizeof options; size += sizeof options - 8) {
        if (size == sizeof options) continue;
        options.struct_size = size;
        snprintf(given, sizeof given, "%zu", size);
        assert_engine_refused(&options, ATTN_ERROR_ARGUMENT, given, expected);
    }
    options = bad_engine((attn_engine_kind)7, ATTN_CPU_ANY, 1);
    assert_engine_refused(&options, ATTN_ERROR_ARGUMENT, "7", NULL);
    options = bad_engine((attn_engine_kind)-1, ATTN_CPU_ANY, 1);
    assert_engine_refused(&options, ATTN_ERROR_ARGUMENT, "-1", NULL);
    options = bad_engine(ATTN_ENGINE_CPU, ATTN_CPU_ANY, -3);
    assert_engine_refused(&options, ATTN_ERROR_ARGUMENT, "-3", "1024");
    options = bad_engine(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 1025);
    assert_engine_refused(&options, ATTN_ERROR_ARGUMENT, "1025", "1024");
    options = bad_engine(ATTN_ENGINE_CPU, 0, 1);
    assert_engine_refused(&options, ATTN_ERROR_UNSUPPORTED, "0x0", NULL);
    options = bad_engine(ATTN_ENGINE_CPU, 0x4000, 1);
    assert_engine_refused(&options, ATTN_ERROR_UNSUPPORTED, "0x4000", NULL);
    options = bad_engine(ATTN_ENGINE_CPU, ~attn_cpu_available(), 1);
    assert_engine_refused(&options, ATTN_ERROR_UNSUPPORTED, "0x", NULL);
    options = bad_engine(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 1);
    options.allocate = no_allocation;
    assert_engine_refused(&options, ATTN_ERROR_ARGUMENT, "release", NULL);
}

static void engine_info_tells_what_was_asked(void **state) {
    (void)state;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 3);
        attn_engine_info info = ATTN_ENGINE_INFO_INIT;
        attn_reason reason = stale_reason();
        test_assert_ok(attn_engine_get_info(engine, &info, &reason), &reason);
        assert_int_equal(info.kind, ATTN_ENGINE_CPU);
        assert_string_equal(info.name, "cpu");
        assert_int_equal(info.cpu, cpu);
        assert_int_equal(info.threads, 3);
        assert_true(info.l1d_bytes >= 0 && info.l2_bytes >= 0 && info.l3_bytes >= 0);
        attn_engine_close(engine);
    }
}

static void engine_defaults(void **state) {
    attn_engine_info info = ATTN_ENGINE_INFO_INIT;
    attn_engine *engine = NULL;
    attn_reason reason = stale_reason();
    uint32_t best = 0;
    (void)state;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) best = cpu;
    test_assert_ok(attn_engine_open(NULL, &engine, &reason), &reason);
    assert_int_equal(attn_engine_get_info(engine, &info, NULL), ATTN_OK);
    assert_int_equal(info.kind, ATTN_ENGINE_CPU);
    assert_int_equal(info.cpu, best);
    assert_in_range(info.threads, 1, 1024);
    attn_engine_close(engine);
    attn_engine_close(NULL);

    engine = test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 0);
    assert_int_equal(attn_engine_get_info(engine, &info, NULL), ATTN_OK);
    assert_int_equal(info.kind, ATTN_ENGINE_ORACLE);
    assert_string_equal(info.name, "oracle");
    assert_int_equal(info.cpu, 0);
    assert_int_equal(info.threads, 1);
    attn_engine_close(engine);
}

static void engine_info_refuses(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 1);
    attn_engine_info info = ATTN_ENGINE_INFO_INIT;
    attn_reason reason = stale_reason();
    (void)state;
    test_assert_refused(attn_engine_get_info(NULL, &info, &reason), ATTN_ERROR_ARGUMENT, &reason, "engine", "NULL");
    test_assert_refused(attn_engine_get_info(engine, NULL, &reason), ATTN_ERROR_ARGUMENT, &reason, "info", "NULL");
    assert_int_equal(attn_engine_get_info(NULL, NULL, NULL), ATTN_ERROR_ARGUMENT);
    info.struct_size = 12;
    test_assert_refused(attn_engine_get_info(engine, &info, &reason), ATTN_ERROR_ARGUMENT, &reason, "12",
                        "attn_engine_info");
    assert_null(info.name);
    attn_engine_close(engine);
}

static void engine_speed(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 1);
    attn_engine *oracle = test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 1);
    attn_engine_speed speed = ATTN_ENGINE_SPEED_INIT;
    attn_reason reason = stale_reason();
    (void)state;
    test_assert_refused(attn_engine_measure(NULL, &speed, &reason), ATTN_ERROR_ARGUMENT, &reason, "engine", "NULL");
    test_assert_refused(attn_engine_measure(engine, NULL, &reason), ATTN_ERROR_ARGUMENT, &reason, "speed", "NULL");
    test_assert_refused(attn_engine_measure(oracle, &speed, &reason), ATTN_ERROR_UNSUPPORTED, &reason, "oracle", NULL);
    speed.struct_size = 3;
    test_assert_refused(attn_engine_measure(engine, &speed, &reason), ATTN_ERROR_ARGUMENT, &reason, "3", NULL);
    assert_true(speed.flops_f32 == 0.0);
    speed.struct_size = sizeof speed;
    test_assert_ok(attn_engine_measure(engine, &speed, &reason), &reason);
    assert_true(speed.flops_f32 > 1e6 && speed.flops_f64 > 1e6 && speed.read_bytes > 1e6);
    attn_engine_close(oracle);
    attn_engine_close(engine);
}

/* -------------------------------------------------------------------------------------------------------------
 * problems */

static attn_problem small_problem(void) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.batch = 2;
    problem.heads_q = 4;
    problem.heads_kv = 2;
    problem.seq_q = 5;
    problem.seq_kv = 7;
    problem.dim = 8;
    problem.dim_v = 6;
    return problem;
}

static attn_view view_of(attn_type type, int64_t b, int64_t h, int64_t rows, int64_t columns) {
    attn_view view = {type, {b, h, rows, columns}, {0, 0, 0, 0}};
    return view;
}

/* Each way that a problem enters refuses it alike, and gives nothing. */
static void assert_problem_refused(const attn_problem *problem, attn_status expected, const char *text,
                                   const char *other_text) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 1);
    attn_problem completed;
    attn_plan *plan = (attn_plan *)engine;
    attn_reason reason = stale_reason();
    unsigned char before[sizeof completed];
    memset(before, 0xA5, sizeof before);
    memset(&completed, 0xA5, sizeof completed);
    test_assert_refused(attn_problem_complete(problem, &completed, &reason), expected, &reason, text, other_text);
    assert_memory_equal(&completed, before, sizeof completed);
    assert_int_equal(attn_problem_complete(problem, NULL, NULL), expected);
    reason = stale_reason();
    test_assert_refused(attn_supports(engine, problem, &reason), expected, &reason, text, other_text);
    reason = stale_reason();
    test_assert_refused(attn_plan_create(engine, problem, 0, &plan, &reason), expected, &reason, text, other_text);
    assert_null(plan);
    attn_engine_close(engine);
}

/* `change` is one or more statements about the problem p. */
#define REFUSED(change, expected, text, other_text)                                                                    \
    do {                                                                                                               \
        attn_problem p = small_problem();                                                                              \
        change;                                                                                                        \
        assert_problem_refused(&p, expected, text, other_text);                                                        \
    } while (0)

#define ACCEPTED(change)                                                                                               \
    do {                                                                                                               \
        attn_problem p = small_problem();                                                                              \
        attn_reason reason = stale_reason();                                                                           \
        change;                                                                                                        \
        test_assert_ok(attn_problem_complete(&p, NULL, &reason), &reason);                                             \
    } while (0)

static void problem_arguments_refused(void **state) {
    (void)state;
    assert_problem_refused(NULL, ATTN_ERROR_ARGUMENT, "problem", "NULL");
    REFUSED(p.struct_size = 0, ATTN_ERROR_ARGUMENT, "is 0", "attn_problem");
    REFUSED(p.struct_size -= 8, ATTN_ERROR_ARGUMENT, "INIT", "attn_problem");
    REFUSED(p.struct_size += 8, ATTN_ERROR_ARGUMENT, "INIT", "attn_problem");
    REFUSED(p.type = (attn_type)99, ATTN_ERROR_ARGUMENT, "type", "99");
    REFUSED(p.type = ATTN_BOOL, ATTN_ERROR_ARGUMENT, "type", "bool");
    REFUSED(p.kv_type = (attn_type)-5, ATTN_ERROR_ARGUMENT, "kv_type", "-5");
    REFUSED(p.kv_type = ATTN_F16, ATTN_ERROR_UNSUPPORTED, "kv_type f16", "f32");
    REFUSED(p.o_type = (attn_type)42, ATTN_ERROR_ARGUMENT, "o_type", "42");
    REFUSED(p.o_type = ATTN_F16, ATTN_ERROR_ARGUMENT, "o_type f16", "f32");
    REFUSED(p.o_type = ATTN_F64, ATTN_ERROR_ARGUMENT, "o_type f64", "f32");
    REFUSED(p.type = ATTN_F64; p.o_type = ATTN_F32, ATTN_ERROR_ARGUMENT, "o_type f32", "f64");
    REFUSED(p.length_type = ATTN_F32, ATTN_ERROR_ARGUMENT, "length_type", "f32");
    REFUSED(p.length_type = (attn_type)77, ATTN_ERROR_ARGUMENT, "length_type", "77");
    REFUSED(p.with = 0x80000000U, ATTN_ERROR_ARGUMENT, "with", "0x80000000");
    REFUSED(p.bias = view_of(ATTN_BOOL, 1, 1, 1, 1), ATTN_ERROR_ARGUMENT, "bias", "bool");
    REFUSED(p.bias = view_of((attn_type)31, 1, 1, 1, 1), ATTN_ERROR_ARGUMENT, "bias", "31");
    REFUSED(p.mask = view_of(ATTN_F32, 1, 1, 1, 1), ATTN_ERROR_ARGUMENT, "mask", "f32");
    REFUSED(p.mask = view_of((attn_type)31, 1, 1, 1, 1), ATTN_ERROR_ARGUMENT, "mask", "31");
}

static void problem_numbers_refused(void **state) {
    (void)state;
    REFUSED(p.scale = (double)NAN, ATTN_ERROR_ARGUMENT, "scale", "nan");
    REFUSED(p.scale = (double)INFINITY, ATTN_ERROR_ARGUMENT, "scale", "inf");
    REFUSED(p.softcap = -2.5, ATTN_ERROR_ARGUMENT, "softcap", "-2.5");
    REFUSED(p.softcap = (double)NAN, ATTN_ERROR_ARGUMENT, "softcap", "nan");
    REFUSED(p.softcap = (double)INFINITY, ATTN_ERROR_ARGUMENT, "softcap", "inf");
    REFUSED(p.dropout_p = 1.0, ATTN_ERROR_ARGUMENT, "dropout_p", "1");
    REFUSED(p.dropout_p = -0.25, ATTN_ERROR_ARGUMENT, "dropout_p", "-0.25");
    REFUSED(p.dropout_p = (double)NAN, ATTN_ERROR_ARGUMENT, "dropout_p", "nan");
    REFUSED(p.window_left = -2, ATTN_ERROR_ARGUMENT, "window", "-2");
    REFUSED(p.window_right = INT64_MIN, ATTN_ERROR_ARGUMENT, "window", "-9223372036854775808");
    ACCEPTED(p.scale = 0.0);
    ACCEPTED(p.scale = -3.0);
    ACCEPTED(p.window_left = 0; p.window_right = 0);
    ACCEPTED(p.window_left = INT64_MAX; p.window_right = INT64_MAX; p.q_offset = INT64_MAX);
    ACCEPTED(p.q_offset = -INT64_MAX);
    ACCEPTED(p.dropout_p = 0.999);
}

static void problem_shapes_refused(void **state) {
    (void)state;
    REFUSED(p.heads_kv = 3, ATTN_ERROR_SHAPE, "4", "3");
    REFUSED(p.heads_q = 2; p.heads_kv = 4, ATTN_ERROR_SHAPE, "heads_q 2", "heads_kv 4");
    REFUSED(p.batch = -1, ATTN_ERROR_SHAPE, "batch", "-1");
    REFUSED(p.heads_q = -4, ATTN_ERROR_SHAPE, "heads_q", "-4");
    REFUSED(p.heads_kv = -2, ATTN_ERROR_SHAPE, "heads_kv", "-2");
    REFUSED(p.seq_q = -5, ATTN_ERROR_SHAPE, "seq_q", "-5");
    REFUSED(p.seq_kv = -7, ATTN_ERROR_SHAPE, "seq_kv", "-7");
    REFUSED(p.dim = 0, ATTN_ERROR_SHAPE, "dim", "0");
    REFUSED(p.dim = -8, ATTN_ERROR_SHAPE, "dim", "-8");
    REFUSED(p.dim = 1025, ATTN_ERROR_SHAPE, "1025", "1024");
    REFUSED(p.dim_v = 1025, ATTN_ERROR_SHAPE, "dim_v is 1025", "1024");
    REFUSED(p.dim_v = -6, ATTN_ERROR_SHAPE, "dim_v", "-6");
    REFUSED(p.bias = view_of(ATTN_F32, 3, 4, 5, 7), ATTN_ERROR_SHAPE, "bias", "3");
    REFUSED(p.bias = view_of(ATTN_F32, 2, 2, 5, 7), ATTN_ERROR_SHAPE, "bias", "4");
    REFUSED(p.bias = view_of(ATTN_F32, 2, 4, 4, 7), ATTN_ERROR_SHAPE, "bias", "5");
    REFUSED(p.bias = view_of(ATTN_F32, 2, 4, 5, 8), ATTN_ERROR_SHAPE, "bias", "8");
    REFUSED(p.mask = view_of(ATTN_BOOL, 2, 4, 5, 9), ATTN_ERROR_SHAPE, "mask", "9");
    REFUSED(p.mask = view_of(ATTN_BOOL, 2, 4, -5, 7), ATTN_ERROR_SHAPE, "mask", "-5");
    ACCEPTED(p.dim = 1024; p.dim_v = 1024);
    ACCEPTED(p.dim = 1; p.dim_v = 1);
    ACCEPTED(p.batch = 0);
    ACCEPTED(p.seq_q = 0; p.seq_kv = 0);
    ACCEPTED(p.heads_q = 0; p.heads_kv = 0);
    ACCEPTED(p.bias = view_of(ATTN_F64, 1, 4, 1, 3); p.mask = view_of(ATTN_BOOL, 2, 1, 5, 1));
}

static void problem_overflows_refused(void **state) {
    const int64_t huge = INT64_C(1) << 40;
    (void)state;
    REFUSED(p.batch = INT64_MAX, ATTN_ERROR_OVERFLOW, "9223372036854775807", NULL);
    REFUSED(p.batch = huge; p.heads_q = p.heads_kv = huge, ATTN_ERROR_OVERFLOW, "1099511627776", NULL);
    REFUSED(p.seq_q = INT64_MAX / 2, ATTN_ERROR_OVERFLOW, "4611686018427387903", NULL);
    REFUSED(p.seq_kv = INT64_MAX, ATTN_ERROR_OVERFLOW, "9223372036854775807", NULL);
    REFUSED(p.o_strides[2] = INT64_MAX / 2; p.o_strides[3] = 1, ATTN_ERROR_OVERFLOW, "o ", "4611686018427387903");
    REFUSED(p.k_strides[1] = INT64_MAX; p.k_strides[3] = 1, ATTN_ERROR_OVERFLOW, "k ", "9223372036854775807");
    REFUSED(p.v_strides[0] = INT64_MIN; p.v_strides[3] = 1, ATTN_ERROR_OVERFLOW, "v ", "-9223372036854775808");
    REFUSED(p.bias = view_of(ATTN_F32, 2, 4, 5, 7); p.bias.strides[1] = INT64_MAX, ATTN_ERROR_OVERFLOW, "bias", NULL);
    /* Nothing to do, yet sizes that no one could count. */
    REFUSED(p.seq_q = 0; p.batch = huge; p.heads_q = p.heads_kv = huge, ATTN_ERROR_OVERFLOW, "1099511627776", NULL);
}

static void overlapping_outputs_refused(void **state) {
    (void)state;
    REFUSED(p.o_strides[3] = 1, ATTN_ERROR_OVERLAP, "o ", "itself");
    REFUSED(p.o_strides[0] = 120; p.o_strides[1] = 30; p.o_strides[2] = 5;
            p.o_strides[3] = 1, ATTN_ERROR_OVERLAP, "o ", "30");
    REFUSED(p.o_strides[0] = 120; p.o_strides[1] = 29; p.o_strides[2] = 6;
            p.o_strides[3] = 1, ATTN_ERROR_OVERLAP, "o ", "29");
    REFUSED(p.with = ATTN_WITH_LSE; p.lse_strides[0] = 20; p.lse_strides[1] = 4;
            p.lse_strides[2] = 1, ATTN_ERROR_OVERLAP, "lse", "4");
    /* Interleaved heads, a gap, and a column step: none of them overlaps. */
    ACCEPTED(p.o_strides[0] = 120; p.o_strides[1] = 6; p.o_strides[2] = 24; p.o_strides[3] = 1);
    ACCEPTED(p.o_strides[0] = 1; p.o_strides[1] = 2; p.o_strides[2] = 8; p.o_strides[3] = 40);
    ACCEPTED(p.o_strides[0] = -400; p.o_strides[1] = 70; p.o_strides[2] = -13; p.o_strides[3] = 2);
}

/* Field by field, as structs have padding. */
static void assert_same_problem(const attn_problem *a, const attn_problem *b) {
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->kv_type, b->kv_type);
    assert_int_equal(a->o_type, b->o_type);
    assert_memory_equal(&a->batch, &b->batch, sizeof a->batch * 7);
    assert_int_equal(offsetof(attn_problem, q_strides) - offsetof(attn_problem, batch), 7 * sizeof a->batch);
    assert_memory_equal(a->q_strides, b->q_strides, sizeof a->q_strides);
    assert_memory_equal(a->k_strides, b->k_strides, sizeof a->k_strides);
    assert_memory_equal(a->v_strides, b->v_strides, sizeof a->v_strides);
    assert_memory_equal(a->o_strides, b->o_strides, sizeof a->o_strides);
    assert_memory_equal(a->lse_strides, b->lse_strides, sizeof a->lse_strides);
    assert_true(a->scale == b->scale && a->softcap == b->softcap && a->dropout_p == b->dropout_p);
    assert_true(a->window_left == b->window_left && a->window_right == b->window_right && a->q_offset == b->q_offset);
    assert_int_equal(a->bias.type, b->bias.type);
    assert_memory_equal(a->bias.shape, b->bias.shape, sizeof a->bias.shape);
    assert_memory_equal(a->bias.strides, b->bias.strides, sizeof a->bias.strides);
    assert_int_equal(a->mask.type, b->mask.type);
    assert_memory_equal(a->mask.shape, b->mask.shape, sizeof a->mask.shape);
    assert_memory_equal(a->mask.strides, b->mask.strides, sizeof a->mask.strides);
    assert_int_equal(a->with, b->with);
    assert_int_equal(a->length_type, b->length_type);
}

static void completion_fills_in_defaults(void **state) {
    static const int64_t q[4] = {160, 40, 8, 1}, o[4] = {120, 30, 6, 1}, packed_k[4] = {0, 8, 16, 1};
    attn_problem completed;
    (void)state;
    attn_problem problem = small_problem();
    problem.type = ATTN_BF16;
    problem.with = ATTN_WITH_LSE | ATTN_WITH_CU_SEQLENS_KV;
    problem.length_type = ATTN_TYPE_DEFAULT;
    assert_int_equal(attn_problem_complete(&problem, &completed, NULL), ATTN_OK);
    assert_int_equal(completed.kv_type, ATTN_BF16);
    assert_int_equal(completed.o_type, ATTN_BF16);
    assert_int_equal(completed.length_type, ATTN_I32);
    assert_true(fabs(completed.scale - 1.0 / sqrt(8.0)) < 1e-15);
    assert_memory_equal(completed.q_strides, q, sizeof q);
    assert_memory_equal(completed.k_strides, packed_k, sizeof packed_k);
    assert_memory_equal(completed.o_strides, o, sizeof o);
    assert_true(completed.lse_strides[0] == 20 && completed.lse_strides[1] == 5 && completed.lse_strides[2] == 1);

    problem = small_problem();
    problem.type = ATTN_TYPE_DEFAULT;
    problem.heads_kv = problem.dim_v = 0;
    assert_int_equal(attn_problem_complete(&problem, &problem, NULL), ATTN_OK);
    assert_int_equal(problem.type, ATTN_F32);
    assert_true(problem.heads_kv == 4 && problem.dim_v == 8);
}

static void completion_is_idempotent(void **state) {
    (void)state;
    for (uint64_t index = 0; index < 1000; index++) {
        attn_problem once, twice;
        attn_reason reason = stale_reason();
        test_recipe recipe = test_recipe_random(77, index);
        test_assert_ok(attn_problem_complete(&recipe.problem, &once, &reason), &reason);
        test_assert_ok(attn_problem_complete(&once, &twice, &reason), &reason);
        assert_same_problem(&once, &twice);
    }
}

static void supports_refuses_and_accepts(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 1);
    attn_engine *oracle = test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 1);
    attn_problem problem = small_problem();
    attn_reason reason = stale_reason();
    (void)state;
    test_assert_refused(attn_supports(NULL, &problem, &reason), ATTN_ERROR_ARGUMENT, &reason, "engine", "NULL");
    assert_int_equal(attn_supports(NULL, NULL, NULL), ATTN_ERROR_ARGUMENT);
    for (uint64_t index = 0; index < 200; index++) {
        test_recipe recipe = test_recipe_random(78, index);
        test_assert_ok(attn_supports(engine, &recipe.problem, &reason), &reason);
        test_assert_ok(attn_supports(oracle, &recipe.problem, &reason), &reason);
    }
    attn_engine_close(oracle);
    attn_engine_close(engine);
}

/* ----------------------------------------------------------------------------------------------------------------
 * plans */

static attn_plan *make_plan(attn_engine *engine, const attn_problem *problem) {
    attn_plan *plan = NULL;
    attn_reason reason = stale_reason();
    test_assert_ok(attn_plan_create(engine, problem, 0, &plan, &reason), &reason);
    return plan;
}

static void plan_create_refuses(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 1);
    attn_problem problem = small_problem();
    attn_plan *plan = (attn_plan *)engine;
    attn_reason reason = stale_reason();
    (void)state;
    test_assert_refused(attn_plan_create(engine, &problem, 0, NULL, &reason), ATTN_ERROR_ARGUMENT, &reason, "plan",
                        "NULL");
    test_assert_refused(attn_plan_create(NULL, &problem, 0, &plan, &reason), ATTN_ERROR_ARGUMENT, &reason, "engine",
                        "NULL");
    assert_null(plan);
    assert_int_equal(attn_plan_create(NULL, NULL, 0, NULL, NULL), ATTN_ERROR_ARGUMENT);
    attn_plan_destroy(NULL);
    attn_engine_close(engine);
}

static attn_plan_info info_of(attn_engine *engine, const attn_problem *problem) {
    attn_plan *plan = make_plan(engine, problem);
    attn_plan_info info = ATTN_PLAN_INFO_INIT;
    attn_reason reason = stale_reason();
    test_assert_ok(attn_plan_get_info(plan, &info, &reason), &reason);
    assert_int_equal(info.workspace_bytes, attn_plan_workspace(plan));
    assert_true(info.kernel && info.kernel[0]);
    attn_plan_destroy(plan);
    return info;
}

static void plan_info_counts_work(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2);
    attn_problem problem = small_problem();
    (void)state;
    /* 2 * 4 heads, 5 rows, 7 keys, 2 * (8 + 6) operations a pair; q, k, v, o of 4 bytes an element. */
    attn_plan_info info = info_of(engine, &problem);
    assert_true(info.flops == 2.0 * 4 * 5 * 7 * 28);
    assert_true(info.bytes == 4.0 * (2 * 4 * 5 * 8 + 2 * 2 * 7 * 8 + 2 * 2 * 7 * 6 + 2 * 4 * 5 * 6));
    problem.window_right = ATTN_CAUSAL; /* rows see 3, 4, 5, 6, 7 keys */
    assert_true(info_of(engine, &problem).flops == 2.0 * 4 * 25 * 28);
    problem.window_left = 1; /* 2 keys each */
    assert_true(info_of(engine, &problem).flops == 2.0 * 4 * 10 * 28);
    problem.q_offset = 0; /* 1, 2, 2, 2, 2 */
    assert_true(info_of(engine, &problem).flops == 2.0 * 4 * 9 * 28);
    problem.seq_kv = 0;
    assert_true(info_of(engine, &problem).flops == 0.0);
    attn_engine_close(engine);
}

static void plan_info_refuses(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 1);
    attn_problem problem = small_problem();
    attn_plan *plan = make_plan(engine, &problem);
    attn_plan_info info = ATTN_PLAN_INFO_INIT;
    attn_reason reason = stale_reason();
    (void)state;
    test_assert_refused(attn_plan_get_info(NULL, &info, &reason), ATTN_ERROR_ARGUMENT, &reason, "plan", "NULL");
    test_assert_refused(attn_plan_get_info(plan, NULL, &reason), ATTN_ERROR_ARGUMENT, &reason, "info", "NULL");
    info.struct_size = 5;
    test_assert_refused(attn_plan_get_info(plan, &info, &reason), ATTN_ERROR_ARGUMENT, &reason, "5", NULL);
    assert_null(info.kernel);
    assert_int_equal(attn_plan_workspace(NULL), 0);
    attn_plan_destroy(plan);
    attn_engine_close(engine);
}

/* As snprintf: for each size of buffer the longest beginning that fits, terminated, and the length of the whole. */
static void assert_explains_like_snprintf(const attn_plan *plan) {
    size_t length = attn_plan_explain(plan, NULL, 0);
    char *whole = malloc(length + 1), *part = malloc(length + 2);
    assert_true(whole && part);
    assert_true(length > 0);
    assert_int_equal(attn_plan_explain(plan, whole, length + 1), length);
    assert_int_equal(strlen(whole), length);
    for (size_t size = 0; size <= length + 1; size++) {
        memset(part, '#', length + 2);
        assert_int_equal(attn_plan_explain(plan, part, size), length);
        if (size > 0) {
            size_t kept = size - 1 < length ? size - 1 : length;
            assert_memory_equal(part, whole, kept);
            assert_int_equal(part[kept], '\0');
        }
        assert_int_equal(part[size], '#');
    }
    free(part);
    free(whole);
}

static void plan_explains_itself(void **state) {
    (void)state;
    attn_engine *engines[] = {test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2),
                              test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 1)};
    for (int n = 0; n < 2; n++) {
        char text[4096];
        attn_problem problem = small_problem();
        attn_plan *plan = make_plan(engines[n], &problem);
        attn_plan_info info = ATTN_PLAN_INFO_INIT;
        assert_int_equal(attn_plan_get_info(plan, &info, NULL), ATTN_OK);
        attn_plan_explain(plan, text, sizeof text);
        assert_non_null(strstr(text, info.kernel));
        assert_non_null(strchr(text, '\n'));
        assert_explains_like_snprintf(plan);
        attn_plan_destroy(plan);
        attn_engine_close(engines[n]);
    }
    assert_int_equal(attn_plan_explain(NULL, NULL, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_strings_are_distinct),
        cmocka_unit_test(version_is_that_of_the_header),
        cmocka_unit_test(types_have_sizes_and_names),
        cmocka_unit_test(cpus_have_names),
        cmocka_unit_test(engine_open_refuses),
        cmocka_unit_test(engine_info_tells_what_was_asked),
        cmocka_unit_test(engine_defaults),
        cmocka_unit_test(engine_info_refuses),
        cmocka_unit_test(engine_speed),
        cmocka_unit_test(problem_arguments_refused),
        cmocka_unit_test(problem_numbers_refused),
        cmocka_unit_test(problem_shapes_refused),
        cmocka_unit_test(problem_overflows_refused),
        cmocka_unit_test(overlapping_outputs_refused),
        cmocka_unit_test(completion_fills_in_defaults),
        cmocka_unit_test(completion_is_idempotent),
        cmocka_unit_test(supports_refuses_and_accepts),
        cmocka_unit_test(plan_create_refuses),
        cmocka_unit_test(plan_info_counts_work),
        cmocka_unit_test(plan_info_refuses),
        cmocka_unit_test(plan_explains_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
