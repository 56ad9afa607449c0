/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "member.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* What attn_engine_measure() reads: a decode step goes through as much before it comes back to the same keys, as the
 * layers of a model do. */
static const double read_through = 192.0 * 1024 * 1024;

/* ----------------------------------------------------------------------------------------------------------- asking */

void member_end(member *m) {
    if (m->worker.to == NULL) return;
    cJSON *last = worker_ask(&m->worker, "quit");
    m->peak_bytes = cJSON_GetNumberValue(cJSON_GetObjectItem(last, "peak_bytes"));
    cJSON_Delete(last);
    worker_stop(&m->worker);
}

__attribute__((format(printf, 2, 3))) static void skip(member *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(m->skipped, sizeof m->skipped, format, arguments);
    va_end(arguments);
    member_end(m);
}

/* The answer, or NULL after a skip(). */
static cJSON *ask(member *m, const char *line) {
    cJSON *answer = worker_ask(&m->worker, line);
    if (answer == NULL) {
        int status = worker_stop(&m->worker);
        if (WIFSIGNALED(status)) {
            skip(m, "it died: %s", strsignal(WTERMSIG(status)));
        } else {
            skip(m, "it ended without an answer, with status %d", WEXITSTATUS(status));
        }
        return NULL;
    }
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "skip"));
    if (why == NULL) return answer;
    skip(m, "%s", why);
    cJSON_Delete(answer);
    return NULL;
}

/* Seconds of one run, the mean of so many; NAN after a skip(). */
static double run(member *m, int repeats) {
    char line[32];
    snprintf(line, sizeof line, "run %d", repeats);
    cJSON *answer = ask(m, line);
    double seconds = answer == NULL ? NAN : cJSON_GetNumberValue(cJSON_GetObjectItem(answer, "seconds"));
    cJSON_Delete(answer);
    return seconds;
}

static int copies_of(const shape *s, attn_type type) {
    return shape_reads(s) ? (int)ceil(read_through / shape_bytes(s, type)) : 1;
}

static char *problem_line(const shape *s, const member *m, const data *d, const effort *e, const char *variant) {
    cJSON *problem = cJSON_CreateObject();
    cJSON_AddStringToObject(problem, "type", attn_type_name(m->type));
    cJSON_AddNumberToObject(problem, "heads_q", (double)s->heads_q);
    cJSON_AddNumberToObject(problem, "heads_kv", (double)s->heads_kv);
    cJSON_AddNumberToObject(problem, "rows", (double)s->rows);
    cJSON_AddNumberToObject(problem, "keys", (double)s->keys);
    cJSON_AddNumberToObject(problem, "dim", (double)s->dim);
    cJSON_AddBoolToObject(problem, "causal", s->causal);
    cJSON_AddNumberToObject(problem, "threads", m->threads);
    cJSON_AddNumberToObject(problem, "copies", copies_of(s, m->type));
    cJSON_AddStringToObject(problem, "cpu", m->who->cpu);
    cJSON_AddStringToObject(problem, "variant", variant);
    cJSON_AddNumberToObject(problem, "trial_seconds", e->trial_seconds);
    for (const char *which = "qkv"; *which != '\0'; which++) {
        char path[512], name[2] = {*which, '\0'};
        data_file(d, *which, m->type, path, sizeof path);
        cJSON_AddStringToObject(problem, name, path);
    }
    char *text = cJSON_PrintUnformatted(problem), *line = NULL;
    if (asprintf(&line, "prepare %s", text) < 0) line = NULL;
    free(text);
    cJSON_Delete(problem);
    return line;
}

static int start_worker(const shape *s, member *m, const data *d, const effort *e, const char *variant) {
    int error = worker_start(&m->worker, m->who->command);
    if (error != 0) return skip(m, "%s: %s", m->who->command[0], strerror(error)), -1;
    char *line = problem_line(s, m, d, e, variant);
    m->about = line == NULL ? NULL : ask(m, line);
    free(line);
    return m->about == NULL ? -1 : 0;
}

static int prepare(const shape *s, member *m, const data *d, const effort *e) {
    if (start_worker(s, m, d, e, "") != 0) return -1;
    if (!cJSON_IsTrue(cJSON_GetObjectItem(m->about, "again"))) return 0;
    cJSON *trial = m->about;
    member_end(m);
    int status = start_worker(s, m, d, e, cJSON_GetStringValue(cJSON_GetObjectItem(trial, "variant")));
    cJSON_Delete(trial);
    return status;
}

/* Nobody's time counts whose result is wrong. Rounding alone stays far below these. */
static double tolerance(attn_type type) {
    return type == ATTN_F32 ? 1e-4 : type == ATTN_F16 ? 4e-3 : 2e-2;
}

static int check(const shape *s, member *m, const data *d) {
    char path[512], line[600];
    data_file(d, 'o', m->type, path, sizeof path);
    snprintf(line, sizeof line, "store %s", path);
    cJSON *stored = ask(m, line);
    if (stored == NULL) return -1;
    cJSON_Delete(stored);
    cJSON *every = cJSON_GetObjectItem(m->about, "rows_every");
    m->error = data_compare(d, s, m->type, path, every == NULL ? 1 : (int64_t)every->valuedouble);
    if (m->error <= tolerance(m->type)) return 0;
    skip(m, "its result is wrong: %.2g off, in units of the largest value", m->error);
    return -1;
}

/* How often a sample repeats the run, and in how many rounds it takes part. */
static void calibrate(member *m, const effort *e) {
    enum { REPEATS_MOST = 1000 };
    double seconds = run(m, 1);
    if (m->skipped[0] != '\0') return;
    double repeats = ceil(e->sample_seconds / fmax(seconds, 1e-9));
    m->repeats = (int)fmin(repeats, REPEATS_MOST);
    m->rounds = seconds > e->slow_seconds && e->slow_rounds < e->rounds ? e->slow_rounds : e->rounds;
}

void member_start(const shape *s, member *m, const data *d, const effort *e) {
    if (prepare(s, m, d, e) == 0 && check(s, m, d) == 0) calibrate(m, e);
}

void member_sample(member *m, int round) {
    if (member_is_measured(m) && round < m->rounds) m->seconds[round] = run(m, m->repeats);
}

int member_is_measured(const member *m) {
    return m->skipped[0] == '\0' && m->rounds > 0;
}

double member_workspace(const member *m) {
    return cJSON_GetNumberValue(cJSON_GetObjectItem(m->about, "workspace_bytes"));
}
