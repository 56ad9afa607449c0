/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "picture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILE_BYTES = 256 << 20, FIRST_READ = 1 << 16, PATH_BYTES = 4096 };

/* --------------------------------------------------------------------------------------------- reading */

struct bytes {
    unsigned char *data;
    size_t size, room;
};

static int bytes_grow(struct bytes *bytes, struct message *why) {
    const size_t room = bytes->room == 0 ? FIRST_READ : 2 * bytes->room;
    if (room > MOST_FILE_BYTES) return refuse(why, "the file is larger than %d MiB", MOST_FILE_BYTES >> 20);
    unsigned char *data = realloc(bytes->data, room);
    if (data == NULL) return refuse(why, "no memory for %zu bytes of it", room);
    bytes->data = data;
    bytes->room = room;
    return 1;
}

/* Whatever can be read to its end, pipes too. */
static int read_stream(FILE *stream, struct bytes *bytes, struct message *why) {
    size_t got;
    do {
        if (bytes->size == bytes->room && !bytes_grow(bytes, why)) return 0;
        got = fread(bytes->data + bytes->size, 1, bytes->room - bytes->size, stream);
        bytes->size += got;
    } while (got > 0);
    return ferror(stream) ? refuse(why, "%s", strerror(errno)) : 1;
}

static int decode(const struct bytes *file, struct picture *picture, struct message *why) {
    static const unsigned char png[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    static const unsigned char jpeg[3] = {0xFF, 0xD8, 0xFF};
    if (file->size == 0) return refuse(why, "the file is empty");
    if (file->size >= sizeof png && memcmp(file->data, png, sizeof png) == 0) {
        return picture_decode_png(file->data, file->size, picture, why);
    }
    if (file->size >= sizeof jpeg && memcmp(file->data, jpeg, sizeof jpeg) == 0) {
        return picture_decode_jpeg(file->data, file->size, picture, why);
    }
    return refuse(why, "neither a PNG nor a JPEG");
}

int picture_read(const char *path, struct picture *picture, struct message *why) {
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) return refuse(why, "%s", strerror(errno));
    struct bytes file = {NULL, 0, 0};
    const int done = read_stream(stream, &file, why) && decode(&file, picture, why);
    fclose(stream);
    free(file.data);
    return done;
}

/* --------------------------------------------------------------------------------------------- writing */

/* Beside the final name, for a rename cannot leave its file system. */
static int temporary_name(const char *path, char name[PATH_BYTES], struct message *why) {
    const int length = snprintf(name, PATH_BYTES, "%s.%ld.part", path, (long)getpid());
    return length < PATH_BYTES ? 1 : refuse(why, "the name is longer than %d bytes", PATH_BYTES);
}

int picture_may_write(const char *path, struct message *why) {
    struct stat old;
    /* A rename would put the picture in the place of a folder or a device. */
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode)) return refuse(why, "exists and is no ordinary file");
    char name[PATH_BYTES];
    if (!temporary_name(path, name, why)) return 0;
    const int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0) return refuse(why, "%s", strerror(errno));
    close(file);
    unlink(name);
    return 1;
}

static unsigned char *rounded_bytes(const struct picture *picture) {
    const size_t count = picture_samples(picture);
    unsigned char *samples = malloc(count);
    if (samples == NULL) return NULL;
    for (size_t i = 0; i < count; i++) samples[i] = (unsigned char)picture->pixels[i];
    return samples;
}

static int write_png(FILE *stream, const struct picture *picture, struct message *why) {
    unsigned char *samples = rounded_bytes(picture);
    if (samples == NULL) return refuse(why, "no memory to write %d x %d pixels", picture->width, picture->height);
    png_image image = {.version = PNG_IMAGE_VERSION};
    image.width = (png_uint_32)picture->width;
    image.height = (png_uint_32)picture->height;
    image.format = picture->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    const int done = png_image_write_to_stdio(&image, stream, 0, samples, 0, NULL);
    free(samples);
    return done ? 1 : refuse(why, "%s", image.message);
}

static int write_named(const char *name, const struct picture *picture, struct message *why) {
    const int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    FILE *stream = file < 0 ? NULL : fdopen(file, "wb");
    if (stream == NULL) return refuse(why, "%s", strerror(errno));
    const int done = write_png(stream, picture, why);
    if (fclose(stream) != 0) return done ? refuse(why, "%s", strerror(errno)) : 0;
    return done;
}

int picture_write(const char *path, const struct picture *picture, struct message *why) {
    char name[PATH_BYTES];
    if (!temporary_name(path, name, why)) return 0;
    int done = write_named(name, picture, why);
    if (done && rename(name, path) != 0) done = refuse(why, "%s", strerror(errno));
    if (!done) unlink(name);
    return done;
}
