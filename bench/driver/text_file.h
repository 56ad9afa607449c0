/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files of text. Both print a message when they fail. */
#ifndef TEXT_FILE_H
#define TEXT_FILE_H

/* The text, which is the caller's to free; NULL on failure. */
char *text_file_read(const char *path);

/* Writes the texts, up to a NULL, one after another. Returns 0 or -1. */
int text_file_write(const char *path, const char *const *texts);

#endif
