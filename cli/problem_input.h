/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's case comes from: a case file, or random data of given shapes. */
#ifndef PROBLEM_INPUT_H
#define PROBLEM_INPUT_H

#include "case.h"
#include "problem_choice.h"

/* Reads a case file and changes it by those of the options that were given. Returns an exit code, after a message; the
 * case is to be freed in any case. */
int input_read(const char *path, const case_options *given, case_file *c);

/* Makes a random case. */
int input_make(const make_case_options *options, case_file *c);

/* The problem of a case file or, where path is NULL, of shapes, without keeping any data. */
int input_problem(const char *path, const make_case_options *options, attn_problem *problem);

/* Replaces what of `options` was given, which is what differs from the default. */
void options_override(case_options *options, const case_options *given);

#endif
