/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_choice.h"
#include "message.h"
#include <string.h>

enum { CPU_BITS = 32, THREADS_MOST = 1024 };

void engine_choice_init(engine_choice *choice) {
    *choice = (engine_choice){ATTN_ENGINE_CPU, ATTN_CPU_ANY, 0, 0};
}

/* The bit of an instruction set by name, ATTN_CPU_ANY for "any", 0 for no name. */
static uint32_t cpu_by_name(const char *name, size_t length) {
    if (length == 3 && strncmp(name, "any", 3) == 0) return ATTN_CPU_ANY;
    for (int bit = 0; bit < CPU_BITS; bit++) {
        const char *known = attn_cpu_name(UINT32_C(1) << bit);
        if (known[0] != '?' && strlen(known) == length && strncmp(known, name, length) == 0) return UINT32_C(1) << bit;
    }
    return 0;
}

static const char *read_cpu_mask(const option *self, const char *text, void *field) {
    uint32_t mask = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        uint32_t cpu = cpu_by_name(text, length);
        if (cpu == 0) return self->value;
        mask |= cpu;
        if (text[length] == '\0') break;
        text += length + 1;
    }
    *(uint32_t *)field = mask;
    return NULL;
}

const char *read_thread_count(const option *self, const char *text, void *field) {
    int64_t value;
    if (read_count(self, text, &value) != NULL || value > THREADS_MOST) return "a whole number from 0 to 1024";
    *(int64_t *)field = value;
    return NULL;
}

static const option engine_options[] = {
    {"engine", 0, "cpu|oracle", read_choice, offsetof(engine_choice, kind),
     "where it runs; the oracle is the definition in float64, slow (default cpu)"},
    {"cpu", 0, "portable|avx2|avx512|neon|any[,...]", read_cpu_mask, offsetof(engine_choice, cpu_mask),
     "instruction sets that the cpu engine may use; it takes the best of them (default any)"},
    {0},
};
const option_table engine_table = {"Engine", engine_options};

static const option threads_options[] = {
    {"threads", 't', "N", read_thread_count, offsetof(engine_choice, threads),
     "threads of the cpu engine (default 0: one a processor)"},
    {0},
};
const option_table threads_table = {"Engine", threads_options};

static const option every_cpu_options[] = {
    {"every-cpu", 0, NULL, NULL, offsetof(engine_choice, every_cpu),
     "one after another on every instruction set that this machine has, portable C included"},
    {0},
};
const option_table every_cpu_table = {"Engine", every_cpu_options};

int engine_choice_open(const engine_choice *choice, attn_engine **engine) {
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    attn_reason reason;
    options.kind = (attn_engine_kind)choice->kind;
    options.cpu_mask = choice->cpu_mask;
    options.threads = (int)choice->threads;
    attn_status status = attn_engine_open(&options, engine, &reason);
    return status == ATTN_OK ? EXIT_FINE : complain_status("engine", status, &reason);
}

int engine_choice_expand(const engine_choice *choice, engine_choice expanded[ENGINE_CHOICES_MOST]) {
    int count = 0;
    uint32_t available = attn_cpu_available() & choice->cpu_mask;
    expanded[0] = *choice;
    if (!choice->every_cpu || choice->kind != ATTN_ENGINE_CPU || available == 0) return 1;
    for (int bit = 0; bit < CPU_BITS; bit++) {
        uint32_t cpu = UINT32_C(1) << bit;
        if ((available & cpu) == 0) continue;
        expanded[count] = *choice;
        expanded[count++].cpu_mask = cpu;
    }
    return count;
}

attn_engine_info engine_info(const attn_engine *engine) {
    attn_engine_info info = ATTN_ENGINE_INFO_INIT;
    attn_engine_get_info(engine, &info, NULL);
    return info;
}

const char *engine_label(const attn_engine *engine) {
    attn_engine_info info = engine_info(engine);
    return info.cpu != 0 ? attn_cpu_name(info.cpu) : info.name;
}
