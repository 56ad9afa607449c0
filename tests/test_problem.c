/* SPDX-License-Identifier: Apache-2.0 */
/* src/problem: defaults and refusals, overlaps, lengths, and which keys a row may see. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "problem/problem.h"
#include "tests/support/prng.h"

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

static attn_problem small_problem(void) {
    attn_problem p = ATTN_PROBLEM_INIT;
    p.batch = 2;
    p.heads_q = 6;
    p.heads_kv = 3;
    p.seq_q = 5;
    p.seq_kv = 7;
    p.dim = 8;
    p.dim_v = 4;
    return p;
}

static attn_problem completed_from(const attn_problem *problem) {
    attn_problem completed;
    attn_reason reason;
    attn_status status = attn_problem_complete(problem, &completed, &reason);
    if (status) fail_msg("%s", reason.text);
    return completed;
}

/* Field by field: between them lies padding. */
static void assert_same_view(const attn_view *a, const attn_view *b) {
    assert_int_equal(a->type, b->type);
    assert_memory_equal(a->shape, b->shape, sizeof a->shape);
    assert_memory_equal(a->strides, b->strides, sizeof a->strides);
}

static void assert_same_problem(const attn_problem *a, const attn_problem *b) {
    assert_true(a->type == b->type && a->kv_type == b->kv_type && a->o_type == b->o_type);
    assert_memory_equal(&a->batch, &b->batch, offsetof(attn_problem, bias) - offsetof(attn_problem, batch));
    assert_same_view(&a->bias, &b->bias);
    assert_same_view(&a->mask, &b->mask);
    assert_true(a->dropout_p == b->dropout_p);
    assert_true(a->with == b->with && a->length_type == b->length_type);
}

static void assert_strides(const int64_t *strides, int64_t batch, int64_t head, int64_t row, int64_t column) {
    assert_int_equal(strides[0], batch);
    assert_int_equal(strides[1], head);
    assert_int_equal(strides[2], row);
    assert_int_equal(strides[3], column);
}

/* ------------------------------------------------------------------------------------------------------- completion */

static void defaults_are_filled_in(void **state) {
    (void)state;
    attn_problem p = small_problem();
    p.heads_kv = p.dim_v = 0;
    p.type = ATTN_BF16;
    p = completed_from(&p);
    assert_int_equal(p.kv_type, ATTN_BF16);
    assert_int_equal(p.o_type, ATTN_BF16);
    assert_int_equal(p.heads_kv, 6);
    assert_int_equal(p.dim_v, 8);
    assert_true(p.scale == 1.0 / sqrt(8.0));
    assert_strides(p.q_strides, 6 * 5 * 8, 5 * 8, 8, 1);
    assert_strides(p.k_strides, 6 * 7 * 8, 7 * 8, 8, 1);
    assert_strides(p.o_strides, 6 * 5 * 8, 5 * 8, 8, 1);
    assert_int_equal(p.lse_strides[0], 6 * 5);
    assert_int_equal(p.lse_strides[1], 5);
    assert_int_equal(p.lse_strides[2], 1);
    assert_int_equal(p.bias.type, ATTN_TYPE_DEFAULT);
}

static void packed_tensors_are_row_head_column(void **state) {
    (void)state;
    attn_problem p = small_problem();
    p.with = ATTN_WITH_LSE | ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV;
    p = completed_from(&p);
    assert_strides(p.q_strides, 0, 8, 6 * 8, 1);
    assert_strides(p.k_strides, 0, 8, 3 * 8, 1);
    assert_strides(p.v_strides, 0, 4, 3 * 4, 1);
    assert_strides(p.o_strides, 0, 4, 6 * 4, 1);
    assert_int_equal(p.lse_strides[1], 5);
    assert_int_equal(p.lse_strides[2], 1);
}

static void views_get_their_strides(void **state) {
    (void)state;
    attn_problem p = small_problem();
    p.bias = (attn_view){ATTN_F16, {1, 6, 1, 7}, {0, 0, 0, 0}};
    p.mask = (attn_view){ATTN_BOOL, {2, 1, 5, 4}, {99, 98, 4, 1}};
    p = completed_from(&p);
    assert_strides(p.bias.strides, 0, 7, 0, 1);
    assert_strides(p.mask.strides, 99, 0, 4, 1);
}

static void completing_twice_changes_nothing(void **state) {
    (void)state;
    attn_problem problems[4] = {small_problem(), small_problem(), small_problem(), small_problem()};
    problems[0].bias = (attn_view){ATTN_F32, {1, 1, 1, 1}, {5, 5, 5, 5}};
    problems[1].with = ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV;
    problems[1].q_strides[0] = 12; /* of a packed tensor: not used */
    problems[2].seq_kv = 0;
    problems[2].k_strides[1] = INT64_MAX; /* of a tensor without elements: not used */
    problems[3].dim = 1;
    problems[3].k_strides[3] = INT64_MIN; /* of a size of 1: not used */
    for (int n = 0; n < COUNT(problems); n++) {
        attn_problem once = completed_from(&problems[n]), twice = completed_from(&once);
        assert_same_problem(&once, &twice);
        assert_int_equal(attn_problem_complete(&once, &once, NULL), ATTN_OK); /* in place, and without a reason */
        assert_same_problem(&once, &twice);
    }
}

static void sizes_of_zero_are_fine(void **state) {
    (void)state;
    attn_problem p = small_problem();
    int64_t *sizes[] = {&p.batch, &p.heads_q, &p.seq_q, &p.seq_kv};
    for (int n = 0; n < COUNT(sizes); n++) {
        p = small_problem();
        *sizes[n] = 0;
        completed_from(&p);
        p.with = ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV | ATTN_WITH_LSE;
        completed_from(&p);
    }
    p = small_problem();
    p.batch = p.heads_q = p.heads_kv = p.seq_q = p.seq_kv = 0;
    completed_from(&p);
}

/* One thing wrong with small_problem: what, the status, and words of the reason. */
typedef struct refusal {
    void (*spoil)(attn_problem *p);
    attn_status status;
    const char *words;
} refusal;

static void old_size(attn_problem *p) {
    p->struct_size = 16;
}
static void unknown_type(attn_problem *p) {
    p->type = (attn_type)77;
}
static void integer_type(attn_problem *p) {
    p->type = ATTN_I32;
}
static void other_kv_type(attn_problem *p) {
    p->kv_type = ATTN_F16;
}
static void narrower_o_type(attn_problem *p) {
    p->o_type = ATTN_F16;
}
static void float_lengths(attn_problem *p) {
    p->length_type = ATTN_F32;
}
static void negative_batch(attn_problem *p) {
    p->batch = -3;
}
static void negative_heads(attn_problem *p) {
    p->heads_kv = -1;
}
static void negative_keys(attn_problem *p) {
    p->seq_kv = INT64_MIN;
}
static void uneven_heads(attn_problem *p) {
    p->heads_kv = 4;
}
static void no_dim(attn_problem *p) {
    p->dim = 0;
}
static void large_dim(attn_problem *p) {
    p->dim = 1025;
}
static void negative_dim_v(attn_problem *p) {
    p->dim_v = -4;
}
static void nan_scale(attn_problem *p) {
    p->scale = NAN;
}
static void infinite_scale(attn_problem *p) {
    p->scale = INFINITY;
}
static void negative_softcap(attn_problem *p) {
    p->softcap = -30.0;
}
static void nan_softcap(attn_problem *p) {
    p->softcap = NAN;
}
static void certain_dropout(attn_problem *p) {
    p->dropout_p = 1.0;
}
static void nan_dropout(attn_problem *p) {
    p->dropout_p = NAN;
}
static void negative_window(attn_problem *p) {
    p->window_left = -2;
}
static void smallest_window(attn_problem *p) {
    p->window_right = INT64_MIN;
}
static void unknown_bits(attn_problem *p) {
    p->with = 0x80000001u;
}
static void many_elements(attn_problem *p) {
    p->batch = INT64_C(1) << 40;
    p->seq_q = INT64_C(1) << 30;
}
static void many_bytes(attn_problem *p) {
    p->batch = INT64_C(1) << 56;
}
static void many_elements_of_none(attn_problem *p) {
    p->heads_q = p->heads_kv = 0;
    p->batch = INT64_MAX;
}
static void many_heads(attn_problem *p) {
    p->batch = p->heads_q = p->heads_kv = INT64_C(1) << 32;
    p->with = ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV;
}
static void long_stride(attn_problem *p) {
    p->k_strides[0] = INT64_MAX / 4 + 1; /* one step of it fits int64_t in elements, but not in bytes */
    p->k_strides[3] = 1;
}
static void long_negative_stride(attn_problem *p) {
    p->v_strides[0] = INT64_MIN;
    p->v_strides[1] = -1;
}
static void strides_apart(attn_problem *p) {
    p->q_strides[0] = INT64_MAX / 6; /* each of them fits, the distance between their ends does not */
    p->q_strides[1] = -(INT64_MAX / 6) / 5;
}
static void repeated_output(attn_problem *p) {
    p->o_strides[0] = 0;
    p->o_strides[1] = 20;
    p->o_strides[2] = 4;
    p->o_strides[3] = 1;
}
static void crossing_output(attn_problem *p) {
    p->o_strides[0] = 1000;
    p->o_strides[1] = 19; /* rows 4 apart: row 4 column 3 of a head is row 0 column 0 of the next */
    p->o_strides[2] = 4;
    p->o_strides[3] = 1;
}
static void repeated_lse(attn_problem *p) {
    p->with = ATTN_WITH_LSE;
    p->lse_strides[2] = 1;
}
static void short_bias(attn_problem *p) {
    p->bias = (attn_view){ATTN_F32, {2, 6, 4, 7}, {0, 0, 0, 0}};
}
static void wide_mask(attn_problem *p) {
    p->mask = (attn_view){ATTN_BOOL, {2, 6, 5, 8}, {0, 0, 0, 0}};
}
static void heads_of_mask(attn_problem *p) {
    p->mask = (attn_view){ATTN_BOOL, {2, 3, 5, 7}, {0, 0, 0, 0}};
}
static void negative_mask(attn_problem *p) {
    p->mask = (attn_view){ATTN_BOOL, {-2, 6, 5, 7}, {0, 0, 0, 0}};
}
static void float_mask(attn_problem *p) {
    p->mask = (attn_view){ATTN_F32, {2, 6, 5, 7}, {0, 0, 0, 0}};
}
static void bool_bias(attn_problem *p) {
    p->bias = (attn_view){ATTN_BOOL, {2, 6, 5, 7}, {0, 0, 0, 0}};
}
static void repeated_bias(attn_problem *p) {
    p->bias = (attn_view){ATTN_F32, {1, 1, 5, 7}, {1, 0, 0, 0}};
}
static void packed_mask_without_rows(attn_problem *p) {
    p->with = ATTN_WITH_CU_SEQLENS_Q;
    p->mask = (attn_view){ATTN_BOOL, {1, 1, 0, 7}, {0, 0, 0, 0}};
}
static void long_bias_stride(attn_problem *p) {
    p->bias = (attn_view){ATTN_F32, {2, 6, 5, 7}, {1, 1, INT64_MAX, 1}};
}

static const refusal refusals[] = {
    {old_size, ATTN_ERROR_ARGUMENT, "struct_size is 16"},
    {unknown_type, ATTN_ERROR_ARGUMENT, "type is 77"},
    {integer_type, ATTN_ERROR_ARGUMENT, "type is 6 (i32)"},
    {other_kv_type, ATTN_ERROR_UNSUPPORTED, "kv_type f16 beside type f32"},
    {narrower_o_type, ATTN_ERROR_ARGUMENT, "o_type f16 beside type f32"},
    {float_lengths, ATTN_ERROR_ARGUMENT, "length_type is 1"},
    {negative_batch, ATTN_ERROR_SHAPE, "batch is -3"},
    {negative_heads, ATTN_ERROR_SHAPE, "heads_kv is -1"},
    {negative_keys, ATTN_ERROR_SHAPE, "seq_kv is -9223372036854775808"},
    {uneven_heads, ATTN_ERROR_SHAPE, "heads_q 6 is not a multiple of heads_kv 4"},
    {no_dim, ATTN_ERROR_SHAPE, "dim is 0, not 1 to 1024"},
    {large_dim, ATTN_ERROR_SHAPE, "dim is 1025"},
    {negative_dim_v, ATTN_ERROR_SHAPE, "dim_v is -4"},
    {nan_scale, ATTN_ERROR_ARGUMENT, "scale is"},
    {infinite_scale, ATTN_ERROR_ARGUMENT, "scale is inf"},
    {negative_softcap, ATTN_ERROR_ARGUMENT, "softcap is -30"},
    {nan_softcap, ATTN_ERROR_ARGUMENT, "softcap is"},
    {certain_dropout, ATTN_ERROR_ARGUMENT, "dropout_p is 1"},
    {nan_dropout, ATTN_ERROR_ARGUMENT, "dropout_p is"},
    {negative_window, ATTN_ERROR_ARGUMENT, "window is -2 left"},
    {smallest_window, ATTN_ERROR_ARGUMENT, "-9223372036854775808 right"},
    {unknown_bits, ATTN_ERROR_ARGUMENT, "0x80000000 is not known"},
    {many_elements, ATTN_ERROR_OVERFLOW, "[1099511627776, 6, 1073741824, 4]"},
    {many_bytes, ATTN_ERROR_OVERFLOW, "72057594037927936"},
    {many_elements_of_none, ATTN_ERROR_OVERFLOW, "9223372036854775807"},
    {many_heads, ATTN_ERROR_OVERFLOW, "batch 4294967296 times heads_q 4294967296"},
    {long_stride, ATTN_ERROR_OVERFLOW, "k [2, 3, 7, 8] with strides [2305843009213693952, 0, 0, 1]"},
    {long_negative_stride, ATTN_ERROR_OVERFLOW, "v [2, 3, 7, 4]"},
    {strides_apart, ATTN_ERROR_OVERFLOW, "q [2, 6, 5, 8]"},
    {repeated_output, ATTN_ERROR_OVERLAP, "o [2, 6, 5, 4] overlaps itself with strides [0, 20, 4, 1]"},
    {crossing_output, ATTN_ERROR_OVERLAP, "strides [1000, 19, 4, 1]"},
    {repeated_lse, ATTN_ERROR_OVERLAP, "lse [2, 6, 5, 1] overlaps itself with strides [0, 0, 1"},
    {short_bias, ATTN_ERROR_SHAPE, "bias has 4 rows, not 1 or 5"},
    {wide_mask, ATTN_ERROR_SHAPE, "mask has 8 columns, not 0 to 7"},
    {heads_of_mask, ATTN_ERROR_SHAPE, "mask has 3 heads, not 1 or 6"},
    {negative_mask, ATTN_ERROR_SHAPE, "mask has -2 batch entries"},
    {float_mask, ATTN_ERROR_ARGUMENT, "mask.type is 1 (f32)"},
    {bool_bias, ATTN_ERROR_ARGUMENT, "bias.type is 5 (bool)"},
    {repeated_bias, ATTN_ERROR_SHAPE, "bias [1, 1, 5, 7]"},
    {packed_mask_without_rows, ATTN_ERROR_SHAPE, "mask has 0 rows, not 1 to 5"},
    {long_bias_stride, ATTN_ERROR_OVERFLOW, "bias [2, 6, 5, 7]"},
};

static void what_is_no_problem_is_refused(void **state) {
    (void)state;
    for (int n = 0; n < COUNT(refusals); n++) {
        attn_problem p = small_problem(), completed = small_problem();
        refusals[n].spoil(&p);
        attn_reason reason;
        attn_status status = attn_problem_complete(&p, &completed, &reason);
        if (status != refusals[n].status || !strstr(reason.text, refusals[n].words))
            fail_msg("refusal %d: status %d, \"%s\", not %d, \"... %s ...\"", n, (int)status, reason.text,
                     (int)refusals[n].status, refusals[n].words);
        attn_problem untouched = small_problem();
        assert_same_problem(&completed, &untouched);
    }
    attn_reason reason;
    assert_int_equal(attn_problem_complete(NULL, NULL, &reason), ATTN_ERROR_ARGUMENT);
    assert_string_equal(reason.text, "problem is NULL");
}

/* --------------------------------------------------------------------------------------------------------- overlaps */

enum { ARENA = 4096 };

/* Marks the bytes of an extent whose data points into the arena; 1 if one was marked before. */
static int mark(const attn_extent *extent, const unsigned char *arena, unsigned char *marks) {
    int64_t index[4] = {0, 0, 0, 0};
    int met = 0;
    for (int n = 0; n < extent->rank; n++)
        if (extent->shape[n] == 0) return 0;
    for (;;) {
        int64_t offset = 0;
        for (int n = 0; n < extent->rank; n++) offset += index[n] * extent->strides[n];
        int64_t byte = (const unsigned char *)extent->data - arena + offset * (int64_t)extent->element_size;
        for (size_t k = 0; k < extent->element_size; k++) {
            met |= marks[byte + (int64_t)k];
            marks[byte + (int64_t)k] = 1;
        }
        int n = extent->rank - 1;
        while (n >= 0 && ++index[n] == extent->shape[n]) index[n--] = 0;
        if (n < 0) return met;
    }
}

static attn_extent random_extent(test_prng *prng, const unsigned char *arena) {
    static const int64_t sizes[] = {1, 2, 4, 8};
    attn_extent extent = {.rank = (int)test_prng_range(prng, 1, 4)};
    extent.element_size = (size_t)test_prng_pick(prng, sizes, COUNT(sizes));
    int64_t widest = test_prng_chance(prng, 50) ? 6 : 25;
    for (int n = 0; n < extent.rank; n++) {
        extent.shape[n] = test_prng_range(prng, test_prng_chance(prng, 2) ? 0 : 1, 4);
        extent.strides[n] = test_prng_range(prng, -widest, widest);
    }
    extent.data = arena + test_prng_range(prng, ARENA / 2 - 100, ARENA / 2 + 100);
    return extent;
}

static void overlaps_are_found_as_by_counting_bytes(void **state) {
    (void)state;
    static unsigned char arena[ARENA], marks[ARENA];
    test_prng prng = test_prng_make(2024, 1);
    int met = 0, met_itself = 0;
    enum { TRIALS = 20000 };
    for (int n = 0; n < TRIALS; n++) {
        attn_extent a = random_extent(&prng, arena), b = random_extent(&prng, arena);
        memset(marks, 0, sizeof marks);
        int a_meets_itself = mark(&a, arena, marks);
        memset(marks, 0, sizeof marks);
        int b_meets_itself = mark(&b, arena, marks);
        assert_int_equal(attn_overlaps_itself(&a), a_meets_itself);
        assert_int_equal(attn_overlaps_itself(&b), b_meets_itself);
        int both = 0; /* marks holds b; a is added without counting where a meets itself */
        static unsigned char of_b[ARENA];
        memcpy(of_b, marks, sizeof of_b);
        memset(marks, 0, sizeof marks);
        mark(&a, arena, marks);
        for (int byte = 0; byte < ARENA; byte++) both |= marks[byte] & of_b[byte];
        assert_int_equal(attn_overlaps(&a, &b), both);
        assert_int_equal(attn_overlaps(&b, &a), both);
        met += both;
        met_itself += a_meets_itself;
    }
    /* The trial is worth something only if both answers are common. */
    assert_in_range(met, TRIALS / 10, TRIALS * 9 / 10);
    assert_in_range(met_itself, TRIALS / 10, TRIALS * 9 / 10);
}

/* q, k, v and o side by side in each row of one buffer [B, N, 4, H, D]: disjoint, though their ranges are not. */
static void slices_of_a_fused_buffer_are_disjoint(void **state) {
    (void)state;
    enum { BATCH = 4, SEQ = 512, HEADS = 32, DIM = 128, SLICE = HEADS * DIM };
    static const float first_row[4 * SLICE];
    attn_extent slices[4];
    for (int n = 0; n < 4; n++)
        slices[n] = (attn_extent){
            first_row + n * SLICE, sizeof(float), 4, {BATCH, HEADS, SEQ, DIM}, {SEQ * 4 * SLICE, DIM, 4 * SLICE, 1}};
    for (int m = 0; m < 4; m++) {
        assert_false(attn_overlaps_itself(&slices[m]));
        for (int n = 0; n < 4; n++) assert_int_equal(attn_overlaps(&slices[m], &slices[n]), m == n);
    }
    slices[3].data = first_row + 3 * SLICE - 1; /* one element into v */
    assert_true(attn_overlaps(&slices[2], &slices[3]));
}

/* ---------------------------------------------------------------------------------------------------------- one run */

typedef struct run_tensors {
    float q[480], k[480], v[480], o[480], lse[60], bias[420], slopes[6], sinks[6];
    unsigned char mask[420];
    int32_t q_lens[2], kv_lens[2], cu_q[3], cu_kv[3], offsets[2];
} run_tensors;

/* Tensors of small_problem, with all that `with` names. */
static attn_tensors tensors_of(const attn_problem *p, run_tensors *memory) {
    attn_tensors t = ATTN_TENSORS_INIT;
    t.q = memory->q;
    t.k = memory->k;
    t.v = memory->v;
    t.o = memory->o;
    if (p->bias.type) t.bias = memory->bias;
    if (p->mask.type) t.mask = memory->mask;
    if (p->with & ATTN_WITH_LSE) t.lse = memory->lse;
    if (p->with & ATTN_WITH_ALIBI) t.alibi_slopes = memory->slopes;
    if (p->with & ATTN_WITH_SINKS) t.sinks = memory->sinks;
    if (p->with & ATTN_WITH_Q_LENS) t.q_lens = memory->q_lens;
    if (p->with & ATTN_WITH_KV_LENS) t.kv_lens = memory->kv_lens;
    if (p->with & ATTN_WITH_CU_SEQLENS_Q) t.cu_seqlens_q = memory->cu_q;
    if (p->with & ATTN_WITH_CU_SEQLENS_KV) t.cu_seqlens_kv = memory->cu_kv;
    if (p->with & ATTN_WITH_Q_OFFSETS) t.q_offsets = memory->offsets;
    return t;
}

static void refused(const attn_problem *p, const attn_tensors *t, attn_status status, const char *words) {
    attn_reason reason = {""};
    attn_status got = attn_tensors_check(p, t, &reason);
    if (got != status || !strstr(reason.text, words))
        fail_msg("status %d, \"%s\", not %d, \"... %s ...\"", (int)got, reason.text, (int)status, words);
}

static void accepted(const attn_problem *p, const attn_tensors *t) {
    attn_reason reason = {""};
    if (attn_tensors_check(p, t, &reason)) fail_msg("%s", reason.text);
}

static const uint32_t with_tensors[] = {ATTN_WITH_LSE,           ATTN_WITH_ALIBI,    ATTN_WITH_SINKS,
                                        ATTN_WITH_Q_LENS,        ATTN_WITH_KV_LENS,  ATTN_WITH_CU_SEQLENS_Q,
                                        ATTN_WITH_CU_SEQLENS_KV, ATTN_WITH_Q_OFFSETS};

static void pointers_are_those_that_the_problem_names(void **state) {
    (void)state;
    static run_tensors memory;
    attn_problem plain = small_problem();
    plain = completed_from(&plain);
    attn_tensors without = tensors_of(&plain, &memory);
    accepted(&plain, &without);
    for (int n = 0; n < COUNT(with_tensors); n++) {
        attn_problem p = small_problem();
        p.with = with_tensors[n];
        p = completed_from(&p);
        attn_tensors with = tensors_of(&p, &memory);
        accepted(&p, &with);
        refused(&p, &without, ATTN_ERROR_ARGUMENT, "is NULL, but ATTN_WITH_");
        refused(&plain, &with, ATTN_ERROR_ARGUMENT, "is given, but the problem has none (ATTN_WITH_");
    }
    attn_problem masked = small_problem();
    masked.mask = (attn_view){ATTN_BOOL, {2, 6, 5, 7}, {0, 0, 0, 0}};
    masked = completed_from(&masked);
    attn_tensors with_mask = tensors_of(&masked, &memory);
    accepted(&masked, &with_mask);
    refused(&masked, &without, ATTN_ERROR_ARGUMENT, "tensors.mask is NULL, but problem.mask");
    refused(&plain, &with_mask, ATTN_ERROR_ARGUMENT, "tensors.mask is given");
    without.v = NULL;
    refused(&plain, &without, ATTN_ERROR_ARGUMENT, "tensors.v is NULL");
    without.struct_size = 8;
    refused(&plain, &without, ATTN_ERROR_ARGUMENT, "attn_tensors.struct_size is 8");
    refused(&plain, NULL, ATTN_ERROR_ARGUMENT, "tensors is NULL");
}

static void pointers_are_aligned_to_their_elements(void **state) {
    (void)state;
    static run_tensors memory;
    attn_problem p = small_problem();
    p = completed_from(&p);
    attn_tensors t = tensors_of(&p, &memory);
    t.k = (const char *)t.k + 4;
    accepted(&p, &t);
    t.k = (const char *)t.k + 1;
    refused(&p, &t, ATTN_ERROR_ARGUMENT, "tensors.k is not aligned for its type, f32");
}

static void tensors_without_elements_may_be_null(void **state) {
    (void)state;
    static run_tensors memory;
    attn_problem p = small_problem();
    p.seq_kv = 0;
    p = completed_from(&p);
    attn_tensors t = tensors_of(&p, &memory);
    t.k = t.v = NULL;
    accepted(&p, &t);
    t.k = t.o; /* nor do they overlap anything */
    accepted(&p, &t);
    p = small_problem();
    p.batch = 0;
    p.with = ATTN_WITH_LSE | ATTN_WITH_Q_LENS;
    p = completed_from(&p);
    const attn_tensors nothing = ATTN_TENSORS_INIT;
    accepted(&p, &nothing);
}

static void outputs_overlap_nothing(void **state) {
    (void)state;
    static run_tensors memory;
    attn_problem p = small_problem();
    p.with = ATTN_WITH_LSE | ATTN_WITH_ALIBI | ATTN_WITH_KV_LENS;
    p = completed_from(&p);
    const attn_tensors good = tensors_of(&p, &memory);
    attn_tensors t = good;
    t.k = t.v = t.q; /* inputs may be the same */
    accepted(&p, &t);
    t = good;
    t.v = (const float *)t.o + 2 * 6 * 5 * 4 - 1; /* o's last element */
    refused(&p, &t, ATTN_ERROR_OVERLAP, "o overlaps v");
    t.v = (const float *)t.o + 2 * 6 * 5 * 4;
    accepted(&p, &t);
    t = good;
    t.lse = (float *)t.o + 1;
    refused(&p, &t, ATTN_ERROR_OVERLAP, "o overlaps lse");
    t = good;
    t.alibi_slopes = t.lse + 59;
    refused(&p, &t, ATTN_ERROR_OVERLAP, "lse overlaps alibi_slopes");
    t = good;
    t.workspace = (char *)memory.q + 1;
    t.workspace_bytes = 1;
    refused(&p, &t, ATTN_ERROR_OVERLAP, "workspace overlaps q");
    t.workspace_bytes = 0;
    accepted(&p, &t);
}

static void lengths_fit_their_tensors(void **state) {
    (void)state;
    static run_tensors memory;
    attn_problem p = small_problem();
    p.with = ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS;
    p = completed_from(&p);
    attn_tensors t = tensors_of(&p, &memory);
    memory.q_lens[1] = 5;
    memory.kv_lens[0] = 7;
    accepted(&p, &t);
    memory.kv_lens[1] = 8;
    refused(&p, &t, ATTN_ERROR_LENGTHS, "kv_lens[1] is 8, not 0 to 7");
    memory.kv_lens[1] = 0;
    memory.q_lens[0] = -1;
    refused(&p, &t, ATTN_ERROR_LENGTHS, "q_lens[0] is -1, not 0 to 5");
    memory.q_lens[0] = 6;
    refused(&p, &t, ATTN_ERROR_LENGTHS, "q_lens[0] is 6, not 0 to 5");
}

/* Differences of such lengths do not fit int64_t: they are refused before any is taken. */
static void lengths_at_the_ends_of_the_range_are_refused(void **state) {
    (void)state;
    static run_tensors memory;
    static const int64_t highest[2] = {INT64_MAX, INT64_MAX}, lowest[2] = {INT64_MIN, INT64_MIN};
    static const int64_t rising[3] = {0, INT64_MAX, INT64_MAX}, falling[3] = {0, INT64_MAX, INT64_MIN};
    attn_problem p = small_problem();
    p.length_type = ATTN_I64;
    p.with = ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS;
    p = completed_from(&p);
    attn_tensors t = tensors_of(&p, &memory);
    t.q_lens = lowest;
    t.kv_lens = highest;
    refused(&p, &t, ATTN_ERROR_LENGTHS, "q_lens[0] is -9223372036854775808");
    t.q_lens = highest;
    t.kv_lens = lowest;
    refused(&p, &t, ATTN_ERROR_LENGTHS, "q_lens[0] is 9223372036854775807");
    p.with = ATTN_WITH_CU_SEQLENS_Q;
    t = tensors_of(&p, &memory);
    t.cu_seqlens_q = rising;
    refused(&p, &t, ATTN_ERROR_LENGTHS, "ends at 9223372036854775807");
    t.cu_seqlens_q = falling;
    refused(&p, &t, ATTN_ERROR_LENGTHS, "falls from 9223372036854775807 to -9223372036854775808");
}

static void cumulative_lengths_rise_within_their_tensors(void **state) {
    (void)state;
    static run_tensors memory;
    static const struct {
        int32_t cu[3];
        const char *words;
    } bad[] = {{{1, 2, 3}, "cu_seqlens_kv starts with 1, not 0"},
               {{0, 4, 3}, "cu_seqlens_kv falls from 4 to 3 at entry 2"},
               {{0, -1, 3}, "cu_seqlens_kv falls from 0 to -1 at entry 1"},
               {{0, 4, 8}, "cu_seqlens_kv ends at 8, past the 7 there are"}};
    attn_problem p = small_problem();
    p.with = ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV | ATTN_WITH_KV_LENS;
    p = completed_from(&p);
    attn_tensors t = tensors_of(&p, &memory);
    for (int n = 0; n < COUNT(bad); n++) {
        memcpy(memory.cu_kv, bad[n].cu, sizeof memory.cu_kv);
        refused(&p, &t, ATTN_ERROR_LENGTHS, bad[n].words);
    }
    memory.cu_kv[2] = 7;
    memory.kv_lens[0] = 4;
    memory.kv_lens[1] = 3;
    accepted(&p, &t);
    memory.kv_lens[1] = 4; /* the second sequence has room for 3 */
    refused(&p, &t, ATTN_ERROR_LENGTHS, "kv_lens[1] is 4, not 0 to 3");
    memory.kv_lens[1] = 0;
    memory.cu_q[2] = 6;
    refused(&p, &t, ATTN_ERROR_LENGTHS, "cu_seqlens_q ends at 6, past the 5 there are");
}

/* A mask of 3 rows beside packed sequences of at most 3 rows, or of q_lens at most 3. */
static void packed_sequences_fit_their_mask(void **state) {
    (void)state;
    static run_tensors memory;
    attn_problem p = small_problem();
    p.with = ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_Q_LENS;
    p.mask = (attn_view){ATTN_BOOL, {1, 1, 3, 7}, {0, 0, 0, 0}};
    p = completed_from(&p);
    attn_tensors t = tensors_of(&p, &memory);
    memory.cu_q[1] = 1;
    memory.cu_q[2] = 5;
    memory.q_lens[0] = 1;
    memory.q_lens[1] = 3;
    accepted(&p, &t);
    memory.q_lens[1] = 4;
    refused(&p, &t, ATTN_ERROR_LENGTHS, "sequence 1 has 4 rows, mask has 3");
    p.mask.shape[2] = 1;
    accepted(&p, &t);
}

/* -------------------------------------------------------------------------------------------------------- sequences */

static void sequences_are_where_the_lengths_say(void **state) {
    (void)state;
    static run_tensors memory = {.q_lens = {5, 2}, .kv_lens = {7, 3}, .cu_q = {0, 1, 4}, .cu_kv = {0, 3, 7}};
    memory.offsets[1] = -9;
    attn_problem p = small_problem();
    p.with = ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS;
    p = completed_from(&p);
    attn_tensors t = tensors_of(&p, &memory);
    attn_sequence s = attn_sequence_of(&p, &t, 1);
    assert_memory_equal(&s, (&(attn_sequence){1, 1, 0, 0, 5, 2, 3, 1}), sizeof s);
    assert_int_equal(attn_rows_in_sequences(&p, &t), 5);
    assert_int_equal(attn_q_offset_of(&p, &s, 3, 2), 1 * 240 + 3 * 40 + 2 * 8);
    assert_int_equal(attn_v_offset_of(&p, &s, 2, 6), 1 * 84 + 2 * 28 + 6 * 4);

    p = small_problem();
    p.q_offset = 0;
    p.with = ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV | ATTN_WITH_Q_LENS;
    p = completed_from(&p);
    t = tensors_of(&p, &memory);
    s = attn_sequence_of(&p, &t, 1);
    assert_memory_equal(&s, (&(attn_sequence){0, 0, 1, 3, 3, 2, 4, 0}), sizeof s);
    assert_int_equal(attn_rows_in_sequences(&p, &t), 4);
    assert_int_equal(attn_o_offset_of(&p, &s, 3, 2), (1 + 2) * 24 + 3 * 4);
    assert_int_equal(attn_lse_offset_of(&p, &s, 3, 2), 3 * 5 + (1 + 2));
    assert_int_equal(attn_k_offset_of(&p, &s, 1, 2), (3 + 2) * 24 + 1 * 8);

    p.with |= ATTN_WITH_Q_OFFSETS;
    t = tensors_of(&p, &memory);
    assert_int_equal(attn_sequence_of(&p, &t, 1).q_offset, -9);
}

/* ------------------------------------------------------------------------------------------------------- visibility */

/* a + b < c + d, without overflow: the numbers are added in two halves. */
static int is_less(int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t unit = INT64_C(1) << 32, terms[] = {a, b, c, d};
    int64_t high = 0, low = 0;
    for (int n = 0; n < 4; n++) {
        int64_t high_half = terms[n] / unit - (terms[n] % unit < 0);
        int64_t low_half = terms[n] - high_half * unit;
        high += n < 2 ? high_half : -high_half;
        low += n < 2 ? low_half : -low_half;
    }
    return high + (low / unit - (low % unit < 0)) < 0;
}

static int width_hides(const attn_view *view, int64_t key) {
    return view->type && view->shape[3] != 1 && key >= view->shape[3];
}

/* The rule as SEMANTICS has it, for one pair. */
static int sees(const attn_problem *p, const attn_sequence *s, int64_t row, int64_t key) {
    if (row >= s->q_len || key >= s->kv_len) return 0;
    if (p->window_left != ATTN_UNBOUNDED && is_less(key - row, p->window_left, s->q_offset, 0)) return 0;
    if (p->window_right != ATTN_UNBOUNDED && is_less(s->q_offset, p->window_right, key - row, 0)) return 0;
    return !width_hides(&p->bias, key) && !width_hides(&p->mask, key);
}

static const int64_t huge[] = {INT64_MAX, INT64_MAX - 1, INT64_C(1) << 62};

static int64_t random_window(test_prng *prng) {
    if (test_prng_chance(prng, 20)) return ATTN_UNBOUNDED;
    return test_prng_chance(prng, 15) ? test_prng_pick(prng, huge, COUNT(huge)) : test_prng_range(prng, 0, 6);
}

static void random_visibility(test_prng *prng, attn_problem *p, attn_sequence *s) {
    *p = small_problem();
    p->seq_q = test_prng_range(prng, 0, 8);
    p->seq_kv = test_prng_range(prng, 0, 12);
    p->window_left = random_window(prng);
    p->window_right = random_window(prng);
    if (test_prng_chance(prng, 30)) p->mask = (attn_view){ATTN_BOOL, {1, 1, 1, p->seq_kv}, {0, 0, 0, 0}};
    if (test_prng_chance(prng, 30)) p->bias = (attn_view){ATTN_F32, {1, 1, 1, p->seq_kv}, {0, 0, 0, 0}};
    if (test_prng_chance(prng, 50)) p->mask.shape[3] = test_prng_range(prng, 0, p->seq_kv);
    if (test_prng_chance(prng, 50)) p->bias.shape[3] = test_prng_range(prng, 0, p->seq_kv);
    if (test_prng_chance(prng, 50)) p->q_offset = test_prng_range(prng, -12, 12);
    if (test_prng_chance(prng, 10)) p->q_offset = test_prng_pick(prng, huge, COUNT(huge));
    if (test_prng_chance(prng, 10)) p->q_offset = -test_prng_pick(prng, huge, COUNT(huge));
    *p = completed_from(p);
    *s = (attn_sequence){.rows = p->seq_q, .q_len = test_prng_range(prng, 0, p->seq_q)};
    s->kv_len = test_prng_range(prng, 0, p->seq_kv);
    s->q_offset = p->q_offset == ATTN_OFFSET_END ? s->kv_len - s->q_len : p->q_offset;
}

/* span holds exactly the keys that at least `least` of the rows may see. */
static void span_holds(const attn_problem *p, const attn_sequence *s, int64_t row0, int64_t row1, int64_t least,
                       attn_span span) {
    for (int64_t key = 0; key <= p->seq_kv; key++) {
        int64_t seen = 0;
        for (int64_t row = row0; row < row1; row++) seen += sees(p, s, row, key);
        assert_int_equal(key >= span.begin && key<span.end, least> 0 && seen >= least);
    }
    assert_true(span.begin < span.end || (span.begin == 0 && span.end == 0));
}

static void spans_are_the_rule_pair_by_pair(void **state) {
    (void)state;
    test_prng prng = test_prng_make(2024, 2);
    for (int trial = 0; trial < 2000; trial++) {
        attn_problem p;
        attn_sequence s;
        random_visibility(&prng, &p, &s);
        for (int64_t row0 = 0; row0 <= s.rows; row0++) {
            span_holds(&p, &s, row0, row0 + 1, 1, attn_keys_of_row(&p, &s, row0));
            for (int64_t row1 = row0; row1 <= s.rows; row1++) {
                span_holds(&p, &s, row0, row1, row1 > row0 ? 1 : 0, attn_keys_of_any(&p, &s, row0, row1));
                span_holds(&p, &s, row0, row1, row1 - row0, attn_keys_of_all(&p, &s, row0, row1));
            }
        }
    }
}

static void pairs_are_counted(void **state) {
    (void)state;
    test_prng prng = test_prng_make(2024, 3);
    for (int trial = 0; trial < 2000; trial++) {
        attn_problem p;
        attn_sequence s;
        random_visibility(&prng, &p, &s);
        s.q_len = p.seq_q;
        s.kv_len = p.seq_kv;
        if (p.q_offset == ATTN_OFFSET_END) s.q_offset = s.kv_len - s.q_len;
        double pairs = 0.0;
        for (int64_t row = 0; row < p.seq_q; row++)
            for (int64_t key = 0; key < p.seq_kv; key++) pairs += sees(&p, &s, row, key);
        assert_true(attn_pairs_at_most(&p) == pairs * 12.0); /* 2 batch entries, 6 heads */
        p.with = ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV;
        assert_true(attn_pairs_at_most(&p) == pairs * 6.0);
    }
    attn_problem causal = small_problem();
    causal.window_right = ATTN_CAUSAL;
    causal = completed_from(&causal);
    causal.seq_q = causal.seq_kv = INT64_C(1) << 31; /* by a formula, not by counting */
    assert_true(attn_pairs_at_most(&causal) == 12.0 * 0x1p30 * (0x1p31 + 1.0));
}

static void masks_and_minus_infinity_hide_pairs(void **state) {
    (void)state;
    static run_tensors memory;
    attn_problem p = small_problem();
    p.mask = (attn_view){ATTN_BOOL, {2, 1, 5, 7}, {0, 0, 0, 0}};
    p.bias = (attn_view){ATTN_F32, {1, 6, 1, 7}, {0, 0, 0, 0}};
    p = completed_from(&p);
    attn_tensors t = tensors_of(&p, &memory);
    memset(memory.mask, 0, sizeof memory.mask);
    memory.mask[1 * 35 + 4 * 7 + 6] = 0x80;
    memory.mask[1 * 35 + 4 * 7 + 5] = 1;
    memory.mask[1 * 35 + 4 * 7 + 4] = 1;
    memory.bias[3 * 7 + 6] = -3e38f;
    memory.bias[3 * 7 + 5] = -INFINITY;
    memory.bias[3 * 7 + 4] = NAN;
    assert_true(attn_pair_allowed(&p, &t, 1, 3, 4, 6));
    assert_false(attn_pair_allowed(&p, &t, 1, 3, 4, 5));
    assert_true(attn_pair_allowed(&p, &t, 1, 2, 4, 5));
    assert_true(attn_pair_allowed(&p, &t, 1, 3, 4, 4)); /* a NaN that is used reaches its row */
    assert_false(attn_pair_allowed(&p, &t, 0, 3, 4, 6));
    assert_false(attn_pair_allowed(&p, &t, 1, 3, 3, 6));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(packed_tensors_are_row_head_column),
        cmocka_unit_test(views_get_their_strides),
        cmocka_unit_test(completing_twice_changes_nothing),
        cmocka_unit_test(sizes_of_zero_are_fine),
        cmocka_unit_test(what_is_no_problem_is_refused),
        cmocka_unit_test(overlaps_are_found_as_by_counting_bytes),
        cmocka_unit_test(slices_of_a_fused_buffer_are_disjoint),
        cmocka_unit_test(pointers_are_those_that_the_problem_names),
        cmocka_unit_test(pointers_are_aligned_to_their_elements),
        cmocka_unit_test(tensors_without_elements_may_be_null),
        cmocka_unit_test(outputs_overlap_nothing),
        cmocka_unit_test(lengths_fit_their_tensors),
        cmocka_unit_test(lengths_at_the_ends_of_the_range_are_refused),
        cmocka_unit_test(cumulative_lengths_rise_within_their_tensors),
        cmocka_unit_test(packed_sequences_fit_their_mask),
        cmocka_unit_test(sequences_are_where_the_lengths_say),
        cmocka_unit_test(spans_are_the_rule_pair_by_pair),
        cmocka_unit_test(pairs_are_counted),
        cmocka_unit_test(masks_and_minus_infinity_hide_pairs),
    };
    return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
