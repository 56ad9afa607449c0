/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few threads that wait for work. One job at a time: a caller that finds the pool busy runs its job alone, which
 * changes no result, as results do not depend on the number of threads.
 */
#ifndef ATTN_CPU_POOL_H
#define ATTN_CPU_POOL_H

#include "base/memory.h"

typedef struct attn_pool attn_pool;

/* `threads` counts the caller's: threads - 1 are started. */
attn_status attn_pool_open(const attn_memory *memory, int threads, attn_pool **pool, attn_reason *reason);
void attn_pool_close(attn_pool *pool); /* NULL is fine */

/* Calls task(arg, i) for each i of 0 .. count - 1 and returns when all have returned. */
void attn_pool_run(attn_pool *pool, int count, void (*task)(void *arg, int index), void *arg);

#endif
