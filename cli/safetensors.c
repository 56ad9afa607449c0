/* SPDX-License-Identifier: Apache-2.0 */
#include "safetensors.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensor data are used as they lie in the file, which is little-endian"
#endif

/* Whole numbers that a double, and so any JSON reader, holds exactly end here. */
#define WHOLE_MAX ((int64_t)1 << 53)

/* Names from the file are shortened to this in messages. */
#define NAME "%.64s"

typedef struct type_row {
    const char *name;
    size_t size;
} type_row;

static const type_row types[] = {
    [SAFETENSORS_BOOL] = {"BOOL", 1},       [SAFETENSORS_U8] = {"U8", 1},           [SAFETENSORS_I8] = {"I8", 1},
    [SAFETENSORS_F8_E4M3] = {"F8_E4M3", 1}, [SAFETENSORS_F8_E5M2] = {"F8_E5M2", 1}, [SAFETENSORS_U16] = {"U16", 2},
    [SAFETENSORS_I16] = {"I16", 2},         [SAFETENSORS_F16] = {"F16", 2},         [SAFETENSORS_BF16] = {"BF16", 2},
    [SAFETENSORS_U32] = {"U32", 4},         [SAFETENSORS_I32] = {"I32", 4},         [SAFETENSORS_F32] = {"F32", 4},
    [SAFETENSORS_U64] = {"U64", 8},         [SAFETENSORS_I64] = {"I64", 8},         [SAFETENSORS_F64] = {"F64", 8},
};

const char *safetensors_type_name(safetensors_type type) {
    return types[type].name;
}

size_t safetensors_type_size(safetensors_type type) {
    return types[type].size;
}

/* ----------------------------------------------------------------------------------------------- the header as text */

/*
 * cJSON is lenient where a container format must not be: it skips control bytes, ends strings at an escaped NUL, and
 * reads numbers as doubles. So the header's bytes are looked over before it sees them.
 */
typedef struct header_text {
    const char *text; /* terminated */
    size_t length, at;
    case_error *error;
} header_text;

static case_status fail_at(const header_text *header, const char *problem) {
    return case_fail(header->error, CASE_ERROR_FORMAT, "header, byte %zu: %s", header->at, problem);
}

/* Bytes of the UTF-8 sequence at text (of `left` bytes), or 0 if it is not well-formed. */
static size_t utf8_length(const unsigned char *text, size_t left) {
    if (text[0] < 0x80) return 1;
    size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4 || left < length) return 0;
    /* Narrower than 0x80 .. 0xbf where it would be an overlong form, a surrogate or beyond U+10FFFF. */
    unsigned least = text[0] == 0xe0 ? 0xa0 : text[0] == 0xf0 ? 0x90 : 0x80;
    unsigned most = text[0] == 0xed ? 0x9f : text[0] == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < least || text[1] > most) return 0;
    for (size_t n = 2; n < length; n++) {
        if ((text[n] & 0xc0) != 0x80) return 0;
    }
    return length;
}

static case_status scan_string(header_text *header) {
    for (header->at++; header->at < header->length && header->text[header->at] != '"';) {
        const char *text = header->text + header->at;
        if ((unsigned char)*text < 0x20) return fail_at(header, "a control byte in a string");
        if (*text == '\\') {
            if (strncmp(text, "\\u0000", 6) == 0) return fail_at(header, "a NUL in a string");
            header->at += 2;
            continue;
        }
        size_t length = utf8_length((const unsigned char *)text, header->length - header->at);
        if (length == 0) return fail_at(header, "not UTF-8");
        header->at += length;
    }
    if (header->at >= header->length) return fail_at(header, "a string without an end");
    header->at++;
    return CASE_OK;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static case_status scan_number(header_text *header) {
    const char *text = header->text + header->at;
    const char *digits = text + (*text == '-');
    const char *end = digits;
    while (is_digit(*end)) end++;
    if (*end == '.' || *end == 'e' || *end == 'E')
        return fail_at(header, "a number that is not written as a whole number");
    if (end == digits || (*digits == '0' && end - digits > 1)) return fail_at(header, "not a number of JSON");
    header->at += (size_t)(end - text);
    return CASE_OK;
}

static case_status scan_header(header_text *header) {
    while (header->at < header->length) {
        char c = header->text[header->at];
        case_status status = CASE_OK;
        if (c == '"')
            status = scan_string(header);
        else if (c == '-' || is_digit(c))
            status = scan_number(header);
        else if ((unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            status = fail_at(header, "a control byte");
        else
            header->at++;
        if (status != CASE_OK) return status;
    }
    return CASE_OK;
}

static case_status parse_header(const char *text, size_t length, cJSON **json, case_error *error) {
    header_text header = {text, length, 0, error};
    if (length == 0 || text[0] != '{') return fail_at(&header, "not a safetensors file, no '{' here");
    case_status status = scan_header(&header);
    if (status != CASE_OK) return status;
    const char *end = NULL;
    *json = cJSON_ParseWithLengthOpts(text, length + 1, &end, 0);
    header.at = end != NULL ? (size_t)(end - text) : 0;
    if (*json == NULL) return fail_at(&header, "not JSON");
    header.at += strspn(end, " \t\r\n");
    return header.at == length ? CASE_OK : fail_at(&header, "more after the end of the header");
}

/* --------------------------------------------------------------------------------------------------- header's parts */

static size_t count_children(const cJSON *parent) {
    size_t count = 0;
    for (const cJSON *child = parent->child; child != NULL; child = child->next) count++;
    return count;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Fails if two children of an object have the same name. Sorts, as a hostile header can have very many. */
static case_status check_unique_names(const cJSON *object, case_error *error) {
    size_t count = count_children(object), n = 0;
    const char **names = malloc((count + 1) * sizeof *names);
    if (names == NULL) return case_fail(error, CASE_ERROR_MEMORY, "no memory for %zu names", count);
    for (const cJSON *child = object->child; child != NULL; child = child->next) names[n++] = child->string;
    qsort(names, count, sizeof *names, compare_names);
    case_status status = CASE_OK;
    for (n = 1; n < count && status == CASE_OK; n++) {
        if (strcmp(names[n - 1], names[n]) == 0)
            status = case_fail(error, CASE_ERROR_FORMAT, "the name '" NAME "' occurs twice in the header", names[n]);
    }
    free(names);
    return status;
}

static case_status read_metadata(const cJSON *json, safetensors_file *file, case_error *error) {
    if (!cJSON_IsObject(json)) return case_fail(error, CASE_ERROR_FORMAT, "__metadata__ is not an object");
    case_status status = check_unique_names(json, error);
    if (status != CASE_OK) return status;
    file->metadata = calloc(count_children(json) + 1, sizeof *file->metadata);
    if (file->metadata == NULL) return case_fail(error, CASE_ERROR_MEMORY, "no memory for the metadata");
    for (const cJSON *item = json->child; item != NULL; item = item->next) {
        if (!cJSON_IsString(item))
            return case_fail(error, CASE_ERROR_FORMAT, "__metadata__: the value of '" NAME "' is not a string",
                             item->string);
        file->metadata[file->metadata_count++] = (safetensors_pair){item->string, item->valuestring};
    }
    return CASE_OK;
}

/* The whole number 0 .. WHOLE_MAX of an item, or -1. */
static int64_t whole_number(const cJSON *item) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !(item->valuedouble <= (double)WHOLE_MAX)) return -1;
    return (int64_t)item->valuedouble;
}

static case_status read_type(const cJSON *json, safetensors_tensor *tensor, case_error *error) {
    if (!cJSON_IsString(json))
        return case_fail(error, CASE_ERROR_FORMAT, "tensor '" NAME "': dtype is not a string", tensor->name);
    for (size_t n = 0; n < sizeof types / sizeof types[0]; n++) {
        if (strcmp(types[n].name, json->valuestring) != 0) continue;
        tensor->type = (safetensors_type)n;
        return CASE_OK;
    }
    return case_fail(error, CASE_ERROR_UNSUPPORTED, "tensor '" NAME "': unknown dtype '%.32s'", tensor->name,
                     json->valuestring);
}

static case_status fail_dimension(const cJSON *item, const safetensors_tensor *tensor, case_error *error) {
    if (!cJSON_IsNumber(item))
        return case_fail(error, CASE_ERROR_FORMAT, "tensor '" NAME "': dimension %d of shape is not a number",
                         tensor->name, tensor->rank);
    return case_fail(error, CASE_ERROR_FORMAT,
                     "tensor '" NAME "': dimension %d of shape is %.17g, not one of 0 to 2^53", tensor->name,
                     tensor->rank, item->valuedouble);
}

static case_status read_shape(const cJSON *json, safetensors_tensor *tensor, case_error *error) {
    if (!cJSON_IsArray(json))
        return case_fail(error, CASE_ERROR_FORMAT, "tensor '" NAME "': shape is not an array", tensor->name);
    for (const cJSON *item = json->child; item != NULL; item = item->next) {
        if (tensor->rank == SAFETENSORS_RANK_MAX)
            return case_fail(error, CASE_ERROR_UNSUPPORTED,
                             "tensor '" NAME "': %zu dimensions, at most %d are supported", tensor->name,
                             count_children(json), SAFETENSORS_RANK_MAX);
        int64_t size = whole_number(item);
        if (size < 0) return fail_dimension(item, tensor, error);
        tensor->shape[tensor->rank++] = size;
    }
    return CASE_OK;
}

static case_status read_offsets(const cJSON *json, safetensors_tensor *tensor, case_error *error) {
    int64_t offsets[2] = {-1, -1};
    if (cJSON_IsArray(json) && cJSON_GetArraySize(json) == 2) {
        offsets[0] = whole_number(json->child);
        offsets[1] = whole_number(json->child->next);
    }
    if (offsets[0] < 0 || offsets[1] < 0)
        return case_fail(error, CASE_ERROR_FORMAT,
                         "tensor '" NAME "': data_offsets are not two whole numbers of 0 to 2^53", tensor->name);
    if (offsets[1] < offsets[0])
        return case_fail(error, CASE_ERROR_FORMAT,
                         "tensor '" NAME "': data_offsets end at %" PRId64 ", before their begin at %" PRId64,
                         tensor->name, offsets[1], offsets[0]);
    if ((uint64_t)offsets[1] > SIZE_MAX)
        return case_fail(error, CASE_ERROR_MEMORY,
                         "tensor '" NAME "': %" PRId64 " bytes are more than this machine can address", tensor->name,
                         offsets[1]);
    tensor->offset = (size_t)offsets[0];
    tensor->size = (size_t)(offsets[1] - offsets[0]);
    return CASE_OK;
}

/* Bytes of shape and type. 0 says that it does not fit size_t. */
static int data_size(const safetensors_tensor *tensor, size_t *size) {
    *size = types[tensor->type].size;
    for (int n = 0; n < tensor->rank; n++) {
        if (tensor->shape[n] == 0) {
            *size = 0;
            return 1;
        }
    }
    for (int n = 0; n < tensor->rank; n++) {
        if ((uint64_t)tensor->shape[n] > SIZE_MAX / *size) return 0;
        *size *= (size_t)tensor->shape[n];
    }
    return 1;
}

static case_status check_data_size(const safetensors_tensor *tensor, case_error *error) {
    size_t size;
    if (!data_size(tensor, &size))
        return case_fail(error, CASE_ERROR_FORMAT, "tensor '" NAME "': the product of its dimensions overflows",
                         tensor->name);
    if (size != tensor->size)
        return case_fail(error, CASE_ERROR_FORMAT,
                         "tensor '" NAME "': data_offsets hold %zu bytes, but shape and dtype need %zu", tensor->name,
                         tensor->size, size);
    return CASE_OK;
}

static case_status read_tensor(const cJSON *json, safetensors_tensor *tensor, case_error *error) {
    const cJSON *dtype = NULL, *shape = NULL, *offsets = NULL;
    tensor->name = json->string;
    if (!cJSON_IsObject(json))
        return case_fail(error, CASE_ERROR_FORMAT, "tensor '" NAME "' is not an object", tensor->name);
    for (const cJSON *item = json->child; item != NULL; item = item->next) {
        const cJSON **field = strcmp(item->string, "dtype") == 0          ? &dtype
                              : strcmp(item->string, "shape") == 0        ? &shape
                              : strcmp(item->string, "data_offsets") == 0 ? &offsets
                                                                          : NULL;
        if (field == NULL || *field != NULL)
            return case_fail(error, CASE_ERROR_FORMAT, "tensor '" NAME "': '" NAME "' %s", tensor->name, item->string,
                             field == NULL ? "is no field of a tensor" : "occurs twice");
        *field = item;
    }
    if (dtype == NULL || shape == NULL || offsets == NULL)
        return case_fail(error, CASE_ERROR_FORMAT, "tensor '" NAME "' has no %s", tensor->name,
                         dtype == NULL   ? "dtype"
                         : shape == NULL ? "shape"
                                         : "data_offsets");
    case_status status = read_type(dtype, tensor, error);
    if (status == CASE_OK) status = read_shape(shape, tensor, error);
    if (status == CASE_OK) status = read_offsets(offsets, tensor, error);
    return status == CASE_OK ? check_data_size(tensor, error) : status;
}

static case_status read_entries(const cJSON *json, safetensors_file *file, case_error *error) {
    case_status status = check_unique_names(json, error);
    if (status != CASE_OK) return status;
    file->tensors = calloc(count_children(json) + 1, sizeof *file->tensors);
    if (file->tensors == NULL) return case_fail(error, CASE_ERROR_MEMORY, "no memory for the list of tensors");
    for (const cJSON *item = json->child; item != NULL && status == CASE_OK; item = item->next) {
        status = strcmp(item->string, "__metadata__") == 0
                     ? read_metadata(item, file, error)
                     : read_tensor(item, &file->tensors[file->tensor_count++], error);
    }
    return status;
}

/* --------------------------------------------------------------------------------------------------------- the data */

static int compare_places(const void *a, const void *b) {
    const safetensors_tensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

/* Sorts the tensors by place and checks that they follow one another without overlap or hole. */
static case_status check_places(safetensors_file *file, size_t *total, case_error *error) {
    *total = 0;
    qsort(file->tensors, file->tensor_count, sizeof *file->tensors, compare_places);
    for (size_t n = 0; n < file->tensor_count; n++) {
        const safetensors_tensor *tensor = &file->tensors[n];
        if (tensor->offset < *total)
            return case_fail(error, CASE_ERROR_FORMAT,
                             "tensor '" NAME "' begins at byte %zu of the data and overlaps '" NAME
                             "', which ends at byte %zu",
                             tensor->name, tensor->offset, file->tensors[n - 1].name, *total);
        if (tensor->offset > *total)
            return case_fail(error, CASE_ERROR_FORMAT,
                             "a hole of %zu bytes before tensor '" NAME
                             "': bytes %zu to %zu of the data belong to no tensor",
                             tensor->offset - *total, tensor->name, *total, tensor->offset);
        *total += tensor->size;
    }
    return CASE_OK;
}

static case_status read_data(case_input *input, safetensors_file *file, case_error *error) {
    size_t total;
    case_status status = check_places(file, &total, error);
    if (status == CASE_OK) status = case_input_read_block(input, total, &file->data, "the data", error);
    if (status == CASE_OK) status = case_input_expect_end(input, error);
    if (status != CASE_OK) return status;
    for (size_t n = 0; n < file->tensor_count; n++)
        file->tensors[n].data = (const char *)file->data + file->tensors[n].offset;
    return CASE_OK;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

static case_status read_header_length(case_input *input, size_t *length, case_error *error) {
    unsigned char bytes[8];
    case_status status = case_input_read(input, bytes, sizeof bytes, "the length of the header", error);
    if (status != CASE_OK) return status;
    uint64_t value = 0;
    for (int n = 7; n >= 0; n--) value = value << 8 | bytes[n];
    if (input->left >= 0 && value > (uint64_t)input->left)
        return case_fail(error, CASE_ERROR_FORMAT,
                         "truncated or not a safetensors file: a header of %" PRIu64 " bytes is announced, %" PRId64
                         " bytes follow",
                         value, input->left);
    if (value > SAFETENSORS_HEADER_MAX)
        return case_fail(error, CASE_ERROR_FORMAT,
                         "a header of %" PRIu64 " bytes is announced, at most %zu are supported", value,
                         SAFETENSORS_HEADER_MAX);
    *length = (size_t)value;
    return CASE_OK;
}

static case_status read_header(case_input *input, cJSON **json, case_error *error) {
    size_t length = 0;
    case_status status = read_header_length(input, &length, error);
    if (status != CASE_OK) return status;
    char *text = malloc(length + 1);
    if (text == NULL) return case_fail(error, CASE_ERROR_MEMORY, "no memory for a header of %zu bytes", length);
    text[length] = '\0';
    status = case_input_read(input, text, length, "the header", error);
    if (status == CASE_OK) status = parse_header(text, length, json, error);
    free(text);
    return status;
}

case_status safetensors_read(case_input *input, safetensors_file *file, case_error *error) {
    *file = (safetensors_file){0};
    cJSON *json = NULL;
    case_status status = read_header(input, &json, error);
    file->contents = json;
    if (status == CASE_OK) status = read_entries(json, file, error);
    if (status == CASE_OK) status = read_data(input, file, error);
    return status;
}

void safetensors_free(safetensors_file *file) {
    cJSON_Delete(file->contents);
    free(file->tensors);
    free(file->metadata);
    free(file->data);
    *file = (safetensors_file){0};
}

/* ---------------------------------------------------------------------------------------------------------- writing */

/* Adds an array of whole numbers, written exactly (cJSON's own numbers are doubles). */
static int add_numbers(cJSON *object, const char *name, const int64_t *numbers, int count) {
    cJSON *array = cJSON_AddArrayToObject(object, name);
    if (array == NULL) return 0;
    for (int n = 0; n < count; n++) {
        char digits[24];
        (void)snprintf(digits, sizeof digits, "%" PRId64, numbers[n]);
        if (!cJSON_AddItemToArray(array, cJSON_CreateRaw(digits))) return 0;
    }
    return 1;
}

static int add_metadata(cJSON *json, const safetensors_file *file) {
    if (file->metadata_count == 0) return 1;
    cJSON *metadata = cJSON_AddObjectToObject(json, "__metadata__");
    for (size_t n = 0; n < file->metadata_count; n++) {
        if (cJSON_AddStringToObject(metadata, file->metadata[n].key, file->metadata[n].value) == NULL) return 0;
    }
    return 1;
}

static int add_tensor(cJSON *json, const safetensors_tensor *tensor, size_t offset) {
    const int64_t offsets[2] = {(int64_t)offset, (int64_t)(offset + tensor->size)};
    cJSON *entry = cJSON_AddObjectToObject(json, tensor->name);
    if (cJSON_AddStringToObject(entry, "dtype", types[tensor->type].name) == NULL) return 0;
    return add_numbers(entry, "shape", tensor->shape, tensor->rank) && add_numbers(entry, "data_offsets", offsets, 2);
}

/* Data lie in the order of their element sizes, 8, 4, 2, 1: here and in put_data. */
static int add_tensors(cJSON *json, const safetensors_file *file) {
    size_t offset = 0;
    for (size_t element = 8; element > 0; element /= 2) {
        for (size_t n = 0; n < file->tensor_count; n++) {
            const safetensors_tensor *tensor = &file->tensors[n];
            if (types[tensor->type].size != element) continue;
            if (!add_tensor(json, tensor, offset)) return 0;
            offset += tensor->size;
        }
    }
    return 1;
}

static case_status put_data(FILE *stream, const safetensors_file *file, case_error *error) {
    case_status status = CASE_OK;
    for (size_t element = 8; element > 0; element /= 2) {
        for (size_t n = 0; n < file->tensor_count && status == CASE_OK; n++) {
            const safetensors_tensor *tensor = &file->tensors[n];
            if (types[tensor->type].size == element) status = case_put(stream, tensor->data, tensor->size, error);
        }
    }
    return status;
}

static char *header_of(const safetensors_file *file) {
    cJSON *json = cJSON_CreateObject();
    char *text = NULL;
    if (json != NULL && add_metadata(json, file) && add_tensors(json, file)) text = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    return text;
}

/* Length and header, filled up with spaces so that the data begin at a multiple of 8. */
static case_status put_header(FILE *stream, const char *text, case_error *error) {
    unsigned char length_bytes[8];
    size_t length = strlen(text);
    size_t padding = (8 - length % 8) % 8;
    for (int n = 0; n < 8; n++) length_bytes[n] = (unsigned char)((uint64_t)(length + padding) >> (8 * n));
    case_status status = case_put(stream, length_bytes, sizeof length_bytes, error);
    if (status == CASE_OK) status = case_put(stream, text, length, error);
    return status == CASE_OK ? case_put(stream, "        ", padding, error) : status;
}

/* Names and values come from elsewhere: a header that would not be read again is not written. */
static case_status check_header(const char *text, case_error *error) {
    header_text header = {text, strlen(text), 0, error};
    if (header.length > SAFETENSORS_HEADER_MAX - 8)
        return case_fail(error, CASE_ERROR_CONTENT, "a header of %zu bytes is too long", header.length);
    return scan_header(&header);
}

case_status safetensors_write(FILE *stream, const safetensors_file *file, case_error *error) {
    char *text = header_of(file);
    if (text == NULL) return case_fail(error, CASE_ERROR_MEMORY, "no memory for the header");
    case_status status = check_header(text, error);
    if (status == CASE_OK) status = put_header(stream, text, error);
    if (status == CASE_OK) status = put_data(stream, file, error);
    cJSON_free(text);
    return status;
}
