/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of files: what is named, and every .safetensors file below a folder that is named. */
#ifndef FILES_H
#define FILES_H

#include <stddef.h>

typedef struct file_list {
    char **paths;
    size_t count, room;
} file_list;

/* Adds a file as it is named, or the .safetensors files of a folder and of the folders in it, sorted by name. Links to
 * folders are followed only where named. Returns an exit code, after a message: a folder that cannot be read, one
 * without any such file. Files are not opened, so that one that is missing is noticed by its reader. */
int files_add(file_list *files, const char *path);

void files_free(file_list *files);

#endif
