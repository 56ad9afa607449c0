/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include "compare.h"

#include <stdio.h>
#include <stdlib.h>

static void demand(attn_status status, const attn_reason *reason) {
    if (status == ATTN_OK) return;
    printf("%s: %s\n", attn_status_string(status), reason->text);
    exit(1);
}

attn_engine *test_engine_open(attn_engine_kind kind, uint32_t cpu_mask, int threads) {
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    attn_engine *engine = NULL;
    attn_reason reason = {""};
    options.kind = kind;
    options.cpu_mask = cpu_mask;
    options.threads = threads;
    demand(attn_engine_open(&options, &engine, &reason), &reason);
    return engine;
}

uint32_t test_next_cpu(uint32_t cpu) {
    uint32_t available = attn_cpu_available();
    uint32_t next = cpu ? cpu << 1 : 1;
    while (next && !(available & next)) next <<= 1;
    return next;
}

test_output test_run_problem(attn_engine *engine, const attn_problem *problem, const attn_tensors *tensors) {
    test_output output = test_output_make(problem);
    attn_tensors with_outputs = *tensors;
    attn_reason reason = {""};
    with_outputs.o = output.o.data;
    with_outputs.lse = output.lse.data;
    demand(test_run(engine, problem, &with_outputs, &reason), &reason);
    return output;
}

test_output test_run_case(attn_engine *engine, const test_case *source) {
    return test_run_problem(engine, &source->problem, &source->tensors);
}
