/* SPDX-License-Identifier: Apache-2.0 */
/* The 16-bit storage types, one value at a time, and elements of any type. Conversions to 16 bits round to nearest
 * even, keep NaN a NaN and overflow to infinity. */
#ifndef ATTN_BASE_HALF_H
#define ATTN_BASE_HALF_H

#include "attn/attn.h"

float attn_f16_to_f32(uint16_t bits);
uint16_t attn_f16_from_f32(float value);
uint16_t attn_f16_from_f64(double value); /* rounded once */
float attn_bf16_to_f32(uint16_t bits);
uint16_t attn_bf16_from_f32(float value);
uint16_t attn_bf16_from_f64(double value); /* rounded once */

/* Element `index` of an array of F32, F16, BF16 or F64. data need not be aligned beyond its element. */
double attn_load(attn_type type, const void *data, int64_t index);
/* count elements from `index` on, `stride` apart, into row. */
void attn_load_row(attn_type type, const void *data, int64_t index, int64_t stride, int64_t count, double *row);
void attn_store(attn_type type, void *data, int64_t index, double value);

/* Element `index` of an array of I32 or I64. */
int64_t attn_load_integer(attn_type type, const void *data, int64_t index);

#endif
