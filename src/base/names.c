/* SPDX-License-Identifier: Apache-2.0 */
/* What the numbers of the public header are called. */
#include "attn/attn.h"

#define QUOTE(text)           #text
#define VERSION_TEXT(a, b, c) QUOTE(a) "." QUOTE(b) "." QUOTE(c)

int attn_version(void) {
    return ATTN_VERSION_MAJOR * 10000 + ATTN_VERSION_MINOR * 100 + ATTN_VERSION_PATCH;
}

const char *attn_version_string(void) {
    return VERSION_TEXT(ATTN_VERSION_MAJOR, ATTN_VERSION_MINOR, ATTN_VERSION_PATCH);
}

/* The switches below are over int: a caller may pass any number as an enum. */

const char *attn_status_string(attn_status status) {
    switch ((int)status) {
    case ATTN_OK:
        return "success";
    case ATTN_ERROR_ARGUMENT:
        return "invalid argument";
    case ATTN_ERROR_SHAPE:
        return "sizes or strides do not fit together";
    case ATTN_ERROR_OVERFLOW:
        return "sizes overflow";
    case ATTN_ERROR_OVERLAP:
        return "an output overlaps";
    case ATTN_ERROR_LENGTHS:
        return "lengths do not fit the problem";
    case ATTN_ERROR_UNSUPPORTED:
        return "not supported by this engine";
    case ATTN_ERROR_MEMORY:
        return "not enough memory";
    case ATTN_ERROR_SYSTEM:
        return "refused by the operating system";
    case ATTN_ERROR_DEVICE:
        return "device missing, refusing or lost";
    default:
        return "unknown status";
    }
}

size_t attn_type_size(attn_type type) {
    switch ((int)type) {
    case ATTN_F32:
    case ATTN_I32:
        return 4;
    case ATTN_F16:
    case ATTN_BF16:
        return 2;
    case ATTN_F64:
    case ATTN_I64:
        return 8;
    case ATTN_BOOL:
        return 1;
    default:
        return 0;
    }
}

const char *attn_type_name(attn_type type) {
    switch ((int)type) {
    case ATTN_F32:
        return "f32";
    case ATTN_F16:
        return "f16";
    case ATTN_BF16:
        return "bf16";
    case ATTN_F64:
        return "f64";
    case ATTN_BOOL:
        return "bool";
    case ATTN_I32:
        return "i32";
    case ATTN_I64:
        return "i64";
    default:
        return "?";
    }
}
