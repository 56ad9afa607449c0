/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of a run, and comparing them with what is expected. */
#include "case.h"
#include "case_slots.h"
#include "case_value.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------------------- outputs */

/* Allocates a tensor of a slot and fills it with NaN: all bits set is one in every float type. */
static case_status make_output(case_slot slot, case_layout layout, const attn_problem *problem, attn_type type,
                               case_tensor *tensor, case_error *error) {
    const case_dims dims = case_dims_of(slot, layout);
    int64_t count, bytes;
    case_tensor made = {.type = type, .rank = dims.rank};
    for (int n = 0; n < dims.rank; n++) {
        char letter = dims.letters[n];
        made.shape[n] = letter == 'B'   ? problem->batch
                        : letter == 'H' ? problem->heads_q
                        : letter == 'N' ? problem->seq_q
                                        : problem->dim_v;
    }
    if (!case_count(made.rank, made.shape, &count) || !case_multiply(count, (int64_t)attn_type_size(type), &bytes) ||
        (uint64_t)bytes > SIZE_MAX)
        return case_fail(error, CASE_ERROR_CONTENT, "the size of %s overflows", case_slot_name(slot));
    made.owned = malloc(bytes > 0 ? (size_t)bytes : 1);
    if (made.owned == NULL)
        return case_fail(error, CASE_ERROR_MEMORY, "no memory for %" PRId64 " bytes of %s", bytes,
                         case_slot_name(slot));
    memset(made.owned, 0xff, (size_t)bytes);
    made.data = made.owned;
    *tensor = made;
    return CASE_OK;
}

case_status case_outputs_make(const case_file *c, const attn_problem *problem, case_outputs *outputs,
                              case_error *error) {
    *outputs = (case_outputs){{0}, {0}};
    attn_type type = problem->o_type == ATTN_TYPE_DEFAULT ? problem->type : problem->o_type;
    case_status status = make_output(CASE_O, c->layout, problem, type, &outputs->o, error);
    if (status == CASE_OK && (problem->with & ATTN_WITH_LSE) != 0)
        status = make_output(CASE_LSE, c->layout, problem, ATTN_F32, &outputs->lse, error);
    if (status == CASE_OK) return case_succeed(error);
    case_outputs_free(outputs);
    return status;
}

void case_outputs_free(case_outputs *outputs) {
    case_tensor_free(&outputs->o);
    case_tensor_free(&outputs->lse);
}

attn_tensors case_tensors(const case_file *c, const case_outputs *outputs) {
    attn_tensors tensors = c->inputs;
    tensors.o = outputs->o.owned;
    tensors.lse = outputs->lse.owned;
    return tensors;
}

void case_expect(case_file *c, case_outputs *outputs) {
    for (int slot = CASE_O; slot < CASE_SLOTS; slot++) case_tensor_free(&c->tensors[slot]);
    c->tensors[CASE_O] = outputs->o;
    c->tensors[CASE_LSE] = outputs->lse;
    *outputs = (case_outputs){{0}, {0}};
    c->problem.with &= ~ATTN_WITH_LSE;
    if (c->tensors[CASE_LSE].type != ATTN_TYPE_DEFAULT) c->problem.with |= ATTN_WITH_LSE;
}

/* -------------------------------------------------------------------------------------------------------- tolerance */

typedef struct tolerance {
    double atol, rtol;
} tolerance;

/*
 * By type, for values of the size of 1. An output is a weighted mean, so its relative error is that of its last
 * rounding (half a unit: 6e-8 f32, 5e-4 f16, 4e-3 bf16, 1e-16 f64) and that of the weights. A weight's relative error
 * is its score's absolute one: a score of 100 that is known to 24 bits makes some 1e-5, and the limits of f32 leave
 * room for several times that. f16 and bf16 are accumulated in f32, so the limits are four or more roundings to the
 * type: of the result, and of weights that a kernel may round before it multiplies them with v. f64 has 29 bits more
 * than f32 to lose.
 */
static tolerance tolerance_of(attn_type type) {
    switch (type) {
    case ATTN_F16:
        return (tolerance){2e-3, 4e-3};
    case ATTN_BF16:
        return (tolerance){1e-2, 2e-2};
    case ATTN_F64:
        return (tolerance){1e-10, 1e-9};
    default:
        return (tolerance){2e-5, 1e-4};
    }
}

void case_tolerance(const case_file *c, double *atol, double *rtol) {
    const tolerance by_type = tolerance_of(c->problem.type);
    *atol = c->options.atol >= 0 ? c->options.atol : by_type.atol;
    *rtol = c->options.rtol >= 0 ? c->options.rtol : by_type.rtol;
}

/* -------------------------------------------------------------------------------------------------------- comparing */

/* One pair of elements. */
typedef struct judgement {
    double error; /* in units of the limit; infinite for any pair of which one is not finite and that is not equal */
    double limit;
    int pass;
} judgement;

static judgement judge(double got, double expected, tolerance limits) {
    judgement result = {0, limits.atol, 1};
    if (!isfinite(got) || !isfinite(expected)) {
        result.pass = got == expected || (isnan(got) && isnan(expected));
        result.error = result.pass ? 0 : (double)INFINITY;
        return result;
    }
    double difference = fabs(got - expected);
    result.limit = limits.atol + limits.rtol * fabs(expected);
    result.pass = difference <= result.limit;
    if (difference > 0) result.error = result.limit > 0 ? difference / result.limit : (double)INFINITY;
    return result;
}

/* The two tensors of a comparison and where it stands. */
typedef struct comparison {
    const case_tensor *got, *expected;
    case_view view; /* of both */
    tolerance limits;
    double worst; /* error of the worst element so far, in units of its limit */
    case_verdict *verdict;
} comparison;

static void compare_element(comparison *x, const int64_t index[4]) {
    int64_t at = 0;
    for (int n = 0; n < 4; n++) at += index[n] * x->view.strides[n];
    const double got = case_load(x->got->type, x->got->data, at);
    const double expected = case_load(x->expected->type, x->expected->data, at);
    const judgement result = judge(got, expected, x->limits);
    case_verdict *verdict = x->verdict;
    verdict->failures += !result.pass;
    if (isfinite(got) && isfinite(expected)) verdict->max_error = fmax(verdict->max_error, fabs(got - expected));
    if (result.error <= x->worst) return;
    x->worst = result.error;
    memcpy(verdict->index, index, sizeof verdict->index);
    verdict->got = got;
    verdict->expected = expected;
    verdict->limit = result.limit;
}

static void compare_elements(comparison *x) {
    const int64_t *shape = x->view.shape;
    int64_t index[4];
    for (index[0] = 0; index[0] < shape[0]; index[0]++)
        for (index[1] = 0; index[1] < shape[1]; index[1]++)
            for (index[2] = 0; index[2] < shape[2]; index[2]++)
                for (index[3] = 0; index[3] < shape[3]; index[3]++) compare_element(x, index);
}

/* Turns a row of a packed tensor into a batch entry and the row in it. */
static void unpack_index(const case_file *c, int64_t index[4]) {
    const case_tensor *ends = &c->tensors[CASE_CU_SEQLENS_Q];
    const int64_t row = index[2];
    index[0] = -1;
    for (int64_t b = 0; b + 1 < ends->shape[0]; b++) {
        int64_t begin = case_load_integer(ends->type, ends->data, b);
        if (row < begin || row >= case_load_integer(ends->type, ends->data, b + 1)) continue;
        index[0] = b;
        index[2] = row - begin;
        return;
    }
}

static case_status check_comparable(case_slot slot, const case_tensor *got, const case_tensor *expected,
                                    case_error *error) {
    const char *name = case_slot_name(slot);
    if (got->type == ATTN_TYPE_DEFAULT || expected->type == ATTN_TYPE_DEFAULT)
        return case_fail(error, CASE_ERROR_CONTENT, "there is no %s %s to compare", name,
                         got->type == ATTN_TYPE_DEFAULT ? "of the run" : "expected");
    if (got->rank != expected->rank)
        return case_fail(error, CASE_ERROR_CONTENT, "%s has %d dimensions, but %d are expected", name, got->rank,
                         expected->rank);
    for (int n = 0; n < got->rank; n++) {
        if (got->shape[n] != expected->shape[n])
            return case_fail(error, CASE_ERROR_CONTENT,
                             "dimension %d of %s is %" PRId64 ", but %" PRId64 " is expected", n, name, got->shape[n],
                             expected->shape[n]);
    }
    return CASE_OK;
}

case_status case_compare(const case_file *c, case_slot slot, const case_tensor *got, const case_tensor *expected,
                         case_verdict *verdict, case_error *error) {
    comparison x = {.got = got, .expected = expected, .worst = -1, .verdict = verdict};
    *verdict = (case_verdict){.index = {-1, -1, -1, -1}};
    case_status status = check_comparable(slot, got, expected, error);
    if (status != CASE_OK) return status;
    if (!case_view_of(slot, c->layout, got, &x.view) || !case_count(got->rank, got->shape, &verdict->elements))
        return case_fail(error, CASE_ERROR_CONTENT, "the size of %s overflows", case_slot_name(slot));
    case_tolerance(c, &x.limits.atol, &x.limits.rtol);
    if (verdict->elements > 0) {
        compare_elements(&x);
        if (c->layout == CASE_THD) unpack_index(c, verdict->index);
    }
    verdict->pass = verdict->failures == 0;
    return case_succeed(error);
}
