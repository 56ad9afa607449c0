/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_file.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

/* Not local to the function that calls setjmp, so that a jump leaves its values defined. */
struct reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr manager;
    jmp_buf escape;
    struct picture *picture;
    unsigned char *row;
    struct message *why;
    int done;
};

static void leave(j_common_ptr common) {
    struct reader *reader = common->client_data;
    char text[JMSG_LENGTH_MAX];
    common->err->format_message(common, text);
    refuse(reader->why, "damaged JPEG: %s", text);
    longjmp(reader->escape, 1);
}

/* libjpeg goes on after damage and fills in grey; here such a picture is refused. Bytes too many harm nothing. */
static void hear(j_common_ptr common, int level) {
    if (level < 0 && common->err->msg_code != JWRN_EXTRANEOUS_DATA) leave(common);
}

static int choose_colours(struct jpeg_decompress_struct *jpeg, struct message *why) {
    if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK) {
        return refuse(why, "a CMYK JPEG, made for printing: convert it to RGB first");
    }
    jpeg->out_color_space = jpeg->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    return 1;
}

static int read_rows(struct reader *reader) {
    struct picture *picture = reader->picture;
    const size_t count = (size_t)picture->width * (size_t)picture->channels;
    reader->row = malloc(count);
    if (reader->row == NULL) return refuse(reader->why, "no memory for a row of %d pixels", picture->width);
    for (size_t y = 0; y < (size_t)picture->height; y++) {
        jpeg_read_scanlines(&reader->jpeg, &reader->row, 1);
        for (size_t i = 0; i < count; i++) picture->pixels[y * count + i] = reader->row[i];
    }
    return 1;
}

static int read_picture(struct reader *reader, const unsigned char *data, size_t size) {
    struct jpeg_decompress_struct *jpeg = &reader->jpeg;
    jpeg_create_decompress(jpeg);
    jpeg_mem_src(jpeg, data, (unsigned long)size);
    jpeg_read_header(jpeg, TRUE);
    if (!choose_colours(jpeg, reader->why)) return 0;
    const int channels = jpeg->out_color_space == JCS_RGB ? 3 : 1;
    if (!picture_create(reader->picture, (int)jpeg->image_width, (int)jpeg->image_height, channels, reader->why))
        return 0;
    jpeg_start_decompress(jpeg);
    if (!read_rows(reader)) return 0;
    jpeg_finish_decompress(jpeg);
    return 1;
}

static void read_or_leave(struct reader *reader, const unsigned char *data, size_t size) {
    if (setjmp(reader->escape) == 0) reader->done = read_picture(reader, data, size);
}

int picture_decode_jpeg(const unsigned char *data, size_t size, struct picture *picture, struct message *why) {
    struct reader reader;
    memset(&reader, 0, sizeof reader);
    memset(picture, 0, sizeof *picture);
    reader.picture = picture;
    reader.why = why;
    reader.jpeg.err = jpeg_std_error(&reader.manager);
    reader.jpeg.client_data = &reader;
    reader.manager.error_exit = leave;
    reader.manager.emit_message = hear;
    read_or_leave(&reader, data, size);
    jpeg_destroy_decompress(&reader.jpeg);
    free(reader.row);
    if (!reader.done) picture_free(picture);
    return reader.done;
}
