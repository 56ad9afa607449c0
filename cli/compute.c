/* SPDX-License-Identifier: Apache-2.0 */
#include "compute.h"
#include "clock.h"
#include <stdio.h>

case_status case_fail_from(case_error *error, attn_status status, const attn_reason *reason) {
    case_status kind = CASE_ERROR_CONTENT;
    if (status == ATTN_OK) return case_succeed(error);
    if (status == ATTN_ERROR_UNSUPPORTED) kind = CASE_ERROR_UNSUPPORTED;
    if (status == ATTN_ERROR_MEMORY) kind = CASE_ERROR_MEMORY;
    if (status == ATTN_ERROR_SYSTEM || status == ATTN_ERROR_DEVICE) kind = CASE_ERROR_SYSTEM;
    return case_fail(error, kind, "%s", reason->text[0] != '\0' ? reason->text : attn_status_string(status));
}

static void note_plan(const attn_plan *plan, double seconds, compute_facts *facts) {
    attn_plan_info info = ATTN_PLAN_INFO_INIT;
    attn_plan_get_info(plan, &info, NULL);
    snprintf(facts->kernel, sizeof facts->kernel, "%s", info.kernel != NULL ? info.kernel : "");
    facts->workspace_bytes = info.workspace_bytes;
    facts->flops = info.flops;
    facts->seconds = seconds;
}

static case_status run_plan(const attn_plan *plan, const case_file *c, const case_outputs *outputs,
                            compute_facts *facts, case_error *error) {
    attn_reason reason;
    attn_tensors tensors = case_tensors(c, outputs);
    double start = clock_seconds();
    attn_status status = attn_run(plan, &tensors, &reason);
    double seconds = clock_seconds() - start;
    if (facts != NULL) note_plan(plan, seconds, facts);
    return case_fail_from(error, status, &reason);
}

case_status compute(attn_engine *engine, const case_file *c, const attn_problem *problem, case_outputs *outputs,
                    compute_facts *facts, case_error *error) {
    attn_plan *plan = NULL;
    attn_reason reason;
    case_status status = case_outputs_make(c, problem, outputs, error);
    if (status != CASE_OK) return status;
    status = case_fail_from(error, attn_plan_create(engine, problem, 0, &plan, &reason), &reason);
    if (status == CASE_OK) status = run_plan(plan, c, outputs, facts, error);
    attn_plan_destroy(plan);
    return status;
}

case_status compute_reference(const case_file *c, case_outputs *outputs, case_error *error) {
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    attn_engine *oracle = NULL;
    attn_reason reason;
    attn_problem problem = c->problem;
    problem.with |= ATTN_WITH_LSE;
    if (problem.type != ATTN_F64) problem.o_type = ATTN_F32;
    options.kind = ATTN_ENGINE_ORACLE;
    *outputs = (case_outputs){0};
    case_status status = case_fail_from(error, attn_engine_open(&options, &oracle, &reason), &reason);
    if (status == CASE_OK) status = compute(oracle, c, &problem, outputs, NULL, error);
    attn_engine_close(oracle);
    return status;
}
