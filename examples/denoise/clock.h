/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DENOISE_CLOCK_H
#define DENOISE_CLOCK_H

/* Seconds since some fixed moment. */
double clock_seconds(void);

#endif
