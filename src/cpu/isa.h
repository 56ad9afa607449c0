/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of instruction sets, and what else the CPU engine asks the machine. */
#ifndef ATTN_CPU_ISA_H
#define ATTN_CPU_ISA_H

#include "cpu/kernels/kernels.h"

/* The best set of kernels among the bits of mask that this machine can run, or NULL. Asks the processor; keeps nothing. */
const attn_kernel_set *attn_cpu_choose(uint32_t mask);

typedef struct attn_cpu_caches {
    int64_t l1d, l2, l3; /* bytes; 0 where unknown */
} attn_cpu_caches;

attn_cpu_caches attn_cpu_read_caches(void);

/* Processors that this process may run on; at least 1. */
int attn_cpu_processors(void);

#endif
