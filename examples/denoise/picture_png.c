/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_file.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

/* libpng is content once it has the last pixel; a file that ends before its IEND chunk was cut off all the same. */
static int is_whole(const unsigned char *data, size_t size) {
    size_t at = 8;
    while (size - at >= 12) {
        const size_t length =
            (size_t)data[at] << 24 | (size_t)data[at + 1] << 16 | (size_t)data[at + 2] << 8 | data[at + 3];
        if (length > size - at - 12) return 0;
        if (memcmp(data + at + 4, "IEND", 4) == 0) return 1;
        at += 12 + length;
    }
    return 0;
}

static int read_samples(png_image *image, struct picture *picture, struct message *why) {
    static const png_color white = {255, 255, 255};
    const size_t count = picture_samples(picture);
    unsigned char *samples = malloc(count);
    if (samples == NULL) return refuse(why, "no memory for %d x %d pixels", picture->width, picture->height);
    const int done = png_image_finish_read(image, &white, samples, 0, NULL);
    for (size_t i = 0; done && i < count; i++) picture->pixels[i] = samples[i];
    free(samples);
    return done ? 1 : refuse(why, "damaged PNG: %s", image->message);
}

static int read_image(png_image *image, struct picture *picture, struct message *why) {
    const int colour = (image->format & PNG_FORMAT_FLAG_COLOR) != 0;
    /* Files of 16 bits a sample that do not say otherwise are as non-linear as those of 8. */
    image->flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    image->format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    if (!picture_create(picture, (int)image->width, (int)image->height, colour ? 3 : 1, why)) return 0;
    if (read_samples(image, picture, why)) return 1;
    picture_free(picture);
    return 0;
}

int picture_decode_png(const unsigned char *data, size_t size, struct picture *picture, struct message *why) {
    if (!is_whole(data, size)) return refuse(why, "the PNG is cut off: it has %zu bytes and no end", size);
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&image, data, size)) return refuse(why, "damaged PNG: %s", image.message);
    const int done = read_image(&image, picture, why);
    png_image_free(&image);
    return done;
}
