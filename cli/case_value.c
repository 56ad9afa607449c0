/* SPDX-License-Identifier: Apache-2.0 */
#include "case_value.h"
#include <math.h>

/* A 16-bit binary float: sign, exponent, and `fraction_bits` of fraction. */
typedef struct format16 {
    int fraction_bits;
    int least_exponent; /* of a normal number */
} format16;

static const format16 binary16 = {10, -14};
static const format16 bfloat16 = {7, -126};

static double widen(format16 format, uint16_t bits) {
    int fraction = bits & ((1 << format.fraction_bits) - 1);
    int exponent = (bits & 0x7fff) >> format.fraction_bits;
    int all_ones = 0x7fff >> format.fraction_bits;
    double magnitude;
    if (exponent == all_ones)
        magnitude = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, format.least_exponent - format.fraction_bits);
    else
        magnitude =
            ldexp(fraction + (1 << format.fraction_bits), exponent - 1 + format.least_exponent - format.fraction_bits);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

static uint16_t narrow(format16 format, double value) {
    const unsigned sign = signbit(value) ? 0x8000u : 0u;
    const unsigned infinity = (0x7fffu >> format.fraction_bits) << format.fraction_bits;
    if (isnan(value)) return (uint16_t)(sign | infinity | (1u << (format.fraction_bits - 1)));
    if (isinf(value)) return (uint16_t)(sign | infinity);
    if (value == 0.0) return (uint16_t)sign;
    int exponent; /* |value| is in [2^(exponent - 1), 2^exponent) */
    (void)frexp(value, &exponent);
    int unit = (exponent - 1 > format.least_exponent ? exponent - 1 : format.least_exponent) - format.fraction_bits;
    if (exponent - 1 > -format.least_exponent + 1) return (uint16_t)(sign | infinity);
    unsigned units = (unsigned)nearbyint(ldexp(fabs(value), -unit));
    /* The implicit one of a normal number carries into the exponent field, and so does rounding up to a power of two. */
    unsigned bits = ((unsigned)(unit + format.fraction_bits - format.least_exponent) << format.fraction_bits) + units;
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

double case_load(attn_type type, const void *data, int64_t index) {
    switch (type) {
    case ATTN_F16:
        return widen(binary16, ((const uint16_t *)data)[index]);
    case ATTN_BF16:
        return widen(bfloat16, ((const uint16_t *)data)[index]);
    case ATTN_F64:
        return ((const double *)data)[index];
    default:
        return (double)((const float *)data)[index];
    }
}

void case_store(attn_type type, void *data, int64_t index, double value) {
    switch (type) {
    case ATTN_F16:
        ((uint16_t *)data)[index] = narrow(binary16, value);
        break;
    case ATTN_BF16:
        ((uint16_t *)data)[index] = narrow(bfloat16, value);
        break;
    case ATTN_F64:
        ((double *)data)[index] = value;
        break;
    default:
        ((float *)data)[index] = (float)value;
        break;
    }
}

int64_t case_load_integer(attn_type type, const void *data, int64_t index) {
    return type == ATTN_I64 ? ((const int64_t *)data)[index] : ((const int32_t *)data)[index];
}
