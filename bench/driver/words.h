/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a comma-separated list: for (words w = words_of(text); words_next(&w);) use(w.word); */
#ifndef WORDS_H
#define WORDS_H

typedef struct words {
    char word[24];    /* cut off where it is longer */
    const char *at;   /* where it begins in the list */
    const char *rest; /* NULL: no more */
} words;

words words_of(const char *list);
int words_next(words *w);

#endif
