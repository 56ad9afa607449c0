/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of every type, one at a time, in plain arithmetic. The library has its own conversions; these are written
 * another way, so that a mistake in either shows.
 */
#ifndef TEST_SUPPORT_ELEMENT_H
#define TEST_SUPPORT_ELEMENT_H

#include "attn/attn.h"

/* BOOL and the integers are read and stored as numbers too. data need not be aligned. */
double test_load(attn_type type, const void *data, int64_t index);
void test_store(attn_type type, void *data, int64_t index, double value);

/* The value after a store and a load. */
double test_round(attn_type type, double value);

/* Unit roundoff: half the gap between 1 and the next number. */
double test_unit_roundoff(attn_type type);
/* Half the smallest positive number: the error of rounding near zero. */
double test_underflow(attn_type type);

#endif
