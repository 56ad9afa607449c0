/* SPDX-License-Identifier: Apache-2.0 */
#include "effort.h"

#include <stdlib.h>

int64_t test_grid_count(void) {
    const char *text = getenv("ATTN_TEST_GRID");
    return text && *text ? strtoll(text, NULL, 0) : 3000;
}

int test_is_short(void) {
    return test_grid_count() < 1000;
}
