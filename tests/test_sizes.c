/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes at which a 32-bit index wraps or a launch limit ends: strides beyond 2^31 and 2^32 elements, more than 65,536
 * heads, batches or rows. The strided tensors lie in address space that is reserved, not filled: a few pages of it are
 * touched.
 */
#define _GNU_SOURCE
#include "support/cmocka_all.h"
#include "support/effort.h"
#include "support/engine.h"
#include "support/sanitizer.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* NULL where the system does not give that much address space. */
static void *reserve(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---------------------------------------------------------------------------------------------------- large strides */

/* The dimension of each tensor that has the large stride. */
typedef enum far_dimension { FAR_BATCH, FAR_HEAD, FAR_ROW, FAR_COLUMN, FAR_DIMENSIONS } far_dimension;

enum { FAR_BATCHES = 2, FAR_HEADS = 2, FAR_ROWS = 2, FAR_DIM = 2 };
#define FAR_STRIDE INT64_C(3000000000)

/* One tensor of shape [2, 2, 2, 2] with a stride of three billion elements somewhere. */
static test_tensor far_tensor(attn_type type, far_dimension dimension, int sign, void **memory) {
    test_tensor tensor = {type, {FAR_BATCHES, FAR_HEADS, FAR_ROWS, FAR_DIM}, {0, 0, 0, 0}, NULL, {NULL, 0, NULL, 0}};
    int64_t stride = 1, size = (int64_t)attn_type_size(type);
    for (int n = 3; n >= 0; n--) {
        tensor.strides[n] = n == (int)dimension ? sign * FAR_STRIDE : stride;
        if (n != (int)dimension) stride *= 2;
    }
    *memory = reserve((size_t)((FAR_STRIDE + 16) * size));
    if (*memory) tensor.data = (char *)*memory + (sign < 0 ? FAR_STRIDE * size : 0);
    return tensor;
}

static int far_case_runs(attn_engine *engine, const test_case *near, const test_output *expected,
                         far_dimension dimension, int sign) {
    attn_problem problem = near->problem;
    attn_tensors tensors = near->tensors;
    attn_reason reason = {"stale"};
    void *memory[4];
    size_t bytes = (size_t)((FAR_STRIDE + 16) * (int64_t)attn_type_size(problem.type));
    test_output output;
    test_tensor q = far_tensor(problem.type, dimension, sign, &memory[0]),
                k = far_tensor(problem.type, dimension, sign, &memory[1]);
    test_tensor v = far_tensor(problem.type, dimension, sign, &memory[2]);
    memset(&output, 0, sizeof output);
    output.o = far_tensor(problem.type, dimension, sign, &memory[3]);
    int runs = memory[0] && memory[1] && memory[2] && memory[3];
    if (runs) {
        test_tensor_copy(&q, &near->q);
        test_tensor_copy(&k, &near->k);
        test_tensor_copy(&v, &near->v);
        memcpy(problem.q_strides, q.strides, sizeof q.strides);
        memcpy(problem.k_strides, k.strides, sizeof k.strides);
        memcpy(problem.v_strides, v.strides, sizeof v.strides);
        memcpy(problem.o_strides, output.o.strides, sizeof q.strides);
        tensors.q = q.data;
        tensors.k = k.data;
        tensors.v = v.data;
        tensors.o = output.o.data;
        test_assert_ok(attn_supports(engine, &problem, &reason), &reason);
        attn_plan *plan = NULL;
        test_assert_ok(attn_plan_create(engine, &problem, 0, &plan, &reason), &reason);
        test_assert_ok(attn_run(plan, &tensors, &reason), &reason);
        attn_plan_destroy(plan);
        assert_true(test_output_same_bits(&output, expected));
    }
    for (int n = 0; n < 4; n++) {
        if (memory[n]) munmap(memory[n], bytes);
    }
    return runs;
}

static void strides_of_three_billion_elements(void **state) {
    int ran = 0;
    (void)state;
    if (sizeof(void *) < 8 || TEST_SANITIZED) skip(); /* no such address space */
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 2);
        for (int dimension = 0; dimension < FAR_DIMENSIONS; dimension++) {
            attn_problem problem = ATTN_PROBLEM_INIT;
            problem.type = dimension % 2 ? ATTN_F32 : ATTN_BF16;
            problem.batch = FAR_BATCHES;
            problem.heads_q = FAR_HEADS;
            problem.seq_q = problem.seq_kv = FAR_ROWS;
            problem.dim = FAR_DIM;
            test_recipe recipe = test_recipe_plain(&problem, 90);
            test_case *near = test_case_make(&recipe);
            test_output expected = test_run_case(engine, near);
            for (int sign = -1; sign <= 1; sign += 2) {
                ran += far_case_runs(engine, near, &expected, (far_dimension)dimension, sign);
            }
            test_output_free(&expected);
            test_case_free(near);
        }
        attn_engine_close(engine);
    }
    if (ran == 0) skip();
}

/* lse, bias and mask as far apart. */
static void far_lse_bias_and_mask(void **state) {
    const size_t bytes = (size_t)(FAR_STRIDE + 16) * sizeof(float);
    (void)state;
    if (sizeof(void *) < 8 || TEST_SANITIZED) skip();
    float *lse = reserve(bytes), *bias = reserve(bytes);
    unsigned char *mask = reserve(bytes);
    if (!lse || !bias || !mask) skip();
    attn_problem problem = ATTN_PROBLEM_INIT;
    attn_tensors tensors = ATTN_TENSORS_INIT;
    attn_reason reason = {"stale"};
    float q[2] = {0}, k[2] = {0}, v[2] = {1.0F, 3.0F}, o[2];
    problem.seq_q = problem.seq_kv = 2;
    problem.dim = 1;
    problem.with = ATTN_WITH_LSE;
    problem.lse_strides[0] = problem.lse_strides[1] = 1;
    problem.lse_strides[2] = FAR_STRIDE;
    problem.bias = (attn_view){ATTN_F32, {1, 1, 2, 2}, {0, 0, FAR_STRIDE, 1}};
    problem.mask = (attn_view){ATTN_BOOL, {1, 1, 2, 2}, {0, 0, FAR_STRIDE, 1}};
    bias[0] = 2.0F;
    bias[1] = 2.0F;
    bias[FAR_STRIDE] = -1.0F;
    mask[0] = mask[1] = mask[FAR_STRIDE] = 1; /* the second row sees the first key alone */
    tensors = (attn_tensors){.struct_size = sizeof tensors, .q = q, .k = k, .v = v, .o = o};
    tensors.lse = lse;
    tensors.bias = bias;
    tensors.mask = mask;
    test_assert_ok(attn_sdpa(&problem, &tensors, &reason), &reason);
    assert_true(fabsf(o[0] - 2.0F) < 1e-6F && fabsf(o[1] - 1.0F) < 1e-6F);
    assert_true(fabsf(lse[0] - (2.0F + logf(2.0F))) < 1e-6F && fabsf(lse[FAR_STRIDE] + 1.0F) < 1e-6F);
    munmap(lse, bytes);
    munmap(bias, bytes);
    munmap(mask, bytes);
}

/* ----------------------------------------------------------------------------------------------------- large counts */

/* Two keys of which the row sees both, D = 1: o and lse by hand. */
static void check_counts(attn_engine *engine, int64_t batch, int64_t heads, int64_t rows) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.batch = batch;
    problem.heads_q = heads;
    problem.heads_kv = heads > 1 ? heads / 2 : 1;
    problem.seq_q = rows;
    problem.seq_kv = 2;
    problem.dim = 1;
    problem.with = ATTN_WITH_LSE;
    test_recipe recipe = test_recipe_plain(&problem, 91);
    test_case *source = test_case_make(&recipe);
    test_output output = test_run_case(engine, source);
    const float *q = source->q.data, *k = source->k.data, *v = source->v.data, *o = output.o.data,
                *lse = output.lse.data;
    for (int64_t row = 0; row < batch * heads * rows; row++) {
        int64_t head = row / rows, pair = heads > 1 ? head / 2 * 2 : head * 2;
        double a = (double)q[row] * (double)k[pair], b = (double)q[row] * (double)k[pair + 1];
        double weight = 1.0 / (1.0 + exp(b - a)),
               exact = weight * (double)v[pair] + (1.0 - weight) * (double)v[pair + 1];
        if (!(fabs((double)o[row] - exact) < 1e-5)) fail_msg("row %d of %d", (int)row, (int)(batch * heads * rows));
        assert_true(fabs((double)lse[row] - (fmax(a, b) + log1p(exp(-fabs(a - b))))) <
                    1e-5 * (1.0 + fabs(a) + fabs(b)));
    }
    test_output_free(&output);
    test_case_free(source);
}

static void more_than_65536_heads_batches_and_rows(void **state) {
    (void)state;
    for (uint32_t cpu = test_next_cpu(0); cpu; cpu = test_next_cpu(cpu)) {
        if (test_is_short() && test_next_cpu(cpu)) continue;
        attn_engine *engine = test_engine_open(ATTN_ENGINE_CPU, cpu, 2);
        check_counts(engine, 70001, 1, 1);
        check_counts(engine, 1, 70002, 1);
        check_counts(engine, 300, 302, 1);
        check_counts(engine, 1, 1, 196608);
        attn_engine_close(engine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_of_three_billion_elements),
        cmocka_unit_test(far_lse_bias_and_mask),
        cmocka_unit_test(more_than_65536_heads_batches_and_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
