/* SPDX-License-Identifier: Apache-2.0 */
#include "element.h"

#include <math.h>
#include <string.h>

/* A 16-bit floating-point format. */
typedef struct half_format {
    int fraction_bits;
    int min_exponent; /* of the smallest normal number */
    int max_exponent;
} half_format;

static const half_format f16_format = {10, -14, 15};
static const half_format bf16_format = {7, -126, 127};

static uint16_t half_encode(half_format format, double value) {
    unsigned sign = signbit(value) ? 0x8000U : 0U;
    unsigned infinity = (unsigned)(format.max_exponent - format.min_exponent + 2) << format.fraction_bits;
    double magnitude = fabs(value);
    if (isnan(value)) return (uint16_t)(sign | infinity | 1U);
    if (magnitude >= ldexp(2.0, format.max_exponent)) return (uint16_t)(sign | infinity);
    int exponent = magnitude > 0 ? ilogb(magnitude) : format.min_exponent;
    if (exponent < format.min_exponent) exponent = format.min_exponent;
    /* Normal numbers carry their leading bit into the exponent field, subnormal ones have none to carry, and a fraction
     * that rounds up to 2 carries into the next exponent, infinity included. */
    unsigned fraction = (unsigned)nearbyint(ldexp(magnitude, format.fraction_bits - exponent));
    return (uint16_t)(sign | (((unsigned)(exponent - format.min_exponent) << format.fraction_bits) + fraction));
}

static double half_decode(half_format format, uint16_t bits) {
    int field = (bits & 0x7FFF) >> format.fraction_bits;
    int fraction = bits & ((1 << format.fraction_bits) - 1);
    double magnitude;
    if (field == format.max_exponent - format.min_exponent + 2) {
        magnitude = fraction ? (double)NAN : (double)INFINITY;
    } else if (field == 0) {
        magnitude = ldexp(fraction, format.min_exponent - format.fraction_bits);
    } else {
        magnitude =
            ldexp(fraction + (1 << format.fraction_bits), format.min_exponent + field - 1 - format.fraction_bits);
    }
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* By memcpy, as tests misalign data on purpose. A macro: element access is most of what a test does. */
#define LOAD(type, data, index, value)                                                                                 \
    memcpy(&(value), (const char *)(data) + (index) * (int64_t)sizeof(type), sizeof(type))
#define STORE(type, data, index, value) memcpy((char *)(data) + (index) * (int64_t)sizeof(type), &(value), sizeof(type))

double test_load(attn_type type, const void *data, int64_t index) {
    float f32;
    double f64;
    uint16_t half;
    int32_t i32;
    int64_t i64;
    switch (type) {
    case ATTN_F32:
        LOAD(float, data, index, f32);
        return (double)f32;
    case ATTN_F64:
        LOAD(double, data, index, f64);
        return f64;
    case ATTN_F16:
        LOAD(uint16_t, data, index, half);
        return half_decode(f16_format, half);
    case ATTN_BF16:
        LOAD(uint16_t, data, index, half);
        return half_decode(bf16_format, half);
    case ATTN_I32:
        LOAD(int32_t, data, index, i32);
        return (double)i32;
    case ATTN_I64:
        LOAD(int64_t, data, index, i64);
        return (double)i64;
    default:
        return (double)((const unsigned char *)data)[index];
    }
}

void test_store(attn_type type, void *data, int64_t index, double value) {
    float f32;
    uint16_t half;
    int32_t i32;
    int64_t i64;
    switch (type) {
    case ATTN_F32:
        f32 = (float)value;
        STORE(float, data, index, f32);
        return;
    case ATTN_F64:
        STORE(double, data, index, value);
        return;
    case ATTN_F16:
        half = half_encode(f16_format, value);
        STORE(uint16_t, data, index, half);
        return;
    case ATTN_BF16:
        half = half_encode(bf16_format, value);
        STORE(uint16_t, data, index, half);
        return;
    case ATTN_I32:
        i32 = (int32_t)value;
        STORE(int32_t, data, index, i32);
        return;
    case ATTN_I64:
        i64 = (int64_t)value;
        STORE(int64_t, data, index, i64);
        return;
    default:
        ((unsigned char *)data)[index] = (unsigned char)value;
        return;
    }
}

double test_round(attn_type type, double value) {
    double stored = 0;
    test_store(type, &stored, 0, value);
    return test_load(type, &stored, 0);
}

double test_unit_roundoff(attn_type type) {
    switch (type) {
    case ATTN_F64:
        return 0x1p-53;
    case ATTN_F16:
        return 0x1p-11;
    case ATTN_BF16:
        return 0x1p-8;
    default:
        return 0x1p-24;
    }
}

double test_underflow(attn_type type) {
    switch (type) {
    case ATTN_F64:
        return 0x1p-1074;
    case ATTN_F16:
        return 0x1p-25;
    case ATTN_BF16:
        return 0x1p-134;
    default:
        return 0x1p-150;
    }
}
