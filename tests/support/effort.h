/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a test that repeats itself over many sizes is to run. */
#ifndef TEST_SUPPORT_EFFORT_H
#define TEST_SUPPORT_EFFORT_H

#include <stdint.h>

/* ATTN_TEST_GRID, the number of problems of the grid; 3000 where it is not set. */
int64_t test_grid_count(void);

/* 1 if that is less than 1000: a sanitizer or an emulator runs this, where the same lines count and time is dear. */
int test_is_short(void);

#endif
