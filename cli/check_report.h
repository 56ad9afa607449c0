/* SPDX-License-Identifier: Apache-2.0 */
/* What `attn check` says about each case, as lines or as JSON, and in the end. */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include "case.h"
#include "json.h"
#include "progress.h"

/* What became of one case on one engine. */
typedef struct check_result {
    const char *path, *engine;
    const char *reference; /* "file" or "oracle" */
    const char *refusal;   /* NULL, or why the engine has no kernel for it */
    int has[CASE_SLOTS];   /* compared, of CASE_O and CASE_LSE */
    case_verdict verdict[CASE_SLOTS];
} check_result;

typedef struct check_report {
    int quiet;    /* print no line for a pass */
    cJSON *cases; /* NULL: lines */
    progress *bar;
    int passed, failed, unreadable;
} check_report;

check_report check_report_open(int quiet, int json, int files);
void check_report_add(check_report *report, const check_result *result);
/* A file that makes no case; text says why. */
void check_report_unreadable(check_report *report, const char *path, const char *text);
/* Ends with "N passed, N failed", or prints the JSON document. Returns the exit code of the whole. */
int check_report_close(check_report *report);

#endif
