/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of any float type as double. The library's own conversions are not part of its API. */
#ifndef CASE_VALUE_H
#define CASE_VALUE_H

#include "attn/attn.h"

/* Element `index` of an array of F32, F16, BF16 or F64. */
double case_load(attn_type type, const void *data, int64_t index);
/* The same, rounded once to nearest even. Wants the default rounding mode. */
void case_store(attn_type type, void *data, int64_t index, double value);

/* Element `index` of an array of I32 or I64. */
int64_t case_load_integer(attn_type type, const void *data, int64_t index);

#endif
