/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reason.h"

#include <stdarg.h>
#include <stdio.h>

attn_status attn_fail(attn_reason *reason, attn_status status, const char *format, ...) {
    if (reason) {
        va_list arguments;
        va_start(arguments, format);
        if (vsnprintf(reason->text, sizeof reason->text, format, arguments) < 0) reason->text[0] = '\0';
        va_end(arguments);
    }
    return status;
}

attn_status attn_succeed(attn_reason *reason) {
    if (reason) reason->text[0] = '\0';
    return ATTN_OK;
}
