/* SPDX-License-Identifier: Apache-2.0 */
/* The entry points, in the order of the header: check, pick a backend, hand over. */
#include "attn/attn.h"

#include <inttypes.h>
#include <string.h>

#include "backend.h"
#include "base/checked.h"
#include "base/reason.h"
#include "problem/problem.h"
#include "problem/tensor.h"
#include "turns.h"

enum { THREADS_MAX = 1024 };

/* Work that one thread does in about the time that starting others takes. */
static const double FLOPS_WORTH_THREADS = 4e6;

static double problem_flops(const attn_problem *completed) {
    return 2.0 * (double)(completed->dim + completed->dim_v) * attn_pairs_at_most(completed);
}

static double problem_bytes(const attn_problem *completed) {
    double bytes = 0.0;
    for (int id = 0; id < ATTN_TENSORS; id++) {
        attn_tensor tensor = attn_tensor_of(completed, (attn_tensor_id)id);
        bytes += attn_tensor_bytes(&tensor);
    }
    return bytes;
}

/* ------------------------------------------------------------------------------------------------- tier 1: one call */

/* The arguments of the one-call functions; the public ones differ in the type of the elements only. */
static attn_status sdpa_contiguous(attn_type type, const int64_t sizes[4], int causal, const void *q, const void *k,
                                   const void *v, void *o) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.type = type;
    problem.batch = sizes[0];
    problem.heads_q = sizes[1];
    problem.seq_q = problem.seq_kv = sizes[2];
    problem.dim = sizes[3];
    if (causal) problem.window_right = ATTN_CAUSAL;
    attn_tensors tensors = ATTN_TENSORS_INIT;
    tensors.q = q;
    tensors.k = k;
    tensors.v = v;
    tensors.o = o;
    return attn_sdpa(&problem, &tensors, NULL);
}

attn_status attn_sdpa_f32(int64_t batch, int64_t heads, int64_t seq, int64_t dim, int causal, const float *q,
                          const float *k, const float *v, float *o) {
    const int64_t sizes[4] = {batch, heads, seq, dim};
    return sdpa_contiguous(ATTN_F32, sizes, causal, q, k, v, o);
}

attn_status attn_sdpa_f16(int64_t batch, int64_t heads, int64_t seq, int64_t dim, int causal, const void *q,
                          const void *k, const void *v, void *o) {
    const int64_t sizes[4] = {batch, heads, seq, dim};
    return sdpa_contiguous(ATTN_F16, sizes, causal, q, k, v, o);
}

attn_status attn_sdpa_bf16(int64_t batch, int64_t heads, int64_t seq, int64_t dim, int causal, const void *q,
                           const void *k, const void *v, void *o) {
    const int64_t sizes[4] = {batch, heads, seq, dim};
    return sdpa_contiguous(ATTN_BF16, sizes, causal, q, k, v, o);
}

static attn_status plan_and_run(attn_engine *engine, const attn_problem *completed, const attn_tensors *tensors,
                                attn_reason *reason) {
    attn_plan *plan;
    int own_workspace = tensors->workspace != NULL;
    attn_status status = attn_plan_create(engine, completed, own_workspace, &plan, reason);
    if (status) return status;
    status = attn_run(plan, tensors, reason);
    attn_plan_destroy(plan);
    return status;
}

attn_status attn_sdpa(const attn_problem *problem, const attn_tensors *tensors, attn_reason *reason) {
    attn_problem completed;
    attn_status status = attn_problem_complete(problem, &completed, reason);
    if (status) return status;
    status = attn_tensors_check(&completed, tensors, reason); /* before threads and memory are spent on a refusal */
    if (status) return status;
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    if (problem_flops(&completed) < FLOPS_WORTH_THREADS) options.threads = 1;
    attn_engine *engine;
    status = attn_engine_open(&options, &engine, reason);
    if (status) return status;
    status = plan_and_run(engine, &completed, tensors, reason);
    attn_engine_close(engine);
    return status;
}

/* --------------------------------------------------------------------------------------------------- tier 2: engine */

static const attn_backend *backend_of(attn_engine_kind kind) {
    switch ((int)kind) {
    case ATTN_ENGINE_CPU:
        return &attn_cpu_backend;
    case ATTN_ENGINE_ORACLE:
        return &attn_oracle_backend;
    default:
        return NULL;
    }
}

static attn_status check_options(const attn_engine_options *options, attn_reason *reason) {
    attn_status status = attn_check_struct_size("attn_engine_options", options->struct_size, sizeof *options, reason);
    if (status) return status;
    if (!backend_of(options->kind))
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "engine kind %d is not known", (int)options->kind);
    if (options->threads < 0 || options->threads > THREADS_MAX)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "threads is %d, not 1 to %d, or 0 for the default",
                         options->threads, THREADS_MAX);
    if (!options->allocate != !options->release)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "allocate and release come together, %s is NULL",
                         options->allocate ? "release" : "allocate");
    return ATTN_OK;
}

attn_status attn_engine_open(const attn_engine_options *options, attn_engine **engine, attn_reason *reason) {
    const attn_engine_options defaults = ATTN_ENGINE_OPTIONS_INIT;
    if (!engine) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "engine is NULL");
    *engine = NULL;
    if (!options) options = &defaults;
    attn_status status = check_options(options, reason);
    if (status) return status;
    attn_memory memory = attn_memory_from(options->allocate, options->release, options->memory_user);
    attn_engine *opened = attn_memory_take(&memory, sizeof *opened);
    if (!opened) return attn_fail(reason, ATTN_ERROR_MEMORY, "no memory for the engine's %zu bytes", sizeof *opened);
    const attn_engine_info info = ATTN_ENGINE_INFO_INIT;
    *opened = (attn_engine){.backend = backend_of(options->kind), .memory = memory, .info = info};
    opened->info.kind = options->kind;
    opened->info.name = opened->backend->name;
    status = opened->backend->open(opened, options, reason);
    if (status) {
        attn_engine_close(opened);
        return status;
    }
    *engine = opened;
    return attn_succeed(reason);
}

void attn_engine_close(attn_engine *engine) {
    if (!engine) return;
    engine->backend->close(engine);
    attn_memory memory = engine->memory;
    attn_memory_give(&memory, engine);
}

attn_status attn_engine_get_info(const attn_engine *engine, attn_engine_info *info, attn_reason *reason) {
    if (!engine || !info) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "%s is NULL", engine ? "info" : "engine");
    attn_status status = attn_check_struct_size("attn_engine_info", info->struct_size, sizeof *info, reason);
    if (status) return status;
    *info = engine->info;
    return attn_succeed(reason);
}

attn_status attn_supports(const attn_engine *engine, const attn_problem *problem, attn_reason *reason) {
    if (!engine) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "engine is NULL");
    attn_problem completed;
    attn_status status = attn_problem_complete(problem, &completed, reason);
    if (status) return status;
    status = engine->backend->supports(engine, &completed, reason);
    return status ? status : attn_succeed(reason);
}

/* ----------------------------------------------------------------------------------------------------- tier 2: plan */

/* Bytes that a run asks its caller for: the backend's, and what aligning any pointer may take. */
static size_t caller_workspace(const attn_plan *plan) {
    return plan->workspace_bytes == 0 ? 0 : plan->workspace_bytes + ATTN_ALIGNMENT - 1;
}

static attn_status take_workspace(attn_plan *plan, attn_reason *reason) {
    const attn_memory *memory = &plan->engine->memory;
    plan->turns = attn_turns_create(memory);
    plan->workspace = plan->turns ? attn_memory_take(memory, plan->workspace_bytes) : NULL;
    if (plan->workspace) return ATTN_OK;
    return attn_fail(reason, ATTN_ERROR_MEMORY, "no memory for a workspace of %zu bytes", plan->workspace_bytes);
}

static attn_status fill_in_plan(attn_plan *plan, int own_workspace, attn_reason *reason) {
    attn_status status = plan->engine->backend->plan(plan, reason);
    if (status) return status;
    size_t with_alignment;
    if (!attn_add_size(plan->workspace_bytes, ATTN_ALIGNMENT - 1, &with_alignment))
        return attn_fail(reason, ATTN_ERROR_OVERFLOW, "a workspace of %zu bytes does not fit size_t",
                         plan->workspace_bytes);
    if (own_workspace || plan->workspace_bytes == 0) return ATTN_OK;
    return take_workspace(plan, reason);
}

attn_status attn_plan_create(attn_engine *engine, const attn_problem *problem, int own_workspace, attn_plan **plan,
                             attn_reason *reason) {
    if (plan) *plan = NULL;
    if (!plan || !engine) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "%s is NULL", plan ? "engine" : "plan");
    attn_problem completed;
    attn_status status = attn_problem_complete(problem, &completed, reason);
    if (!status) status = engine->backend->supports(engine, &completed, reason);
    if (status) return status;
    attn_plan *made = attn_memory_take(&engine->memory, sizeof *made);
    if (!made) return attn_fail(reason, ATTN_ERROR_MEMORY, "no memory for the plan's %zu bytes", sizeof *made);
    *made = (attn_plan){.engine = engine, .problem = completed};
    status = fill_in_plan(made, own_workspace, reason);
    if (status) {
        attn_plan_destroy(made);
        return status;
    }
    *plan = made;
    return attn_succeed(reason);
}

void attn_plan_destroy(attn_plan *plan) {
    if (!plan) return;
    const attn_memory *memory = &plan->engine->memory;
    plan->engine->backend->unplan(plan);
    attn_memory_give(memory, plan->workspace);
    attn_turns_destroy(plan->turns, memory);
    attn_memory_give(memory, plan);
}

attn_status attn_plan_get_info(const attn_plan *plan, attn_plan_info *info, attn_reason *reason) {
    if (!plan || !info) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "%s is NULL", plan ? "info" : "plan");
    attn_status status = attn_check_struct_size("attn_plan_info", info->struct_size, sizeof *info, reason);
    if (status) return status;
    info->kernel = plan->kernel;
    info->workspace_bytes = caller_workspace(plan);
    info->flops = problem_flops(&plan->problem);
    info->bytes = problem_bytes(&plan->problem);
    return attn_succeed(reason);
}

size_t attn_plan_workspace(const attn_plan *plan) {
    return plan ? caller_workspace(plan) : 0;
}

size_t attn_plan_explain(const attn_plan *plan, char *text, size_t size) {
    if (!plan) {
        if (text && size > 0) text[0] = '\0';
        return 0;
    }
    return plan->engine->backend->explain(plan, text, text ? size : 0);
}

/* ------------------------------------------------------------------------------------------------------ tier 2: run */

static void *align_pointer(void *pointer) {
    size_t beyond = (size_t)((uintptr_t)pointer % ATTN_ALIGNMENT);
    return (char *)pointer + (beyond ? ATTN_ALIGNMENT - beyond : 0);
}

static attn_status check_workspace(const attn_plan *plan, const attn_tensors *tensors, attn_reason *reason) {
    size_t needed = caller_workspace(plan);
    if (needed == 0 || (!tensors->workspace && plan->workspace)) return ATTN_OK;
    if (!tensors->workspace)
        return attn_fail(reason, ATTN_ERROR_ARGUMENT, "tensors.workspace is NULL, and the plan has none of its own");
    if (tensors->workspace_bytes < needed)
        return attn_fail(reason, ATTN_ERROR_MEMORY, "tensors.workspace has %zu bytes, the plan needs %zu",
                         tensors->workspace_bytes, needed);
    return ATTN_OK;
}

attn_status attn_run(const attn_plan *plan, const attn_tensors *tensors, attn_reason *reason) {
    if (!plan) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "plan is NULL");
    attn_status status = attn_tensors_check(&plan->problem, tensors, reason);
    if (!status) status = check_workspace(plan, tensors, reason);
    if (status) return status;
    const attn_backend *backend = plan->engine->backend;
    if (tensors->workspace || !plan->workspace) {
        void *workspace = tensors->workspace ? align_pointer(tensors->workspace) : NULL;
        status = backend->run(plan, tensors, workspace, reason);
    } else {
        attn_turns_begin(plan->turns);
        status = backend->run(plan, tensors, plan->workspace, reason);
        attn_turns_end(plan->turns);
    }
    return status ? status : attn_succeed(reason);
}

/* --------------------------------------------------------------------------------------------- tier 4: experimental */

attn_status attn_engine_measure(attn_engine *engine, attn_engine_speed *speed, attn_reason *reason) {
    if (!engine || !speed) return attn_fail(reason, ATTN_ERROR_ARGUMENT, "%s is NULL", engine ? "speed" : "engine");
    attn_status status = attn_check_struct_size("attn_engine_speed", speed->struct_size, sizeof *speed, reason);
    if (status) return status;
    if (!engine->backend->measure)
        return attn_fail(reason, ATTN_ERROR_UNSUPPORTED, "the engine %s has no speed to measure",
                         engine->backend->name);
    status = engine->backend->measure(engine, speed, reason);
    return status ? status : attn_succeed(reason);
}
