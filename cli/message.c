/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"
#include <stdarg.h>
#include <stdio.h>

int complain(const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    fputs("attn: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return EXIT_WRONG;
}

int complain_status(const char *what, attn_status status, const attn_reason *reason) {
    const char *why = reason->text[0] != '\0' ? reason->text : attn_status_string(status);
    return complain("%s: %s", what, why);
}
