/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory between two pages that no one may touch: a read or a write beyond its end (or before its begin) is a crash in
 * any build, not only under a sanitizer.
 */
#ifndef TEST_SUPPORT_GUARDED_H
#define TEST_SUPPORT_GUARDED_H

#include <stddef.h>

typedef struct test_block {
    unsigned char *data;
    size_t size;
    void *mapping;
    size_t mapping_size;
} test_block;

typedef enum test_block_edge {
    TEST_BLOCK_AT_BEGIN, /* data follows the first guard page, after `slack` bytes */
    TEST_BLOCK_AT_END    /* data ends `slack` bytes before the last guard page */
} test_block_edge;

/* Ends the process with a message when there is no memory: no test can go on. */
test_block test_block_make(size_t size, test_block_edge edge, size_t slack);
void test_block_free(test_block *block);

#endif
