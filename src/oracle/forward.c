/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For query row i of one head, at position p = i + q_offset, over the keys j that it may see:
 *
 *     s_j = softcap(scale * dot(q_i, k_j)) + bias_ij - slope * |p - j|
 *     m   = max s_j           l = sum exp(s_j - m)
 *     o_i = sum exp(s_j - m) v_j / l             lse_i = m + log(l)
 *
 * A row's scores are kept, so that memory grows with the number of keys and never with its square.
 */
#include <math.h>

#include "base/checked.h"
#include "base/half.h"
#include "base/philox.h"
#include "oracle/oracle.h"
#include "problem/problem.h"

/* Everything about one row that the steps below share. */
typedef struct oracle_row {
    const attn_problem *problem;
    const attn_tensors *tensors;
    const attn_sequence *sequence;
    const attn_dropout *dropout; /* NULL: none */
    int64_t b, head, head_kv, row;
    attn_span keys;
    double *q;      /* [dim] */
    double *kv;     /* [max(dim, dim_v)], one row of k or v */
    double *scores; /* [keys], from keys.begin on */
    double *o;      /* [dim_v] */
} oracle_row;

static int64_t larger_dim(const attn_problem *p) {
    return p->dim > p->dim_v ? p->dim : p->dim_v;
}

size_t attn_oracle_workspace(const attn_problem *p) {
    int64_t doubles;
    if (!attn_add_i64(p->seq_kv, p->dim + larger_dim(p) + p->dim_v, &doubles)) return 0;
    return (uint64_t)doubles > SIZE_MAX ? 0 : (size_t)doubles;
}

static int allowed(const oracle_row *r, int64_t key) {
    return attn_pair_allowed(r->problem, r->tensors, r->b, r->head, r->row, key);
}

static double dot_with_key(const oracle_row *r, int64_t key) {
    const attn_problem *p = r->problem;
    int64_t offset = attn_k_offset_of(p, r->sequence, r->head_kv, key);
    attn_load_row(p->kv_type, r->tensors->k, offset, p->k_strides[3], p->dim, r->kv);
    double dot = 0.0;
    for (int64_t d = 0; d < p->dim; d++) dot += r->q[d] * r->kv[d];
    return dot;
}

static double score(const oracle_row *r, int64_t key) {
    const attn_problem *p = r->problem;
    double s = p->scale * dot_with_key(r, key);
    if (p->softcap > 0.0) s = p->softcap * tanh(s / p->softcap);
    if (p->bias.type != ATTN_TYPE_DEFAULT) {
        int64_t offset = attn_view_offset_of(&p->bias, r->b, r->head, r->row, key);
        s += attn_load(p->bias.type, r->tensors->bias, offset);
    }
    if (p->with & ATTN_WITH_ALIBI) {
        double position = (double)r->row + (double)r->sequence->q_offset;
        s -= (double)r->tensors->alibi_slopes[r->head] * fabs(position - (double)key);
    }
    return s;
}

/* Fills in the scores of the keys that the row may see; returns how many there are, and their largest score. A NaN is
 * never the largest, but makes the sum of weights NaN. */
static int64_t score_keys(const oracle_row *r, double *largest) {
    int64_t count = 0;
    *largest = -INFINITY;
    for (int64_t key = r->keys.begin; key < r->keys.end; key++) {
        if (!allowed(r, key)) continue;
        double s = score(r, key);
        r->scores[key - r->keys.begin] = s;
        if (s > *largest) *largest = s;
        count++;
    }
    return count;
}

/* 1 / (1 - p) for a weight that dropout keeps, 0 for one that it drops. */
static double dropout_factor(const oracle_row *r, int64_t key) {
    if (!r->dropout) return 1.0;
    uint8_t keep[4];
    int64_t head_index = r->b * r->problem->heads_q + r->head;
    attn_dropout_keep(r->dropout, head_index, r->row, key / 4, keep);
    return keep[key % 4] ? r->dropout->keep_scale : 0.0;
}

/* o += weight * v_key */
static void add_value(const oracle_row *r, int64_t key, double weight) {
    const attn_problem *p = r->problem;
    int64_t offset = attn_v_offset_of(p, r->sequence, r->head_kv, key);
    attn_load_row(p->kv_type, r->tensors->v, offset, p->v_strides[3], p->dim_v, r->kv);
    for (int64_t d = 0; d < p->dim_v; d++) r->o[d] += weight * r->kv[d];
}

/* o = the sum of exp(s - m) v; returns the sum of exp(s - m), to which dropout does nothing. */
static double weigh_values(const oracle_row *r, double m) {
    double l = 0.0;
    for (int64_t d = 0; d < r->problem->dim_v; d++) r->o[d] = 0.0;
    for (int64_t key = r->keys.begin; key < r->keys.end; key++) {
        if (!allowed(r, key)) continue;
        double weight = exp(r->scores[key - r->keys.begin] - m);
        l += weight;
        add_value(r, key, weight * dropout_factor(r, key));
    }
    return l;
}

static void write_row(const oracle_row *r, double divisor, double lse) {
    const attn_problem *p = r->problem;
    int64_t offset = attn_o_offset_of(p, r->sequence, r->head, r->row);
    for (int64_t d = 0; d < p->dim_v; d++)
        attn_store(p->o_type, r->tensors->o, offset + d * p->o_strides[3], r->o[d] / divisor);
    if (p->with & ATTN_WITH_LSE) r->tensors->lse[attn_lse_offset_of(p, r->sequence, r->head, r->row)] = (float)lse;
}

static void write_empty_row(const oracle_row *r, double lse) {
    for (int64_t d = 0; d < r->problem->dim_v; d++) r->o[d] = 0.0;
    write_row(r, 1.0, lse);
}

static void forward_row(const oracle_row *r) {
    const attn_problem *p = r->problem;
    if (r->row >= r->sequence->q_len) {
        write_empty_row(r, -INFINITY);
        return;
    }
    int sink_joins = (p->with & ATTN_WITH_SINKS) != 0;
    double sink = sink_joins ? (double)r->tensors->sinks[r->head] : -INFINITY;
    int64_t q_offset = attn_q_offset_of(p, r->sequence, r->head, r->row);
    attn_load_row(p->type, r->tensors->q, q_offset, p->q_strides[3], p->dim, r->q);
    double m;
    if (score_keys(r, &m) == 0) {
        write_empty_row(r, sink);
        return;
    }
    if (sink > m) m = sink;
    double l = weigh_values(r, m);
    if (sink_joins) l += exp(sink - m);
    write_row(r, l, m + log(l));
}

/* All heads and rows of one sequence, those beyond its q_len included. */
static void forward_sequence(oracle_row *r) {
    const attn_problem *p = r->problem;
    int64_t group = p->heads_kv > 0 ? p->heads_q / p->heads_kv : 1;
    for (r->head = 0; r->head < p->heads_q; r->head++) {
        r->head_kv = r->head / group;
        for (r->row = 0; r->row < r->sequence->rows; r->row++) {
            r->keys = attn_keys_of_row(p, r->sequence, r->row);
            forward_row(r);
        }
    }
}

void attn_oracle_forward(const attn_problem *p, const attn_tensors *tensors, double *workspace) {
    attn_dropout dropout = attn_dropout_make(p->dropout_p, tensors->dropout_seed, tensors->dropout_offset);
    oracle_row r = {.problem = p, .tensors = tensors, .dropout = p->dropout_p > 0.0 ? &dropout : NULL};
    r.q = workspace;
    r.kv = r.q + p->dim;
    r.o = r.kv + larger_dim(p);
    r.scores = r.o + p->dim_v;
    for (r.b = 0; r.b < p->batch; r.b++) {
        attn_sequence sequence = attn_sequence_of(p, tensors, r.b);
        r.sequence = &sequence;
        forward_sequence(&r);
    }
    if (p->with & ATTN_WITH_CU_SEQLENS_Q) {
        int64_t used = attn_rows_in_sequences(p, tensors);
        attn_sequence unused = {.row0 = used, .rows = p->seq_q - used};
        r.sequence = &unused;
        forward_sequence(&r);
    }
}
