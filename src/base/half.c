/* SPDX-License-Identifier: Apache-2.0 */
#include "base/half.h"

#include <string.h>

enum { F16_MANTISSA_BITS = 10, BF16_MANTISSA_BITS = 7 };

static uint32_t bits_of_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float f32_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* value / 2^shift to the nearest whole number, ties to even. shift is 1 .. 63. */
static uint64_t shift_right_rounded(uint64_t value, int shift) {
    uint64_t quotient = value >> shift;
    uint64_t remainder = value & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    return quotient + (remainder > half || (remainder == half && (quotient & 1)));
}

/*
 * The double in a 16-bit format of one sign bit, 15 - mantissa_bits exponent bits and mantissa_bits, rounded once. The
 * formats differ in nothing else, and every float is a double, so this one function is all four conversions to 16 bits
 * (but for the short cut of bf16 from f32).
 */
static uint16_t narrow(double value, int mantissa_bits) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t sign = bits >> 63 << 15;
    int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int bias = (1 << (14 - mantissa_bits)) - 1;
    uint64_t infinity = (uint64_t)(2 * bias + 1) << mantissa_bits;

    if (exponent == 1024 && fraction != 0) {
        uint64_t quiet = UINT64_C(1) << (mantissa_bits - 1);
        return (uint16_t)(sign | infinity | quiet | fraction >> (52 - mantissa_bits));
    }
    if (exponent > bias) return (uint16_t)(sign | infinity);

    int shift = 52 - mantissa_bits;
    int below_normal = 1 - bias - exponent; /* > 0: subnormal in the format, the last place stays where it is */
    if (below_normal > 0) shift += below_normal;
    if (shift > 53)
        return (uint16_t)sign; /* under half of the smallest subnormal; doubles that are subnormal as well */
    uint64_t mantissa = shift_right_rounded(fraction | UINT64_C(1) << 52, shift);
    /* The mantissa's leading one, and a carry out of rounding, count the exponent up by themselves. */
    uint64_t magnitude = mantissa;
    if (below_normal <= 0) magnitude += (uint64_t)(exponent + bias - 1) << mantissa_bits;
    return (uint16_t)(sign | magnitude);
}

float attn_f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits >> 15) << 31;
    uint32_t exponent = bits >> 10 & 0x1F;
    uint32_t fraction = bits & 0x3FF;
    if (exponent == 0) {
        float magnitude = (float)fraction * 0x1p-24f;
        return f32_of_bits(sign | bits_of_f32(magnitude));
    }
    uint32_t exponent_f32 = exponent == 0x1F ? 0xFF : exponent - 15 + 127;
    return f32_of_bits(sign | exponent_f32 << 23 | fraction << 13);
}

uint16_t attn_f16_from_f32(float value) {
    return narrow((double)value, F16_MANTISSA_BITS);
}

uint16_t attn_f16_from_f64(double value) {
    return narrow(value, F16_MANTISSA_BITS);
}

float attn_bf16_to_f32(uint16_t bits) {
    return f32_of_bits((uint32_t)bits << 16);
}

uint16_t attn_bf16_from_f32(float value) {
    uint32_t bits = bits_of_f32(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | 0x40); /* NaN: quiet, lest it rounds to Inf */
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

uint16_t attn_bf16_from_f64(double value) {
    return narrow(value, BF16_MANTISSA_BITS);
}

static const char *element(attn_type type, const void *data, int64_t index) {
    return (const char *)data + index * (int64_t)attn_type_size(type);
}

static double load_f32(const char *from) {
    float value;
    memcpy(&value, from, sizeof value);
    return (double)value;
}

static double load_f64(const char *from) {
    double value;
    memcpy(&value, from, sizeof value);
    return value;
}

static uint16_t load_bits16(const char *from) {
    uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    return bits;
}

double attn_load(attn_type type, const void *data, int64_t index) {
    const char *from = element(type, data, index);
    switch ((int)type) {
    case ATTN_F16:
        return (double)attn_f16_to_f32(load_bits16(from));
    case ATTN_BF16:
        return (double)attn_bf16_to_f32(load_bits16(from));
    case ATTN_F64:
        return load_f64(from);
    default:
        return load_f32(from);
    }
}

void attn_load_row(attn_type type, const void *data, int64_t index, int64_t stride, int64_t count, double *row) {
    const char *from = element(type, data, index);
    int64_t step = stride * (int64_t)attn_type_size(type);
    switch ((int)type) {
    case ATTN_F16:
        for (int64_t n = 0; n < count; n++) row[n] = (double)attn_f16_to_f32(load_bits16(from + n * step));
        break;
    case ATTN_BF16:
        for (int64_t n = 0; n < count; n++) row[n] = (double)attn_bf16_to_f32(load_bits16(from + n * step));
        break;
    case ATTN_F64:
        for (int64_t n = 0; n < count; n++) row[n] = load_f64(from + n * step);
        break;
    default:
        for (int64_t n = 0; n < count; n++) row[n] = load_f32(from + n * step);
        break;
    }
}

void attn_store(attn_type type, void *data, int64_t index, double value) {
    char *to = (char *)data + index * (int64_t)attn_type_size(type);
    float single;
    uint16_t bits;
    switch ((int)type) {
    case ATTN_F16:
        bits = attn_f16_from_f64(value);
        memcpy(to, &bits, sizeof bits);
        break;
    case ATTN_BF16:
        bits = attn_bf16_from_f64(value);
        memcpy(to, &bits, sizeof bits);
        break;
    case ATTN_F64:
        memcpy(to, &value, sizeof value);
        break;
    default:
        single = (float)value;
        memcpy(to, &single, sizeof single);
        break;
    }
}

int64_t attn_load_integer(attn_type type, const void *data, int64_t index) {
    const char *from = element(type, data, index);
    if (type == ATTN_I64) {
        int64_t value;
        memcpy(&value, from, sizeof value);
        return value;
    }
    int32_t value;
    memcpy(&value, from, sizeof value);
    return value;
}
