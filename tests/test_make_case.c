/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases: every feature, the same bytes everywhere. And the conversions that their values go through. */
#define _POSIX_C_SOURCE 200809L
#include "cli/case_value.h"
#include "cli/make_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* wants the five above */

static make_case_options small_options(void) {
    make_case_options options;
    make_case_options_init(&options);
    options.batch = 3;
    options.heads_q = 4;
    options.heads_kv = 2;
    options.seq_q = 17;
    options.seq_kv = 23;
    options.dim = 8;
    options.dim_v = 6;
    return options;
}

static void make(const make_case_options *options, case_file *c) {
    case_error error;
    if (make_case(options, c, &error) != CASE_OK) fail_msg("%s", error.text);
}

/* FNV-1a, 64 bits, of the bytes of a tensor. */
static uint64_t hash(const case_tensor *tensor) {
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    size_t size = attn_type_size(tensor->type);
    for (int n = 0; n < tensor->rank; n++) size *= (size_t)tensor->shape[n];
    for (size_t n = 0; n < size; n++)
        value = (value ^ ((const unsigned char *)tensor->data)[n]) * UINT64_C(0x100000001b3);
    return value;
}

static int64_t count_of(const case_tensor *tensor) {
    int64_t count = 1;
    for (int n = 0; n < tensor->rank; n++) count *= tensor->shape[n];
    return count;
}

/* ------------------------------------------------------------------------------------------------------- the values */

static void has_every_feature_that_is_wanted(void **state) {
    (void)state;
    make_case_options options = small_options();
    options.type = ATTN_F16;
    options.bias.wanted = options.mask.wanted = options.alibi = options.sinks = 1;
    options.q_lens = options.kv_lens = 1;
    options.bias.shape[0] = options.bias.shape[2] = 1;
    options.mask.shape[1] = 1;
    options.mask.shape[3] = 20;
    options.bias_type = ATTN_BF16;
    options.length_type = ATTN_I64;
    options.options.causal = 1;
    options.options.window_left = 9;
    options.options.scale = 0.5;
    options.options.softcap = 3;
    options.options.q_offset = 4;
    options.options.dropout_p = 0.1;
    options.options.dropout_seed = 5;
    case_file c;
    make(&options, &c);
    assert_int_equal(c.problem.type, ATTN_F16);
    assert_int_equal(c.problem.heads_kv, 2);
    assert_int_equal(c.problem.dim_v, 6);
    assert_int_equal(c.problem.bias.type, ATTN_BF16);
    assert_int_equal(c.problem.bias.shape[0], 1);
    assert_int_equal(c.problem.bias.shape[1], 4);
    assert_int_equal(c.problem.bias.shape[2], 1);
    assert_int_equal(c.problem.bias.shape[3], 23);
    assert_int_equal(c.problem.mask.shape[0], 3);
    assert_int_equal(c.problem.mask.shape[2], 17);
    assert_int_equal(c.problem.mask.shape[3], 20);
    assert_int_equal(c.problem.length_type, ATTN_I64);
    assert_int_equal(c.problem.with, ATTN_WITH_ALIBI | ATTN_WITH_SINKS | ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS);
    assert_int_equal(c.problem.window_left, 9);
    assert_int_equal(c.problem.window_right, 0);
    assert_true(c.problem.scale == 0.5 && c.problem.softcap == 3 && c.problem.dropout_p == 0.1);
    assert_int_equal(c.problem.q_offset, 4);
    assert_int_equal(c.inputs.dropout_seed, 5);
    assert_string_equal(c.title, "f16 bhsd: batch 3, heads 4/2, rows 17, keys 23, columns 8/6");
    assert_string_equal(c.origin, "random, seed 0");
    case_free(&c);
}

static void makes_lengths_full_empty_and_between(void **state) {
    (void)state;
    for (int layout = CASE_BHSD; layout <= CASE_THD; layout++) {
        make_case_options options = small_options();
        case_file c;
        options.batch = 40;
        options.layout = (case_layout)layout;
        options.q_lens = options.kv_lens = 1;
        make(&options, &c);
        const int32_t *lengths = c.inputs.kv_lens, *ends = c.inputs.cu_seqlens_kv;
        int between = 0;
        for (int n = 0; n < 40; n++) {
            const int32_t room = layout == CASE_THD ? ends[n + 1] - ends[n] : 23;
            assert_true(room >= 0 && lengths[n] >= 0 && lengths[n] <= room);
            between += lengths[n] > 0 && lengths[n] < 23;
        }
        assert_true(between > 0);
        assert_int_equal(lengths[1], 0);
        if (layout == CASE_THD) {
            assert_int_equal(ends[0], 0);
            assert_int_equal(ends[40], 23);
        } else {
            assert_int_equal(lengths[0], 23);
        }
        case_free(&c);
    }
}

/* With 65,536 values the mean is within 5 / 256 of 0 and the variance within 5 sqrt(2) / 256 of 1, but for odds of
 * 1e-6. */
static void draws_from_a_normal_distribution(void **state) {
    (void)state;
    make_case_options options = small_options();
    case_file c;
    options.batch = 1;
    options.heads_q = options.heads_kv = 4;
    options.seq_q = 512;
    options.dim = 32;
    make(&options, &c);
    const float *q = c.inputs.q;
    const int64_t count = count_of(&c.tensors[CASE_Q]);
    double sum = 0, squares = 0, largest = 0;
    for (int64_t n = 0; n < count; n++) {
        sum += (double)q[n];
        squares += (double)q[n] * (double)q[n];
        largest = fmax(largest, fabs((double)q[n]));
    }
    assert_int_equal(count, 65536);
    assert_true(fabs(sum / (double)count) < 5.0 / 256);
    assert_true(fabs(squares / (double)count - 1) < 5 * 1.42 / 256);
    assert_true(largest > 3.5 && largest < 6);
    case_free(&c);
}

static void excludes_the_fraction_that_is_asked_for(void **state) {
    (void)state;
    make_case_options options = small_options();
    case_file c;
    options.bias.wanted = options.mask.wanted = 1;
    options.bias_excluded = 0.25;
    options.mask_kept = 0.5;
    make(&options, &c);
    const int64_t count = count_of(&c.tensors[CASE_BIAS]);
    int64_t excluded = 0, kept = 0;
    for (int64_t n = 0; n < count; n++) {
        excluded += ((const float *)c.inputs.bias)[n] == -INFINITY;
        kept += ((const uint8_t *)c.inputs.mask)[n];
    }
    assert_int_equal(count, 3 * 4 * 17 * 23);
    assert_true(fabs((double)excluded / (double)count - 0.25) < 0.04);
    assert_true(fabs((double)kept / (double)count - 0.5) < 0.04);
    case_free(&c);
}

/* ----------------------------------------------------------------------------------------------------------
 * repeatability */

/* The values below were made once; any machine has to make the same. */
static void makes_the_same_bytes_everywhere(void **state) {
    (void)state;
    static const struct {
        attn_type type;
        uint64_t q, v;
    } rows[] = {
        {ATTN_F32, UINT64_C(0x70d6eee706a5527e), UINT64_C(0x4e47a4a11ad1ca58)},
        {ATTN_F16, UINT64_C(0x8ef476d36a6f469f), UINT64_C(0x997b3c50bdb4c7fa)},
        {ATTN_BF16, UINT64_C(0x1d2aa3b77884264e), UINT64_C(0xc7506959c1e485c7)},
        {ATTN_F64, UINT64_C(0x1c0a8afca18690c0), UINT64_C(0x6c6859f3c19a6e94)},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        make_case_options options = small_options();
        case_file c;
        options.seed = 42;
        options.type = rows[n].type;
        make(&options, &c);
        assert_int_equal(hash(&c.tensors[CASE_Q]), rows[n].q);
        assert_int_equal(hash(&c.tensors[CASE_V]), rows[n].v);
        case_free(&c);
    }
}

/* A feature more or less leaves the other tensors as they are; another seed changes them. */
static void gives_each_tensor_numbers_of_its_own(void **state) {
    (void)state;
    make_case_options options = small_options();
    case_file plain, more, other;
    make(&options, &plain);
    options.bias.wanted = options.mask.wanted = options.sinks = options.kv_lens = 1;
    make(&options, &more);
    options.seed++;
    make(&options, &other);
    for (int slot = CASE_Q; slot <= CASE_V; slot++) {
        assert_int_equal(hash(&plain.tensors[slot]), hash(&more.tensors[slot]));
        assert_int_not_equal(hash(&more.tensors[slot]), hash(&other.tensors[slot]));
    }
    assert_int_not_equal(hash(&more.tensors[CASE_BIAS]), hash(&other.tensors[CASE_BIAS]));
    assert_int_not_equal(hash(&more.tensors[CASE_MASK]), hash(&other.tensors[CASE_MASK]));
    assert_int_not_equal(hash(&plain.tensors[CASE_K]), hash(&plain.tensors[CASE_V]));
    case_free(&plain);
    case_free(&more);
    case_free(&other);
}

/* ------------------------------------------------------------------------------------------------------ bad options */

static void assert_refused(const make_case_options *options, case_status status, const char *part) {
    case_file c;
    case_error error;
    assert_int_equal(make_case(options, &c, &error), status);
    if (strstr(error.text, part) == NULL) fail_msg("\"%s\" does not contain \"%s\"", error.text, part);
    case_free(&c);
}

static void refuses_options_that_make_no_case(void **state) {
    (void)state;
    make_case_options options = small_options();
    options.type = ATTN_I32;
    assert_refused(&options, CASE_ERROR_CONTENT, "type i32 for q, k and v");
    options = small_options();
    options.bias_type = ATTN_BOOL;
    assert_refused(&options, CASE_ERROR_CONTENT, "type bool for the bias");
    options = small_options();
    options.length_type = ATTN_F32;
    assert_refused(&options, CASE_ERROR_CONTENT, "type f32 for lengths");
    options = small_options();
    options.seq_q = -1;
    assert_refused(&options, CASE_ERROR_CONTENT, "dimension 2 of q is -1");
    options = small_options();
    options.batch = -1;
    assert_refused(&options, CASE_ERROR_CONTENT, "dimension 0 of q is -1");
    options.layout = CASE_THD;
    assert_refused(&options, CASE_ERROR_MEMORY, "the lengths of -1 batch entries");
    options = small_options();
    options.batch = options.heads_q = options.heads_kv = INT64_C(1) << 40;
    assert_refused(&options, CASE_ERROR_CONTENT, "the size of q overflows");
    options = small_options();
    options.seq_q = INT64_C(1) << 31;
    assert_refused(&options, CASE_ERROR_CONTENT, "2147483648 rows and 23 keys need lengths of type i64");
    options = small_options();
    options.heads_kv = 3;
    assert_refused(&options, CASE_ERROR_CONTENT, "heads");
    options = small_options();
    options.dim = 0;
    assert_refused(&options, CASE_ERROR_CONTENT, "q has no columns");
    options = small_options();
    options.mask.wanted = 1;
    options.mask.shape[3] = 24;
    assert_refused(&options, CASE_ERROR_CONTENT, "mask");
}

/* --------------------------------------------------------------------------------------------------------------
 * conversions */

/* Every 16-bit pattern through double and back; and between two neighbours, the midpoint goes to the even one. */
static void rounds_16_bit_types_to_nearest_even(void **state) {
    (void)state;
    static const struct {
        attn_type type;
        uint16_t infinity;
        double least, largest; /* positive numbers */
    } rows[] = {{ATTN_F16, 0x7c00, 0x1p-24, 65504.0}, {ATTN_BF16, 0x7f80, 0x1p-133, 0x1.fep127}};
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        const uint16_t infinity = rows[n].infinity, first = 1, last = (uint16_t)(infinity - 1);
        assert_true(case_load(rows[n].type, &first, 0) == rows[n].least);
        assert_true(case_load(rows[n].type, &last, 0) == rows[n].largest);
        assert_true(case_load(rows[n].type, &infinity, 0) == INFINITY);
        for (uint32_t bits = 0; bits < 0x10000; bits++) {
            const uint16_t pattern = (uint16_t)bits, next = (uint16_t)(bits + 1);
            uint16_t back;
            const double value = case_load(rows[n].type, &pattern, 0);
            case_store(rows[n].type, &back, 0, value);
            if (isnan(value)) {
                assert_true((back & 0x7fff) > infinity);
                continue;
            }
            assert_int_equal(back, pattern);
            if ((pattern & 0x7fff) >= last) continue;
            const double middle = (value + case_load(rows[n].type, &next, 0)) / 2;
            case_store(rows[n].type, &back, 0, middle);
            assert_int_equal(back, pattern % 2 == 0 ? pattern : next);
            case_store(rows[n].type, &back, 0, nextafter(middle, INFINITY));
            assert_int_equal(back, bits < 0x8000 ? next : pattern);
        }
        uint16_t back;
        case_store(rows[n].type, &back, 0, rows[n].largest * (1 + 0x1p-12));
        assert_int_equal(back, last);
        case_store(rows[n].type, &back, 0, rows[n].largest * 1.01);
        assert_int_equal(back, infinity);
        case_store(rows[n].type, &back, 0, -1e300);
        assert_int_equal(back, infinity | 0x8000);
        case_store(rows[n].type, &back, 0, -1e-300);
        assert_int_equal(back, 0x8000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_every_feature_that_is_wanted),  cmocka_unit_test(makes_lengths_full_empty_and_between),
        cmocka_unit_test(draws_from_a_normal_distribution),  cmocka_unit_test(excludes_the_fraction_that_is_asked_for),
        cmocka_unit_test(makes_the_same_bytes_everywhere),   cmocka_unit_test(gives_each_tensor_numbers_of_its_own),
        cmocka_unit_test(refuses_options_that_make_no_case), cmocka_unit_test(rounds_16_bit_types_to_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
