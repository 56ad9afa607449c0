/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reason.h"
#include "cpu/cpu.h"
#include "cpu/isa.h"

#include <string.h>

enum { THREADS_MOST = 1024 };

void attn_cpu_parallel(const attn_engine *engine, int count, void (*task)(void *arg, int index), void *arg) {
    const attn_cpu *cpu = engine->state;
    if (count <= 0) return;
    if (cpu->parallel_for) {
        cpu->parallel_for(cpu->parallel_user, count, task, arg);
    } else {
        attn_pool_run(cpu->pool, count, task, arg);
    }
}

static int choose_threads(int wanted) {
    const int processors = attn_cpu_processors();
    if (wanted) return wanted;
    return processors < THREADS_MOST ? processors : THREADS_MOST;
}

static attn_status choose_kernels(attn_engine *engine, attn_cpu *cpu, uint32_t mask, attn_reason *reason) {
    cpu->kernels = attn_cpu_choose(mask);
    if (!cpu->kernels)
        return attn_fail(reason, ATTN_ERROR_UNSUPPORTED,
                         "cpu_mask 0x%x allows none of the instruction sets that this machine and build have (0x%x)",
                         (unsigned)mask, (unsigned)attn_cpu_available());
    engine->info.cpu = cpu->kernels->cpu;
    return ATTN_OK;
}

static attn_status open_engine(attn_engine *engine, const attn_engine_options *options, attn_reason *reason) {
    attn_cpu *cpu = attn_memory_take(&engine->memory, sizeof(*cpu));
    if (!cpu) return attn_fail(reason, ATTN_ERROR_MEMORY, "no memory for an engine (%zu bytes)", sizeof(*cpu));
    memset(cpu, 0, sizeof(*cpu));
    engine->state = cpu;
    cpu->parallel_for = options->parallel_for;
    cpu->parallel_user = options->parallel_user;
    const attn_cpu_caches caches = attn_cpu_read_caches();
    engine->info.l1d_bytes = caches.l1d;
    engine->info.l2_bytes = caches.l2;
    engine->info.l3_bytes = caches.l3;
    engine->info.threads = choose_threads(options->threads);
    attn_status status = choose_kernels(engine, cpu, options->cpu_mask, reason);
    if (!status && !cpu->parallel_for)
        status = attn_pool_open(&engine->memory, engine->info.threads, &cpu->pool, reason);
    return status;
}

static void close_engine(attn_engine *engine) {
    attn_cpu *cpu = engine->state;
    if (!cpu) return;
    attn_pool_close(cpu->pool);
    attn_memory_give(&engine->memory, cpu);
}

/* Everything that a completed problem can say is supported. */
static attn_status supports(const attn_engine *engine, const attn_problem *completed, attn_reason *reason) {
    (void)engine;
    (void)completed;
    return attn_succeed(reason);
}

static void unplan(attn_plan *plan) {
    attn_memory_give(&plan->engine->memory, plan->state);
}

static attn_status run(const attn_plan *plan, const attn_tensors *tensors, void *workspace, attn_reason *reason) {
    attn_cpu_forward(plan, tensors, workspace);
    return attn_succeed(reason);
}

const attn_backend attn_cpu_backend = {
    .name = "cpu",
    .open = open_engine,
    .close = close_engine,
    .supports = supports,
    .plan = attn_cpu_plan_make,
    .unplan = unplan,
    .explain = attn_cpu_plan_explain,
    .run = run,
    .measure = attn_cpu_measure,
};
