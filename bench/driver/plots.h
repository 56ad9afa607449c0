/* SPDX-License-Identifier: Apache-2.0 */
/* The results as pictures, by gnuplot. */
#ifndef PLOTS_H
#define PLOTS_H

#include "results.h"

/* Writes PNG and SVG files into a folder. Returns 0, or -1 after a message. */
int plots_write(const results *r, const char *folder);

#endif
