/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout: which weights are kept is a function of seed, offset and place alone, and is Philox 4x32-10's. */
#include "support/cmocka_all.h"
#include "support/engine.h"
#include "support/philox.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, HEADS = 3, ROWS = 40, KEYS = 129 };

static attn_problem dropout_problem(double p) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.batch = BATCH;
    problem.heads_q = HEADS;
    problem.heads_kv = 1;
    problem.seq_q = ROWS;
    problem.seq_kv = KEYS;
    problem.dim = 8;
    problem.dim_v = KEYS;
    problem.scale = 0.0;
    problem.dropout_p = p;
    problem.with = ATTN_WITH_LSE;
    return problem;
}

/* Equal weights and the identity matrix in V: column j of o is 1 / (n (1 - p)) where key j is kept, else 0. */
static test_case *decision_case(double p, uint64_t seed, uint64_t offset) {
    attn_problem problem = dropout_problem(p);
    test_recipe recipe = test_recipe_plain(&problem, 21);
    test_case *made = test_case_make(&recipe);
    for (int64_t b = 0; b < BATCH; b++) {
        for (int64_t j = 0; j < KEYS; j++) {
            for (int64_t d = 0; d < KEYS; d++) test_tensor_set(&made->v, b, 0, j, d, d == j ? 1.0 : 0.0);
        }
    }
    made->tensors.dropout_seed = seed;
    made->tensors.dropout_offset = offset;
    return made;
}

static attn_engine *engine_number(int number) {
    uint32_t cpu = test_next_cpu(0);
    if (number == 0) return test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 1);
    for (int n = 1; n < number && cpu; n++) cpu = test_next_cpu(cpu);
    return cpu ? test_engine_open(ATTN_ENGINE_CPU, cpu, number % 2 ? 3 : 1) : NULL;
}

/* The known answers that came with the paper's implementation. */
static void philox_known_answers(void **state) {
    static const uint32_t zeros[4] = {0, 0, 0, 0}, ones[4] = {~0U, ~0U, ~0U, ~0U};
    static const uint32_t digits[4] = {0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344},
                          key[2] = {0xA4093822, 0x299F31D0};
    static const uint32_t of_zeros[4] = {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8};
    static const uint32_t of_ones[4] = {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD};
    static const uint32_t of_digits[4] = {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1};
    uint32_t out[4];
    (void)state;
    test_philox(zeros, zeros, out);
    assert_memory_equal(out, of_zeros, sizeof out);
    test_philox(ones, ones, out);
    assert_memory_equal(out, of_ones, sizeof out);
    test_philox(digits, key, out);
    assert_memory_equal(out, of_digits, sizeof out);
}

static void assert_decisions(const test_output *output, double p, uint64_t seed, uint64_t offset) {
    for (int64_t row = 0; row < BATCH * HEADS * ROWS; row++) {
        int64_t i = row % ROWS, h = row / ROWS % HEADS, b = row / ROWS / HEADS;
        for (int64_t j = 0; j < KEYS; j++) {
            double weight = test_tensor_get(&output->o, b, h, i, j);
            if (test_dropout_keeps(p, seed, offset, b, HEADS, h, i, j)) {
                assert_true(fabs(weight * KEYS * (1.0 - p) - 1.0) < 1e-5);
            } else {
                assert_true(weight == 0.0);
            }
        }
    }
}

/* Every engine, weight by weight; both halves of seed and offset matter. */
static void each_decision_is_philox(void **state) {
    static const double ps[] = {0.1, 0.5, 0.999};
    static const uint64_t seeds[][2] = {
        {0, 0}, {1, 0}, {UINT64_C(1) << 32, 0}, {7, UINT64_C(0x100000003)}, {~UINT64_C(0), 9}};
    attn_engine *engine;
    (void)state;
    for (int number = 0; (engine = engine_number(number)) != NULL; number++) {
        for (int n = 0; n < 5; n++) {
            double p = ps[n % 3];
            test_case *source = decision_case(p, seeds[n][0], seeds[n][1]);
            test_output output = test_run_case(engine, source);
            assert_decisions(&output, p, seeds[n][0], seeds[n][1]);
            test_output_free(&output);
            test_case_free(source);
        }
        attn_engine_close(engine);
    }
}

/* Of a million decisions, 1 - p are kept: within five standard deviations. */
static void the_kept_fraction_is_one_minus_p(void **state) {
    static const double ps[] = {0.05, 0.3, 0.5, 0.9};
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2);
    (void)state;
    for (int n = 0; n < 4; n++) {
        double kept = 0, count = 0;
        for (uint64_t seed = 0; seed < 8; seed++) {
            test_case *source = decision_case(ps[n], seed, seed * 3);
            test_output output = test_run_case(engine, source);
            for (int64_t at = 0; at < test_tensor_count(&output.o); at++) kept += ((float *)output.o.data)[at] > 0.0F;
            count += (double)test_tensor_count(&output.o);
            test_output_free(&output);
            test_case_free(source);
        }
        assert_true(fabs(kept / count - (1.0 - ps[n])) < 5.0 * sqrt(ps[n] * (1.0 - ps[n]) / count));
    }
    attn_engine_close(engine);
}

/* Over many seeds the mean of o is o without dropout. */
static void the_mean_over_seeds_is_the_result_without(void **state) {
    enum { SEEDS = 400 };
    attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, ATTN_CPU_ANY, 2);
    attn_problem problem = dropout_problem(0.0);
    (void)state;
    problem.scale = ATTN_SCALE_DEFAULT;
    problem.dim_v = 4;
    problem.seq_q = 5;
    test_recipe recipe = test_recipe_plain(&problem, 22);
    test_case *source = test_case_make(&recipe);
    test_output without = test_run_case(engine, source);
    double sums[BATCH * HEADS * 5 * 4] = {0}, squares[BATCH * HEADS * 5 * 4] = {0};
    source->problem.dropout_p = 0.4;
    for (int seed = 0; seed < SEEDS; seed++) {
        source->tensors.dropout_seed = (uint64_t)seed;
        test_output output = test_run_case(engine, source);
        for (int n = 0; n < BATCH * HEADS * 5 * 4; n++) {
            double o = (double)((float *)output.o.data)[n];
            sums[n] += o;
            squares[n] += o * o;
        }
        test_output_free(&output);
    }
    for (int n = 0; n < BATCH * HEADS * 5 * 4; n++) {
        double mean = sums[n] / SEEDS, variance = squares[n] / SEEDS - mean * mean;
        assert_true(variance > 0);
        assert_true(fabs(mean - (double)((float *)without.o.data)[n]) < 5.0 * sqrt(variance / SEEDS));
    }
    test_output_free(&without);
    test_case_free(source);
    attn_engine_close(engine);
}

/* lse, bit for bit, is that without dropout; and dropout with p = 0 is none. */
static void lse_is_that_without_dropout(void **state) {
    attn_engine *engine;
    (void)state;
    for (int number = 0; (engine = engine_number(number)) != NULL; number++) {
        test_recipe recipe;
        attn_problem problem = dropout_problem(0.5);
        problem.scale = 0.3;
        recipe = test_recipe_plain(&problem, 23);
        test_case *source = test_case_make(&recipe);
        test_output with = test_run_case(engine, source);
        source->problem.dropout_p = 0.0;
        test_output without = test_run_case(engine, source);
        assert_int_equal(with.lse.block.size, without.lse.block.size);
        assert_memory_equal(with.lse.block.data, without.lse.block.data, with.lse.block.size);
        assert_false(test_output_same_bits(&with, &without));
        source->tensors.dropout_seed += 1;
        test_output other_seed = test_run_case(engine, source);
        assert_true(test_output_same_bits(&without, &other_seed));
        test_output_free(&other_seed);
        test_output_free(&without);
        test_output_free(&with);
        test_case_free(source);
        attn_engine_close(engine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(each_decision_is_philox),
        cmocka_unit_test(the_kept_fraction_is_one_minus_p),
        cmocka_unit_test(the_mean_over_seeds_is_the_result_without),
        cmocka_unit_test(lse_is_that_without_dropout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
