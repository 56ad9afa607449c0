/* SPDX-License-Identifier: Apache-2.0 */
#include "naive.h"

#include "philox.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What the rows of one head share, gathered from wherever the strides had it. */
typedef struct head_data {
    const test_case *source;
    int64_t b, h;
    float *keys;   /* [kv_len][dim] */
    float *values; /* [kv_len][dim_v] */
    float *query;  /* [dim] */
    float *scores; /* [kv_len] */
    char *seen;    /* [kv_len] */
} head_data;

static void *take(int64_t count, size_t size) {
    void *memory = calloc((size_t)count + 1, size);
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return memory;
}

static head_data gather_head(const test_case *source, int64_t b, int64_t h) {
    const attn_problem *problem = &source->problem;
    const test_sequence *s = &source->sequences[b];
    int64_t h_kv = h / (problem->heads_q / problem->heads_kv);
    head_data head = {source, b, h, NULL, NULL, NULL, NULL, NULL};
    head.keys = take(s->kv_len * problem->dim, sizeof *head.keys);
    head.values = take(s->kv_len * problem->dim_v, sizeof *head.values);
    head.query = take(problem->dim, sizeof *head.query);
    head.scores = take(s->kv_len, sizeof *head.scores);
    head.seen = take(s->kv_len, sizeof *head.seen);
    for (int64_t j = 0; j < s->kv_len; j++) {
        for (int64_t d = 0; d < problem->dim; d++) {
            head.keys[j * problem->dim + d] = (float)test_tensor_get(&source->k, s->batch_kv, h_kv, s->key0 + j, d);
        }
        for (int64_t d = 0; d < problem->dim_v; d++) {
            head.values[j * problem->dim_v + d] = (float)test_tensor_get(&source->v, s->batch_kv, h_kv, s->key0 + j, d);
        }
    }
    return head;
}

static void free_head(head_data *head) {
    free(head->keys);
    free(head->values);
    free(head->query);
    free(head->scores);
    free(head->seen);
}

static float score_of(const head_data *head, int64_t i, int64_t j) {
    const attn_problem *problem = &head->source->problem;
    const test_sequence *s = &head->source->sequences[head->b];
    const float *key = head->keys + j * problem->dim;
    float score = 0.0F;
    for (int64_t d = 0; d < problem->dim; d++) score += head->query[d] * key[d];
    score *= (float)problem->scale;
    if (problem->softcap > 0) score = (float)problem->softcap * tanhf(score / (float)problem->softcap);
    if (head->source->bias.data) score += (float)test_bias_at(head->source, head->b, head->h, i, j);
    if (head->source->slopes) score -= head->source->slopes[head->h] * (float)llabs(i + s->q_offset - j);
    return score;
}

static int is_kept(const head_data *head, int64_t i, int64_t j) {
    const attn_problem *problem = &head->source->problem;
    const attn_tensors *tensors = &head->source->tensors;
    if (!(problem->dropout_p > 0)) return 1;
    return test_dropout_keeps(problem->dropout_p, tensors->dropout_seed, tensors->dropout_offset, head->b,
                              problem->heads_q, head->h, i, j);
}

/* Scores of one row, and their maximum: -inf if the row sees nothing. */
static float score_row(head_data *head, int64_t i) {
    const test_sequence *s = &head->source->sequences[head->b];
    float max = head->source->sinks ? head->source->sinks[head->h] : -INFINITY;
    for (int64_t d = 0; d < head->source->problem.dim; d++) {
        head->query[d] = (float)test_tensor_get(&head->source->q, s->batch_q, head->h, s->row0 + i, d);
    }
    for (int64_t j = 0; j < s->kv_len; j++) {
        head->seen[j] = (char)test_may_see(head->source, head->b, head->h, i, j);
        if (!head->seen[j]) continue;
        head->scores[j] = score_of(head, i, j);
        if (head->scores[j] > max) max = head->scores[j];
    }
    return max;
}

static void write_row(head_data *head, int64_t i, test_output *output) {
    const attn_problem *problem = &head->source->problem;
    const test_sequence *s = &head->source->sequences[head->b];
    float max = score_row(head, i);
    float sum = head->source->sinks && max > -INFINITY ? expf(head->source->sinks[head->h] - max) : 0.0F;
    for (int64_t j = 0; j < s->kv_len; j++) {
        if (head->seen[j]) sum += head->scores[j] = expf(head->scores[j] - max);
    }
    for (int64_t d = 0; d < problem->dim_v; d++) {
        float total = 0.0F;
        for (int64_t j = 0; j < s->kv_len; j++) {
            if (head->seen[j] && is_kept(head, i, j)) total += head->scores[j] * head->values[j * problem->dim_v + d];
        }
        float value = sum > 0.0F ? total / sum / (1.0F - (float)problem->dropout_p) : 0.0F;
        test_tensor_set(&output->o, s->batch_q, head->h, s->row0 + i, d, (double)value);
    }
    if (output->lse.data) {
        float lse = sum > 0.0F ? max + logf(sum) : -INFINITY;
        test_tensor_set(&output->lse, s->batch_q, head->h, s->row0 + i, 0, (double)lse);
    }
}

/* Rows that no sequence uses stay like this. */
static void clear_output(test_output *output) {
    for (int64_t b = 0; b < output->o.shape[0]; b++) {
        for (int64_t h = 0; h < output->o.shape[1]; h++) {
            for (int64_t row = 0; row < output->o.shape[2]; row++) {
                for (int64_t d = 0; d < output->o.shape[3]; d++) test_tensor_set(&output->o, b, h, row, d, 0.0);
                if (output->lse.data) test_tensor_set(&output->lse, b, h, row, 0, -(double)INFINITY);
            }
        }
    }
}

void test_naive(const test_case *source, test_output *output) {
    clear_output(output);
    for (int64_t b = 0; b < source->problem.batch; b++) {
        for (int64_t h = 0; h < source->problem.heads_q; h++) {
            head_data head = gather_head(source, b, h);
            for (int64_t i = 0; i < source->sequences[b].q_len; i++) write_row(&head, i, output);
            free_head(&head);
        }
    }
}
