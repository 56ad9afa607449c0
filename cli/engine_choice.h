/* SPDX-License-Identifier: Apache-2.0 */
/* Which engine a command runs on: --engine, --cpu, --threads, --every-cpu. */
#ifndef ENGINE_CHOICE_H
#define ENGINE_CHOICE_H

#include "attn/attn.h"
#include "options.h"

typedef struct engine_choice {
    int kind; /* attn_engine_kind */
    uint32_t cpu_mask;
    int64_t threads; /* 0: one a processor */
    int every_cpu;
} engine_choice;

void engine_choice_init(engine_choice *choice);

extern const option_table engine_table;    /* --engine, --cpu */
extern const option_table threads_table;   /* --threads N */
extern const option_table every_cpu_table; /* --every-cpu */
extern option_reader read_thread_count;    /* int64_t */

/* Opens the engine that was chosen. Returns an exit code, after a message. */
int engine_choice_open(const engine_choice *choice, attn_engine **engine);

/* The choices to go through: one for each instruction set of this machine with --every-cpu, or else the choice itself.
 * Returns how many were written. */
enum { ENGINE_CHOICES_MOST = 32 };
int engine_choice_expand(const engine_choice *choice, engine_choice expanded[ENGINE_CHOICES_MOST]);

/* What an engine computes with, in a word: "avx2", ..., or "oracle". Static storage. */
const char *engine_label(const attn_engine *engine);

attn_engine_info engine_info(const attn_engine *engine);

#endif
