/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the test of denoise needs beside a shell, written without any of its code:
 *
 *     pictures make FOLDER                              pictures of every kind, good and bad
 *     pictures psnr ROW.png                             of a row of three: that of the second and third to the first
 *     pictures apart ROW.png SIGMA H SIDE REACH         how far the third is from non-local means of the second,
 * computed pair by pair in f64: the largest difference in levels
 */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include <jpeglib.h>

enum { SIDE = 48, SEPARATOR = 3 };

static void fail(const char *what) {
    fprintf(stderr, "pictures: %s\n", what);
    exit(2);
}

static void *take(size_t size) {
    void *block = calloc(1, size);
    if (block == NULL) fail("no memory");
    return block;
}

/* ----------------------------------------------------------------------------------------------------------- making */

/* Slopes, an edge, a disc and stripes: something for every part of a patch to tell apart. */
static unsigned char level(int x, int y, int channel) {
    const int dx = x - 30, dy = y - 18;
    if (dx * dx + dy * dy < 100) return (unsigned char)(channel == 0 ? 220 : 60);
    if (y >= 34) return (unsigned char)(x / 4 % 2 == 0 ? 40 : 200);
    return (unsigned char)(60 + 2 * x + 30 * channel - (x < 16 ? 40 : 0));
}

static unsigned char *scene(int channels) {
    unsigned char *samples = take((size_t)SIDE * SIDE * (size_t)channels);
    for (int i = 0; i < SIDE * SIDE * channels; i++) {
        samples[i] = level(i / channels % SIDE, i / channels / SIDE, i % channels);
    }
    return samples;
}

static FILE *create(const char *folder, const char *name) {
    char path[1024];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) fail("the path is too long");
    FILE *file = fopen(path, "wb");
    if (file == NULL) fail(path);
    return file;
}

/* 8 bits a sample; channels 2 and 4 have transparency in the last one. */
static void make_png(const char *folder, const char *name, int channels) {
    static const png_uint_32 formats[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
    png_image image = {.version = PNG_IMAGE_VERSION, .width = SIDE, .height = SIDE, .format = formats[channels]};
    unsigned char *samples = scene(channels);
    FILE *file = create(folder, name);
    if (!png_image_write_to_stdio(&image, file, 0, samples, 0, NULL)) fail(image.message);
    fclose(file);
    free(samples);
}

/* Through libpng's older interface, for what the simple one does not write: any depth and colour type. */
static void make_raw_png(const char *folder, const char *name, int depth, int type, int row_bytes) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_color colours[4] = {{0, 0, 0}, {250, 40, 40}, {40, 250, 40}, {255, 255, 255}};
    unsigned char row[8 * SIDE];
    FILE *file = create(folder, name);
    png_init_io(png, file);
    png_set_IHDR(png, info, SIDE, SIDE, depth, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
                 PNG_FILTER_TYPE_BASE);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, colours, 4);
    png_write_info(png, info);
    for (int y = 0; y < SIDE; y++) {
        for (int i = 0; i < row_bytes; i++) row[i] = (unsigned char)(y * i);
        png_write_row(png, row);
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(file);
}

static void make_jpeg(const char *folder, const char *name, int channels, J_COLOR_SPACE colours) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr manager;
    jpeg.err = jpeg_std_error(&manager);
    jpeg_create_compress(&jpeg);
    FILE *file = create(folder, name);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = jpeg.image_height = SIDE;
    jpeg.input_components = channels;
    jpeg.in_color_space = colours;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 95, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    unsigned char *samples = scene(channels);
    for (int y = 0; y < SIDE; y++) {
        JSAMPROW row = samples + (ptrdiff_t)y * SIDE * channels;
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fclose(file);
    free(samples);
}

/* Only a header, which promises width x width grey pixels, an empty IDAT and an IEND; every checksum is right. */
static void make_promise(const char *folder, const char *name, unsigned width) {
    static const unsigned char head[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n', 0, 0, 0, 13};
    static const unsigned char tail[] = {0, 0, 0, 0, 'I', 'D', 'A', 'T', 0x35, 0xAF, 0x06, 0x1E,
                                         0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82};
    unsigned char header[21] = {'I', 'H', 'D', 'R', 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0};
    for (int i = 0; i < 4; i++) header[4 + i] = header[8 + i] = (unsigned char)(width >> (24 - 8 * i));
    unsigned crc = 0xFFFFFFFFu;
    for (int i = 0; i < 17; i++) {
        crc ^= header[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    for (int i = 0; i < 4; i++) header[17 + i] = (unsigned char)(~crc >> (24 - 8 * i));
    FILE *file = create(folder, name);
    fwrite(head, 1, sizeof head, file);
    fwrite(header, 1, sizeof header, file);
    fwrite(tail, 1, sizeof tail, file);
    fclose(file);
}

/* Of one level, so that the file is small. */
static void make_large(const char *folder, const char *name, int width, int height) {
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_GRAY};
    image.width = (png_uint_32)width;
    image.height = (png_uint_32)height;
    unsigned char *samples = take((size_t)width * (size_t)height);
    memset(samples, 100, (size_t)width * (size_t)height);
    FILE *file = create(folder, name);
    if (!png_image_write_to_stdio(&image, file, 0, samples, 0, NULL)) fail(image.message);
    fclose(file);
    free(samples);
}

static void make(const char *folder) {
    make_png(folder, "colour.png", 3);
    make_png(folder, "grey.png", 1);
    make_png(folder, "alpha.png", 4);
    make_png(folder, "grey-alpha.png", 2);
    make_raw_png(folder, "deep.png", 16, PNG_COLOR_TYPE_RGB, 6 * SIDE);
    make_raw_png(folder, "deep-grey.png", 16, PNG_COLOR_TYPE_GRAY, 2 * SIDE);
    make_raw_png(folder, "palette.png", 2, PNG_COLOR_TYPE_PALETTE, SIDE / 4);
    make_raw_png(folder, "bits.png", 1, PNG_COLOR_TYPE_GRAY, SIDE / 8);
    make_jpeg(folder, "colour.jpg", 3, JCS_RGB);
    make_jpeg(folder, "grey.jpg", 1, JCS_GRAYSCALE);
    make_jpeg(folder, "cmyk.jpg", 4, JCS_CMYK);
    make_promise(folder, "huge.png", 100000);
    make_promise(folder, "empty-data.png", 200);
    make_large(folder, "large.png", 2000, 600);
}

/* ---------------------------------------------------------------------------------------------------------- reading */

/* A row of three pictures of one size. */
struct row {
    int width, height, channels; /* of one picture */
    int stride;                  /* samples of a line of all three */
    unsigned char *samples;
};

static struct row read_row(const char *path) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path)) fail(image.message);
    const int channels = image.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    struct row row = {((int)image.width - 2 * SEPARATOR) / 3, (int)image.height, channels, 0, NULL};
    if (3 * row.width + 2 * SEPARATOR != (int)image.width) fail("no row of three pictures");
    row.stride = (int)image.width * channels;
    row.samples = take(PNG_IMAGE_SIZE(image));
    if (!png_image_finish_read(&image, NULL, row.samples, 0, NULL)) fail(image.message);
    return row;
}

static double sample(const struct row *row, int picture, int x, int y, int channel) {
    return row->samples[y * row->stride + (picture * (row->width + SEPARATOR) + x) * row->channels + channel];
}

static double psnr(const struct row *row, int picture) {
    double squares = 0.0;
    for (int y = 0; y < row->height; y++) {
        for (int i = 0; i < row->width * row->channels; i++) {
            const int x = i / row->channels, c = i % row->channels;
            squares += pow(sample(row, picture, x, y, c) - sample(row, 0, x, y, c), 2.0);
        }
    }
    return 10.0 * log10(255.0 * 255.0 * row->width * row->height * row->channels / squares);
}

/* -------------------------------------------------------------------------------------- non-local means, as defined */

struct weights {
    double sigma, h;
    int side;
    double reach; /* 0: distance does not count */
};

static int mirrored(int at, int length) {
    if (at < 0) return -at;
    return at < length ? at : 2 * (length - 1) - at;
}

/* Of the patches around two pixels: the mean of the squared differences, weighted by a Gaussian 1.5 pixels wide. */
static double distance(const struct row *row, const struct weights *weights, const int a[2], const int b[2]) {
    const int radius = weights->side / 2;
    double sum = 0.0, total = 0.0;
    for (int dy = -radius; dy <= radius; dy++) {
        for (int dx = -radius; dx <= radius; dx++) {
            const double weight = exp(-(dx * dx + dy * dy) / 4.5);
            const int ax = mirrored(a[0] + dx, row->width), ay = mirrored(a[1] + dy, row->height);
            const int bx = mirrored(b[0] + dx, row->width), by = mirrored(b[1] + dy, row->height);
            for (int c = 0; c < row->channels; c++) {
                sum += weight * pow(sample(row, 1, ax, ay, c) - sample(row, 1, bx, by, c), 2.0);
                total += weight;
            }
        }
    }
    return sum / total;
}

static double weight(const struct row *row, const struct weights *weights, const int a[2], const int b[2]) {
    const double h2 = weights->h * weights->h, dx = a[0] - b[0], dy = a[1] - b[1];
    if (a[0] == b[0] && a[1] == b[1]) return exp(-2.0 * weights->sigma * weights->sigma / h2);
    const double near = weights->reach > 0.0 ? (dx * dx + dy * dy) / (2.0 * weights->reach * weights->reach) : 0.0;
    return exp(-distance(row, weights, a, b) / h2 - near);
}

/* The largest difference of the third picture to the mean of the second around one pixel. */
static double apart_at(const struct row *row, const struct weights *weights, const int a[2]) {
    double sums[3] = {0.0, 0.0, 0.0}, total = 0.0, most = 0.0;
    for (int i = 0; i < row->width * row->height; i++) {
        const int b[2] = {i % row->width, i / row->width};
        const double w = weight(row, weights, a, b);
        for (int c = 0; c < row->channels; c++) sums[c] += w * sample(row, 1, b[0], b[1], c);
        total += w;
    }
    for (int c = 0; c < row->channels; c++) most = fmax(most, fabs(sums[c] / total - sample(row, 2, a[0], a[1], c)));
    return most;
}

static double apart(const struct row *row, const struct weights *weights) {
    double most = 0.0;
    for (int i = 0; i < row->width * row->height; i++) {
        const int a[2] = {i % row->width, i / row->width};
        most = fmax(most, apart_at(row, weights, a));
    }
    return most;
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "make") == 0) {
        make(words[2]);
        return 0;
    }
    if (count < 3) fail("make FOLDER, psnr ROW.png or apart ROW.png SIGMA H SIDE REACH");
    struct row row = read_row(words[2]);
    if (count == 3 && strcmp(words[1], "psnr") == 0) printf("%.2f %.2f\n", psnr(&row, 1), psnr(&row, 2));
    if (count == 7 && strcmp(words[1], "apart") == 0) {
        const struct weights weights = {atof(words[3]), atof(words[4]), atoi(words[5]), atof(words[6])};
        printf("%.3f\n", apart(&row, &weights));
    }
    free(row.samples);
    return 0;
}
