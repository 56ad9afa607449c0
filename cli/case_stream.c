/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "case_stream.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* First allocation for a stream of unknown length; it doubles from there as bytes arrive. */
#define FIRST_BLOCK ((size_t)16 << 20)

static int is_standard(const char *path) {
    return strcmp(path, "-") == 0;
}

const char *case_input_name(const char *path) {
    return is_standard(path) ? "standard input" : path;
}

const char *case_output_name(const char *path) {
    return is_standard(path) ? "standard output" : path;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

case_input case_input_from_memory(const void *bytes, size_t size) {
    static const unsigned char nothing[1] = {0};
    case_input input = {bytes != NULL ? bytes : nothing, NULL, (int64_t)size};
    return input;
}

/* Bytes from the stream's position to the end of its file, or -1. Files of /proc and the like say 0 and hold more. */
static int64_t bytes_left(FILE *stream) {
    struct stat status;
    if (fstat(fileno(stream), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return -1;
    off_t position = ftello(stream);
    if (position < 0 || position > status.st_size) return -1;
    return (int64_t)(status.st_size - position);
}

case_input case_input_from_stream(FILE *stream) {
    case_input input = {NULL, stream, bytes_left(stream)};
    return input;
}

static case_status fail_truncated(case_error *error, const char *what, size_t size, uint64_t present) {
    return case_fail(error, CASE_ERROR_FORMAT, "truncated: %s should have %zu bytes, only %" PRIu64 " are there", what,
                     size, present);
}

static case_status read_stream(case_input *input, void *bytes, size_t size, const char *what, size_t before,
                               case_error *error) {
    errno = 0;
    size_t got = fread(bytes, 1, size, input->stream);
    if (got == size) return CASE_OK;
    if (ferror(input->stream)) return case_fail(error, CASE_ERROR_SYSTEM, "cannot read: %s", strerror(errno));
    return fail_truncated(error, what, before + size, before + got);
}

case_status case_input_read(case_input *input, void *bytes, size_t size, const char *what, case_error *error) {
    if (input->left >= 0 && size > (uint64_t)input->left)
        return fail_truncated(error, what, size, (uint64_t)input->left);
    if (input->bytes == NULL) {
        case_status status = read_stream(input, bytes, size, what, 0, error);
        if (status != CASE_OK) return status;
    } else if (size > 0) {
        memcpy(bytes, input->bytes, size);
        input->bytes += size;
    }
    if (input->left >= 0) input->left -= (int64_t)size;
    return CASE_OK;
}

/* Reads size bytes of a stream that may end long before. */
static case_status read_growing(case_input *input, size_t size, void **block, const char *what, case_error *error) {
    size_t have = 0;
    while (have < size) {
        size_t step = have == 0 ? FIRST_BLOCK : have;
        if (step > size - have) step = size - have;
        void *larger = realloc(*block, have + step);
        if (larger == NULL)
            return case_fail(error, CASE_ERROR_MEMORY, "no memory for %zu bytes of %s", have + step, what);
        *block = larger;
        case_status status = read_stream(input, (char *)larger + have, step, what, have, error);
        if (status != CASE_OK) return status;
        have += step;
    }
    return CASE_OK;
}

case_status case_input_read_block(case_input *input, size_t size, void **block, const char *what, case_error *error) {
    *block = NULL;
    if (input->left >= 0 && size > (uint64_t)input->left)
        return fail_truncated(error, what, size, (uint64_t)input->left);
    size_t first = input->left < 0 && size > FIRST_BLOCK ? FIRST_BLOCK : size;
    *block = malloc(first > 0 ? first : 1);
    if (*block == NULL) return case_fail(error, CASE_ERROR_MEMORY, "no memory for %zu bytes of %s", first, what);
    case_status status = input->left >= 0 ? case_input_read(input, *block, size, what, error)
                                          : read_growing(input, size, block, what, error);
    if (status != CASE_OK) {
        free(*block);
        *block = NULL;
    }
    return status;
}

case_status case_input_expect_end(case_input *input, case_error *error) {
    if (input->left > 0)
        return case_fail(error, CASE_ERROR_FORMAT, "%" PRId64 " bytes follow the end of the data", input->left);
    if (input->bytes != NULL) return CASE_OK;
    if (fgetc(input->stream) != EOF) return case_fail(error, CASE_ERROR_FORMAT, "bytes follow the end of the data");
    if (ferror(input->stream)) return case_fail(error, CASE_ERROR_SYSTEM, "cannot read: %s", strerror(errno));
    return CASE_OK;
}

/* ---------------------------------------------------------------------------------------------- opening and closing */

static case_status open_path(const char *path, const char *mode, FILE **stream, case_error *error) {
    errno = 0;
    *stream = fopen(path, mode);
    if (*stream != NULL) return CASE_OK;
    return case_fail(error, CASE_ERROR_SYSTEM, "cannot open: %s", strerror(errno));
}

case_status case_open_input(const char *path, FILE **stream, case_error *error) {
    *stream = stdin;
    return is_standard(path) ? CASE_OK : open_path(path, "rb", stream, error);
}

void case_close_input(FILE *stream) {
    if (stream != NULL && stream != stdin) (void)fclose(stream);
}

case_status case_open_output(const char *path, FILE **stream, case_error *error) {
    *stream = stdout;
    return is_standard(path) ? CASE_OK : open_path(path, "wb", stream, error);
}

static int is_regular(FILE *stream) {
    struct stat status;
    return fstat(fileno(stream), &status) == 0 && S_ISREG(status.st_mode);
}

case_status case_close_output(const char *path, FILE *stream, case_status written, case_error *error) {
    int removable = !is_standard(path) && is_regular(stream);
    errno = 0;
    int failed = is_standard(path) ? fflush(stream) : fclose(stream);
    if (failed != 0 && written == CASE_OK)
        written = case_fail(error, CASE_ERROR_SYSTEM, "cannot write: %s", strerror(errno));
    if (written != CASE_OK && removable) (void)remove(path);
    return written;
}

case_status case_put(FILE *stream, const void *bytes, size_t size, case_error *error) {
    errno = 0;
    if (size == 0 || fwrite(bytes, 1, size, stream) == size) return CASE_OK;
    return case_fail(error, CASE_ERROR_SYSTEM, "cannot write: %s", strerror(errno));
}
