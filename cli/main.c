/* SPDX-License-Identifier: Apache-2.0 */
/* The `attn` command: finds the command that is asked for, reads its options and runs it. */
#include "command.h"
#include "help.h"
#include "message.h"
#include "streams.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const command *const commands[] = {&info_command, &run_command, &check_command, &bench_command, &explain_command,
                                   &make_command, NULL};

static const command *find_command(const char *name) {
    for (const command *const *c = commands; *c != NULL; c++) {
        if (strcmp((*c)->name, name) == 0) return *c;
    }
    return NULL;
}

static int unknown_command(const char *name) {
    for (const command *const *c = commands; *c != NULL; c++) {
        if (is_close(name, (*c)->name)) {
            return complain("unknown command '%s'; did you mean '%s'?", name, (*c)->name);
        }
    }
    return complain("unknown command '%s'; 'attn --help' lists them", name);
}

static int check_operands(const command *c, const options_result *given) {
    if (given->operand_count <= c->operands_most) return EXIT_FINE;
    const char *extra = given->operands[c->operands_most];
    if (c->operand == NULL) return complain("%s: takes options only, not '%s'", c->name, extra);
    return complain("%s: takes %d %s at most; '%s' is one too many", c->name, c->operands_most, c->operand, extra);
}

static int run_with(const command *c, void *args, int count, char **arguments) {
    options_result given;
    if (c->init != NULL) c->init(args);
    int status = options_read(c->name, c->parts, args, count, arguments, &given);
    if (status != EXIT_FINE) return status;
    if (given.help) {
        print_command_help(c);
        return EXIT_FINE;
    }
    status = check_operands(c, &given);
    if (status != EXIT_FINE) return status;
    return c->run(args, given.operand_count, given.operands);
}

static int run_command_line(const command *c, int count, char **arguments) {
    void *args = calloc(1, c->args_size);
    if (args == NULL) return complain("out of memory");
    int status = run_with(c, args, count, arguments);
    free(args);
    return status;
}

static int help_about(const char *name) {
    const command *c = find_command(name);
    if (c == NULL) return unknown_command(name);
    print_command_help(c);
    return EXIT_FINE;
}

static int dispatch(int count, char **arguments) {
    if (count == 0) {
        return complain("which command? 'attn --help' lists them");
    }
    const char *name = arguments[0];
    if (strcmp(name, "--version") == 0) {
        printf("attn %s\n", attn_version_string());
        return EXIT_FINE;
    }
    if (strcmp(name, "help") == 0 && count > 1) return help_about(arguments[1]);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help();
        return EXIT_FINE;
    }
    if (name[0] == '-') return complain("unknown option %s; a command comes first: 'attn --help' lists them", name);
    const command *c = find_command(name);
    if (c == NULL) return unknown_command(name);
    return run_command_line(c, count - 1, arguments + 1);
}

int main(int argc, char **argv) {
    streams_reserve();
    int status = dispatch(argc > 0 ? argc - 1 : 0, argv + 1);
    return streams_finish(status);
}
