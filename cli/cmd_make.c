/* SPDX-License-Identifier: Apache-2.0 */
/* attn make: writes a random case file. */
#include "command.h"
#include "compute.h"
#include "message.h"
#include "problem_input.h"
#include "progress.h"
#include "streams.h"
#include <string.h>

typedef struct make_args {
    make_case_options shapes;
    const char *output;
    int expect;
} make_args;

static const option make_options[] = {
    {"output", 'o', "FILE", read_text, offsetof(make_args, output), "where the case goes; - is standard output"},
    {"expect", 0, NULL, NULL, offsetof(make_args, expect),
     "compute o and lse on the oracle and store them in the case"},
    {"title", 0, "TEXT", read_text, offsetof(make_args, shapes.title), "what the case shows (default: its shapes)"},
    {"origin", 0, "TEXT", read_text, offsetof(make_args, shapes.origin), "where it is from (default: the seed)"},
    {0},
};
static const option_table make_table = {"Case file", make_options};

static const option_part parts[] = {
    {&make_table, 0},
    {&shape_table, offsetof(make_args, shapes)},
    {&semantics_table, offsetof(make_args, shapes.options)},
    {&feature_table, offsetof(make_args, shapes)},
    {&seed_table, offsetof(make_args, shapes)},
    {&tolerance_table, offsetof(make_args, shapes.options)},
    {NULL, 0},
};

static void init(void *memory) {
    make_args *args = memory;
    problem_options_init(&args->shapes);
}

static int add_expected(case_file *c) {
    case_outputs outputs;
    case_error error;
    progress *bar = progress_start("computing on the oracle", 0);
    case_status status = compute_reference(c, &outputs, &error);
    progress_end(bar);
    if (status == CASE_OK) case_expect(c, &outputs);
    case_outputs_free(&outputs);
    return status == CASE_OK ? EXIT_FINE : complain("make: %s", error.text);
}

static int write_case(const case_file *c, const char *path) {
    case_error error;
    return case_write(c, path, &error) == CASE_OK ? EXIT_FINE : complain("%s", error.text);
}

static int run(const void *memory, int count, char **operands) {
    const make_args *args = memory;
    case_file c;
    (void)count;
    (void)operands;
    if (!shapes_given(&args->shapes)) return complain("make: needs --seq-q or --preset; 'attn make --help' shows how");
    if (args->output == NULL) return complain("make: needs -o FILE (- is standard output)");
    if (strcmp(args->output, "-") == 0 && streams_output_is_terminal()) {
        return complain("make: no binary data to a terminal; use -o FILE");
    }
    int status = input_make(&args->shapes, &c);
    if (status == EXIT_FINE && args->expect) status = add_expected(&c);
    if (status == EXIT_FINE) status = write_case(&c, args->output);
    case_free(&c);
    return status;
}

static const char about[] = "Writes a case file with random q, k and v of the given shapes, and whatever else is asked "
                            "for. The same options give the same file on every machine, so that a seed is enough to "
                            "hand on a problem.";

static const char examples[] =
    "A small causal problem with grouped heads, results included\n"
    "attn make --heads 6 --kv-heads 2 --seq-q 100 --causal --expect -o case.safetensors\n"
    "Ragged lengths, a mask for every head, half precision\n"
    "attn make --batch 3 --heads 4 --seq-q 64 --kv-lens --mask 1,0,0,0 --type f16 -o a.safetensors\n"
    "Straight into a check against the oracle\n"
    "attn make --seq-q 257 --dim 80 --softcap 30 -o - | attn check -";

const command make_command = {
    .name = "make",
    .summary = "write a random case file",
    .synopsis = "make --seq-q N -o FILE [OPTION...]",
    .about = about,
    .examples = examples,
    .operand = NULL,
    .operands_most = 0,
    .parts = parts,
    .args_size = sizeof(make_args),
    .init = init,
    .run = run,
};
