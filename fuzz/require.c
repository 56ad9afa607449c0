/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>

void fuzz_require(int holds, const char *what, const char *file, int line) {
    if (holds) return;
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}
