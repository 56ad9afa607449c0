/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a result may be from the exact one.
 *
 * With u the unit roundoff of the arithmetic (2^-24 for float, 2^-53 for double), a sum of n products is off by about
 * sqrt(n) u times the sum of their magnitudes, whatever its order, as roundings are as often up as down (Higham and
 * Mary, "A new approach to probabilistic rounding error analysis", SISC 2019). So a logit of magnitude at most S is off
 * by
 *
 *     (sqrt(D) + c) u S       S = |scale| |q_i| max_j |k_j| + max |bias| + slope max |p - j| + |sink|, and softcap once
 * more for tanh's own error; c for the steps after the dot product and for s - m
 *
 * which is the relative error of its weight; exp, the sum over n keys and the division add sqrt(n) + c. Numerator and
 * denominator are both off, and a weighted mean of values is at most max |v|. Hence, with G for the whole growth,
 *
 *     |o - exact| <= L u G max |v| / (1 - dropout_p) + roundoff(o) |exact|        |lse - exact| <= L u G + 2^-23
 * |exact|
 *
 * with L for how far in the tail of that distribution a wrong alarm has to lie. A key too many or too few, a wrong
 * offset or a stale maximum are off by 1 / n at least, thousands of times the limit for the sizes tested.
 */
#ifndef TEST_SUPPORT_COMPARE_H
#define TEST_SUPPORT_COMPARE_H

#include "output.h"
#include "random_problem.h"

/* The exact result of a case in float64, and what the limits are made from. */
typedef struct test_expected {
    test_case *wide;    /* the case in float64 */
    test_output output; /* o and always lse, contiguous */
    double *growth;     /* G of each row of the output tensor; 0 for rows that do not exist */
    double *value_size; /* max |v| / (1 - dropout_p) for the same rows */
} test_expected;

/* Runs the oracle. On an error returns it and leaves nothing to free. */
attn_status test_expected_make(const attn_engine *oracle, const test_case *source, test_expected *expected,
                               attn_reason *reason);
void test_expected_free(test_expected *expected);

/* The element that is worst relative to its limit. */
typedef struct test_worst {
    double ratio;              /* error / limit: a miss above 1, INFINITY where only one of the two is finite */
    int64_t b, h, row, column; /* in the output tensor; column -1: of lse */
    double got, expected, limit;
} test_worst;

/* Compares each element. arithmetic: ATTN_F64, or ATTN_F32 for all other types. */
test_worst test_compare(const test_expected *expected, const test_output *got, attn_type arithmetic);

/* Sums over all elements of o, in units of max |v|, for comparing two ways of computing the same. */
typedef struct test_errors {
    double squares, max;
    int64_t count;
} test_errors;
void test_errors_add(const test_expected *expected, const test_output *got, test_errors *errors);
double test_errors_rms(const test_errors *errors);

/* Plans, runs and destroys. */
attn_status test_run(attn_engine *engine, const attn_problem *problem, const attn_tensors *tensors,
                     attn_reason *reason);

#endif
