/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS = 64 * 1000 * 1000, SEPARATOR = 3 };

size_t picture_pixels(const struct picture *picture) {
    return (size_t)picture->width * (size_t)picture->height;
}

size_t picture_samples(const struct picture *picture) {
    return picture_pixels(picture) * (size_t)picture->channels;
}

int picture_create(struct picture *picture, int width, int height, int channels, struct message *why) {
    memset(picture, 0, sizeof *picture);
    if (width < 1 || height < 1) return refuse(why, "a picture of %d x %d pixels is empty", width, height);
    if (width > MOST_PIXELS / height) {
        return refuse(why, "%d x %d pixels is more than the %d million that are read", width, height,
                      MOST_PIXELS / 1000000);
    }
    picture->width = width;
    picture->height = height;
    picture->channels = channels;
    picture->pixels = malloc(picture_samples(picture) * sizeof(float));
    if (picture->pixels == NULL) return refuse(why, "no memory for %d x %d pixels", width, height);
    return 1;
}

void picture_free(struct picture *picture) {
    free(picture->pixels);
    memset(picture, 0, sizeof *picture);
}

int picture_copy(const struct picture *from, struct picture *copy, struct message *why) {
    if (!picture_create(copy, from->width, from->height, from->channels, why)) return 0;
    memcpy(copy->pixels, from->pixels, picture_samples(from) * sizeof(float));
    return 1;
}

static float *sample(const struct picture *picture, int x, int y) {
    return picture->pixels + ((size_t)y * (size_t)picture->width + (size_t)x) * (size_t)picture->channels;
}

/* Copies a part of `from` to the upper edge of `to`, to_x pixels from the left. */
static void copy_part(const struct picture *from, struct rectangle part, struct picture *to, int to_x) {
    const size_t row_bytes = (size_t)part.width * (size_t)from->channels * sizeof(float);
    for (int y = 0; y < part.height; y++) memcpy(sample(to, to_x, y), sample(from, part.x, part.y + y), row_bytes);
}

int picture_crop(const struct picture *whole, struct rectangle part, struct picture *crop, struct message *why) {
    if (part.width < 1 || part.height < 1 || part.x < 0 || part.y < 0 || part.width > whole->width ||
        part.height > whole->height || part.x > whole->width - part.width || part.y > whole->height - part.height) {
        return refuse(why, "the crop %dx%d+%d+%d is not inside the picture of %d x %d", part.width, part.height, part.x,
                      part.y, whole->width, whole->height);
    }
    if (!picture_create(crop, part.width, part.height, whole->channels, why)) return 0;
    copy_part(whole, part, crop, 0);
    return 1;
}

int picture_side_by_side(const struct picture *pictures, int count, struct picture *row, struct message *why) {
    const struct rectangle all = {0, 0, pictures[0].width, pictures[0].height};
    const int width = count * all.width + (count - 1) * SEPARATOR;
    if (!picture_create(row, width, all.height, pictures[0].channels, why)) return 0;
    for (size_t i = 0; i < picture_samples(row); i++) row->pixels[i] = 255.0f;
    for (int i = 0; i < count; i++) copy_part(&pictures[i], all, row, i * (all.width + SEPARATOR));
    return 1;
}

void picture_round(struct picture *picture) {
    for (size_t i = 0; i < picture_samples(picture); i++) {
        picture->pixels[i] = fminf(fmaxf(rintf(picture->pixels[i]), 0.0f), 255.0f);
    }
}

double picture_psnr(const struct picture *a, const struct picture *b) {
    double squares = 0.0;
    for (size_t i = 0; i < picture_samples(a); i++) {
        const double difference = (double)a->pixels[i] - (double)b->pixels[i];
        squares += difference * difference;
    }
    return 10.0 * log10(255.0 * 255.0 * (double)picture_samples(a) / squares);
}
