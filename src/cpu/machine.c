/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "cpu/isa.h"

#include <unistd.h>

#if defined(__linux__)
#include <sched.h>

static int allowed_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}
#else
static int allowed_processors(void) {
    return 0;
}
#endif

int attn_cpu_processors(void) {
    const int allowed = allowed_processors();
    if (allowed > 0) return allowed;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

#if defined(_SC_LEVEL1_DCACHE_SIZE)
static int64_t cache_bytes(int name) {
    const long bytes = sysconf(name);
    return bytes > 0 ? bytes : 0;
}

attn_cpu_caches attn_cpu_read_caches(void) {
    return (attn_cpu_caches){cache_bytes(_SC_LEVEL1_DCACHE_SIZE), cache_bytes(_SC_LEVEL2_CACHE_SIZE),
                             cache_bytes(_SC_LEVEL3_CACHE_SIZE)};
}
#else
attn_cpu_caches attn_cpu_read_caches(void) {
    return (attn_cpu_caches){0, 0, 0};
}
#endif
