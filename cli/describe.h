/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include "attn/attn.h"
#include <stddef.h>

/* A problem in words: "f32, batch 2, 16 heads over 8, 1024 rows, 2048 keys, dim 64, causal". Cut if it does not fit. */
void describe_problem(const attn_problem *problem, char *text, size_t size);

#endif
