/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: a process that computes one problem by one library. It reads a line from its standard input and answers
 * each with one JSON object in a line on its standard output:
 *
 *     hello                            {"version":...}, or {"skip": why it is not here}; with "environment":
 * "NAME=value" where it wants to be started with that prepare {"type":..., "q":...}    {"variant":...}, or {"skip": why
 * it cannot} run N                            {"seconds": of one run, the mean of N} store FILE {}, with o in FILE quit
 * {"peak_bytes": the most memory that the process had}
 *
 * README.md describes the problem's fields.
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
