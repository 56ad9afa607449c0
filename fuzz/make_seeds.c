/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes seeds for the fuzzers: make_seeds FOLDER. The folder gets case-*.safetensors and *.npy, small files that
 * between them have every feature; a fuzzer finds the broken ones by itself.
 */
#include "cli/make_case.h"
#include "cli/npy.h"
#include <stdlib.h>
#include <string.h>

typedef struct seed {
    const char *name;
    void (*change)(make_case_options *options);
} seed;

static void plain(make_case_options *options) {
    options->title = "a title with \"quotes\" and \\";
}

static void half(make_case_options *options) {
    options->type = ATTN_F16;
    options->layout = CASE_BSHD;
    options->options.causal = 1;
    options->options.softcap = 5;
}

static void bfloat(make_case_options *options) {
    options->type = ATTN_BF16;
    options->heads_q = 4;
    options->options.window_left = 2;
    options->options.window_right = 1;
    options->sinks = options->alibi = 1;
}

static void wide(make_case_options *options) {
    options->type = ATTN_F64;
    options->bias.wanted = options->mask.wanted = 1;
    options->bias_type = ATTN_F64;
    options->bias_excluded = 0.2;
    options->mask.shape[0] = options->mask.shape[1] = 1;
    options->options.scale = 0.25;
    options->options.q_offset = -1;
}

static void ragged(make_case_options *options) {
    options->batch = 3;
    options->q_lens = options->kv_lens = 1;
    options->options.atol = options->options.rtol = 1e-3;
}

static void packed(make_case_options *options) {
    options->layout = CASE_THD;
    options->batch = 3;
    options->length_type = ATTN_I64;
    options->options.dropout_p = 0.25;
    options->options.dropout_seed = 7;
    options->options.dropout_offset = 1;
}

static const seed seeds[] = {
    {"plain", plain}, {"half", half}, {"bfloat", bfloat}, {"wide", wide}, {"ragged", ragged}, {"packed", packed},
};

static void fail(const case_error *error) {
    (void)fprintf(stderr, "make_seeds: %s\n", error->text);
    exit(1);
}

static void write_seed(const seed *s, const char *folder) {
    make_case_options options;
    case_file c;
    case_outputs expected;
    case_error error;
    char path[4096];
    make_case_options_init(&options);
    options.batch = 2;
    options.heads_q = options.heads_kv = 2;
    options.seq_q = 3;
    options.seq_kv = 5;
    options.dim = 4;
    options.dim_v = 3;
    s->change(&options);
    if (make_case(&options, &c, &error) != CASE_OK) fail(&error);
    c.problem.with |= ATTN_WITH_LSE;
    if (case_outputs_make(&c, &c.problem, &expected, &error) != CASE_OK) fail(&error);
    case_expect(&c, &expected);
    (void)snprintf(path, sizeof path, "%s/case-%s.safetensors", folder, s->name);
    if (case_write(&c, path, &error) != CASE_OK) fail(&error);
    for (int slot = CASE_Q; c.problem.type != ATTN_BF16 && slot <= CASE_SINKS; slot++) {
        (void)snprintf(path, sizeof path, "%s/%s-%s.npy", folder, s->name, case_slot_name((case_slot)slot));
        if (c.tensors[slot].type != ATTN_TYPE_DEFAULT && npy_write_path(path, &c.tensors[slot], &error) != CASE_OK)
            fail(&error);
    }
    case_free(&c);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        (void)fputs("usage: make_seeds FOLDER\n", stderr);
        return 2;
    }
    for (size_t n = 0; n < sizeof seeds / sizeof seeds[0]; n++) write_seed(&seeds[n], argv[1]);
    return 0;
}
