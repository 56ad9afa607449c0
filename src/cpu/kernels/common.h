/* SPDX-License-Identifier: Apache-2.0 */
/* What every file of an instruction set starts from. */
#ifndef ATTN_CPU_KERNELS_COMMON_H
#define ATTN_CPU_KERNELS_COMMON_H

#include "base/compiler.h"
#include "base/half.h"
#include "cpu/kernels/kernels.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Rows of 16-bit storage in plain loops; an instruction set that converts in hardware has its own. */

static inline void load_bf16_row(float *dst, const void *src, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, (const char *)src + 2 * i, 2);
        const uint32_t bits = (uint32_t)half << 16;
        memcpy(&dst[i], &bits, 4);
    }
}

/* Round to nearest even by adding just under a half and the lowest kept bit; a NaN stays one. */
static inline void store_bf16_row(void *dst, const float *src, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &src[i], 4);
        const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
        const uint32_t quiet = bits >> 16 | 0x40u;
        const uint16_t half = (uint16_t)((bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
        memcpy((char *)dst + 2 * i, &half, 2);
    }
}

/* Tiles of f64 meet 16-bit storage only in a bias. */
static inline void load_16_as_f64(double *dst, attn_type type, const void *src, int64_t n) {
    for (int64_t i = 0; i < n; i++) dst[i] = attn_load(type, src, i);
}

static inline void store_f64_as_16(attn_type type, void *dst, const double *src, int64_t n) {
    for (int64_t i = 0; i < n; i++) attn_store(type, dst, i, src[i]);
}

static inline void load_f16_f64(double *dst, const void *src, int64_t n) {
    load_16_as_f64(dst, ATTN_F16, src, n);
}

static inline void load_bf16_f64(double *dst, const void *src, int64_t n) {
    load_16_as_f64(dst, ATTN_BF16, src, n);
}

static inline void store_f16_f64(void *dst, const double *src, int64_t n) {
    store_f64_as_16(ATTN_F16, dst, src, n);
}

static inline void store_bf16_f64(void *dst, const double *src, int64_t n) {
    store_f64_as_16(ATTN_BF16, dst, src, n);
}

#endif
