/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Portable C: what runs on a processor without kernels of its own, and the twin that the others are tested against.
 *
 * Vectors are GCC's (and clang's) generic ones, which any processor's baseline has instructions for, or small structs
 * where a compiler has none. Both compute the same bits.
 */
#include "cpu/kernels/common.h"

#if defined(__GNUC__)
#define DEFINE_VECTOR(real, integer, name, lanes)                                                                      \
    typedef real vec_##name __attribute__((vector_size((lanes) * sizeof(real))));                                      \
    typedef integer mask_##name __attribute__((vector_size((lanes) * sizeof(real))));                                  \
    static inline vec_##name choose_##name(mask_##name mask, vec_##name x, vec_##name y) {                             \
        return (vec_##name)((mask & (mask_##name)x) | (~mask & (mask_##name)y));                                       \
    }                                                                                                                  \
    static inline vec_##name v_max_##name(vec_##name a, vec_##name b) {                                                \
        return choose_##name(a > b, a, b);                                                                             \
    }                                                                                                                  \
    static inline vec_##name v_below_##name(vec_##name a, vec_##name b, vec_##name x, vec_##name y) {                  \
        return choose_##name(a < b, x, y);                                                                             \
    }
#define LANE(a, i)                    (a)[i]
#define EACH_LANE(lanes, c, a, op, b) ((c) = (a)op(b))
#else
#define DEFINE_VECTOR(real, integer, name, lanes)                                                                      \
    typedef struct vec_##name {                                                                                        \
        real x[lanes];                                                                                                 \
    } vec_##name;                                                                                                      \
    static inline vec_##name v_max_##name(vec_##name a, vec_##name b) {                                                \
        for (int i = 0; i < (lanes); i++) a.x[i] = a.x[i] > b.x[i] ? a.x[i] : b.x[i];                                  \
        return a;                                                                                                      \
    }                                                                                                                  \
    static inline vec_##name v_below_##name(vec_##name a, vec_##name b, vec_##name x, vec_##name y) {                  \
        for (int i = 0; i < (lanes); i++) a.x[i] = a.x[i] < b.x[i] ? x.x[i] : y.x[i];                                  \
        return a;                                                                                                      \
    }
#define LANE(a, i) (a).x[i]
#define EACH_LANE(lanes, c, a, op, b)                                                                                  \
    for (int i = 0; i < (lanes); i++) (c).x[i] = (a).x[i] op(b).x[i]
#endif

/* Operations that read the same for both types. */
#define VECTOR_OPERATIONS(real, integer, name, lanes)                                                                  \
    DEFINE_VECTOR(real, integer, name, lanes)                                                                          \
    static inline vec_##name v_load_##name(const real *p) {                                                            \
        vec_##name c;                                                                                                  \
        memcpy(&c, p, sizeof(c));                                                                                      \
        return c;                                                                                                      \
    }                                                                                                                  \
    static inline void v_store_##name(real *p, vec_##name a) {                                                         \
        memcpy(p, &a, sizeof(a));                                                                                      \
    }                                                                                                                  \
    static inline vec_##name v_set1_##name(real a) {                                                                   \
        vec_##name c;                                                                                                  \
        for (int i = 0; i < (lanes); i++) LANE(c, i) = a;                                                              \
        return c;                                                                                                      \
    }                                                                                                                  \
    static inline vec_##name v_add_##name(vec_##name a, vec_##name b) {                                                \
        EACH_LANE(lanes, a, a, +, b);                                                                                  \
        return a;                                                                                                      \
    }                                                                                                                  \
    static inline vec_##name v_sub_##name(vec_##name a, vec_##name b) {                                                \
        EACH_LANE(lanes, a, a, -, b);                                                                                  \
        return a;                                                                                                      \
    }                                                                                                                  \
    static inline vec_##name v_mul_##name(vec_##name a, vec_##name b) {                                                \
        EACH_LANE(lanes, a, a, *, b);                                                                                  \
        return a;                                                                                                      \
    }                                                                                                                  \
    static inline vec_##name v_fma_##name(vec_##name a, vec_##name b, vec_##name c) {                                  \
        return v_add_##name(v_mul_##name(a, b), c);                                                                    \
    }                                                                                                                  \
    static inline real v_sum_##name(vec_##name a) {                                                                    \
        real sum = 0;                                                                                                  \
        for (int i = 0; i < (lanes); i++) sum += LANE(a, i);                                                           \
        return sum;                                                                                                    \
    }                                                                                                                  \
    static inline void v_sums4_##name(real *dst, vec_##name a, vec_##name b, vec_##name c, vec_##name d) {             \
        dst[0] = v_sum_##name(a);                                                                                      \
        dst[1] = v_sum_##name(b);                                                                                      \
        dst[2] = v_sum_##name(c);                                                                                      \
        dst[3] = v_sum_##name(d);                                                                                      \
    }                                                                                                                  \
    static inline void v_transpose_##name(vec_##name *v) {                                                             \
        real rows[lanes][lanes];                                                                                       \
        for (int i = 0; i < (lanes); i++)                                                                              \
            for (int j = 0; j < (lanes); j++) rows[i][j] = LANE(v[j], i);                                              \
        memcpy(v, rows, sizeof(rows));                                                                                 \
    }

/* -------------------------------------------------------------------------------------------------------------- f32 */

VECTOR_OPERATIONS(float, int32_t, f32, 4)

static inline vec_f32 v_div_f32(vec_f32 a, vec_f32 b) {
    EACH_LANE(4, a, a, /, b);
    return a;
}

static inline vec_f32 v_abs_f32(vec_f32 a) {
    for (int i = 0; i < 4; i++) LANE(a, i) = fabsf(LANE(a, i));
    return a;
}

static inline vec_f32 v_copysign_f32(vec_f32 a, vec_f32 sign) {
    for (int i = 0; i < 4; i++) LANE(a, i) = copysignf(LANE(a, i), LANE(sign, i));
    return a;
}

static inline vec_f32 v_ldexp_f32(vec_f32 p, vec_f32 shifted) {
    uint32_t bits[4];
    memcpy(bits, &shifted, sizeof(bits));
    for (int i = 0; i < 4; i++) bits[i] <<= 23;
    memcpy(&shifted, bits, sizeof(bits));
    return v_mul_f32(p, shifted);
}

static inline vec_f32 v_load_f16_f32(const char *p) {
    vec_f32 c;
    for (int i = 0; i < 4; i++) LANE(c, i) = load_16(ATTN_F16, p, i);
    return c;
}

static inline vec_f32 v_load_bf16_f32(const char *p) {
    vec_f32 c;
    for (int i = 0; i < 4; i++) LANE(c, i) = load_16(ATTN_BF16, p, i);
    return c;
}

static void store_f16_f32(void *dst, const float *src, int64_t n) {
    for (int64_t i = 0; i < n; i++) attn_store(ATTN_F16, dst, i, (double)src[i]);
}

#define store_bf16_f32 store_bf16_row

#define TILE_BITS 32
#define LANES     4
#define MR        4
#define NV        2
#define DOTS_ROWS 2
#define DOTS_MOST 32
#include "cpu/kernels/kernels.inc"

/* -------------------------------------------------------------------------------------------------------------- f64 */

VECTOR_OPERATIONS(double, int64_t, f64, 2)

static inline vec_f64 v_ldexp_f64(vec_f64 p, vec_f64 shifted) {
    uint64_t bits[2];
    memcpy(bits, &shifted, sizeof(bits));
    for (int i = 0; i < 2; i++) bits[i] <<= 52;
    memcpy(&shifted, bits, sizeof(bits));
    return v_mul_f64(p, shifted);
}

#define TILE_BITS 64
#define LANES     2
#define MR        4
#define NV        2
#define DOTS_ROWS 2
#define DOTS_MOST 32
#include "cpu/kernels/kernels.inc"

const attn_kernel_set attn_kernels_portable = {ATTN_CPU_PORTABLE, "portable", &table_f32, &table_f64};
