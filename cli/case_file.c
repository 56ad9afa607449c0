/* SPDX-License-Identifier: Apache-2.0 */
/* Case files as safetensors. */
#include "case.h"
#include "case_slots.h"
#include "safetensors.h"
#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION "1"

typedef struct type_row {
    safetensors_type stored;
    attn_type type;
} type_row;

/* The first row of a type is how it is written. */
static const type_row types[] = {
    {SAFETENSORS_F32, ATTN_F32},   {SAFETENSORS_F16, ATTN_F16}, {SAFETENSORS_BF16, ATTN_BF16},
    {SAFETENSORS_F64, ATTN_F64},   {SAFETENSORS_I32, ATTN_I32}, {SAFETENSORS_I64, ATTN_I64},
    {SAFETENSORS_BOOL, ATTN_BOOL}, {SAFETENSORS_U8, ATTN_BOOL},
};
enum { TYPES = sizeof types / sizeof types[0] };

/* ---------------------------------------------------------------------------------------------------------- reading */

static const char *metadata_value(const safetensors_file *file, const char *key) {
    for (size_t n = 0; n < file->metadata_count; n++) {
        if (strcmp(file->metadata[n].key, key) == 0) return file->metadata[n].value;
    }
    return NULL;
}

static case_status check_version(const safetensors_file *file, case_error *error) {
    const char *version = metadata_value(file, "attn_case");
    if (version == NULL) return case_fail(error, CASE_ERROR_CONTENT, "not a case file: its metadata have no attn_case");
    if (strcmp(version, FORMAT_VERSION) != 0)
        return case_fail(error, CASE_ERROR_UNSUPPORTED,
                         "version '%.64s' of case files; " FORMAT_VERSION " is supported", version);
    return CASE_OK;
}

static case_status convert_type(const safetensors_tensor *stored, attn_type *type, case_error *error) {
    for (size_t n = 0; n < TYPES; n++) {
        if (types[n].stored != stored->type) continue;
        *type = types[n].type;
        return CASE_OK;
    }
    return case_fail(error, CASE_ERROR_UNSUPPORTED, "%.64s has type %s, which a case file does not have", stored->name,
                     safetensors_type_name(stored->type));
}

/* Gives the tensor data of its own where the file has them at an address that its type does not allow. */
static case_status align_data(const safetensors_tensor *stored, case_tensor *tensor, case_error *error) {
    tensor->data = stored->data;
    if (stored->offset % safetensors_type_size(stored->type) == 0) return CASE_OK;
    tensor->owned = malloc(stored->size > 0 ? stored->size : 1);
    if (tensor->owned == NULL)
        return case_fail(error, CASE_ERROR_MEMORY, "no memory for %zu bytes of %.64s", stored->size, stored->name);
    if (stored->size > 0) memcpy(tensor->owned, stored->data, stored->size);
    tensor->data = tensor->owned;
    return CASE_OK;
}

static case_status add_stored(case_file *c, const safetensors_tensor *stored, case_error *error) {
    case_tensor tensor = {.rank = stored->rank};
    if (case_slot_of(stored->name) != CASE_SLOTS) {
        case_status status = convert_type(stored, &tensor.type, error);
        if (status != CASE_OK) return status;
    }
    if (stored->rank > 4)
        return case_fail(error, CASE_ERROR_CONTENT, "%.64s has %d dimensions, at most 4 are possible", stored->name,
                         stored->rank);
    memcpy(tensor.shape, stored->shape, sizeof tensor.shape);
    case_status status = align_data(stored, &tensor, error);
    return status == CASE_OK ? case_add(c, stored->name, &tensor, error) : status;
}

static case_status read_options(case_file *c, const safetensors_file *file, case_error *error) {
    case_status status = check_version(file, error);
    for (size_t n = 0; n < file->metadata_count && status == CASE_OK; n++)
        status = case_set(c, file->metadata[n].key, file->metadata[n].value, error);
    return status;
}

static case_status read_tensors(case_file *c, safetensors_file *file, case_error *error) {
    case_status status = CASE_OK;
    for (size_t n = 0; n < file->tensor_count && status == CASE_OK; n++)
        status = add_stored(c, &file->tensors[n], error);
    c->data = file->data; /* the tensors lie in it */
    file->data = NULL;
    return status;
}

static case_status read_input(case_input *input, const char *name, case_file *c, case_error *error) {
    safetensors_file file;
    case_init(c);
    case_status status = safetensors_read(input, &file, error);
    if (status == CASE_OK) status = read_options(c, &file, error);
    if (status == CASE_OK) status = read_tensors(c, &file, error);
    if (status == CASE_OK) status = case_finish(c, error);
    safetensors_free(&file);
    if (status == CASE_OK) return CASE_OK;
    case_free(c);
    return case_fail_in(error, status, name);
}

case_status case_read_memory(const void *bytes, size_t size, const char *name, case_file *c, case_error *error) {
    case_input input = case_input_from_memory(bytes, size);
    return read_input(&input, name, c, error);
}

case_status case_read_stream(FILE *stream, const char *name, case_file *c, case_error *error) {
    case_input input = case_input_from_stream(stream);
    return read_input(&input, name, c, error);
}

case_status case_read(const char *path, case_file *c, case_error *error) {
    FILE *stream;
    case_init(c);
    case_status status = case_open_input(path, &stream, error);
    if (status != CASE_OK) return case_fail_in(error, status, case_input_name(path));
    status = case_read_stream(stream, case_input_name(path), c, error);
    case_close_input(stream);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

enum { METADATA_MAX = 4 + CASE_OPTIONS };

static size_t list_metadata(const case_file *c, const case_option_text *texts, safetensors_pair *pairs) {
    size_t count = 0;
    pairs[count++] = (safetensors_pair){"attn_case", FORMAT_VERSION};
    if (c->title != NULL && *c->title != '\0') pairs[count++] = (safetensors_pair){"title", c->title};
    if (c->origin != NULL && *c->origin != '\0') pairs[count++] = (safetensors_pair){"origin", c->origin};
    pairs[count++] = (safetensors_pair){"layout", case_layout_name(c->layout)};
    for (int n = 0; n < CASE_OPTIONS; n++) {
        if (texts[n].value[0] != '\0') pairs[count++] = (safetensors_pair){texts[n].key, texts[n].value};
    }
    return count;
}

static safetensors_type stored_type(attn_type type) {
    for (size_t n = 0; n < TYPES; n++) {
        if (types[n].type == type) return types[n].stored;
    }
    return SAFETENSORS_U8; /* not reached: case_add lets in the types above only */
}

static case_status list_tensors(const case_file *c, safetensors_tensor *tensors, size_t *count, case_error *error) {
    for (int slot = 0; slot < CASE_SLOTS; slot++) {
        const case_tensor *tensor = &c->tensors[slot];
        int64_t elements;
        if (tensor->type == ATTN_TYPE_DEFAULT) continue;
        safetensors_tensor *stored = &tensors[(*count)++];
        if (!case_count(tensor->rank, tensor->shape, &elements))
            return case_fail(error, CASE_ERROR_CONTENT, "%s: the product of its dimensions overflows",
                             case_slot_name((case_slot)slot));
        *stored = (safetensors_tensor){.name = case_slot_name((case_slot)slot),
                                       .type = stored_type(tensor->type),
                                       .rank = tensor->rank,
                                       .size = (size_t)elements * attn_type_size(tensor->type),
                                       .data = tensor->data};
        memcpy(stored->shape, tensor->shape, sizeof tensor->shape);
    }
    return CASE_OK;
}

static case_status write_to(const case_file *c, FILE *stream, case_error *error) {
    case_option_text texts[CASE_OPTIONS];
    safetensors_pair pairs[METADATA_MAX];
    safetensors_tensor tensors[CASE_SLOTS];
    safetensors_file file = {.tensors = tensors, .metadata = pairs};
    case_options_format(&c->options, texts);
    file.metadata_count = list_metadata(c, texts, pairs);
    case_status status = list_tensors(c, tensors, &file.tensor_count, error);
    return status == CASE_OK ? safetensors_write(stream, &file, error) : status;
}

case_status case_write_stream(const case_file *c, FILE *stream, const char *name, case_error *error) {
    case_status status = write_to(c, stream, error);
    return status == CASE_OK ? case_succeed(error) : case_fail_in(error, status, name);
}

case_status case_write(const case_file *c, const char *path, case_error *error) {
    FILE *stream;
    case_status status = case_open_output(path, &stream, error);
    if (status == CASE_OK) status = case_close_output(path, stream, write_to(c, stream, error), error);
    return status == CASE_OK ? case_succeed(error) : case_fail_in(error, status, case_output_name(path));
}
