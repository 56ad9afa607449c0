/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy's .npy files: one array each. Read are versions 1 to 3, little-endian, C order, of types f2, f4, f8, b1, u1, i4
 * and i8 with up to four dimensions; anything else is refused with the reason. Written is version 1.
 */
#ifndef NPY_H
#define NPY_H

#include "case.h"
#include "case_stream.h"

/* Reads all of input into a tensor that owns its block. *tensor is empty after failure. u1 is read as BOOL. */
case_status npy_read(case_input *input, case_tensor *tensor, case_error *error);
/* path "-" is standard input. */
case_status npy_read_path(const char *path, case_tensor *tensor, case_error *error);

/* Errors: UNSUPPORTED for BF16, which .npy does not know. */
case_status npy_write(FILE *stream, const case_tensor *tensor, case_error *error);
/* path "-" is standard output. A file that could not be written whole is removed. */
case_status npy_write_path(const char *path, const case_tensor *tensor, case_error *error);

#endif
