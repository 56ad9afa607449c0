/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exclusion is exact: what a row may not see changes no bit of it, NaN included; what it does see reaches it, NaN
 * included; and no logit, however low, is taken for an excluded one.
 */
#include "support/cmocka_all.h"
#include "support/compare.h"
#include "support/effort.h"
#include "support/element.h"
#include "support/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Calls check with an engine of each instruction set, and the oracle. */
static void for_all_engines(void (*check)(attn_engine *engine)) {
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 2);
        check(engine);
        attn_engine_close(engine);
    }
    attn_engine *oracle = test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 1);
    check(oracle);
    attn_engine_close(oracle);
}

static test_case *make_case(const attn_problem *problem, uint64_t seed) {
    test_recipe recipe = test_recipe_plain(problem, seed);
    return test_case_make(&recipe);
}

/* Random problems of the grid that are small enough to ask every pair. */
static int small_recipe(uint64_t index, test_recipe *recipe) {
    *recipe = test_recipe_random(4242, index);
    const attn_problem *p = &recipe->problem;
    double pairs = (double)p->batch * (double)p->heads_q * (double)p->seq_q * (double)p->seq_kv;
    recipe->problem.dropout_p = 0; /* whether a dropped key counts as used is nobody's promise */
    return pairs > 0 && pairs < 30000;
}

/* ---------------------------------------------------------------------------------------------- garbage is not used */

/* The same numbers among garbage of another kind are the same bits. */
static void check_garbage(attn_engine *engine) {
    int compared = 0;
    uint64_t count = test_is_short() ? 30 : 150;
    for (uint64_t index = 0; index < count; index++) {
        test_recipe recipe;
        if (!small_recipe(index, &recipe)) continue;
        recipe.garbage = TEST_GARBAGE_NAN;
        test_case *source = test_case_make(&recipe);
        test_output expected = test_run_case(engine, source);
        for (int garbage = TEST_GARBAGE_INFINITY; garbage <= TEST_GARBAGE_MIXED; garbage++) {
            recipe.garbage = (test_garbage)garbage;
            test_case *other = test_case_make(&recipe);
            test_output output = test_run_case(engine, other);
            if (!test_output_same_bits(&output, &expected))
                fail_msg("recipe 4242, %d: garbage %d", (int)index, garbage);
            test_output_free(&output);
            test_case_free(other);
            compared++;
        }
        test_output_free(&expected);
        test_case_free(source);
    }
    assert_true(compared > (int)count / 2);
}

static void garbage_changes_no_bit(void **state) {
    (void)state;
    for_all_engines(check_garbage);
}

/* NaN in K, V and bias under the mask, where other rows of the same tiles see other keys. */
static void check_garbage_under_mask(attn_engine *engine) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.heads_q = 2;
    problem.seq_q = 70;
    problem.seq_kv = 330;
    problem.dim = 24;
    problem.with = ATTN_WITH_LSE;
    problem.mask = (attn_view){ATTN_BOOL, {1, 1, 70, 330}, {0, 0, 0, 0}};
    problem.bias = (attn_view){ATTN_F32, {1, 1, 70, 330}, {0, 0, 0, 0}};
    test_case *source = make_case(&problem, 8);
    for (int64_t j = 0; j < 330; j += j % 2 ? 6 : 1) { /* some keys that no row sees, alone and in pairs */
        for (int64_t i = 0; i < 70; i++) test_tensor_set(&source->mask, 0, 0, i, j, 0.0);
    }
    test_output expected = test_run_case(engine, source);
    for (int64_t j = 0; j < 330; j++) {
        int seen = 0;
        for (int64_t i = 0; i < 70; i++) {
            int visible = test_may_see(source, 0, 0, i, j);
            if (!visible) test_tensor_set(&source->bias, 0, 0, i, j, (double)NAN);
            seen |= visible;
        }
        for (int64_t d = 0; d < 24 && !seen; d++) {
            for (int64_t h = 0; h < 2; h++) {
                test_tensor_set(&source->k, 0, h, j, d, (double)NAN);
                test_tensor_set(&source->v, 0, h, j, d, d % 2 ? (double)NAN : (double)INFINITY);
            }
        }
    }
    test_output output = test_run_case(engine, source);
    assert_true(test_output_same_bits(&output, &expected));
    test_output_free(&output);
    test_output_free(&expected);
    test_case_free(source);
}

static void garbage_under_the_mask_changes_no_bit(void **state) {
    (void)state;
    for_all_engines(check_garbage_under_mask);
}

/* ----------------------------------------------------------------------------------------- what is used is not lost */

/* Sees the key, in whichever batch entry and head the element of K or V belongs to. */
static int sees(const test_case *source, const int64_t at[3], int64_t b, int64_t h, int64_t i) {
    const test_sequence *s = &source->sequences[b];
    int64_t group = source->problem.heads_q / source->problem.heads_kv;
    if (s->batch_kv != at[0] || h / group != at[1]) return 0;
    int64_t j = at[2] - s->key0;
    return j >= 0 && j < s->keys && test_may_see(source, b, h, i, j);
}

static int row_is_finite(const test_output *output, int64_t b, int64_t h, int64_t row) {
    for (int64_t d = 0; d < output->o.shape[3]; d++) {
        if (!isfinite(test_tensor_get(&output->o, b, h, row, d))) return 0;
    }
    return 1;
}

/* After a NaN or Inf went into key `at`: rows that see it show it in all of o; every other row has its bits from
 * before. */
static void assert_reach(const test_case *source, const int64_t at[3], const test_output *before,
                         const test_output *after, uint64_t index) {
    for (int64_t b = 0; b < source->problem.batch; b++) {
        const test_sequence *s = &source->sequences[b];
        for (int64_t h = 0; h < source->problem.heads_q; h++) {
            for (int64_t i = 0; i < s->rows; i++) {
                int64_t row = s->row0 + i;
                int reached = sees(source, at, b, h, i);
                int good = reached ? !row_is_finite(after, s->batch_q, h, row)
                                   : test_row_same_bits(before, s->batch_q, h, row, after, s->batch_q, h, row);
                if (good) continue;
                fail_msg("recipe 4242, %d: row %d of head %d of entry %d %s", (int)index, (int)i, (int)h, (int)b,
                         reached ? "does not show what it uses" : "shows what it does not use");
            }
        }
    }
}

static void put(test_tensor *tensor, const int64_t at[3], double value) {
    for (int64_t d = 0; d < tensor->shape[3]; d++) test_tensor_set(tensor, at[0], at[1], at[2], d, value);
}

/* The problem with plain strides: in a broadcast tensor one key is many. */
static test_case *reach_case(const test_recipe *recipe) {
    test_case *random = test_case_make(recipe);
    test_case *source = test_case_convert(random, recipe->problem.type);
    test_case_free(random);
    return source;
}

static void check_reach(attn_engine *engine) {
    int compared = 0;
    uint64_t count = test_is_short() ? 40 : 220;
    for (uint64_t index = 0; index < count; index++) {
        test_recipe recipe;
        if (!small_recipe(index, &recipe)) continue;
        test_prng prng = test_prng_make(index, 99);
        test_case *source = reach_case(&recipe);
        test_output before = test_run_case(engine, source);
        const int64_t at[3] = {test_prng_range(&prng, 0, source->v.shape[0] - 1),
                               test_prng_range(&prng, 0, source->v.shape[1] - 1),
                               test_prng_range(&prng, 0, source->v.shape[2] - 1)};
        if (index % 3 == 0)
            put(&source->k, at, (double)NAN);
        else
            put(&source->v, at, index % 3 == 1 ? (double)NAN : (double)INFINITY);
        test_output after = test_run_case(engine, source);
        assert_reach(source, at, &before, &after, index);
        test_output_free(&after);
        test_output_free(&before);
        test_case_free(source);
        compared++;
    }
    assert_true(compared > (int)count / 4);
}

static void nan_and_infinity_reach_the_rows_that_use_them(void **state) {
    (void)state;
    for_all_engines(check_reach);
}

/* A NaN in one query row stays there. */
static void check_nan_query(attn_engine *engine) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.heads_q = 6;
    problem.heads_kv = 2;
    problem.seq_q = 37;
    problem.seq_kv = 290;
    problem.dim = 40;
    problem.with = ATTN_WITH_LSE;
    problem.window_right = ATTN_CAUSAL;
    test_case *source = make_case(&problem, 12);
    test_output before = test_run_case(engine, source);
    test_tensor_set(&source->q, 0, 3, 11, 39, (double)NAN);
    test_output after = test_run_case(engine, source);
    for (int64_t h = 0; h < 6; h++) {
        for (int64_t i = 0; i < 37; i++) {
            if (h == 3 && i == 11) {
                for (int64_t d = 0; d < 40; d++) assert_true(isnan(test_tensor_get(&after.o, 0, h, i, d)));
                assert_true(isnan(test_tensor_get(&after.lse, 0, h, i, 0)));
            } else {
                assert_true(test_row_same_bits(&before, 0, h, i, &after, 0, h, i));
            }
        }
    }
    test_output_free(&after);
    test_output_free(&before);
    test_case_free(source);
}

static void nan_in_a_query_stays_in_its_row(void **state) {
    (void)state;
    for_all_engines(check_nan_query);
}

/* A NaN in the bias of a pair that is seen is used as well. */
static void check_nan_bias(attn_engine *engine) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.seq_q = 20;
    problem.seq_kv = 50;
    problem.dim = 8;
    problem.bias = (attn_view){ATTN_F32, {1, 1, 20, 50}, {0, 0, 0, 0}};
    test_case *source = make_case(&problem, 13);
    test_tensor_set(&source->bias, 0, 0, 7, 31, (double)NAN);
    test_output output = test_run_case(engine, source);
    for (int64_t i = 0; i < 20; i++) assert_int_equal(row_is_finite(&output, 0, 0, i), i != 7);
    test_output_free(&output);
    test_case_free(source);
}

static void nan_in_a_bias_reaches_its_row(void **state) {
    (void)state;
    for_all_engines(check_nan_bias);
}

/* --------------------------------------------------------------------------------------------------- extreme logits */

/* All logits of every row are the same number, by scale 0 and a bias: the mean of V, and lse that number + log n. */
static void check_level(attn_engine *engine, attn_type type, int64_t rows, int64_t keys, double level) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.type = type;
    problem.seq_q = rows;
    problem.seq_kv = keys;
    problem.dim = 16;
    problem.scale = 0.0;
    problem.with = ATTN_WITH_LSE;
    problem.bias = (attn_view){ATTN_F32, {1, 1, 1, 1}, {0, 0, 0, 0}};
    test_case *source = make_case(&problem, 14);
    test_tensor_set(&source->bias, 0, 0, 0, 0, level);
    test_output output = test_run_case(engine, source);
    for (int64_t d = 0; d < 16; d++) {
        double sum = 0;
        for (int64_t j = 0; j < keys; j++) sum += test_tensor_get(&source->v, 0, 0, j, d);
        double mean = sum / (double)keys;
        for (int64_t i = 0; i < rows; i++) {
            double got = test_tensor_get(&output.o, 0, 0, i, d);
            if (!(fabs(got - mean) <= 0x1p-20 + test_unit_roundoff(type) * fabs(mean))) {
                fail_msg("%s, %d keys at %g: o is %g, not %g", attn_type_name(type), (int)keys, level, got, mean);
            }
        }
    }
    double lse = level + log((double)keys);
    assert_true(fabs(test_tensor_get(&output.lse, 0, 0, 0, 0) - lse) <= 0x1p-20 * (1.0 + fabs(lse)));
    test_output_free(&output);
    test_case_free(source);
}

static void check_levels(attn_engine *engine) {
    static const double levels[] = {0.0, -17.0, -88.0, -104.0, -1e4, -5e4, -1e5, -1e30, -3e38, 1e5, 3e38};
    static const int64_t keys[] = {1, 17, 100, 257, 1500};
    for (size_t n = 0; n < sizeof levels / sizeof *levels; n++) {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            if (test_is_short() && (n + k) % 4 != 0) continue;
            check_level(engine, ATTN_F32, 5, keys[k], levels[n]);
            check_level(engine, ATTN_F16, 1, keys[k], levels[n]);
            check_level(engine, ATTN_BF16, 40, keys[k], levels[n]);
            check_level(engine, ATTN_F64, 3, keys[k], levels[n]);
        }
    }
}

static void rows_of_equal_logits_at_any_level(void **state) {
    (void)state;
    for_all_engines(check_levels);
}

/* One key far above the rest, wherever it stands among tiles: its value alone, bit for bit. */
static void check_winner(attn_engine *engine, int64_t rows, int64_t winner, double low, double high) {
    enum { KEYS = 600 };
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.seq_q = rows;
    problem.seq_kv = KEYS;
    problem.dim = 8;
    problem.with = ATTN_WITH_LSE;
    problem.bias = (attn_view){ATTN_F32, {1, 1, 1, KEYS}, {0, 0, 0, 0}};
    test_case *source = make_case(&problem, 15);
    for (int64_t j = 0; j < KEYS; j++) test_tensor_set(&source->bias, 0, 0, 0, j, j == winner ? high : low);
    test_output output = test_run_case(engine, source);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t d = 0; d < 8; d++) {
            double v = test_tensor_get(&source->v, 0, 0, winner, d);
            assert_true(fabs(test_tensor_get(&output.o, 0, 0, i, d) - v) <= 0x1p-22 * fabs(v));
        }
        double lse = test_tensor_get(&output.lse, 0, 0, i, 0);
        assert_true(fabs(lse - high) <= 10.0 + 0x1p-20 * fabs(high)); /* the dot product is within 10 */
    }
    test_output_free(&output);
    test_case_free(source);
}

static void check_winners(attn_engine *engine) {
    static const double pairs[][2] = {{-3e38, 0.0}, {-3e38, -1e5}, {-1e5, 0.0}, {0.0, 1e5}, {-1e5, 1e5}, {-3e38, 3e38}};
    static const int64_t winners[] = {0, 299, 599};
    for (size_t n = 0; n < sizeof pairs / sizeof *pairs; n++) {
        for (int w = 0; w < 3; w++) {
            check_winner(engine, 1, winners[w], pairs[n][0], pairs[n][1]);
            check_winner(engine, 50, winners[w], pairs[n][0], pairs[n][1]);
        }
    }
}

static void one_key_far_above_the_rest(void **state) {
    (void)state;
    for_all_engines(check_winners);
}

/* Dot products past 65504 before the scale brings them down, in the 16-bit types. */
static void check_large_dots(attn_engine *engine) {
    attn_engine *oracle = test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 1);
    for (attn_type type = ATTN_F32; type <= ATTN_BF16; type = (attn_type)(type + 1)) {
        attn_problem problem = ATTN_PROBLEM_INIT;
        problem.type = type;
        problem.seq_q = 33;
        problem.seq_kv = 70;
        problem.dim = 128;
        problem.scale = 1e-6;
        test_recipe recipe = test_recipe_plain(&problem, 16);
        recipe.q_size = recipe.k_size = 300.0; /* dots of about 300 * 300 * sqrt(128) = 1e6 */
        test_case *source = test_case_make(&recipe);
        test_expected expected;
        attn_reason reason = {"stale"};
        test_assert_ok(test_expected_make(oracle, source, &expected, &reason), &reason);
        test_output output = test_run_case(engine, source);
        assert_true(test_compare(&expected, &output, ATTN_F32).ratio <= 1.0);
        test_output_free(&output);
        test_expected_free(&expected);
        test_case_free(source);
    }
    attn_engine_close(oracle);
}

static void dot_products_past_the_range_of_f16(void **state) {
    (void)state;
    for_all_engines(check_large_dots);
}

/* 70,000 equal weights: a sum kept in f16 would be Inf, and one in bf16 stuck at 256. */
static void check_many_equal_keys(attn_engine *engine) {
    for (attn_type type = ATTN_F16; type <= ATTN_BF16; type = (attn_type)(type + 1)) {
        attn_problem problem = ATTN_PROBLEM_INIT;
        problem.type = type;
        problem.seq_q = 2;
        problem.seq_kv = 70000;
        problem.dim = 2;
        problem.scale = 0.0;
        problem.with = ATTN_WITH_LSE;
        test_case *source = make_case(&problem, 17);
        for (int64_t j = 0; j < 70000; j++) {
            test_tensor_set(&source->v, 0, 0, j, 0, 1.0);
            test_tensor_set(&source->v, 0, 0, j, 1, j % 2 ? -3.0 : 5.0);
        }
        test_output output = test_run_case(engine, source);
        for (int64_t i = 0; i < 2; i++) {
            assert_true(test_tensor_get(&output.o, 0, 0, i, 0) == 1.0);
            assert_true(test_tensor_get(&output.o, 0, 0, i, 1) == 1.0);
            assert_true(fabs(test_tensor_get(&output.lse, 0, 0, i, 0) - log(70000.0)) < 1e-5);
        }
        test_output_free(&output);
        test_case_free(source);
    }
}

static void more_equal_keys_than_f16_can_count(void **state) {
    (void)state;
    for_all_engines(check_many_equal_keys);
}

/* ------------------------------------------------------------------------------------------------------- empty rows */

typedef enum emptiness { BY_MASK, BY_BIAS, BY_WINDOW, BY_KV_LEN, BY_NO_COLUMNS, WAYS_TO_BE_EMPTY } emptiness;

/* A problem whose rows from `first_empty` on see no key (BY_KV_LEN, BY_NO_COLUMNS: none does). */
static test_case *empty_case(emptiness way, attn_type type, unsigned with, int64_t rows, int64_t first_empty) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.type = type;
    problem.heads_q = 3;
    problem.heads_kv = 1;
    problem.seq_q = rows;
    problem.seq_kv = 300;
    problem.dim = 16;
    problem.with = with;
    if (way == BY_MASK) problem.mask = (attn_view){ATTN_BOOL, {1, 1, rows, 300}, {0, 0, 0, 0}};
    if (way == BY_BIAS) problem.bias = (attn_view){ATTN_F16, {1, 1, rows, 300}, {0, 0, 0, 0}};
    if (way == BY_WINDOW) problem.q_offset = 300 - first_empty;
    if (way == BY_WINDOW) problem.window_left = 0;
    if (way == BY_KV_LEN) problem.with |= ATTN_WITH_KV_LENS;
    if (way == BY_NO_COLUMNS) problem.mask = (attn_view){ATTN_BOOL, {1, 1, rows, 0}, {0, 0, 0, 0}};
    test_recipe recipe = test_recipe_plain(&problem, 18);
    if (way == BY_KV_LEN) recipe.full_lengths_percent = 0, recipe.zero_lengths_percent = 100;
    test_case *source = test_case_make(&recipe);
    for (int64_t i = 0; i < rows && (way == BY_MASK || way == BY_BIAS); i++) {
        for (int64_t j = 0; j < 300; j++) {
            if (way == BY_MASK)
                test_tensor_set(&source->mask, 0, 0, i, j, i < first_empty);
            else if (i >= first_empty)
                test_tensor_set(&source->bias, 0, 0, i, j, -(double)INFINITY);
        }
    }
    return source;
}

static void check_empty(attn_engine *engine, emptiness way, attn_type type, unsigned with, int64_t rows) {
    int64_t first_empty = way == BY_KV_LEN || way == BY_NO_COLUMNS ? 0 : rows / 2;
    test_case *source = empty_case(way, type, with, rows, first_empty);
    if (source->sinks) source->sinks[2] = -INFINITY; /* no sink for one of the heads */
    test_output output = test_run_case(engine, source);
    for (int64_t h = 0; h < 3; h++) {
        for (int64_t i = first_empty; i < rows; i++) {
            double expected = source->sinks ? (double)source->sinks[h] : -(double)INFINITY;
            if (test_tensor_get(&output.lse, 0, h, i, 0) != expected) fail_msg("lse of an empty row, way %d", (int)way);
            for (int64_t d = 0; d < 16; d++) {
                double o = test_tensor_get(&output.o, 0, h, i, d);
                if (o != 0.0) fail_msg("o of an empty row is %g, way %d", o, (int)way);
            }
        }
        for (int64_t i = 0; i < first_empty; i++) assert_true(row_is_finite(&output, 0, h, i));
    }
    test_output_free(&output);
    test_case_free(source);
}

static void check_empty_rows(attn_engine *engine) {
    static const attn_type types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64};
    for (int way = 0; way < WAYS_TO_BE_EMPTY; way++) {
        for (int type = 0; type < 4; type++) {
            check_empty(engine, (emptiness)way, types[type], ATTN_WITH_LSE, 2);
            check_empty(engine, (emptiness)way, types[type], ATTN_WITH_LSE, 75);
            check_empty(engine, (emptiness)way, types[type], ATTN_WITH_LSE | ATTN_WITH_SINKS, 1);
            check_empty(engine, (emptiness)way, types[type], ATTN_WITH_LSE | ATTN_WITH_SINKS, 75);
        }
    }
}

static void rows_without_keys_are_zero(void **state) {
    (void)state;
    for_all_engines(check_empty_rows);
}

/* Rows at or beyond q_len are 0, -inf whatever the sink; their queries are not looked at. */
static void check_rows_past_the_end(attn_engine *engine) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.batch = 3;
    problem.heads_q = 2;
    problem.seq_q = 60;
    problem.seq_kv = 90;
    problem.dim = 16;
    problem.with = ATTN_WITH_LSE | ATTN_WITH_SINKS | ATTN_WITH_Q_LENS;
    test_recipe recipe = test_recipe_plain(&problem, 19);
    recipe.full_lengths_percent = 0;
    test_case *source = test_case_make(&recipe);
    test_output output = test_run_case(engine, source);
    for (int64_t row = 0; row < 3 * 2 * 60; row++) {
        int64_t i = row % 60, h = row / 60 % 2, b = row / 120;
        if (i < source->sequences[b].q_len) {
            assert_true(row_is_finite(&output, b, h, i));
            continue;
        }
        assert_true(test_tensor_get(&output.lse, b, h, i, 0) == -(double)INFINITY);
        for (int64_t d = 0; d < 16; d++) assert_true(test_tensor_get(&output.o, b, h, i, d) == 0.0);
    }
    test_output_free(&output);
    test_case_free(source);
}

static void rows_past_the_end_are_zero(void **state) {
    (void)state;
    for_all_engines(check_rows_past_the_end);
}

/* Whole tiles of keys that are masked before the first one that is not. */
static void check_late_start(attn_engine *engine) {
    for (int64_t rows = 1; rows <= 40; rows += 39) {
        test_case *source = empty_case(BY_MASK, ATTN_F32, ATTN_WITH_LSE, rows, rows);
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < 299; j++) test_tensor_set(&source->mask, 0, 0, i, j, 0.0);
        }
        test_output output = test_run_case(engine, source);
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t d = 0; d < 16; d++) {
                double v = test_tensor_get(&source->v, 0, 0, 299, d);
                assert_true(fabs(test_tensor_get(&output.o, 0, 1, i, d) - v) <= 0x1p-22 * fabs(v));
            }
        }
        test_output_free(&output);
        test_case_free(source);
    }
}

static void masked_blocks_before_the_first_key(void **state) {
    (void)state;
    for_all_engines(check_late_start);
}

/* A sink far above the logits takes all the weight and gives nothing; one far below changes nothing. */
static void check_sinks(attn_engine *engine) {
    for (int64_t rows = 1; rows <= 50; rows += 49) {
        test_case *source = empty_case(BY_BIAS, ATTN_F32, ATTN_WITH_LSE | ATTN_WITH_SINKS, rows, rows);
        source->sinks[0] = 1e5F;
        source->sinks[1] = -1e5F;
        source->sinks[2] = -INFINITY;
        test_output output = test_run_case(engine, source);
        for (int64_t i = 0; i < rows; i++) {
            assert_true(test_tensor_get(&output.lse, 0, 0, i, 0) == 1e5);
            assert_true(fabs(test_tensor_get(&output.lse, 0, 1, i, 0)) < 100.0);
            assert_true(fabs(test_tensor_get(&output.lse, 0, 2, i, 0)) < 100.0);
            for (int64_t d = 0; d < 16; d++) assert_true(test_tensor_get(&output.o, 0, 0, i, d) == 0.0);
            assert_true(row_is_finite(&output, 0, 1, i) && row_is_finite(&output, 0, 2, i));
        }
        test_output_free(&output);
        test_case_free(source);
    }
}

static void sinks_far_above_and_below(void **state) {
    (void)state;
    for_all_engines(check_sinks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garbage_changes_no_bit),
        cmocka_unit_test(garbage_under_the_mask_changes_no_bit),
        cmocka_unit_test(nan_and_infinity_reach_the_rows_that_use_them),
        cmocka_unit_test(nan_in_a_query_stays_in_its_row),
        cmocka_unit_test(nan_in_a_bias_reaches_its_row),
        cmocka_unit_test(rows_of_equal_logits_at_any_level),
        cmocka_unit_test(one_key_far_above_the_rest),
        cmocka_unit_test(dot_products_past_the_range_of_f16),
        cmocka_unit_test(more_equal_keys_than_f16_can_count),
        cmocka_unit_test(rows_without_keys_are_zero),
        cmocka_unit_test(rows_past_the_end_are_zero),
        cmocka_unit_test(masked_blocks_before_the_first_key),
        cmocka_unit_test(sinks_far_above_and_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
