/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "worker_main.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALIGNMENT = 64 };

/* ------------------------------------------------------------------------------------------------------ the problem */

static int64_t number(const cJSON *object, const char *name) {
    return (int64_t)cJSON_GetNumberValue(cJSON_GetObjectItem(object, name));
}

static const char *string(const cJSON *object, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    return text == NULL ? "" : text;
}

static void *room(int64_t count, size_t element_bytes) {
    size_t size = ((size_t)count * element_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *memory = aligned_alloc(ALIGNMENT, size);
    return memory == NULL ? NULL : memset(memory, 0, size);
}

static void *load(const char *path, int64_t count, size_t element_bytes) {
    void *values = room(count, element_bytes);
    FILE *file = fopen(path, "rb");
    int is_whole = values != NULL && file != NULL && fread(values, element_bytes, (size_t)count, file) == (size_t)count;
    if (file != NULL) fclose(file);
    return is_whole ? values : NULL;
}

static const void **load_copies(const char *path, int copies, int64_t count, size_t element_bytes) {
    const void **all = calloc((size_t)copies, sizeof *all);
    int loaded = 0;
    while (all != NULL && loaded < copies && (all[loaded] = load(path, count, element_bytes)) != NULL) loaded++;
    if (loaded == copies) return all;
    free(all);
    return NULL;
}

static int read_problem(const cJSON *from, problem *p) {
    snprintf(p->type, sizeof p->type, "%s", string(from, "type"));
    snprintf(p->cpu, sizeof p->cpu, "%s", string(from, "cpu"));
    p->element_bytes = strcmp(p->type, "f32") == 0 ? 4 : 2;
    p->heads_q = number(from, "heads_q");
    p->heads_kv = number(from, "heads_kv");
    p->rows = number(from, "rows");
    p->keys = number(from, "keys");
    p->dim = number(from, "dim");
    p->causal = cJSON_IsTrue(cJSON_GetObjectItem(from, "causal"));
    p->threads = (int)number(from, "threads");
    p->copies = (int)number(from, "copies");
    const int64_t q_count = p->heads_q * p->rows * p->dim, kv_count = p->heads_kv * p->keys * p->dim;
    p->q = load(string(from, "q"), q_count, p->element_bytes);
    p->k = load_copies(string(from, "k"), p->copies, kv_count, p->element_bytes);
    p->v = load_copies(string(from, "v"), p->copies, kv_count, p->element_bytes);
    p->o = room(q_count, p->element_bytes);
    return p->q != NULL && p->k != NULL && p->v != NULL && p->o != NULL;
}

/* ------------------------------------------------------------------------------------------------------ the answers */

typedef struct session {
    const worker_calls *calls;
    problem problem;
    about about;
    int next; /* copy of k and v */
} session;

static cJSON *tell(const about *a) {
    cJSON *answer = cJSON_CreateObject();
    if (a->version[0] != '\0') cJSON_AddStringToObject(answer, "version", a->version);
    if (a->environment[0] != '\0') cJSON_AddStringToObject(answer, "environment", a->environment);
    if (a->variant[0] != '\0') cJSON_AddStringToObject(answer, "variant", a->variant);
    if (a->skip[0] != '\0') cJSON_AddStringToObject(answer, "skip", a->skip);
    if (a->rows_every > 0) cJSON_AddNumberToObject(answer, "rows_every", a->rows_every);
    if (a->workspace_bytes > 0) cJSON_AddNumberToObject(answer, "workspace_bytes", (double)a->workspace_bytes);
    return answer;
}

static cJSON *hello(const session *s) {
    about a = {0};
    s->calls->hello(&a);
    return tell(&a);
}

static cJSON *prepare(session *s, const char *text) {
    cJSON *from = cJSON_Parse(text);
    if (from == NULL || !read_problem(from, &s->problem)) {
        snprintf(s->about.skip, sizeof s->about.skip, "the problem could not be read, or there is no memory for it");
    } else {
        s->calls->prepare(&s->problem, &s->about);
    }
    cJSON_Delete(from);
    return tell(&s->about);
}

static double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void run_next(session *s) {
    s->calls->run(&s->problem, s->next++ % s->problem.copies);
}

/* Of many runs as many are not counted before: they find the caches and the threads as others left them, and a large
 * cache takes several to fill. */
static cJSON *run(session *s, int repeats) {
    for (int i = 0; i < repeats && repeats > 1; i++) run_next(s);
    double start = clock_seconds();
    for (int i = 0; i < repeats; i++) run_next(s);
    double seconds = (clock_seconds() - start) / repeats;
    cJSON *answer = cJSON_CreateObject();
    cJSON_AddNumberToObject(answer, "seconds", s->about.rows_every > 0 ? seconds * s->about.rows_every : seconds);
    return answer;
}

static cJSON *store(session *s, const char *path) {
    const problem *p = &s->problem;
    cJSON *answer = cJSON_CreateObject();
    run_next(s);
    FILE *file = fopen(path, "wb");
    size_t count = (size_t)(p->heads_q * p->rows * p->dim);
    int failed = file == NULL || fwrite(p->o, p->element_bytes, count, file) != count;
    if (file != NULL && fclose(file) != 0) failed = 1;
    if (failed) cJSON_AddStringToObject(answer, "skip", "the result could not be stored");
    return answer;
}

/* The most memory that the process has had, from Linux's account of it: getrusage() would count what its parent had. */
static double peak_bytes(void) {
    char line[128];
    long long kibibytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (sscanf(line, "VmHWM: %lld", &kibibytes) == 1) break;
    }
    if (status != NULL) fclose(status);
    return 1024.0 * (double)kibibytes;
}

static cJSON *quit(void) {
    cJSON *answer = cJSON_CreateObject();
    cJSON_AddNumberToObject(answer, "peak_bytes", peak_bytes());
    return answer;
}

static cJSON *answer_to(session *s, const char *line) {
    if (strcmp(line, "hello") == 0) return hello(s);
    if (strncmp(line, "prepare ", 8) == 0) return prepare(s, line + 8);
    if (strncmp(line, "run ", 4) == 0) return run(s, atoi(line + 4));
    if (strncmp(line, "store ", 6) == 0) return store(s, line + 6);
    if (strcmp(line, "quit") == 0) return quit();
    return NULL;
}

/* Memory is not freed: the process ends with its problem. */
int worker_main(const worker_calls *calls) {
    session s = {.calls = calls};
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        cJSON *answer = answer_to(&s, line);
        if (answer == NULL) return fprintf(stderr, "worker: what is \"%s\"?\n", line), 2;
        char *text = cJSON_PrintUnformatted(answer);
        puts(text);
        fflush(stdout);
        free(text);
        cJSON_Delete(answer);
    }
    free(line);
    return 0;
}
