/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "worker.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(pid_t *pid, char *const command[], int input, int output) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    error = posix_spawnp(pid, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int worker_start(worker *w, char *const command[]) {
    int to[2], from[2];
    *w = (worker){0};
    /* Closed on exec: a worker that held another's pipe open would keep it from noticing the end. */
    if (pipe2(to, O_CLOEXEC) != 0) return errno;
    if (pipe2(from, O_CLOEXEC) != 0) return close(to[0]), close(to[1]), errno;
    int error = spawn(&w->pid, command, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    if (error != 0) return close(to[1]), close(from[0]), error;
    w->to = fdopen(to[1], "w");
    w->from = fdopen(from[0], "r");
    return 0;
}

cJSON *worker_ask(worker *w, const char *line) {
    char *answer = NULL;
    size_t size = 0;
    cJSON *object = NULL;
    if (fprintf(w->to, "%s\n", line) > 0 && fflush(w->to) == 0 && getline(&answer, &size, w->from) > 0) {
        object = cJSON_Parse(answer);
    }
    free(answer);
    return object;
}

int worker_stop(worker *w) {
    int status = 0;
    if (w->to == NULL) return 0;
    fclose(w->to);
    fclose(w->from);
    w->to = w->from = NULL;
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}
