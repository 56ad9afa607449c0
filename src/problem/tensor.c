/* SPDX-License-Identifier: Apache-2.0 */
#include "problem/tensor.h"

#include <string.h>

static attn_tensor tensor4(const char *name, int named, attn_type type, const int64_t shape[4],
                           const int64_t strides[4]) {
    attn_tensor tensor = {.name = name, .named = named, .type = type};
    memcpy(tensor.shape, shape, sizeof tensor.shape);
    memcpy(tensor.strides, strides, sizeof tensor.strides);
    return tensor;
}

static attn_tensor vector(const char *name, int named, attn_type type, int64_t count) {
    return (attn_tensor){
        .name = name, .named = named, .type = type, .shape = {1, 1, 1, count}, .strides = {0, 0, 0, 1}};
}

attn_tensor attn_tensor_of(const attn_problem *p, attn_tensor_id id) {
    int64_t batch_q = p->with & ATTN_WITH_CU_SEQLENS_Q ? 1 : p->batch;
    int64_t batch_kv = p->with & ATTN_WITH_CU_SEQLENS_KV ? 1 : p->batch;
    const int64_t q_shape[4] = {batch_q, p->heads_q, p->seq_q, p->dim};
    const int64_t k_shape[4] = {batch_kv, p->heads_kv, p->seq_kv, p->dim};
    const int64_t v_shape[4] = {batch_kv, p->heads_kv, p->seq_kv, p->dim_v};
    const int64_t o_shape[4] = {batch_q, p->heads_q, p->seq_q, p->dim_v};
    const int64_t lse_shape[4] = {batch_q, p->heads_q, p->seq_q, 1};
    const int64_t lse_strides[4] = {p->lse_strides[0], p->lse_strides[1], p->lse_strides[2], 1};
    switch (id) {
    case ATTN_TENSOR_O:
        return tensor4("o", 1, p->o_type, o_shape, p->o_strides);
    case ATTN_TENSOR_LSE:
        return tensor4("lse", (p->with & ATTN_WITH_LSE) != 0, ATTN_F32, lse_shape, lse_strides);
    case ATTN_TENSOR_Q:
        return tensor4("q", 1, p->type, q_shape, p->q_strides);
    case ATTN_TENSOR_K:
        return tensor4("k", 1, p->kv_type, k_shape, p->k_strides);
    case ATTN_TENSOR_V:
        return tensor4("v", 1, p->kv_type, v_shape, p->v_strides);
    case ATTN_TENSOR_BIAS:
        return tensor4("bias", p->bias.type != ATTN_TYPE_DEFAULT, p->bias.type, p->bias.shape, p->bias.strides);
    case ATTN_TENSOR_MASK:
        return tensor4("mask", p->mask.type != ATTN_TYPE_DEFAULT, p->mask.type, p->mask.shape, p->mask.strides);
    case ATTN_TENSOR_ALIBI_SLOPES:
        return vector("alibi_slopes", (p->with & ATTN_WITH_ALIBI) != 0, ATTN_F32, p->heads_q);
    case ATTN_TENSOR_SINKS:
        return vector("sinks", (p->with & ATTN_WITH_SINKS) != 0, ATTN_F32, p->heads_q);
    case ATTN_TENSOR_Q_LENS:
        return vector("q_lens", (p->with & ATTN_WITH_Q_LENS) != 0, p->length_type, p->batch);
    case ATTN_TENSOR_KV_LENS:
        return vector("kv_lens", (p->with & ATTN_WITH_KV_LENS) != 0, p->length_type, p->batch);
    case ATTN_TENSOR_CU_SEQLENS_Q:
        return vector("cu_seqlens_q", (p->with & ATTN_WITH_CU_SEQLENS_Q) != 0, p->length_type, p->batch + 1);
    case ATTN_TENSOR_CU_SEQLENS_KV:
        return vector("cu_seqlens_kv", (p->with & ATTN_WITH_CU_SEQLENS_KV) != 0, p->length_type, p->batch + 1);
    case ATTN_TENSOR_Q_OFFSETS:
    default:
        return vector("q_offsets", (p->with & ATTN_WITH_Q_OFFSETS) != 0, p->length_type, p->batch);
    }
}

const char *attn_tensor_named_by(attn_tensor_id id) {
    switch (id) {
    case ATTN_TENSOR_LSE:
        return "ATTN_WITH_LSE";
    case ATTN_TENSOR_BIAS:
        return "problem.bias";
    case ATTN_TENSOR_MASK:
        return "problem.mask";
    case ATTN_TENSOR_ALIBI_SLOPES:
        return "ATTN_WITH_ALIBI";
    case ATTN_TENSOR_SINKS:
        return "ATTN_WITH_SINKS";
    case ATTN_TENSOR_Q_LENS:
        return "ATTN_WITH_Q_LENS";
    case ATTN_TENSOR_KV_LENS:
        return "ATTN_WITH_KV_LENS";
    case ATTN_TENSOR_CU_SEQLENS_Q:
        return "ATTN_WITH_CU_SEQLENS_Q";
    case ATTN_TENSOR_CU_SEQLENS_KV:
        return "ATTN_WITH_CU_SEQLENS_KV";
    case ATTN_TENSOR_Q_OFFSETS:
        return "ATTN_WITH_Q_OFFSETS";
    default:
        return "every problem";
    }
}

const void *attn_tensor_data(const attn_tensors *tensors, attn_tensor_id id) {
    switch (id) {
    case ATTN_TENSOR_O:
        return tensors->o;
    case ATTN_TENSOR_LSE:
        return tensors->lse;
    case ATTN_TENSOR_Q:
        return tensors->q;
    case ATTN_TENSOR_K:
        return tensors->k;
    case ATTN_TENSOR_V:
        return tensors->v;
    case ATTN_TENSOR_BIAS:
        return tensors->bias;
    case ATTN_TENSOR_MASK:
        return tensors->mask;
    case ATTN_TENSOR_ALIBI_SLOPES:
        return tensors->alibi_slopes;
    case ATTN_TENSOR_SINKS:
        return tensors->sinks;
    case ATTN_TENSOR_Q_LENS:
        return tensors->q_lens;
    case ATTN_TENSOR_KV_LENS:
        return tensors->kv_lens;
    case ATTN_TENSOR_CU_SEQLENS_Q:
        return tensors->cu_seqlens_q;
    case ATTN_TENSOR_CU_SEQLENS_KV:
        return tensors->cu_seqlens_kv;
    case ATTN_TENSOR_Q_OFFSETS:
    default:
        return tensors->q_offsets;
    }
}

int attn_tensor_empty(const attn_tensor *tensor) {
    for (int n = 0; n < 4; n++)
        if (tensor->shape[n] == 0) return 1;
    return 0;
}

attn_extent attn_tensor_extent(const attn_tensor *tensor, const void *data) {
    attn_extent extent = {.data = data, .element_size = attn_type_size(tensor->type), .rank = 4};
    memcpy(extent.shape, tensor->shape, sizeof extent.shape);
    memcpy(extent.strides, tensor->strides, sizeof extent.strides);
    return extent;
}

double attn_tensor_bytes(const attn_tensor *tensor) {
    if (!tensor->named || attn_tensor_empty(tensor)) return 0.0;
    double bytes = (double)attn_type_size(tensor->type);
    for (int n = 0; n < 4; n++)
        if (tensor->strides[n] != 0) bytes *= (double)tensor->shape[n];
    return bytes;
}
