/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <string.h>

enum { MARGIN_ELEMENTS = 96 };

static void make_tensor(test_tensor *tensor, int packed) {
    if (tensor->strides[0] == 0 && tensor->strides[1] == 0 && tensor->strides[2] == 0 && tensor->strides[3] == 0) {
        test_dense_strides(tensor->shape, packed ? test_order_bshd : test_order_bhsd, tensor->strides);
    }
    if (packed) tensor->strides[0] = 0;
    test_tensor_allocate(tensor, TEST_BLOCK_AT_END, 0, MARGIN_ELEMENTS);
    test_tensor_poison(tensor);
}

test_output test_output_make(const attn_problem *problem) {
    test_output output;
    int packed = (problem->with & ATTN_WITH_CU_SEQLENS_Q) != 0;
    memset(&output, 0, sizeof output);
    output.o.type = problem->o_type ? problem->o_type : problem->type;
    output.o.shape[0] = output.lse.shape[0] = packed ? 1 : problem->batch;
    output.o.shape[1] = output.lse.shape[1] = problem->heads_q;
    output.o.shape[2] = output.lse.shape[2] = problem->seq_q;
    output.o.shape[3] = problem->dim_v ? problem->dim_v : problem->dim;
    output.lse.shape[3] = 1;
    memcpy(output.o.strides, problem->o_strides, sizeof output.o.strides);
    make_tensor(&output.o, packed);
    if (problem->with & ATTN_WITH_LSE) {
        output.lse.type = ATTN_F32;
        memcpy(output.lse.strides, problem->lse_strides, sizeof problem->lse_strides);
        /* Packed or not, the rows of a head's lse lie together by default. */
        make_tensor(&output.lse, 0);
    }
    return output;
}

void test_output_free(test_output *output) {
    test_tensor_free(&output->o);
    test_tensor_free(&output->lse);
}

void test_output_poison(test_output *output) {
    test_tensor_poison(&output->o);
    if (output->lse.data) test_tensor_poison(&output->lse);
}

int test_output_gaps_intact(const test_output *output) {
    return test_tensor_gaps_intact(&output->o) && (!output->lse.data || test_tensor_gaps_intact(&output->lse));
}

int test_output_untouched(const test_output *output) {
    return test_tensor_untouched(&output->o) && (!output->lse.data || test_tensor_untouched(&output->lse));
}

attn_tensors test_tensors_with(const test_case *source, const test_output *output) {
    attn_tensors tensors = source->tensors;
    tensors.o = output->o.data;
    tensors.lse = output->lse.data;
    return tensors;
}

static int same_row(const test_tensor *a, int64_t ab, int64_t ah, int64_t arow, const test_tensor *b, int64_t bb,
                    int64_t bh, int64_t brow) {
    size_t size = attn_type_size(a->type);
    for (int64_t d = 0; d < a->shape[3]; d++) {
        const char *x = (const char *)a->data + test_tensor_offset(a, ab, ah, arow, d) * (int64_t)size;
        const char *y = (const char *)b->data + test_tensor_offset(b, bb, bh, brow, d) * (int64_t)size;
        if (memcmp(x, y, size) != 0) return 0;
    }
    return 1;
}

int test_row_same_bits(const test_output *a, int64_t ab, int64_t ah, int64_t arow, const test_output *b, int64_t bb,
                       int64_t bh, int64_t brow) {
    if (a->lse.data && b->lse.data && !same_row(&a->lse, ab, ah, arow, &b->lse, bb, bh, brow)) return 0;
    return same_row(&a->o, ab, ah, arow, &b->o, bb, bh, brow);
}

int test_output_same_bits(const test_output *a, const test_output *b) {
    for (int64_t n = 0; n < a->o.shape[0]; n++) {
        for (int64_t h = 0; h < a->o.shape[1]; h++) {
            for (int64_t row = 0; row < a->o.shape[2]; row++) {
                if (!test_row_same_bits(a, n, h, row, b, n, h, row)) return 0;
            }
        }
    }
    return 1;
}
