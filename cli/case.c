/* SPDX-License-Identifier: Apache-2.0 */
/* From tensors and options to a problem. Reading and writing files is in case_file.c, comparing in case_compare.c. */
#include "case.h"
#include "case_slots.h"
#include "case_value.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void case_init(case_file *c) {
    *c = (case_file){.problem = ATTN_PROBLEM_INIT, .inputs = ATTN_TENSORS_INIT, .options = case_options_default()};
}

void case_free(case_file *c) {
    for (int slot = 0; slot < CASE_SLOTS; slot++) case_tensor_free(&c->tensors[slot]);
    free(c->title);
    free(c->origin);
    free(c->data);
    case_init(c);
}

/* --------------------------------------------------------------------------------------------------- adding tensors */

static int kind_takes(case_kind kind, attn_type type) {
    switch (kind) {
    case CASE_KIND_F32:
        return type == ATTN_F32;
    case CASE_KIND_INTEGER:
        return type == ATTN_I32 || type == ATTN_I64;
    case CASE_KIND_BOOL:
        return type == ATTN_BOOL;
    default:
        return type == ATTN_F32 || type == ATTN_F16 || type == ATTN_BF16 || type == ATTN_F64;
    }
}

static const char *kind_types(case_kind kind) {
    switch (kind) {
    case CASE_KIND_F32:
        return "f32";
    case CASE_KIND_INTEGER:
        return "i32 or i64";
    case CASE_KIND_BOOL:
        return "bool or u8";
    default:
        return "f32, f16, bf16 or f64";
    }
}

static case_status check_addition(const case_file *c, const char *name, attn_type type, case_error *error) {
    case_slot slot = case_slot_of(name);
    if (strcmp(name, "page_table") == 0)
        return case_fail(error, CASE_ERROR_UNSUPPORTED, "page_table: page tables are not supported");
    if (slot == CASE_SLOTS) return case_fail(error, CASE_ERROR_CONTENT, "'%.64s' is no tensor of a case file", name);
    if (c->tensors[slot].type != ATTN_TYPE_DEFAULT)
        return case_fail(error, CASE_ERROR_CONTENT, "%s is there already", name);
    case_kind kind = case_slot_rows[slot].kind;
    if (!kind_takes(kind, type))
        return case_fail(error, CASE_ERROR_CONTENT, "%s has type %s, but has to be %s", name, attn_type_name(type),
                         kind_types(kind));
    return CASE_OK;
}

case_status case_add(case_file *c, const char *name, const case_tensor *tensor, case_error *error) {
    case_status status = check_addition(c, name, tensor->type, error);
    if (status != CASE_OK) {
        free(tensor->owned);
        return status;
    }
    c->tensors[case_slot_of(name)] = *tensor;
    return case_succeed(error);
}

/* -------------------------------------------------------------------------------------------------------------
 * checking */

static const char letters[] = "BHGNMDEC";
static const char *const letter_names[] = {
    "batch entries", "query heads",    "key heads",      "rows",
    "keys",          "columns (of q)", "columns (of v)", "batch entries + 1",
};
enum { LETTERS = sizeof letters - 1 };

/* The size of each letter, and the first tensor that had it. */
typedef struct case_sizes {
    int64_t size[LETTERS];
    const char *from[LETTERS]; /* NULL: not met yet */
} case_sizes;

static int64_t size_of(const case_sizes *sizes, char letter) {
    return sizes->size[strchr(letters, letter) - letters];
}

static int has(const case_file *c, case_slot slot) {
    return c->tensors[slot].type != ATTN_TYPE_DEFAULT;
}

static case_status check_size(case_sizes *sizes, const char *name, char letter, int64_t size, case_error *error) {
    const int n = (int)(strchr(letters, letter) - letters);
    if (sizes->from[n] == NULL) {
        sizes->from[n] = name;
        sizes->size[n] = size;
    }
    if (sizes->size[n] == size) return CASE_OK;
    return case_fail(error, CASE_ERROR_CONTENT, "%s has %" PRId64 " %s, but %s has %" PRId64, name, size,
                     letter_names[n], sizes->from[n], sizes->size[n]);
}

static case_status check_shape(const case_file *c, case_slot slot, case_sizes *sizes, case_error *error) {
    const case_tensor *tensor = &c->tensors[slot];
    const case_dims dims = case_dims_of(slot, c->layout);
    if (tensor->rank != dims.rank)
        return case_fail(error, CASE_ERROR_CONTENT, "%s has %d dimensions, but layout %s has %d there",
                         case_slot_name(slot), tensor->rank, case_layout_name(c->layout), dims.rank);
    case_status status = CASE_OK;
    for (int n = 0; n < dims.rank && status == CASE_OK; n++) {
        if (dims.letters[n] != '*')
            status = check_size(sizes, case_slot_name(slot), dims.letters[n], tensor->shape[n], error);
    }
    return status;
}

/* Sizes that attn_problem takes for "the default" when they are 0, and others that leave no problem. */
static case_status check_not_empty(const case_sizes *sizes, case_error *error) {
    if (size_of(sizes, 'D') == 0 || size_of(sizes, 'E') == 0)
        return case_fail(error, CASE_ERROR_CONTENT, "%s has no columns", size_of(sizes, 'D') == 0 ? "q" : "v");
    if (size_of(sizes, 'G') == 0 && size_of(sizes, 'H') != 0)
        return case_fail(error, CASE_ERROR_CONTENT, "q has %" PRId64 " heads, but k has none", size_of(sizes, 'H'));
    return CASE_OK;
}

/* In packed layouts the batch entries are counted by the cumulative lengths alone. */
static case_status find_batch(const case_file *c, case_sizes *sizes, case_error *error) {
    if (c->layout != CASE_THD) return CASE_OK;
    int64_t ends = c->tensors[CASE_CU_SEQLENS_Q].shape[0];
    if (ends < 1) return case_fail(error, CASE_ERROR_CONTENT, "cu_seqlens_q is empty; at least its first 0 is needed");
    return check_size(sizes, "cu_seqlens_q", 'B', ends - 1, error);
}

static case_status check_shapes(const case_file *c, case_sizes *sizes, case_error *error) {
    case_status status = CASE_OK;
    if (has(c, CASE_CU_SEQLENS_Q)) status = check_shape(c, CASE_CU_SEQLENS_Q, sizes, error);
    if (status == CASE_OK) status = find_batch(c, sizes, error);
    for (int slot = 0; slot < CASE_SLOTS && status == CASE_OK; slot++) {
        if (has(c, (case_slot)slot)) status = check_shape(c, (case_slot)slot, sizes, error);
    }
    return status == CASE_OK ? check_not_empty(sizes, error) : status;
}

static case_status check_bias_gradient(const case_file *c, case_error *error) {
    const case_tensor *bias = &c->tensors[CASE_BIAS], *gradient = &c->tensors[CASE_D_BIAS];
    if (!has(c, CASE_D_BIAS)) return CASE_OK;
    if (!has(c, CASE_BIAS)) return case_fail(error, CASE_ERROR_CONTENT, "there is a d_bias, but no bias");
    for (int n = 0; n < 4; n++) {
        if (gradient->shape[n] != bias->shape[n])
            return case_fail(error, CASE_ERROR_CONTENT, "dimension %d of d_bias is %" PRId64 ", but of bias %" PRId64,
                             n, gradient->shape[n], bias->shape[n]);
    }
    return CASE_OK;
}

static case_status check_presence(const case_file *c, case_error *error) {
    for (int slot = CASE_Q; slot <= CASE_V; slot++) {
        if (!has(c, (case_slot)slot))
            return case_fail(error, CASE_ERROR_CONTENT, "there is no %s", case_slot_name((case_slot)slot));
        if (c->tensors[slot].type != c->tensors[CASE_Q].type)
            return case_fail(error, CASE_ERROR_UNSUPPORTED, "%s has type %s, but q has %s",
                             case_slot_name((case_slot)slot), attn_type_name(c->tensors[slot].type),
                             attn_type_name(c->tensors[CASE_Q].type));
    }
    for (int slot = CASE_CU_SEQLENS_Q; slot <= CASE_CU_SEQLENS_KV; slot++) {
        if (has(c, (case_slot)slot) != (c->layout == CASE_THD))
            return case_fail(error, CASE_ERROR_CONTENT, "layout %s %s %s", case_layout_name(c->layout),
                             c->layout == CASE_THD ? "needs" : "has no", case_slot_name((case_slot)slot));
    }
    if (has(c, CASE_Q_OFFSETS) && c->options.q_offset != ATTN_OFFSET_END)
        return case_fail(error, CASE_ERROR_CONTENT, "there are both q_offset %" PRId64 " and q_offsets",
                         c->options.q_offset);
    return CASE_OK;
}

/* --------------------------------------------------------------------------------------------------------------
 * lengths */

static case_status widen(case_tensor *tensor, case_error *error) {
    int64_t count = tensor->shape[0];
    int64_t *wide = malloc(((size_t)count + 1) * sizeof *wide);
    if (wide == NULL) return case_fail(error, CASE_ERROR_MEMORY, "no memory for %" PRId64 " lengths", count);
    for (int64_t n = 0; n < count; n++) wide[n] = case_load_integer(tensor->type, tensor->data, n);
    free(tensor->owned);
    tensor->type = ATTN_I64;
    tensor->data = tensor->owned = wide;
    return CASE_OK;
}

/* The library takes lengths of one type: where a file has both, the narrower become I64. */
static case_status unify_lengths(case_file *c, case_error *error) {
    case_status status = CASE_OK;
    int wide = 0;
    for (int slot = CASE_Q_LENS; slot <= CASE_Q_OFFSETS; slot++) wide |= c->tensors[slot].type == ATTN_I64;
    for (int slot = CASE_Q_LENS; slot <= CASE_Q_OFFSETS && wide && status == CASE_OK; slot++) {
        if (c->tensors[slot].type == ATTN_I32) status = widen(&c->tensors[slot], error);
    }
    c->problem.length_type = wide ? ATTN_I64 : ATTN_I32;
    return status;
}

/* --------------------------------------------------------------------------------------------------------------
 * problem */

static void set_sizes(case_file *c, const case_sizes *sizes) {
    attn_problem *problem = &c->problem;
    problem->type = c->tensors[CASE_Q].type;
    problem->batch = size_of(sizes, 'B');
    problem->heads_q = size_of(sizes, 'H');
    problem->heads_kv = size_of(sizes, 'G');
    problem->seq_q = size_of(sizes, 'N');
    problem->seq_kv = size_of(sizes, 'M');
    problem->dim = size_of(sizes, 'D');
    problem->dim_v = size_of(sizes, 'E');
}

static case_status set_strides(case_file *c, const case_sizes *sizes, case_error *error) {
    attn_problem *problem = &c->problem;
    const case_tensor o = {.shape = {problem->batch, problem->seq_q, problem->heads_q, size_of(sizes, 'E')}};
    const case_tensor *tensors[4] = {&c->tensors[CASE_Q], &c->tensors[CASE_K], &c->tensors[CASE_V], &o};
    const case_slot slots[4] = {CASE_Q, CASE_K, CASE_V, CASE_O};
    int64_t *strides[4] = {problem->q_strides, problem->k_strides, problem->v_strides, problem->o_strides};
    for (int n = 0; n < 4; n++) {
        case_view view = {{0}, {0}}; /* zero strides: the other layouts are the library's defaults */
        if (c->layout == CASE_BSHD && !case_view_of(slots[n], c->layout, tensors[n], &view))
            return case_fail(error, CASE_ERROR_CONTENT, "%s: the product of its dimensions overflows",
                             case_slot_name(slots[n]));
        memcpy(strides[n], view.strides, sizeof view.strides);
    }
    return CASE_OK;
}

static void set_options(case_file *c) {
    attn_problem *problem = &c->problem;
    problem->scale = c->options.scale;
    problem->softcap = c->options.softcap;
    problem->window_left = c->options.window_left;
    problem->window_right = c->options.causal ? ATTN_CAUSAL : c->options.window_right;
    problem->q_offset = c->options.q_offset;
    problem->dropout_p = c->options.dropout_p;
}

static attn_view view_of(const case_tensor *tensor) {
    attn_view view = ATTN_VIEW_INIT;
    view.type = tensor->type;
    memcpy(view.shape, tensor->shape, sizeof view.shape);
    return view;
}

static uint32_t parts_of(const case_file *c) {
    static const struct {
        case_slot slot;
        uint32_t bit;
    } parts[] = {
        {CASE_LSE, ATTN_WITH_LSE},
        {CASE_ALIBI_SLOPES, ATTN_WITH_ALIBI},
        {CASE_SINKS, ATTN_WITH_SINKS},
        {CASE_Q_LENS, ATTN_WITH_Q_LENS},
        {CASE_KV_LENS, ATTN_WITH_KV_LENS},
        {CASE_CU_SEQLENS_Q, ATTN_WITH_CU_SEQLENS_Q},
        {CASE_CU_SEQLENS_KV, ATTN_WITH_CU_SEQLENS_KV},
        {CASE_Q_OFFSETS, ATTN_WITH_Q_OFFSETS},
    };
    uint32_t with = 0;
    for (size_t n = 0; n < sizeof parts / sizeof parts[0]; n++) {
        if (has(c, parts[n].slot)) with |= parts[n].bit;
    }
    return with;
}

static void set_inputs(case_file *c) {
    const case_tensor *tensors = c->tensors;
    c->inputs = (attn_tensors)ATTN_TENSORS_INIT;
    c->inputs.q = tensors[CASE_Q].data;
    c->inputs.k = tensors[CASE_K].data;
    c->inputs.v = tensors[CASE_V].data;
    c->inputs.bias = tensors[CASE_BIAS].data;
    c->inputs.mask = tensors[CASE_MASK].data;
    c->inputs.alibi_slopes = tensors[CASE_ALIBI_SLOPES].data;
    c->inputs.sinks = tensors[CASE_SINKS].data;
    c->inputs.q_lens = tensors[CASE_Q_LENS].data;
    c->inputs.kv_lens = tensors[CASE_KV_LENS].data;
    c->inputs.cu_seqlens_q = tensors[CASE_CU_SEQLENS_Q].data;
    c->inputs.cu_seqlens_kv = tensors[CASE_CU_SEQLENS_KV].data;
    c->inputs.q_offsets = tensors[CASE_Q_OFFSETS].data;
    c->inputs.dropout_seed = c->options.dropout_seed;
    c->inputs.dropout_offset = c->options.dropout_offset;
}

/* What makes a good problem is the library's to say. */
static case_status check_problem(const case_file *c, case_error *error) {
    attn_reason reason;
    attn_status status = attn_problem_complete(&c->problem, NULL, &reason);
    if (status == ATTN_OK) return CASE_OK;
    return case_fail(error, status == ATTN_ERROR_UNSUPPORTED ? CASE_ERROR_UNSUPPORTED : CASE_ERROR_CONTENT, "%s",
                     reason.text);
}

static case_status finish(case_file *c, case_error *error) {
    case_sizes sizes = {{0}, {NULL}};
    c->problem = (attn_problem)ATTN_PROBLEM_INIT;
    case_status status = check_presence(c, error);
    if (status == CASE_OK && c->title == NULL) status = case_set(c, "title", "", error);
    if (status == CASE_OK && c->origin == NULL) status = case_set(c, "origin", "", error);
    if (status == CASE_OK) status = check_shapes(c, &sizes, error);
    if (status == CASE_OK) status = check_bias_gradient(c, error);
    if (status == CASE_OK) status = unify_lengths(c, error);
    if (status != CASE_OK) return status;
    set_sizes(c, &sizes);
    status = set_strides(c, &sizes, error);
    if (status != CASE_OK) return status;
    set_options(c);
    c->problem.bias = view_of(&c->tensors[CASE_BIAS]);
    c->problem.mask = view_of(&c->tensors[CASE_MASK]);
    c->problem.with = parts_of(c);
    set_inputs(c);
    return check_problem(c, error);
}

case_status case_finish(case_file *c, case_error *error) {
    case_status status = finish(c, error);
    return status == CASE_OK ? case_succeed(error) : status;
}
