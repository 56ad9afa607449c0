/* SPDX-License-Identifier: Apache-2.0 */
/* Errors are values: a status and one line of text with the numbers in it. */
#ifndef ATTN_BASE_REASON_H
#define ATTN_BASE_REASON_H

#include "attn/attn.h"
#include "base/compiler.h"

/* Writes the text (if reason is not NULL) and returns status, so that a check reads `return attn_fail(...)`. */
attn_status attn_fail(attn_reason *reason, attn_status status, const char *format, ...) ATTN_PRINTF_LIKE(3, 4);

/* Empties the text (if reason is not NULL) and returns ATTN_OK. */
attn_status attn_succeed(attn_reason *reason);

#endif
