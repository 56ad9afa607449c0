/* SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* NumPy's own limit for headers from files that are not trusted is 10,000 bytes. */
enum { HEADER_MAX = 65536, RANK_MAX = 4 };

typedef struct type_row {
    const char *descr;
    attn_type type;
} type_row;

/* The first row of a type is how it is written. */
static const type_row types[] = {
    {"<f4", ATTN_F32},  {"<f2", ATTN_F16},  {"<f8", ATTN_F64}, {"|b1", ATTN_BOOL}, {"|u1", ATTN_BOOL},
    {"<b1", ATTN_BOOL}, {"<u1", ATTN_BOOL}, {"<i4", ATTN_I32}, {"<i8", ATTN_I64},
};

/* ---------------------------------------------------------------------------------- the header: a Python dictionary */

/* The dictionary's text and how far it is read. */
typedef struct dictionary {
    const char *at; /* in a terminated text */
    const char *text;
    case_error *error;
} dictionary;

/* What the dictionary says. */
typedef struct npy_header {
    int has_descr, has_order, has_shape;
    attn_type type;
    int rank;
    int64_t shape[RANK_MAX];
} npy_header;

static case_status fail_at(const dictionary *d, const char *expected) {
    return case_fail(d->error, CASE_ERROR_FORMAT, "header, byte %zu: %s expected", (size_t)(d->at - d->text), expected);
}

static void skip_spaces(dictionary *d) {
    d->at += strspn(d->at, " \t\r\n");
}

/* Steps over a punctuation mark and spaces around it, if it is there. */
static int accept(dictionary *d, char mark) {
    skip_spaces(d);
    if (*d->at != mark) return 0;
    d->at++;
    skip_spaces(d);
    return 1;
}

static int accept_word(dictionary *d, const char *word) {
    size_t length = strlen(word);
    if (strncmp(d->at, word, length) != 0) return 0;
    d->at += length;
    return 1;
}

/* A quoted string without escapes, shorter than size. */
static case_status read_string(dictionary *d, char *string, size_t size) {
    char quote = *d->at;
    if (quote != '\'' && quote != '"') return fail_at(d, "a string");
    const char *begin = d->at + 1;
    const char *end = strchr(begin, quote);
    if (end == NULL || (size_t)(end - begin) >= size) return fail_at(d, "a short string");
    memcpy(string, begin, (size_t)(end - begin));
    string[end - begin] = '\0';
    d->at = end + 1;
    return CASE_OK;
}

static case_status read_descr(dictionary *d, npy_header *header) {
    char descr[32];
    if (*d->at == '[') return case_fail(d->error, CASE_ERROR_UNSUPPORTED, "arrays of structures are not supported");
    case_status status = read_string(d, descr, sizeof descr);
    if (status != CASE_OK) return status;
    if (descr[0] == '>')
        return case_fail(d->error, CASE_ERROR_UNSUPPORTED, "type '%s' is big-endian; save the array as '<%s'", descr,
                         descr + 1);
    for (size_t n = 0; n < sizeof types / sizeof types[0]; n++) {
        if (strcmp(types[n].descr, descr) != 0) continue;
        header->type = types[n].type;
        return CASE_OK;
    }
    return case_fail(d->error, CASE_ERROR_UNSUPPORTED, "type '%s' is not one of f2, f4, f8, b1, u1, i4, i8", descr);
}

static case_status read_order(dictionary *d) {
    if (accept_word(d, "False")) return CASE_OK;
    if (accept_word(d, "True"))
        return case_fail(d->error, CASE_ERROR_UNSUPPORTED,
                         "Fortran order; save numpy.ascontiguousarray(array) instead");
    return fail_at(d, "True or False");
}

static case_status read_dimension(dictionary *d, int64_t *size) {
    if (*d->at < '0' || *d->at > '9') return fail_at(d, "a dimension, a whole number of 0 or more,");
    for (*size = 0; *d->at >= '0' && *d->at <= '9'; d->at++) {
        int digit = *d->at - '0';
        if (*size > (INT64_MAX - digit) / 10) return case_fail(d->error, CASE_ERROR_FORMAT, "a dimension overflows");
        *size = *size * 10 + digit;
    }
    return CASE_OK;
}

static case_status read_shape(dictionary *d, npy_header *header) {
    if (!accept(d, '(')) return fail_at(d, "the tuple of the shape");
    while (!accept(d, ')')) {
        if (header->rank == RANK_MAX)
            return case_fail(d->error, CASE_ERROR_UNSUPPORTED, "more than %d dimensions are not supported", RANK_MAX);
        case_status status = read_dimension(d, &header->shape[header->rank]);
        if (status != CASE_OK) return status;
        header->rank++;
        if (!accept(d, ',') && *d->at != ')') return fail_at(d, "',' or ')'");
    }
    return CASE_OK;
}

/* Marks a key as seen; fails the second time. */
static case_status see(dictionary *d, const char *key, int *seen) {
    if (*seen) return case_fail(d->error, CASE_ERROR_FORMAT, "header: '%s' occurs twice", key);
    *seen = 1;
    return CASE_OK;
}

static case_status read_entry(dictionary *d, npy_header *header) {
    char key[32];
    case_status status = read_string(d, key, sizeof key);
    if (status != CASE_OK) return status;
    if (!accept(d, ':')) return fail_at(d, "':'");
    if (strcmp(key, "descr") == 0) {
        status = see(d, key, &header->has_descr);
        return status == CASE_OK ? read_descr(d, header) : status;
    }
    if (strcmp(key, "fortran_order") == 0) {
        status = see(d, key, &header->has_order);
        return status == CASE_OK ? read_order(d) : status;
    }
    if (strcmp(key, "shape") == 0) {
        status = see(d, key, &header->has_shape);
        return status == CASE_OK ? read_shape(d, header) : status;
    }
    return case_fail(d->error, CASE_ERROR_FORMAT, "header: unknown key '%s'", key);
}

static case_status parse_header(const char *text, size_t length, npy_header *header, case_error *error) {
    dictionary d = {text, text, error};
    if (!accept(&d, '{')) return fail_at(&d, "'{'");
    while (!accept(&d, '}')) {
        case_status status = read_entry(&d, header);
        if (status != CASE_OK) return status;
        if (!accept(&d, ',') && *d.at != '}') return fail_at(&d, "',' or '}'");
    }
    if ((size_t)(d.at - text) != length) return fail_at(&d, "the end of the header");
    if (!header->has_descr || !header->has_order || !header->has_shape)
        return case_fail(error, CASE_ERROR_FORMAT, "the header has no %s",
                         !header->has_descr   ? "'descr'"
                         : !header->has_order ? "'fortran_order'"
                                              : "'shape'");
    return CASE_OK;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

/* Magic, version and the length of the header. */
static case_status read_start(case_input *input, size_t *length, case_error *error) {
    unsigned char start[8], bytes[4] = {0};
    case_status status = case_input_read(input, start, sizeof start, "the start of a .npy file", error);
    if (status != CASE_OK) return status;
    if (memcmp(start, magic, sizeof magic) != 0)
        return case_fail(error, CASE_ERROR_FORMAT, "not a .npy file: it does not begin with \\x93NUMPY");
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        return case_fail(error, CASE_ERROR_UNSUPPORTED, "version %d.%d of .npy; 1.0, 2.0 and 3.0 are supported",
                         start[6], start[7]);
    status = case_input_read(input, bytes, start[6] == 1 ? 2 : 4, "the length of the header", error);
    *length = bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
    if (status == CASE_OK && *length > HEADER_MAX)
        status = case_fail(error, CASE_ERROR_FORMAT, "a header of %zu bytes is announced, at most %d are supported",
                           *length, HEADER_MAX);
    return status;
}

static case_status read_header(case_input *input, npy_header *header, case_error *error) {
    void *text = NULL;
    size_t length = 0;
    case_status status = read_start(input, &length, error);
    if (status != CASE_OK) return status;
    text = malloc(length + 1);
    if (text == NULL) return case_fail(error, CASE_ERROR_MEMORY, "no memory for a header of %zu bytes", length);
    ((char *)text)[length] = '\0';
    status = case_input_read(input, text, length, "the header", error);
    if (status == CASE_OK) status = parse_header(text, length, header, error);
    free(text);
    return status;
}

/* Bytes of an array; 0 says that they do not fit size_t. */
static int data_size(attn_type type, int rank, const int64_t *shape, size_t *size) {
    *size = attn_type_size(type);
    for (int n = 0; n < rank; n++) {
        if (shape[n] == 0) *size = 0;
    }
    for (int n = 0; n < rank && *size != 0; n++) {
        if ((uint64_t)shape[n] > SIZE_MAX / *size) return 0;
        *size *= (size_t)shape[n];
    }
    return 1;
}

case_status npy_read(case_input *input, case_tensor *tensor, case_error *error) {
    npy_header header = {0};
    size_t size;
    *tensor = (case_tensor){0};
    case_status status = read_header(input, &header, error);
    if (status != CASE_OK) return status;
    if (!data_size(header.type, header.rank, header.shape, &size))
        return case_fail(error, CASE_ERROR_FORMAT, "the product of the dimensions overflows");
    void *block;
    status = case_input_read_block(input, size, &block, "the data", error);
    if (status == CASE_OK) status = case_input_expect_end(input, error);
    if (status != CASE_OK) {
        free(block);
        return status;
    }
    *tensor = (case_tensor){.type = header.type, .rank = header.rank, .data = block, .owned = block};
    memcpy(tensor->shape, header.shape, sizeof header.shape);
    return CASE_OK;
}

case_status npy_read_path(const char *path, case_tensor *tensor, case_error *error) {
    FILE *stream;
    *tensor = (case_tensor){0};
    case_status status = case_open_input(path, &stream, error);
    if (status == CASE_OK) {
        case_input input = case_input_from_stream(stream);
        status = npy_read(&input, tensor, error);
        case_close_input(stream);
    }
    return status == CASE_OK ? case_succeed(error) : case_fail_in(error, status, case_input_name(path));
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static const char *descr_of(attn_type type) {
    for (size_t n = 0; n < sizeof types / sizeof types[0]; n++) {
        if (types[n].type == type) return types[n].descr;
    }
    return NULL;
}

/* The dictionary, with spaces and a newline after it so that the data begin at a multiple of 64. */
static size_t format_header(char *text, size_t size, const char *descr, const case_tensor *tensor) {
    enum { START = 10 }; /* magic, version, length */
    int length = snprintf(text, size, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int n = 0; n < tensor->rank; n++)
        length += snprintf(text + length, size - (size_t)length, "%s%" PRId64 "%s", n > 0 ? " " : "", tensor->shape[n],
                           n + 1 < tensor->rank || tensor->rank == 1 ? "," : "");
    length += snprintf(text + length, size - (size_t)length, "), }");
    while ((length + 1 + START) % 64 != 0) text[length++] = ' ';
    text[length++] = '\n';
    return (size_t)length;
}

case_status npy_write(FILE *stream, const case_tensor *tensor, case_error *error) {
    char text[256];
    size_t data;
    const char *descr = descr_of(tensor->type);
    if (descr == NULL)
        return case_fail(error, CASE_ERROR_UNSUPPORTED, "type %s does not exist in .npy", attn_type_name(tensor->type));
    if (!data_size(tensor->type, tensor->rank, tensor->shape, &data))
        return case_fail(error, CASE_ERROR_CONTENT, "the product of the dimensions overflows");
    size_t length = format_header(text, sizeof text, descr, tensor);
    const unsigned char version_and_length[4] = {1, 0, (unsigned char)(length & 0xff), (unsigned char)(length >> 8)};
    case_status status = case_put(stream, magic, sizeof magic, error);
    if (status == CASE_OK) status = case_put(stream, version_and_length, sizeof version_and_length, error);
    if (status == CASE_OK) status = case_put(stream, text, length, error);
    return status == CASE_OK ? case_put(stream, tensor->data, data, error) : status;
}

case_status npy_write_path(const char *path, const case_tensor *tensor, case_error *error) {
    FILE *stream;
    case_status status = case_open_output(path, &stream, error);
    if (status == CASE_OK) status = case_close_output(path, stream, npy_write(stream, tensor, error), error);
    return status == CASE_OK ? case_succeed(error) : case_fail_in(error, status, case_output_name(path));
}
