/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"

/* Signed overflow is undefined, so each case is compared with its limit before anything is computed. */
int attn_mul_i64(int64_t a, int64_t b, int64_t *product) {
    int fits;
    if (a == 0 || b == 0) {
        fits = 1;
    } else if (a > 0) {
        fits = b > 0 ? a <= INT64_MAX / b : b >= INT64_MIN / a;
    } else {
        fits = b > 0 ? a >= INT64_MIN / b : b >= INT64_MAX / a;
    }
    if (fits) *product = a * b;
    return fits;
}

int attn_add_i64(int64_t a, int64_t b, int64_t *sum) {
    int fits = b >= 0 ? a <= INT64_MAX - b : a >= INT64_MIN - b;
    if (fits) *sum = a + b;
    return fits;
}

int attn_mul_size(size_t a, size_t b, size_t *product) {
    if (a != 0 && b > SIZE_MAX / a) return 0;
    *product = a * b;
    return 1;
}

int attn_add_size(size_t a, size_t b, size_t *sum) {
    if (b > SIZE_MAX - a) return 0;
    *sum = a + b;
    return 1;
}

int64_t attn_add_saturated(int64_t a, int64_t b) {
    int64_t sum;
    if (attn_add_i64(a, b, &sum)) return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}
