/* SPDX-License-Identifier: Apache-2.0 */
/* Where the readers get their bytes from, and how the writers open and close a file. Path "-" is a standard stream. */
#ifndef CASE_STREAM_H
#define CASE_STREAM_H

#include "case_error.h"
#include <stdint.h>
#include <stdio.h>

/* Bytes that come one after another, from memory or from a stream. */
typedef struct case_input {
    const unsigned char *bytes; /* memory; NULL: the stream */
    FILE *stream;
    int64_t left; /* bytes that are still to come; -1: not known (a pipe) */
} case_input;

case_input case_input_from_memory(const void *bytes, size_t size);
case_input case_input_from_stream(FILE *stream);

/* Reads exactly size bytes; `what` names them in the error that says how many are missing. */
case_status case_input_read(case_input *input, void *bytes, size_t size, const char *what, case_error *error);

/* Allocates a block, at least one byte, and reads size bytes into it. Never allocates much more than what has really
 * arrived, whatever size claims. *block is NULL after failure. */
case_status case_input_read_block(case_input *input, size_t size, void **block, const char *what, case_error *error);

/* Fails if a byte is left. */
case_status case_input_expect_end(case_input *input, case_error *error);

/* Opens a file for reading, or gives standard input for "-". */
case_status case_open_input(const char *path, FILE **stream, case_error *error);
void case_close_input(FILE *stream);

/* Opens a file for writing, or gives standard output for "-". */
case_status case_open_output(const char *path, FILE **stream, case_error *error);
/* Flushes and closes. `written` is how writing went: if that or closing failed, a regular file is removed. Returns the
 * first failure. */
case_status case_close_output(const char *path, FILE *stream, case_status written, case_error *error);

/* Writes size bytes. */
case_status case_put(FILE *stream, const void *bytes, size_t size, case_error *error);

/* "standard input" or "standard output" for "-", or else the path. */
const char *case_input_name(const char *path);
const char *case_output_name(const char *path);

#endif
