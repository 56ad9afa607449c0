/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of one run: pointers, lengths, overlaps. Fast enough for every step of a decode loop. */
#include <inttypes.h>
#include <stdalign.h>

#include "base/half.h"
#include "base/reason.h"
#include "problem/tensor.h"

/* --------------------------------------------------------------------------------------------------------- pointers */

static size_t alignment_of(attn_type type) {
    switch ((int)type) {
    case ATTN_F16:
    case ATTN_BF16:
        return alignof(uint16_t);
    case ATTN_F64:
        return alignof(double);
    case ATTN_I64:
        return alignof(int64_t);
    case ATTN_BOOL:
        return 1;
    default:
        return alignof(float) > alignof(int32_t) ? alignof(float) : alignof(int32_t);
    }
}

static attn_status check_pointer(const attn_problem *p, const attn_tensors *tensors, attn_tensor_id id,
                                 attn_reason *reason) {
    attn_tensor tensor = attn_tensor_of(p, id);
    const void *data = attn_tensor_data(tensors, id);
    if (!data) {
        if (!tensor.named || attn_tensor_empty(&tensor)) return ATTN_OK;
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "tensors.%s is NULL, but %s asks for it", tensor.name,
                         attn_tensor_named_by(id));
    }
    if (!tensor.named)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "tensors.%s is given, but the problem has none (%s is not set)",
                         tensor.name, attn_tensor_named_by(id));
    if ((uintptr_t)data % alignment_of(tensor.type) != 0)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "tensors.%s is not aligned for its type, %s", tensor.name,
                         attn_type_name(tensor.type));
    return ATTN_OK;
}

/* ---------------------------------------------------------------------------------------------------------- lengths */

static attn_status check_cumulative(const attn_problem *p, const char *name, const void *cumulative, int64_t limit,
                                    attn_reason *reason) {
    int64_t last = attn_load_integer(p->length_type, cumulative, 0);
    if (last != 0) return attn_fail(reason, ATTN_ERROR_LENGTHS, "%s starts with %" PRId64 ", not 0", name, last);
    for (int64_t b = 1; b <= p->batch; b++) {
        int64_t next = attn_load_integer(p->length_type, cumulative, b);
        if (next < last)
            return attn_fail(reason, ATTN_ERROR_LENGTHS, "%s falls from %" PRId64 " to %" PRId64 " at entry %" PRId64,
                             name, last, next, b);
        last = next;
    }
    if (last > limit)
        return attn_fail(reason, ATTN_ERROR_LENGTHS, "%s ends at %" PRId64 ", past the %" PRId64 " there are", name,
                         last, limit);
    return ATTN_OK;
}

/* Length b fits into the room of its sequence. */
static attn_status check_length(const char *name, int64_t b, int64_t length, int64_t room, attn_reason *reason) {
    if (length >= 0 && length <= room) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_LENGTHS, "%s[%" PRId64 "] is %" PRId64 ", not 0 to %" PRId64, name, b, length,
                     room);
}

/* Only packed sequences can have more rows than a bias or mask. */
static attn_status check_view_rows(const char *name, const attn_view *view, int64_t b, int64_t q_len,
                                   attn_reason *reason) {
    if (view->type == ATTN_TYPE_DEFAULT || view->shape[2] == 1 || q_len <= view->shape[2]) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_LENGTHS, "sequence %" PRId64 " has %" PRId64 " rows, %s has %" PRId64, b, q_len,
                     name, view->shape[2]);
}

/* Rows or keys that entry b has room for; the cumulative lengths are checked before. */
static int64_t room_of(attn_type type, const void *cumulative, int64_t padded, int64_t b) {
    if (!cumulative) return padded;
    return attn_load_integer(type, cumulative, b + 1) - attn_load_integer(type, cumulative, b);
}

/* Not by attn_sequence_of, which computes with lengths that are checked. */
static attn_status check_sequence(const attn_problem *p, const attn_tensors *tensors, int64_t b, attn_reason *reason) {
    attn_type type = p->length_type;
    int64_t rows = room_of(type, tensors->cu_seqlens_q, p->seq_q, b);
    int64_t keys = room_of(type, tensors->cu_seqlens_kv, p->seq_kv, b);
    int64_t q_len = tensors->q_lens ? attn_load_integer(type, tensors->q_lens, b) : rows;
    int64_t kv_len = tensors->kv_lens ? attn_load_integer(type, tensors->kv_lens, b) : keys;
    attn_status status = check_length("q_lens", b, q_len, rows, reason);
    if (!status) status = check_length("kv_lens", b, kv_len, keys, reason);
    if (!status) status = check_view_rows("bias", &p->bias, b, q_len, reason);
    if (!status) status = check_view_rows("mask", &p->mask, b, q_len, reason);
    return status;
}

static attn_status check_lengths(const attn_problem *p, const attn_tensors *tensors, attn_reason *reason) {
    attn_status status = ATTN_OK;
    if (p->with & ATTN_WITH_CU_SEQLENS_Q)
        status = check_cumulative(p, "cu_seqlens_q", tensors->cu_seqlens_q, p->seq_q, reason);
    if (!status && (p->with & ATTN_WITH_CU_SEQLENS_KV))
        status = check_cumulative(p, "cu_seqlens_kv", tensors->cu_seqlens_kv, p->seq_kv, reason);
    const uint32_t any = ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS | ATTN_WITH_CU_SEQLENS_Q;
    if (!(p->with & any)) return status;
    for (int64_t b = 0; b < p->batch && !status; b++) status = check_sequence(p, tensors, b, reason);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- overlaps */

static attn_status check_overlap_of(const attn_problem *p, const attn_tensors *tensors, const char *name,
                                    const attn_extent *extent, int first, attn_reason *reason) {
    for (int id = first; id < ATTN_TENSORS; id++) {
        const void *data = attn_tensor_data(tensors, (attn_tensor_id)id);
        if (!data) continue;
        attn_tensor other = attn_tensor_of(p, (attn_tensor_id)id);
        attn_extent other_extent = attn_tensor_extent(&other, data);
        if (attn_overlaps(extent, &other_extent))
            return attn_fail(reason, ATTN_ERROR_OVERLAP, "%s overlaps %s", name, other.name);
    }
    return ATTN_OK;
}

/* An output against all tensors after it in the table, in which the outputs are the first; the workspace against all. */
static attn_status check_overlaps(const attn_problem *p, const attn_tensors *tensors, attn_reason *reason) {
    for (int id = 0; id < ATTN_OUTPUTS; id++) {
        const void *data = attn_tensor_data(tensors, (attn_tensor_id)id);
        if (!data) continue;
        attn_tensor output = attn_tensor_of(p, (attn_tensor_id)id);
        attn_extent extent = attn_tensor_extent(&output, data);
        attn_status status = check_overlap_of(p, tensors, output.name, &extent, id + 1, reason);
        if (status) return status;
    }
    if (!tensors->workspace) return ATTN_OK;
    if (tensors->workspace_bytes > PTRDIFF_MAX)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "tensors.workspace_bytes is %zu, more than can be",
                         tensors->workspace_bytes);
    attn_extent workspace = {tensors->workspace, 1, 1, {(int64_t)tensors->workspace_bytes}, {1}};
    return check_overlap_of(p, tensors, "workspace", &workspace, 0, reason);
}

attn_status attn_tensors_check(const attn_problem *completed, const attn_tensors *tensors, attn_reason *reason) {
    if (!tensors) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "tensors is NULL");
    attn_status status = attn_check_struct_size("attn_tensors", tensors->struct_size, sizeof *tensors, reason);
    for (int id = 0; id < ATTN_TENSORS && !status; id++)
        status = check_pointer(completed, tensors, (attn_tensor_id)id, reason);
    if (!status) status = check_lengths(completed, tensors, reason);
    if (!status) status = check_overlaps(completed, tensors, reason);
    return status;
}
