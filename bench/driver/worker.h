/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: a process that computes one problem by one library. It reads a request from each line of its standard input
 * and answers with one JSON object in a line of its standard output. README.md has the requests.
 */
#ifndef WORKER_H
#define WORKER_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct worker {
    pid_t pid;
    FILE *to, *from; /* NULL: not running */
} worker;

/* Starts the program command[0], found as a shell would. Returns 0, or an errno value. */
int worker_start(worker *w, char *const command[]);

/* Sends a line. Returns the answer, which is the caller's to delete, or NULL if there is none: the worker has died. */
cJSON *worker_ask(worker *w, const char *line);

/* Closes the pipes and waits for the end. Returns its status as waitpid() gives it. */
int worker_stop(worker *w);

#endif
