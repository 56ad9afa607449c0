/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include "element.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* L of compare.h. */
#define TAIL 2.0

attn_status test_run(attn_engine *engine, const attn_problem *problem, const attn_tensors *tensors,
                     attn_reason *reason) {
    attn_plan *plan = NULL;
    attn_status status = attn_plan_create(engine, problem, 0, &plan, reason);
    if (status == ATTN_OK) status = attn_run(plan, tensors, reason);
    attn_plan_destroy(plan);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- growth */

static double norm_of(const test_tensor *tensor, int64_t b, int64_t h, int64_t row) {
    double sum = 0;
    for (int64_t d = 0; d < tensor->shape[3]; d++) {
        double value = test_tensor_get(tensor, b, h, row, d);
        if (isfinite(value)) sum += value * value;
    }
    return sqrt(sum);
}

static double largest_norm(const test_tensor *tensor, const test_sequence *s, int64_t h) {
    double largest = 0;
    for (int64_t j = 0; j < s->kv_len; j++) {
        double norm = norm_of(tensor, s->batch_kv, h, s->key0 + j);
        /* Garbage is there only where it is not used. */
        if (norm < 1e30) largest = fmax(largest, norm);
    }
    return largest;
}

static double largest_value(const test_tensor *tensor, const test_sequence *s, int64_t h) {
    double largest = 0;
    for (int64_t j = 0; j < s->kv_len; j++) {
        for (int64_t d = 0; d < tensor->shape[3]; d++) {
            double value = fabs(test_tensor_get(tensor, s->batch_kv, h, s->key0 + j, d));
            if (value < 1e30) largest = fmax(largest, value);
        }
    }
    return largest;
}

static double largest_bias(const test_case *wide) {
    double largest = 0;
    int64_t count = wide->bias.data ? test_tensor_count(&wide->bias) : 0;
    for (int64_t n = 0; n < count; n++) {
        double value = fabs(test_load(ATTN_F64, wide->bias.data, n));
        if (value < 1e30) largest = fmax(largest, value);
    }
    return largest;
}

/* What every row of one head has in common. */
static double head_logit_size(const test_case *wide, const test_sequence *s, int64_t h, double bias) {
    double size = bias;
    if (wide->slopes) {
        double first = fabs((double)s->q_offset - (double)s->kv_len),
               last = fabs((double)s->q_offset + (double)s->q_len);
        size += fabs((double)wide->slopes[h]) * fmax(first, last);
    }
    if (wide->sinks && isfinite(wide->sinks[h])) size += fabs((double)wide->sinks[h]);
    return size;
}

static void set_growth_of_head(test_expected *expected, int64_t b, int64_t h, double bias) {
    const test_case *wide = expected->wide;
    const attn_problem *problem = &wide->problem;
    const test_sequence *s = &wide->sequences[b];
    int64_t h_kv = h / (problem->heads_q / problem->heads_kv);
    double key = largest_norm(&wide->k, s, h_kv), value = largest_value(&wide->v, s, h_kv);
    double shared = head_logit_size(wide, s, h, bias);
    for (int64_t i = 0; i < s->q_len; i++) {
        int64_t at = (s->batch_q * problem->heads_q + h) * problem->seq_q + s->row0 + i;
        double logit = shared + fabs(problem->scale) * norm_of(&wide->q, s->batch_q, h, s->row0 + i) * key;
        double steps = sqrt((double)problem->dim) + 8.0;
        expected->growth[at] = steps * logit + 4.0 * problem->softcap + sqrt((double)s->kv_len) + 16.0;
        expected->value_size[at] = value / (1.0 - problem->dropout_p);
    }
}

static void set_growth(test_expected *expected) {
    const test_case *wide = expected->wide;
    const test_tensor *o = &expected->output.o;
    size_t rows = (size_t)(o->shape[0] * o->shape[1] * o->shape[2]) + 1;
    double bias = largest_bias(wide);
    expected->growth = calloc(rows, sizeof *expected->growth);
    expected->value_size = calloc(rows, sizeof *expected->value_size);
    if (!expected->growth || !expected->value_size) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    for (int64_t b = 0; b < wide->problem.batch; b++) {
        for (int64_t h = 0; h < wide->problem.heads_q; h++) set_growth_of_head(expected, b, h, bias);
    }
}

attn_status test_expected_make(const attn_engine *oracle, const test_case *source, test_expected *expected,
                               attn_reason *reason) {
    memset(expected, 0, sizeof *expected);
    expected->wide = test_case_convert(source, ATTN_F64);
    expected->wide->problem.with |= ATTN_WITH_LSE;
    expected->output = test_output_make(&expected->wide->problem);
    attn_tensors tensors = test_tensors_with(expected->wide, &expected->output);
    attn_status status = test_run((attn_engine *)oracle, &expected->wide->problem, &tensors, reason);
    if (status == ATTN_OK)
        set_growth(expected);
    else
        test_expected_free(expected);
    return status;
}

void test_expected_free(test_expected *expected) {
    test_output_free(&expected->output);
    test_case_free(expected->wide);
    free(expected->growth);
    free(expected->value_size);
    memset(expected, 0, sizeof *expected);
}

/* ------------------------------------------------------------------------------------------------------- comparison */

static double ratio_of(double got, double exact, double limit) {
    if (got == exact) return 0.0;
    double error = fabs(got - exact);
    if (!isfinite(error)) return (double)INFINITY;
    return limit > 0 ? error / limit : (double)INFINITY;
}

static void keep_worst(test_worst *worst, const test_worst *element) {
    if (element->ratio > worst->ratio) *worst = *element;
}

static void compare_row(const test_expected *expected, const test_output *got, double u, const int64_t at[3],
                        test_worst *worst) {
    const test_tensor *o = &expected->output.o;
    int64_t row = (at[0] * o->shape[1] + at[1]) * o->shape[2] + at[2];
    double relative = TAIL * u * expected->growth[row];
    double out = test_unit_roundoff(got->o.type), floor_of_out = test_underflow(got->o.type);
    for (int64_t d = 0; d < o->shape[3]; d++) {
        double exact = test_tensor_get(o, at[0], at[1], at[2], d),
               value = test_tensor_get(&got->o, at[0], at[1], at[2], d);
        /* Only a row without keys, or one that lost them all to dropout, is exactly 0: no rounding enters it. */
        double limit = exact == 0 ? 0 : relative * expected->value_size[row] + out * fabs(exact) + floor_of_out;
        test_worst element = {ratio_of(value, exact, limit), at[0], at[1], at[2], d, value, exact, limit};
        keep_worst(worst, &element);
    }
    if (got->lse.data) {
        double exact = test_tensor_get(&expected->output.lse, at[0], at[1], at[2], 0);
        double value = test_tensor_get(&got->lse, at[0], at[1], at[2], 0);
        double limit = relative + 0x1p-23 * fabs(exact);
        test_worst element = {ratio_of(value, exact, limit), at[0], at[1], at[2], -1, value, exact, limit};
        keep_worst(worst, &element);
    }
}

test_worst test_compare(const test_expected *expected, const test_output *got, attn_type arithmetic) {
    const test_tensor *o = &expected->output.o;
    /* The oracle has double's errors as well. */
    double u = arithmetic == ATTN_F64 ? 2.0 * test_unit_roundoff(ATTN_F64) : test_unit_roundoff(ATTN_F32);
    test_worst worst = {0.0, 0, 0, 0, 0, 0.0, 0.0, 0.0};
    for (int64_t b = 0; b < o->shape[0]; b++) {
        for (int64_t h = 0; h < o->shape[1]; h++) {
            for (int64_t row = 0; row < o->shape[2]; row++) {
                const int64_t at[3] = {b, h, row};
                compare_row(expected, got, u, at, &worst);
            }
        }
    }
    return worst;
}

void test_errors_add(const test_expected *expected, const test_output *got, test_errors *errors) {
    const test_tensor *o = &expected->output.o;
    int64_t rows = o->shape[0] * o->shape[1] * o->shape[2];
    for (int64_t row = 0; row < rows; row++) {
        int64_t i = row % o->shape[2], h = row / o->shape[2] % o->shape[1], b = row / o->shape[2] / o->shape[1];
        if (!(expected->value_size[row] > 0)) continue;
        for (int64_t d = 0; d < o->shape[3]; d++) {
            double error = fabs(test_tensor_get(&got->o, b, h, i, d) - test_tensor_get(o, b, h, i, d));
            error /= expected->value_size[row];
            errors->squares += error * error;
            errors->max = fmax(errors->max, error);
            errors->count++;
        }
    }
}

double test_errors_rms(const test_errors *errors) {
    return errors->count ? sqrt(errors->squares / (double)errors->count) : 0.0;
}
