/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in words. */
#include "base/compiler.h"
#include "cpu/cpu.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct attn_text {
    char *text;
    size_t size, length; /* length: of the whole text, also the part that did not fit */
} attn_text;

static void append(attn_text *to, const char *format, ...) ATTN_PRINTF_LIKE(2, 3);

static void append(attn_text *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t left = to->size > to->length ? to->size - to->length : 0;
    const int length = vsnprintf(left ? to->text + to->length : NULL, left, format, arguments);
    va_end(arguments);
    if (length > 0) to->length += (size_t)length;
}

static void explain_ways(const attn_plan *plan, attn_text *to) {
    const attn_cpu_plan *cpu = plan->state;
    const char *packed = plan->problem.with & ATTN_WITH_CU_SEQLENS_Q ? " (sequences that are longer)" : "";
    if (cpu->few_rows)
        append(
            to,
            "few rows: up to %lld rows of a group share one pass over k and v, %s; keys are cut into at most %d parts "
            "and merged\n",
            (long long)cpu->few_rows, cpu->direct_k && cpu->direct_v ? "read where they lie" : "converted tile by tile",
            cpu->max_splits);
    if (!cpu->few_rows || *packed)
        append(
            to,
            "many rows%s: items of %lld rows pack each tile of k and v once; blocks of %d rows in panels of %d x %d\n",
            packed, (long long)cpu->item_rows, ATTN_BLOCK_ROWS, cpu->kernels->mr, cpu->kernels->nr);
}

size_t attn_cpu_plan_explain(const attn_plan *plan, char *text, size_t size) {
    const attn_cpu_plan *cpu = plan->state;
    const attn_problem *p = &plan->problem;
    attn_text to = {text, size, 0};
    if (size) text[0] = '\0';
    append(&to, "kernel: %s, tiles of %s\n", cpu->kernel, attn_type_name(cpu->kernels->type));
    append(&to, "rows: %d query head%s of a group are stacked, %lld rows of each of %lld groups\n", cpu->group,
           cpu->group == 1 ? "" : "s", (long long)attn_cpu_rows_of_group(p), (long long)attn_cpu_groups(p));
    explain_ways(plan, &to);
    append(&to, "keys: tiles of %d; tiles that no row may see are skipped%s\n", ATTN_TILE_KEYS,
           p->with & ATTN_WITH_BATCH_INVARIANCE ? "; batch invariant" : "");
    append(&to, "threads: %d of %d; workspace: %zu bytes, %zu a thread\n", cpu->workers, plan->engine->info.threads,
           plan->workspace_bytes, cpu->scratch.size);
    return to.length;
}
