/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that cannot silently wrap. Each returns 1 and stores the result, or returns 0 when it does not fit. */
#ifndef ATTN_BASE_CHECKED_H
#define ATTN_BASE_CHECKED_H

#include <stddef.h>
#include <stdint.h>

int attn_mul_i64(int64_t a, int64_t b, int64_t *product);
int attn_add_i64(int64_t a, int64_t b, int64_t *sum);
int attn_mul_size(size_t a, size_t b, size_t *product);
int attn_add_size(size_t a, size_t b, size_t *sum);

/* a + b, held at the ends of int64_t instead of wrapping. */
int64_t attn_add_saturated(int64_t a, int64_t b);

#endif
