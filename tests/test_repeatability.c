/* SPDX-License-Identifier: Apache-2.0 */
/* The same bits: for any number of threads, every run, whatever other batch entries hold; and, where a problem asks for
 * it, whatever else shares the call. */
#include "support/cmocka_all.h"
#include "support/effort.h"
#include "support/engine.h"

#include <stdio.h>
#include <stdlib.h>

static test_case *make_case(const attn_problem *problem, uint64_t seed) {
    test_recipe recipe = test_recipe_plain(problem, seed);
    return test_case_make(&recipe);
}

static void assert_bits(const test_output *a, const test_output *b, const char *what, uint64_t index) {
    if (!test_output_same_bits(a, b)) fail_msg("other bits: %s, recipe %d", what, (int)index);
}

/* ------------------------------------------------------------------------------------------------- threads and runs */

/* Long decode, squares, and what the grid draws. */
static test_recipe recipe_number(uint64_t index) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    if (index >= 4) return test_recipe_random(515, index);
    problem.type = index % 2 ? ATTN_F16 : ATTN_F32;
    problem.heads_q = index < 2 ? 5 : 3;
    problem.heads_kv = 1;
    problem.seq_q = index < 2 ? 1 : 230;
    problem.seq_kv = index < 2 ? 9000 : 310;
    problem.dim = 64;
    problem.with = ATTN_WITH_LSE;
    return test_recipe_plain(&problem, 40 + index);
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
    static const int threads[] = {1, 2, 3, 5};
    (void)state;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engines[4];
        for (int n = 0; n < 4; n++) engines[n] = test_engine_open(ATTN_ENGINE_CPU, cpu, threads[n]);
        for (uint64_t index = 0; index < (test_is_short() ? 16 : 80); index++) {
            test_recipe recipe = recipe_number(index);
            test_case *source = test_case_make(&recipe);
            test_output first = test_run_case(engines[0], source);
            for (int n = 0; n < 4; n++) {
                test_output other = test_run_case(engines[n], source);
                assert_bits(&first, &other, "threads", index);
                test_output_free(&other);
            }
            test_output_free(&first);
            test_case_free(source);
        }
        for (int n = 0; n < 4; n++) attn_engine_close(engines[n]);
    }
}

static void every_run_of_a_plan_gives_the_same_bits(void **state) {
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 3);
    (void)state;
    for (uint64_t index = 0; index < (test_is_short() ? 4 : 8); index++) {
        test_recipe recipe = recipe_number(index);
        test_case *source = test_case_make(&recipe);
        test_output first = test_run_case(engine, source), again = test_output_make(&source->problem);
        attn_tensors tensors = test_tensors_with(source, &again);
        attn_plan *plan = NULL;
        assert_int_equal(attn_plan_create(engine, &source->problem, 0, &plan, NULL), ATTN_OK);
        for (int run = 0; run < (test_is_short() ? 4 : 20); run++) {
            assert_int_equal(attn_run(plan, &tensors, NULL), ATTN_OK);
            assert_bits(&first, &again, "run", index);
            test_output_poison(&again);
        }
        attn_plan_destroy(plan);
        test_output_free(&again);
        test_output_free(&first);
        test_case_free(source);
    }
    attn_engine_close(engine);
}

/* A plan run with short lengths, then long ones, then the short ones again: nothing stays from one run to the next. */
static void a_plan_keeps_nothing_between_runs(void **state) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    int32_t lengths[2];
    (void)state;
    problem.batch = 2;
    problem.heads_q = 4;
    problem.heads_kv = 2;
    problem.seq_q = 3;
    problem.seq_kv = 2000;
    problem.dim = 32;
    problem.with = ATTN_WITH_LSE | ATTN_WITH_KV_LENS;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 3);
        test_case *source = make_case(&problem, 50);
        test_output outputs[3];
        attn_plan *plan = NULL;
        assert_int_equal(attn_plan_create(engine, &problem, 0, &plan, NULL), ATTN_OK);
        for (int run = 0; run < 3; run++) {
            outputs[run] = test_output_make(&problem);
            attn_tensors tensors = test_tensors_with(source, &outputs[run]);
            lengths[0] = run == 1 ? 2000 : 70;
            lengths[1] = run == 1 ? 1 : 1111;
            tensors.kv_lens = lengths;
            assert_int_equal(attn_run(plan, &tensors, NULL), ATTN_OK);
        }
        assert_true(test_output_same_bits(&outputs[0], &outputs[2]));
        assert_false(test_output_same_bits(&outputs[0], &outputs[1]));
        for (int run = 0; run < 3; run++) test_output_free(&outputs[run]);
        attn_plan_destroy(plan);
        test_case_free(source);
        attn_engine_close(engine);
    }
}

/* ---------------------------------------------------------------------------------------------------- batch entries */

static void batch_entries_are_independent(void **state) {
    (void)state;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 3);
        for (int64_t rows = 1; rows <= 90; rows += 89) {
            attn_problem problem = ATTN_PROBLEM_INIT;
            problem.batch = 3;
            problem.heads_q = 4;
            problem.heads_kv = 2;
            problem.seq_q = rows;
            problem.seq_kv = 400;
            problem.dim = 24;
            problem.with = ATTN_WITH_LSE;
            test_case *source = make_case(&problem, 60), *other = make_case(&problem, 60);
            for (int64_t n = 0; n < 2 * 400 * 24; n++) {
                int64_t at = 2 * 400 * 24 + n; /* entry 1 */
                ((float *)other->k.data)[at] *= -3.0F;
                ((float *)other->v.data)[at] = n % 3 ? 1e30F : -1e30F;
            }
            test_output a = test_run_case(engine, source), b = test_run_case(engine, other);
            for (int64_t row = 0; row < 4 * rows; row++) {
                assert_true(test_row_same_bits(&a, 0, row / rows, row % rows, &b, 0, row / rows, row % rows));
                assert_false(test_row_same_bits(&a, 1, row / rows, row % rows, &b, 1, row / rows, row % rows));
                assert_true(test_row_same_bits(&a, 2, row / rows, row % rows, &b, 2, row / rows, row % rows));
            }
            test_output_free(&a);
            test_output_free(&b);
            test_case_free(source);
            test_case_free(other);
        }
        attn_engine_close(engine);
    }
}

/* ------------------------------------------------------------------------------------------------- batch invariance */

/* Rows of one batch entry of a larger problem. */
typedef struct excerpt {
    int64_t b, first_row, rows;
    int64_t keys; /* room for keys: the entry's own length or more */
} excerpt;

/* The problem of these rows alone, in place: the same heads, the same positions, nothing else in the batch. */
static test_output run_alone(attn_engine *engine, const test_case *source, const excerpt *part) {
    attn_problem problem = source->problem;
    attn_tensors tensors = source->tensors;
    const test_sequence *s = &source->sequences[part->b];
    const int64_t size = (int64_t)attn_type_size(problem.type);
    problem.batch = 1;
    problem.seq_q = part->rows;
    problem.seq_kv = part->keys;
    problem.with &= ~(ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS | ATTN_WITH_Q_OFFSETS);
    problem.q_offset = s->q_offset + part->first_row;
    memcpy(problem.q_strides, source->q.strides, sizeof problem.q_strides);
    memcpy(problem.k_strides, source->k.strides, sizeof problem.k_strides);
    memcpy(problem.v_strides, source->v.strides, sizeof problem.v_strides);
    memset(problem.o_strides, 0, sizeof problem.o_strides);
    memset(problem.lse_strides, 0, sizeof problem.lse_strides);
    tensors.q_lens = tensors.kv_lens = tensors.q_offsets = NULL;
    tensors.q = (const char *)tensors.q + test_tensor_offset(&source->q, part->b, 0, part->first_row, 0) * size;
    tensors.k = (const char *)tensors.k + test_tensor_offset(&source->k, part->b, 0, 0, 0) * size;
    tensors.v = (const char *)tensors.v + test_tensor_offset(&source->v, part->b, 0, 0, 0) * size;
    int32_t length = (int32_t)s->kv_len;
    if (part->keys > s->kv_len) {
        problem.with |= ATTN_WITH_KV_LENS;
        problem.length_type = ATTN_I32;
        tensors.kv_lens = &length;
    }
    if (problem.bias.type) {
        const test_tensor *bias = &source->bias;
        tensors.bias =
            (const char *)tensors.bias + part->first_row * bias->strides[2] * (int64_t)attn_type_size(bias->type);
        problem.bias.shape[2] = part->rows;
        problem.bias.shape[3] = part->keys < bias->shape[3] ? part->keys : bias->shape[3];
        memcpy(problem.bias.strides, bias->strides, sizeof problem.bias.strides);
    }
    return test_run_problem(engine, &problem, &tensors);
}

static void assert_part_has_the_bits(attn_engine *engine, const test_case *source, const test_output *whole,
                                     const excerpt *part) {
    test_output alone = run_alone(engine, source, part);
    for (int64_t h = 0; h < source->problem.heads_q; h++) {
        for (int64_t i = 0; i < part->rows; i++) {
            if (test_row_same_bits(whole, part->b, h, part->first_row + i, &alone, 0, h, i)) continue;
            fail_msg("%s, %d rows of %d: row %d of entry %d has other bits than alone",
                     attn_type_name(source->problem.type), (int)part->rows, (int)source->problem.seq_q,
                     (int)(part->first_row + i), (int)part->b);
        }
    }
    test_output_free(&alone);
}

static attn_problem invariant_problem(int number) {
    static const attn_type types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64};
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.type = types[number % 4];
    problem.batch = 3;
    problem.heads_q = 6;
    problem.heads_kv = number % 2 ? 2 : 3;
    problem.seq_q = number < 4 ? 150 : 9;
    problem.seq_kv = number < 4 ? 260 : 1300;
    problem.dim = 40;
    problem.dim_v = 48;
    problem.with = ATTN_WITH_LSE | ATTN_WITH_BATCH_INVARIANCE | ATTN_WITH_KV_LENS;
    if (number % 3 == 0) problem.window_right = ATTN_CAUSAL;
    if (number % 3 == 1) problem.window_left = 100;
    if (number % 3 == 1) problem.with |= ATTN_WITH_SINKS | ATTN_WITH_ALIBI;
    if (number % 4 == 2) problem.bias = (attn_view){ATTN_F32, {1, 6, problem.seq_q, problem.seq_kv}, {0, 0, 0, 0}};
    return problem;
}

/* Alone, with few others, with many, and with more room behind the keys. */
static void check_invariance(attn_engine *engine, attn_engine *other_threads, int number) {
    attn_problem problem = invariant_problem(number);
    test_recipe recipe = test_recipe_plain(&problem, 70 + (uint64_t)number);
    recipe.full_lengths_percent = 30;
    test_case *source = test_case_make(&recipe);
    test_output whole = test_run_case(engine, source);
    for (int64_t b = 0; b < problem.batch; b++) {
        int64_t kv_len = source->sequences[b].kv_len, rows = problem.seq_q;
        const excerpt parts[] = {{b, rows / 3, 1, kv_len},    {b, rows - 1, 1, problem.seq_kv}, {b, 0, 2, kv_len},
                                 {b, 1, rows / 2, kv_len},    {b, 3, 5, problem.seq_kv},        {b, 0, rows, kv_len},
                                 {b, 0, rows, problem.seq_kv}};
        for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) {
            assert_part_has_the_bits(engine, source, &whole, &parts[n]);
            assert_part_has_the_bits(other_threads, source, &whole, &parts[n]);
        }
    }
    test_output_free(&whole);
    test_case_free(source);
}

static void a_row_has_the_bits_it_has_alone(void **state) {
    (void)state;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 3),
                    *alone = test_engine_open(ATTN_ENGINE_CPU, cpu, 1);
        for (int number = 0; number < 8; number += test_is_short() ? 3 : 1) check_invariance(engine, alone, number);
        attn_engine_close(alone);
        attn_engine_close(engine);
    }
}

/* The sequences of a packed batch, each as a packed batch of one. */
static void check_packed_invariance(attn_engine *engine, attn_type type) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.type = type;
    problem.batch = 4;
    problem.heads_q = 4;
    problem.heads_kv = 2;
    problem.seq_q = problem.seq_kv = 400;
    problem.dim = 32;
    problem.window_right = ATTN_CAUSAL;
    problem.with = ATTN_WITH_LSE | ATTN_WITH_BATCH_INVARIANCE | ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV;
    test_case *source = make_case(&problem, 80);
    test_output whole = test_run_case(engine, source);
    for (int64_t b = 0; b < 4; b++) {
        const test_sequence *s = &source->sequences[b];
        const int32_t rows[2] = {0, (int32_t)s->rows}, keys[2] = {0, (int32_t)s->keys};
        const int64_t size = (int64_t)attn_type_size(type);
        attn_problem alone = problem;
        attn_tensors tensors = source->tensors;
        alone.batch = 1;
        alone.seq_q = s->rows;
        alone.seq_kv = s->keys;
        tensors.q = (const char *)tensors.q + s->row0 * source->q.strides[2] * size;
        tensors.k = (const char *)tensors.k + s->key0 * source->k.strides[2] * size;
        tensors.v = (const char *)tensors.v + s->key0 * source->v.strides[2] * size;
        tensors.cu_seqlens_q = rows;
        tensors.cu_seqlens_kv = keys;
        test_output output = test_run_problem(engine, &alone, &tensors);
        for (int64_t n = 0; n < 4 * s->rows; n++) {
            int64_t h = n / s->rows, i = n % s->rows;
            assert_true(test_row_same_bits(&whole, 0, h, s->row0 + i, &output, 0, h, i));
        }
        test_output_free(&output);
    }
    test_output_free(&whole);
    test_case_free(source);
}

static void a_packed_sequence_has_the_bits_it_has_alone(void **state) {
    (void)state;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 3);
        check_packed_invariance(engine, ATTN_F32);
        check_packed_invariance(engine, ATTN_BF16);
        attn_engine_close(engine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(every_run_of_a_plan_gives_the_same_bits),
        cmocka_unit_test(a_plan_keeps_nothing_between_runs),
        cmocka_unit_test(batch_entries_are_independent),
        cmocka_unit_test(a_row_has_the_bits_it_has_alone),
        cmocka_unit_test(a_packed_sequence_has_the_bits_it_has_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
