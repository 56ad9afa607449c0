/* SPDX-License-Identifier: Apache-2.0 */
/* Medians of rounds. A round in which something was not measured holds NAN and is left out. */
#ifndef STATS_H
#define STATS_H

enum { ROUNDS_MOST = 200 };

typedef struct spread {
    double low, median, high; /* quartiles; NAN if nothing was measured */
} spread;

spread spread_of(const double *values, int count);

/* Of a[i] / b[i]: both of the same round, so that a machine that changes its speed between rounds cancels out. */
spread spread_of_ratio(const double *a, const double *b, int count);

#endif
