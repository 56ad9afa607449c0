/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2 with FMA and F16C: 16 registers of 8 floats or 4 doubles.
 *
 * Register plan of a 6 x 2 panel: 12 vectors of sums, 2 of keys (or values), 1 broadcast. Each step loads 2 vectors and
 * broadcasts 6 reals for 12 multiply-adds: 8 loads, where 12 would be the limit at two loads and two FMAs a cycle.
 */
#include "cpu/kernels/common.h"

#include <immintrin.h>

/* -------------------------------------------------------------------------------------------------------------- f32 */

typedef __m256 vec_f32;

static inline __m256 v_load_f32(const float *p) {
    return _mm256_loadu_ps(p);
}

static inline void v_store_f32(float *p, __m256 a) {
    _mm256_storeu_ps(p, a);
}

static inline __m256 v_set1_f32(float a) {
    return _mm256_set1_ps(a);
}

static inline __m256 v_add_f32(__m256 a, __m256 b) {
    return _mm256_add_ps(a, b);
}

static inline __m256 v_sub_f32(__m256 a, __m256 b) {
    return _mm256_sub_ps(a, b);
}

static inline __m256 v_mul_f32(__m256 a, __m256 b) {
    return _mm256_mul_ps(a, b);
}

static inline __m256 v_div_f32(__m256 a, __m256 b) {
    return _mm256_div_ps(a, b);
}

static inline __m256 v_abs_f32(__m256 a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

static inline __m256 v_max_f32(__m256 a, __m256 b) {
    return _mm256_max_ps(a, b);
}

static inline __m256 v_copysign_f32(__m256 a, __m256 sign) {
    return _mm256_or_ps(a, _mm256_and_ps(_mm256_set1_ps(-0.0f), sign));
}

static inline __m256 v_below_f32(__m256 a, __m256 b, __m256 x, __m256 y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

static inline __m256 v_fma_f32(__m256 a, __m256 b, __m256 c) {
    return _mm256_fmadd_ps(a, b, c);
}

static inline float v_sum_f32(__m256 a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static inline void v_sums4_f32(float *dst, __m256 a, __m256 b, __m256 c, __m256 d) {
    const __m256 s = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(dst, _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1)));
}

static inline __m256 v_ldexp_f32(__m256 p, __m256 shifted) {
    const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    return _mm256_mul_ps(p, _mm256_castsi256_ps(exponent));
}

static inline void v_transpose_f32(__m256 *v) {
    __m256 t[8], u[8];
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
    }
    for (int h = 0; h < 2; h++) {
        u[4 * h + 0] = _mm256_shuffle_ps(t[4 * h + 0], t[4 * h + 2], 0x44);
        u[4 * h + 1] = _mm256_shuffle_ps(t[4 * h + 0], t[4 * h + 2], 0xEE);
        u[4 * h + 2] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0x44);
        u[4 * h + 3] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0xEE);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(u[i], u[4 + i], 0x20);
        v[4 + i] = _mm256_permute2f128_ps(u[i], u[4 + i], 0x31);
    }
}

static inline __m256 v_load_f16_f32(const char *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline __m256 v_load_bf16_f32(const char *p) {
    const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}

static void store_f16_f32(void *dst, const float *src, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)((char *)dst + 2 * i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) attn_store(ATTN_F16, dst, i, (double)src[i]);
}

#define store_bf16_f32 store_bf16_row

#define TILE_BITS 32
#define LANES     8
#define MR        6
#define NV        2
#define DOTS_ROWS 3
#define DOTS_MOST 32
#include "cpu/kernels/kernels.inc"

/* -------------------------------------------------------------------------------------------------------------- f64 */

typedef __m256d vec_f64;

static inline __m256d v_load_f64(const double *p) {
    return _mm256_loadu_pd(p);
}

static inline void v_store_f64(double *p, __m256d a) {
    _mm256_storeu_pd(p, a);
}

static inline __m256d v_set1_f64(double a) {
    return _mm256_set1_pd(a);
}

static inline __m256d v_add_f64(__m256d a, __m256d b) {
    return _mm256_add_pd(a, b);
}

static inline __m256d v_sub_f64(__m256d a, __m256d b) {
    return _mm256_sub_pd(a, b);
}

static inline __m256d v_mul_f64(__m256d a, __m256d b) {
    return _mm256_mul_pd(a, b);
}

static inline __m256d v_max_f64(__m256d a, __m256d b) {
    return _mm256_max_pd(a, b);
}

static inline __m256d v_below_f64(__m256d a, __m256d b, __m256d x, __m256d y) {
    return _mm256_blendv_pd(y, x, _mm256_cmp_pd(a, b, _CMP_LT_OQ));
}

static inline __m256d v_fma_f64(__m256d a, __m256d b, __m256d c) {
    return _mm256_fmadd_pd(a, b, c);
}

static inline double v_sum_f64(__m256d a) {
    const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}

static inline void v_sums4_f64(double *dst, __m256d a, __m256d b, __m256d c, __m256d d) {
    const __m256d s = _mm256_hadd_pd(a, b), t = _mm256_hadd_pd(c, d);
    const __m256d low = _mm256_permute2f128_pd(s, t, 0x20), high = _mm256_permute2f128_pd(s, t, 0x31);
    _mm256_storeu_pd(dst, _mm256_add_pd(low, high));
}

static inline __m256d v_ldexp_f64(__m256d p, __m256d shifted) {
    const __m256i exponent = _mm256_slli_epi64(_mm256_castpd_si256(shifted), 52);
    return _mm256_mul_pd(p, _mm256_castsi256_pd(exponent));
}

static inline void v_transpose_f64(__m256d *v) {
    const __m256d a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
    const __m256d c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, c, 0x20);
    v[1] = _mm256_permute2f128_pd(b, d, 0x20);
    v[2] = _mm256_permute2f128_pd(a, c, 0x31);
    v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

#define TILE_BITS 64
#define LANES     4
#define MR        6
#define NV        2
#define DOTS_ROWS 3
#define DOTS_MOST 32
#include "cpu/kernels/kernels.inc"

const attn_kernel_set attn_kernels_avx2 = {ATTN_CPU_AVX2, "avx2", &table_f32, &table_f64};
