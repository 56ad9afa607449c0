/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention by matrix products, as a program with a good BLAS does it: for each block of 128 rows, the scores of all
 * keys (of those up to its last row if causal), a softmax, and the product with v. The query heads of a group are the
 * rows of one matrix. Threads share the blocks, each product on one: at these sizes that is faster than one product on
 * all (with two threads by a factor of 1.9 on A, 1.1 on B, 1.3 on 32 rows, 1.1 on decode-4k).
 *
 * Compiled for this processor and with -ffast-math, so that the loops of the softmax become vectors.
 */
#define _GNU_SOURCE
#include "worker_main.h"
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_ROWS = 128 };

static float **scores; /* one block for each thread */

/* out[rows, columns] = scale * a[rows, inner] b, where b is [inner, columns], or [columns, inner] if transposed. */
static void multiply(float *out, const float *a, const float *b, int transposed, int64_t rows, int64_t columns,
                     int64_t inner, float scale) {
    const int m = (int)rows, n = (int)columns, i = (int)inner;
    if (rows == 1 && transposed) {
        cblas_sgemv(CblasRowMajor, CblasNoTrans, n, i, scale, b, i, a, 1, 0, out, 1);
    } else if (rows == 1) {
        cblas_sgemv(CblasRowMajor, CblasTrans, i, n, scale, b, n, a, 1, 0, out, 1);
    } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, m, n, i, scale, a, i, b,
                    transposed ? i : n, 0, out, n);
    }
}

/* ---------------------------------------------------------------------------------------------------------- kernels */

/*
 * An OpenBLAS that is older than the processor takes kernels for an ancient one, so the fastest of some is asked for:
 * in a process each, since the choice is made when the library is loaded, and since some may not run here at all.
 */
static const char *const cores[] = {
    "", /* its own choice */
#if defined(__x86_64__)
    "SkylakeX",
    "Haswell",
#endif
};

/* Prints the speed of a product as attend() makes it, and the name of its kernels. */
static int print_speed(void) {
    enum { KEYS = 1024, DIM = 64, ROUNDS = 200 };
    openblas_set_num_threads(1);
    static float q[BLOCK_ROWS * DIM], k[KEYS * DIM], s[BLOCK_ROWS * KEYS];
    double best = 1e9;
    for (int i = 0; i < BLOCK_ROWS * DIM; i++) q[i] = 1;
    for (int i = 0; i < KEYS * DIM; i++) k[i] = 1;
    for (int i = 0; i < ROUNDS; i++) {
        double start = omp_get_wtime();
        multiply(s, q, k, 1, BLOCK_ROWS, KEYS, DIM, 1);
        double elapsed = omp_get_wtime() - start;
        best = elapsed < best ? elapsed : best;
    }
    return printf("%.9g %s\n", s[0] == DIM ? 1 / best : 0, openblas_get_corename()) < 0;
}

static double speed_of(const char *core, char name[32]) {
    char program[400] = "", command[512];
    double speed = 0;
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return 0;
    snprintf(command, sizeof command, "env %s%s '%s' speed",
             core[0] == '\0' ? "-u OPENBLAS_CORETYPE" : "OPENBLAS_CORETYPE=", core, program);
    FILE *output = popen(command, "r");
    if (output == NULL || fscanf(output, "%lf %31s", &speed, name) != 2) speed = 0;
    if (output != NULL) pclose(output);
    return speed;
}

static void hello(about *a) {
    char best_name[32] = "?", name[32];
    double best = 0;
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++) {
        double speed = speed_of(cores[i], name);
        if (speed <= 1.05 * best) continue; /* no other than its own choice without a reason */
        best = speed;
        memcpy(best_name, name, sizeof name);
        if (i > 0) snprintf(a->environment, sizeof a->environment, "OPENBLAS_CORETYPE=%s", cores[i]);
    }
    /* "OpenBLAS 0.3.21 ...", where the rest is how it was built */
    char number[32] = "";
    if (sscanf(openblas_get_config(), "%*s %31s", number) != 1) snprintf(number, sizeof number, "of unknown version");
    snprintf(a->version, sizeof a->version, "%s, kernels for %s", number, best_name);
}

/* -------------------------------------------------------------------------------------------------------- attention */

static int64_t group_rows(const problem *p) {
    return p->heads_q / p->heads_kv * p->rows;
}

static void prepare(const problem *p, about *a) {
    if (p->causal && (p->heads_q != p->heads_kv || p->rows != p->keys)) {
        snprintf(a->skip, sizeof a->skip, "causal, only with as many rows as keys and no groups");
        return;
    }
    const int64_t rows = group_rows(p) < BLOCK_ROWS ? group_rows(p) : BLOCK_ROWS;
    scores = calloc((size_t)p->threads, sizeof *scores);
    for (int i = 0; i < p->threads; i++) scores[i] = malloc((size_t)(rows * p->keys) * sizeof **scores);
    openblas_set_num_threads(1);
    snprintf(a->variant, sizeof a->variant, "blocks of %d rows", (int)rows);
}

/* exp(x) for x <= 0, to 3e-6 of itself: 2^r by the exponent's bits, 2^f by a polynomial. The compiler makes vectors of it,
 * and it takes four fifths of the time of the C library's vectorised expf. */
static inline float exp_negative(float x) {
    const float y = 1.442695041f * x, r = rintf(y), f = y - r;
    float power = 1.33335581e-3f;
    power = power * f + 9.61812911e-3f;
    power = power * f + 5.55041087e-2f;
    power = power * f + 2.40226507e-1f;
    power = power * f + 6.93147181e-1f;
    power = power * f + 1.0f;
    int32_t exponent = (int32_t)r < -126 ? -126 : (int32_t)r, bits = (exponent + 127) * (1 << 23);
    float whole;
    memcpy(&whole, &bits, sizeof whole);
    return whole * power;
}

/* exp(s - max) of the first `seen`, 0 of the rest. Returns 1 / sum. */
static float softmax(float *s, int64_t seen, int64_t count) {
    float most = s[0], sum = 0;
    for (int64_t j = 1; j < seen; j++) most = s[j] > most ? s[j] : most;
    for (int64_t j = 0; j < seen; j++) {
        s[j] = exp_negative(s[j] - most);
        sum += s[j];
    }
    for (int64_t j = seen; j < count; j++) s[j] = 0;
    return 1 / sum;
}

static void attend(const problem *p, const float *k, const float *v, int64_t head, int64_t row, float *s) {
    const int64_t left = group_rows(p) - row, rows = left < BLOCK_ROWS ? left : BLOCK_ROWS, dim = p->dim;
    const int64_t keys = p->causal ? row + rows : p->keys;
    const float *q = (const float *)p->q + (head * group_rows(p) + row) * dim;
    float *o = (float *)p->o + (head * group_rows(p) + row) * dim;
    multiply(s, q, k + head * p->keys * dim, 1, rows, keys, dim, 1 / sqrtf((float)dim));
    float inverse[BLOCK_ROWS];
    for (int64_t i = 0; i < rows; i++) inverse[i] = softmax(s + i * keys, p->causal ? row + i + 1 : keys, keys);
    multiply(o, s, v + head * p->keys * dim, 0, rows, dim, keys, 1);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t c = 0; c < dim; c++) o[i * dim + c] *= inverse[i];
    }
}

/* From the last block on: of a causal problem it is the longest. */
static void run(const problem *p, int copy) {
    const int64_t blocks = (group_rows(p) + BLOCK_ROWS - 1) / BLOCK_ROWS, items = blocks * p->heads_kv;
#pragma omp parallel for schedule(dynamic) num_threads(p->threads)
    for (int64_t item = 0; item < items; item++) {
        const int64_t block = blocks - 1 - item / p->heads_kv, head = item % p->heads_kv;
        attend(p, p->k[copy], p->v[copy], head, block * BLOCK_ROWS, scores[omp_get_thread_num()]);
    }
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) return print_speed();
    return worker_main(&(worker_calls){hello, prepare, run});
}
