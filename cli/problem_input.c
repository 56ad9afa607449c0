/* SPDX-License-Identifier: Apache-2.0 */
#include "problem_input.h"
#include "message.h"

static int exit_code(case_status status, const case_error *error) {
    return status == CASE_OK ? EXIT_FINE : complain("%s", error->text);
}

#define OVERRIDE(member)                                                                                               \
    if (given->member != usual.options.member) options->member = given->member

void options_override(case_options *options, const case_options *given) {
    make_case_options usual;
    make_case_options_init(&usual);
    OVERRIDE(causal);
    OVERRIDE(scale);
    OVERRIDE(softcap);
    OVERRIDE(window_left);
    OVERRIDE(window_right);
    OVERRIDE(q_offset);
    OVERRIDE(dropout_p);
    OVERRIDE(dropout_seed);
    OVERRIDE(dropout_offset);
    OVERRIDE(atol);
    OVERRIDE(rtol);
}

int input_read(const char *path, const case_options *given, case_file *c) {
    case_error error;
    case_status status = case_read(path, c, &error);
    if (status != CASE_OK) return exit_code(status, &error);
    options_override(&c->options, given);
    status = case_finish(c, &error);
    if (status != CASE_OK) case_fail_in(&error, status, path);
    return exit_code(status, &error);
}

int input_make(const make_case_options *options, case_file *c) {
    case_error error;
    return exit_code(make_case(options, c, &error), &error);
}

int input_problem(const char *path, const make_case_options *options, attn_problem *problem) {
    case_file c;
    if (path == NULL) {
        problem_of_shapes(options, problem);
        return EXIT_FINE;
    }
    int status = input_read(path, &options->options, &c);
    *problem = c.problem;
    case_free(&c);
    return status;
}
