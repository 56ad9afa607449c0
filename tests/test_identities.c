/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What attention is whatever the numbers: equations between two results, or a result and a value known beforehand.
 * Where two ways of computing the same may round differently, the second is held against the exact result of the first.
 */
#include "support/cmocka_all.h"
#include "support/compare.h"
#include "support/effort.h"
#include "support/element.h"
#include "support/engine.h"

#include <math.h>
#include <stdlib.h>

static const attn_type all_types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64};

typedef void identity(attn_engine *engine, attn_type type, int shape);

/* Square tiles with ragged edges, one row against many keys, a few rows in groups. */
enum { SHAPES = 3 };

static attn_problem shape_number(int shape, attn_type type) {
    static const int64_t rows[SHAPES] = {69, 1, 7}, keys[SHAPES] = {133, 900, 400};
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.type = type;
    problem.batch = shape == 2 ? 2 : 1;
    problem.heads_q = 6;
    problem.heads_kv = shape == 2 ? 1 : 2;
    problem.seq_q = rows[shape];
    problem.seq_kv = keys[shape];
    problem.dim = 40;
    problem.dim_v = shape == 1 ? 64 : 33;
    problem.with = ATTN_WITH_LSE;
    return problem;
}

static void for_all(identity *check) {
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 2);
        for (int type = 0; type < 4; type++) {
            for (int shape = 0; shape < SHAPES; shape++) {
                if (test_is_short() && (type + shape) % 3 != 0) continue;
                check(engine, all_types[type], shape);
            }
        }
        attn_engine_close(engine);
    }
}

static test_case *make_case(const attn_problem *problem) {
    test_recipe recipe = test_recipe_plain(problem, 31);
    return test_case_make(&recipe);
}

static test_expected exact_result(const test_case *source) {
    attn_engine *oracle = test_engine_open(ATTN_ENGINE_ORACLE, ATTN_CPU_ANY, 1);
    test_expected expected;
    attn_reason reason = {"stale"};
    test_assert_ok(test_expected_make(oracle, source, &expected, &reason), &reason);
    attn_engine_close(oracle);
    return expected;
}

static void assert_close(const test_expected *expected, const test_output *output, attn_type type) {
    test_worst worst = test_compare(expected, output, type == ATTN_F64 ? ATTN_F64 : ATTN_F32);
    if (worst.ratio > 1.0) {
        fail_msg("[%d,%d,%d,%d] is %.9g, not %.9g", (int)worst.b, (int)worst.h, (int)worst.row, (int)worst.column,
                 worst.got, worst.expected);
    }
}

/* The engine's result of `other` is that of `source`. */
static void assert_same_result(attn_engine *engine, const test_case *source, const test_case *other) {
    test_expected expected = exact_result(source);
    test_output output = test_run_case(engine, other);
    assert_close(&expected, &output, source->problem.type);
    test_output_free(&output);
    test_expected_free(&expected);
}

/* ------------------------------------------------------------------------------------------------- weights sum to 1 */

static void check_constant_v(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type);
    problem.window_right = ATTN_CAUSAL;
    test_case *source = make_case(&problem);
    test_tensor *v = &source->v;
    for (int64_t n = 0; n < test_tensor_count(v); n++)
        test_store(type, v->data, n, (double)(n % v->shape[3] % 7 - 3) / 4.0);
    test_output output = test_run_case(engine, source);
    double u = test_unit_roundoff(type) + 16.0 * test_unit_roundoff(type == ATTN_F64 ? type : ATTN_F32);
    for (int64_t n = 0; n < test_tensor_count(&output.o); n++) {
        double constant = (double)(n % problem.dim_v % 7 - 3) / 4.0;
        assert_true(fabs(test_load(type, output.o.data, n) - constant) <= u * fabs(constant));
    }
    test_output_free(&output);
    test_case_free(source);
}

static void constant_v_returns_v(void **state) {
    (void)state;
    for_all(check_constant_v);
}

/* With scale 0 and without a bias all weights are equal: o is the mean, lse the log of the count. */
static void check_uniform(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type);
    problem.scale = 0.0;
    test_case *source = make_case(&problem);
    test_output output = test_run_case(engine, source);
    for (int64_t d = 0; d < problem.dim_v; d++) {
        double sum = 0;
        for (int64_t j = 0; j < problem.seq_kv; j++) sum += test_tensor_get(&source->v, 0, 0, j, d);
        double mean = sum / (double)problem.seq_kv, limit = test_unit_roundoff(type) + 0x1p-22;
        assert_true(fabs(test_tensor_get(&output.o, 0, 0, 0, d) - mean) <= limit);
    }
    assert_true(fabs(test_tensor_get(&output.lse, 0, 0, 0, 0) - log((double)problem.seq_kv)) <= 1e-6);
    test_output_free(&output);
    test_case_free(source);
}

static void equal_logits_return_the_mean(void **state) {
    (void)state;
    for_all(check_uniform);
}

/* ----------------------------------------------------------------------------------------------------------
 * permutation */

/* Key j of the result is key order[j] of the source, bias and mask included. */
static void permute_keys(test_case *target, const test_case *source) {
    int64_t keys = source->problem.seq_kv;
    test_tensor *targets[] = {&target->k, &target->v};
    const test_tensor *sources[] = {&source->k, &source->v};
    for (int64_t j = 0; j < keys; j++) {
        int64_t from = (j * 11 + 3) % keys; /* no number of keys in the shapes is a multiple of 11 */
        for (int n = 0; n < 2; n++) {
            for (int64_t b = 0; b < sources[n]->shape[0]; b++) {
                for (int64_t h = 0; h < sources[n]->shape[1]; h++) {
                    for (int64_t d = 0; d < sources[n]->shape[3]; d++) {
                        test_tensor_set(targets[n], b, h, j, d, test_tensor_get(sources[n], b, h, from, d));
                    }
                }
            }
        }
        for (int64_t i = 0; i < source->problem.seq_q; i++) {
            test_tensor_set(&target->bias, 0, 0, i, j, test_tensor_get(&source->bias, 0, 0, i, from));
            test_tensor_set(&target->mask, 0, 0, i, j, test_tensor_get(&source->mask, 0, 0, i, from));
        }
    }
}

static void check_permutation(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type);
    problem.bias = (attn_view){ATTN_F32, {1, 1, problem.seq_q, problem.seq_kv}, {0, 0, 0, 0}};
    problem.mask = (attn_view){ATTN_BOOL, {1, 1, problem.seq_q, problem.seq_kv}, {0, 0, 0, 0}};
    test_case *source = make_case(&problem), *permuted = make_case(&problem);
    permute_keys(permuted, source);
    assert_same_result(engine, source, permuted);
    test_case_free(permuted);
    test_case_free(source);
}

static void permuting_keys_changes_nothing(void **state) {
    (void)state;
    for_all(check_permutation);
}

/* -------------------------------------------------------------------------------------------- splitting and merging */

/* Keys begin .. end - 1 of the source as a problem of their own: the same positions, so that windows fall alike. */
static test_output run_part(attn_engine *engine, const test_case *source, int64_t begin, int64_t end, int sinks) {
    attn_problem problem = source->problem;
    attn_tensors tensors = source->tensors;
    int64_t size = (int64_t)attn_type_size(problem.type);
    problem.seq_kv = end - begin;
    problem.q_offset = source->sequences[0].q_offset - begin;
    if (problem.type != ATTN_F64) problem.o_type = ATTN_F32;
    memcpy(problem.k_strides, source->k.strides, sizeof problem.k_strides);
    memcpy(problem.v_strides, source->v.strides, sizeof problem.v_strides);
    tensors.k = (const char *)tensors.k + begin * source->k.strides[2] * size;
    tensors.v = (const char *)tensors.v + begin * source->v.strides[2] * size;
    if (!sinks) {
        problem.with &= ~ATTN_WITH_SINKS;
        tensors.sinks = NULL;
    }
    return test_run_problem(engine, &problem, &tensors);
}

static void check_split(attn_engine *engine, attn_type type, int shape) {
    enum { PARTS = 4 };
    attn_problem problem = shape_number(shape, type);
    problem.window_right = ATTN_CAUSAL;
    problem.window_left = problem.seq_kv / 2;
    problem.with |= ATTN_WITH_SINKS;
    test_case *source = make_case(&problem);
    /* An empty part, one that some rows do not see, and two more. */
    const int64_t cuts[PARTS + 1] = {0, 0, problem.seq_kv / 3, problem.seq_kv - 1, problem.seq_kv};
    test_output parts[PARTS], merged;
    const void *o_parts[PARTS];
    const float *lse_parts[PARTS];
    for (int n = 0; n < PARTS; n++) {
        parts[n] = run_part(engine, source, cuts[n], cuts[n + 1], n == 2);
        o_parts[n] = parts[n].o.data;
        lse_parts[n] = parts[n].lse.data;
    }
    merged = test_output_make(&source->problem);
    attn_merge_shape shape_of_merge = ATTN_MERGE_SHAPE_INIT;
    attn_reason reason = {"stale"};
    shape_of_merge.part_type = parts[0].o.type;
    shape_of_merge.o_type = type;
    shape_of_merge.batch = problem.batch;
    shape_of_merge.heads = problem.heads_q;
    shape_of_merge.seq = problem.seq_q;
    shape_of_merge.dim_v = problem.dim_v;
    test_assert_ok(attn_merge(&shape_of_merge, PARTS, o_parts, lse_parts, merged.o.data, merged.lse.data, &reason),
                   &reason);
    test_expected expected = exact_result(source);
    /* lse is float also between parts of F64. */
    assert_close(&expected, &merged, ATTN_F32);
    for (int n = 0; n < PARTS; n++) test_output_free(&parts[n]);
    test_output_free(&merged);
    test_expected_free(&expected);
    test_case_free(source);
}

static void splitting_keys_and_merging_is_the_whole(void **state) {
    (void)state;
    for_all(check_split);
}

/* --------------------------------------------------------------------------------------------------------------
 * windows */

static test_case *with_windows(const test_case *source, int64_t left, int64_t right) {
    test_recipe recipe = source->recipe;
    recipe.problem.window_left = left;
    recipe.problem.window_right = right;
    test_case *made = test_case_make(&recipe);
    test_tensor_copy(&made->q, &source->q);
    test_tensor_copy(&made->k, &source->k);
    test_tensor_copy(&made->v, &source->v);
    return made;
}

static void check_window(attn_engine *engine, const test_case *source, int64_t left, int64_t right, int64_t same_left,
                         int64_t same_right) {
    test_case *a = with_windows(source, left, right), *b = with_windows(source, same_left, same_right);
    assert_same_result(engine, a, b);
    test_case_free(a);
    test_case_free(b);
}

/* A window that reaches past both ends is none; one of N - 1 to the left and 0 to the right is causal. */
static void check_windows(attn_engine *engine, attn_type type, int shape) {
    const int64_t none = ATTN_UNBOUNDED;
    for (int swapped = 0; swapped < 2; swapped++) { /* also more rows than keys */
        attn_problem problem = shape_number(shape, type);
        if (swapped) {
            if (shape == 1) return;
            int64_t rows = problem.seq_q;
            problem.seq_q = problem.seq_kv / 2;
            problem.seq_kv = rows;
        }
        int64_t rows = problem.seq_q, keys = problem.seq_kv, longest = rows > keys ? rows : keys;
        test_case *source = make_case(&problem);
        check_window(engine, source, none, 0, keys - 1, 0);
        check_window(engine, source, none, 0, INT64_MAX, 0);
        check_window(engine, source, none, none, longest, longest);
        check_window(engine, source, none, none, longest + 1000, INT64_MAX);
        check_window(engine, source, 3, none, 3, rows - 1 > 0 ? longest : 1);
        test_case_free(source);
    }
}

static void windows_past_the_ends_are_unbounded(void **state) {
    (void)state;
    for_all(check_windows);
}

/* Window (0, 0) with as many keys as rows: each row sees its own position alone. */
static void check_window_of_itself(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type);
    problem.seq_q = problem.seq_kv < 300 ? problem.seq_kv : 300;
    problem.seq_kv = problem.seq_q;
    problem.window_left = problem.window_right = 0;
    test_case *source = make_case(&problem);
    test_output output = test_run_case(engine, source);
    for (int64_t h = 0; h < problem.heads_q; h++) {
        int64_t h_kv = h / (problem.heads_q / problem.heads_kv);
        for (int64_t i = 0; i < problem.seq_q; i++) {
            for (int64_t d = 0; d < problem.dim_v; d++) {
                double v = test_tensor_get(&source->v, 0, h_kv, i, d), o = test_tensor_get(&output.o, 0, h, i, d);
                assert_true(fabs(o - v) <= 4.0 * test_unit_roundoff(type) * fabs(v));
            }
        }
    }
    test_output_free(&output);
    test_case_free(source);
}

static void a_window_of_zero_is_the_row_itself(void **state) {
    (void)state;
    for_all(check_window_of_itself);
}

/* Both causal conventions by hand: which keys row i sees is read off an identity matrix in V. */
static void causal_corner(void **state) {
    enum { ROWS = 3, KEYS = 5 };
    float q[ROWS] = {0}, k[KEYS] = {0}, v[KEYS][KEYS] = {{0}}, o[ROWS][KEYS];
    attn_problem problem = ATTN_PROBLEM_INIT;
    attn_tensors tensors = ATTN_TENSORS_INIT;
    (void)state;
    for (int j = 0; j < KEYS; j++) v[j][j] = 1.0F;
    problem.seq_q = ROWS;
    problem.seq_kv = KEYS;
    problem.dim = 1;
    problem.dim_v = KEYS;
    problem.window_right = ATTN_CAUSAL;
    tensors.q = q;
    tensors.k = k;
    tensors.v = v;
    tensors.o = o;
    for (int top_left = 0; top_left < 2; top_left++) {
        problem.q_offset = top_left ? 0 : ATTN_OFFSET_END;
        assert_int_equal(attn_sdpa(&problem, &tensors, NULL), ATTN_OK);
        for (int i = 0; i < ROWS; i++) {
            int last = top_left ? i : i + KEYS - ROWS;
            for (int j = 0; j < KEYS; j++) {
                float expected = j <= last ? 1.0F / (float)(last + 1) : 0.0F;
                assert_true(fabsf(o[i][j] - expected) < 1e-6F);
                assert_int_equal(o[i][j] == 0.0F, j > last);
            }
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------------
 * scaling */

static void scale_tensor(test_tensor *tensor, double factor) {
    for (int64_t n = 0; n < test_tensor_count(tensor); n++) {
        test_store(tensor->type, tensor->data, n, factor * test_load(tensor->type, tensor->data, n));
    }
}

/* Powers of two move through the whole computation without a rounding: twice q and half the scale, or twice k, are the
 * same bits, and twice v is twice o. */
static void check_powers_of_two(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type);
    problem.scale = 0.11;
    test_case *source = make_case(&problem);
    test_output original = test_run_case(engine, source);
    scale_tensor(&source->q, 2.0);
    source->problem.scale = 0.055;
    test_output half_scale = test_run_case(engine, source);
    assert_true(test_output_same_bits(&original, &half_scale));
    scale_tensor(&source->k, 0.5);
    source->problem.scale = 0.11;
    test_output half_k = test_run_case(engine, source);
    assert_true(test_output_same_bits(&original, &half_k));
    scale_tensor(&source->v, 2.0);
    test_output twice_v = test_run_case(engine, source);
    for (int64_t n = 0; n < test_tensor_count(&original.o); n++) {
        double once = test_load(type, original.o.data, n), twice = test_load(type, twice_v.o.data, n);
        /* But for numbers so small that the type has fewer digits for them. */
        assert_true(twice == 2.0 * once || fabs(once) < 0x1p-13);
    }
    test_output_free(&original);
    test_output_free(&half_scale);
    test_output_free(&half_k);
    test_output_free(&twice_v);
    test_case_free(source);
}

static void powers_of_two_are_exact(void **state) {
    (void)state;
    for_all(check_powers_of_two);
}

/* A number added to every logit of a row moves lse by it and leaves o. */
static void check_shift(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type);
    problem.bias = (attn_view){ATTN_F32, {1, 1, problem.seq_q, 1}, {0, 0, 0, 0}};
    test_case *plain = make_case(&problem), *shifted = make_case(&problem);
    for (int64_t i = 0; i < problem.seq_q; i++) {
        test_tensor_set(&plain->bias, 0, 0, i, 0, 0.0);
        test_tensor_set(&shifted->bias, 0, 0, i, 0, (double)(i % 5) * 8.0 - 16.0);
    }
    test_expected expected = exact_result(plain), moved = exact_result(shifted);
    test_output output = test_run_case(engine, shifted);
    for (int64_t i = 0; i < problem.seq_q; i++) {
        double by = test_tensor_get(&moved.output.lse, 0, 0, i, 0) - test_tensor_get(&expected.output.lse, 0, 0, i, 0);
        assert_true(fabs(by - ((double)(i % 5) * 8.0 - 16.0)) < 1e-5);
    }
    assert_close(&moved, &output, type);
    for (int64_t n = 0; n < test_tensor_count(&output.o); n++) {
        double exact = test_load(ATTN_F64, expected.output.o.data, n);
        assert_true(fabs(test_load(type, output.o.data, n) - exact) <= 1e-4 + test_unit_roundoff(type) * fabs(exact));
    }
    test_output_free(&output);
    test_expected_free(&moved);
    test_expected_free(&expected);
    test_case_free(shifted);
    test_case_free(plain);
}

static void a_shift_of_logits_moves_lse_alone(void **state) {
    (void)state;
    for_all(check_shift);
}

/* ------------------------------------------------------------------------------------------- one feature by another */

/* Distances as a bias tensor are ALiBi; a lower triangle as a mask is causal; both together, and lengths, too. */
static void check_rules_as_tensors(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type), explicit_problem = problem;
    problem.window_right = ATTN_CAUSAL;
    problem.window_left = problem.seq_kv / 2;
    problem.with |= ATTN_WITH_ALIBI;
    explicit_problem.bias = (attn_view){ATTN_F64, {1, problem.heads_q, problem.seq_q, problem.seq_kv}, {0, 0, 0, 0}};
    explicit_problem.mask = (attn_view){ATTN_BOOL, {1, 1, problem.seq_q, problem.seq_kv}, {0, 0, 0, 0}};
    test_case *ruled = make_case(&problem), *spelled = make_case(&explicit_problem);
    test_tensor_copy(&spelled->q, &ruled->q);
    test_tensor_copy(&spelled->k, &ruled->k);
    test_tensor_copy(&spelled->v, &ruled->v);
    for (int64_t h = 0; h < problem.heads_q; h++) {
        for (int64_t i = 0; i < problem.seq_q; i++) {
            for (int64_t j = 0; j < problem.seq_kv; j++) {
                int64_t p = i + problem.seq_kv - problem.seq_q;
                test_tensor_set(&spelled->bias, 0, h, i, j, -(double)ruled->slopes[h] * (double)llabs(p - j));
                test_tensor_set(&spelled->mask, 0, 0, i, j, j <= p && j >= p - problem.window_left ? 1.0 : 0.0);
            }
        }
    }
    /* Keys that the window shows to no row are garbage in one of them, and masked in the other. */
    assert_same_result(engine, ruled, spelled);
    test_case_free(spelled);
    test_case_free(ruled);
}

static void rules_spelled_out_as_tensors_are_the_same(void **state) {
    (void)state;
    for_all(check_rules_as_tensors);
}

/* Grouped heads are the same as K and V repeated for each query head. */
static void check_groups(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type), repeated_problem = problem;
    repeated_problem.heads_kv = problem.heads_q;
    test_case *grouped = make_case(&problem), *repeated = make_case(&repeated_problem);
    int64_t group = problem.heads_q / problem.heads_kv;
    test_tensor *targets[] = {&repeated->k, &repeated->v};
    const test_tensor *sources[] = {&grouped->k, &grouped->v};
    test_tensor_copy(&repeated->q, &grouped->q);
    for (int n = 0; n < 2; n++) {
        for (int64_t row = 0; row < problem.batch * problem.heads_q * problem.seq_kv; row++) {
            int64_t j = row % problem.seq_kv, h = row / problem.seq_kv % problem.heads_q;
            int64_t b = row / problem.seq_kv / problem.heads_q;
            for (int64_t d = 0; d < targets[n]->shape[3]; d++) {
                test_tensor_set(targets[n], b, h, j, d, test_tensor_get(sources[n], b, h / group, j, d));
            }
        }
    }
    assert_same_result(engine, grouped, repeated);
    test_case_free(repeated);
    test_case_free(grouped);
}

static void grouped_heads_are_repeated_ones(void **state) {
    (void)state;
    for_all(check_groups);
}

/* A sequence of a packed batch is the problem of that sequence alone. */
static void check_packed(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type);
    problem.batch = 4;
    problem.seq_q *= 4;
    problem.window_right = ATTN_CAUSAL;
    problem.with |= ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV;
    test_case *packed = make_case(&problem);
    test_expected expected = exact_result(packed);
    test_output together = test_output_make(&packed->problem);
    int64_t size = (int64_t)attn_type_size(type);
    /* Each sequence is written into its place of a common output, which then has to be that of the packed problem. */
    for (int64_t b = 0; b < 4; b++) {
        const test_sequence *s = &packed->sequences[b];
        attn_problem alone = problem;
        attn_tensors tensors = ATTN_TENSORS_INIT;
        attn_reason reason = {"stale"};
        alone.batch = 1;
        alone.with = ATTN_WITH_LSE;
        alone.seq_q = s->rows;
        alone.seq_kv = s->keys;
        memcpy(alone.q_strides, packed->q.strides, sizeof alone.q_strides);
        memcpy(alone.k_strides, packed->k.strides, sizeof alone.k_strides);
        memcpy(alone.v_strides, packed->v.strides, sizeof alone.v_strides);
        memcpy(alone.o_strides, together.o.strides, sizeof alone.o_strides);
        memcpy(alone.lse_strides, together.lse.strides, sizeof alone.lse_strides);
        tensors.q = (const char *)packed->q.data + s->row0 * packed->q.strides[2] * size;
        tensors.k = (const char *)packed->k.data + s->key0 * packed->k.strides[2] * size;
        tensors.v = (const char *)packed->v.data + s->key0 * packed->v.strides[2] * size;
        tensors.o = (char *)together.o.data + s->row0 * together.o.strides[2] * size;
        tensors.lse = (float *)together.lse.data + s->row0;
        test_assert_ok(test_run(engine, &alone, &tensors, &reason), &reason);
    }
    for (int64_t row = packed->sequences[3].row0 + packed->sequences[3].rows; row < problem.seq_q; row++) {
        for (int64_t h = 0; h < problem.heads_q; h++) {
            for (int64_t d = 0; d < problem.dim_v; d++) test_tensor_set(&together.o, 0, h, row, d, 0.0);
            test_tensor_set(&together.lse, 0, h, row, 0, -(double)INFINITY);
        }
    }
    assert_close(&expected, &together, type);
    test_output_free(&together);
    test_expected_free(&expected);
    test_case_free(packed);
}

static void packed_sequences_are_problems_of_their_own(void **state) {
    (void)state;
    for_all(check_packed);
}

/* softcap far above all logits does nothing; far below, every logit becomes +-softcap. */
static void check_softcap(attn_engine *engine, attn_type type, int shape) {
    attn_problem problem = shape_number(shape, type);
    test_case *plain = make_case(&problem);
    test_expected expected = exact_result(plain);
    plain->problem.softcap = 1e6;
    test_output wide = test_run_case(engine, plain);
    assert_close(&expected, &wide, type == ATTN_F64 ? ATTN_F32 : type); /* tanh x is x - x^3 / 3, not x */
    plain->problem.softcap = 1e-6;
    test_output narrow = test_run_case(engine, plain);
    for (int64_t n = 0; n < test_tensor_count(&narrow.lse); n++) {
        assert_true(fabs(test_load(ATTN_F32, narrow.lse.data, n) - log((double)problem.seq_kv)) < 1e-5);
    }
    test_output_free(&narrow);
    test_output_free(&wide);
    test_expected_free(&expected);
    test_case_free(plain);
}

static void softcap_at_its_ends(void **state) {
    (void)state;
    for_all(check_softcap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_v_returns_v),
        cmocka_unit_test(equal_logits_return_the_mean),
        cmocka_unit_test(permuting_keys_changes_nothing),
        cmocka_unit_test(splitting_keys_and_merging_is_the_whole),
        cmocka_unit_test(windows_past_the_ends_are_unbounded),
        cmocka_unit_test(a_window_of_zero_is_the_row_itself),
        cmocka_unit_test(causal_corner),
        cmocka_unit_test(powers_of_two_are_exact),
        cmocka_unit_test(a_shift_of_logits_moves_lse_alone),
        cmocka_unit_test(rules_spelled_out_as_tensors_are_the_same),
        cmocka_unit_test(grouped_heads_are_repeated_ones),
        cmocka_unit_test(packed_sequences_are_problems_of_their_own),
        cmocka_unit_test(softcap_at_its_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
