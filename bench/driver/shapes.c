/* SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"
#include "words.h"
#include <stdio.h>
#include <string.h>

static const shape shapes[] = {
    {"A", 16, 16, 1024, 1024, 64, 0},         {"A-causal", 16, 16, 1024, 1024, 64, 1},
    {"B", 8, 8, 2048, 2048, 128, 0},          {"B-causal", 8, 8, 2048, 2048, 128, 1},
    {"C", 8, 8, 4096, 4096, 64, 0},           {"C-causal", 8, 8, 4096, 4096, 64, 1},
    {"rows-8", 8, 8, 8, 4096, 128, 0},        {"rows-32", 8, 8, 32, 4096, 128, 0},
    {"decode-4k", 8, 8, 1, 4096, 128, 0},     {"decode-16k", 8, 8, 1, 16384, 128, 0},
    {"decode-group", 32, 8, 1, 4096, 128, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int is_named(const shape *s, const char *word) {
    size_t length = strlen(word);
    return length > 0 && strncmp(s->name, word, length) == 0 && (s->name[length] == '\0' || s->name[length] == '-');
}

static int has(const shape_list *list, const shape *s) {
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, s->name) == 0) return 1;
    }
    return 0;
}

static int add_named(shape_list *list, const char *word) {
    int found = 0;
    for (int i = 0; i < SHAPES; i++) {
        if (!is_named(&shapes[i], word)) continue;
        found = 1;
        if (!has(list, &shapes[i])) list->items[list->count++] = shapes[i];
    }
    return found;
}

const char *shapes_choose(const char *names, shape_list *list) {
    list->count = 0;
    if (names == NULL) {
        memcpy(list->items, shapes, sizeof shapes);
        list->count = SHAPES;
        return NULL;
    }
    for (words w = words_of(names); words_next(&w);) {
        if (!add_named(list, w.word)) return w.at;
    }
    return NULL;
}

shape shape_of_length(int64_t n) {
    shape s = {"", 1, 1, n, n, 64, 0};
    snprintf(s.name, sizeof s.name, "length-%dk", (int)(n / 1024));
    return s;
}

double shape_flops(const shape *s) {
    double rows = (double)s->rows, keys = (double)s->keys;
    double pairs = s->causal ? rows * (rows + 1) / 2 + rows * (keys - rows) : rows * keys;
    return 4.0 * (double)s->dim * pairs * (double)s->heads_q;
}

double shape_bytes(const shape *s, attn_type type) {
    double rows = 2.0 * (double)(s->heads_q * s->rows), keys = 2.0 * (double)(s->heads_kv * s->keys);
    return (rows + keys) * (double)s->dim * (double)attn_type_size(type);
}

int shape_reads(const shape *s) {
    return s->rows == 1;
}

const char *shape_describe(const shape *s, char *text, size_t size) {
    char over[32] = "";
    if (s->heads_kv != s->heads_q) snprintf(over, sizeof over, " over %d", (int)s->heads_kv);
    snprintf(text, size, "%d head%s%s, %lld row%s, %lld keys, D %d%s", (int)s->heads_q, s->heads_q == 1 ? "" : "s",
             over, (long long)s->rows, s->rows == 1 ? "" : "s", (long long)s->keys, (int)s->dim,
             s->causal ? ", causal" : "");
    return text;
}
