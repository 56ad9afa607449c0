/* SPDX-License-Identifier: Apache-2.0 */
/* From the caller's problem to the completed one: every default replaced, every size and stride checked. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/reason.h"
#include "problem/tensor.h"

enum { DIM_MAX = 1024 };

#define WITH_ALL                                                                                                       \
    (ATTN_WITH_LSE | ATTN_WITH_ALIBI | ATTN_WITH_SINKS | ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS |                        \
     ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV | ATTN_WITH_Q_OFFSETS | ATTN_WITH_BATCH_INVARIANCE)

/* The four numbers of a shape or of strides in a format string and among its arguments. */
#define FOUR       "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]"
#define FOUR_OF(n) (n)[0], (n)[1], (n)[2], (n)[3]

attn_status attn_check_struct_size(const char *name, size_t given, size_t expected, attn_reason *reason) {
    if (given == expected) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_ARGUMENT,
                     "%s.struct_size is %zu, this library's is %zu; start from the INIT macro", name, given, expected);
}

/* ------------------------------------------------------------------------------------------------------------ types */

static int is_float(attn_type type) {
    return type == ATTN_F32 || type == ATTN_F16 || type == ATTN_BF16 || type == ATTN_F64;
}

static attn_status check_float(const char *name, attn_type type, attn_reason *reason) {
    if (is_float(type)) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_ARGUMENT, "%s is %d (%s), not one of f32, f16, bf16, f64", name, (int)type,
                     attn_type_name(type));
}

static attn_status complete_types(attn_problem *p, attn_reason *reason) {
    if (p->type == ATTN_TYPE_DEFAULT) p->type = ATTN_F32;
    if (p->kv_type == ATTN_TYPE_DEFAULT) p->kv_type = p->type;
    if (p->o_type == ATTN_TYPE_DEFAULT) p->o_type = p->type;
    if (p->length_type == ATTN_TYPE_DEFAULT) p->length_type = ATTN_I32;
    attn_status status = check_float("type", p->type, reason);
    if (!status) status = check_float("kv_type", p->kv_type, reason);
    if (!status) status = check_float("o_type", p->o_type, reason);
    if (status) return status;
    if (p->kv_type != p->type)
        return attn_fail(reason, ATTN_ERROR_UNSUPPORTED, "kv_type %s beside type %s", attn_type_name(p->kv_type),
                         attn_type_name(p->type));
    int wider = p->o_type == ATTN_F32 && (p->type == ATTN_F16 || p->type == ATTN_BF16);
    if (p->o_type != p->type && !wider)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT,
                         "o_type %s beside type %s; it is the same type, or f32 beside f16 and bf16",
                         attn_type_name(p->o_type), attn_type_name(p->type));
    if (p->length_type != ATTN_I32 && p->length_type != ATTN_I64)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "length_type is %d (%s), not i32 or i64", (int)p->length_type,
                         attn_type_name(p->length_type));
    return ATTN_OK;
}

/* ------------------------------------------------------------------------------------------------------------ sizes */

static attn_status check_size(const char *name, int64_t size, attn_reason *reason) {
    if (size >= 0) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_SHAPE, "%s is %" PRId64 ", less than 0", name, size);
}

static attn_status check_dim(const char *name, int64_t dim, attn_reason *reason) {
    if (dim >= 1 && dim <= DIM_MAX) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_SHAPE, "%s is %" PRId64 ", not 1 to %d", name, dim, DIM_MAX);
}

static attn_status complete_sizes(attn_problem *p, attn_reason *reason) {
    attn_status status = check_size("batch", p->batch, reason);
    if (!status) status = check_size("heads_q", p->heads_q, reason);
    if (!status) status = check_size("heads_kv", p->heads_kv, reason);
    if (!status) status = check_size("seq_q", p->seq_q, reason);
    if (!status) status = check_size("seq_kv", p->seq_kv, reason);
    if (!status) status = check_dim("dim", p->dim, reason);
    if (status) return status;
    if (p->heads_kv == 0) p->heads_kv = p->heads_q;
    if (p->heads_kv != 0 && p->heads_q % p->heads_kv != 0)
        return attn_fail(reason, ATTN_ERROR_SHAPE, "heads_q %" PRId64 " is not a multiple of heads_kv %" PRId64,
                         p->heads_q, p->heads_kv);
    if (p->dim_v == 0) p->dim_v = p->dim;
    return check_dim("dim_v", p->dim_v, reason);
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

static attn_status complete_numbers(attn_problem *p, attn_reason *reason) {
    if (p->scale == ATTN_SCALE_DEFAULT) p->scale = 1.0 / sqrt((double)p->dim);
    if (!isfinite(p->scale)) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "scale is %g, not a number", p->scale);
    if (!isfinite(p->softcap) || p->softcap < 0.0)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "softcap is %g, not a positive number or 0 for none", p->softcap);
    if (!(p->dropout_p >= 0.0 && p->dropout_p < 1.0))
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "dropout_p is %g, not 0 or more and less than 1", p->dropout_p);
    if (p->window_left < ATTN_UNBOUNDED || p->window_right < ATTN_UNBOUNDED)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT,
                         "window is %" PRId64 " left, %" PRId64 " right; each is 0 or more, or ATTN_UNBOUNDED (-1)",
                         p->window_left, p->window_right);
    if (p->with & ~WITH_ALL)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "with is 0x%" PRIx32 ", of which 0x%" PRIx32 " is not known",
                         p->with, p->with & ~WITH_ALL);
    return ATTN_OK;
}

/* ---------------------------------------------------------------------------------------------- elements and memory */

/* A size of 0 counts as 1: what is refused does not depend on another size being 0, and no stride overflows. */
static int count_elements(const int64_t shape[4], int64_t *count) {
    *count = 1;
    for (int n = 0; n < 4; n++)
        if (shape[n] != 0 && !attn_mul_i64(*count, shape[n], count)) return 0;
    return 1;
}

static attn_status check_count(const attn_tensor *tensor, attn_reason *reason) {
    int64_t count;
    if (count_elements(tensor->shape, &count)) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_OVERFLOW, "%s " FOUR " has more elements than int64_t can count", tensor->name,
                     FOUR_OF(tensor->shape));
}

static attn_status check_counts(const attn_problem *p, attn_reason *reason) {
    const int64_t rows[4] = {p->batch, p->heads_q, 1, 1};
    int64_t count;
    if (!count_elements(rows, &count) || p->batch == INT64_MAX)
        return attn_fail(reason, ATTN_ERROR_OVERFLOW,
                         "batch %" PRId64 " times heads_q %" PRId64 " does not fit int64_t", p->batch, p->heads_q);
    for (int id = 0; id < ATTN_TENSORS; id++) {
        attn_tensor tensor = attn_tensor_of(p, (attn_tensor_id)id);
        attn_status status = tensor.named || id == ATTN_TENSOR_LSE ? check_count(&tensor, reason) : ATTN_OK;
        if (status) return status;
    }
    return ATTN_OK;
}

/* Bytes from the first to the last in memory fit, and so does the distance of any element from element (0, 0, 0, 0). */
static int bytes_fit(const attn_tensor *tensor) {
    int64_t before = 0, after = 1, size = (int64_t)attn_type_size(tensor->type), length;
    for (int n = 0; n < 4; n++) {
        if (!attn_mul_i64(tensor->strides[n], tensor->shape[n] - 1, &length)) return 0;
        int64_t *side = length < 0 ? &before : &after;
        if (!attn_add_i64(*side, length, side)) return 0;
    }
    int64_t elements, bytes;
    if (before == INT64_MIN || !attn_add_i64(after, -before, &elements)) return 0;
    return attn_mul_i64(elements, size, &bytes) && bytes <= PTRDIFF_MAX;
}

static attn_status check_memory(const attn_problem *p, attn_reason *reason) {
    for (int id = 0; id < ATTN_TENSORS; id++) {
        attn_tensor tensor = attn_tensor_of(p, (attn_tensor_id)id);
        if (!tensor.named || attn_tensor_empty(&tensor) || bytes_fit(&tensor)) continue;
        return attn_fail(reason, ATTN_ERROR_OVERFLOW,
                         "%s " FOUR " with strides " FOUR " spans more bytes than ptrdiff_t", tensor.name,
                         FOUR_OF(tensor.shape), FOUR_OF(tensor.strides));
    }
    return ATTN_OK;
}

/* ---------------------------------------------------------------------------------------------------------- strides */

/* Strides that lay the dimensions out one in another, the last of `order` innermost. */
static void lay_out(const int64_t shape[4], const int order[4], int64_t strides[4]) {
    int64_t stride = 1;
    for (int n = 3; n >= 0; n--) {
        strides[order[n]] = stride;
        if (shape[order[n]] != 0) stride *= shape[order[n]];
    }
}

static int all_zero(const int64_t *numbers, int count) {
    for (int n = 0; n < count; n++)
        if (numbers[n] != 0) return 0;
    return 1;
}

/*
 * Strides that no element needs (of sizes 0 and 1, or of a tensor without elements) become those of a contiguous
 * tensor, so that nothing computed from them can overflow. A packed tensor has no batch stride.
 */
static void complete_strides(const attn_tensor *tensor, int packed, int64_t strides[4]) {
    static const int padded_order[4] = {0, 1, 2, 3}, packed_order[4] = {0, 2, 1, 3};
    int64_t contiguous[4];
    lay_out(tensor->shape, packed ? packed_order : padded_order, contiguous);
    if (packed) strides[0] = contiguous[0] = 0;
    int replace = all_zero(strides, 4) || attn_tensor_empty(tensor);
    for (int n = 0; n < 4; n++)
        if (replace || tensor->shape[n] == 1) strides[n] = contiguous[n];
}

static void complete_tensor_strides(attn_problem *p, attn_tensor_id id, int packed, int64_t strides[4]) {
    attn_tensor tensor = attn_tensor_of(p, id);
    complete_strides(&tensor, packed, strides);
}

static void complete_lse_strides(attn_problem *p, int packed) {
    attn_tensor tensor = attn_tensor_of(p, ATTN_TENSOR_LSE);
    int64_t strides[4] = {0, 0, 0, 0};
    if (tensor.named) memcpy(strides, p->lse_strides, sizeof p->lse_strides);
    complete_strides(&tensor, 0, strides);
    memcpy(p->lse_strides, strides, sizeof p->lse_strides);
    if (packed) p->lse_strides[0] = 0;
}

static attn_status check_output(const attn_problem *p, attn_tensor_id id, attn_reason *reason) {
    attn_tensor tensor = attn_tensor_of(p, id);
    attn_extent extent = attn_tensor_extent(&tensor, NULL);
    if (!tensor.named || !attn_overlaps_itself(&extent)) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_OVERLAP, "%s " FOUR " overlaps itself with strides " FOUR, tensor.name,
                     FOUR_OF(tensor.shape), FOUR_OF(tensor.strides));
}

/* ---------------------------------------------------------------------------------------------------- bias and mask */

static attn_status check_view_size(const char *name, const char *dimension, int64_t size, int64_t least, int64_t most,
                                   attn_reason *reason) {
    if (size == 1 || (size >= least && size <= most)) return ATTN_OK;
    if (least == most)
        return attn_fail(reason, ATTN_ERROR_SHAPE, "%s has %" PRId64 " %s, not 1 or %" PRId64, name, size, dimension,
                         most);
    return attn_fail(reason, ATTN_ERROR_SHAPE, "%s has %" PRId64 " %s, not %" PRId64 " to %" PRId64, name, size,
                     dimension, least, most);
}

static attn_status check_view_shape(const attn_problem *p, const char *name, const attn_view *view,
                                    attn_reason *reason) {
    int packed = (p->with & ATTN_WITH_CU_SEQLENS_Q) != 0;
    int64_t rows_least = packed && p->seq_q > 0 ? 1 : p->seq_q;
    const int64_t *shape = view->shape;
    attn_status status = check_view_size(name, "batch entries", shape[0], p->batch, p->batch, reason);
    if (!status) status = check_view_size(name, "heads", shape[1], p->heads_q, p->heads_q, reason);
    if (!status) status = check_view_size(name, "rows", shape[2], rows_least, p->seq_q, reason);
    if (!status) status = check_view_size(name, "columns", shape[3], 0, p->seq_kv, reason);
    return status;
}

static attn_status complete_view(const attn_problem *p, const char *name, attn_view *view, attn_reason *reason) {
    static const int order[4] = {0, 1, 2, 3};
    attn_status status = check_view_shape(p, name, view, reason);
    int64_t count;
    if (status) return status;
    if (!count_elements(view->shape, &count)) return ATTN_OK; /* check_counts says so */
    int empty = view->shape[0] == 0 || view->shape[1] == 0 || view->shape[2] == 0 || view->shape[3] == 0;
    if (empty || all_zero(view->strides, 4)) lay_out(view->shape, order, view->strides);
    for (int n = 0; n < 4; n++)
        if (view->shape[n] <= 1) view->strides[n] = 0;
    /* Strides of 0 throughout would read as contiguous when the completed problem comes back. */
    if (count > 1 && all_zero(view->strides, 4))
        return attn_fail(reason, ATTN_ERROR_SHAPE,
                         "%s " FOUR " has one element; say so by a shape of 1 instead of strides", name,
                         FOUR_OF(view->shape));
    return ATTN_OK;
}

static attn_status complete_views(attn_problem *p, attn_reason *reason) {
    const attn_view none = ATTN_VIEW_INIT;
    attn_status status = ATTN_OK;
    if (p->bias.type == ATTN_TYPE_DEFAULT) {
        p->bias = none;
    } else {
        status = check_float("bias.type", p->bias.type, reason);
        if (!status) status = complete_view(p, "bias", &p->bias, reason);
    }
    if (status) return status;
    if (p->mask.type == ATTN_TYPE_DEFAULT) {
        p->mask = none;
    } else if (p->mask.type != ATTN_BOOL) {
        status = attn_fail(reason, ATTN_ERROR_ARGUMENT, "mask.type is %d (%s), not bool", (int)p->mask.type,
                           attn_type_name(p->mask.type));
    } else {
        status = complete_view(p, "mask", &p->mask, reason);
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------- the whole */

static attn_status complete_layout(attn_problem *p, attn_reason *reason) {
    int packed_q = (p->with & ATTN_WITH_CU_SEQLENS_Q) != 0;
    int packed_kv = (p->with & ATTN_WITH_CU_SEQLENS_KV) != 0;
    complete_tensor_strides(p, ATTN_TENSOR_Q, packed_q, p->q_strides);
    complete_tensor_strides(p, ATTN_TENSOR_K, packed_kv, p->k_strides);
    complete_tensor_strides(p, ATTN_TENSOR_V, packed_kv, p->v_strides);
    complete_tensor_strides(p, ATTN_TENSOR_O, packed_q, p->o_strides);
    complete_lse_strides(p, packed_q);
    attn_status status = check_memory(p, reason);
    if (!status) status = check_output(p, ATTN_TENSOR_O, reason);
    if (!status) status = check_output(p, ATTN_TENSOR_LSE, reason);
    return status;
}

attn_status attn_problem_complete(const attn_problem *problem, attn_problem *completed, attn_reason *reason) {
    if (!problem) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "problem is NULL");
    attn_status status = attn_check_struct_size("attn_problem", problem->struct_size, sizeof *problem, reason);
    if (status) return status;
    attn_problem p = *problem;
    status = complete_types(&p, reason);
    if (!status) status = complete_sizes(&p, reason);
    if (!status) status = complete_numbers(&p, reason);
    if (!status) status = complete_views(&p, reason);
    if (!status) status = check_counts(&p, reason);
    if (!status) status = complete_layout(&p, reason);
    if (status) return status;
    if (completed) *completed = p;
    return attn_succeed(reason);
}
