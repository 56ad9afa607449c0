/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/isa.h"

#include <stddef.h>

#if defined(ATTN_HAVE_AVX2) || defined(ATTN_HAVE_AVX512)
#include <cpuid.h>

/* Register states that the operating system saves (XCR0): SSE and AVX; AVX-512's masks and upper halves. */
enum { STATE_AVX = 0x6, STATE_AVX512 = 0xE6 };

static unsigned saved_states(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int has(unsigned word, int bit) {
    return (int)(word >> bit & 1u);
}

/* Intel SDM volume 2A, CPUID: leaf 1 ECX and leaf 7 EBX. */
static uint32_t ask_processor(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const int fma = has(c, 12), osxsave = has(c, 27), avx = has(c, 28), f16c = has(c, 29);
    if (!osxsave || !avx || (saved_states() & STATE_AVX) != STATE_AVX) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    const int avx2 = has(b, 5), f = has(b, 16), dq = has(b, 17), bw = has(b, 30), vl = has(b, 31);
    uint32_t found = 0;
    if (avx2 && fma && f16c) found |= ATTN_CPU_AVX2;
    if (found && f && dq && bw && vl && (saved_states() & STATE_AVX512) == STATE_AVX512) found |= ATTN_CPU_AVX512;
    return found;
}
#elif defined(ATTN_HAVE_NEON)
/* Part of every AArch64 processor. */
static uint32_t ask_processor(void) {
    return ATTN_CPU_NEON;
}
#else
static uint32_t ask_processor(void) {
    return 0;
}
#endif

/* From the most capable to the least. */
static const attn_kernel_set *const ladder[] = {
#if defined(ATTN_HAVE_AVX512)
    &attn_kernels_avx512,
#endif
#if defined(ATTN_HAVE_AVX2)
    &attn_kernels_avx2,
#endif
#if defined(ATTN_HAVE_NEON)
    &attn_kernels_neon,
#endif
    &attn_kernels_portable,
};

enum { RUNGS = sizeof(ladder) / sizeof(ladder[0]) };

const attn_kernel_set *attn_cpu_choose(uint32_t mask) {
    const uint32_t usable = mask & (ask_processor() | ATTN_CPU_PORTABLE);
    for (int i = 0; i < RUNGS; i++)
        if (ladder[i]->cpu & usable) return ladder[i];
    return NULL;
}

uint32_t attn_cpu_available(void) {
    const uint32_t usable = ask_processor() | ATTN_CPU_PORTABLE;
    uint32_t available = 0;
    for (int i = 0; i < RUNGS; i++) available |= ladder[i]->cpu & usable;
    return available;
}

const char *attn_cpu_name(uint32_t cpu_bit) {
    switch (cpu_bit) {
    case ATTN_CPU_PORTABLE:
        return "portable";
    case ATTN_CPU_AVX2:
        return "avx2";
    case ATTN_CPU_AVX512:
        return "avx512";
    case ATTN_CPU_NEON:
        return "neon";
    default:
        return "?";
    }
}
