/* SPDX-License-Identifier: Apache-2.0 */
#include "problem_choice.h"
#include <stdlib.h>
#include <string.h>

enum { SEQ_NOT_GIVEN = -1 };

/* ---------------------------------------------------------------------------------------------------------- presets */

const preset presets[] = {
    {"A", 16, 16, 1024, 1024, 64},   {"B", 8, 8, 2048, 2048, 128}, {"C", 8, 8, 4096, 4096, 64},
    {"decode", 32, 8, 1, 4096, 128}, {NULL, 0, 0, 0, 0, 0},
};

void preset_apply(const preset *chosen, make_case_options *options) {
    options->heads_q = chosen->heads_q;
    options->heads_kv = chosen->heads_kv;
    options->seq_q = chosen->seq_q;
    options->seq_kv = chosen->seq_kv;
    options->dim = chosen->dim;
    options->dim_v = 0;
}

static const char *read_preset(const option *self, const char *text, void *field) {
    for (const preset *p = presets; p->name != NULL; p++) {
        if (strcmp(p->name, text) != 0) continue;
        preset_apply(p, field);
        return NULL;
    }
    return self->value;
}

/* ---------------------------------------------------------------------------------------------------------- readers */

static const char *read_type(const option *self, const char *text, void *field) {
    for (int type = ATTN_F32; type <= ATTN_I64; type++) {
        const char *name = attn_type_name((attn_type)type);
        if (strcmp(name, text) != 0 || strstr(self->value, name) == NULL) continue;
        *(attn_type *)field = (attn_type)type;
        return NULL;
    }
    return self->value;
}

static const char *read_layout(const option *self, const char *text, void *field) {
    int position;
    const char *takes = read_choice(self, text, &position);
    if (takes == NULL) *(case_layout *)field = (case_layout)position;
    return takes;
}

static const char *read_fraction(const option *self, const char *text, void *field) {
    double value;
    if (read_number(self, text, &value) != NULL || value < 0 || value > 1) return "a number from 0 to 1";
    *(double *)field = value;
    return NULL;
}

/* "full", or four numbers "1,8,0,0" of which 0 stands for the full size. */
static const char *read_view(const option *self, const char *text, void *field) {
    make_case_view view = {1, {0, 0, 0, 0}};
    (void)self;
    if (strcmp(text, "full") != 0) {
        const char *next = text;
        for (int dimension = 0; dimension < 4; dimension++) {
            char *end = NULL;
            long long size = strtoll(next, &end, 10);
            if (end == next || size < 0 || *end != (dimension < 3 ? ',' : '\0')) {
                return "'full' or four sizes as in 1,8,0,0 (0: the full size)";
            }
            view.shape[dimension] = size;
            next = end + 1;
        }
    }
    *(make_case_view *)field = view;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- tables */

#define SHAPE(member) offsetof(make_case_options, member)

static const option shape_options[] = {
    {"preset", 'p', "A|B|C|decode", read_preset, 0,
     "named shapes; options after it change them. A: 16 heads, 1024 rows and keys, dim 64. B: 8, 2048, 128. C: 8, "
     "4096, "
     "64. decode: 32 heads over 8, one row, 4096 keys, dim 128"},
    {"batch", 0, "N", read_count, SHAPE(batch), "batch entries (default 1)"},
    {"heads", 0, "N", read_count, SHAPE(heads_q), "query heads (default 1)"},
    {"kv-heads", 0, "N", read_count, SHAPE(heads_kv), "key and value heads (default: as --heads)"},
    {"seq-q", 0, "N", read_count, SHAPE(seq_q), "query rows"},
    {"seq-kv", 0, "N", read_count, SHAPE(seq_kv), "keys (default: as --seq-q)"},
    {"dim", 0, "N", read_count, SHAPE(dim), "columns of q and k (default 64)"},
    {"dim-v", 0, "N", read_count, SHAPE(dim_v), "columns of v and o (default: as --dim)"},
    {"type", 0, "f32|f16|bf16|f64", read_type, SHAPE(type), "type of q, k, v and o (default f32)"},
    {"layout", 0, "bhsd|bshd|thd", read_layout, SHAPE(layout),
     "how tensors lie: [batch, head, row, column], [batch, row, head, column], or packed (default bhsd)"},
    {0},
};
const option_table shape_table = {"Shapes", shape_options};

static const option feature_options[] = {
    {"bias", 0, "SHAPE", read_view, SHAPE(bias),
     "add a bias: full, or the sizes of batch, heads, rows, keys as in 1,8,0,0 (1: broadcast, 0: the full size)"},
    {"bias-type", 0, "f32|f16|bf16|f64", read_type, SHAPE(bias_type), "its type (default f32)"},
    {"bias-excluded", 0, "P", read_fraction, SHAPE(bias_excluded), "part of the bias that is -inf (default 0)"},
    {"mask", 0, "SHAPE", read_view, SHAPE(mask), "add a mask, with the shapes of --bias"},
    {"mask-kept", 0, "P", read_fraction, SHAPE(mask_kept), "part of the mask that may be seen (default 0.75)"},
    {"alibi", 0, NULL, NULL, SHAPE(alibi), "add ALiBi slopes"},
    {"sinks", 0, NULL, NULL, SHAPE(sinks), "add attention sinks"},
    {"q-lens", 0, NULL, NULL, SHAPE(q_lens), "give every batch entry a random number of rows"},
    {"kv-lens", 0, NULL, NULL, SHAPE(kv_lens), "give every batch entry a random number of keys"},
    {"length-type", 0, "i32|i64", read_type, SHAPE(length_type), "type of the lengths (default i32)"},
    {0},
};
const option_table feature_table = {"Random data", feature_options};

static const option seed_options[] = {
    {"seed", 's', "N", read_uint64, SHAPE(seed), "the same seed gives the same bytes everywhere (default 0)"},
    {0},
};
const option_table seed_table = {"Random data", seed_options};

#define SCALAR(member) offsetof(case_options, member)

static const option semantics_options[] = {
    {"causal", 'c', NULL, NULL, SCALAR(causal), "no key after a row's own position"},
    {"scale", 0, "X", read_number, SCALAR(scale), "factor of q k^T (default 1 / sqrt(dim))"},
    {"softcap", 0, "X", read_number, SCALAR(softcap), "cap scores softly: X * tanh(s / X) (default none)"},
    {"window-left", 0, "N", read_count, SCALAR(window_left), "keys seen before a row's position (default all)"},
    {"window-right", 0, "N", read_count, SCALAR(window_right), "keys seen after it (default all)"},
    {"q-offset", 0, "N", read_integer, SCALAR(q_offset),
     "position of the first row among the keys (default: the last row lines up with the last key)"},
    {"dropout-p", 0, "P", read_number, SCALAR(dropout_p), "drop weights with this probability (default 0)"},
    {"dropout-seed", 0, "N", read_uint64, SCALAR(dropout_seed), "seed of the dropout (default 0)"},
    {"dropout-offset", 0, "N", read_uint64, SCALAR(dropout_offset), "offset of the dropout (default 0)"},
    {0},
};
const option_table semantics_table = {"What is computed", semantics_options};

static const option tolerance_options[] = {
    {"atol", 0, "X", read_number, SCALAR(atol), "absolute part of the pass limit atol + rtol * |expected|"},
    {"rtol", 0, "X", read_number, SCALAR(rtol), "relative part (defaults: the case's own, or else by type)"},
    {0},
};
const option_table tolerance_table = {"Tolerance", tolerance_options};

/* --------------------------------------------------------------------------------------------------------- problems */

void problem_options_init(make_case_options *options) {
    make_case_options_init(options);
    options->seq_q = SEQ_NOT_GIVEN;
    options->dim = 64;
}

int shapes_given(const make_case_options *options) {
    return options->seq_q != SEQ_NOT_GIVEN;
}

/* Strides of [batch, row, head, column] storage. */
static void set_bshd_strides(int64_t strides[4], int64_t seq, int64_t heads, int64_t dim) {
    strides[0] = seq * heads * dim;
    strides[1] = dim;
    strides[2] = heads * dim;
    strides[3] = 1;
}

static void set_view(attn_view *view, attn_type type, const make_case_view *wanted, const attn_problem *p) {
    const int64_t full[4] = {p->batch, p->heads_q, p->seq_q, p->seq_kv};
    if (!wanted->wanted) return;
    view->type = type;
    for (int i = 0; i < 4; i++) view->shape[i] = wanted->shape[i] != 0 ? wanted->shape[i] : full[i];
}

static void set_semantics(const case_options *options, attn_problem *p) {
    p->scale = options->scale;
    p->softcap = options->softcap;
    p->window_left = options->window_left;
    p->window_right = options->causal ? ATTN_CAUSAL : options->window_right;
    p->q_offset = options->q_offset;
    p->dropout_p = options->dropout_p;
}

static uint32_t with_of(const make_case_options *options) {
    uint32_t with = 0;
    if (options->alibi) with |= ATTN_WITH_ALIBI;
    if (options->sinks) with |= ATTN_WITH_SINKS;
    if (options->layout == CASE_THD) return with | ATTN_WITH_CU_SEQLENS_Q | ATTN_WITH_CU_SEQLENS_KV;
    if (options->q_lens) with |= ATTN_WITH_Q_LENS;
    if (options->kv_lens) with |= ATTN_WITH_KV_LENS;
    return with;
}

static void set_layout(case_layout layout, attn_problem *p) {
    if (layout != CASE_BSHD) return;
    set_bshd_strides(p->q_strides, p->seq_q, p->heads_q, p->dim);
    set_bshd_strides(p->k_strides, p->seq_kv, p->heads_kv, p->dim);
    set_bshd_strides(p->v_strides, p->seq_kv, p->heads_kv, p->dim_v);
    set_bshd_strides(p->o_strides, p->seq_q, p->heads_q, p->dim_v);
}

void problem_of_shapes(const make_case_options *options, attn_problem *problem) {
    attn_problem p = ATTN_PROBLEM_INIT;
    p.type = options->type;
    p.batch = options->batch;
    p.heads_q = options->heads_q;
    p.heads_kv = options->heads_kv != 0 ? options->heads_kv : options->heads_q;
    p.seq_q = options->seq_q;
    p.seq_kv = options->seq_kv != 0 ? options->seq_kv : options->seq_q;
    p.dim = options->dim;
    p.dim_v = options->dim_v != 0 ? options->dim_v : options->dim;
    set_semantics(&options->options, &p);
    set_view(&p.bias, options->bias_type, &options->bias, &p);
    set_view(&p.mask, ATTN_BOOL, &options->mask, &p);
    p.with = with_of(options);
    p.length_type = options->length_type;
    set_layout(options->layout, &p);
    *problem = p;
}
