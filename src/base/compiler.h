/* SPDX-License-Identifier: Apache-2.0 */
/* The few compiler extensions used outside src/cpu/kernels, each with a plain C fall-back. */
#ifndef ATTN_BASE_COMPILER_H
#define ATTN_BASE_COMPILER_H

#if defined(__GNUC__)
#define ATTN_PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define ATTN_PRINTF_LIKE(text, first)
#endif

#endif
