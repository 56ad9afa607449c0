/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "contenders.h"
#include "words.h"
#include "worker.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the workers are: compiled ones beside the driver, scripts in the source tree, Node's modules where ./dev
 * installs them. All three come from CMakeLists.txt. */
#define COMPILED(name)                                                                                                 \
    (char[]) {                                                                                                         \
        BENCH_BINARIES "/" name                                                                                        \
    }
#define SCRIPT(name)                                                                                                   \
    (char[]) {                                                                                                         \
        BENCH_SOURCES "/workers/" name                                                                                 \
    }
#define WORD(text)                                                                                                     \
    (char[]) {                                                                                                         \
        text                                                                                                           \
    }

enum { F32 = 1u << ATTN_F32, F16 = 1u << ATTN_F16, BF16 = 1u << ATTN_BF16 };

static const contender ours = {
    .name = "attn", .kind = CONTENDER_OURS, .types = F32 | F16 | BF16, .command = {COMPILED("bench_attn")}};

static const contender peers[] = {
    {.name = "onnxruntime",
     .kind = CONTENDER_PEER,
     .types = F32 | F16,
     .command = {WORD("node"), SCRIPT("onnxruntime.mjs"), WORD(BENCH_NODE_MODULES)}},
    {.name = "openblas", .kind = CONTENDER_PEER, .types = F32, .command = {COMPILED("bench_openblas")}},
    {.name = "torch",
     .kind = CONTENDER_PEER,
     .types = F32 | F16 | BF16,
     .command = {WORD("python3"), SCRIPT("torch_worker.py")}},
    {.name = "naive", .kind = CONTENDER_FLOOR, .types = F32, .command = {COMPILED("bench_naive")}},
};
enum { PEERS = sizeof peers / sizeof *peers };

/* The bit of an instruction set that this machine has; 0 if there is none of that name. */
static uint32_t cpu_bit(const char *name) {
    for (uint32_t bit = 1; bit != 0 && bit <= attn_cpu_available(); bit <<= 1) {
        if ((bit & attn_cpu_available()) && strcmp(attn_cpu_name(bit), name) == 0) return bit;
    }
    return 0;
}

static void add(contender_list *list, const contender *c) {
    list->items[list->count++] = *c;
}

static const char *add_ours(contender_list *list, const char *cpus) {
    if (cpus == NULL) return add(list, &ours), NULL;
    for (words w = words_of(cpus); words_next(&w);) {
        if (cpu_bit(w.word) == 0 || list->count == CONTENDERS_MOST - PEERS) return w.at;
        add(list, &ours);
        contender *added = &list->items[list->count - 1];
        snprintf(added->cpu, sizeof added->cpu, "%.15s", w.word);
        snprintf(added->name, sizeof added->name, "attn-%.15s", w.word);
    }
    return NULL;
}

static const contender *peer_of(const char *name) {
    for (int i = 0; i < PEERS; i++) {
        if (strcmp(peers[i].name, name) == 0) return &peers[i];
    }
    return NULL;
}

const char *contenders_choose(const char *cpus, const char *names, contender_list *list) {
    list->count = 0;
    const char *unknown = add_ours(list, cpus);
    if (unknown != NULL) return unknown;
    if (names == NULL) {
        for (int i = 0; i < PEERS; i++) add(list, &peers[i]);
        return NULL;
    }
    for (words w = words_of(names); words_next(&w);) {
        const contender *peer = peer_of(w.word);
        if (peer == NULL || list->count == CONTENDERS_MOST) return w.at;
        add(list, peer);
    }
    return NULL;
}

/* For all workers that are started from now on: no two want the same variable. */
static void set_environment(const char *setting) {
    char name[64];
    size_t length = setting == NULL ? 0 : strcspn(setting, "=");
    if (length == 0 || length >= sizeof name) return;
    snprintf(name, sizeof name, "%.*s", (int)length, setting);
    setenv(name, setting + length + 1, 1);
}

static void take_answer(contender *c, const cJSON *answer) {
    const char *version = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "version"));
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "skip"));
    if (version != NULL) {
        snprintf(c->version, sizeof c->version, "%s", version);
        set_environment(cJSON_GetStringValue(cJSON_GetObjectItem(answer, "environment")));
    } else {
        snprintf(c->absent, sizeof c->absent, "%s", why != NULL ? why : "its worker does not answer");
    }
}

static void greet(contender *c) {
    worker w;
    int error = worker_start(&w, c->command);
    if (error != 0) {
        snprintf(c->absent, sizeof c->absent, "%s: %s", c->command[0], strerror(error));
        return;
    }
    cJSON *answer = worker_ask(&w, "hello");
    take_answer(c, answer);
    cJSON_Delete(answer);
    worker_stop(&w);
}

void contenders_greet(contender_list *list) {
    for (int i = 0; i < list->count; i++) {
        greet(&list->items[i]);
        if (list->items[i].absent[0] != '\0') list->items[i].types = 0;
    }
}

const contender *contenders_find(const contender_list *list, const char *name) {
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    }
    return NULL;
}

attn_engine *contenders_engine(const contender_list *list, int threads) {
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    options.threads = threads;
    uint32_t mask = 0;
    for (int i = 0; i < list->count; i++) mask |= cpu_bit(list->items[i].cpu);
    if (mask != 0) options.cpu_mask = mask;
    attn_engine *engine = NULL;
    attn_reason reason;
    if (attn_engine_open(&options, &engine, &reason) != ATTN_OK) fprintf(stderr, "bench: %s\n", reason.text);
    return engine;
}
