/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the command line as tables: parsing, help and the checks of man page and completion all read the same
 * ones.
 *
 * A table fills in one struct. A command lists the tables that it takes and where their structs lie in its own:
 *
 *     typedef struct cut_args { int64_t depth; engine_choice engine; } cut_args;
 *     static const option cut_options[] = {{"depth", 'd', "N", read_count, offsetof(cut_args, depth), "how deep"},
 * {0}}; static const option_table cut_table = {"Options", cut_options}; static const option_part cut_parts[] =
 * {{&cut_table, 0}, {&engine_table, offsetof(cut_args, engine)}, {0}};
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>
#include <stdint.h>

typedef struct option option;

/* Reads the text of a value into the option's field. Returns NULL, or what the option takes, as in "a whole number". */
typedef const char *option_reader(const option *self, const char *text, void *field);

struct option {
    const char *name;    /* without its dashes; NULL ends a table */
    char letter;         /* the short form, or 0 */
    const char *value;   /* what help calls the value: a word in capitals, or the choices "cpu|oracle"; NULL: a flag */
    option_reader *read; /* NULL for a flag: its field is an int, which becomes 1 */
    size_t field;        /* offset in the struct that the table fills in */
    const char *help;
};

typedef struct option_table {
    const char *title; /* of the section in the help text; tables in a row with the same one share it */
    const option *options;
} option_table;

typedef struct option_part {
    const option_table *table; /* NULL ends a list */
    size_t offset;             /* of the table's struct in the command's */
} option_part;

/* ---------------------------------------------------------------------------------------------------------- readers */

option_reader read_text;    /* const char *: points into argv */
option_reader read_integer; /* int64_t: any whole number */
option_reader read_count;   /* int64_t: 0 or more */
option_reader read_uint64;  /* uint64_t */
option_reader read_number;  /* double, finite */
option_reader read_choice;  /* int: the position in the choices of `value` */

/* ---------------------------------------------------------------------------------------------------------- parsing */

typedef struct options_result {
    int help;        /* --help was given; nothing after it was read */
    char **operands; /* what is no option, moved to the front of the arguments */
    int operand_count;
} options_result;

/*
 * Reads the arguments of a command (without its name) into *target. Options and operands may come in any order; "--"
 * ends the options and "-" is an operand. Returns an exit code, after a message that names the command.
 */
int options_read(const char *command, const option_part *parts, void *target, int count, char **arguments,
                 options_result *result);

/* Edits (insertions, deletions, replacements, swaps of neighbours) from one word to the other; 99 if they are too long. */
int edit_distance(const char *a, const char *b);

/* Whether a word is so close to another that a slip is likely. */
int is_close(const char *a, const char *b);

#endif
