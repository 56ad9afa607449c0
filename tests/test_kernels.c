/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel of every instruction set of this machine, for f32 and f64 tiles.
 *
 * Three yardsticks, from the strictest:
 *
 *   same bits    what moves, rounds or excludes numbers gives the bits of the definition and of the portable twin
 *   same chain   scores(), scores_in_place() and accumulate() give the bits of one chain of multiply-adds in the order
 *                that kernels.h promises, and accumulate_rows() those of one chain a part of the keys, written here with
 *                fma() (with two roundings for portable C): the same bits for every number of rows, keys and columns
 *                follow from it, and NaN, infinities and overflow need no rule of their own
 *   bounds       against the definition in double. With u the unit roundoff and e half the smallest subnormal, a sum of
 *                n products in whatever order is off by at most n (u sum |a_i b_i| + e), as each product and each
 *                addition is off by u times its result (Higham, "Accuracy and Stability of Numerical Algorithms",
 *                section 3.1) or by e below the normal numbers. The definition's own sum, in double, adds n 2^-53 sum.
 *
 * Outputs lie in poisoned memory between pages that nobody may touch. What a kernel may write is said before it runs;
 * all else must keep its bytes. The poison is NaN in every type, so that the use of memory that was never written
 * shows.
 *
 * `test_kernels --bench` measures them instead (support/kernel_bench.h).
 */
#include "support/cmocka_all.h"

#include "cpu/isa.h"
#include "support/element.h"
#include "support/engine.h"
#include "support/guarded.h"
#include "support/kernel_bench.h"
#include "support/prng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --------------------------------------------------------------------------------------------------- what is tested */

typedef struct subject {
    const attn_kernels *kernels;
    const attn_kernels *twin; /* portable C's of the same type */
    attn_type type;
    int fused;           /* multiply-adds round once */
    double roundoff;     /* u */
    double underflow;    /* e */
    double normal;       /* the smallest normal number */
    double largest;      /* the largest finite number */
    double exp_lowest;   /* at and below it the exponential is exactly 0, by kernels.inc */
    double exp_relative; /* relative error of its polynomial, by kernels.inc */
    double exp_growth;   /* and its growth with |x|: the error of ln 2 in the type over ln 2 */
} subject;

/* The largest finite number. */
static double largest_of(attn_type type) {
    switch (type) {
    case ATTN_F64:
        return 0x1.fffffffffffffp1023;
    case ATTN_F16:
        return 0x1.ffcp15;
    case ATTN_BF16:
        return 0x1.fep127;
    default:
        return 0x1.fffffep127;
    }
}

static subject subject_make(const attn_kernel_set *set, attn_type type) {
    const int wide = type == ATTN_F64;
    subject s = {.type = type, .fused = set->cpu != ATTN_CPU_PORTABLE};
    s.kernels = wide ? set->f64 : set->f32;
    s.twin = wide ? attn_kernels_portable.f64 : attn_kernels_portable.f32;
    s.roundoff = test_unit_roundoff(type);
    s.underflow = test_underflow(type);
    s.normal = wide ? 0x1p-1022 : 0x1p-126;
    s.largest = largest_of(type);
    s.exp_lowest = wide ? -709.09 : (double)-88.03f;
    s.exp_relative = wide ? 5e-18 : 3.1e-9;
    s.exp_growth = wide ? 3.35e-17 : 2.75e-9;
    return s;
}

/* The number nearest to x in the subject's type. */
static double rounded(const subject *s, double x) {
    return test_round(s->type, x);
}

/* The neighbour of x in the subject's type on the side of `to`. */
static double neighbour(const subject *s, double x, double to) {
    return s->type == ATTN_F64 ? nextafter(x, to) : (double)nextafterf((float)x, (float)to);
}

/* a * b + c as the kernels compute it. */
static double multiply_add(const subject *s, double a, double b, double c) {
    if (s->type == ATTN_F64) return s->fused ? fma(a, b, c) : a * b + c;
    const float x = (float)a, y = (float)b, z = (float)c;
    return (double)(s->fused ? fmaf(x, y, z) : x * y + z);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

enum { CANARY = 64 }; /* bytes before the data; behind it are less than that and then a page that nobody may touch */

typedef struct buffer {
    attn_type type;
    void *data;
    test_block block;
    unsigned char *before;   /* of every byte of the block: what it was when the buffer was sealed */
    unsigned char *writable; /* and whether it may change since then */
} buffer;

typedef enum placement {
    ALIGNED, /* to 64 bytes, as the engine's own memory is */
    TIGHT    /* ends where the forbidden page begins, as a caller's memory may */
} placement;

static void *demand(void *memory) {
    if (!memory) fail_msg("no memory");
    return memory;
}

/* NaN in every floating-point type, whichever bytes of it make up a number; not the same everywhere. */
static void buffer_poison(buffer *b) {
    for (size_t n = 0; n < b->block.size; n++) b->block.data[n] = n % 2 ? 0xFF : (unsigned char)(0xF1 + n / 2 % 14);
}

static buffer buffer_make(attn_type type, int64_t count, placement place) {
    const size_t bytes = (size_t)count * attn_type_size(type);
    const size_t padded = place == ALIGNED ? (bytes + CANARY - 1) / CANARY * CANARY : bytes;
    buffer b = {.type = type, .block = test_block_make(CANARY + padded, TEST_BLOCK_AT_END, 0)};
    b.data = b.block.data + CANARY;
    b.before = demand(calloc(b.block.size, 1));
    b.writable = demand(calloc(b.block.size, 1));
    buffer_poison(&b);
    return b;
}

static void buffer_free(buffer *b) {
    test_block_free(&b->block);
    free(b->before);
    free(b->writable);
}

static void *at(const buffer *b, int64_t index) {
    return (char *)b->data + index * (int64_t)attn_type_size(b->type);
}

static double get(const buffer *b, int64_t index) {
    return test_load(b->type, b->data, index);
}

static void put(buffer *b, int64_t index, double value) {
    test_store(b->type, b->data, index, value);
}

/* From here on nothing may change but what is allowed. */
static void buffer_seal(buffer *b) {
    memcpy(b->before, b->block.data, b->block.size);
    memset(b->writable, 0, b->block.size);
}

static void buffer_allow(buffer *b, int64_t index, int64_t count) {
    const size_t size = attn_type_size(b->type);
    memset(b->writable + ((unsigned char *)at(b, index) - b->block.data), 1, (size_t)count * size);
}

static void buffer_check(const buffer *b, const char *name) {
    const ptrdiff_t size = (ptrdiff_t)attn_type_size(b->type);
    for (size_t n = 0; n < b->block.size; n++)
        if (!b->writable[n] && b->block.data[n] != b->before[n])
            fail_msg("%s: element %td was written", name, ((ptrdiff_t)n - CANARY) / size);
}

static int same_bits(const buffer *a, int64_t i, const buffer *b, int64_t j, int64_t count) {
    return memcmp(at(a, i), at(b, j), (size_t)count * attn_type_size(a->type)) == 0;
}

/* ------------------------------------------------------------------------------------------------------- comparison */

/* The same number, the sign of 0 included; NaN is NaN. */
static int is_same(double a, double b) {
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static void expect_same(double got, double expected, const char *what, int64_t i, int64_t j) {
    if (!is_same(got, expected)) fail_msg("%s [%" PRId64 "][%" PRId64 "]: %.17g, not %.17g", what, i, j, got, expected);
}

/* A tolerance that is not a number fits no number. */
static void expect_near(double got, double expected, double tolerance, const char *what, int64_t i, int64_t j) {
    const int fits = isfinite(expected) ? fabs(got - expected) <= tolerance : is_same(got, expected);
    if (!fits)
        fail_msg("%s [%" PRId64 "][%" PRId64 "]: %.17g, not %.17g +- %.3g", what, i, j, got, expected, tolerance);
}

/* ------------------------------------------------------------------------------------------------------------- data */

typedef enum data_kind {
    NORMAL,
    WIDE,      /* magnitudes over many binary orders */
    LARGE,     /* products of two, and sums of 256 of those, just fit the type; f16 has no room for them */
    SMALL,     /* products of two are subnormal; of f16, the numbers themselves */
    SUBNORMAL, /* half of the numbers are */
    SPECIAL,   /* NaN, infinities, the ends of the range and zeros among normal ones */
    DATA_KINDS
} data_kind;

typedef struct exponents {
    int low, high;
} exponents;

/* Of the numbers of each kind, by type. */
typedef struct data_sizes {
    exponents wide, large, small, subnormal;
} data_sizes;

static data_sizes sizes_of(attn_type type) {
    switch (type) {
    case ATTN_F64:
        return (data_sizes){{-200, 200}, {506, 507}, {-538, -530}, {-1073, -1022}};
    case ATTN_F16:
        return (data_sizes){{-12, 12}, {14, 15}, {-23, -14}, {-23, -14}};
    case ATTN_BF16:
        return (data_sizes){{-25, 25}, {58, 59}, {-75, -70}, {-132, -126}};
    default:
        return (data_sizes){{-25, 25}, {58, 59}, {-75, -70}, {-148, -126}};
    }
}

static double draw_within(test_prng *prng, exponents range) {
    const double size = ldexp(0.5 + test_prng_uniform(prng) / 2, (int)test_prng_range(prng, range.low, range.high));
    return test_prng_chance(prng, 50) ? size : -size;
}

static double draw_special(test_prng *prng, attn_type type) {
    const double largest = largest_of(type);
    const double specials[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, largest, -largest, 0.0, -0.0};
    if (test_prng_chance(prng, 96)) return test_prng_normal(prng);
    return specials[test_prng_range(prng, 0, (int)(sizeof specials / sizeof specials[0]) - 1)];
}

static double draw(test_prng *prng, attn_type type, data_kind kind) {
    const data_sizes sizes = sizes_of(type);
    switch (kind) {
    case WIDE:
        return draw_within(prng, sizes.wide);
    case LARGE:
        return draw_within(prng, sizes.large);
    case SMALL:
        return draw_within(prng, sizes.small);
    case SUBNORMAL:
        return test_prng_chance(prng, 50) ? draw_within(prng, sizes.subnormal) : test_prng_normal(prng);
    case SPECIAL:
        return draw_special(prng, type);
    default:
        return test_prng_normal(prng);
    }
}

static void fill(buffer *b, int64_t first, int64_t count, test_prng *prng, data_kind kind) {
    for (int64_t n = 0; n < count; n++) put(b, first + n, draw(prng, b->type, kind));
}

/* -------------------------------------------------------------------------------------------------- sums of products */

/* By the definition in double, and as one chain of multiply-adds. */
typedef struct product_sum {
    int64_t count;
    double exact, sizes, chain;
} product_sum;

static void add_product(const subject *s, product_sum *sum, double a, double b) {
    sum->count++;
    sum->exact += a * b;
    sum->sizes += fabs(a * b);
    sum->chain = multiply_add(s, a, b, sum->chain);
}

/* Of `more` roundings beyond one a product. */
static double sum_tolerance(const subject *s, const product_sum *sum, int more) {
    return (double)(sum->count + more) * ((s->roundoff + 0x1p-53) * sum->sizes + s->underflow);
}

/* -------------------------------------------------------------------------------------------------- rows of storage */

static const attn_type stored_types[] = {ATTN_F32, ATTN_F64, ATTN_F16, ATTN_BF16};
static const int64_t load_strides[] = {1, 2, -1, 0, 5}, store_strides[] = {1, 2, -1, 3};
enum {
    STORED_TYPES = sizeof stored_types / sizeof stored_types[0],
    LOAD_STRIDES = sizeof load_strides / sizeof load_strides[0],
    STORE_STRIDES = sizeof store_strides / sizeof store_strides[0],
    LONGEST_ROW = 130
};

static void call_load_row(const attn_kernels *kernels, buffer *dst, attn_type type, const void *src, int64_t stride,
                          int64_t n) {
    kernels->load_row(dst->data, type, src, stride, n);
}

static void call_store_row(const attn_kernels *kernels, attn_type type, void *dst, int64_t stride, const buffer *src,
                           int64_t n, double divisor) {
    kernels->store_row(type, dst, stride, src->data, n, divisor);
}

/* Elements from the lowest to the highest of a strided row. */
static int64_t reach(int64_t stride, int64_t n) {
    return n == 0 ? 0 : 1 + (n - 1) * (stride < 0 ? -stride : stride);
}

static int64_t first_index(int64_t stride, int64_t n) {
    return stride < 0 && n > 0 ? (1 - n) * stride : 0;
}

/* Element n of a row of odd numbers: every sign, size and, in f64, digits that f32 has not. */
static double odd_number(int64_t n, attn_type type) {
    if (n % 41 == 40) return (double)NAN;
    if (n % 41 == 20) return n % 2 ? -(double)INFINITY : 0.0;
    return test_round(type, ldexp(1.0 / (double)(n + 3), (int)(n * 7 % 33) - 20) * (n % 2 ? -1 : 1));
}

static void check_load_row(const subject *s, attn_type type, int64_t stride, int64_t n) {
    buffer src = buffer_make(type, reach(stride, n), TIGHT);
    buffer dst = buffer_make(s->type, n, n % 2 ? TIGHT : ALIGNED), twin = buffer_make(s->type, n, ALIGNED);
    const int64_t first = first_index(stride, n);
    for (int64_t i = 0; i < n; i++) put(&src, first + i * stride, odd_number(i, type));
    buffer_seal(&dst);
    buffer_allow(&dst, 0, n);
    call_load_row(s->kernels, &dst, type, at(&src, first), stride, n);
    call_load_row(s->twin, &twin, type, at(&src, first), stride, n);
    buffer_check(&dst, "load_row");
    for (int64_t i = 0; i < n; i++)
        expect_same(get(&dst, i), rounded(s, get(&src, first + i * stride)), "load_row", n, i);
    if (!same_bits(&dst, 0, &twin, 0, n)) fail_msg("load_row of %" PRId64 ": other bits than the twin's", n);
    buffer_free(&src);
    buffer_free(&dst);
    buffer_free(&twin);
}

static void load_row_reads_every_type_stride_and_size(void **state) {
    const subject *s = *state;
    for (int t = 0; t < STORED_TYPES; t++)
        for (int i = 0; i < LOAD_STRIDES; i++)
            for (int64_t n = 0; n <= LONGEST_ROW; n++) check_load_row(s, stored_types[t], load_strides[i], n);
}

/* A row may begin at any element, whatever the vector's alignment. */
static void load_row_reads_from_any_address(void **state) {
    const subject *s = *state;
    buffer dst = buffer_make(s->type, 67, ALIGNED);
    for (int t = 0; t < STORED_TYPES; t++) {
        buffer src = buffer_make(stored_types[t], 100, ALIGNED);
        for (int64_t i = 0; i < 100; i++) put(&src, i, odd_number(i, stored_types[t]));
        for (int64_t shift = 0; shift < 33; shift++) {
            call_load_row(s->kernels, &dst, stored_types[t], at(&src, shift), 1, 67);
            for (int64_t i = 0; i < 67; i++)
                expect_same(get(&dst, i), rounded(s, get(&src, shift + i)), "load_row", shift, i);
        }
        buffer_free(&src);
    }
    buffer_free(&dst);
}

enum { PATTERNS = 65536 };

static void check_patterns(const subject *s, attn_type type, int64_t stride) {
    buffer src = buffer_make(type, PATTERNS, TIGHT);
    buffer dst = buffer_make(s->type, PATTERNS, ALIGNED), twin = buffer_make(s->type, PATTERNS, ALIGNED);
    for (int64_t bits = 0; bits < PATTERNS; bits++) {
        const uint16_t pattern = (uint16_t)bits;
        memcpy(at(&src, bits), &pattern, sizeof pattern);
    }
    const int64_t first = first_index(stride, PATTERNS);
    call_load_row(s->kernels, &dst, type, at(&src, first), stride, PATTERNS);
    call_load_row(s->twin, &twin, type, at(&src, first), stride, PATTERNS);
    for (int64_t i = 0; i < PATTERNS; i++)
        expect_same(get(&dst, i), get(&src, first + i * stride), attn_type_name(type), stride, i);
    if (!same_bits(&dst, 0, &twin, 0, PATTERNS)) fail_msg("%s: other bits than the twin's", attn_type_name(type));
    buffer_free(&src);
    buffer_free(&dst);
    buffer_free(&twin);
}

static void load_row_reads_every_16_bit_pattern(void **state) {
    check_patterns(*state, ATTN_F16, 1);
    check_patterns(*state, ATTN_F16, -1);
    check_patterns(*state, ATTN_BF16, 1);
    check_patterns(*state, ATTN_BF16, -1);
}

/* The divisor and the quotient are rounded to the tile's type on the way, so that the result may be off by that much
 * more than by one rounding. With divisors that only move the exponent there is nothing to round before. */
static void check_store_row(const subject *s, attn_type type, int64_t stride, int64_t n, double divisor, int exact) {
    buffer src = buffer_make(s->type, n, TIGHT);
    buffer dst = buffer_make(type, reach(stride, n), TIGHT), twin = buffer_make(type, reach(stride, n), TIGHT);
    const int64_t first = first_index(stride, n);
    for (int64_t i = 0; i < n; i++) put(&src, i, odd_number(i, s->type));
    buffer_seal(&dst);
    for (int64_t i = 0; i < n; i++) buffer_allow(&dst, first + i * stride, 1);
    call_store_row(s->kernels, type, at(&dst, first), stride, &src, n, divisor);
    call_store_row(s->twin, type, at(&twin, first), stride, &src, n, divisor);
    buffer_check(&dst, "store_row");
    for (int64_t i = 0; i < n; i++) {
        const double quotient = get(&src, i) / divisor, got = get(&dst, first + i * stride);
        const double relative = 1.01 * (test_unit_roundoff(type) + 2 * s->roundoff + 0x1p-53);
        const double absolute = test_underflow(type) + s->underflow;
        if (exact) expect_same(got, test_round(type, quotient), "store_row", n, i);
        expect_near(got, quotient, relative * fabs(quotient) + absolute, "store_row", n, i);
        expect_same(got, get(&twin, first + i * stride), "store_row's twin", n, i);
    }
    buffer_free(&src);
    buffer_free(&dst);
    buffer_free(&twin);
}

static void store_row_writes_every_type_stride_and_size(void **state) {
    const subject *s = *state;
    for (int t = 0; t < STORED_TYPES; t++)
        for (int i = 0; i < STORE_STRIDES; i++)
            for (int64_t n = 0; n <= LONGEST_ROW; n++)
                check_store_row(s, stored_types[t], store_strides[i], n, n % 2 ? 1.0 : -2.0, 1);
}

static void store_row_divides_before_it_rounds(void **state) {
    const subject *s = *state;
    const double divisors[] = {3.0, 1e9, 0.7, (double)INFINITY, 4096.1};
    for (int t = 0; t < STORED_TYPES; t++)
        for (int d = 0; d < (int)(sizeof divisors / sizeof divisors[0]); d++) {
            check_store_row(s, stored_types[t], 1, 67, divisors[d], 0);
            check_store_row(s, stored_types[t], 2, 67, divisors[d], 0);
        }
}

/* Writes values to the type and back through store_row and checks each. */
static void check_rounding(const subject *s, attn_type type, buffer *values, int64_t n) {
    buffer dst = buffer_make(type, 2 * n, ALIGNED), twin = buffer_make(type, n, ALIGNED);
    for (int64_t stride = 1; stride <= 2; stride++) {
        call_store_row(s->kernels, type, dst.data, stride, values, n, 1.0);
        call_store_row(s->twin, type, twin.data, 1, values, n, 1.0);
        for (int64_t i = 0; i < n; i++) {
            expect_same(get(&dst, i * stride), test_round(type, get(values, i)), attn_type_name(type), stride, i);
            expect_same(get(&dst, i * stride), get(&twin, i), "store_row's twin", stride, i);
        }
    }
    buffer_free(&dst);
    buffer_free(&twin);
}

/* A number, and what lies right below, at and right above the midpoint between it and the next one. */
static void put_around(const subject *s, buffer *values, int64_t at_index, double low, double high) {
    const double middle = (low + high) / 2;
    put(values, at_index, low);
    put(values, at_index + 1, neighbour(s, middle, 0.0));
    put(values, at_index + 2, middle);
    put(values, at_index + 3, neighbour(s, middle, (double)INFINITY));
}

/* Rounding is right if it is right there, for every number of the format. The last one's next is where infinity begins. */
static void check_every_midpoint(const subject *s, attn_type type, int infinity) {
    buffer format = buffer_make(type, infinity, ALIGNED), values = buffer_make(s->type, 4 * (int64_t)infinity, ALIGNED);
    for (int bits = 0; bits < infinity; bits++) {
        const uint16_t pattern = (uint16_t)bits;
        memcpy(at(&format, bits), &pattern, sizeof pattern);
    }
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int bits = 0; bits < infinity; bits++) {
            const double low = get(&format, bits);
            const double high = bits + 1 < infinity ? get(&format, bits + 1) : 2 * low - get(&format, bits - 1);
            put_around(s, &values, 4 * (int64_t)bits, low, high);
        }
        for (int64_t i = 0; i < 4 * (int64_t)infinity; i++) put(&values, i, sign * get(&values, i));
        check_rounding(s, type, &values, 4 * (int64_t)infinity);
    }
    buffer_free(&format);
    buffer_free(&values);
}

static void store_row_rounds_to_nearest_even(void **state) {
    check_every_midpoint(*state, ATTN_F16, 0x7C00);
    check_every_midpoint(*state, ATTN_BF16, 0x7F80);
}

static void store_row_keeps_special_numbers(void **state) {
    const subject *s = *state;
    const double numbers[] = {(double)NAN,
                              -(double)NAN,
                              (double)INFINITY,
                              -(double)INFINITY,
                              0.0,
                              -0.0,
                              s->largest,
                              -s->largest,
                              2 * s->underflow,
                              -2 * s->underflow,
                              1.0 + 0x1p-24,           /* a tie of f32 */
                              1.0 + 0x1p-23 + 0x1p-24, /* and its other kind */
                              0x1.ffffffp127,          /* rounds to infinity in f32 */
                              0x1.fffffefffffffp127,   /* and this does not */
                              0x1p-150,                /* ties to 0 */
                              0x1.8p-149};
    enum { COUNT = sizeof numbers / sizeof numbers[0], REPEATS = 3 };
    /* Each number meets the vectors and what is left over after them. */
    buffer values = buffer_make(s->type, COUNT * REPEATS + 1, ALIGNED);
    for (int64_t i = 0; i < COUNT * REPEATS + 1; i++) put(&values, i, numbers[i % COUNT]);
    for (int t = 0; t < STORED_TYPES; t++)
        for (int64_t n = COUNT; n <= COUNT * REPEATS + 1; n++) check_rounding(s, stored_types[t], &values, n);
    buffer_free(&values);
}

/* A NaN whose digits stand in what is cut off, or would carry out of what stays, is one all the same. */
static void store_row_keeps_every_nan(void **state) {
    const subject *s = *state;
    static const uint32_t narrow[] = {0x7F800001, 0x7F80FFFF, 0x7FBFFFFF, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF};
    enum { COUNT = sizeof narrow / sizeof narrow[0], REPEATS = 4 };
    buffer values = buffer_make(s->type, COUNT * REPEATS, ALIGNED);
    for (int i = 0; i < COUNT * REPEATS; i++) {
        const uint32_t bits = narrow[i % COUNT];
        const uint64_t sign = bits >> 31, digits = bits & 0x7FFFFF;
        const uint64_t wide = sign << 63 | UINT64_C(0x7FF) << 52 | digits << 29 | (digits & 1);
        if (s->type == ATTN_F64) {
            memcpy(at(&values, i), &wide, sizeof wide);
        } else {
            memcpy(at(&values, i), &bits, sizeof bits);
        }
        assert_true(isnan(get(&values, i)));
    }
    for (int t = 0; t < STORED_TYPES; t++)
        for (int n = COUNT; n <= COUNT * REPEATS; n++) check_rounding(s, stored_types[t], &values, n);
    buffer_free(&values);
}

/* One rounding: of the product in double, which is exact for f32 but for the digits that the scale has beyond f32's. */
static void check_scale_row(const subject *s, int64_t n, double scale, int in_place) {
    buffer src = buffer_make(s->type, n, TIGHT), dst = buffer_make(s->type, n, TIGHT);
    test_prng prng = test_prng_make(13, (uint64_t)n);
    fill(&src, 0, n, &prng, n % 2 ? SPECIAL : WIDE);
    if (in_place && n > 0) memcpy(dst.data, src.data, (size_t)n * attn_type_size(s->type));
    buffer_seal(&dst);
    buffer_allow(&dst, 0, n);
    s->kernels->scale_row(dst.data, in_place ? dst.data : src.data, n, scale);
    buffer_check(&dst, "scale_row");
    for (int64_t i = 0; i < n; i++) expect_same(get(&dst, i), rounded(s, get(&src, i) * scale), "scale_row", n, i);
    buffer_free(&src);
    buffer_free(&dst);
}

static void scale_row_multiplies(void **state) {
    const double scales[] = {1.0, 0.125, 0.3, -1e-3, 0.0};
    for (int64_t n = 0; n <= LONGEST_ROW; n++) {
        check_scale_row(*state, n, scales[n % 5], 0);
        check_scale_row(*state, n, scales[n % 5], 1);
    }
}

/* ---------------------------------------------------------------------------------------------------------- packing */

static const int64_t dims[] = {1, 2, 3, 7, 8, 15, 16, 17, 32, 61, 64, 130};
enum { DIMS = sizeof dims / sizeof dims[0], ROWS_MAX = 2 * ATTN_LANES_MAX };

static void call_pack_q(const attn_kernels *kernels, buffer *panel, const void *const *rows, int count, int64_t dim) {
    kernels->pack_q(panel->data, rows, count, dim);
}

static void call_pack_k(const attn_kernels *kernels, buffer *panel, const void *const *keys, int count, int64_t dim) {
    kernels->pack_k(panel->data, keys, count, dim);
}

static void call_pack_v(const attn_kernels *kernels, buffer *panels, const void *row, int64_t key, int64_t keys,
                        int64_t dim_v) {
    kernels->pack_v(panels->data, row, key, keys, dim_v);
}

/* Rows apart from each other and in another order than their numbers: they may lie anywhere. */
static buffer make_rows(const subject *s, const void **rows, int count, int64_t dim, uint64_t seed) {
    test_prng prng = test_prng_make(seed, (uint64_t)dim);
    buffer b = buffer_make(s->type, count * (dim + 1), TIGHT);
    for (int r = 0; r < count; r++) {
        const int64_t first = (count - 1 - r) * (dim + 1) + 1;
        fill(&b, first, dim, &prng, SPECIAL);
        rows[r] = at(&b, first);
    }
    return b;
}

static double of_row(const subject *s, const void *row, int64_t index) {
    return test_load(s->type, row, index);
}

/* Up to lanes - 1 reals beyond the panel may be overwritten. */
static void check_pack_q(const subject *s, int count, int64_t dim) {
    const int mr = s->kernels->mr, beyond = s->kernels->lanes - 1;
    const void *rows[ROWS_MAX];
    buffer source = make_rows(s, rows, count, dim, 1), panel = buffer_make(s->type, dim * mr + beyond, ALIGNED);
    buffer_seal(&panel);
    buffer_allow(&panel, 0, dim * mr + beyond);
    call_pack_q(s->kernels, &panel, rows, count, dim);
    buffer_check(&panel, "pack_q");
    for (int64_t d = 0; d < dim; d++)
        for (int r = 0; r < mr; r++)
            expect_same(get(&panel, d * mr + r), r < count ? of_row(s, rows[r], d) : 0.0, "pack_q", d, r);
    buffer_free(&source);
    buffer_free(&panel);
}

static void pack_q_interleaves_and_fills(void **state) {
    const subject *s = *state;
    for (int i = 0; i < DIMS; i++)
        for (int count = 1; count <= s->kernels->mr; count++) check_pack_q(s, count, dims[i]);
}

static void check_pack_k(const subject *s, int count, int64_t dim) {
    const int nr = s->kernels->nr;
    const void *keys[ROWS_MAX];
    buffer source = make_rows(s, keys, count, dim, 2), panel = buffer_make(s->type, dim * nr, ALIGNED);
    buffer_seal(&panel);
    buffer_allow(&panel, 0, dim * nr);
    call_pack_k(s->kernels, &panel, keys, count, dim);
    buffer_check(&panel, "pack_k");
    for (int64_t d = 0; d < dim; d++)
        for (int j = 0; j < nr; j++)
            expect_same(get(&panel, d * nr + j), j < count ? of_row(s, keys[j], d) : 0.0, "pack_k", d, j);
    buffer_free(&source);
    buffer_free(&panel);
}

static void pack_k_transposes_and_fills(void **state) {
    const subject *s = *state;
    for (int i = 0; i < DIMS; i++)
        for (int count = 1; count <= s->kernels->nr; count++) check_pack_k(s, count, dims[i]);
}

static void check_pack_v(const subject *s, int64_t dim_v, int64_t keys) {
    const int nr = s->kernels->nr;
    const int64_t columns = (dim_v + nr - 1) / nr, key = dim_v % keys;
    const void *row;
    buffer source = make_rows(s, &row, 1, dim_v, 3), panels = buffer_make(s->type, columns * keys * nr, ALIGNED);
    buffer_seal(&panels);
    for (int64_t c = 0; c < columns; c++) buffer_allow(&panels, (c * keys + key) * nr, nr);
    call_pack_v(s->kernels, &panels, row, key, keys, dim_v);
    buffer_check(&panels, "pack_v");
    for (int64_t c = 0; c < columns * nr; c++)
        expect_same(get(&panels, (c / nr * keys + key) * nr + c % nr), c < dim_v ? of_row(s, row, c) : 0.0, "pack_v",
                    dim_v, c);
    buffer_free(&source);
    buffer_free(&panels);
}

static void pack_v_writes_one_row_of_each_panel(void **state) {
    const subject *s = *state;
    for (int64_t dim_v = 1; dim_v <= 3 * s->kernels->nr + 1; dim_v++) {
        check_pack_v(s, dim_v, 1);
        check_pack_v(s, dim_v, 5);
    }
}

/* ----------------------------------------------------------------------------------------------------------- scores */

enum { STRIDE = ATTN_SCORE_STRIDE };

/* A block of three row panels against one k panel. */
typedef struct score_case {
    int64_t dim;
    int rows;
    buffer q, k, scores, row_max;
    attn_next next;
} score_case;

static void call_scores(const subject *s, score_case *c, int row_begin, int row_end) {
    s->kernels->scores(c->scores.data, c->row_max.data, c->q.data, c->k.data, c->dim, row_begin, row_end, &c->next);
}

static score_case score_case_make(const subject *s, int64_t dim, data_kind kind) {
    const attn_kernels *k = s->kernels;
    score_case c = {.dim = dim, .rows = 3 * k->mr};
    test_prng prng = test_prng_make(4, (uint64_t)dim * DATA_KINDS + (uint64_t)kind);
    c.q = buffer_make(s->type, c.rows * dim, ALIGNED);
    c.k = buffer_make(s->type, k->nr * dim, ALIGNED);
    c.scores = buffer_make(s->type, (int64_t)c.rows * STRIDE, ALIGNED);
    c.row_max = buffer_make(s->type, (int64_t)c.rows * k->lanes, ALIGNED);
    fill(&c.q, 0, c.rows * dim, &prng, kind);
    fill(&c.k, 0, k->nr * dim, &prng, kind);
    return c;
}

static void score_case_free(score_case *c) {
    buffer_free(&c->q);
    buffer_free(&c->k);
    buffer_free(&c->scores);
    buffer_free(&c->row_max);
}

/* What a row has seen before: on some lanes nothing, on some more than any score, on some in between. */
static void score_case_begin(const subject *s, score_case *c) {
    const double before[] = {-(double)INFINITY, s->largest, -1.0, 0.25};
    buffer_poison(&c->scores);
    for (int64_t i = 0; i < (int64_t)c->rows * s->kernels->lanes; i++) put(&c->row_max, i, before[i * 7 % 4]);
    buffer_seal(&c->scores);
    buffer_seal(&c->row_max);
}

static double row_max_before(const subject *s, const score_case *c, int64_t index) {
    const ptrdiff_t offset = (unsigned char *)at(&c->row_max, index) - c->row_max.block.data;
    return test_load(s->type, c->row_max.before + offset, 0);
}

/* The score by its definition in double and the bound of its error, and by its chain. */
static void check_score(const subject *s, const score_case *c, int row, int key, int bounded) {
    const int mr = s->kernels->mr, nr = s->kernels->nr;
    const int64_t panel = row / mr * mr * c->dim;
    product_sum sum = {0};
    for (int64_t d = 0; d < c->dim; d++)
        add_product(s, &sum, get(&c->q, panel + d * mr + row % mr), get(&c->k, d * nr + key));
    const double got = get(&c->scores, (int64_t)row * STRIDE + key);
    expect_same(got, sum.chain, "scores, by the chain", row, key);
    if (bounded) expect_near(got, sum.exact, sum_tolerance(s, &sum, 0), "scores, by the definition", row, key);
}

/* NaN aside, which max may pass over: softmax() has to notice it. */
static void check_row_max(const subject *s, const score_case *c, int row) {
    const int nr = s->kernels->nr, lanes = s->kernels->lanes;
    int has_nan = 0;
    for (int key = 0; key < nr; key++) has_nan |= isnan(get(&c->scores, (int64_t)row * STRIDE + key));
    for (int lane = 0; lane < lanes && !has_nan; lane++) {
        const int64_t index = (int64_t)row * lanes + lane;
        double largest = row_max_before(s, c, index);
        for (int key = lane; key < nr; key += lanes)
            largest = fmax(largest, get(&c->scores, (int64_t)row * STRIDE + key));
        if (get(&c->row_max, index) != largest)
            fail_msg("row_max [%d][%d]: %g, not %g", row, lane, get(&c->row_max, index), largest);
    }
}

static void allow_score_rows(const subject *s, score_case *c, int row_begin, int row_end) {
    for (int r = row_begin; r < row_end; r++) buffer_allow(&c->scores, (int64_t)r * STRIDE, s->kernels->nr);
    buffer_allow(&c->row_max, (int64_t)row_begin * s->kernels->lanes,
                 (int64_t)(row_end - row_begin) * s->kernels->lanes);
}

static void scores_are_chains_over_dim(void **state) {
    const subject *s = *state;
    for (int i = 0; i < DIMS; i++)
        for (data_kind kind = 0; kind < DATA_KINDS; kind++) {
            score_case c = score_case_make(s, dims[i], kind);
            score_case_begin(s, &c);
            allow_score_rows(s, &c, 0, c.rows);
            call_scores(s, &c, 0, c.rows);
            buffer_check(&c.scores, "scores");
            buffer_check(&c.row_max, "row_max");
            for (int row = 0; row < c.rows; row++) {
                for (int key = 0; key < s->kernels->nr; key++) check_score(s, &c, row, key, kind != SPECIAL);
                check_row_max(s, &c, row);
            }
            score_case_free(&c);
        }
}

static void check_score_rows(const subject *s, score_case *c, const score_case *all, int row_begin, int row_end) {
    score_case_begin(s, c);
    allow_score_rows(s, c, row_begin, row_end);
    call_scores(s, c, row_begin, row_end);
    buffer_check(&c->scores, "scores");
    buffer_check(&c->row_max, "row_max");
    for (int r = row_begin; r < row_end; r++) {
        const int64_t first = (int64_t)r * STRIDE;
        if (!same_bits(&c->scores, first, &all->scores, first, s->kernels->nr))
            fail_msg("row %d of %d .. %d: other scores than in a block of all rows", r, row_begin, row_end);
        check_row_max(s, c, r);
    }
}

/* What is fetched ahead need not be memory at all. */
static attn_next past_the_end(const buffer *b) {
    return (attn_next){{(const char *)b->block.data + b->block.size, 1000, 100, 100, 0}, 3};
}

static void scores_of_any_rows_are_the_same_bits(void **state) {
    const subject *s = *state;
    for (int64_t dim = 5; dim <= 64; dim += 59) {
        score_case all = score_case_make(s, dim, WIDE), some = score_case_make(s, dim, WIDE);
        some.next = past_the_end(&some.k);
        score_case_begin(s, &all);
        call_scores(s, &all, 0, all.rows);
        for (int row_begin = 0; row_begin < all.rows; row_begin += s->kernels->mr)
            for (int row_end = row_begin; row_end <= all.rows; row_end++)
                check_score_rows(s, &some, &all, row_begin, row_end);
        score_case_free(&all);
        score_case_free(&some);
    }
}

/* ---------------------------------------------------------------------------------------------------- rows in place */

enum { PART_KEYS = 32 }; /* are passed over at a time, by kernels.inc: o is added to once for so many */

/* What rows of k and v may be stored as where they lie. */
static int can_lie_in_place(const subject *s, attn_type type) {
    return type == s->type || (s->type == ATTN_F32 && attn_type_size(type) == 2);
}

/* The caller's rows: at any stride, the highest of them ending where the memory does. What is fetched ahead of them lies
 * behind it, so need not be memory at all. */
typedef struct placed_rows {
    buffer memory;
    int64_t first, stride;
} placed_rows;

/* One behind the other, with gaps, in the opposite order, one row for all, and windows that slide over one. */
static int64_t stride_in_place(int which, int64_t columns) {
    const int64_t strides[] = {columns, columns + 1, -columns, 0, columns + 70, -columns - 3, 1, -1};
    return strides[which % (int)(sizeof strides / sizeof strides[0])];
}

static placed_rows placed_rows_make(attn_type type, int64_t count, int64_t columns, int64_t stride, test_prng *prng,
                                    data_kind kind) {
    placed_rows rows = {.first = first_index(stride, count), .stride = stride};
    rows.memory = buffer_make(type, reach(stride, count) + columns - 1, TIGHT);
    for (int64_t r = 0; r < count; r++) fill(&rows.memory, rows.first + r * stride, columns, prng, kind);
    return rows;
}

/* The same numbers as reals. */
static void placed_rows_convert(const subject *s, placed_rows *rows) {
    buffer stored = rows->memory;
    const int64_t count = (int64_t)((stored.block.size - CANARY) / attn_type_size(stored.type));
    rows->memory = buffer_make(s->type, count, TIGHT);
    for (int64_t n = 0; n < count; n++) put(&rows->memory, n, get(&stored, n));
    buffer_free(&stored);
}

static attn_rows rows_from(const placed_rows *rows, int64_t row) {
    return (attn_rows){rows->memory.type, at(&rows->memory, rows->first + row * rows->stride), rows->stride};
}

static double get_placed(const placed_rows *rows, int64_t row, int64_t column) {
    return get(&rows->memory, rows->first + row * rows->stride + column);
}

/* --------------------------------------------------------------------------------------------------- scores in place */

enum { FEW_ROWS = 48, FEW_KEYS = 3 * PART_KEYS + 11 };

typedef struct few_case few_case;

/* Scores rows row .. row + rows - 1 against keys key .. key + keys - 1, through one of the two kernels. */
typedef void (*few_call)(const subject *s, few_case *c, int row, int rows, int key, int keys);

/* Few rows against the caller's keys. */
struct few_case {
    few_call call;
    int64_t dim;
    buffer q, panels, scores; /* panels: for scores_in_place() */
    placed_rows k;
};

static void call_dots(const subject *s, few_case *c, int row, int rows, int key, int keys) {
    const attn_rows k = rows_from(&c->k, key);
    s->kernels->dots(at(&c->scores, (int64_t)row * STRIDE + key), at(&c->q, row * c->dim), rows, &k, keys, c->dim);
}

static void pack_few(const subject *s, few_case *c, int row, int rows) {
    const void *queries[ROWS_MAX];
    const int nr = s->kernels->nr;
    buffer_poison(&c->panels);
    for (int first = 0; first < rows; first += nr) {
        const int count = rows - first < nr ? rows - first : nr;
        for (int i = 0; i < count; i++) queries[i] = at(&c->q, (row + first + i) * c->dim);
        s->kernels->pack_k(at(&c->panels, first * c->dim), queries, count, c->dim);
    }
}

static void call_scores_in_place(const subject *s, few_case *c, int row, int rows, int key, int keys) {
    const attn_rows k = rows_from(&c->k, key);
    pack_few(s, c, row, rows);
    s->kernels->scores_in_place(at(&c->scores, (int64_t)row * STRIDE + key), c->panels.data, rows, k.data, k.stride,
                                keys, c->dim);
}

static few_case few_case_make(const subject *s, few_call call, attn_type type, int64_t dim, int64_t k_stride,
                              data_kind kind) {
    const int nr = s->kernels->nr;
    few_case c = {.call = call, .dim = dim};
    test_prng prng = test_prng_make(5, (uint64_t)dim * DATA_KINDS + (uint64_t)kind);
    c.q = buffer_make(s->type, FEW_ROWS * dim, ALIGNED);
    c.panels = buffer_make(s->type, (FEW_ROWS + nr - 1) / nr * nr * dim, ALIGNED);
    c.scores = buffer_make(s->type, (int64_t)FEW_ROWS * STRIDE, ALIGNED);
    fill(&c.q, 0, FEW_ROWS * dim, &prng, kind);
    c.k = placed_rows_make(type, FEW_KEYS, dim, k_stride, &prng, kind);
    return c;
}

static void few_case_free(few_case *c) {
    buffer_free(&c->q);
    buffer_free(&c->panels);
    buffer_free(&c->scores);
    buffer_free(&c->k.memory);
}

static void few_case_run(const subject *s, few_case *c, int row, int rows, int key, int keys) {
    buffer_poison(&c->scores);
    buffer_seal(&c->scores);
    for (int r = row; r < row + rows; r++) buffer_allow(&c->scores, (int64_t)r * STRIDE + key, keys);
    c->call(s, c, row, rows, key, keys);
    buffer_check(&c->scores, "scores of few rows");
}

static void expect_few_as_in(const subject *s, few_case *c, const few_case *all, int row, int rows, int key, int keys) {
    few_case_run(s, c, row, rows, key, keys);
    for (int r = row; r < row + rows; r++) {
        const int64_t first = (int64_t)r * STRIDE + key;
        if (!same_bits(&c->scores, first, &all->scores, first, keys))
            fail_msg("row %d of %d, %d keys from %d: other bits than in all", r, rows, keys, key);
    }
}

/* To either side of whole vectors and of the parts in which keys are read, and to the end of the memory. */
static void check_few_of_any_rows_and_keys(const subject *s, few_call call, attn_type type, int64_t dim) {
    const int counts[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 79};
    few_case all = few_case_make(s, call, type, dim, dim + 1, WIDE),
             some = few_case_make(s, call, type, dim, dim + 1, WIDE);
    few_case_run(s, &all, 0, FEW_ROWS, 0, FEW_KEYS);
    for (int rows = 1; rows <= FEW_ROWS; rows++) {
        for (int i = 0; i < (int)(sizeof counts / sizeof counts[0]); i++)
            expect_few_as_in(s, &some, &all, 0, rows, FEW_KEYS - counts[i], counts[i]);
        expect_few_as_in(s, &some, &all, FEW_ROWS - rows, rows, rows, FEW_KEYS - rows);
    }
    few_case_free(&all);
    few_case_free(&some);
}

/* ------------------------------------------------------------------------------------------------------------- dots */

static int is_near_the_end(const subject *s, double x) {
    return isfinite(x) && fabs(x) > s->largest / 2;
}

/* Whether NaN or an infinity comes out does not hang on the order of the sum, as long as numbers near the end of the
 * range stay away. */
static void check_dot(const subject *s, const few_case *c, int row, int key) {
    product_sum sum = {0};
    int overflows = 0;
    for (int64_t d = 0; d < c->dim; d++) {
        const double a = get(&c->q, row * c->dim + d), b = get_placed(&c->k, key, d);
        overflows |= is_near_the_end(s, a) || is_near_the_end(s, b);
        add_product(s, &sum, a, b);
    }
    if (overflows) return;
    expect_near(get(&c->scores, (int64_t)row * STRIDE + key), sum.exact, sum_tolerance(s, &sum, 0), "dots", row, key);
}

static void check_dots(const subject *s, attn_type type, int64_t dim, int64_t k_stride, data_kind kind) {
    few_case c = few_case_make(s, call_dots, type, dim, k_stride, kind);
    few_case_run(s, &c, 0, FEW_ROWS, 0, FEW_KEYS);
    for (int row = 0; row < FEW_ROWS; row++)
        for (int key = 0; key < FEW_KEYS; key++) check_dot(s, &c, row, key);
    few_case_free(&c);
}

static void dots_are_dot_products(void **state) {
    const subject *s = *state;
    const int64_t vectors[] = {1, 2, 5};
    int stride = 0;
    for (int t = 0; t < STORED_TYPES; t++)
        for (int i = 0; i < 3 && can_lie_in_place(s, stored_types[t]); i++)
            for (data_kind kind = 0; kind < DATA_KINDS; kind++) {
                const int64_t dim = vectors[i] * s->kernels->lanes;
                check_dots(s, stored_types[t], dim, stride_in_place(stride++, dim), kind);
            }
}

static void dots_of_any_rows_and_keys_are_the_same_bits(void **state) {
    const subject *s = *state;
    for (int t = 0; t < STORED_TYPES; t++)
        if (can_lie_in_place(s, stored_types[t]))
            check_few_of_any_rows_and_keys(s, call_dots, stored_types[t], 3 * s->kernels->lanes);
}

/* Bit by bit, but for NaN. */
static void check_converted_dots(const subject *s, attn_type type, int64_t dim, data_kind kind) {
    few_case stored = few_case_make(s, call_dots, type, dim, dim + 3, kind),
             reals = few_case_make(s, call_dots, type, dim, dim + 3, kind);
    placed_rows_convert(s, &reals.k);
    few_case_run(s, &stored, 0, FEW_ROWS, 0, FEW_KEYS);
    few_case_run(s, &reals, 0, FEW_ROWS, 0, FEW_KEYS);
    for (int64_t row = 0; row < FEW_ROWS; row++)
        for (int64_t key = 0; key < FEW_KEYS; key++)
            expect_same(get(&stored.scores, row * STRIDE + key), get(&reals.scores, row * STRIDE + key),
                        attn_type_name(type), row, key);
    few_case_free(&stored);
    few_case_free(&reals);
}

static void dots_of_any_storage_are_those_of_reals(void **state) {
    const subject *s = *state;
    for (int t = 0; t < STORED_TYPES; t++)
        for (data_kind kind = 0; kind < DATA_KINDS && can_lie_in_place(s, stored_types[t]); kind++) {
            check_converted_dots(s, stored_types[t], s->kernels->lanes, kind);
            check_converted_dots(s, stored_types[t], 4 * s->kernels->lanes, kind);
        }
}

/* ---------------------------------------------------------------------------------------------------- scores_in_place */

static void check_score_in_place(const subject *s, const few_case *c, int row, int key, int bounded) {
    product_sum sum = {0};
    for (int64_t d = 0; d < c->dim; d++) add_product(s, &sum, get(&c->q, row * c->dim + d), get_placed(&c->k, key, d));
    const double got = get(&c->scores, (int64_t)row * STRIDE + key);
    expect_same(got, sum.chain, "scores_in_place, by the chain", row, key);
    if (bounded) expect_near(got, sum.exact, sum_tolerance(s, &sum, 0), "scores_in_place, by the definition", row, key);
}

static void scores_in_place_are_chains_over_dim(void **state) {
    const subject *s = *state;
    int stride = 0;
    for (int i = 0; i < DIMS; i++)
        for (data_kind kind = 0; kind < DATA_KINDS; kind++) {
            few_case c =
                few_case_make(s, call_scores_in_place, s->type, dims[i], stride_in_place(stride++, dims[i]), kind);
            few_case_run(s, &c, 0, FEW_ROWS, 0, FEW_KEYS);
            for (int row = 0; row < FEW_ROWS; row++)
                for (int key = 0; key < FEW_KEYS; key++) check_score_in_place(s, &c, row, key, kind != SPECIAL);
            few_case_free(&c);
        }
}

static void scores_in_place_of_any_rows_and_keys_are_the_same_bits(void **state) {
    const subject *s = *state;
    check_few_of_any_rows_and_keys(s, call_scores_in_place, s->type, 13);
}

/* ------------------------------------------------------------------------------------------- passes over the scores */

/* A row of scores has room behind a tile: softcap() works on whole vectors and may change scores up to the next
 * multiple of lanes. All others change n scores and no more. */
static const int pass_lengths[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 250, ATTN_TILE_KEYS};
enum { PASS_LENGTHS = sizeof pass_lengths / sizeof pass_lengths[0] };

static int whole_vectors(const subject *s, int n) {
    return (n + s->kernels->lanes - 1) / s->kernels->lanes * s->kernels->lanes;
}

/* One row of scores and its copy for the twin. */
typedef struct pass_case {
    int n;
    buffer scores, twin, before;
} pass_case;

static pass_case pass_case_make(const subject *s, int n, data_kind kind) {
    pass_case c = {.n = n};
    test_prng prng = test_prng_make(6, (uint64_t)n * DATA_KINDS + (uint64_t)kind);
    c.scores = buffer_make(s->type, STRIDE, ALIGNED);
    c.twin = buffer_make(s->type, STRIDE, ALIGNED);
    c.before = buffer_make(s->type, STRIDE, ALIGNED);
    fill(&c.before, 0, n, &prng, kind);
    memcpy(c.scores.data, c.before.data, (size_t)STRIDE * attn_type_size(s->type));
    memcpy(c.twin.data, c.before.data, (size_t)STRIDE * attn_type_size(s->type));
    buffer_seal(&c.scores);
    return c;
}

static void pass_case_free(pass_case *c) {
    buffer_free(&c->scores);
    buffer_free(&c->twin);
    buffer_free(&c->before);
}

/* Nothing but the n scores has changed, and the twin says the same. */
static void pass_case_check(pass_case *c, const char *name) {
    buffer_allow(&c->scores, 0, c->n);
    buffer_check(&c->scores, name);
    for (int j = 0; j < c->n; j++) expect_same(get(&c->scores, j), get(&c->twin, j), name, c->n, j);
}

/*
 * tanh(x) is off by no more than its argument, relatively, as |x tanh'(x) / tanh(x)| <= 1. The argument is rounded
 * twice (1 / softcap, the product), and so is the result (softcap, the product): 4 u. tanh itself, for f32: next to 0
 * it is a polynomial (7e-9) whose last two steps round, 2 u; beyond 0.625 it is (1 - w) / (1 + w) with w = exp(-2 |x|),
 * three roundings and 2 w / (1 - w w) <= 0.63 of w's relative error, which is exp_relative + 4 u: 6 u + 0.63
 * exp_relative. For f64 it is the C library's, good to 3 u. Below the normal numbers argument and result are off by
 * half a subnormal each.
 */
static double softcap_tolerance(const subject *s, double exact, double softcap) {
    const double near_zero = 6 * s->roundoff + 7e-9, beyond = 10 * s->roundoff + 0.63 * s->exp_relative;
    double relative = fabs(exact) < tanh(0.62) * softcap ? near_zero : beyond;
    if (s->type == ATTN_F64) relative = 7 * s->roundoff;
    return relative * fabs(exact) + 2 * (1 + softcap) * s->underflow;
}

static double softcap_of(double x, double softcap) {
    return softcap * tanh(x / softcap);
}

static void check_softcap(const subject *s, pass_case *c, double softcap) {
    s->kernels->softcap(c->scores.data, c->n, softcap);
    buffer_allow(&c->scores, 0, whole_vectors(s, c->n));
    buffer_check(&c->scores, "softcap");
    for (int j = 0; j < c->n; j++) {
        const double exact = softcap_of(get(&c->before, j), softcap);
        expect_near(get(&c->scores, j), exact, softcap_tolerance(s, exact, softcap), "softcap", c->n, j);
    }
}

static void softcap_is_a_scaled_tanh(void **state) {
    const subject *s = *state;
    const double softcaps[] = {0.5, 1.0, 15.0, 50.0, 1e4};
    for (int i = 0; i < PASS_LENGTHS; i++)
        for (data_kind kind = 0; kind < DATA_KINDS; kind++) {
            pass_case c = pass_case_make(s, pass_lengths[i], kind);
            check_softcap(s, &c, softcaps[(i + (int)kind) % 5]);
            pass_case_free(&c);
        }
}

/* From far below where tanh(x) is x to far beyond where it is 1, in steps of 1 / 64 of a binary order: relative
 * accuracy throughout, and the sign of the argument. */
static void softcap_is_accurate_at_every_size(void **state) {
    const subject *s = *state;
    enum { STEPS = 64 };
    for (int order = -100; order <= 100; order++) {
        pass_case c = pass_case_make(s, STEPS, NORMAL);
        for (int j = 0; j < STEPS; j++) {
            const double size = ldexp(1.0 + (double)j / STEPS, order);
            put(&c.before, j, rounded(s, j % 2 ? -size : size));
            put(&c.scores, j, get(&c.before, j));
        }
        check_softcap(s, &c, 3.0);
        for (int j = 0; j < STEPS; j++) assert_true(!signbit(get(&c.scores, j)) == !signbit(get(&c.before, j)));
        pass_case_free(&c);
    }
}

static void softcap_of_the_ends_of_the_range(void **state) {
    const subject *s = *state;
    const double numbers[] = {0.0, -0.0, (double)INFINITY, -(double)INFINITY, s->largest, -s->largest, (double)NAN,
                              1e5, -1e5, 2 * s->underflow};
    enum { COUNT = sizeof numbers / sizeof numbers[0] };
    pass_case c = pass_case_make(s, COUNT, NORMAL);
    for (int j = 0; j < COUNT; j++) {
        put(&c.before, j, numbers[j]);
        put(&c.scores, j, numbers[j]);
    }
    check_softcap(s, &c, 0.75);
    expect_same(get(&c.scores, 0), 0.0, "softcap", 0, 0);
    for (int j = 2; j < 6; j++) expect_same(get(&c.scores, j), j % 2 ? -0.75 : 0.75, "softcap", 0, j);
    pass_case_free(&c);
}

/* A cap below the normal numbers may count as the smallest of them, one beyond the range as none: neither its
 * reciprocal nor a score of 0 makes a NaN of it. */
static void softcap_beyond_the_range_of_the_type(void **state) {
    const subject *s = *state;
    const double softcaps[] = {s->normal / 16, s->normal, s->normal * 3, s->largest / 3, s->largest, 1e39};
    for (int i = 0; i < (int)(sizeof softcaps / sizeof softcaps[0]); i++) {
        pass_case c = pass_case_make(s, 33, NORMAL);
        put(&c.before, 0, 0.0);
        put(&c.scores, 0, 0.0);
        s->kernels->softcap(c.scores.data, c.n, softcaps[i]);
        expect_same(get(&c.scores, 0), 0.0, "softcap", i, 0);
        for (int j = 0; j < c.n; j++) {
            const double exact = softcap_of(get(&c.before, j), softcaps[i]);
            const double tolerance = softcap_tolerance(s, exact, softcaps[i]) + s->normal;
            expect_near(get(&c.scores, j), exact, tolerance, "softcap", i, j);
        }
        pass_case_free(&c);
    }
}

/* A bias of -inf excludes, whatever the score: NaN and +inf too. */
static void add_bias_adds_or_excludes(void **state) {
    const subject *s = *state;
    for (int i = 0; i < PASS_LENGTHS; i++)
        for (data_kind kind = 0; kind < DATA_KINDS; kind++) {
            pass_case c = pass_case_make(s, pass_lengths[i], kind);
            buffer bias = buffer_make(s->type, c.n, TIGHT);
            test_prng prng = test_prng_make(7, (uint64_t)i);
            for (int j = 0; j < c.n; j++)
                put(&bias, j, test_prng_chance(&prng, 30) ? -(double)INFINITY : draw(&prng, s->type, kind));
            s->kernels->add_bias(c.scores.data, bias.data, c.n);
            s->twin->add_bias(c.twin.data, bias.data, c.n);
            pass_case_check(&c, "add_bias");
            for (int j = 0; j < c.n; j++) {
                const double b = get(&bias, j);
                const double expected = b == -(double)INFINITY ? b : rounded(s, get(&c.before, j) + b);
                expect_same(get(&c.scores, j), expected, "add_bias", c.n, j);
            }
            buffer_free(&bias);
            pass_case_free(&c);
        }
}

/* The product and the difference round once each, in double and then in the type: (u + 2^-53) of each. */
static void check_alibi(const subject *s, int n, data_kind kind, double slope, double distance) {
    pass_case c = pass_case_make(s, n, kind);
    s->kernels->add_alibi(c.scores.data, n, slope, distance);
    s->twin->add_alibi(c.twin.data, n, slope, distance);
    pass_case_check(&c, "add_alibi");
    for (int j = 0; j < n; j++) {
        const double penalty = slope * fabs(distance + j), exact = get(&c.before, j) - penalty;
        const double tolerance = (s->roundoff + 0x1p-53) * (fabs(penalty) + fabs(exact)) + 2 * s->underflow;
        expect_near(get(&c.scores, j), exact, tolerance, "add_alibi", n, j);
    }
    pass_case_free(&c);
}

static void add_alibi_lowers_by_distance(void **state) {
    const subject *s = *state;
    const double slopes[] = {0.5, 0.00390625, 0.3, 0.0, -0.7}, distances[] = {0, -17, -255, 3, -1e9, 1e6};
    for (int i = 0; i < PASS_LENGTHS; i++)
        for (int d = 0; d < 6; d++) {
            check_alibi(s, pass_lengths[i], NORMAL, slopes[(i + d) % 5], distances[d]);
            check_alibi(s, pass_lengths[i], SPECIAL, slopes[(i + d) % 5], distances[d]);
        }
}

static void check_mask(const subject *s, int n, int64_t stride) {
    static const unsigned char bytes[] = {0, 1, 0, 2, 0x80, 0, 0xFF, 0};
    pass_case c = pass_case_make(s, n, SPECIAL);
    buffer mask = buffer_make(ATTN_BOOL, reach(stride, n), TIGHT);
    for (int j = 0; j < n; j++) put(&mask, j * stride, bytes[(j + n) % 8]);
    s->kernels->apply_mask(c.scores.data, mask.data, stride, n);
    s->twin->apply_mask(c.twin.data, mask.data, stride, n);
    pass_case_check(&c, "apply_mask");
    for (int j = 0; j < n; j++) {
        const int kept = get(&mask, j * stride) != 0;
        if (kept && !same_bits(&c.scores, j, &c.before, j, 1)) fail_msg("apply_mask changed score %d", j);
        if (!kept) expect_same(get(&c.scores, j), -(double)INFINITY, "apply_mask", n, j);
    }
    buffer_free(&mask);
    pass_case_free(&c);
}

static void apply_mask_excludes_zero_bytes(void **state) {
    const subject *s = *state;
    for (int n = 0; n <= LONGEST_ROW; n++) {
        check_mask(s, n, 1);
        check_mask(s, n, 0);
        check_mask(s, n, 3);
        check_mask(s, n, 2);
    }
    check_mask(s, ATTN_TILE_KEYS, 1);
}

static void exclude_writes_minus_infinity(void **state) {
    const subject *s = *state;
    for (int n = 0; n <= LONGEST_ROW; n++) {
        pass_case c = pass_case_make(s, n, SPECIAL);
        s->kernels->exclude(c.scores.data, n);
        s->twin->exclude(c.twin.data, n);
        pass_case_check(&c, "exclude");
        for (int j = 0; j < n; j++) expect_same(get(&c.scores, j), -(double)INFINITY, "exclude", n, j);
        pass_case_free(&c);
    }
}

/* ---------------------------------------------------------------------------------------------------------- softmax */

/* Rows of scores with their statistics. */
typedef struct softmax_case {
    int rows, n;
    buffer scores, before; /* the scores as they were */
    buffer row_max;
    buffer m, l, alpha;
} softmax_case;

static softmax_case softmax_case_make(const subject *s, int rows) {
    softmax_case c = {.rows = rows};
    c.scores = buffer_make(s->type, (int64_t)rows * STRIDE, ALIGNED);
    c.before = buffer_make(s->type, (int64_t)rows * STRIDE, ALIGNED);
    c.row_max = buffer_make(s->type, (int64_t)rows * s->kernels->lanes, ALIGNED);
    c.m = buffer_make(s->type, rows, ALIGNED);
    c.l = buffer_make(s->type, rows, ALIGNED);
    c.alpha = buffer_make(s->type, rows, ALIGNED);
    s->kernels->begin_rows(c.m.data, c.l.data, rows);
    return c;
}

static void softmax_case_free(softmax_case *c) {
    buffer_free(&c->scores);
    buffer_free(&c->before);
    buffer_free(&c->row_max);
    buffer_free(&c->m);
    buffer_free(&c->l);
    buffer_free(&c->alpha);
}

static void call_softmax(const subject *s, softmax_case *c, int first, int rows, int max_known) {
    const void *row_max = max_known ? at(&c->row_max, (int64_t)first * s->kernels->lanes) : NULL;
    s->kernels->softmax(at(&c->scores, (int64_t)first * STRIDE), rows, c->n, row_max, at(&c->m, first),
                        at(&c->l, first), at(&c->alpha, first));
}

/* The largest score of each lane, as scores() leaves it. */
static void find_row_max(const subject *s, softmax_case *c) {
    const int lanes = s->kernels->lanes;
    for (int r = 0; r < c->rows; r++)
        for (int lane = 0; lane < lanes; lane++) {
            double largest = -(double)INFINITY;
            for (int j = lane; j < c->n; j += lanes) largest = fmax(largest, get(&c->scores, (int64_t)r * STRIDE + j));
            put(&c->row_max, (int64_t)r * lanes + lane, largest);
        }
}

/* Takes the scores that are in the buffer as a tile of n keys, and remembers them. */
static void softmax_case_begin(const subject *s, softmax_case *c, int n) {
    c->n = n;
    memcpy(c->before.data, c->scores.data, (size_t)c->rows * STRIDE * attn_type_size(s->type));
    find_row_max(s, c);
    buffer *const statistics[] = {&c->m, &c->l, &c->alpha};
    for (int i = 0; i < 3; i++) {
        buffer_seal(statistics[i]);
        buffer_allow(statistics[i], 0, c->rows);
    }
    buffer_seal(&c->scores);
    for (int r = 0; r < c->rows; r++) buffer_allow(&c->scores, (int64_t)r * STRIDE, n);
}

static void softmax_case_end(const softmax_case *c) {
    buffer_check(&c->scores, "softmax's scores");
    buffer_check(&c->m, "softmax's m");
    buffer_check(&c->l, "softmax's l");
    buffer_check(&c->alpha, "softmax's alpha");
}

static double statistic_before(const buffer *b, int row) {
    return test_load(b->type, b->before + ((unsigned char *)at(b, row) - b->block.data), 0);
}

/*
 * How far exp(x) may be off. Relatively: the polynomial's error; the error of ln 2 in n ln 2, which grows with |x|, and
 * so does the rounding of that product where multiply-adds round twice; 2 u for the steps of the polynomial and for the
 * reduced argument, or 4 u; 2^-52 for the C library's. Absolutely: results that would be subnormal may be 0.
 */
static double exp_tolerance(const subject *s, double x) {
    const double growth = s->exp_growth + (s->fused ? 0 : s->roundoff);
    const double relative = s->exp_relative + (s->fused ? 2 : 4) * s->roundoff + 0x1p-52 + fabs(x) * growth;
    return relative * exp(x) + (exp(x) < 2 * s->normal ? s->normal : 0);
}

/* exp(a - b) where the difference was rounded first. */
static void expect_exp_of_difference(const subject *s, double got, double a, double b, const char *what, int row,
                                     int j) {
    const double x = a - b;
    if (x <= s->exp_lowest || a == -(double)INFINITY) {
        expect_same(got, 0.0, what, row, j);
    } else if (x == 0) {
        expect_same(got, 1.0, what, row, j);
    } else {
        expect_near(got, exp(x), exp_tolerance(s, x) + s->roundoff * fabs(x) * exp(x), what, row, j);
    }
}

/* A row that has seen no key yet: alpha multiplies only zeros, so 0 and 1 are both right. */
static void check_unseen_row(const softmax_case *c, int row) {
    const double alpha = get(&c->alpha, row);
    for (int j = 0; j < c->n; j++) expect_same(get(&c->scores, (int64_t)row * STRIDE + j), 0.0, "weight", row, j);
    expect_same(get(&c->m, row), -(double)INFINITY, "m", row, 0);
    expect_same(get(&c->l, row), 0.0, "l", row, 0);
    assert_true(alpha == 0.0 || alpha == 1.0);
}

/* Sums n weights and the product in any order: (n + 2) u. */
static void check_row_sum(const subject *s, const softmax_case *c, int row) {
    double sum = statistic_before(&c->l, row) * get(&c->alpha, row);
    for (int j = 0; j < c->n; j++) sum += get(&c->scores, (int64_t)row * STRIDE + j);
    const double tolerance = (c->n + 2) * ((s->roundoff + 0x1p-53) * sum + s->underflow);
    expect_near(get(&c->l, row), sum, tolerance, "l", row, 0);
}

/* One row against the definition. A score that is NaN or +inf makes the row NaN, now and for ever. */
static void check_softmax_row(const subject *s, const softmax_case *c, int row) {
    const double m_before = statistic_before(&c->m, row);
    double m = m_before;
    int spoiled = isnan(statistic_before(&c->l, row));
    for (int j = 0; j < c->n; j++) {
        const double score = get(&c->before, (int64_t)row * STRIDE + j);
        spoiled |= isnan(score) || score == (double)INFINITY;
        m = fmax(m, score);
    }
    if (spoiled) {
        if (!isnan(get(&c->l, row))) fail_msg("row %d: its sum is %g, not NaN", row, get(&c->l, row));
        return;
    }
    if (m == -(double)INFINITY) {
        check_unseen_row(c, row);
        return;
    }
    if (get(&c->m, row) != m) fail_msg("row %d: m is %g, not %g", row, get(&c->m, row), m);
    expect_exp_of_difference(s, get(&c->alpha, row), m_before, m, "alpha", row, 0);
    for (int j = 0; j < c->n; j++) {
        const int64_t index = (int64_t)row * STRIDE + j;
        expect_exp_of_difference(s, get(&c->scores, index), get(&c->before, index), m, "weight", row, j);
    }
    check_row_sum(s, c, row);
}

/* What the scores of one row in one tile are. */
typedef enum row_kind {
    ROW_NORMAL,
    ROW_HIGHER,   /* beyond the other tiles' scores */
    ROW_LOWER,    /* and below them, so far that little is left of them */
    ROW_SOME_OUT, /* half of the keys are excluded */
    ROW_ALL_OUT,
    ROW_ONE_LEFT, /* all but the last key are excluded */
    ROW_LOWEST,   /* all -3e38 (or what that is in f64): no number is low enough to mean excluded */
    ROW_1E5,
    ROW_MINUS_1E5,
    ROW_ENDS, /* that and its opposite, whose difference overflows */
    ROW_EQUAL,
    ROW_ONE_NAN,
    ROW_NAN_AMONG_OUT,
    ROW_ALL_NAN,
    ROW_INFINITE,
    ROW_KINDS
} row_kind;

static double draw_score(test_prng *prng, const subject *s, row_kind kind, int at_end, int at_chosen) {
    const double out = -(double)INFINITY, normal = 2 * test_prng_normal(prng);
    switch (kind) {
    case ROW_HIGHER:
        return 40 + normal;
    case ROW_LOWER:
        return -60 + normal;
    case ROW_SOME_OUT:
        return test_prng_chance(prng, 50) ? out : normal;
    case ROW_ALL_OUT:
        return out;
    case ROW_ONE_LEFT:
        return at_end ? normal : out;
    case ROW_LOWEST:
        return -0.88 * s->largest;
    case ROW_1E5:
        return 1e5 + normal;
    case ROW_MINUS_1E5:
        return -1e5 + normal;
    case ROW_ENDS:
        return test_prng_chance(prng, 50) ? 0.88 * s->largest : -0.88 * s->largest;
    case ROW_EQUAL:
        return 0.625;
    case ROW_ONE_NAN:
        return at_chosen ? (double)NAN : normal;
    case ROW_NAN_AMONG_OUT:
        return at_chosen ? (double)NAN : out;
    case ROW_ALL_NAN:
        return (double)NAN;
    case ROW_INFINITE:
        return at_chosen ? (double)INFINITY : normal;
    default:
        return normal;
    }
}

static void fill_row(const subject *s, softmax_case *c, int row, row_kind kind, int n, test_prng *prng) {
    const int chosen = (int)test_prng_range(prng, 0, n - 1);
    for (int j = 0; j < n; j++)
        put(&c->scores, (int64_t)row * STRIDE + j, draw_score(prng, s, kind, j == n - 1, j == chosen));
}

/* Lengths that follow scores() (multiples of nr) and dots() (of lanes). */
static int softmax_length(const subject *s, int index) {
    const int lanes = s->kernels->lanes, nr = s->kernels->nr;
    const int lengths[] = {lanes, 2 * lanes, 3 * lanes, nr, 3 * nr, 5 * lanes, ATTN_TILE_KEYS};
    return lengths[index % 7];
}

/* Every kind of tile after every kind: one row for each pair, all rows in one call. */
static void softmax_follows_the_definition_over_tiles(void **state) {
    const subject *s = *state;
    enum { ROWS = ROW_KINDS * ROW_KINDS };
    for (int length = 0; length < 7; length++) {
        test_prng prng = test_prng_make(8, (uint64_t)length);
        softmax_case c = softmax_case_make(s, ROWS);
        for (int tile = 0; tile < 3; tile++) {
            const int n = softmax_length(s, length + tile);
            buffer_poison(&c.scores);
            for (int row = 0; row < ROWS; row++) {
                const int kinds[] = {row / ROW_KINDS, row % ROW_KINDS, ROW_NORMAL};
                fill_row(s, &c, row, (row_kind)kinds[tile], n, &prng);
            }
            softmax_case_begin(s, &c, n);
            call_softmax(s, &c, 0, ROWS, 0);
            softmax_case_end(&c);
            for (int row = 0; row < ROWS; row++) check_softmax_row(s, &c, row);
        }
        softmax_case_free(&c);
    }
}

/* Two tiles of finite rows; the same again with the largest scores known, or `step` rows at a time. */
static softmax_case run_two_tiles(const subject *s, int rows, int n, int step, int max_known) {
    softmax_case c = softmax_case_make(s, rows);
    test_prng prng = test_prng_make(9, (uint64_t)n);
    for (int tile = 0; tile < 2; tile++) {
        buffer_poison(&c.scores);
        for (int row = 0; row < rows; row++) fill_row(s, &c, row, (row_kind)((row + tile) % ROW_ONE_NAN), n, &prng);
        softmax_case_begin(s, &c, n);
        for (int row = 0; row < rows; row += step)
            call_softmax(s, &c, row, row + step < rows ? step : rows - row, max_known);
        softmax_case_end(&c);
        for (int row = 0; row < rows; row++) check_softmax_row(s, &c, row);
    }
    return c;
}

static void softmax_of_any_rows_is_the_same_bits(void **state) {
    const subject *s = *state;
    enum { ROWS = 37 };
    for (int length = 0; length < 7; length++) {
        softmax_case all = run_two_tiles(s, ROWS, softmax_length(s, length), ROWS, 0);
        for (int step = 1; step <= ROWS; step += 3)
            for (int max_known = 0; max_known <= 1; max_known++) {
                softmax_case some = run_two_tiles(s, ROWS, softmax_length(s, length), step, max_known);
                assert_true(same_bits(&all.scores, 0, &some.scores, 0, (int64_t)ROWS * STRIDE));
                assert_true(same_bits(&all.m, 0, &some.m, 0, ROWS));
                assert_true(same_bits(&all.l, 0, &some.l, 0, ROWS));
                assert_true(same_bits(&all.alpha, 0, &some.alpha, 0, ROWS));
                softmax_case_free(&some);
            }
        softmax_case_free(&all);
    }
}

/* row_max is made of maxima that may pass over a NaN. Wherever the NaN stands, it must reach its row all the same. */
/* A random part of a tile for a row, one row in eight none; max_known where row_max is made to fit. */
static attn_row_keys random_row_keys(test_prng *prng, int row) {
    attn_row_keys keys = {0, 0, 0, 0, row % 3 == 0};
    keys.from = (int)test_prng_range(prng, 0, 100);
    keys.begin = keys.from + (int)test_prng_range(prng, 0, 19);
    keys.end = keys.begin + (int)test_prng_range(prng, 1, ATTN_TILE_KEYS - 120);
    keys.to = keys.end + (int)test_prng_range(prng, 0, ATTN_TILE_KEYS - keys.end);
    if (row % 8 == 5) keys.begin = keys.end = 0;
    return keys;
}

static int padded(const subject *s, int n) {
    return (n + s->kernels->lanes - 1) / s->kernels->lanes * s->kernels->lanes;
}

/* The row alone, from column 0 on and -inf behind its keys: what softmax() makes of that is what softmax_ragged() has to. */
static void take_row_apart(const subject *s, softmax_case *from, int row, const attn_row_keys *keys, softmax_case *to) {
    const int count = keys->end - keys->begin;
    const int n = count ? padded(s, count) : s->kernels->nr;
    for (int j = 0; j < n; j++)
        put(&to->scores, j,
            j < count ? get(&from->scores, (int64_t)row * STRIDE + keys->begin + j) : -(double)INFINITY);
    put(&to->m, 0, get(&from->m, row));
    put(&to->l, 0, get(&from->l, row));
    softmax_case_begin(s, to, n);
}

static void check_ragged_row(const softmax_case *ragged, int row, const attn_row_keys *keys,
                             const softmax_case *alone) {
    const int64_t at_row = (int64_t)row * STRIDE;
    assert_true(same_bits(&ragged->scores, at_row + keys->begin, &alone->scores, 0, keys->end - keys->begin));
    assert_true(same_bits(&ragged->m, row, &alone->m, 0, 1));
    assert_true(same_bits(&ragged->l, row, &alone->l, 0, 1));
    assert_true(same_bits(&ragged->alpha, row, &alone->alpha, 0, 1));
    for (int j = keys->from; j < keys->to; j++)
        if (j < keys->begin || j >= keys->end) assert_true(get(&ragged->scores, at_row + j) == 0.0);
}

/* Each row has keys of its own, garbage elsewhere; it has to come out as it would alone, over two tiles. */
static void ragged_rows_come_out_as_each_alone(void **state) {
    const subject *s = *state;
    enum { ROWS = 37 };
    const int lanes = s->kernels->lanes;
    test_prng prng = test_prng_make(11, (uint64_t)lanes);
    softmax_case ragged = softmax_case_make(s, ROWS);
    softmax_case alone[ROWS];
    attn_row_keys keys[ROWS];
    for (int row = 0; row < ROWS; row++) alone[row] = softmax_case_make(s, 1);
    for (int tile = 0; tile < 2; tile++) {
        for (int row = 0; row < ROWS; row++) {
            keys[row] = random_row_keys(&prng, row);
            for (int j = 0; j < STRIDE; j++) put(&ragged.scores, (int64_t)row * STRIDE + j, (double)NAN);
            for (int j = keys[row].begin; j < keys[row].end; j++)
                put(&ragged.scores, (int64_t)row * STRIDE + j, 4.0 * test_prng_normal(&prng));
            take_row_apart(s, &ragged, row, &keys[row], &alone[row]);
            for (int lane = 0; lane < lanes; lane++)
                put(&ragged.row_max, (int64_t)row * lanes + lane, get(&alone[row].row_max, lane));
            call_softmax(s, &alone[row], 0, 1, 0);
        }
        s->kernels->softmax_ragged(ragged.scores.data, ROWS, keys, ragged.row_max.data, ragged.m.data, ragged.l.data,
                                   ragged.alpha.data);
        for (int row = 0; row < ROWS; row++) check_ragged_row(&ragged, row, &keys[row], &alone[row]);
    }
    for (int row = 0; row < ROWS; row++) softmax_case_free(&alone[row]);
    softmax_case_free(&ragged);
}

static void nan_passes_from_scores_through_softmax(void **state) {
    const subject *s = *state;
    const int nr = s->kernels->nr, lanes = s->kernels->lanes;
    for (int key = 0; key < nr; key++)
        for (int max_known = 0; max_known <= 1; max_known++) {
            score_case c = score_case_make(s, 3, NORMAL);
            softmax_case soft = softmax_case_make(s, c.rows);
            put(&c.k, nr + key, (double)NAN);
            s->kernels->exclude(c.row_max.data, c.rows * lanes);
            call_scores(s, &c, 0, c.rows);
            memcpy(soft.scores.data, c.scores.data, (size_t)c.rows * STRIDE * attn_type_size(s->type));
            softmax_case_begin(s, &soft, nr);
            memcpy(soft.row_max.data, c.row_max.data, (size_t)(c.rows * lanes) * attn_type_size(s->type));
            call_softmax(s, &soft, 0, c.rows, max_known);
            for (int row = 0; row < c.rows; row++) {
                assert_true(isnan(get(&soft.scores, (int64_t)row * STRIDE + key)));
                check_softmax_row(s, &soft, row);
            }
            score_case_free(&c);
            softmax_case_free(&soft);
        }
}

/* ------------------------------------------------------------------------------------------------------ exponential */

/* One tile of arguments <= 0 with m held at 0, so that they come out as their exponentials. */
typedef struct exp_sweep {
    const subject *s;
    softmax_case c;
    int count;
} exp_sweep;

static void sweep_flush(exp_sweep *sweep) {
    softmax_case *c = &sweep->c;
    put(&c->m, 0, 0.0);
    put(&c->l, 0, 1.0);
    for (int j = sweep->count; j < ATTN_TILE_KEYS; j++) put(&c->scores, j, -1.0);
    softmax_case_begin(sweep->s, c, ATTN_TILE_KEYS);
    call_softmax(sweep->s, c, 0, 1, 0);
    for (int j = 0; j < sweep->count; j++) {
        const double x = get(&c->before, j), got = get(&c->scores, j);
        if (x <= sweep->s->exp_lowest) {
            expect_same(got, 0.0, "exp far below", 0, j);
        } else {
            expect_near(got, exp(x), exp_tolerance(sweep->s, x), "exp", 0, j);
        }
    }
    sweep->count = 0;
}

static void sweep_add(exp_sweep *sweep, double x) {
    put(&sweep->c.scores, sweep->count++, rounded(sweep->s, x));
    if (sweep->count == ATTN_TILE_KEYS) sweep_flush(sweep);
}

/* x and some neighbours on both sides. */
static void sweep_add_around(exp_sweep *sweep, double x) {
    double below = rounded(sweep->s, x), above = below;
    sweep_add(sweep, below);
    for (int i = 0; i < 3; i++) {
        below = neighbour(sweep->s, below, -(double)INFINITY);
        above = neighbour(sweep->s, above, 0.0);
        sweep_add(sweep, below);
        sweep_add(sweep, above);
    }
}

static void exp_is_accurate_over_its_whole_range(void **state) {
    const subject *s = *state;
    exp_sweep sweep = {.s = s, .c = softmax_case_make(s, 1)};
    test_prng prng = test_prng_make(10, 0);
    const double end = s->type == ATTN_F64 ? -750 : -100;
    for (int i = 0; i < 40000; i++) sweep_add(&sweep, -100 * (i + test_prng_uniform(&prng)) / 40000);
    for (int i = 0; i < 5000; i++) sweep_add(&sweep, end * test_prng_uniform(&prng));
    for (int order = -140; order <= 6; order++)
        for (int i = 0; i < 20; i++) sweep_add(&sweep, -fabs(draw_within(&prng, (exponents){order, order})));
    /* Where n ln 2 changes n, and where it fits exactly. */
    for (int halves = 0; halves * log(2.0) / 2 < -end; halves++) sweep_add_around(&sweep, -halves * log(2.0) / 2);
    sweep_add_around(&sweep, s->exp_lowest);
    sweep_add_around(&sweep, log(s->normal));
    sweep_flush(&sweep);
    softmax_case_free(&sweep.c);
}

static void exp_far_below_is_exactly_zero(void **state) {
    const subject *s = *state;
    exp_sweep sweep = {.s = s, .c = softmax_case_make(s, 1)};
    const double lowest[] = {-(double)INFINITY, -s->largest, -1e30, -1e9, -65536.0, -1e3, -800, s->exp_lowest};
    for (int i = 0; i < 8; i++) {
        sweep_add(&sweep, lowest[i]);
        sweep_flush(&sweep);
        expect_same(get(&sweep.c.scores, 0), 0.0, "exp", 0, i);
    }
    softmax_case_free(&sweep.c);
}

/* ------------------------------------------------------------------------------------------------------- accumulate */

/* A block of rows, one panel of columns. */
typedef struct output_case {
    int rows;
    int64_t o_stride, v_stride;
    attn_panel_keys panels[ATTN_ROW_PANELS];
    buffer o, before, p, v, alpha;
    int without_alpha; /* all 1 */
    attn_next next;
} output_case;

static void call_accumulate(const subject *s, output_case *c, int first, int rows) {
    s->kernels->accumulate(at(&c->o, first * c->o_stride), c->o_stride, at(&c->p, (int64_t)first * STRIDE), c->v.data,
                           c->v_stride, c->without_alpha ? NULL : at(&c->alpha, first),
                           c->panels + first / s->kernels->mr, rows, &c->next);
}

/* v is the caller's: at any address, its last row ending where the memory does. Where no panel's keys are, p and v stay
 * poison. */
static output_case output_case_make(const subject *s, const attn_panel_keys *panels, int count, int64_t v_gap,
                                    data_kind kind) {
    const int mr = s->kernels->mr, nr = s->kernels->nr;
    output_case c = {.rows = count * mr, .o_stride = nr + (v_gap ? nr : 0), .v_stride = nr + v_gap};
    test_prng prng = test_prng_make(11, (uint64_t)kind * 1000 + (uint64_t)count);
    memcpy(c.panels, panels, (size_t)count * sizeof panels[0]);
    c.o = buffer_make(s->type, c.rows * c.o_stride, ALIGNED);
    c.before = buffer_make(s->type, c.rows * c.o_stride, ALIGNED);
    c.p = buffer_make(s->type, (int64_t)c.rows * STRIDE, ALIGNED);
    c.v = buffer_make(s->type, (ATTN_TILE_KEYS - 1) * c.v_stride + nr, TIGHT);
    c.alpha = buffer_make(s->type, c.rows, ALIGNED);
    for (int r = 0; r < c.rows; r++) {
        const attn_panel_keys keys = panels[r / mr];
        for (int j = keys.begin; j < keys.end; j++) put(&c.p, (int64_t)r * STRIDE + j, draw(&prng, s->type, kind));
        fill(&c.before, r * c.o_stride, nr, &prng, kind == LARGE ? NORMAL : kind);
        if (keys.end > keys.begin) put(&c.alpha, r, r % 3 ? test_prng_uniform(&prng) : r % 2);
    }
    for (int panel = 0; panel < count; panel++)
        for (int64_t j = panels[panel].begin; j < panels[panel].end; j++) fill(&c.v, j * c.v_stride, nr, &prng, kind);
    return c;
}

static void output_case_free(output_case *c) {
    buffer_free(&c->o);
    buffer_free(&c->before);
    buffer_free(&c->p);
    buffer_free(&c->v);
    buffer_free(&c->alpha);
}

/* Rows first .. first + rows - 1, from the outputs as they were made; only those with keys may change. */
static void output_case_run(const subject *s, output_case *c, int first, int rows) {
    const int mr = s->kernels->mr;
    memcpy(c->o.data, c->before.data, (size_t)(c->rows * c->o_stride) * attn_type_size(s->type));
    buffer_seal(&c->o);
    for (int r = first; r < first + rows; r++)
        if (c->panels[r / mr].end > c->panels[r / mr].begin) buffer_allow(&c->o, r * c->o_stride, s->kernels->nr);
    call_accumulate(s, c, first, rows);
    buffer_check(&c->o, "accumulate");
}

/* The sum is a chain over the keys that starts at 0; alpha times the old output joins it with one more multiply-add.
 * The bound counts two roundings for that. */
static void check_output(const subject *s, const output_case *c, int row, int column, int bounded) {
    const attn_panel_keys keys = c->panels[row / s->kernels->mr];
    const int64_t index = row * c->o_stride + column;
    const double alpha = c->without_alpha ? 1.0 : get(&c->alpha, row), before = get(&c->before, index),
                 got = get(&c->o, index);
    product_sum sum = {.exact = alpha * before, .sizes = fabs(alpha * before)};
    if (keys.end == keys.begin) return; /* output_case_run has seen that it did not change */
    for (int j = keys.begin; j < keys.end; j++)
        add_product(s, &sum, get(&c->p, (int64_t)row * STRIDE + j), get(&c->v, j * c->v_stride + column));
    expect_same(got, multiply_add(s, before, alpha, sum.chain), "accumulate, by the chain", row, column);
    if (bounded) expect_near(got, sum.exact, sum_tolerance(s, &sum, 2), "accumulate, by the definition", row, column);
}

/* Ranges of keys at both ends of the tile, in its middle, of one key, of all, and none. */
static const attn_panel_keys panel_keys[] = {
    {0, ATTN_TILE_KEYS}, {0, 0}, {0, 1}, {3, 20}, {ATTN_TILE_KEYS - 1, ATTN_TILE_KEYS}, {7, 7}, {100, 133}};
enum { PANELS = sizeof panel_keys / sizeof panel_keys[0] };

static void check_outputs(const subject *s, output_case *c, data_kind kind) {
    output_case_run(s, c, 0, c->rows);
    for (int row = 0; row < c->rows; row++)
        for (int column = 0; column < s->kernels->nr; column++) check_output(s, c, row, column, kind != SPECIAL);
}

static void outputs_are_chains_over_keys(void **state) {
    const subject *s = *state;
    const int64_t gaps[] = {0, 1, 2 * s->kernels->nr + 5};
    for (int i = 0; i < 3; i++)
        for (data_kind kind = 0; kind < DATA_KINDS; kind++) {
            output_case c = output_case_make(s, panel_keys, PANELS, gaps[i], kind);
            c.without_alpha = i == 1;
            check_outputs(s, &c, kind);
            output_case_free(&c);
        }
}

/* Poison (NaN) stands everywhere in v but in the one panel's range of keys. */
static void outputs_use_no_value_outside_their_keys(void **state) {
    const subject *s = *state;
    for (int panel = 0; panel < PANELS; panel++) {
        output_case c = output_case_make(s, panel_keys + panel, 1, 3, NORMAL);
        check_outputs(s, &c, NORMAL);
        if (c.panels[0].end > c.panels[0].begin)
            for (int64_t i = 0; i < c.rows; i++) assert_true(isfinite(get(&c.o, i * c.o_stride)));
        output_case_free(&c);
    }
}

static void outputs_of_any_rows_are_the_same_bits(void **state) {
    const subject *s = *state;
    const int mr = s->kernels->mr;
    output_case all = output_case_make(s, panel_keys + 1, 4, 0, WIDE),
                some = output_case_make(s, panel_keys + 1, 4, 0, WIDE);
    some.next = past_the_end(&some.v);
    output_case_run(s, &all, 0, all.rows);
    for (int first = 0; first < all.rows; first += mr)
        for (int rows = 0; rows <= all.rows - first; rows++) {
            output_case_run(s, &some, first, rows);
            for (int r = first; r < first + rows; r++)
                if (!same_bits(&some.o, r * some.o_stride, &all.o, r * all.o_stride, s->kernels->nr))
                    fail_msg("row %d of %d from %d on: other outputs than in a block of all rows", r, rows, first);
        }
    output_case_free(&all);
    output_case_free(&some);
}

/* --------------------------------------------------------------------------------------------------- accumulate_rows */

/* Few rows against the caller's values, a tile of them. */
typedef struct value_case {
    int64_t columns, o_stride;
    buffer o, before, p, alpha;
    placed_rows v;
    int without_alpha; /* all 1 */
} value_case;

static void call_accumulate_rows(const subject *s, value_case *c, int row, int rows, int64_t columns, int key,
                                 int keys) {
    const attn_rows v = rows_from(&c->v, key);
    s->kernels->accumulate_rows(at(&c->o, row * c->o_stride), c->o_stride, columns,
                                at(&c->p, (int64_t)row * STRIDE + key), rows, &v, keys,
                                c->without_alpha ? NULL : at(&c->alpha, row));
}

/* A row of o has room behind its columns. */
static value_case value_case_make(const subject *s, attn_type type, int vectors, int64_t v_stride, data_kind kind) {
    const int nr = s->kernels->nr;
    value_case c = {.columns = (int64_t)vectors * s->kernels->lanes};
    test_prng prng = test_prng_make(14, (uint64_t)vectors * DATA_KINDS + (uint64_t)kind);
    c.o_stride = (c.columns / nr + 1) * nr;
    c.o = buffer_make(s->type, FEW_ROWS * c.o_stride, ALIGNED);
    c.before = buffer_make(s->type, FEW_ROWS * c.o_stride, ALIGNED);
    c.p = buffer_make(s->type, (int64_t)FEW_ROWS * STRIDE, ALIGNED);
    c.alpha = buffer_make(s->type, FEW_ROWS, ALIGNED);
    for (int r = 0; r < FEW_ROWS; r++) {
        fill(&c.p, (int64_t)r * STRIDE, ATTN_TILE_KEYS, &prng, kind);
        fill(&c.before, r * c.o_stride, c.columns, &prng, kind == LARGE ? NORMAL : kind);
        put(&c.alpha, r, r % 3 ? test_prng_uniform(&prng) : r % 2);
    }
    c.v = placed_rows_make(type, ATTN_TILE_KEYS, c.columns, v_stride, &prng, kind);
    return c;
}

static void value_case_free(value_case *c) {
    buffer_free(&c->o);
    buffer_free(&c->before);
    buffer_free(&c->p);
    buffer_free(&c->alpha);
    buffer_free(&c->v.memory);
}

/* From the outputs as they were made. */
static void value_case_run(const subject *s, value_case *c, int row, int rows, int64_t columns, int key, int keys) {
    memcpy(c->o.data, c->before.data, (size_t)(FEW_ROWS * c->o_stride) * attn_type_size(s->type));
    buffer_seal(&c->o);
    for (int r = row; r < row + rows; r++) buffer_allow(&c->o, r * c->o_stride, columns);
    call_accumulate_rows(s, c, row, rows, columns, key, keys);
    buffer_check(&c->o, "accumulate_rows");
}

/* The sum of each part is a chain that starts at 0; the output before it, the first time as alpha times that, joins it
 * with one more multiply-add. That is as many additions as in one chain. */
static void check_value(const subject *s, const value_case *c, int row, int64_t column, int key, int keys,
                        int bounded) {
    const int64_t index = row * c->o_stride + column;
    const double got = get(&c->o, index);
    double alpha = c->without_alpha ? 1.0 : get(&c->alpha, row), chained = get(&c->before, index);
    product_sum sum = {.exact = alpha * chained, .sizes = fabs(alpha * chained)};
    for (int j = 0; j < keys; j++) {
        add_product(s, &sum, get(&c->p, (int64_t)row * STRIDE + key + j), get_placed(&c->v, key + j, column));
        if ((j + 1) % PART_KEYS != 0 && j + 1 < keys) continue;
        chained = multiply_add(s, chained, alpha, sum.chain);
        alpha = 1.0;
        sum.chain = 0;
    }
    expect_same(got, chained, "accumulate_rows, by the chain", row, column);
    if (bounded)
        expect_near(got, sum.exact, sum_tolerance(s, &sum, 2), "accumulate_rows, by the definition", row, column);
}

static void check_values(const subject *s, value_case *c, int rows, int key, int keys, int bounded) {
    value_case_run(s, c, 0, rows, c->columns, key, keys);
    for (int row = 0; row < rows; row++)
        for (int64_t column = 0; column < c->columns; column++) check_value(s, c, row, column, key, keys, bounded);
}

static void outputs_of_few_rows_are_chains_over_parts(void **state) {
    const subject *s = *state;
    const int vectors[] = {5, 1, 2, 3};
    int n = 0;
    for (int t = 0; t < STORED_TYPES; t++)
        for (data_kind kind = 0; kind < DATA_KINDS && can_lie_in_place(s, stored_types[t]); kind++, n++) {
            const int64_t columns = vectors[n % 4] * s->kernels->lanes;
            value_case c = value_case_make(s, stored_types[t], vectors[n % 4], stride_in_place(n, columns), kind);
            c.without_alpha = n % 5 == 4;
            check_values(s, &c, FEW_ROWS, 0, ATTN_TILE_KEYS, kind != SPECIAL);
            value_case_free(&c);
        }
}

/* The last keys, up to the end of the memory. */
static void outputs_of_few_rows_take_any_number_of_keys(void **state) {
    const subject *s = *state;
    for (int t = 0; t < STORED_TYPES; t++) {
        if (!can_lie_in_place(s, stored_types[t])) continue;
        value_case c = value_case_make(s, stored_types[t], 1, s->kernels->lanes + 3, NORMAL);
        for (int keys = 1; keys <= ATTN_TILE_KEYS; keys++) {
            c.without_alpha = keys % 2;
            check_values(s, &c, 1 + keys % 7, ATTN_TILE_KEYS - keys, keys, 1);
        }
        value_case_free(&c);
    }
}

static void expect_values_as_in(const subject *s, value_case *c, const value_case *all, int row, int rows,
                                int64_t columns, int key, int keys) {
    value_case_run(s, c, row, rows, columns, key, keys);
    for (int r = row; r < row + rows; r++)
        if (!same_bits(&c->o, r * c->o_stride, &all->o, r * all->o_stride, columns))
            fail_msg("row %d of %d, %" PRId64 " columns: other outputs than in all", r, rows, columns);
}

static void outputs_of_any_few_rows_and_columns_are_the_same_bits(void **state) {
    const subject *s = *state;
    enum { VECTORS = 11, KEYS = 70, KEY = ATTN_TILE_KEYS - KEYS };
    for (int t = 0; t < STORED_TYPES; t++) {
        if (!can_lie_in_place(s, stored_types[t])) continue;
        const int64_t lanes = s->kernels->lanes, stride = VECTORS * lanes + 1;
        value_case all = value_case_make(s, stored_types[t], VECTORS, stride, WIDE),
                   some = value_case_make(s, stored_types[t], VECTORS, stride, WIDE);
        value_case_run(s, &all, 0, FEW_ROWS, all.columns, KEY, KEYS);
        for (int rows = 1; rows <= FEW_ROWS; rows++)
            for (int vectors = 1; vectors <= VECTORS; vectors++)
                expect_values_as_in(s, &some, &all, FEW_ROWS - rows, rows, vectors * lanes, KEY, KEYS);
        value_case_free(&all);
        value_case_free(&some);
    }
}

/* Bit by bit, but for NaN. */
static void check_converted_values(const subject *s, attn_type type, int rows, data_kind kind) {
    const int64_t stride = 3 * s->kernels->lanes + 1;
    value_case stored = value_case_make(s, type, 3, stride, kind), reals = value_case_make(s, type, 3, stride, kind);
    placed_rows_convert(s, &reals.v);
    value_case_run(s, &stored, 0, rows, stored.columns, 0, ATTN_TILE_KEYS);
    value_case_run(s, &reals, 0, rows, reals.columns, 0, ATTN_TILE_KEYS);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < stored.columns; column++)
            expect_same(get(&stored.o, row * stored.o_stride + column), get(&reals.o, row * reals.o_stride + column),
                        attn_type_name(type), row, column);
    value_case_free(&stored);
    value_case_free(&reals);
}

static void outputs_of_any_storage_are_those_of_reals(void **state) {
    const subject *s = *state;
    for (int t = 0; t < STORED_TYPES; t++)
        for (data_kind kind = 0; kind < DATA_KINDS && can_lie_in_place(s, stored_types[t]); kind++) {
            check_converted_values(s, stored_types[t], 1, kind);
            check_converted_values(s, stored_types[t], FEW_ROWS, kind);
        }
}

/* ------------------------------------------------------------------------------------------------------- the others */

static void check_finite_except_at(const subject *s, buffer *b, int64_t n, int64_t place) {
    const double infinite[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 3; i++) {
        const double kept = get(b, place);
        put(b, place, infinite[i]);
        if (s->kernels->all_finite(b->data, n)) fail_msg("all_finite overlooks %g at %" PRId64, infinite[i], place);
        put(b, place, kept);
    }
}

static void all_finite_sees_every_element(void **state) {
    const subject *s = *state;
    const double ends[] = {s->largest, -s->largest, 2 * s->underflow, -0.0};
    for (int64_t n = 0; n <= 70; n++) {
        buffer b = buffer_make(s->type, n, TIGHT);
        for (int64_t i = 0; i < n; i++) put(&b, i, i % 5 == 4 ? 1.5 : ends[i % 5]);
        assert_int_equal(s->kernels->all_finite(b.data, n), 1);
        for (int64_t place = 0; place < n; place++) check_finite_except_at(s, &b, n, place);
        assert_int_equal(s->kernels->all_finite(b.data, n), 1);
        buffer_free(&b);
    }
}

static void begin_rows_sets_m_and_l(void **state) {
    const subject *s = *state;
    for (int rows = 0; rows <= ATTN_BLOCK_ROWS + 1; rows++) {
        buffer m = buffer_make(s->type, ATTN_BLOCK_ROWS + 1, ALIGNED),
               l = buffer_make(s->type, ATTN_BLOCK_ROWS + 1, ALIGNED);
        buffer_seal(&m);
        buffer_seal(&l);
        buffer_allow(&m, 0, rows);
        buffer_allow(&l, 0, rows);
        s->kernels->begin_rows(m.data, l.data, rows);
        buffer_check(&m, "begin_rows' m");
        buffer_check(&l, "begin_rows' l");
        for (int r = 0; r < rows; r++) {
            expect_same(get(&m, r), -(double)INFINITY, "m", rows, r);
            expect_same(get(&l, r), 0.0, "l", rows, r);
        }
        buffer_free(&m);
        buffer_free(&l);
    }
}

static void check_sum(const subject *s, int64_t n) {
    buffer b = buffer_make(s->type, n, TIGHT);
    test_prng prng = test_prng_make(12, (uint64_t)n);
    double exact = 0, sizes = 0;
    fill(&b, 0, n, &prng, WIDE);
    for (int64_t i = 0; i < n; i++) {
        exact += get(&b, i);
        sizes += fabs(get(&b, i));
    }
    expect_near(s->kernels->sum(b.data, n), exact, (double)n * (s->roundoff + 0x1p-53) * sizes, "sum", n, 0);
    buffer_free(&b);
}

static void sum_adds_all(void **state) {
    const int64_t counts[] = {0, 1, 2, 7, 16, 100, 128, 129, 255, 1000, 1024, 3072, 4097};
    for (int i = 0; i < (int)(sizeof counts / sizeof counts[0]); i++) check_sum(*state, counts[i]);
}

/* Whole vectors of two operations each, as many a round as one panel holds sums: enough chains to hide the latency. */
static void spin_fma_counts_its_operations(void **state) {
    const subject *s = *state;
    const int64_t counts[] = {1, 2, 3, 1000};
    for (int i = 0; i < 4; i++) {
        double flops = -1;
        const double kept = s->kernels->spin_fma(counts[i], &flops);
        assert_true(isfinite(kept) && kept != 0);
        assert_true(flops == 2.0 * s->kernels->mr * s->kernels->nr * (double)counts[i]);
    }
}

static void the_table_fits_the_blocks(void **state) {
    const attn_kernels *k = ((const subject *)*state)->kernels;
    assert_int_equal(k->type, ((const subject *)*state)->type);
    assert_int_equal(k->bytes, attn_type_size(k->type));
    assert_in_range(k->mr, 2, ATTN_LANES_MAX);
    assert_in_range(k->lanes, 1, ATTN_LANES_MAX);
    assert_in_range(k->nr, k->lanes, 2 * ATTN_LANES_MAX);
    assert_in_range(k->dots_rows, 1, ATTN_BLOCK_ROWS);
    assert_in_range(k->dots_most, 1, ATTN_BLOCK_ROWS);
    assert_int_equal(k->nr % k->lanes, 0);
    assert_int_equal(ATTN_TILE_KEYS % k->nr, 0);
    assert_int_equal(ATTN_BLOCK_ROWS % k->mr, 0);
}

/* ---------------------------------------------------------------------------------------------------------- running */

static int test_table(const attn_kernel_set *set, attn_type type) {
    subject s = subject_make(set, type);
    char name[64];
    snprintf(name, sizeof name, "kernels: %s, %s", set->name, attn_type_name(type));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_table_fits_the_blocks, &s),
        cmocka_unit_test_prestate(load_row_reads_every_type_stride_and_size, &s),
        cmocka_unit_test_prestate(load_row_reads_from_any_address, &s),
        cmocka_unit_test_prestate(load_row_reads_every_16_bit_pattern, &s),
        cmocka_unit_test_prestate(store_row_writes_every_type_stride_and_size, &s),
        cmocka_unit_test_prestate(store_row_divides_before_it_rounds, &s),
        cmocka_unit_test_prestate(store_row_rounds_to_nearest_even, &s),
        cmocka_unit_test_prestate(store_row_keeps_special_numbers, &s),
        cmocka_unit_test_prestate(store_row_keeps_every_nan, &s),
        cmocka_unit_test_prestate(scale_row_multiplies, &s),
        cmocka_unit_test_prestate(pack_q_interleaves_and_fills, &s),
        cmocka_unit_test_prestate(pack_k_transposes_and_fills, &s),
        cmocka_unit_test_prestate(pack_v_writes_one_row_of_each_panel, &s),
        cmocka_unit_test_prestate(scores_are_chains_over_dim, &s),
        cmocka_unit_test_prestate(scores_of_any_rows_are_the_same_bits, &s),
        cmocka_unit_test_prestate(dots_are_dot_products, &s),
        cmocka_unit_test_prestate(dots_of_any_rows_and_keys_are_the_same_bits, &s),
        cmocka_unit_test_prestate(dots_of_any_storage_are_those_of_reals, &s),
        cmocka_unit_test_prestate(scores_in_place_are_chains_over_dim, &s),
        cmocka_unit_test_prestate(scores_in_place_of_any_rows_and_keys_are_the_same_bits, &s),
        cmocka_unit_test_prestate(softcap_is_a_scaled_tanh, &s),
        cmocka_unit_test_prestate(softcap_is_accurate_at_every_size, &s),
        cmocka_unit_test_prestate(softcap_of_the_ends_of_the_range, &s),
        cmocka_unit_test_prestate(softcap_beyond_the_range_of_the_type, &s),
        cmocka_unit_test_prestate(add_bias_adds_or_excludes, &s),
        cmocka_unit_test_prestate(add_alibi_lowers_by_distance, &s),
        cmocka_unit_test_prestate(apply_mask_excludes_zero_bytes, &s),
        cmocka_unit_test_prestate(exclude_writes_minus_infinity, &s),
        cmocka_unit_test_prestate(softmax_follows_the_definition_over_tiles, &s),
        cmocka_unit_test_prestate(softmax_of_any_rows_is_the_same_bits, &s),
        cmocka_unit_test_prestate(ragged_rows_come_out_as_each_alone, &s),
        cmocka_unit_test_prestate(nan_passes_from_scores_through_softmax, &s),
        cmocka_unit_test_prestate(exp_is_accurate_over_its_whole_range, &s),
        cmocka_unit_test_prestate(exp_far_below_is_exactly_zero, &s),
        cmocka_unit_test_prestate(outputs_are_chains_over_keys, &s),
        cmocka_unit_test_prestate(outputs_use_no_value_outside_their_keys, &s),
        cmocka_unit_test_prestate(outputs_of_any_rows_are_the_same_bits, &s),
        cmocka_unit_test_prestate(outputs_of_few_rows_are_chains_over_parts, &s),
        cmocka_unit_test_prestate(outputs_of_few_rows_take_any_number_of_keys, &s),
        cmocka_unit_test_prestate(outputs_of_any_few_rows_and_columns_are_the_same_bits, &s),
        cmocka_unit_test_prestate(outputs_of_any_storage_are_those_of_reals, &s),
        cmocka_unit_test_prestate(all_finite_sees_every_element, &s),
        cmocka_unit_test_prestate(begin_rows_sets_m_and_l, &s),
        cmocka_unit_test_prestate(sum_adds_all, &s),
        cmocka_unit_test_prestate(spin_fma_counts_its_operations, &s),
    };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(int argc, char **argv) {
    const int bench = argc > 1 && strcmp(argv[1], "--bench") == 0;
    int failed = 0;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        const attn_kernel_set *set = attn_cpu_choose(cpu);
        if (bench) {
            test_bench_kernels(set);
        } else {
            failed += test_table(set, ATTN_F32) + test_table(set, ATTN_F64);
        }
    }
    return failed > 0;
}
