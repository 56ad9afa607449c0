/* SPDX-License-Identifier: Apache-2.0 */
/* .npy arrays as tensors of a case. */
#include "case_slots.h"
#include "npy.h"
#include <string.h>

/* Dimensions that may be missing in front: the batch of q, k and v; batch and head of bias and mask. */
static int optional_dimensions(case_slot slot, case_layout layout) {
    if (slot == CASE_BIAS || slot == CASE_MASK) return 2;
    return slot <= CASE_V && layout != CASE_THD ? 1 : 0;
}

static void add_dimensions(case_tensor *tensor, int rank) {
    const int missing = rank - tensor->rank;
    memmove(tensor->shape + missing, tensor->shape, (size_t)tensor->rank * sizeof tensor->shape[0]);
    for (int n = 0; n < missing; n++) tensor->shape[n] = 1;
    tensor->rank = rank;
}

case_status case_add_npy(case_file *c, const char *name, const char *path, case_error *error) {
    case_tensor tensor;
    const case_slot slot = case_slot_of(name);
    case_status status = npy_read_path(path, &tensor, error);
    if (status != CASE_OK) return status;
    int unbatched = 0;
    if (slot != CASE_SLOTS) {
        const int rank = case_dims_of(slot, c->layout).rank;
        unbatched = tensor.rank == rank - 1;
        if (tensor.rank < rank && tensor.rank >= rank - optional_dimensions(slot, c->layout))
            add_dimensions(&tensor, rank);
    }
    status = case_add(c, name, &tensor, error);
    if (status != CASE_OK) return case_fail_in(error, status, case_input_name(path));
    if (slot == CASE_Q) c->unbatched = unbatched;
    return CASE_OK;
}
