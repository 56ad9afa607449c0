/* SPDX-License-Identifier: Apache-2.0 */
/* This library, as a program uses it: one engine, one plan, many runs. */
#include "worker_main.h"
#include <attn/attn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static attn_engine *engine;
static attn_plan *plan;

static void hello(about *a) {
    snprintf(a->version, sizeof a->version, "%s", attn_version_string());
}

static uint32_t mask_of(const char *cpu) {
    for (uint32_t bit = 1; bit != 0 && *cpu != '\0'; bit <<= 1) {
        if (strcmp(attn_cpu_name(bit), cpu) == 0) return bit;
    }
    return ATTN_CPU_ANY;
}

static attn_type type_of(const char *name) {
    return strcmp(name, "bf16") == 0 ? ATTN_BF16 : strcmp(name, "f16") == 0 ? ATTN_F16 : ATTN_F32;
}

static attn_status open_plan(const problem *p, attn_reason *reason) {
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    options.threads = p->threads;
    options.cpu_mask = mask_of(p->cpu);
    attn_problem wanted = ATTN_PROBLEM_INIT;
    wanted.type = type_of(p->type);
    wanted.heads_q = p->heads_q;
    wanted.heads_kv = p->heads_kv;
    wanted.seq_q = p->rows;
    wanted.seq_kv = p->keys;
    wanted.dim = p->dim;
    wanted.window_right = p->causal ? ATTN_CAUSAL : ATTN_UNBOUNDED;
    attn_status status = attn_engine_open(&options, &engine, reason);
    return status != ATTN_OK ? status : attn_plan_create(engine, &wanted, 0, &plan, reason);
}

static void prepare(const problem *p, about *a) {
    attn_reason reason;
    attn_plan_info info = ATTN_PLAN_INFO_INIT;
    if (open_plan(p, &reason) != ATTN_OK || attn_plan_get_info(plan, &info, &reason) != ATTN_OK) {
        snprintf(a->skip, sizeof a->skip, "%s", reason.text);
        return;
    }
    snprintf(a->variant, sizeof a->variant, "%s", info.kernel);
    a->workspace_bytes = info.workspace_bytes;
}

static void run(const problem *p, int copy) {
    attn_tensors tensors = ATTN_TENSORS_INIT;
    tensors.q = p->q;
    tensors.k = p->k[copy];
    tensors.v = p->v[copy];
    tensors.o = p->o;
    attn_reason reason;
    if (attn_run(plan, &tensors, &reason) == ATTN_OK) return;
    fprintf(stderr, "attn: %s\n", reason.text);
    exit(1);
}

int main(void) {
    const worker_calls calls = {hello, prepare, run};
    int status = worker_main(&calls);
    attn_plan_destroy(plan);
    attn_engine_close(engine);
    return status;
}
