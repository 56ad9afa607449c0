/* SPDX-License-Identifier: Apache-2.0 */
/* attn_run and the one-call functions: what they refuse (and that nothing is written then), workspaces, and results. */
#include "support/cmocka_all.h"
#include "support/compare.h"
#include "support/element.h"
#include "support/engine.h"

#include <stdio.h>
#include <stdlib.h>

/* A problem with every optional tensor, planned and ready to run. */
typedef struct fixture {
    attn_engine *engine;
    attn_plan *plan;
    test_case *source;
    test_output output;
    attn_tensors tensors;
} fixture;

static attn_problem full_problem(void) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.batch = 3;
    problem.heads_q = 4;
    problem.heads_kv = 2;
    problem.seq_q = 5;
    problem.seq_kv = 9;
    problem.dim = 8;
    problem.with =
        ATTN_WITH_LSE | ATTN_WITH_ALIBI | ATTN_WITH_SINKS | ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS | ATTN_WITH_Q_OFFSETS;
    problem.bias = (attn_view){ATTN_F32, {3, 4, 5, 9}, {0, 0, 0, 0}};
    problem.mask = (attn_view){ATTN_BOOL, {3, 4, 5, 9}, {0, 0, 0, 0}};
    return problem;
}

static attn_problem packed_problem(attn_type length_type) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.batch = 3;
    problem.heads_q = 2;
    problem.seq_q = 10;
    problem.seq_kv = 12;
    problem.dim = 8;
    problem.with = ATTN_WITH_LSE | ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV;
    problem.length_type = length_type;
    return problem;
}

static fixture set_up(const attn_problem *problem, int own_workspace) {
    fixture f;
    attn_reason reason = {""};
    test_recipe recipe = test_recipe_plain(problem, 5);
    f.engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2);
    f.plan = NULL;
    f.source = test_case_make(&recipe);
    test_assert_ok(attn_plan_create(f.engine, problem, own_workspace, &f.plan, &reason), &reason);
    f.output = test_output_make(problem);
    f.tensors = test_tensors_with(f.source, &f.output);
    return f;
}

static void tear_down(fixture *f) {
    test_output_free(&f->output);
    test_case_free(f->source);
    attn_plan_destroy(f->plan);
    attn_engine_close(f->engine);
}

/* Refused, with and without a reason, and nothing written. */
static void assert_run_refused(const fixture *f, const attn_tensors *tensors, attn_status expected, const char *text,
                               const char *other_text) {
    attn_reason reason = {"stale"};
    test_assert_refused(attn_run(f->plan, tensors, &reason), expected, &reason, text, other_text);
    assert_int_equal(attn_run(f->plan, tensors, NULL), expected);
    assert_true(test_output_untouched(&f->output));
}

static void assert_run_succeeds(fixture *f, const attn_tensors *tensors) {
    attn_reason reason = {"stale"};
    test_assert_ok(attn_run(f->plan, tensors, &reason), &reason);
    assert_true(test_output_gaps_intact(&f->output));
    assert_false(test_output_untouched(&f->output));
    test_output_poison(&f->output);
}

#define RUN_REFUSED(f, change, expected, text, other_text)                                                             \
    do {                                                                                                               \
        attn_tensors t = (f)->tensors;                                                                                 \
        change;                                                                                                        \
        assert_run_refused(f, &t, expected, text, other_text);                                                         \
    } while (0)

/* ---------------------------------------------------------------------------------------------------------------
 * pointers */

static void nulls_are_refused(void **state) {
    attn_problem problem = full_problem();
    fixture f = set_up(&problem, 0);
    attn_reason reason = {"stale"};
    (void)state;
    test_assert_refused(attn_run(NULL, &f.tensors, &reason), ATTN_ERROR_ARGUMENT, &reason, "plan", "NULL");
    assert_int_equal(attn_run(NULL, NULL, NULL), ATTN_ERROR_ARGUMENT);
    assert_run_refused(&f, NULL, ATTN_ERROR_ARGUMENT, "tensors", "NULL");
    RUN_REFUSED(&f, t.struct_size = 0, ATTN_ERROR_ARGUMENT, "attn_tensors", "0");
    RUN_REFUSED(&f, t.struct_size += 16, ATTN_ERROR_ARGUMENT, "attn_tensors", "INIT");
    RUN_REFUSED(&f, t.q = NULL, ATTN_ERROR_ARGUMENT, "q ", "NULL");
    RUN_REFUSED(&f, t.k = NULL, ATTN_ERROR_ARGUMENT, "k ", "NULL");
    RUN_REFUSED(&f, t.v = NULL, ATTN_ERROR_ARGUMENT, "v ", "NULL");
    RUN_REFUSED(&f, t.o = NULL, ATTN_ERROR_ARGUMENT, "o ", "NULL");
    RUN_REFUSED(&f, t.lse = NULL, ATTN_ERROR_ARGUMENT, "lse", "NULL");
    RUN_REFUSED(&f, t.bias = NULL, ATTN_ERROR_ARGUMENT, "bias", "NULL");
    RUN_REFUSED(&f, t.mask = NULL, ATTN_ERROR_ARGUMENT, "mask", "NULL");
    RUN_REFUSED(&f, t.alibi_slopes = NULL, ATTN_ERROR_ARGUMENT, "alibi_slopes", "NULL");
    RUN_REFUSED(&f, t.sinks = NULL, ATTN_ERROR_ARGUMENT, "sinks", "NULL");
    RUN_REFUSED(&f, t.q_lens = NULL, ATTN_ERROR_ARGUMENT, "q_lens", "NULL");
    RUN_REFUSED(&f, t.kv_lens = NULL, ATTN_ERROR_ARGUMENT, "kv_lens", "NULL");
    RUN_REFUSED(&f, t.q_offsets = NULL, ATTN_ERROR_ARGUMENT, "q_offsets", "NULL");
    assert_run_succeeds(&f, &f.tensors);
    tear_down(&f);

    problem = packed_problem(ATTN_I32);
    f = set_up(&problem, 0);
    RUN_REFUSED(&f, t.cu_seqlens_q = NULL, ATTN_ERROR_ARGUMENT, "cu_seqlens_q", "NULL");
    RUN_REFUSED(&f, t.cu_seqlens_kv = NULL, ATTN_ERROR_ARGUMENT, "cu_seqlens_kv", "NULL");
    assert_run_succeeds(&f, &f.tensors);
    tear_down(&f);
}

static void pointers_that_the_problem_does_not_name_are_refused(void **state) {
    attn_problem problem = full_problem();
    const attn_view none = ATTN_VIEW_INIT;
    static int32_t lengths[8];
    static float numbers[8];
    (void)state;
    problem.with = 0;
    problem.bias = problem.mask = none;
    fixture f = set_up(&problem, 0);
    RUN_REFUSED(&f, t.lse = numbers, ATTN_ERROR_ARGUMENT, "lse", "LSE");
    RUN_REFUSED(&f, t.bias = numbers, ATTN_ERROR_ARGUMENT, "bias", NULL);
    RUN_REFUSED(&f, t.mask = numbers, ATTN_ERROR_ARGUMENT, "mask", NULL);
    RUN_REFUSED(&f, t.alibi_slopes = numbers, ATTN_ERROR_ARGUMENT, "alibi_slopes", "ALIBI");
    RUN_REFUSED(&f, t.sinks = numbers, ATTN_ERROR_ARGUMENT, "sinks", "SINKS");
    RUN_REFUSED(&f, t.q_lens = lengths, ATTN_ERROR_ARGUMENT, "q_lens", "Q_LENS");
    RUN_REFUSED(&f, t.kv_lens = lengths, ATTN_ERROR_ARGUMENT, "kv_lens", "KV_LENS");
    RUN_REFUSED(&f, t.q_offsets = lengths, ATTN_ERROR_ARGUMENT, "q_offsets", "Q_OFFSETS");
    RUN_REFUSED(&f, t.cu_seqlens_q = lengths, ATTN_ERROR_ARGUMENT, "cu_seqlens_q", "CU_SEQLENS_Q");
    RUN_REFUSED(&f, t.cu_seqlens_kv = lengths, ATTN_ERROR_ARGUMENT, "cu_seqlens_kv", "CU_SEQLENS_KV");
    assert_run_succeeds(&f, &f.tensors);
    tear_down(&f);
}

/* ----------------------------------------------------------------------------------------------------------------
 * overlap */

static void overlapping_tensors_are_refused(void **state) {
    attn_problem problem = full_problem();
    fixture f = set_up(&problem, 0);
    (void)state;
    RUN_REFUSED(&f, t.q = t.o, ATTN_ERROR_OVERLAP, "o ", "q");
    RUN_REFUSED(&f, t.k = (const char *)t.o + 16, ATTN_ERROR_OVERLAP, "o ", "k");
    RUN_REFUSED(&f, t.v = (const char *)t.o - 8, ATTN_ERROR_OVERLAP, "o ", "v");
    RUN_REFUSED(&f, t.lse = t.o, ATTN_ERROR_OVERLAP, "o ", "lse");
    RUN_REFUSED(&f, t.bias = t.o, ATTN_ERROR_OVERLAP, "o ", "bias");
    RUN_REFUSED(&f, t.mask = t.lse, ATTN_ERROR_OVERLAP, "lse", "mask");
    RUN_REFUSED(&f, t.sinks = t.lse + 4, ATTN_ERROR_OVERLAP, "lse", "sinks");
    RUN_REFUSED(&f, t.workspace = t.o; t.workspace_bytes = 64, ATTN_ERROR_OVERLAP, "workspace", "o");
    tear_down(&f);
}

/* q, k, v and o as slices of one buffer [row, slot, dim]: interleaved, but no byte is shared. */
static void slices_of_one_buffer_run(void **state) {
    enum { ROWS = 33, HEADS = 3, DIM = 8, SLOTS = 4 * HEADS };
    const int64_t strides[4] = {0, DIM, SLOTS * DIM, 1};
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2);
    attn_problem problem = ATTN_PROBLEM_INIT;
    attn_tensors tensors = ATTN_TENSORS_INIT;
    attn_reason reason = {"stale"};
    float *buffer = calloc(ROWS * SLOTS * DIM, sizeof *buffer), apart[3][HEADS][ROWS][DIM];
    (void)state;
    for (int n = 0; n < ROWS * SLOTS * DIM; n++) buffer[n] = (float)(n * 37 % 101) / 50.0F - 1.0F;
    problem.heads_q = HEADS;
    problem.seq_q = problem.seq_kv = ROWS;
    problem.dim = DIM;
    for (int slot = 0; slot < 3; slot++) {
        for (int h = 0; h < HEADS; h++) {
            for (int i = 0; i < ROWS; i++) {
                memcpy(apart[slot][h][i], buffer + (i * SLOTS + slot * HEADS + h) * DIM, sizeof apart[slot][h][i]);
            }
        }
    }
    tensors.q = apart[0];
    tensors.k = apart[1];
    tensors.v = apart[2];
    test_output contiguous = test_run_problem(engine, &problem, &tensors);
    memcpy(problem.q_strides, strides, sizeof strides);
    memcpy(problem.k_strides, strides, sizeof strides);
    memcpy(problem.v_strides, strides, sizeof strides);
    memcpy(problem.o_strides, strides, sizeof strides);
    tensors.q = buffer;
    tensors.k = buffer + HEADS * DIM;
    tensors.v = buffer + 2 * HEADS * DIM;
    tensors.o = buffer + 3 * HEADS * DIM;
    test_assert_ok(test_run(engine, &problem, &tensors, &reason), &reason);
    for (int h = 0; h < HEADS; h++) {
        for (int i = 0; i < ROWS; i++) {
            for (int d = 0; d < DIM; d++) {
                double expected = test_tensor_get(&contiguous.o, 0, h, i, d);
                double got = (double)buffer[(i * SLOTS + 3 * HEADS + h) * DIM + d];
                assert_true(got - expected < 1e-5 && expected - got < 1e-5);
            }
        }
    }
    /* One slot further back, o is v's last head. */
    tensors.o = buffer + (3 * HEADS - 1) * DIM;
    test_assert_refused(test_run(engine, &problem, &tensors, &reason), ATTN_ERROR_OVERLAP, &reason, "o ", "v");
    test_output_free(&contiguous);
    free(buffer);
    attn_engine_close(engine);
}

/* ----------------------------------------------------------------------------------------------------------------
 * lengths */

static void lengths_out_of_range_are_refused(void **state) {
    (void)state;
    for (attn_type type = ATTN_I32; type <= ATTN_I64; type = (attn_type)(type + 1)) {
        attn_problem problem = full_problem();
        problem.length_type = type;
        fixture f = set_up(&problem, 0);
        int64_t storage[4] = {0};
        test_store(type, storage, 1, 6);
        RUN_REFUSED(&f, t.q_lens = storage, ATTN_ERROR_LENGTHS, "q_lens[1] is 6", "5");
        test_store(type, storage, 1, -1);
        RUN_REFUSED(&f, t.q_lens = storage, ATTN_ERROR_LENGTHS, "q_lens[1] is -1", "5");
        test_store(type, storage, 1, 10);
        RUN_REFUSED(&f, t.kv_lens = storage, ATTN_ERROR_LENGTHS, "kv_lens[1] is 10", "9");
        test_store(type, storage, 1, -2147483647.0);
        RUN_REFUSED(&f, t.kv_lens = storage, ATTN_ERROR_LENGTHS, "kv_lens[1] is -2147483647", "9");
        test_store(type, storage, 1, 9);
        f.tensors.kv_lens = storage;
        assert_run_succeeds(&f, &f.tensors);
        tear_down(&f);
    }
}

static void set_cumulative(attn_type type, void *array, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t numbers[4] = {a, b, c, d};
    for (int n = 0; n < 4; n++) test_store(type, array, n, (double)numbers[n]);
}

static void cumulative_lengths_that_do_not_fit_are_refused(void **state) {
    (void)state;
    for (attn_type type = ATTN_I32; type <= ATTN_I64; type = (attn_type)(type + 1)) {
        attn_problem problem = packed_problem(type);
        fixture f = set_up(&problem, 0);
        int64_t storage[4];
        set_cumulative(type, storage, 1, 2, 3, 4);
        RUN_REFUSED(&f, t.cu_seqlens_q = storage, ATTN_ERROR_LENGTHS, "cu_seqlens_q starts", "1");
        RUN_REFUSED(&f, t.cu_seqlens_kv = storage, ATTN_ERROR_LENGTHS, "cu_seqlens_kv starts", "1");
        set_cumulative(type, storage, 0, 7, 3, 9);
        RUN_REFUSED(&f, t.cu_seqlens_q = storage, ATTN_ERROR_LENGTHS, "cu_seqlens_q falls", "7 to 3");
        RUN_REFUSED(&f, t.cu_seqlens_kv = storage, ATTN_ERROR_LENGTHS, "cu_seqlens_kv falls", "7 to 3");
        set_cumulative(type, storage, 0, 0, 0, 13);
        RUN_REFUSED(&f, t.cu_seqlens_q = storage, ATTN_ERROR_LENGTHS, "13", "10");
        RUN_REFUSED(&f, t.cu_seqlens_kv = storage, ATTN_ERROR_LENGTHS, "13", "12");
        set_cumulative(type, storage, 0, -4, 3, 9);
        RUN_REFUSED(&f, t.cu_seqlens_q = storage, ATTN_ERROR_LENGTHS, "cu_seqlens_q", "-4");
        set_cumulative(type, storage, 0, 0, 10, 10);
        f.tensors.cu_seqlens_q = f.tensors.cu_seqlens_kv = storage;
        assert_run_succeeds(&f, &f.tensors);
        tear_down(&f);
    }
}

/* A kv_len within the whole tensor but past its own packed sequence. */
static void lengths_past_a_packed_sequence_are_refused(void **state) {
    attn_problem problem = packed_problem(ATTN_I32);
    static const int32_t cumulative[4] = {0, 4, 6, 10}, q_lens[4] = {4, 2, 4, 0}, kv_lens[4] = {4, 3, 4, 0};
    (void)state;
    problem.with |= ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS;
    fixture f = set_up(&problem, 0);
    f.tensors.cu_seqlens_q = f.tensors.cu_seqlens_kv = cumulative;
    RUN_REFUSED(&f, t.q_lens = q_lens; t.kv_lens = kv_lens, ATTN_ERROR_LENGTHS, "kv_lens[1] is 3", "2");
    RUN_REFUSED(&f, t.q_lens = kv_lens; t.kv_lens = q_lens, ATTN_ERROR_LENGTHS, "q_lens[1] is 3", "2");
    f.tensors.q_lens = f.tensors.kv_lens = q_lens;
    assert_run_succeeds(&f, &f.tensors);
    tear_down(&f);
}

/* A bias of fewer rows than the packed tensor has is enough if every sequence fits it. */
static void packed_rows_have_to_fit_bias_and_mask(void **state) {
    attn_problem problem = packed_problem(ATTN_I32);
    static const int32_t fits[4] = {0, 4, 6, 10}, does_not[4] = {0, 1, 6, 10};
    static const float bias[4 * 12];
    static const unsigned char mask[4 * 12];
    (void)state;
    problem.bias = (attn_view){ATTN_F32, {1, 1, 4, 12}, {0, 0, 0, 0}};
    problem.mask = (attn_view){ATTN_BOOL, {1, 1, 4, 12}, {0, 0, 0, 0}};
    fixture f = set_up(&problem, 0);
    f.tensors.bias = bias;
    f.tensors.mask = mask;
    RUN_REFUSED(&f, t.cu_seqlens_q = t.cu_seqlens_kv = does_not, ATTN_ERROR_LENGTHS, "sequence 1 has 5 rows", "4");
    f.tensors.cu_seqlens_q = f.tensors.cu_seqlens_kv = fits;
    assert_run_succeeds(&f, &f.tensors);
    tear_down(&f);
}

/* --------------------------------------------------------------------------------------------------------------
 * workspace */

static void own_workspace_has_to_be_large_enough(void **state) {
    attn_problem problem = full_problem();
    fixture f = set_up(&problem, 1);
    size_t size = attn_plan_workspace(f.plan);
    char needed[32], given[32];
    (void)state;
    if (size == 0) skip();
    snprintf(needed, sizeof needed, "%zu", size);
    snprintf(given, sizeof given, "%zu", size - 1);
    test_block block = test_block_make(size, TEST_BLOCK_AT_END, 0);
    RUN_REFUSED(&f, t.workspace = NULL, ATTN_ERROR_ARGUMENT, "workspace", "NULL");
    RUN_REFUSED(&f, t.workspace = block.data; t.workspace_bytes = size - 1, ATTN_ERROR_MEMORY, needed, given);
    RUN_REFUSED(&f, t.workspace = block.data; t.workspace_bytes = 0, ATTN_ERROR_MEMORY, needed, "0");
    f.tensors.workspace = block.data;
    f.tensors.workspace_bytes = size;
    assert_run_succeeds(&f, &f.tensors);
    test_block_free(&block);
    tear_down(&f);
}

/* A plan that has a workspace takes another one as well, at any address, and gives the same bits. */
static void any_workspace_gives_the_same_bits(void **state) {
    attn_problem problem = full_problem();
    fixture f = set_up(&problem, 0);
    test_output first = test_run_case(f.engine, f.source);
    size_t size = attn_plan_workspace(f.plan);
    (void)state;
    for (size_t slack = 0; slack < 5; slack++) {
        attn_reason reason = {"stale"};
        test_block block = test_block_make(size, slack % 2 ? TEST_BLOCK_AT_BEGIN : TEST_BLOCK_AT_END, slack);
        memset(block.data, 0xFF, block.size);
        f.tensors.workspace = block.data;
        f.tensors.workspace_bytes = size;
        test_assert_ok(attn_run(f.plan, &f.tensors, &reason), &reason);
        assert_true(test_output_same_bits(&f.output, &first));
        test_block_free(&block);
    }
    test_output_free(&first);
    tear_down(&f);
}

/* ---------------------------------------------------------------------------------------------------- nothing to do */

static void empty_problems_succeed_and_need_no_pointers(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2);
    attn_tensors tensors = ATTN_TENSORS_INIT;
    attn_reason reason = {"stale"};
    (void)state;
    for (int n = 0; n < 3; n++) {
        attn_problem problem = ATTN_PROBLEM_INIT;
        problem.batch = n == 0 ? 0 : 2;
        problem.heads_q = n == 1 ? 0 : 2;
        problem.seq_q = n == 2 ? 0 : 3;
        problem.seq_kv = 4;
        problem.dim = 8;
        tensors.k = tensors.v = n == 2 ? (const void *)&problem : NULL;
        float unused[2 * 2 * 4 * 8] = {0};
        if (n == 2) tensors.k = tensors.v = unused;
        test_assert_ok(test_run(engine, &problem, &tensors, &reason), &reason);
    }
    attn_engine_close(engine);
}

/* No keys at all: k and v may be NULL, and every row is 0, -inf. */
static void no_keys_give_zero(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2);
    attn_problem problem = ATTN_PROBLEM_INIT;
    attn_tensors tensors = ATTN_TENSORS_INIT;
    float q[3 * 8] = {1.0F};
    (void)state;
    problem.seq_q = 3;
    problem.dim = 8;
    problem.with = ATTN_WITH_LSE;
    tensors.q = q;
    test_output output = test_run_problem(engine, &problem, &tensors);
    for (int i = 0; i < 3; i++) {
        for (int d = 0; d < 8; d++) assert_true(test_tensor_get(&output.o, 0, 0, i, d) == 0.0);
        assert_true(test_tensor_get(&output.lse, 0, 0, i, 0) < -1e300);
    }
    test_output_free(&output);
    attn_engine_close(engine);
}

/* ---------------------------------------------------------------------------------------------------- one-call tier */

typedef attn_status one_call(int64_t batch, int64_t heads, int64_t seq, int64_t dim, int causal, const void *q,
                             const void *k, const void *v, void *o);

static attn_status call_f32(int64_t batch, int64_t heads, int64_t seq, int64_t dim, int causal, const void *q,
                            const void *k, const void *v, void *o) {
    return attn_sdpa_f32(batch, heads, seq, dim, causal, q, k, v, o);
}

static void check_one_call(one_call *call, attn_type type, int64_t seq, int causal) {
    attn_engine *oracle = test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 1);
    attn_problem problem = ATTN_PROBLEM_INIT;
    attn_reason reason = {""};
    problem.type = type;
    problem.batch = 2;
    problem.heads_q = 3;
    problem.seq_q = problem.seq_kv = seq;
    problem.dim = 24;
    if (causal) problem.window_right = ATTN_CAUSAL;
    test_recipe recipe = test_recipe_plain(&problem, 9);
    test_case *source = test_case_make(&recipe);
    test_output output = test_output_make(&problem);
    test_expected expected;
    test_assert_ok(test_expected_make(oracle, source, &expected, &reason), &reason);
    assert_int_equal(call(2, 3, seq, 24, causal, source->q.data, source->k.data, source->v.data, output.o.data),
                     ATTN_OK);
    assert_true(test_output_gaps_intact(&output));
    assert_true(test_compare(&expected, &output, ATTN_F32).ratio <= 1.0);
    test_expected_free(&expected);
    test_output_free(&output);
    test_case_free(source);
    attn_engine_close(oracle);
}

static void one_call_computes_attention(void **state) {
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        check_one_call(call_f32, ATTN_F32, 37, causal);
        check_one_call(attn_sdpa_f16, ATTN_F16, 37, causal);
        check_one_call(attn_sdpa_bf16, ATTN_BF16, 37, causal);
        check_one_call(call_f32, ATTN_F32, 300, causal); /* enough for several threads */
    }
}

static void check_one_call_refuses(one_call *call) {
    float q[64] = {0}, k[64] = {0}, v[64] = {0}, o[64], before[64];
    memset(o, 0x5A, sizeof o);
    memcpy(before, o, sizeof o);
    assert_int_equal(call(-1, 1, 4, 8, 0, q, k, v, o), ATTN_ERROR_SHAPE);
    assert_int_equal(call(1, -1, 4, 8, 0, q, k, v, o), ATTN_ERROR_SHAPE);
    assert_int_equal(call(1, 1, -4, 8, 0, q, k, v, o), ATTN_ERROR_SHAPE);
    assert_int_equal(call(1, 1, 4, 0, 0, q, k, v, o), ATTN_ERROR_SHAPE);
    assert_int_equal(call(1, 1, 4, 1025, 0, q, k, v, o), ATTN_ERROR_SHAPE);
    assert_int_equal(call(INT64_MAX, 2, 4, 8, 0, q, k, v, o), ATTN_ERROR_OVERFLOW);
    assert_int_equal(call(1, 1, INT64_MAX / 4, 8, 0, q, k, v, o), ATTN_ERROR_OVERFLOW);
    assert_int_equal(call(1, 1, 4, 8, 0, NULL, k, v, o), ATTN_ERROR_ARGUMENT);
    assert_int_equal(call(1, 1, 4, 8, 0, q, NULL, v, o), ATTN_ERROR_ARGUMENT);
    assert_int_equal(call(1, 1, 4, 8, 0, q, k, NULL, o), ATTN_ERROR_ARGUMENT);
    assert_int_equal(call(1, 1, 4, 8, 0, q, k, v, NULL), ATTN_ERROR_ARGUMENT);
    assert_int_equal(call(1, 1, 4, 8, 0, o, k, v, o), ATTN_ERROR_OVERLAP);
    assert_int_equal(call(1, 1, 4, 8, 0, q, k, (char *)o + 4, o), ATTN_ERROR_OVERLAP);
    assert_int_equal(call(0, 1, 4, 8, 0, NULL, NULL, NULL, NULL), ATTN_OK);
    assert_int_equal(call(1, 0, 4, 8, 1, NULL, NULL, NULL, NULL), ATTN_OK);
    assert_int_equal(call(1, 1, 0, 8, 0, NULL, NULL, NULL, NULL), ATTN_OK);
    assert_memory_equal(o, before, sizeof o);
}

static void one_call_refuses(void **state) {
    (void)state;
    check_one_call_refuses(call_f32);
    check_one_call_refuses(attn_sdpa_f16);
    check_one_call_refuses(attn_sdpa_bf16);
}

static void one_call_of_any_problem(void **state) {
    attn_problem problem = full_problem();
    fixture f = set_up(&problem, 0);
    test_output planned = test_run_case(f.engine, f.source);
    attn_reason reason = {"stale"};
    (void)state;
    test_assert_refused(attn_sdpa(NULL, &f.tensors, &reason), ATTN_ERROR_ARGUMENT, &reason, "problem", "NULL");
    test_assert_refused(attn_sdpa(&problem, NULL, &reason), ATTN_ERROR_ARGUMENT, &reason, "tensors", "NULL");
    assert_int_equal(attn_sdpa(NULL, NULL, NULL), ATTN_ERROR_ARGUMENT);
    attn_tensors tensors = f.tensors;
    tensors.v = NULL;
    test_assert_refused(attn_sdpa(&problem, &tensors, &reason), ATTN_ERROR_ARGUMENT, &reason, "v ", "NULL");
    problem.heads_kv = 3;
    test_assert_refused(attn_sdpa(&problem, &f.tensors, &reason), ATTN_ERROR_SHAPE, &reason, "4", "3");
    problem.heads_kv = 2;
    assert_true(test_output_untouched(&f.output));
    test_assert_ok(attn_sdpa(&problem, &f.tensors, &reason), &reason);
    assert_true(test_output_same_bits(&f.output, &planned));
    test_output_free(&planned);
    tear_down(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nulls_are_refused),
        cmocka_unit_test(pointers_that_the_problem_does_not_name_are_refused),
        cmocka_unit_test(overlapping_tensors_are_refused),
        cmocka_unit_test(slices_of_one_buffer_run),
        cmocka_unit_test(lengths_out_of_range_are_refused),
        cmocka_unit_test(cumulative_lengths_that_do_not_fit_are_refused),
        cmocka_unit_test(lengths_past_a_packed_sequence_are_refused),
        cmocka_unit_test(packed_rows_have_to_fit_bias_and_mask),
        cmocka_unit_test(own_workspace_has_to_be_large_enough),
        cmocka_unit_test(any_workspace_gives_the_same_bits),
        cmocka_unit_test(empty_problems_succeed_and_need_no_pointers),
        cmocka_unit_test(no_keys_give_zero),
        cmocka_unit_test(one_call_computes_attention),
        cmocka_unit_test(one_call_refuses),
        cmocka_unit_test(one_call_of_any_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
