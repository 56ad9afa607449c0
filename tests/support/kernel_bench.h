/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the kernels of one instruction set are, beside what its multiply-adds can do at best. */
#ifndef TEST_SUPPORT_KERNEL_BENCH_H
#define TEST_SUPPORT_KERNEL_BENCH_H

#include "cpu/kernels/kernels.h"

/* Prints a table for the set's f32 and f64 kernels. */
void test_bench_kernels(const attn_kernel_set *set);

#endif
