/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of denoise. */
#ifndef DENOISE_OPTIONS_H
#define DENOISE_OPTIONS_H

#include <stdint.h>

#include "picture.h"

struct options {
    const char *input, *output;
    int has_crop, has_corner; /* without a corner the crop is taken from the middle */
    struct rectangle crop;
    double sigma;    /* of the noise to add; 0: none */
    double strength; /* h as a multiple of the noise; 0: chosen for the picture */
    double reach;
    int side, threads;
    uint64_t seed;
    int help;
};

extern const char options_help[];

/* Returns 1, or 0 with what is wrong in *why. */
int options_read(int count, char **words, struct options *options, struct message *why);

#endif
