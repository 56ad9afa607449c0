/* SPDX-License-Identifier: Apache-2.0 */
/* What a pixel looks like from around: the rows of q and k. */
#ifndef DENOISE_PATCHES_H
#define DENOISE_PATCHES_H

#include <stdint.h>

#include "picture.h"

struct patches {
    int64_t count; /* one a pixel */
    int dim;       /* side * side * channels, and two for the position if it counts */
    float *rows;   /* [count, dim] */
};

/*
 * The patch of side x side pixels around every pixel, the picture reflected at its borders. Samples are weighted
 * (by a Gaussian around the centre) such that the squared distance of two rows is the weighted mean of the squared
 * differences of their samples: 2 sigma^2 where they differ by noise alone. With levels_per_pixel > 0 the distance of
 * two pixels in the picture, times that, joins as if it were a difference of levels.
 */
int patches_create(const struct picture *picture, int side, double levels_per_pixel, struct patches *patches,
                   struct message *why);
void patches_free(struct patches *patches);

/* Of one row. */
double patches_squared_norm(const struct patches *patches, int64_t index);

#endif
