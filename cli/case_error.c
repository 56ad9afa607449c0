/* SPDX-License-Identifier: Apache-2.0 */
#include "case_error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 200 };

/* Names and values from a hostile file must not break the line or steer a terminal. */
static void replace_control_bytes(char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
    }
}

case_status case_fail(case_error *error, case_status status, const char *format, ...) {
    if (error == NULL) return status;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    replace_control_bytes(error->text);
    return status;
}

case_status case_fail_in(case_error *error, case_status status, const char *name) {
    if (error == NULL) return status;
    char rest[sizeof error->text];
    memcpy(rest, error->text, sizeof rest);
    size_t length = strlen(name);
    const char *shortened = length > NAME_MAX_BYTES ? "..." : "";
    if (length > NAME_MAX_BYTES) name += length - NAME_MAX_BYTES;
    return case_fail(error, status, "%s%s: %.*s", shortened, name, (int)(sizeof rest - NAME_MAX_BYTES - 8), rest);
}

case_status case_succeed(case_error *error) {
    if (error != NULL) error->text[0] = '\0';
    return CASE_OK;
}
