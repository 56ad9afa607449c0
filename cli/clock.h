/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_H
#define CLOCK_H

/* Seconds since some fixed moment, never set back. */
double clock_seconds(void);

#endif
