/* SPDX-License-Identifier: Apache-2.0 */
#include "noise.h"

#include <math.h>
#include <stdlib.h>

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t next_word(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Uniform in (0, 1): the logarithm below wants no 0. */
static double next_uniform(uint64_t *state) {
    return ((double)(next_word(state) >> 12) + 0.5) * 0x1p-52;
}

/* Box and Muller, one of the pair. */
static double next_gaussian(uint64_t *state) {
    const double radius = sqrt(-2.0 * log(next_uniform(state)));
    return radius * cos(6.283185307179586 * next_uniform(state));
}

void noise_add(struct picture *picture, double sigma, uint64_t seed) {
    for (size_t i = 0; i < picture_samples(picture); i++) {
        picture->pixels[i] += (float)(sigma * next_gaussian(&seed));
    }
}

/*
 * The difference of two Laplacians (Immerkaer, Fast noise variance estimation, 1996): a mask that answers 0 to flat
 * areas, slopes and straight edges along its axes. The squares of its coefficients sum up to 36.
 *
 *      1 -2  1
 *     -2  4 -2
 *      1 -2  1
 */
static float response(const float *centre, ptrdiff_t column, ptrdiff_t row) {
    const float corners = centre[-row - column] + centre[-row + column] + centre[row - column] + centre[row + column];
    const float sides = centre[-row] + centre[row] + centre[-column] + centre[column];
    return fabsf(corners - 2.0f * sides + 4.0f * centre[0]) / 6.0f;
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int noise_estimate(const struct picture *picture, double *sigma, struct message *why) {
    *sigma = 0.0;
    if (picture->width < 3 || picture->height < 3) return 1;
    const ptrdiff_t column = picture->channels, row = column * picture->width;
    float *responses = malloc(picture_samples(picture) * sizeof(float));
    if (responses == NULL) return refuse(why, "no memory to estimate the noise");
    size_t count = 0;
    for (ptrdiff_t y = 1; y < picture->height - 1; y++) {
        for (ptrdiff_t i = column; i < row - column; i++) {
            responses[count++] = response(picture->pixels + y * row + i, column, row);
        }
    }
    /* The median passes over the few places with texture; of a Gaussian's magnitudes it is 0.6745 sigma. */
    qsort(responses, count, sizeof(float), ascending);
    *sigma = (double)responses[count / 2] / 0.6745;
    free(responses);
    return 1;
}
