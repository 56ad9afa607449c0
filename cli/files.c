/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "message.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char suffix[] = ".safetensors";

static char *join(const char *folder, const char *name) {
    size_t length = strlen(folder);
    char *path = malloc(length + strlen(name) + 2);
    if (path == NULL) return NULL;
    strcpy(path, folder);
    if (length > 0 && folder[length - 1] != '/') strcat(path, "/");
    return strcat(path, name);
}

static int append(file_list *files, const char *path) {
    if (files->count == files->room) {
        size_t room = 2 * files->room + 16;
        char **paths = realloc(files->paths, room * sizeof *paths);
        if (paths == NULL) return complain("out of memory");
        files->paths = paths;
        files->room = room;
    }
    char *copy = join("", path);
    if (copy == NULL) return complain("out of memory");
    files->paths[files->count++] = copy;
    return EXIT_FINE;
}

static int has_suffix(const char *name) {
    size_t length = strlen(name);
    return length > sizeof suffix - 1 && strcmp(name + length - (sizeof suffix - 1), suffix) == 0;
}

static int is_folder(const char *path, int follow_links) {
    struct stat about;
    int failed = follow_links ? stat(path, &about) : lstat(path, &about);
    return failed == 0 && S_ISDIR(about.st_mode);
}

static int add_folder(file_list *files, const char *folder);

static int add_entry(file_list *files, const char *path) {
    if (is_folder(path, 0)) return add_folder(files, path);
    return has_suffix(path) && !is_folder(path, 1) ? append(files, path) : EXIT_FINE;
}

static int skip_dots(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int add_folder(file_list *files, const char *folder) {
    struct dirent **entries;
    int status = EXIT_FINE;
    int count = scandir(folder, &entries, skip_dots, alphasort);
    if (count < 0) return complain("%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        char *path = join(folder, entries[i]->d_name);
        int added = path != NULL ? add_entry(files, path) : complain("out of memory");
        if (added != EXIT_FINE) status = added;
        free(path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

int files_add(file_list *files, const char *path) {
    size_t before = files->count;
    if (!is_folder(path, 1)) return append(files, path);
    int status = add_folder(files, path);
    if (status == EXIT_FINE && files->count == before) return complain("%s: no %s file in this folder", path, suffix);
    return status;
}

void files_free(file_list *files) {
    for (size_t i = 0; i < files->count; i++) free(files->paths[i]);
    free(files->paths);
    *files = (file_list){NULL, 0, 0};
}
