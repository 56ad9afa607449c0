/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"
#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which so much of the sorted values lies, by linear interpolation. */
static double quantile(const double *sorted, int count, double part) {
    double position = part * (count - 1);
    int below = (int)position;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

spread spread_of(const double *values, int count) {
    double sorted[ROUNDS_MOST];
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (!isnan(values[i])) sorted[n++] = values[i];
    }
    if (n == 0) return (spread){NAN, NAN, NAN};
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    return (spread){quantile(sorted, n, 0.25), quantile(sorted, n, 0.5), quantile(sorted, n, 0.75)};
}

spread spread_of_ratio(const double *a, const double *b, int count) {
    double ratios[ROUNDS_MOST];
    for (int i = 0; i < count; i++) ratios[i] = a[i] / b[i];
    return spread_of(ratios, count);
}
