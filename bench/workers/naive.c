/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor: attention as the formula says it, compiled with optimization but for any processor of the kind. Of the
 * rows, one in 16 is computed and the time multiplied, since all rows take as long on average.
 */
#include "worker_main.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_EVERY = 16 };

static float *weights; /* of one row */

static void hello(about *a) {
    snprintf(a->version, sizeof a->version, "three loops in C");
}

static void prepare(const problem *p, about *a) {
    weights = malloc((size_t)p->keys * sizeof *weights);
    if (weights == NULL) snprintf(a->skip, sizeof a->skip, "no memory");
    a->rows_every = p->rows >= ROWS_EVERY ? ROWS_EVERY : 1;
}

static void attend(const float *q, const float *k, const float *v, float *o, int64_t keys, int64_t dim) {
    const float scale = 1 / sqrtf((float)dim);
    float most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; j++) {
        float dot = 0;
        for (int64_t c = 0; c < dim; c++) dot += q[c] * k[j * dim + c];
        weights[j] = scale * dot;
        most = fmaxf(most, weights[j]);
    }
    for (int64_t j = 0; j < keys; j++) sum += weights[j] = expf(weights[j] - most);
    for (int64_t c = 0; c < dim; c++) o[c] = 0;
    for (int64_t j = 0; j < keys; j++) {
        for (int64_t c = 0; c < dim; c++) o[c] += weights[j] / sum * v[j * dim + c];
    }
}

static void run(const problem *p, int copy) {
    const float *q = p->q, *k = p->k[copy], *v = p->v[copy];
    const int64_t every = p->rows >= ROWS_EVERY ? ROWS_EVERY : 1;
    float *o = p->o;
    for (int64_t h = 0; h < p->heads_q; h++) {
        const int64_t keys_at = h / (p->heads_q / p->heads_kv) * p->keys * p->dim;
        for (int64_t i = every / 2; i < p->rows; i += every) {
            const int64_t row_at = (h * p->rows + i) * p->dim;
            attend(q + row_at, k + keys_at, v + keys_at, o + row_at, p->causal ? i + 1 : p->keys, p->dim);
        }
    }
}

int main(void) {
    return worker_main(&(worker_calls){hello, prepare, run});
}
