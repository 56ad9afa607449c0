/* SPDX-License-Identifier: Apache-2.0 */
/* Memory through the engine's hooks, aligned for any vector and any cache line. */
#ifndef ATTN_BASE_MEMORY_H
#define ATTN_BASE_MEMORY_H

#include "attn/attn.h"

enum { ATTN_ALIGNMENT = 64 };

typedef struct attn_memory {
    attn_allocate allocate; /* never NULL */
    attn_release release;   /* never NULL */
    void *user;
} attn_memory;

/* The hooks, or malloc and free where they are NULL. */
attn_memory attn_memory_from(attn_allocate allocate, attn_release release, void *user);

/* size bytes aligned to ATTN_ALIGNMENT, not cleared; NULL if there is no memory. size 0 gives a valid block. */
void *attn_memory_take(const attn_memory *memory, size_t size);
/* Gives a block of attn_memory_take back. NULL is fine. */
void attn_memory_give(const attn_memory *memory, void *block);

/* size rounded up to ATTN_ALIGNMENT; 0 on overflow of a size that is not 0. */
size_t attn_align_size(size_t size);

#endif
