/* SPDX-License-Identifier: Apache-2.0 */
/* attn_merge: results over disjoint keys make the result over all of them. */
#include "support/cmocka_all.h"
#include "support/compare.h"
#include "support/element.h"
#include "support/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 6, DIM = 5, ELEMENTS = ROWS * DIM, PARTS = 3 };

static attn_merge_shape small_shape(attn_type part_type, attn_type o_type) {
    attn_merge_shape shape = ATTN_MERGE_SHAPE_INIT;
    shape.part_type = part_type;
    shape.o_type = o_type;
    shape.heads = 2;
    shape.seq = ROWS / 2;
    shape.dim_v = DIM;
    return shape;
}

/* Parts with numbers of no special pattern; room for the widest type. */
typedef struct small_parts {
    double o[PARTS][ELEMENTS];
    float lse[PARTS][ROWS];
    const void *o_parts[PARTS];
    const float *lse_parts[PARTS];
} small_parts;

static void fill_parts(small_parts *parts, attn_type type) {
    test_prng prng = test_prng_make(3, (uint64_t)type);
    for (int n = 0; n < PARTS; n++) {
        for (int i = 0; i < ELEMENTS; i++) test_store(type, parts->o[n], i, test_prng_normal(&prng));
        for (int i = 0; i < ROWS; i++) parts->lse[n][i] = (float)(3.0 * test_prng_normal(&prng));
        parts->o_parts[n] = parts->o[n];
        parts->lse_parts[n] = parts->lse[n];
    }
}

/* The definition in double. Row without keys: 0 and -inf. */
static double merged_lse(const small_parts *parts, int row) {
    double sum = 0;
    for (int n = 0; n < PARTS; n++) sum += exp((double)parts->lse[n][row]);
    return sum > 0 ? log(sum) : -(double)INFINITY;
}

static double merged_value(const small_parts *parts, attn_type type, int row, int d) {
    double lse = merged_lse(parts, row), sum = 0;
    for (int n = 0; n < PARTS; n++) {
        double weight = exp((double)parts->lse[n][row] - lse);
        if (parts->lse[n][row] > -INFINITY) sum += weight * test_load(type, parts->o[n], row * DIM + d);
    }
    return sum;
}

static void assert_merged(const small_parts *parts, attn_type part_type, attn_type o_type, const void *o,
                          const float *lse) {
    double u = fmax(0x1p-23, test_unit_roundoff(o_type));
    for (int row = 0; row < ROWS; row++) {
        double exact_lse = merged_lse(parts, row);
        if (lse && isinf(exact_lse))
            assert_true((double)lse[row] == exact_lse);
        else if (lse)
            assert_true(fabs((double)lse[row] - exact_lse) <= 1e-6 * (1.0 + fabs(exact_lse)));
        for (int d = 0; d < DIM; d++) {
            double exact = merged_value(parts, part_type, row, d), got = test_load(o_type, o, row * DIM + d);
            assert_true(fabs(got - exact) <= 4.0 * u * (0.1 + fabs(exact)));
        }
    }
}

static void merges_every_pair_of_types(void **state) {
    static const attn_type types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64};
    (void)state;
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < 4; b++) {
            attn_merge_shape shape = small_shape(types[a], types[b]);
            small_parts parts;
            double o[ELEMENTS];
            float lse[ROWS];
            attn_reason reason = {"stale"};
            fill_parts(&parts, types[a]);
            test_assert_ok(attn_merge(&shape, PARTS, parts.o_parts, parts.lse_parts, o, lse, &reason), &reason);
            assert_merged(&parts, types[a], types[b], o, lse);
            test_assert_ok(attn_merge(&shape, PARTS, parts.o_parts, parts.lse_parts, o, NULL, &reason), &reason);
            assert_merged(&parts, types[a], types[b], o, NULL);
        }
    }
}

/* Over each of the parts, with and without its lse. */
static void merges_in_place(void **state) {
    attn_merge_shape shape = small_shape(ATTN_F32, ATTN_TYPE_DEFAULT);
    (void)state;
    for (int n = 0; n < PARTS; n++) {
        small_parts parts, original;
        attn_reason reason = {"stale"};
        fill_parts(&parts, ATTN_F32);
        memcpy(&original, &parts, sizeof parts);
        test_assert_ok(attn_merge(&shape, PARTS, parts.o_parts, parts.lse_parts, parts.o[n], parts.lse[n], &reason),
                       &reason);
        assert_merged(&original, ATTN_F32, ATTN_F32, parts.o[n], parts.lse[n]);

        float lse[ROWS];
        fill_parts(&parts, ATTN_F32);
        test_assert_ok(attn_merge(&shape, PARTS, parts.o_parts, parts.lse_parts, parts.o[n], lse, &reason), &reason);
        assert_merged(&original, ATTN_F32, ATTN_F32, parts.o[n], lse);
    }
}

/* Parts whose lse is -inf have no weight, even where their o is NaN; rows without keys anywhere are 0, -inf. */
static void parts_without_keys_have_no_weight(void **state) {
    attn_merge_shape shape = small_shape(ATTN_F32, ATTN_TYPE_DEFAULT);
    small_parts parts;
    float o[ELEMENTS], lse[ROWS];
    attn_reason reason = {"stale"};
    (void)state;
    fill_parts(&parts, ATTN_F32);
    for (int row = 0; row < ROWS; row++) {
        for (int n = 0; n < PARTS; n++) {
            if (row != 0 && (row + n) % 3 != 0) continue;
            parts.lse[n][row] = -INFINITY;
            for (int d = 0; d < DIM; d++) test_store(ATTN_F32, parts.o[n], row * DIM + d, (double)NAN);
        }
    }
    test_assert_ok(attn_merge(&shape, PARTS, parts.o_parts, parts.lse_parts, o, lse, &reason), &reason);
    assert_merged(&parts, ATTN_F32, ATTN_F32, o, lse);
    for (int d = 0; d < DIM; d++) assert_true(o[d] == 0.0F);
    assert_true(lse[0] == -INFINITY);
}

/* Of lse alone is known how far the parts are apart: exp of it would overflow or vanish. */
static void merges_extreme_lse(void **state) {
    attn_merge_shape shape = small_shape(ATTN_F32, ATTN_TYPE_DEFAULT);
    static const float levels[] = {-1e5F, 1e5F, -3e38F, 3e38F};
    (void)state;
    for (int level = 0; level < 4; level++) {
        small_parts parts;
        float o[ELEMENTS], lse[ROWS];
        fill_parts(&parts, ATTN_F32);
        for (int row = 0; row < ROWS; row++) {
            parts.lse[0][row] = parts.lse[1][row] = levels[level];
            parts.lse[2][row] = -INFINITY;
        }
        assert_int_equal(attn_merge(&shape, PARTS, parts.o_parts, parts.lse_parts, o, lse, NULL), ATTN_OK);
        for (int i = 0; i < ELEMENTS; i++) {
            double mean = (test_load(ATTN_F32, parts.o[0], i) + test_load(ATTN_F32, parts.o[1], i)) / 2.0;
            assert_true(fabs((double)o[i] - mean) <= 1e-6);
            assert_true(fabs((double)lse[i / DIM] - (double)levels[level]) <=
                        0.70 + 1e-7 * fabs((double)levels[level]));
        }
    }
}

/* NaN in a part with weight reaches its rows, and no others. */
static void nan_reaches_its_row(void **state) {
    attn_merge_shape shape = small_shape(ATTN_F32, ATTN_TYPE_DEFAULT);
    small_parts parts;
    float o[ELEMENTS], lse[ROWS];
    (void)state;
    fill_parts(&parts, ATTN_F32);
    test_store(ATTN_F32, parts.o[1], 2 * DIM + 3, (double)NAN);
    parts.lse[2][4] = NAN;
    assert_int_equal(attn_merge(&shape, PARTS, parts.o_parts, parts.lse_parts, o, lse, NULL), ATTN_OK);
    for (int i = 0; i < ELEMENTS; i++) assert_int_equal(isnan(o[i]) != 0, i == 2 * DIM + 3 || i / DIM == 4);
    for (int row = 0; row < ROWS; row++) assert_int_equal(isnan(lse[row]) != 0, row == 4);
}

static void one_part_is_itself(void **state) {
    attn_merge_shape shape = small_shape(ATTN_F32, ATTN_TYPE_DEFAULT);
    small_parts parts;
    float o[ELEMENTS], lse[ROWS];
    (void)state;
    fill_parts(&parts, ATTN_F32);
    assert_int_equal(attn_merge(&shape, 1, parts.o_parts, parts.lse_parts, o, lse, NULL), ATTN_OK);
    assert_memory_equal(o, parts.o[0], sizeof o);
    assert_memory_equal(lse, parts.lse[0], sizeof lse);
}

/* ---------------------------------------------------------------------------------------------------------------
 * refusals */

typedef struct merge_call {
    attn_merge_shape shape;
    small_parts parts;
    int count;
    const void *const *o_parts;
    const float *const *lse_parts;
    float o[2 * ELEMENTS];
    float lse[ROWS];
    void *o_at;
    float *lse_at;
} merge_call;

static void assert_merge_refused(const merge_call *call, attn_status expected, const char *text, const char *other) {
    attn_reason reason = {"stale"};
    attn_status status =
        attn_merge(&call->shape, call->count, call->o_parts, call->lse_parts, call->o_at, call->lse_at, &reason);
    test_assert_refused(status, expected, &reason, text, other);
    assert_int_equal(
        attn_merge(&call->shape, call->count, call->o_parts, call->lse_parts, call->o_at, call->lse_at, NULL),
        expected);
}

#define MERGE_REFUSED(change, expected, text, other)                                                                   \
    do {                                                                                                               \
        merge_call c, before;                                                                                          \
        memset(&c, 0x5A, sizeof c);                                                                                    \
        c.shape = small_shape(ATTN_F32, ATTN_TYPE_DEFAULT);                                                            \
        fill_parts(&c.parts, ATTN_F32);                                                                                \
        c.count = PARTS;                                                                                               \
        c.o_parts = c.parts.o_parts;                                                                                   \
        c.lse_parts = c.parts.lse_parts;                                                                               \
        c.o_at = c.o;                                                                                                  \
        c.lse_at = c.lse;                                                                                              \
        change;                                                                                                        \
        memcpy(&before, &c, sizeof c);                                                                                 \
        assert_merge_refused(&c, expected, text, other);                                                               \
        assert_memory_equal(&before, &c, sizeof c);                                                                    \
    } while (0)

static void merge_refuses(void **state) {
    const int64_t huge = INT64_C(1) << 40;
    attn_reason reason = {"stale"};
    (void)state;
    test_assert_refused(attn_merge(NULL, 0, NULL, NULL, NULL, NULL, &reason), ATTN_ERROR_ARGUMENT, &reason, "shape",
                        "NULL");
    MERGE_REFUSED(c.shape.struct_size = 7, ATTN_ERROR_ARGUMENT, "attn_merge_shape", "7");
    MERGE_REFUSED(c.shape.part_type = ATTN_I32, ATTN_ERROR_ARGUMENT, "part_type", NULL);
    MERGE_REFUSED(c.shape.o_type = (attn_type)88, ATTN_ERROR_ARGUMENT, "o_type", "88");
    MERGE_REFUSED(c.shape.batch = -1, ATTN_ERROR_SHAPE, "batch", "-1");
    MERGE_REFUSED(c.shape.heads = -2, ATTN_ERROR_SHAPE, "heads", "-2");
    MERGE_REFUSED(c.shape.seq = -3, ATTN_ERROR_SHAPE, "seq", "-3");
    MERGE_REFUSED(c.shape.dim_v = 0, ATTN_ERROR_SHAPE, "dim_v", "0");
    MERGE_REFUSED(c.shape.dim_v = 1025, ATTN_ERROR_SHAPE, "1025", "1024");
    MERGE_REFUSED(c.shape.batch = c.shape.heads = huge, ATTN_ERROR_OVERFLOW, "1099511627776", NULL);
    MERGE_REFUSED(c.shape.seq = INT64_MAX / 4, ATTN_ERROR_OVERFLOW, "2305843009213693951", NULL);
    MERGE_REFUSED(c.count = 0, ATTN_ERROR_ARGUMENT, "parts", "0");
    MERGE_REFUSED(c.count = -2, ATTN_ERROR_ARGUMENT, "parts", "-2");
    MERGE_REFUSED(c.o_parts = NULL, ATTN_ERROR_ARGUMENT, "o_parts", "NULL");
    MERGE_REFUSED(c.lse_parts = NULL, ATTN_ERROR_ARGUMENT, "lse_parts", "NULL");
    MERGE_REFUSED(c.parts.o_parts[1] = NULL, ATTN_ERROR_ARGUMENT, "o_parts[1]", "NULL");
    MERGE_REFUSED(c.parts.lse_parts[2] = NULL, ATTN_ERROR_ARGUMENT, "lse_parts[2]", "NULL");
    MERGE_REFUSED(c.o_at = NULL, ATTN_ERROR_ARGUMENT, "o ", "NULL");
}

static void merge_refuses_overlap(void **state) {
    (void)state;
    MERGE_REFUSED(c.o_at = (char *)c.parts.o[0] + 4, ATTN_ERROR_OVERLAP, "o ", "0");
    MERGE_REFUSED(c.o_at = (char *)c.parts.o[2] - 4, ATTN_ERROR_OVERLAP, "o ", NULL);
    MERGE_REFUSED(c.lse_at = c.parts.lse[1] + 1, ATTN_ERROR_OVERLAP, "lse", NULL);
    MERGE_REFUSED(c.lse_at = c.o, ATTN_ERROR_OVERLAP, "o ", "lse");
    MERGE_REFUSED(c.o_at = c.parts.lse[1], ATTN_ERROR_OVERLAP, "o ", "1");
    MERGE_REFUSED(c.lse_at = (float *)(void *)c.parts.o[1], ATTN_ERROR_OVERLAP, "lse", "1");
    /* In place, but of another type: rows of the result would cover rows of the part that are still to be read. */
    MERGE_REFUSED(c.shape.o_type = ATTN_F16; c.o_at = c.parts.o[0], ATTN_ERROR_OVERLAP, "o ", "0");
}

static void nothing_to_merge_is_success(void **state) {
    attn_merge_shape shape = small_shape(ATTN_F32, ATTN_TYPE_DEFAULT);
    const void *o_parts[1] = {NULL};
    const float *lse_parts[1] = {NULL};
    attn_reason reason = {"stale"};
    (void)state;
    shape.seq = 0;
    test_assert_ok(attn_merge(&shape, 1, o_parts, lse_parts, NULL, NULL, &reason), &reason);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_every_pair_of_types),
        cmocka_unit_test(merges_in_place),
        cmocka_unit_test(parts_without_keys_have_no_weight),
        cmocka_unit_test(merges_extreme_lse),
        cmocka_unit_test(nan_reaches_its_row),
        cmocka_unit_test(one_part_is_itself),
        cmocka_unit_test(merge_refuses),
        cmocka_unit_test(merge_refuses_overlap),
        cmocka_unit_test(nothing_to_merge_is_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
