/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures in files. Functions return 1 for success, or 0 with the reason in *why. */
#ifndef DENOISE_PICTURE_FILE_H
#define DENOISE_PICTURE_FILE_H

#include "picture.h"

/* A PNG (any kind: 16-bit samples are reduced to 8, transparency is laid over white) or a JPEG (grey or colour), told
 * apart by content. The reason does not repeat the path. */
int picture_read(const char *path, struct picture *picture, struct message *why);

/* Refuses a path that picture_write could not write, so that nobody waits for a result that is then lost. */
int picture_may_write(const char *path, struct message *why);

/* Writes an 8-bit PNG. The file appears under its name when it is complete, or not at all. */
int picture_write(const char *path, const struct picture *picture, struct message *why);

/* The two formats: a whole file in memory. */
int picture_decode_png(const unsigned char *data, size_t size, struct picture *picture, struct message *why);
int picture_decode_jpeg(const unsigned char *data, size_t size, struct picture *picture, struct message *why);

#endif
