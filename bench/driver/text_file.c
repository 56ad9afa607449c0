/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "text_file.h"
#include <stdio.h>
#include <stdlib.h>

char *text_file_read(const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    /* No text has a zero byte: this reads all of it. */
    if (file == NULL || getdelim(&text, &size, '\0', file) < 0) {
        perror(path);
        free(text);
        text = NULL;
    }
    if (file != NULL) fclose(file);
    return text;
}

int text_file_write(const char *path, const char *const *texts) {
    FILE *file = fopen(path, "w");
    int failed = file == NULL;
    for (; !failed && *texts != NULL; texts++) failed = fputs(*texts, file) < 0;
    if (file != NULL && fclose(file) != 0) failed = 1;
    if (failed) perror(path);
    return failed ? -1 : 0;
}
