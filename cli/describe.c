/* SPDX-License-Identifier: Apache-2.0 */
#include "describe.h"
#include "case_error.h"
#include <stdarg.h>
#include <stdio.h>

typedef struct text_builder {
    char *text;
    size_t size, used;
} text_builder;

static void add_text(text_builder *b, const char *format, ...) CASE_PRINTF_LIKE(2, 3);
static void add_text(text_builder *b, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(b->text + b->used, b->size - b->used, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    b->used += (size_t)length < b->size - b->used ? (size_t)length : b->size - b->used - 1;
}

static void describe_shapes(const attn_problem *p, text_builder *b) {
    add_text(b, "%s", attn_type_name(p->type));
    if (p->batch != 1) add_text(b, ", batch %lld", (long long)p->batch);
    add_text(b, ", %lld head%s", (long long)p->heads_q, p->heads_q == 1 ? "" : "s");
    if (p->heads_kv != p->heads_q && p->heads_kv != 0) add_text(b, " over %lld", (long long)p->heads_kv);
    add_text(b, ", %lld row%s, %lld key%s", (long long)p->seq_q, p->seq_q == 1 ? "" : "s", (long long)p->seq_kv,
             p->seq_kv == 1 ? "" : "s");
    add_text(b, ", dim %lld", (long long)p->dim);
    if (p->dim_v != p->dim && p->dim_v != 0) add_text(b, " and %lld", (long long)p->dim_v);
}

static void describe_window(const attn_problem *p, text_builder *b) {
    if (p->window_right == ATTN_CAUSAL) add_text(b, ", causal");
    if (p->window_right > 0) add_text(b, ", window right %lld", (long long)p->window_right);
    if (p->window_left >= 0) add_text(b, ", window left %lld", (long long)p->window_left);
}

static void describe_features(const attn_problem *p, text_builder *b) {
    static const struct {
        uint32_t bits;
        const char *name;
    } features[] = {
        {ATTN_WITH_ALIBI, "ALiBi"},
        {ATTN_WITH_SINKS, "sinks"},
        {ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS, "lengths"},
        {ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV, "packed"},
    };
    if (p->softcap > 0) add_text(b, ", softcap %g", p->softcap);
    if (p->bias.type != ATTN_TYPE_DEFAULT) add_text(b, ", bias");
    if (p->mask.type != ATTN_TYPE_DEFAULT) add_text(b, ", mask");
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        if ((p->with & features[i].bits) != 0) add_text(b, ", %s", features[i].name);
    }
    if (p->dropout_p > 0) add_text(b, ", dropout %g", p->dropout_p);
}

void describe_problem(const attn_problem *problem, char *text, size_t size) {
    text_builder b = {text, size, 0};
    describe_shapes(problem, &b);
    describe_window(problem, &b);
    describe_features(problem, &b);
}
