/* SPDX-License-Identifier: Apache-2.0 */
#include "help.h"
#include <stdio.h>
#include <string.h>

enum { LINE_WIDTH = 80, HELP_COLUMN = 26 };

static void print_spaces(int count) {
    printf("%*s", count, "");
}

/* Prints words from `column` on, starting new lines at `indent`, and ends the line. */
static void print_wrapped(const char *text, int indent, int column) {
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > LINE_WIDTH) {
            putchar('\n');
            print_spaces(indent);
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

/* Calls print for each line of a text. */
static void each_line(const char *text, void (*print)(const char *line, int number)) {
    char line[512];
    for (int number = 0; *text != '\0'; number++) {
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        print(line, number);
        text += length + (text[length] == '\n');
    }
}

static void print_synopsis(const char *line, int number) {
    printf("%s attn %s\n", number == 0 ? "Usage:" : "      ", line);
}

static void print_paragraph(const char *line, int number) {
    (void)number;
    putchar('\n');
    print_wrapped(line, 0, 0);
}

static void print_example(const char *line, int number) {
    if (number % 2 == 1) {
        printf("      %s\n", line);
        return;
    }
    print_spaces(2);
    print_wrapped(line, 2, 2);
}

static void print_option(const char *name, char letter, const char *value, const char *help) {
    char left[128];
    char short_form[5] = "    ";
    if (letter != 0) snprintf(short_form, sizeof short_form, "-%c, ", letter);
    int width = snprintf(left, sizeof left, "  %s--%s%s%s", short_form, name, value != NULL ? " " : "",
                         value != NULL ? value : "");
    printf("%s", left);
    if (width + 2 > HELP_COLUMN) {
        putchar('\n');
        width = 0;
    }
    print_spaces(HELP_COLUMN - width);
    print_wrapped(help, HELP_COLUMN, HELP_COLUMN);
}

static void print_tables(const option_part *parts) {
    const char *title = "";
    for (const option_part *part = parts; part->table != NULL; part++) {
        if (strcmp(part->table->title, title) != 0) printf("\n%s:\n", part->table->title);
        title = part->table->title;
        for (const option *o = part->table->options; o->name != NULL; o++) {
            print_option(o->name, o->letter, o->value, o->help);
        }
    }
    printf("\nHelp:\n");
    print_option("help", 'h', NULL, "this text");
}

void print_command_help(const command *c) {
    each_line(c->synopsis, print_synopsis);
    each_line(c->about, print_paragraph);
    print_tables(c->parts);
    printf("\nExamples:\n");
    each_line(c->examples, print_example);
}

static const char general_examples[] =
    "What this machine has and which kernels run on it\n"
    "attn info\n"
    "Attention of three arrays, written as a fourth\n"
    "attn run --q q.npy --k k.npy --v v.npy --causal -o o.npy\n"
    "Run every case of a folder and compare with its expected results\n"
    "attn check cases/\n"
    "How fast is it here, with one thread and with two?\n"
    "attn bench --preset A --threads 1,2\n"
    "Make a random case, results included\n"
    "attn make --heads 8 --seq-q 100 --dim 64 --seed 7 --expect -o case.safetensors\n";

void print_help(void) {
    printf("Usage: attn COMMAND [OPTION...] [FILE...]\n");
    print_paragraph("Exact attention, softmax(scale * q k^T + bias) v, on this machine.", 0);
    printf("\nCommands:\n");
    for (const command *const *c = commands; *c != NULL; c++) printf("  %-9s %s\n", (*c)->name, (*c)->summary);
    printf("\nOptions:\n");
    print_option("help", 'h', NULL, "this text; 'attn COMMAND --help' describes a command");
    print_option("version", 0, NULL, "version of the library in use");
    printf("\nExamples:\n");
    each_line(general_examples, print_example);
    printf("\nExit status: 0 done, 1 a check failed, 2 wrong usage or input.\n");
}
