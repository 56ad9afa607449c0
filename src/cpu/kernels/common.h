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

enum {
    ATTN_AHEAD_BYTES = 8192 /* between the rows that are read and those that are fetched meanwhile, rows in one piece */
};

/* From the row that is read to the one that is fetched, in bytes, for rows of row_bytes that are stride apart. With a
 * stride that no memory has room for there is one row at most, and nothing to fetch. */
static inline int64_t attn_distance_ahead(int64_t row_bytes, int64_t stride) {
    const int64_t rows = ATTN_AHEAD_BYTES / row_bytes + 1;
    return stride < INT64_MAX / ATTN_AHEAD_BYTES && stride > INT64_MIN / ATTN_AHEAD_BYTES ? rows * stride : 0;
}

static inline attn_ahead attn_rows_ahead(const void *rows, int64_t count, int64_t row_bytes, int64_t stride) {
    return (attn_ahead){(const char *)rows + attn_distance_ahead(row_bytes, stride), count, stride, row_bytes, 0};
}

/* Up to `lines` lines: of the present row, of the next ones. */
#define FETCH_LINES(ahead, lines, fetch)                                                                               \
    while ((lines) > 0 && (ahead)->rows > 0) {                                                                         \
        const int64_t end = (ahead)->at + (lines)*ATTN_LINE_BYTES;                                                     \
        const int64_t stop = end < (ahead)->row_bytes ? end : (ahead)->row_bytes;                                      \
        for (; (ahead)->at < stop; (ahead)->at += ATTN_LINE_BYTES, (lines)--) fetch((ahead)->row + (ahead)->at);       \
        if ((ahead)->at < (ahead)->row_bytes) break;                                                                   \
        (ahead)->at = 0;                                                                                               \
        (ahead)->row += (ahead)->stride;                                                                               \
        (ahead)->rows--;                                                                                               \
    }

static inline void attn_fetch_lines(attn_ahead *ahead, int64_t lines) {
    FETCH_LINES(ahead, lines, ATTN_FETCH)
}

static inline void attn_fetch_next(attn_next *next) {
    attn_ahead *ahead = &next->rows;
    int64_t lines = next->lines;
    FETCH_LINES(ahead, lines, ATTN_FETCH_LATER)
}

/* One element of 16-bit storage: the bits that a vector of them gets, those of a NaN included. */
static inline float load_16(attn_type type, const void *src, int64_t index) {
    if (type == ATTN_F16) return (float)attn_load(type, src, index);
    uint16_t half;
    float value;
    memcpy(&half, (const char *)src + 2 * index, 2);
    const uint32_t bits = (uint32_t)half << 16;
    memcpy(&value, &bits, 4);
    return value;
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
static inline void store_f64_as_16(attn_type type, void *dst, const double *src, int64_t n) {
    for (int64_t i = 0; i < n; i++) attn_store(type, dst, i, src[i]);
}

static inline void store_f16_f64(void *dst, const double *src, int64_t n) {
    store_f64_as_16(ATTN_F16, dst, src, n);
}

static inline void store_bf16_f64(void *dst, const double *src, int64_t n) {
    store_f64_as_16(ATTN_BF16, dst, src, n);
}

#endif
