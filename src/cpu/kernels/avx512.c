/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 (F, BW, DQ, VL): 32 registers of 16 floats or 8 doubles.
 *
 * Register plan of a 12 x 2 panel: 24 vectors of sums, 2 of keys (or values); the broadcast real of q or p is an
 * operand from memory. 14 loads for 24 multiply-adds.
 */
#include "cpu/kernels/common.h"

#include <immintrin.h>

/* -------------------------------------------------------------------------------------------------------------- f32 */

typedef __m512 vec_f32;

static inline __m512 v_load_f32(const float *p) {
    return _mm512_loadu_ps(p);
}

static inline void v_store_f32(float *p, __m512 a) {
    _mm512_storeu_ps(p, a);
}

static inline __m512 v_set1_f32(float a) {
    return _mm512_set1_ps(a);
}

static inline __m512 v_add_f32(__m512 a, __m512 b) {
    return _mm512_add_ps(a, b);
}

static inline __m512 v_sub_f32(__m512 a, __m512 b) {
    return _mm512_sub_ps(a, b);
}

static inline __m512 v_mul_f32(__m512 a, __m512 b) {
    return _mm512_mul_ps(a, b);
}

static inline __m512 v_div_f32(__m512 a, __m512 b) {
    return _mm512_div_ps(a, b);
}

static inline __m512 v_abs_f32(__m512 a) {
    return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a);
}

static inline __m512 v_max_f32(__m512 a, __m512 b) {
    return _mm512_max_ps(a, b);
}

static inline __m512 v_copysign_f32(__m512 a, __m512 sign) {
    return _mm512_or_ps(a, _mm512_and_ps(_mm512_set1_ps(-0.0f), sign));
}

static inline __m512 v_below_f32(__m512 a, __m512 b, __m512 x, __m512 y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}

static inline __m512 v_fma_f32(__m512 a, __m512 b, __m512 c) {
    return _mm512_fmadd_ps(a, b, c);
}

static inline __m256 halves_f32(__m512 a, int upper) {
    return upper ? _mm512_extractf32x8_ps(a, 1) : _mm512_castps512_ps256(a);
}

static inline float v_sum_f32(__m512 a) {
    const __m256 h = _mm256_add_ps(halves_f32(a, 0), halves_f32(a, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* Pairs, then fours within the 128-bit lanes; then the four lanes. */
static inline void v_sums4_f32(float *dst, __m512 a, __m512 b, __m512 c, __m512 d) {
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    const __m512 s = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xEE));
    const __m256 h = _mm256_add_ps(halves_f32(s, 0), halves_f32(s, 1));
    _mm_storeu_ps(dst, _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1)));
}

static inline __m512 v_ldexp_f32(__m512 p, __m512 shifted) {
    const __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
    return _mm512_mul_ps(p, _mm512_castsi512_ps(exponent));
}

/* 4 x 4 within the 128-bit lanes, then the lanes themselves as a 4 x 4. */
static inline void v_transpose_f32(__m512 *v) {
    __m512 t[16], u[16];
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]);
    }
    for (int g = 0; g < 4; g++) {
        u[4 * g + 0] = _mm512_shuffle_ps(t[4 * g + 0], t[4 * g + 2], 0x44);
        u[4 * g + 1] = _mm512_shuffle_ps(t[4 * g + 0], t[4 * g + 2], 0xEE);
        u[4 * g + 2] = _mm512_shuffle_ps(t[4 * g + 1], t[4 * g + 3], 0x44);
        u[4 * g + 3] = _mm512_shuffle_ps(t[4 * g + 1], t[4 * g + 3], 0xEE);
    }
    for (int i = 0; i < 4; i++) {
        const __m512 a = _mm512_shuffle_f32x4(u[i], u[4 + i], 0x88),
                     b = _mm512_shuffle_f32x4(u[8 + i], u[12 + i], 0x88);
        const __m512 c = _mm512_shuffle_f32x4(u[i], u[4 + i], 0xDD),
                     d = _mm512_shuffle_f32x4(u[8 + i], u[12 + i], 0xDD);
        v[i] = _mm512_shuffle_f32x4(a, b, 0x88);
        v[8 + i] = _mm512_shuffle_f32x4(a, b, 0xDD);
        v[4 + i] = _mm512_shuffle_f32x4(c, d, 0x88);
        v[12 + i] = _mm512_shuffle_f32x4(c, d, 0xDD);
    }
}

static inline __m512 v_load_f16_f32(const char *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline __m512 v_load_bf16_f32(const char *p) {
    const __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

static void store_f16_f32(void *dst, const float *src, int64_t n) {
    char *to = dst;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(void *)(to + 2 * i),
                            _mm512_cvtps_ph(_mm512_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) attn_store(ATTN_F16, dst, i, (double)src[i]);
}

#define store_bf16_f32 store_bf16_row

#define TILE_BITS 32
#define LANES     16
#define MR        12
#define NV        2
#define DOTS_ROWS 4
#define DOTS_MOST 9
#include "cpu/kernels/kernels.inc"

/* -------------------------------------------------------------------------------------------------------------- f64 */

typedef __m512d vec_f64;

static inline __m512d v_load_f64(const double *p) {
    return _mm512_loadu_pd(p);
}

static inline void v_store_f64(double *p, __m512d a) {
    _mm512_storeu_pd(p, a);
}

static inline __m512d v_set1_f64(double a) {
    return _mm512_set1_pd(a);
}

static inline __m512d v_add_f64(__m512d a, __m512d b) {
    return _mm512_add_pd(a, b);
}

static inline __m512d v_sub_f64(__m512d a, __m512d b) {
    return _mm512_sub_pd(a, b);
}

static inline __m512d v_mul_f64(__m512d a, __m512d b) {
    return _mm512_mul_pd(a, b);
}

static inline __m512d v_max_f64(__m512d a, __m512d b) {
    return _mm512_max_pd(a, b);
}

static inline __m512d v_below_f64(__m512d a, __m512d b, __m512d x, __m512d y) {
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), y, x);
}

static inline __m512d v_fma_f64(__m512d a, __m512d b, __m512d c) {
    return _mm512_fmadd_pd(a, b, c);
}

static inline __m256d folded_f64(__m512d a) {
    return _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
}

static inline double v_sum_f64(__m512d a) {
    const __m256d h = folded_f64(a);
    const __m128d s = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}

static inline void v_sums4_f64(double *dst, __m512d a, __m512d b, __m512d c, __m512d d) {
    const __m256d s = _mm256_hadd_pd(folded_f64(a), folded_f64(b)), t = _mm256_hadd_pd(folded_f64(c), folded_f64(d));
    const __m256d low = _mm256_permute2f128_pd(s, t, 0x20), high = _mm256_permute2f128_pd(s, t, 0x31);
    _mm256_storeu_pd(dst, _mm256_add_pd(low, high));
}

static inline __m512d v_ldexp_f64(__m512d p, __m512d shifted) {
    const __m512i exponent = _mm512_slli_epi64(_mm512_castpd_si512(shifted), 52);
    return _mm512_mul_pd(p, _mm512_castsi512_pd(exponent));
}

static inline void v_transpose_f64(__m512d *v) {
    __m512d t[8];
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm512_unpacklo_pd(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_pd(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        const __m512d a = _mm512_shuffle_f64x2(t[i], t[2 + i], 0x88),
                      b = _mm512_shuffle_f64x2(t[4 + i], t[6 + i], 0x88);
        const __m512d c = _mm512_shuffle_f64x2(t[i], t[2 + i], 0xDD),
                      d = _mm512_shuffle_f64x2(t[4 + i], t[6 + i], 0xDD);
        v[i] = _mm512_shuffle_f64x2(a, b, 0x88);
        v[4 + i] = _mm512_shuffle_f64x2(a, b, 0xDD);
        v[2 + i] = _mm512_shuffle_f64x2(c, d, 0x88);
        v[6 + i] = _mm512_shuffle_f64x2(c, d, 0xDD);
    }
}

#define TILE_BITS 64
#define LANES     8
#define MR        12
#define NV        2
#define DOTS_ROWS 4
#define DOTS_MOST 9
#include "cpu/kernels/kernels.inc"

const attn_kernel_set attn_kernels_avx512 = {ATTN_CPU_AVX512, "avx512", &table_f32, &table_f64};
