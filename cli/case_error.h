/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the file readers and writers: a status and one line of text that names the file, the tensor and the
 * numbers. */
#ifndef CASE_ERROR_H
#define CASE_ERROR_H

typedef enum case_status {
    CASE_OK = 0,
    CASE_ERROR_SYSTEM,      /* the file could not be opened, read or written */
    CASE_ERROR_FORMAT,      /* the bytes are not a well-formed file of their kind */
    CASE_ERROR_CONTENT,     /* a well-formed file that makes no attention problem */
    CASE_ERROR_UNSUPPORTED, /* a well-formed file of a kind that is not supported */
    CASE_ERROR_MEMORY       /* an allocation failed */
} case_status;

/* One line without a newline, always terminated. Text of others that enters it (names, values) is shortened. */
typedef struct case_error {
    char text[768];
} case_error;

#if defined(__GNUC__)
#define CASE_PRINTF_LIKE(at, first) __attribute__((format(printf, at, first)))
#else
#define CASE_PRINTF_LIKE(at, first)
#endif

/* Writes the text (if error is not NULL) and returns status, so that a check reads `return case_fail(...)`. */
case_status case_fail(case_error *error, case_status status, const char *format, ...) CASE_PRINTF_LIKE(3, 4);

/* Puts "name: " before the text, a long name shortened from its front, and returns status. */
case_status case_fail_in(case_error *error, case_status status, const char *name);

/* Empties the text (if error is not NULL) and returns CASE_OK. */
case_status case_succeed(case_error *error);

#endif
