/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/half.h"
#include "problem/problem.h"

/* First index and count of entry b: a run of the packed tensor, or all of the padded one. */
static void place(attn_type type, const void *cumulative, int64_t padded, int64_t b, int64_t *first, int64_t *count) {
    *first = cumulative ? attn_load_integer(type, cumulative, b) : 0;
    *count = cumulative ? attn_load_integer(type, cumulative, b + 1) - *first : padded;
}

attn_sequence attn_sequence_of(const attn_problem *p, const attn_tensors *tensors, int64_t b) {
    const void *cu_q = p->with & ATTN_WITH_CU_SEQLENS_Q ? tensors->cu_seqlens_q : NULL;
    const void *cu_kv = p->with & ATTN_WITH_CU_SEQLENS_KV ? tensors->cu_seqlens_kv : NULL;
    attn_sequence s = {.batch_q = cu_q ? 0 : b, .batch_kv = cu_kv ? 0 : b};
    place(p->length_type, cu_q, p->seq_q, b, &s.row0, &s.rows);
    place(p->length_type, cu_kv, p->seq_kv, b, &s.key0, &s.kv_len);
    s.q_len = s.rows;
    if (p->with & ATTN_WITH_Q_LENS) s.q_len = attn_load_integer(p->length_type, tensors->q_lens, b);
    if (p->with & ATTN_WITH_KV_LENS) s.kv_len = attn_load_integer(p->length_type, tensors->kv_lens, b);
    if (p->with & ATTN_WITH_Q_OFFSETS) {
        s.q_offset = attn_load_integer(p->length_type, tensors->q_offsets, b);
    } else {
        s.q_offset = p->q_offset == ATTN_OFFSET_END ? s.kv_len - s.q_len : p->q_offset;
    }
    return s;
}

int64_t attn_rows_in_sequences(const attn_problem *p, const attn_tensors *tensors) {
    if (!(p->with & ATTN_WITH_CU_SEQLENS_Q)) return p->seq_q;
    return attn_load_integer(p->length_type, tensors->cu_seqlens_q, p->batch);
}

int64_t attn_q_offset_of(const attn_problem *p, const attn_sequence *s, int64_t head, int64_t row) {
    return s->batch_q * p->q_strides[0] + head * p->q_strides[1] + (s->row0 + row) * p->q_strides[2];
}

int64_t attn_o_offset_of(const attn_problem *p, const attn_sequence *s, int64_t head, int64_t row) {
    return s->batch_q * p->o_strides[0] + head * p->o_strides[1] + (s->row0 + row) * p->o_strides[2];
}

int64_t attn_lse_offset_of(const attn_problem *p, const attn_sequence *s, int64_t head, int64_t row) {
    return s->batch_q * p->lse_strides[0] + head * p->lse_strides[1] + (s->row0 + row) * p->lse_strides[2];
}

int64_t attn_k_offset_of(const attn_problem *p, const attn_sequence *s, int64_t head_kv, int64_t key) {
    return s->batch_kv * p->k_strides[0] + head_kv * p->k_strides[1] + (s->key0 + key) * p->k_strides[2];
}

int64_t attn_v_offset_of(const attn_problem *p, const attn_sequence *s, int64_t head_kv, int64_t key) {
    return s->batch_kv * p->v_strides[0] + head_kv * p->v_strides[1] + (s->key0 + key) * p->v_strides[2];
}

int64_t attn_view_offset_of(const attn_view *view, int64_t b, int64_t head, int64_t row, int64_t key) {
    return b * view->strides[0] + head * view->strides[1] + row * view->strides[2] + key * view->strides[3];
}
