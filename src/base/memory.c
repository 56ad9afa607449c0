/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdlib.h>

#include "base/checked.h"

/* What attn_memory_give needs to know; it lies right before the aligned block. */
typedef struct block_header {
    void *start; /* as the hook gave it */
    size_t size; /* as the hook was asked for */
} block_header;

static void *allocate_from_heap(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void release_to_heap(void *user, void *block, size_t size) {
    (void)user;
    (void)size;
    free(block);
}

attn_memory attn_memory_from(attn_allocate allocate, attn_release release, void *user) {
    attn_memory memory = {allocate_from_heap, release_to_heap, NULL};
    if (allocate && release) {
        memory.allocate = allocate;
        memory.release = release;
        memory.user = user;
    }
    return memory;
}

void *attn_memory_take(const attn_memory *memory, size_t size) {
    size_t total;
    if (!attn_add_size(size, sizeof(block_header) + ATTN_ALIGNMENT, &total)) return NULL;
    char *start = memory->allocate(memory->user, total);
    if (!start) return NULL;
    size_t beyond = (size_t)((uintptr_t)(start + sizeof(block_header)) % ATTN_ALIGNMENT);
    char *block = start + sizeof(block_header) + (beyond ? ATTN_ALIGNMENT - beyond : 0);
    block_header *header = (block_header *)(void *)block - 1;
    header->start = start;
    header->size = total;
    return block;
}

void attn_memory_give(const attn_memory *memory, void *block) {
    if (!block) return;
    block_header header = ((block_header *)block)[-1];
    memory->release(memory->user, header.start, header.size);
}

size_t attn_align_size(size_t size) {
    size_t beyond = size % ATTN_ALIGNMENT;
    if (beyond == 0) return size;
    size_t aligned;
    return attn_add_size(size, ATTN_ALIGNMENT - beyond, &aligned) ? aligned : 0;
}
