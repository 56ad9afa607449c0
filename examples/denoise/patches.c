/* SPDX-License-Identifier: Apache-2.0 */
#include "patches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the Gaussian over a patch, in pixels; measured to be good for sides of 5 and 7. */
#define CENTRE_WIDTH 1.5

/* Index `at` of a line of `length` that is mirrored at its first and last element, without repeating them. */
static int reflect(int at, int length) {
    if (length == 1) return 0;
    const int period = 2 * (length - 1);
    const int within = ((at % period) + period) % period;
    return within < length ? within : period - within;
}

static double centre_weight(int dx, int dy) {
    return exp(-(double)(dx * dx + dy * dy) / (2.0 * CENTRE_WIDTH * CENTRE_WIDTH));
}

/* Of all samples of a patch. */
static double total_weight(int radius, int channels) {
    double sum = 0.0;
    for (int dy = -radius; dy <= radius; dy++) {
        for (int dx = -radius; dx <= radius; dx++) sum += channels * centre_weight(dx, dy);
    }
    return sum;
}

/* Fills the columns of one place in the patch, for all pixels. */
static void fill_place(const struct picture *picture, int dx, int dy, float weight, float *column, int dim) {
    const int channels = picture->channels;
    for (int y = 0; y < picture->height; y++) {
        const float *line = picture->pixels + (ptrdiff_t)reflect(y + dy, picture->height) * picture->width * channels;
        for (int x = 0; x < picture->width; x++, column += dim) {
            const float *pixel = line + (ptrdiff_t)reflect(x + dx, picture->width) * channels;
            for (int c = 0; c < channels; c++) column[c] = weight * pixel[c];
        }
    }
}

static void fill_samples(const struct picture *picture, int side, struct patches *patches) {
    const int radius = side / 2;
    const double total = total_weight(radius, picture->channels);
    float *column = patches->rows;
    for (int dy = -radius; dy <= radius; dy++) {
        for (int dx = -radius; dx <= radius; dx++, column += picture->channels) {
            fill_place(picture, dx, dy, (float)sqrt(centre_weight(dx, dy) / total), column, patches->dim);
        }
    }
}

static void fill_positions(const struct picture *picture, double levels_per_pixel, struct patches *patches) {
    float *position = patches->rows + patches->dim - 2;
    for (int y = 0; y < picture->height; y++) {
        for (int x = 0; x < picture->width; x++, position += patches->dim) {
            position[0] = (float)(levels_per_pixel * x);
            position[1] = (float)(levels_per_pixel * y);
        }
    }
}

/*
 * Subtracts the mean row. Distances stay what they are, and the dot products get small: exp(-|p_i - p_j|^2 / h^2) is
 * taken apart into 2 p_i.p_j - |p_j|^2, and what these large numbers have in common (the picture's brightness) would
 * cost f32 the digits that tell two patches apart.
 */
static void centre(struct patches *patches) {
    for (int column = 0; column < patches->dim; column++) {
        float *first = patches->rows + column;
        double sum = 0.0;
        for (int64_t i = 0; i < patches->count; i++) sum += (double)first[i * patches->dim];
        const float mean = (float)(sum / (double)patches->count);
        for (int64_t i = 0; i < patches->count; i++) first[i * patches->dim] -= mean;
    }
}

int patches_create(const struct picture *picture, int side, double levels_per_pixel, struct patches *patches,
                   struct message *why) {
    patches->count = (int64_t)picture_pixels(picture);
    patches->dim = side * side * picture->channels + (levels_per_pixel > 0.0 ? 2 : 0);
    patches->rows = calloc((size_t)patches->count, (size_t)patches->dim * sizeof(float));
    if (patches->rows == NULL) return refuse(why, "no memory for %lld patches", (long long)patches->count);
    fill_samples(picture, side, patches);
    if (levels_per_pixel > 0.0) fill_positions(picture, levels_per_pixel, patches);
    centre(patches);
    return 1;
}

void patches_free(struct patches *patches) {
    free(patches->rows);
    memset(patches, 0, sizeof *patches);
}

double patches_squared_norm(const struct patches *patches, int64_t index) {
    const float *row = patches->rows + index * patches->dim;
    double sum = 0.0;
    for (int i = 0; i < patches->dim; i++) sum += (double)row[i] * (double)row[i];
    return sum;
}
