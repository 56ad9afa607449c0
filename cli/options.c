/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"
#include "message.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------------------- readers */

const char *read_text(const option *self, const char *text, void *field) {
    (void)self;
    *(const char **)field = text;
    return NULL;
}

const char *read_integer(const option *self, const char *text, void *field) {
    char *end = NULL;
    (void)self;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0) return "a whole number";
    *(int64_t *)field = value;
    return NULL;
}

const char *read_count(const option *self, const char *text, void *field) {
    int64_t value;
    if (read_integer(self, text, &value) != NULL || value < 0) return "a whole number, 0 or more";
    *(int64_t *)field = value;
    return NULL;
}

const char *read_uint64(const option *self, const char *text, void *field) {
    char *end = NULL;
    (void)self;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || strchr(text, '-') != NULL) return "a whole number, 0 or more";
    *(uint64_t *)field = value;
    return NULL;
}

const char *read_number(const option *self, const char *text, void *field) {
    char *end = NULL;
    (void)self;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) return "a number";
    *(double *)field = value;
    return NULL;
}

const char *read_choice(const option *self, const char *text, void *field) {
    const char *choice = self->value;
    for (int position = 0;; position++) {
        size_t length = strcspn(choice, "|");
        if (strlen(text) == length && strncmp(text, choice, length) == 0) {
            *(int *)field = position;
            return NULL;
        }
        if (choice[length] == '\0') return self->value;
        choice += length + 1;
    }
}

/* ------------------------------------------------------------------------------------------------------ suggestions */

enum { WORD_LIMIT = 32 };

static int smallest(int a, int b, int c) {
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Optimal string alignment; rows are the letters of a, columns those of b. */
int edit_distance(const char *a, const char *b) {
    int table[WORD_LIMIT + 1][WORD_LIMIT + 1];
    size_t rows = strlen(a), columns = strlen(b);
    if (rows > WORD_LIMIT || columns > WORD_LIMIT) return 99;
    for (size_t i = 0; i <= rows; i++) table[i][0] = (int)i;
    for (size_t j = 0; j <= columns; j++) table[0][j] = (int)j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            int replaced = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            table[i][j] = smallest(table[i - 1][j] + 1, table[i][j - 1] + 1, replaced);
            int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && table[i - 2][j - 2] + 1 < table[i][j]) table[i][j] = table[i - 2][j - 2] + 1;
        }
    }
    return table[rows][columns];
}

int is_close(const char *a, const char *b) {
    size_t length = strlen(a);
    int allowed = length < 3 ? 0 : length < 6 ? 1 : 2;
    return edit_distance(a, b) <= allowed;
}

/* ---------------------------------------------------------------------------------------------------------- parsing */

typedef struct parser {
    const char *command;
    const option_part *parts;
    char *target;
    char **arguments;
    int count, next; /* next: the argument to look at */
    options_result *result;
} parser;

typedef struct found_option {
    const option *option; /* NULL: there is none */
    void *field;
} found_option;

typedef int option_match(const option *o, const char *name, size_t length);

static int has_name(const option *o, const char *name, size_t length) {
    return strlen(o->name) == length && strncmp(o->name, name, length) == 0;
}

static int has_letter(const option *o, const char *name, size_t length) {
    (void)length;
    return o->letter == name[0];
}

static found_option find_option(const parser *p, option_match *matches, const char *name, size_t length) {
    for (const option_part *part = p->parts; part->table != NULL; part++) {
        for (const option *o = part->table->options; o->name != NULL; o++) {
            if (matches(o, name, length)) return (found_option){o, p->target + part->offset + o->field};
        }
    }
    return (found_option){NULL, NULL};
}

static const char *closest_name(const parser *p, const char *word) {
    const char *best = is_close(word, "help") ? "help" : NULL;
    for (const option_part *part = p->parts; part->table != NULL; part++) {
        for (const option *o = part->table->options; o->name != NULL; o++) {
            if (!is_close(word, o->name)) continue;
            if (best == NULL || edit_distance(word, o->name) < edit_distance(word, best)) best = o->name;
        }
    }
    return best;
}

static int unknown_option(const parser *p, const char *word, int length) {
    char name[WORD_LIMIT + 1] = "";
    if (length <= WORD_LIMIT) memcpy(name, word, (size_t)length);
    const char *meant = closest_name(p, name);
    if (meant != NULL)
        return complain("%s: unknown option --%.*s; did you mean --%s?", p->command, length, word, meant);
    return complain("%s: unknown option --%.*s; 'attn %s --help' lists them", p->command, length, word, p->command);
}

static int store_value(const parser *p, found_option found, const char *text) {
    const char *takes = found.option->read(found.option, text, found.field);
    if (takes == NULL) return EXIT_FINE;
    return complain("%s: --%s takes %s, not '%s'", p->command, found.option->name, takes, text);
}

/* The value of an option: what is attached to it, or else the next argument. */
static int read_value(parser *p, found_option found, const char *attached) {
    if (attached != NULL) return store_value(p, found, attached);
    if (p->next == p->count) {
        return complain("%s: --%s needs a value: %s", p->command, found.option->name, found.option->value);
    }
    return store_value(p, found, p->arguments[p->next++]);
}

static int read_long(parser *p, const char *word) {
    size_t length = strcspn(word, "=");
    const char *attached = word[length] == '=' ? word + length + 1 : NULL;
    if (strcmp(word, "help") == 0) {
        p->result->help = 1;
        return EXIT_FINE;
    }
    found_option found = find_option(p, has_name, word, length);
    if (found.option == NULL) return unknown_option(p, word, (int)length);
    if (found.option->value != NULL) return read_value(p, found, attached);
    if (attached != NULL) return complain("%s: --%s takes no value", p->command, found.option->name);
    *(int *)found.field = 1;
    return EXIT_FINE;
}

/* Letters may be joined; the first that takes a value takes the rest of the word, or else the next argument. */
static int read_letters(parser *p, const char *letters) {
    for (; *letters != '\0'; letters++) {
        if (*letters == 'h') {
            p->result->help = 1;
            return EXIT_FINE;
        }
        found_option found = find_option(p, has_letter, letters, 1);
        if (found.option == NULL) {
            return complain("%s: unknown option -%c; 'attn %s --help' lists them", p->command, *letters, p->command);
        }
        if (found.option->value != NULL) return read_value(p, found, letters[1] != '\0' ? letters + 1 : NULL);
        *(int *)found.field = 1;
    }
    return EXIT_FINE;
}

static int read_argument(parser *p, int *only_operands) {
    char *argument = p->arguments[p->next++];
    if (*only_operands || argument[0] != '-' || argument[1] == '\0') {
        p->result->operands[p->result->operand_count++] = argument;
        return EXIT_FINE;
    }
    if (argument[1] != '-') return read_letters(p, argument + 1);
    if (argument[2] != '\0') return read_long(p, argument + 2);
    *only_operands = 1;
    return EXIT_FINE;
}

int options_read(const char *command, const option_part *parts, void *target, int count, char **arguments,
                 options_result *result) {
    parser p = {command, parts, target, arguments, count, 0, result};
    int only_operands = 0;
    *result = (options_result){0, arguments, 0};
    while (p.next < p.count && !result->help) {
        int status = read_argument(&p, &only_operands);
        if (status != EXIT_FINE) return status;
    }
    return EXIT_FINE;
}
