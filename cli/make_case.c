/* SPDX-License-Identifier: Apache-2.0 */
#include "make_case.h"
#include "case_slots.h"
#include "case_value.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------------------------------------------- random numbers */

/*
 * SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Each tensor has a
 * stream of its own, so that a bias more or less leaves q, k and v as they are.
 */
typedef struct stream {
    uint64_t state;
} stream;

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t next(stream *s) {
    s->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(s->state);
}

static stream stream_of(uint64_t seed, case_slot slot) {
    return (stream){mix(seed) ^ mix(~(uint64_t)slot)};
}

/* Uniform on [0, 1), a multiple of 2^-53. */
static double uniform(stream *s) {
    return (double)(next(s) >> 11) * 0x1p-53;
}

/* A whole number of 0 .. most. */
static int64_t pick(stream *s, int64_t most) {
    return (int64_t)(next(s) % ((uint64_t)most + 1));
}

/*
 * Mean 0 and variance 1, bell-shaped: the sum of 12 uniform numbers (Irwin-Hall), less 6. Whole numbers throughout,
 * while logarithms and cosines differ in their last bits from one C library to the next.
 */
static double normal(stream *s) {
    int64_t sum = 0;
    for (int n = 0; n < 6; n++) {
        uint64_t two = next(s);
        sum += (int64_t)(two >> 32) + (int64_t)(two & UINT32_MAX);
    }
    return (double)(sum - (INT64_C(6) << 32)) * 0x1p-32;
}

/* ---------------------------------------------------------------------------------------------------------- tensors */

/* A tensor to be filled. */
static case_status allocate(case_slot slot, attn_type type, int rank, const int64_t *shape, case_tensor *tensor,
                            int64_t *count, case_error *error) {
    int64_t bytes;
    *tensor = (case_tensor){.type = type, .rank = rank};
    memcpy(tensor->shape, shape, (size_t)rank * sizeof *shape);
    for (int n = 0; n < rank; n++) {
        if (shape[n] < 0)
            return case_fail(error, CASE_ERROR_CONTENT, "dimension %d of %s is %" PRId64, n, case_slot_name(slot),
                             shape[n]);
    }
    if (!case_count(rank, shape, count) || !case_multiply(*count, (int64_t)attn_type_size(type), &bytes) ||
        (uint64_t)bytes > SIZE_MAX)
        return case_fail(error, CASE_ERROR_CONTENT, "the size of %s overflows", case_slot_name(slot));
    tensor->owned = malloc(bytes > 0 ? (size_t)bytes : 1);
    if (tensor->owned == NULL)
        return case_fail(error, CASE_ERROR_MEMORY, "no memory for %" PRId64 " bytes of %s", bytes,
                         case_slot_name(slot));
    tensor->data = tensor->owned;
    return CASE_OK;
}

/* Normal values, a fraction of them replaced by -inf. */
static case_status add_normal(case_file *c, const make_case_options *options, case_slot slot, attn_type type, int rank,
                              const int64_t *shape, double excluded, case_error *error) {
    case_tensor tensor;
    int64_t count;
    stream s = stream_of(options->seed, slot);
    case_status status = allocate(slot, type, rank, shape, &tensor, &count, error);
    if (status != CASE_OK) return status;
    for (int64_t n = 0; n < count; n++) {
        double value = normal(&s);
        if (excluded > 0 && uniform(&s) < excluded) value = -(double)INFINITY;
        case_store(type, tensor.owned, n, value);
    }
    return case_add(c, case_slot_name(slot), &tensor, error);
}

static case_status add_mask(case_file *c, const make_case_options *options, const int64_t shape[4], case_error *error) {
    case_tensor tensor;
    int64_t count;
    stream s = stream_of(options->seed, CASE_MASK);
    case_status status = allocate(CASE_MASK, ATTN_BOOL, 4, shape, &tensor, &count, error);
    if (status != CASE_OK) return status;
    for (int64_t n = 0; n < count; n++) ((uint8_t *)tensor.owned)[n] = uniform(&s) < options->mask_kept;
    return case_add(c, case_slot_name(CASE_MASK), &tensor, error);
}

/* 1/2, 1/4, ... 1/256 and from the start again: the slopes of the ALiBi paper for 8 heads. */
static case_status add_slopes(case_file *c, int64_t heads, case_error *error) {
    case_tensor tensor;
    int64_t count;
    case_status status = allocate(CASE_ALIBI_SLOPES, ATTN_F32, 1, &heads, &tensor, &count, error);
    if (status != CASE_OK) return status;
    for (int64_t n = 0; n < count; n++) case_store(ATTN_F32, tensor.owned, n, ldexp(1, -1 - (int)(n % 8)));
    return case_add(c, case_slot_name(CASE_ALIBI_SLOPES), &tensor, error);
}

/* ------------------------------------------------------------------------------------------------- lengths and cuts */

static case_status add_integers(case_file *c, case_slot slot, attn_type type, const int64_t *values, int64_t count,
                                case_error *error) {
    case_tensor tensor;
    int64_t same;
    case_status status = allocate(slot, type, 1, &count, &tensor, &same, error);
    if (status != CASE_OK) return status;
    for (int64_t n = 0; n < count; n++) {
        if (type == ATTN_I64)
            ((int64_t *)tensor.owned)[n] = values[n];
        else
            ((int32_t *)tensor.owned)[n] = (int32_t)values[n];
    }
    return case_add(c, case_slot_name(slot), &tensor, error);
}

static int compare_integers(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* values: room for one number more than batch entries. */
static case_status allocate_values(const make_case_options *options, int64_t **values, case_error *error) {
    *values = NULL;
    if (options->batch >= 0 && (uint64_t)options->batch < SIZE_MAX / sizeof **values - 1)
        *values = calloc((size_t)options->batch + 1, sizeof **values);
    if (*values == NULL)
        return case_fail(error, CASE_ERROR_MEMORY, "no memory for the lengths of %" PRId64 " batch entries",
                         options->batch);
    return CASE_OK;
}

/* Where `total` rows are cut into batch entries: random places, so that some entries are empty. */
static void random_cuts(stream *s, int64_t batch, int64_t total, int64_t *cuts) {
    cuts[0] = 0;
    for (int64_t n = 1; n < batch; n++) cuts[n] = pick(s, total);
    cuts[batch] = total;
    if (batch == 0) cuts[0] = 0;
    qsort(cuts, (size_t)batch + 1, sizeof *cuts, compare_integers);
}

/* Full, empty, and random from there on. room: of each entry, or its cuts. */
static void random_lengths(stream *s, int64_t batch, int64_t room, const int64_t *cuts, int64_t *lengths) {
    for (int64_t n = 0; n < batch; n++) {
        int64_t most = cuts != NULL ? cuts[n + 1] - cuts[n] : room;
        lengths[n] = n == 0 ? most : n == 1 ? 0 : pick(s, most);
    }
}

/* One side of the lengths: rows or keys. */
typedef struct side {
    case_slot lengths, cuts;
    int64_t size;
    int wanted;
} side;

static case_status add_side(case_file *c, const make_case_options *options, const side *rows, case_error *error) {
    int64_t *cuts = NULL, *lengths = NULL;
    const int packed = options->layout == CASE_THD;
    case_status status = allocate_values(options, &cuts, error);
    if (status == CASE_OK) status = allocate_values(options, &lengths, error);
    if (status == CASE_OK && packed) {
        stream s = stream_of(options->seed, rows->cuts);
        random_cuts(&s, options->batch, rows->size, cuts);
        status = add_integers(c, rows->cuts, options->length_type, cuts, options->batch + 1, error);
    }
    if (status == CASE_OK && rows->wanted) {
        stream s = stream_of(options->seed, rows->lengths);
        random_lengths(&s, options->batch, rows->size, packed ? cuts : NULL, lengths);
        status = add_integers(c, rows->lengths, options->length_type, lengths, options->batch, error);
    }
    free(cuts);
    free(lengths);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- the whole */

void make_case_options_init(make_case_options *options) {
    *options = (make_case_options){.type = ATTN_F32,
                                   .batch = 1,
                                   .heads_q = 1,
                                   .options = case_options_default(),
                                   .bias_type = ATTN_F32,
                                   .mask_kept = 0.75,
                                   .length_type = ATTN_I32};
}

/* The same with the defaults that depend on other fields filled in. */
static make_case_options complete(const make_case_options *options) {
    make_case_options full = *options;
    if (full.heads_kv == 0) full.heads_kv = full.heads_q;
    if (full.seq_kv == 0) full.seq_kv = full.seq_q;
    if (full.dim_v == 0) full.dim_v = full.dim;
    const int64_t sizes[4] = {full.batch, full.heads_q, full.seq_q, full.seq_kv};
    for (int n = 0; n < 4; n++) {
        if (full.bias.shape[n] == 0) full.bias.shape[n] = sizes[n];
        if (full.mask.shape[n] == 0) full.mask.shape[n] = sizes[n];
    }
    return full;
}

static int64_t size_of(const make_case_options *options, char letter) {
    switch (letter) {
    case 'B':
        return options->batch;
    case 'H':
        return options->heads_q;
    case 'G':
        return options->heads_kv;
    case 'N':
        return options->seq_q;
    case 'M':
        return options->seq_kv;
    case 'D':
        return options->dim;
    default:
        return options->dim_v;
    }
}

static case_status add_data(case_file *c, const make_case_options *options, case_slot slot, case_error *error) {
    int64_t shape[4];
    const case_dims dims = case_dims_of(slot, options->layout);
    for (int n = 0; n < dims.rank; n++) shape[n] = size_of(options, dims.letters[n]);
    return add_normal(c, options, slot, slot == CASE_SINKS ? ATTN_F32 : options->type, dims.rank, shape, 0, error);
}

static case_status add_tensors(case_file *c, const make_case_options *options, case_error *error) {
    const side rows = {CASE_Q_LENS, CASE_CU_SEQLENS_Q, options->seq_q, options->q_lens};
    const side keys = {CASE_KV_LENS, CASE_CU_SEQLENS_KV, options->seq_kv, options->kv_lens};
    case_status status = add_data(c, options, CASE_Q, error);
    if (status == CASE_OK) status = add_data(c, options, CASE_K, error);
    if (status == CASE_OK) status = add_data(c, options, CASE_V, error);
    if (status == CASE_OK && options->bias.wanted)
        status = add_normal(c, options, CASE_BIAS, options->bias_type, 4, options->bias.shape, options->bias_excluded,
                            error);
    if (status == CASE_OK && options->mask.wanted) status = add_mask(c, options, options->mask.shape, error);
    if (status == CASE_OK && options->alibi) status = add_slopes(c, options->heads_q, error);
    if (status == CASE_OK && options->sinks) status = add_data(c, options, CASE_SINKS, error);
    if (status == CASE_OK) status = add_side(c, options, &rows, error);
    return status == CASE_OK ? add_side(c, options, &keys, error) : status;
}

static case_status add_texts(case_file *c, const make_case_options *options, case_error *error) {
    char title[256], origin[64];
    (void)snprintf(title, sizeof title,
                   "%s %s: batch %" PRId64 ", heads %" PRId64 "/%" PRId64 ", rows %" PRId64 ", keys %" PRId64
                   ", columns %" PRId64 "/%" PRId64,
                   attn_type_name(options->type), case_layout_name(options->layout), options->batch, options->heads_q,
                   options->heads_kv, options->seq_q, options->seq_kv, options->dim, options->dim_v);
    (void)snprintf(origin, sizeof origin, "random, seed %" PRIu64, options->seed);
    case_status status = case_set(c, "title", options->title != NULL ? options->title : title, error);
    return status == CASE_OK ? case_set(c, "origin", options->origin != NULL ? options->origin : origin, error)
                             : status;
}

/* Types are checked before anything is stored as one of them. */
static case_status check_types(const make_case_options *options, case_error *error) {
    const attn_type types[3] = {options->type, options->bias_type, options->length_type};
    for (int n = 0; n < 2; n++) {
        if (types[n] != ATTN_F32 && types[n] != ATTN_F16 && types[n] != ATTN_BF16 && types[n] != ATTN_F64)
            return case_fail(error, CASE_ERROR_CONTENT, "type %s for %s; f32, f16, bf16 and f64 are possible",
                             attn_type_name(types[n]), n == 0 ? "q, k and v" : "the bias");
    }
    if (types[2] != ATTN_I32 && types[2] != ATTN_I64)
        return case_fail(error, CASE_ERROR_CONTENT, "type %s for lengths; i32 and i64 are possible",
                         attn_type_name(types[2]));
    if (types[2] == ATTN_I32 && (options->seq_q > INT32_MAX || options->seq_kv > INT32_MAX))
        return case_fail(error, CASE_ERROR_CONTENT, "%" PRId64 " rows and %" PRId64 " keys need lengths of type i64",
                         options->seq_q, options->seq_kv);
    return CASE_OK;
}

case_status make_case(const make_case_options *options, case_file *c, case_error *error) {
    const make_case_options full = complete(options);
    case_init(c);
    c->layout = full.layout;
    c->options = full.options;
    case_status status = check_types(&full, error);
    if (status == CASE_OK) status = add_texts(c, &full, error);
    if (status == CASE_OK) status = add_tensors(c, &full, error);
    return status == CASE_OK ? case_finish(c, error) : status;
}
