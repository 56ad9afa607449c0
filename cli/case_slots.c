/* SPDX-License-Identifier: Apache-2.0 */
#include "case_slots.h"
#include <stdlib.h>
#include <string.h>

const case_slot_row case_slot_rows[CASE_SLOTS] = {
    [CASE_Q] = {"q", CASE_KIND_REAL, "BHND"},
    [CASE_K] = {"k", CASE_KIND_REAL, "BGMD"},
    [CASE_V] = {"v", CASE_KIND_REAL, "BGME"},
    [CASE_BIAS] = {"bias", CASE_KIND_REAL, "****"},
    [CASE_MASK] = {"mask", CASE_KIND_BOOL, "****"},
    [CASE_ALIBI_SLOPES] = {"alibi_slopes", CASE_KIND_F32, "H"},
    [CASE_SINKS] = {"sinks", CASE_KIND_F32, "H"},
    [CASE_Q_LENS] = {"q_lens", CASE_KIND_INTEGER, "B"},
    [CASE_KV_LENS] = {"kv_lens", CASE_KIND_INTEGER, "B"},
    [CASE_CU_SEQLENS_Q] = {"cu_seqlens_q", CASE_KIND_INTEGER, "C"},
    [CASE_CU_SEQLENS_KV] = {"cu_seqlens_kv", CASE_KIND_INTEGER, "C"},
    [CASE_Q_OFFSETS] = {"q_offsets", CASE_KIND_INTEGER, "B"},
    [CASE_D_O] = {"d_o", CASE_KIND_REAL, "BHNE"},
    [CASE_D_LSE] = {"d_lse", CASE_KIND_REAL, "BHN"},
    [CASE_O] = {"o", CASE_KIND_REAL, "BHNE"},
    [CASE_LSE] = {"lse", CASE_KIND_REAL, "BHN"},
    [CASE_D_Q] = {"d_q", CASE_KIND_REAL, "BHND"},
    [CASE_D_K] = {"d_k", CASE_KIND_REAL, "BGMD"},
    [CASE_D_V] = {"d_v", CASE_KIND_REAL, "BGME"},
    [CASE_D_BIAS] = {"d_bias", CASE_KIND_REAL, "****"},
    [CASE_D_SINKS] = {"d_sinks", CASE_KIND_REAL, "H"},
};

const char *case_slot_name(case_slot slot) {
    return case_slot_rows[slot].name;
}

case_slot case_slot_of(const char *name) {
    for (int slot = 0; slot < CASE_SLOTS; slot++) {
        if (strcmp(case_slot_rows[slot].name, name) == 0) return (case_slot)slot;
    }
    return CASE_SLOTS;
}

const char *case_layout_name(case_layout layout) {
    return layout == CASE_THD ? "thd" : layout == CASE_BSHD ? "bshd" : "bhsd";
}

case_dims case_dims_of(case_slot slot, case_layout layout) {
    const char *dims = case_slot_rows[slot].dims;
    case_dims result = {{0}, (int)strlen(dims)};
    memcpy(result.letters, dims, (size_t)result.rank);
    if (dims[0] != 'B' || result.rank < 3 || layout == CASE_BHSD) return result;
    if (result.rank == 4) { /* the row comes before the head; lse has no columns to keep together and stays as it is */
        result.letters[1] = dims[2];
        result.letters[2] = dims[1];
    }
    if (layout == CASE_THD) { /* all rows of all batch entries are one dimension */
        memmove(result.letters, result.letters + 1, (size_t)result.rank);
        result.rank--;
    }
    return result;
}

int case_multiply(int64_t a, int64_t b, int64_t *product) {
    if (a != 0 && b > INT64_MAX / a) return 0;
    *product = a * b;
    return 1;
}

int case_count(int rank, const int64_t *shape, int64_t *count) {
    *count = 1;
    for (int n = 0; n < rank; n++) {
        if (shape[n] == 0) *count = 0;
    }
    for (int n = 0; n < rank; n++) {
        if (*count != 0 && !case_multiply(*count, shape[n], count)) return 0;
    }
    return 1;
}

int case_view_of(case_slot slot, case_layout layout, const case_tensor *tensor, case_view *view) {
    const char *logical = case_slot_rows[slot].dims;
    const case_dims dims = case_dims_of(slot, layout);
    int64_t stride = 1;
    *view = (case_view){{1, 1, 1, 1}, {0, 0, 0, 0}};
    for (int n = dims.rank - 1; n >= 0; n--) {
        int axis = (int)(strchr(logical, dims.letters[n]) - logical);
        view->shape[axis] = tensor->shape[n];
        view->strides[axis] = stride;
        if (n > 0 && !case_multiply(stride, tensor->shape[n], &stride)) return 0;
    }
    return 1;
}

void case_tensor_free(case_tensor *tensor) {
    free(tensor->owned);
    *tensor = (case_tensor){0};
}
