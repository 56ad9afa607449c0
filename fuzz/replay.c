/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzzer on files, with any compiler: replay FILE_OR_FOLDER... Folders are not searched below their first level.
 * For inputs that a fuzzer once stopped at, and as a test on the seeds.
 */
#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Reads a file into a block of exactly its size, so that a sanitizer sees each byte too far. */
static uint8_t *read_file(const char *path, size_t *size) {
    struct stat status;
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) return NULL;
    uint8_t *bytes = NULL;
    if (fstat(fileno(stream), &status) == 0) bytes = malloc(status.st_size > 0 ? (size_t)status.st_size : 1);
    if (bytes != NULL) *size = fread(bytes, 1, (size_t)status.st_size, stream);
    (void)fclose(stream);
    return bytes;
}

static int replay_file(const char *path) {
    size_t size = 0;
    uint8_t *bytes = read_file(path, &size);
    if (bytes == NULL) {
        perror(path);
        return 0;
    }
    (void)LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return 1;
}

static int replay_folder(DIR *folder, const char *path) {
    int count = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char name[4096];
        struct stat status;
        int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof name) continue;
        if (stat(name, &status) == 0 && S_ISREG(status.st_mode)) count += replay_file(name);
    }
    return count;
}

/* How many files were run. */
static int replay(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL) return replay_file(path);
    int count = replay_folder(folder, path);
    (void)closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    int count = 0;
    (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int n = 1; n < argc; n++) count += replay(argv[n]);
    (void)printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
