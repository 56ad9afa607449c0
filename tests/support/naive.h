/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention as one would first write it, in float: all scores of a row, their maximum, the exponentials and their sum,
 * then the weighted values. The yardstick of accuracy, and a second opinion on what every field of a problem means.
 */
#ifndef TEST_SUPPORT_NAIVE_H
#define TEST_SUPPORT_NAIVE_H

#include "output.h"
#include "random_problem.h"

/* source: F32 (test_case_convert). Writes every element of o, and of lse where output has one. */
void test_naive(const test_case *source, test_output *output);

#endif
