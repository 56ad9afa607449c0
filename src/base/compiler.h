/* SPDX-License-Identifier: Apache-2.0 */
/* The few compiler extensions used outside src/cpu/kernels, each with a plain C fall-back. */
#ifndef ATTN_BASE_COMPILER_H
#define ATTN_BASE_COMPILER_H

#if defined(__GNUC__)
#define ATTN_PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define ATTN_PRINTF_LIKE(text, first)
#endif

/* Ask for the cache line at an address that will be read soon, or somewhat later: for the first or the second cache. Any
 * address will do: nothing is accessed. */
#if defined(__GNUC__)
#define ATTN_FETCH(address)       __builtin_prefetch((address), 0, 3)
#define ATTN_FETCH_LATER(address) __builtin_prefetch((address), 0, 2)
#else
#define ATTN_FETCH(address)       (void)(address)
#define ATTN_FETCH_LATER(address) (void)(address)
#endif

#endif
