/* SPDX-License-Identifier: Apache-2.0 */
/* The machine at its best, with the engine's own instructions and threads: what speeds are compared with. */
#include "base/half.h"
#include "base/reason.h"
#include "cpu/cpu.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum {
    ROUNDS = 5,
    READ_BYTES = 192 * 1024 * 1024, /* beyond the caches; the best of several rounds counts */
    SPIN_SECONDS_INVERSE = 50       /* each measurement lasts about 1 / 50 second */
};

typedef struct attn_measurement {
    const attn_kernels *kernels;
    const char *data; /* to read; NULL: multiply-adds instead */
    int64_t count;    /* rounds of spin_fma, or reals for each worker */
    _Atomic int64_t kept;
} attn_measurement;

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void work(void *arg, int worker) {
    attn_measurement *m = arg;
    double flops = 0, value;
    if (m->data) {
        value = m->kernels->sum(m->data + worker * m->count * (int64_t)attn_type_size(m->kernels->type), m->count);
    } else {
        value = m->kernels->spin_fma(m->count, &flops);
    }
    /* The result has to go somewhere, or a compiler could leave the work out. */
    atomic_fetch_add(&m->kept, value > 0 ? 1 : 0);
}

/* Seconds of the fastest of some rounds. */
static double fastest(const attn_engine *engine, attn_measurement *m) {
    double best = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const double start = seconds();
        attn_cpu_parallel(engine, engine->info.threads, work, m);
        const double elapsed = seconds() - start;
        if (i == 0 || elapsed < best) best = elapsed;
    }
    return best > 0 ? best : 1e-9;
}

static double measure_flops(const attn_engine *engine, const attn_kernels *kernels) {
    attn_measurement m = {.kernels = kernels, .count = 1000};
    double flops = 0;
    for (double best = 0; best * SPIN_SECONDS_INVERSE < 1; m.count *= 2) {
        best = fastest(engine, &m);
        double of_one = 0;
        kernels->spin_fma(1, &of_one);
        flops = of_one * (double)m.count * engine->info.threads / best;
    }
    return flops;
}

static double measure_reading(const attn_engine *engine, const attn_kernels *kernels, const char *data) {
    const int64_t element = (int64_t)attn_type_size(kernels->type);
    attn_measurement m = {.kernels = kernels, .data = data};
    m.count = READ_BYTES / element / engine->info.threads / 1024 * 1024;
    return (double)(m.count * element * engine->info.threads) / fastest(engine, &m);
}

attn_status attn_cpu_measure(attn_engine *engine, attn_engine_speed *speed, attn_reason *reason) {
    const attn_cpu *cpu = engine->state;
    void *data = attn_memory_take(&engine->memory, READ_BYTES);
    if (!data) return attn_fail(reason, ATTN_ERROR_MEMORY, "no memory to measure with (%d bytes)", (int)READ_BYTES);
    memset(data, 1, READ_BYTES);
    speed->flops_f32 = measure_flops(engine, cpu->kernels->f32);
    speed->flops_f64 = measure_flops(engine, cpu->kernels->f64);
    speed->read_bytes = measure_reading(engine, cpu->kernels->f32, data);
    attn_memory_give(&engine->memory, data);
    return ATTN_OK;
}
