/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "streams.h"
#include "message.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void streams_reserve(void) {
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) != -1) continue;
        /* The lowest free descriptor is this one. It is opened for the wrong direction, so that its use fails. */
        if (open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor) _Exit(EXIT_WRONG);
    }
}

int streams_finish(int status) {
    int failed = ferror(stdout);
    errno = 0;
    if (fclose(stdout) != 0) failed = 1;
    if (!failed || status == EXIT_WRONG) return status;
    if (errno == 0) errno = EIO;
    return complain("standard output: %s", strerror(errno));
}

int streams_output_is_terminal(void) {
    return isatty(STDOUT_FILENO);
}
