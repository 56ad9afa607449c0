/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/pool.h"

#include "base/reason.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Turns of looking for work before a thread goes to sleep: some tens of microseconds, about what waking it would cost. */
enum { SPINS = 4000 };

struct attn_pool {
    attn_memory memory;
    pthread_mutex_t busy; /* held by the caller whose job runs */
    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t work, done;
    void (*task)(void *arg, int index);
    void *arg;
    int count;
    int running;           /* threads that have not finished the job yet */
    int stop;              /* 1: threads end */
    atomic_uint job;       /* number of the current job; written under lock, watched without */
    atomic_int next;       /* index of the job that nobody has taken yet */
    atomic_int unfinished; /* as running, watched without the lock */
    int started;           /* threads */
    pthread_t threads[];
};

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void take_indices(attn_pool *pool) {
    for (;;) {
        const int index = atomic_fetch_add(&pool->next, 1);
        if (index >= pool->count) return;
        pool->task(pool->arg, index);
    }
}

/* Returns when a job other than `last` is there, or the pool stops (then 0). */
static int wait_for_job(attn_pool *pool, unsigned last) {
    for (int i = 0; i < SPINS && atomic_load_explicit(&pool->job, memory_order_relaxed) == last; i++) relax();
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->job) == last && !pool->stop) pthread_cond_wait(&pool->work, &pool->lock);
    const int go = !pool->stop;
    pthread_mutex_unlock(&pool->lock);
    return go;
}

static void finish_job(attn_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->running--;
    atomic_store(&pool->unfinished, pool->running);
    if (pool->running == 0) pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

static void *thread_main(void *arg) {
    attn_pool *pool = arg;
    for (unsigned last = 0; wait_for_job(pool, last); finish_job(pool)) {
        last++; /* a thread takes part in every job, so none is missed */
        take_indices(pool);
    }
    return NULL;
}

static void announce_job(attn_pool *pool, int count, void (*task)(void *arg, int index), void *arg) {
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->arg = arg;
    pool->count = count;
    pool->running = pool->started;
    atomic_store(&pool->unfinished, pool->running);
    atomic_store(&pool->next, 0);
    atomic_fetch_add(&pool->job, 1);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_until_done(attn_pool *pool) {
    for (int i = 0; i < SPINS && atomic_load_explicit(&pool->unfinished, memory_order_relaxed) > 0; i++) relax();
    pthread_mutex_lock(&pool->lock);
    while (pool->running > 0) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void run_alone(int count, void (*task)(void *arg, int index), void *arg) {
    for (int i = 0; i < count; i++) task(arg, i);
}

void attn_pool_run(attn_pool *pool, int count, void (*task)(void *arg, int index), void *arg) {
    if (count <= 1 || pool->started == 0 || pthread_mutex_trylock(&pool->busy) != 0) {
        run_alone(count, task, arg);
        return;
    }
    announce_job(pool, count, task, arg);
    take_indices(pool);
    wait_until_done(pool);
    pthread_mutex_unlock(&pool->busy);
}

static attn_status start_threads(attn_pool *pool, int count, attn_reason *reason) {
    for (; pool->started < count; pool->started++) {
        const int error = pthread_create(&pool->threads[pool->started], NULL, thread_main, pool);
        if (error)
            return attn_fail(reason, ATTN_ERROR_SYSTEM, "thread %d of %d could not be started (error %d)",
                             pool->started + 1, count, error);
    }
    return ATTN_OK;
}

attn_status attn_pool_open(const attn_memory *memory, int threads, attn_pool **result, attn_reason *reason) {
    const size_t size = sizeof(attn_pool) + (size_t)(threads - 1) * sizeof(pthread_t);
    attn_pool *pool = attn_memory_take(memory, size);
    if (!pool) return attn_fail(reason, ATTN_ERROR_MEMORY, "no memory for %d threads (%zu bytes)", threads, size);
    memset(pool, 0, size);
    pool->memory = *memory;
    pthread_mutex_init(&pool->busy, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    atomic_init(&pool->job, 0);
    atomic_init(&pool->next, 0);
    atomic_init(&pool->unfinished, 0);
    const attn_status status = start_threads(pool, threads - 1, reason);
    if (status) {
        attn_pool_close(pool);
        return status;
    }
    *result = pool;
    return ATTN_OK;
}

void attn_pool_close(attn_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++) pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->busy);
    const attn_memory memory = pool->memory;
    attn_memory_give(&memory, pool);
}
