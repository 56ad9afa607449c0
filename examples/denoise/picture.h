/* SPDX-License-Identifier: Apache-2.0 */
/* A picture in memory, and the few things done with whole pictures. What can fail returns 1, or 0 with the reason in
 * *why. */
#ifndef DENOISE_PICTURE_H
#define DENOISE_PICTURE_H

#include <stddef.h>

#include "message.h"

/* Grey levels 0 .. 255 as floats, row by row, the channels of a pixel side by side. */
struct picture {
    int width, height;
    int channels;  /* 1: grey, 3: red, green, blue */
    float *pixels; /* [height, width, channels] */
};

struct rectangle {
    int x, y, width, height;
};

size_t picture_pixels(const struct picture *picture);
size_t picture_samples(const struct picture *picture); /* pixels times channels */

/* Takes memory for a picture, not cleared. Refuses more than 64 million pixels, whatever a file claims to hold. */
int picture_create(struct picture *picture, int width, int height, int channels, struct message *why);
/* Gives the memory back; a picture of all zeros is fine. */
void picture_free(struct picture *picture);

int picture_copy(const struct picture *from, struct picture *copy, struct message *why);
/* Refuses a part that is empty or sticks out. */
int picture_crop(const struct picture *whole, struct rectangle part, struct picture *crop, struct message *why);
/* Pictures of one size in a row, with thin white lines between them. */
int picture_side_by_side(const struct picture *pictures, int count, struct picture *row, struct message *why);

/* Rounds every sample to a whole level within 0 .. 255, as in a file. */
void picture_round(struct picture *picture);

/* Peak signal-to-noise ratio of two pictures of one size, in dB; infinite when they are equal. */
double picture_psnr(const struct picture *a, const struct picture *b);

#endif
