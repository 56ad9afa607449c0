/* SPDX-License-Identifier: Apache-2.0 */
/* The scalars of a case and their texts. */
#include "case_slots.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------------------- numbers */

static const char *skip_digits(const char *text) {
    return text + strspn(text, "0123456789");
}

/* A decimal number, all of the text and nothing else: no spaces, no hexadecimal, no "inf" and no "nan". */
static int is_number(const char *text) {
    const char *digits = text + (*text == '-' || *text == '+');
    const char *end = skip_digits(digits);
    size_t count = (size_t)(end - digits);
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        count += (size_t)(end - fraction);
    }
    if (count == 0) return 0;
    if (*end == 'e' || *end == 'E') {
        end += 1 + (end[1] == '-' || end[1] == '+');
        if (skip_digits(end) == end) return 0;
        end = skip_digits(end);
    }
    return *end == '\0';
}

static case_status parse_number(const char *key, const char *text, double least, double *number, case_error *error) {
    double value = is_number(text) ? strtod(text, NULL) : (double)NAN;
    if (!isfinite(value))
        return case_fail(error, CASE_ERROR_CONTENT, "%s '%.64s' is not a finite decimal number", key, text);
    if (value < least)
        return case_fail(error, CASE_ERROR_CONTENT, "%s is %.17g, at least %g is needed", key, value, least);
    *number = value;
    return CASE_OK;
}

/* `least` above INT64_MIN keeps the named constants of attn.h from being spelled as numbers. */
static case_status parse_whole(const char *key, const char *text, int64_t least, int64_t *number, case_error *error) {
    const char *digits = text + (*text == '-');
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (*digits == '\0' || *skip_digits(digits) != '\0')
        return case_fail(error, CASE_ERROR_CONTENT, "%s '%.64s' is not a whole number", key, text);
    if (errno == ERANGE || value < least)
        return case_fail(error, CASE_ERROR_CONTENT, "%s is %.64s, not in %" PRId64 " to 2^63 - 1", key, text, least);
    *number = (int64_t)value;
    return CASE_OK;
}

static case_status parse_unsigned(const char *key, const char *text, uint64_t *number, case_error *error) {
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (*text == '\0' || *skip_digits(text) != '\0' || errno == ERANGE)
        return case_fail(error, CASE_ERROR_CONTENT, "%s '%.64s' is not a whole number of 0 to 2^64 - 1", key, text);
    *number = (uint64_t)value;
    return CASE_OK;
}

static case_status parse_switch(const char *key, const char *text, int *on, case_error *error) {
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return case_fail(error, CASE_ERROR_CONTENT, "%s is '%.64s', not 0 or 1", key, text);
    *on = text[0] == '1';
    return CASE_OK;
}

static case_status parse_layout(const char *text, case_layout *layout, case_error *error) {
    for (int n = CASE_BHSD; n <= CASE_THD; n++) {
        if (strcmp(text, case_layout_name((case_layout)n)) != 0) continue;
        *layout = (case_layout)n;
        return CASE_OK;
    }
    return case_fail(error, CASE_ERROR_CONTENT, "layout '%.64s' is not bhsd, bshd or thd", text);
}

static case_status copy_text(const char *text, char **copy, case_error *error) {
    size_t size = strlen(text) + 1;
    char *block = malloc(size);
    if (block == NULL) return case_fail(error, CASE_ERROR_MEMORY, "no memory for a text of %zu bytes", size);
    memcpy(block, text, size);
    free(*copy);
    *copy = block;
    return CASE_OK;
}

/* ---------------------------------------------------------------------------------------------------------- by name */

/* Which numbers an option takes. */
typedef enum option_kind {
    SWITCH,   /* int, 0 or 1 */
    WIDTH,    /* int64_t, 0 or more */
    POSITION, /* int64_t */
    UNSIGNED, /* uint64_t */
    NUMBER,   /* double */
    AMOUNT    /* double, 0 or more */
} option_kind;

typedef struct option_row {
    const char *key;
    option_kind kind;
    size_t offset; /* in case_options */
} option_row;

static const option_row rows[CASE_OPTIONS] = {
    {"causal", SWITCH, offsetof(case_options, causal)},
    {"scale", NUMBER, offsetof(case_options, scale)},
    {"softcap", AMOUNT, offsetof(case_options, softcap)},
    {"window_left", WIDTH, offsetof(case_options, window_left)},
    {"window_right", WIDTH, offsetof(case_options, window_right)},
    {"q_offset", POSITION, offsetof(case_options, q_offset)},
    {"dropout_p", AMOUNT, offsetof(case_options, dropout_p)},
    {"dropout_seed", UNSIGNED, offsetof(case_options, dropout_seed)},
    {"dropout_offset", UNSIGNED, offsetof(case_options, dropout_offset)},
    {"atol", AMOUNT, offsetof(case_options, atol)},
    {"rtol", AMOUNT, offsetof(case_options, rtol)},
};

case_options case_options_default(void) {
    return (case_options){.scale = ATTN_SCALE_DEFAULT,
                          .window_left = ATTN_UNBOUNDED,
                          .window_right = ATTN_UNBOUNDED,
                          .q_offset = ATTN_OFFSET_END,
                          .atol = -1,
                          .rtol = -1};
}

static case_status parse_option(const option_row *row, const char *text, void *field, case_error *error) {
    switch (row->kind) {
    case SWITCH:
        return parse_switch(row->key, text, field, error);
    case WIDTH:
        return parse_whole(row->key, text, 0, field, error);
    case POSITION:
        return parse_whole(row->key, text, INT64_MIN + 1, field, error);
    case UNSIGNED:
        return parse_unsigned(row->key, text, field, error);
    case NUMBER:
        return parse_number(row->key, text, -HUGE_VAL, field, error);
    default:
        return parse_number(row->key, text, 0, field, error);
    }
}

static case_status set_by_key(case_file *c, const char *key, const char *value, case_error *error) {
    for (int n = 0; n < CASE_OPTIONS; n++) {
        if (strcmp(rows[n].key, key) == 0)
            return parse_option(&rows[n], value, (char *)&c->options + rows[n].offset, error);
    }
    if (strcmp(key, "title") == 0) return copy_text(value, &c->title, error);
    if (strcmp(key, "origin") == 0) return copy_text(value, &c->origin, error);
    if (strcmp(key, "layout") == 0) return parse_layout(value, &c->layout, error);
    return CASE_OK; /* another program's key */
}

case_status case_set(case_file *c, const char *key, const char *value, case_error *error) {
    case_status status = set_by_key(c, key, value, error);
    return status == CASE_OK ? case_succeed(error) : status;
}

/* --------------------------------------------------------------------------------------------------------- as texts */

static size_t field_size(option_kind kind) {
    return kind == SWITCH ? sizeof(int) : sizeof(int64_t);
}

static void format_option(option_kind kind, const void *field, char *text, size_t size) {
    switch (kind) {
    case SWITCH:
        (void)snprintf(text, size, "%d", *(const int *)field);
        break;
    case WIDTH:
    case POSITION:
        (void)snprintf(text, size, "%" PRId64, *(const int64_t *)field);
        break;
    case UNSIGNED:
        (void)snprintf(text, size, "%" PRIu64, *(const uint64_t *)field);
        break;
    default:
        (void)snprintf(text, size, "%.17g", *(const double *)field);
        break;
    }
}

void case_options_format(const case_options *options, case_option_text texts[CASE_OPTIONS]) {
    const case_options absent = case_options_default();
    for (int n = 0; n < CASE_OPTIONS; n++) {
        const char *field = (const char *)options + rows[n].offset;
        texts[n] = (case_option_text){rows[n].key, ""};
        if (memcmp(field, (const char *)&absent + rows[n].offset, field_size(rows[n].kind)) != 0)
            format_option(rows[n].kind, field, texts[n].value, sizeof texts[n].value);
    }
}
