/* SPDX-License-Identifier: Apache-2.0 */
/* src/base: conversions, checked sizes, memory, the generator of dropout. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/reason.h"
#include "tests/support/element.h"

/* ----------------------------------------------------------------------------------------------------- 16-bit types */

/* A 16-bit format by the numbers of its definition, and the library's conversions of it. */
typedef struct format {
    attn_type type;
    int mantissa_bits, bias;
    uint16_t infinity;
    float (*to_f32)(uint16_t bits);
    uint16_t (*from_f32)(float value);
    uint16_t (*from_f64)(double value);
} format;

static const format formats[] = {
    {ATTN_F16, 10, 15, 0x7C00, attn_f16_to_f32, attn_f16_from_f32, attn_f16_from_f64},
    {ATTN_BF16, 7, 127, 0x7F80, attn_bf16_to_f32, attn_bf16_from_f32, attn_bf16_from_f64},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* The number that a positive finite pattern stands for, as IEEE 754 defines it. Exact. The pattern of infinity gives
 * the number that would come after the largest finite one, which is what rounding compares with. */
static double value_of(const format *f, uint16_t bits) {
    int exponent = bits >> f->mantissa_bits;
    int fraction = bits & ((1 << f->mantissa_bits) - 1);
    if (exponent == 0) return ldexp(fraction, 1 - f->bias - f->mantissa_bits);
    return ldexp((1 << f->mantissa_bits) + fraction, exponent - f->bias - f->mantissa_bits);
}

static void every_pattern_reads_as_its_value(void **state) {
    (void)state;
    for (int n = 0; n < FORMATS; n++) {
        const format *f = &formats[n];
        for (uint32_t bits = 0; bits < f->infinity; bits++) {
            double value = value_of(f, (uint16_t)bits);
            assert_true((double)f->to_f32((uint16_t)bits) == value);
            assert_true((double)f->to_f32((uint16_t)(bits | 0x8000)) == -value);
            assert_true(signbit(f->to_f32((uint16_t)(bits | 0x8000))));
        }
        assert_true(f->to_f32(f->infinity) == INFINITY);
        assert_true(f->to_f32((uint16_t)(f->infinity | 0x8000)) == -INFINITY);
        for (uint32_t bits = f->infinity + 1u; bits < 0x8000; bits++) {
            assert_true(isnan(f->to_f32((uint16_t)bits)));
            assert_true(isnan(f->to_f32((uint16_t)(bits | 0x8000))));
        }
    }
}

static void every_pattern_survives_a_round_trip(void **state) {
    (void)state;
    for (int n = 0; n < FORMATS; n++) {
        const format *f = &formats[n];
        for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
            float value = f->to_f32((uint16_t)bits);
            if (isnan(value)) {
                assert_true(isnan(f->to_f32(f->from_f32(value))));
                assert_true(isnan(f->to_f32(f->from_f64((double)value))));
            } else {
                assert_int_equal(f->from_f32(value), bits);
                assert_int_equal(f->from_f64((double)value), bits);
            }
        }
    }
}

static void rounds_to(const format *f, double value, uint16_t expected) {
    assert_int_equal(f->from_f64(value), expected);
    assert_int_equal(f->from_f64(-value), expected | 0x8000);
    if ((double)(float)value == value) {
        assert_int_equal(f->from_f32((float)value), expected);
        assert_int_equal(f->from_f32(-(float)value), expected | 0x8000);
    }
}

/* Rounding is right everywhere if it is right at and right beside each midpoint of two neighbours (the last of which
 * would be the number that infinity stands in for), and does not fall in between. */
static void every_midpoint_rounds_to_even(void **state) {
    (void)state;
    for (int n = 0; n < FORMATS; n++) {
        const format *f = &formats[n];
        for (uint16_t bits = 0; bits < f->infinity; bits++) {
            uint16_t next = (uint16_t)(bits + 1);
            double middle = (value_of(f, bits) + value_of(f, next)) / 2.0;
            rounds_to(f, middle, bits & 1 ? next : bits);
            rounds_to(f, nextafter(middle, 0.0), bits);
            rounds_to(f, nextafter(middle, INFINITY), next);
            /* Half of bf16's smallest subnormal is no normal float; there the neighbours in float are subnormal. */
            float single = (float)middle;
            if ((double)single != middle) continue;
            rounds_to(f, (double)nextafterf(single, 0.0f), bits);
            rounds_to(f, (double)nextafterf(single, INFINITY), next);
        }
    }
}

static void the_ends_of_the_range_round(void **state) {
    (void)state;
    for (int n = 0; n < FORMATS; n++) {
        const format *f = &formats[n];
        rounds_to(f, 0.0, 0);
        rounds_to(f, 0x1p-1074, 0);
        rounds_to(f, 0x1p-1022, 0);
        rounds_to(f, 0x1p+128, f->infinity);
        rounds_to(f, 1.7976931348623157e308, f->infinity);
        rounds_to(f, INFINITY, f->infinity);
    }
    assert_int_equal(attn_f16_from_f64(65504.0), 0x7BFF);
    assert_int_equal(attn_f16_from_f64(65519.999999999), 0x7BFF);
    assert_int_equal(attn_f16_from_f64(65520.0), 0x7C00);
    /* In float this is 1 + 2^-11, a tie, which would go to even: rounding twice gives 0x3C00. */
    assert_int_equal(attn_f16_from_f64(1.0 + 0x1p-11 + 0x1p-40), 0x3C01);
    assert_int_equal(attn_bf16_from_f64(1.0 + 0x1p-8 + 0x1p-40), 0x3F81);
}

static void every_kind_of_nan_stays_nan(void **state) {
    (void)state;
    static const uint32_t patterns[] = {0x7F800001, 0x7F801FFF, 0x7F802000, 0x7F80FFFF, 0x7FBFFFFF,
                                        0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFC00000, 0xFFFFFFFF};
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
        float single;
        memcpy(&single, &patterns[p], sizeof single);
        uint64_t wide_bits = (uint64_t)(patterns[p] >> 31) << 63 | UINT64_C(0x7FF0000000000001);
        double wide;
        memcpy(&wide, &wide_bits, sizeof wide);
        for (int n = 0; n < FORMATS; n++) {
            assert_true(isnan(formats[n].to_f32(formats[n].from_f32(single))));
            assert_true(isnan(formats[n].to_f32(formats[n].from_f64(wide))));
        }
    }
}

/* --------------------------------------------------------------------------------------------------------- elements */

static void elements_are_stored_and_loaded(void **state) {
    (void)state;
    static const attn_type types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64};
    static const double values[] = {0.0, -1.0, 1.0 / 3.0, 1e-6, 40000.0};
    enum { VALUES = sizeof values / sizeof values[0], STRIDE = 3 };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        double memory[VALUES * STRIDE] = {0.0}, row[VALUES];
        for (int n = 0; n < VALUES; n++) attn_store(types[t], memory, n * STRIDE, values[n]);
        attn_load_row(types[t], memory, 0, STRIDE, VALUES, row);
        for (int n = 0; n < VALUES; n++) {
            assert_true(attn_load(types[t], memory, n * STRIDE) == test_round(types[t], values[n]));
            assert_true(row[n] == test_round(types[t], values[n]));
        }
        attn_load_row(types[t], memory, (VALUES - 1) * STRIDE, -STRIDE, VALUES, row);
        assert_true(row[0] == test_round(types[t], values[VALUES - 1]));
        assert_true(row[VALUES - 1] == test_round(types[t], values[0]));
    }
}

static void integers_are_loaded(void **state) {
    (void)state;
    const int32_t narrow[] = {7, INT32_MIN};
    const int64_t wide[] = {7, INT64_MIN};
    assert_true(attn_load_integer(ATTN_I32, narrow, 0) == 7);
    assert_true(attn_load_integer(ATTN_I32, narrow, 1) == INT32_MIN);
    assert_true(attn_load_integer(ATTN_I64, wide, 0) == 7);
    assert_true(attn_load_integer(ATTN_I64, wide, 1) == INT64_MIN);
}

/* ---------------------------------------------------------------------------------------------------- checked sizes */

static const int64_t edges[] = {0,
                                1,
                                2,
                                3,
                                INT64_C(3037000499),
                                INT64_C(3037000500),
                                INT64_MAX / 2,
                                -1,
                                -2,
                                -3,
                                INT64_MIN,
                                INT64_C(-3037000500),
                                INT64_MIN / 2,
                                INT64_MAX,
                                7,
                                -7,
                                1LL << 32,
                                -(1LL << 32),
                                INT64_MAX - 1,
                                INT64_MIN + 1,
                                INT64_MAX / 3};
enum { EDGES = sizeof edges / sizeof edges[0] };

/* Whether it fits, from the magnitude of the product in two words: another way than the library's. */
static int product_fits(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    uint64_t low = (x & UINT32_MAX) * (y & UINT32_MAX);
    uint64_t middle1 = (x >> 32) * (y & UINT32_MAX) + (low >> 32);
    uint64_t middle2 = (x & UINT32_MAX) * (y >> 32) + (middle1 & UINT32_MAX);
    uint64_t high = (x >> 32) * (y >> 32) + (middle1 >> 32) + (middle2 >> 32);
    uint64_t limit = (a < 0) != (b < 0) ? UINT64_C(1) << 63 : (uint64_t)INT64_MAX;
    return high == 0 && x * y <= limit;
}

static void products_fit_or_are_refused(void **state) {
    (void)state;
    for (int m = 0; m < EDGES; m++)
        for (int n = 0; n < EDGES; n++) {
            int64_t product = 42;
            int fits = attn_mul_i64(edges[m], edges[n], &product);
            assert_int_equal(fits, product_fits(edges[m], edges[n]));
            assert_true((uint64_t)product == (fits ? (uint64_t)edges[m] * (uint64_t)edges[n] : 42));
        }
}

static void sums_fit_or_are_refused(void **state) {
    (void)state;
    for (int m = 0; m < EDGES; m++)
        for (int n = 0; n < EDGES; n++) {
            int64_t a = edges[m], b = edges[n], sum = 42;
            uint64_t wrapped = (uint64_t)a + (uint64_t)b;
            int wraps = (a < 0) == (b < 0) && (wrapped >> 63 != 0) != (a < 0);
            assert_int_equal(attn_add_i64(a, b, &sum), !wraps);
            assert_true((uint64_t)sum == (wraps ? 42 : wrapped));
            int64_t saturated = attn_add_saturated(a, b);
            assert_true(wraps ? saturated == (a < 0 ? INT64_MIN : INT64_MAX) : (uint64_t)saturated == wrapped);
        }
}

static void sizes_fit_or_are_refused(void **state) {
    (void)state;
    size_t result = 42;
    assert_false(attn_mul_size(SIZE_MAX, 2, &result));
    assert_false(attn_mul_size(SIZE_MAX / 3 + 1, 3, &result));
    assert_false(attn_add_size(SIZE_MAX, 1, &result));
    assert_true(result == 42);
    assert_true(attn_mul_size(SIZE_MAX / 3, 3, &result) && result == SIZE_MAX / 3 * 3);
    assert_true(attn_mul_size(0, SIZE_MAX, &result) && result == 0);
    assert_true(attn_mul_size(SIZE_MAX, 0, &result) && result == 0);
    assert_true(attn_add_size(SIZE_MAX - 1, 1, &result) && result == SIZE_MAX);
    assert_true(attn_align_size(0) == 0);
    assert_true(attn_align_size(1) == ATTN_ALIGNMENT);
    assert_true(attn_align_size(ATTN_ALIGNMENT) == ATTN_ALIGNMENT);
    assert_true(attn_align_size(SIZE_MAX) == 0);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

/* Hooks that give addresses which are as badly aligned as they may be, and remember sizes. */
typedef struct counting {
    size_t asked, given_back;
    int fail;
} counting;

static void *counting_allocate(void *user, size_t size) {
    counting *c = user;
    if (c->fail) return NULL;
    char *block = malloc(size + 2 * ATTN_ALIGNMENT);
    assert_non_null(block);
    size_t beyond = (size_t)((uintptr_t)block % ATTN_ALIGNMENT);
    char *aligned = block + (ATTN_ALIGNMENT - beyond);
    char *worst = aligned + sizeof(max_align_t);
    ((char **)(void *)worst)[-1] = block;
    c->asked += size;
    memset(worst, 0xA5, size);
    return worst;
}

static void counting_release(void *user, void *block, size_t size) {
    counting *c = user;
    c->given_back += size;
    free(((char **)block)[-1]);
}

static void blocks_are_aligned_and_given_back_whole(void **state) {
    (void)state;
    counting c = {0, 0, 0};
    const attn_memory memories[] = {attn_memory_from(NULL, NULL, NULL),
                                    attn_memory_from(counting_allocate, counting_release, &c)};
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096};
    for (int m = 0; m < 2; m++)
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
            unsigned char *block = attn_memory_take(&memories[m], sizes[n]);
            assert_non_null(block);
            assert_true((uintptr_t)block % ATTN_ALIGNMENT == 0);
            memset(block, 0x5A, sizes[n]);
            attn_memory_give(&memories[m], block);
        }
    assert_true(c.asked > 0);
    assert_true(c.given_back == c.asked);
}

static void no_memory_is_null(void **state) {
    (void)state;
    counting c = {0, 0, 1};
    attn_memory memory = attn_memory_from(counting_allocate, counting_release, &c);
    assert_null(attn_memory_take(&memory, 100));
    c.fail = 0;
    assert_null(attn_memory_take(&memory, SIZE_MAX));
    assert_null(attn_memory_take(&memory, SIZE_MAX - ATTN_ALIGNMENT));
    attn_memory_give(&memory, NULL);
    assert_true(c.given_back == 0);
}

/* ---------------------------------------------------------------------------------------------------------- reasons */

static void reasons_are_cut_and_emptied(void **state) {
    (void)state;
    attn_reason reason;
    memset(reason.text, 'x', sizeof reason.text);
    assert_int_equal(attn_fail(&reason, ATTN_ERROR_SHAPE, "%d rows", 7), ATTN_ERROR_SHAPE);
    assert_string_equal(reason.text, "7 rows");
    assert_int_equal(attn_fail(&reason, ATTN_ERROR_MEMORY, "%0400d", 1), ATTN_ERROR_MEMORY);
    assert_true(strlen(reason.text) == sizeof reason.text - 1);
    assert_int_equal(attn_succeed(&reason), ATTN_OK);
    assert_string_equal(reason.text, "");
    assert_int_equal(attn_fail(NULL, ATTN_ERROR_SHAPE, "unheard"), ATTN_ERROR_SHAPE);
    assert_int_equal(attn_succeed(NULL), ATTN_OK);
}

/* ----------------------------------------------------------------------------------------------------------- Philox */

/* The known answers that the authors publish with their Random123 library. */
static void philox_gives_the_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++) {
        uint32_t out[4];
        attn_philox_4x32_10(known[n].counter, known[n].key, out);
        assert_memory_equal(out, known[n].out, sizeof out);
    }
}

static void dropout_counts_as_documented(void **state) {
    (void)state;
    const double p = 0.375;
    attn_dropout dropout = attn_dropout_make(p, UINT64_C(0x1122334455667788), UINT64_C(0x99AABBCCDDEEFF00));
    assert_true(dropout.keep_scale == 1.0 / (1.0 - p));
    assert_true(dropout.threshold == UINT32_C(0x60000000));
    const int64_t head_index = 0x100000002, row = 0x300000004, quad = 0x500000006;
    const uint32_t counter[4] = {6, 4, 2, 0xDDEEFF00}, key[2] = {0x55667788, 0x11223344 ^ 0x99AABBCC};
    uint32_t words[4];
    uint8_t keep[4];
    attn_philox_4x32_10(counter, key, words);
    attn_dropout_keep(&dropout, head_index, row, quad, keep);
    for (int n = 0; n < 4; n++) assert_int_equal(keep[n], words[n] >= UINT32_C(0x60000000));
}

/* 40,000 decisions at p: within five standard deviations of the mean. */
static void dropout_drops_the_share_asked_for(void **state) {
    (void)state;
    static const double shares[] = {0.0, 0.1, 0.5, 0.9, 1.0 - 0x1p-53};
    for (size_t s = 0; s < sizeof shares / sizeof shares[0]; s++) {
        attn_dropout dropout = attn_dropout_make(shares[s], 1, 2);
        int dropped = 0;
        for (int64_t n = 0; n < 10000; n++) {
            uint8_t keep[4];
            attn_dropout_keep(&dropout, n % 7, n / 70, n % 10, keep);
            dropped += 4 - keep[0] - keep[1] - keep[2] - keep[3];
        }
        double deviation = sqrt(40000.0 * shares[s] * (1.0 - shares[s]));
        assert_true(fabs(dropped - 40000.0 * shares[s]) <= 5.0 * deviation + 1e-6);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_reads_as_its_value),
        cmocka_unit_test(every_pattern_survives_a_round_trip),
        cmocka_unit_test(every_midpoint_rounds_to_even),
        cmocka_unit_test(the_ends_of_the_range_round),
        cmocka_unit_test(every_kind_of_nan_stays_nan),
        cmocka_unit_test(elements_are_stored_and_loaded),
        cmocka_unit_test(integers_are_loaded),
        cmocka_unit_test(products_fit_or_are_refused),
        cmocka_unit_test(sums_fit_or_are_refused),
        cmocka_unit_test(sizes_fit_or_are_refused),
        cmocka_unit_test(blocks_are_aligned_and_given_back_whole),
        cmocka_unit_test(no_memory_is_null),
        cmocka_unit_test(reasons_are_cut_and_emptied),
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(dropout_counts_as_documented),
        cmocka_unit_test(dropout_drops_the_share_asked_for),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
