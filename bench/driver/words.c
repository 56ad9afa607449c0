/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

words words_of(const char *list) {
    return (words){.rest = *list == '\0' ? NULL : list};
}

int words_next(words *w) {
    if (w->rest == NULL) return 0;
    size_t length = strcspn(w->rest, ",");
    snprintf(w->word, sizeof w->word, "%.*s", (int)length, w->rest);
    w->at = w->rest;
    w->rest = w->rest[length] == '\0' ? NULL : w->rest + length + 1;
    return 1;
}
