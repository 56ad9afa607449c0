/* SPDX-License-Identifier: Apache-2.0 */
/* What a command of `attn` is: its words for help, its options, and how it runs. */
#ifndef COMMAND_H
#define COMMAND_H

#include "options.h"

typedef struct command {
    const char *name;
    const char *summary;  /* one line */
    const char *synopsis; /* lines, each without "attn " */
    const char *about;    /* paragraphs, each one line */
    const char *examples; /* pairs of lines: what for, and the command */
    const char *operand;  /* what an operand is called; NULL if there are none */
    int operands_most;
    const option_part *parts;
    size_t args_size;
    void (*init)(void *args); /* after zeroing; may be NULL */
    int (*run)(const void *args, int operand_count, char **operands);
} command;

extern const command info_command, run_command, check_command, bench_command, explain_command, make_command;

/* All of them, in the order of the help text; ends with NULL. */
extern const command *const commands[];

#endif
