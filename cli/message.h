/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes, and what goes to standard error. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include "attn/attn.h"
#include "case_error.h"

enum {
    EXIT_FINE = 0, /* done; every check passed */
    EXIT_MISS = 1, /* a check failed */
    EXIT_WRONG = 2 /* usage, input, or the machine: a message says which */
};

/* Prints "attn: ..." and a newline, after all that standard output was given before. Returns EXIT_WRONG. */
int complain(const char *format, ...) CASE_PRINTF_LIKE(1, 2);

/* The same for a refusal of the library: "attn: WHAT: the reason, or else the status in words". */
int complain_status(const char *what, attn_status status, const attn_reason *reason);

#endif
