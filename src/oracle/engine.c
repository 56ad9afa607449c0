/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "backend.h"
#include "base/checked.h"
#include "base/reason.h"
#include "oracle/oracle.h"

static attn_status oracle_open(attn_engine *engine, const attn_engine_options *options, attn_reason *reason) {
    (void)options;
    engine->info.threads = 1;
    return attn_succeed(reason);
}

static void oracle_close(attn_engine *engine) {
    (void)engine;
}

static attn_status oracle_supports(const attn_engine *engine, const attn_problem *completed, attn_reason *reason) {
    (void)engine;
    (void)completed;
    return attn_succeed(reason);
}

static attn_status oracle_plan(attn_plan *plan, attn_reason *reason) {
    size_t doubles = attn_oracle_workspace(&plan->problem);
    if (doubles == 0 || !attn_mul_size(doubles, sizeof(double), &plan->workspace_bytes))
        return attn_fail(reason, ATTN_ERROR_OVERFLOW, "a row of %lld scores in f64 does not fit size_t",
                         (long long)plan->problem.seq_kv);
    plan->kernel = "oracle_f64";
    return attn_succeed(reason);
}

static void oracle_unplan(attn_plan *plan) {
    (void)plan;
}

static size_t oracle_explain(const attn_plan *plan, char *text, size_t size) {
    int length = snprintf(text, size,
                          "engine: oracle, the definition in float64\n"
                          "kernel: %s, one row at a time, its scores kept\n"
                          "threads: 1\n"
                          "workspace: %zu bytes\n",
                          plan->kernel, plan->workspace_bytes);
    return length < 0 ? 0 : (size_t)length;
}

static attn_status oracle_run(const attn_plan *plan, const attn_tensors *tensors, void *workspace,
                              attn_reason *reason) {
    attn_oracle_forward(&plan->problem, tensors, workspace);
    return attn_succeed(reason);
}

const attn_backend attn_oracle_backend = {
    .name = "oracle",
    .open = oracle_open,
    .close = oracle_close,
    .supports = oracle_supports,
    .plan = oracle_plan,
    .unplan = oracle_unplan,
    .explain = oracle_explain,
    .run = oracle_run,
    .measure = NULL,
};
