/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AArch64 Advanced SIMD: 32 registers of 4 floats or 2 doubles.
 *
 * Register plan of a 6 x 4 panel: 24 vectors of sums, 4 of keys (or values), the broadcast reals in what is left.
 */
#include "cpu/kernels/common.h"

#include <arm_neon.h>

/* -------------------------------------------------------------------------------------------------------------- f32 */

typedef float32x4_t vec_f32;

static inline float32x4_t v_load_f32(const float *p) {
    return vld1q_f32(p);
}

static inline void v_store_f32(float *p, float32x4_t a) {
    vst1q_f32(p, a);
}

static inline float32x4_t v_set1_f32(float a) {
    return vdupq_n_f32(a);
}

static inline float32x4_t v_add_f32(float32x4_t a, float32x4_t b) {
    return vaddq_f32(a, b);
}

static inline float32x4_t v_sub_f32(float32x4_t a, float32x4_t b) {
    return vsubq_f32(a, b);
}

static inline float32x4_t v_mul_f32(float32x4_t a, float32x4_t b) {
    return vmulq_f32(a, b);
}

static inline float32x4_t v_div_f32(float32x4_t a, float32x4_t b) {
    return vdivq_f32(a, b);
}

static inline float32x4_t v_abs_f32(float32x4_t a) {
    return vabsq_f32(a);
}

static inline float32x4_t v_max_f32(float32x4_t a, float32x4_t b) {
    return vmaxq_f32(a, b);
}

static inline float32x4_t v_copysign_f32(float32x4_t a, float32x4_t sign) {
    return vbslq_f32(vdupq_n_u32(0x80000000u), sign, a);
}

static inline float32x4_t v_below_f32(float32x4_t a, float32x4_t b, float32x4_t x, float32x4_t y) {
    return vbslq_f32(vcltq_f32(a, b), x, y);
}

static inline float32x4_t v_fma_f32(float32x4_t a, float32x4_t b, float32x4_t c) {
    return vfmaq_f32(c, a, b);
}

static inline float v_sum_f32(float32x4_t a) {
    return vaddvq_f32(a);
}

static inline void v_sums4_f32(float *dst, float32x4_t a, float32x4_t b, float32x4_t c, float32x4_t d) {
    vst1q_f32(dst, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}

static inline float32x4_t v_ldexp_f32(float32x4_t p, float32x4_t shifted) {
    const int32x4_t exponent = vshlq_n_s32(vreinterpretq_s32_f32(shifted), 23);
    return vmulq_f32(p, vreinterpretq_f32_s32(exponent));
}

static inline void v_transpose_f32(float32x4_t *v) {
    const float32x4_t a = vtrn1q_f32(v[0], v[1]), b = vtrn2q_f32(v[0], v[1]);
    const float32x4_t c = vtrn1q_f32(v[2], v[3]), d = vtrn2q_f32(v[2], v[3]);
    v[0] = vcombine_f32(vget_low_f32(a), vget_low_f32(c));
    v[1] = vcombine_f32(vget_low_f32(b), vget_low_f32(d));
    v[2] = vcombine_f32(vget_high_f32(a), vget_high_f32(c));
    v[3] = vcombine_f32(vget_high_f32(b), vget_high_f32(d));
}

static inline float32x4_t v_load_f16_f32(const char *p) {
    uint16x4_t half;
    memcpy(&half, p, sizeof(half));
    return vcvt_f32_f16(vreinterpret_f16_u16(half));
}

static inline float32x4_t v_load_bf16_f32(const char *p) {
    uint16x4_t half;
    memcpy(&half, p, sizeof(half));
    return vreinterpretq_f32_u32(vshll_n_u16(half, 16));
}

static void store_f16_f32(void *dst, const float *src, int64_t n) {
    char *to = dst;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint16x4_t half = vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(src + i)));
        memcpy(to + 2 * i, &half, 8);
    }
    for (; i < n; i++) attn_store(ATTN_F16, dst, i, (double)src[i]);
}

#define store_bf16_f32 store_bf16_row

#define TILE_BITS 32
#define LANES     4
#define MR        6
#define NV        4
#define DOTS_ROWS 4
#define DOTS_MOST 32
#include "cpu/kernels/kernels.inc"

/* -------------------------------------------------------------------------------------------------------------- f64 */

typedef float64x2_t vec_f64;

static inline float64x2_t v_load_f64(const double *p) {
    return vld1q_f64(p);
}

static inline void v_store_f64(double *p, float64x2_t a) {
    vst1q_f64(p, a);
}

static inline float64x2_t v_set1_f64(double a) {
    return vdupq_n_f64(a);
}

static inline float64x2_t v_add_f64(float64x2_t a, float64x2_t b) {
    return vaddq_f64(a, b);
}

static inline float64x2_t v_sub_f64(float64x2_t a, float64x2_t b) {
    return vsubq_f64(a, b);
}

static inline float64x2_t v_mul_f64(float64x2_t a, float64x2_t b) {
    return vmulq_f64(a, b);
}

static inline float64x2_t v_max_f64(float64x2_t a, float64x2_t b) {
    return vmaxq_f64(a, b);
}

static inline float64x2_t v_below_f64(float64x2_t a, float64x2_t b, float64x2_t x, float64x2_t y) {
    return vbslq_f64(vcltq_f64(a, b), x, y);
}

static inline float64x2_t v_fma_f64(float64x2_t a, float64x2_t b, float64x2_t c) {
    return vfmaq_f64(c, a, b);
}

static inline double v_sum_f64(float64x2_t a) {
    return vaddvq_f64(a);
}

static inline void v_sums4_f64(double *dst, float64x2_t a, float64x2_t b, float64x2_t c, float64x2_t d) {
    vst1q_f64(dst, vpaddq_f64(a, b));
    vst1q_f64(dst + 2, vpaddq_f64(c, d));
}

static inline float64x2_t v_ldexp_f64(float64x2_t p, float64x2_t shifted) {
    const int64x2_t exponent = vshlq_n_s64(vreinterpretq_s64_f64(shifted), 52);
    return vmulq_f64(p, vreinterpretq_f64_s64(exponent));
}

static inline void v_transpose_f64(float64x2_t *v) {
    const float64x2_t a = v[0];
    v[0] = vtrn1q_f64(a, v[1]);
    v[1] = vtrn2q_f64(a, v[1]);
}

#define TILE_BITS 64
#define LANES     2
#define MR        6
#define NV        4
#define DOTS_ROWS 4
#define DOTS_MOST 32
#include "cpu/kernels/kernels.inc"

const attn_kernel_set attn_kernels_neon = {ATTN_CPU_NEON, "neon", &table_f32, &table_f64};
