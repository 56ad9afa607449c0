/* SPDX-License-Identifier: Apache-2.0 */
#include "data.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ------------------------------------------------------------------------------------------------------------ types */

/* Exact for 0 and for numbers of 8 significant bits from 2^-14 on, which is what fill() makes. */
static uint16_t narrow(float value, attn_type type) {
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (type == ATTN_BF16) return (uint16_t)(bits >> 16);
    return (uint16_t)(magnitude == 0 ? sign : sign | ((magnitude >> 13) - ((127 - 15) << 10)));
}

static float widen_f16(uint16_t half) {
    int exponent = half >> 10 & 31;
    float fraction = (float)(half & 1023);
    float magnitude = exponent == 31  ? NAN /* infinity too: no result here has any use for it */
                      : exponent == 0 ? ldexpf(fraction, -24)
                                      : ldexpf(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static float widen(const void *values, int64_t i, attn_type type) {
    if (type == ATTN_F32) return ((const float *)values)[i];
    uint16_t bits = ((const uint16_t *)values)[i];
    return type == ATTN_F16 ? widen_f16(bits) : float_of((uint32_t)bits << 16);
}

/* ----------------------------------------------------------------------------------------------------------- making */

/* Multiples of 1 / 128 between -2 and 2, by a linear congruential generator (Knuth's MMIX). */
static void fill(float *values, int64_t count, uint64_t seed) {
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = (float)((int)((seed >> 33) % 511) - 255) / 128;
    }
}

static int save(const char *path, const void *values, size_t size, int64_t count) {
    FILE *file = fopen(path, "wb");
    int failed = file == NULL || fwrite(values, size, (size_t)count, file) != (size_t)count;
    if (file != NULL && fclose(file) != 0) failed = 1;
    if (failed) perror(path);
    return failed ? -1 : 0;
}

static int save_as(const data *d, char which, attn_type type, const float *values, int64_t count) {
    char path[512];
    data_file(d, which, type, path, sizeof path);
    if (type == ATTN_F32) return save(path, values, sizeof *values, count);
    uint16_t *narrowed = malloc((size_t)count * sizeof *narrowed);
    if (narrowed == NULL) return -1;
    for (int64_t i = 0; i < count; i++) narrowed[i] = narrow(values[i], type);
    int status = save(path, narrowed, sizeof *narrowed, count);
    free(narrowed);
    return status;
}

static int save_all(const data *d, attn_type type) {
    if (save_as(d, 'q', type, d->q, d->q_count) != 0) return -1;
    if (save_as(d, 'k', type, d->k, d->kv_count) != 0) return -1;
    return save_as(d, 'v', type, d->v, d->kv_count);
}

static int compute(data *d, const shape *s) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.heads_q = s->heads_q;
    problem.heads_kv = s->heads_kv;
    problem.seq_q = s->rows;
    problem.seq_kv = s->keys;
    problem.dim = s->dim;
    problem.window_right = s->causal ? ATTN_CAUSAL : ATTN_UNBOUNDED;
    attn_tensors tensors = ATTN_TENSORS_INIT;
    tensors.q = d->q;
    tensors.k = d->k;
    tensors.v = d->v;
    tensors.o = d->o;
    attn_reason reason;
    if (attn_sdpa(&problem, &tensors, &reason) == ATTN_OK) return 0;
    fprintf(stderr, "bench: %s\n", reason.text);
    return -1;
}

int data_make(data *d, const char *folder, const shape *s, unsigned types) {
    *d = (data){.folder = folder};
    d->q_count = s->heads_q * s->rows * s->dim;
    d->kv_count = s->heads_kv * s->keys * s->dim;
    d->q = malloc((size_t)d->q_count * sizeof *d->q);
    d->k = malloc((size_t)d->kv_count * sizeof *d->k);
    d->v = malloc((size_t)d->kv_count * sizeof *d->v);
    d->o = malloc((size_t)d->q_count * sizeof *d->o);
    if (d->q == NULL || d->k == NULL || d->v == NULL || d->o == NULL) return fputs("bench: no memory\n", stderr), -1;
    fill(d->q, d->q_count, 1);
    fill(d->k, d->kv_count, 2);
    fill(d->v, d->kv_count, 3);
    for (attn_type type = ATTN_F32; type <= ATTN_BF16; type++) {
        if ((types >> type & 1) && save_all(d, type) != 0) return -1;
    }
    return compute(d, s);
}

void data_free(data *d) {
    free(d->q);
    free(d->k);
    free(d->v);
    free(d->o);
    for (attn_type type = ATTN_F32; type <= ATTN_BF16; type++) {
        for (const char *which = "qkvo"; *which != '\0'; which++) {
            char path[512];
            data_file(d, *which, type, path, sizeof path);
            remove(path);
        }
    }
    *d = (data){0};
}

void data_file(const data *d, char which, attn_type type, char *path, size_t size) {
    snprintf(path, size, "%s/%c.%s", d->folder, which, attn_type_name(type));
}

/* -------------------------------------------------------------------------------------------------------- comparing */

static double largest_difference(const data *d, const shape *s, attn_type type, const void *o, int64_t every) {
    double difference = 0, value = 0;
    for (int64_t i = 0; i < d->q_count; i++) {
        int64_t row = i / s->dim % s->rows;
        if (row % every != every / 2) continue;
        double off = fabs((double)widen(o, i, type) - (double)d->o[i]);
        if (isnan(off)) return INFINITY;
        difference = fmax(difference, off);
        value = fmax(value, fabs((double)d->o[i]));
    }
    return difference / value;
}

double data_compare(const data *d, const shape *s, attn_type type, const char *path, int64_t every) {
    size_t size = attn_type_size(type);
    void *o = malloc((size_t)d->q_count * size);
    FILE *file = fopen(path, "rb");
    double error = INFINITY;
    if (o != NULL && file != NULL && fread(o, size, (size_t)d->q_count, file) == (size_t)d->q_count) {
        error = largest_difference(d, s, type, o, every);
    }
    if (file != NULL) fclose(file);
    free(o);
    return error;
}
