/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The safetensors container: 8 bytes with the length of a header (little-endian), the header (JSON: for each tensor its
 * type, shape and place in the data; strings under __metadata__), and the data.
 *
 * The reader is strict: every byte of the data belongs to exactly one tensor, sizes are those of shape and type, names
 * occur once, numbers are whole. What it accepts it has checked, so that a tensor's data can be used as its shape says.
 */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include "case_stream.h"

enum { SAFETENSORS_RANK_MAX = 8 };

/* Longest header that is read. A header of a thousand tensors is a tenth of that. */
#define SAFETENSORS_HEADER_MAX ((size_t)1 << 20)

typedef enum safetensors_type {
    SAFETENSORS_BOOL,
    SAFETENSORS_U8,
    SAFETENSORS_I8,
    SAFETENSORS_F8_E4M3,
    SAFETENSORS_F8_E5M2,
    SAFETENSORS_U16,
    SAFETENSORS_I16,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_U32,
    SAFETENSORS_I32,
    SAFETENSORS_F32,
    SAFETENSORS_U64,
    SAFETENSORS_I64,
    SAFETENSORS_F64
} safetensors_type;

typedef struct safetensors_tensor {
    const char *name;
    safetensors_type type;
    int rank;
    int64_t shape[SAFETENSORS_RANK_MAX];
    size_t offset; /* of the data; not necessarily a multiple of the element's size */
    size_t size;   /* in bytes */
    const void *data;
} safetensors_tensor;

typedef struct safetensors_pair {
    const char *key, *value;
} safetensors_pair;

typedef struct safetensors_file {
    size_t tensor_count, metadata_count;
    safetensors_tensor *tensors;
    safetensors_pair *metadata;
    void *data;     /* a malloc'ed block with the data of all tensors; may be taken out by setting this to NULL */
    void *contents; /* the parsed header, which names, keys and values point into */
} safetensors_file;

/* Reads all of input. Free the file with safetensors_free, after failure too. */
case_status safetensors_read(case_input *input, safetensors_file *file, case_error *error);
void safetensors_free(safetensors_file *file);

/* Writes tensors (of name, type, rank, shape, size and data; the rest is not used) and metadata. Data lie in the file
 * in the order of their element sizes, largest first, so that each is aligned. */
case_status safetensors_write(FILE *stream, const safetensors_file *file, case_error *error);

/* "F32", "BOOL", ... */
const char *safetensors_type_name(safetensors_type type);
size_t safetensors_type_size(safetensors_type type);

#endif
