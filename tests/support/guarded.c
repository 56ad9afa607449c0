/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "guarded.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

test_block test_block_make(size_t size, test_block_edge edge, size_t slack) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (size + slack + page - 1) / page * page;
    test_block block = {NULL, size, NULL, inner + 2 * page};
    block.mapping = mmap(NULL, block.mapping_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *first = (unsigned char *)block.mapping + page;
    if (block.mapping == MAP_FAILED || (inner > 0 && mprotect(first, inner, PROT_READ | PROT_WRITE) != 0)) {
        fprintf(stderr, "no memory for a block of %zu bytes\n", size);
        exit(2);
    }
    block.data = edge == TEST_BLOCK_AT_BEGIN ? first + slack : first + (inner - slack - size);
    return block;
}

void test_block_free(test_block *block) {
    if (block->mapping) munmap(block->mapping, block->mapping_size);
    *block = (test_block){NULL, 0, NULL, 0};
}
