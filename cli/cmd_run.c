/* SPDX-License-Identifier: Apache-2.0 */
/* attn run: computes one problem, from a case file or from arrays, and writes the result. */
#define _XOPEN_SOURCE 700
#include "case.h"
#include "command.h"
#include "compute.h"
#include "describe.h"
#include "engine_choice.h"
#include "json.h"
#include "message.h"
#include "npy.h"
#include "problem_input.h"
#include "progress.h"
#include "streams.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

typedef enum run_format { FORMAT_NPY, FORMAT_SAFETENSORS, FORMAT_BY_NAME } run_format;

typedef struct run_args {
    const char *arrays[CASE_SLOTS]; /* paths of .npy files, NULL where there is none */
    const char *output, *lse;       /* paths, or NULL */
    int format;                     /* run_format */
    int layout;                     /* case_layout */
    int o_f32;
    int json;
    case_options options;
    engine_choice engine;
} run_args;

#define ARRAY(slot) (offsetof(run_args, arrays) + (slot) * sizeof(const char *))

static const option array_options[] = {
    {"q", 'q', "FILE", read_text, ARRAY(CASE_Q), "queries, [batch, head, row, column] or without the batch"},
    {"k", 'k', "FILE", read_text, ARRAY(CASE_K), "keys"},
    {"v", 'v', "FILE", read_text, ARRAY(CASE_V), "values"},
    {"bias", 0, "FILE", read_text, ARRAY(CASE_BIAS), "added to the scores; dimensions of 1 are broadcast"},
    {"mask", 0, "FILE", read_text, ARRAY(CASE_MASK), "bool or u1, nonzero: may be seen"},
    {"alibi", 0, "FILE", read_text, ARRAY(CASE_ALIBI_SLOPES), "ALiBi slopes, one a query head"},
    {"sinks", 0, "FILE", read_text, ARRAY(CASE_SINKS), "sink logits, one a query head"},
    {"q-lens", 0, "FILE", read_text, ARRAY(CASE_Q_LENS), "rows in use of each batch entry"},
    {"kv-lens", 0, "FILE", read_text, ARRAY(CASE_KV_LENS), "keys in use of each batch entry"},
    {"cu-seqlens-q", 0, "FILE", read_text, ARRAY(CASE_CU_SEQLENS_Q), "first rows of packed sequences (--layout thd)"},
    {"cu-seqlens-kv", 0, "FILE", read_text, ARRAY(CASE_CU_SEQLENS_KV), "first keys of packed sequences"},
    {"q-offsets", 0, "FILE", read_text, ARRAY(CASE_Q_OFFSETS), "position of row 0, one a batch entry"},
    {"layout", 0, "bhsd|bshd|thd", read_choice, offsetof(run_args, layout),
     "how the arrays lie: [batch, head, row, column], [batch, row, head, column], or packed [row, head, column]"},
    {0},
};
static const option_table array_table = {"Arrays (.npy; one of them may be -, standard input)", array_options};

static const option output_options[] = {
    {"output", 'o', "FILE", read_text, offsetof(run_args, output),
     "where o goes: .npy, or .safetensors for the whole case with o and lse as its expected results; - is standard "
     "output, in the kind of the input"},
    {"lse", 0, "FILE", read_text, offsetof(run_args, lse), "where the log-sum-exp of each row goes (.npy)"},
    {"format", 0, "npy|safetensors", read_choice, offsetof(run_args, format), "kind of --output, whatever its name"},
    {"o-f32", 0, NULL, NULL, offsetof(run_args, o_f32), "o in f32 beside f16 or bf16 inputs"},
    {"json", 0, NULL, NULL, offsetof(run_args, json), "print a summary as JSON"},
    {0},
};
static const option_table output_table = {"Results", output_options};

static const option_part parts[] = {
    {&array_table, 0},
    {&output_table, 0},
    {&semantics_table, offsetof(run_args, options)},
    {&engine_table, offsetof(run_args, engine)},
    {&threads_table, offsetof(run_args, engine)},
    {NULL, 0},
};

static void init(void *memory) {
    run_args *args = memory;
    make_case_options usual;
    make_case_options_init(&usual);
    args->options = usual.options;
    args->format = FORMAT_BY_NAME;
    engine_choice_init(&args->engine);
}

/* ------------------------------------------------------------------------------------------------------------ input */

static int count_arrays(const run_args *args) {
    int count = 0;
    for (int slot = 0; slot < CASE_SLOTS; slot++) count += args->arrays[slot] != NULL;
    return count;
}

static int count_standard_inputs(const run_args *args) {
    int count = 0;
    for (int slot = 0; slot < CASE_SLOTS; slot++)
        count += args->arrays[slot] != NULL && strcmp(args->arrays[slot], "-") == 0;
    return count;
}

static int read_arrays(const run_args *args, case_file *c) {
    case_error error;
    case_init(c);
    c->layout = (case_layout)args->layout;
    c->options = args->options;
    for (int slot = 0; slot < CASE_SLOTS; slot++) {
        if (args->arrays[slot] == NULL) continue;
        case_status status = case_add_npy(c, case_slot_name((case_slot)slot), args->arrays[slot], &error);
        if (status != CASE_OK) return complain("%s", error.text);
    }
    return case_finish(c, &error) == CASE_OK ? EXIT_FINE : complain("%s", error.text);
}

static int read_input(const run_args *args, const char *path, case_file *c) {
    case_init(c);
    if (path != NULL && count_arrays(args) > 0) return complain("run: a case file or arrays, not both");
    if (path != NULL) return input_read(path, &args->options, c);
    if (args->arrays[CASE_Q] == NULL || args->arrays[CASE_K] == NULL || args->arrays[CASE_V] == NULL) {
        return complain("run: needs a case file, or --q, --k and --v; 'attn run --help' shows how");
    }
    if (count_standard_inputs(args) > 1) return complain("run: only one array can come from standard input");
    return read_arrays(args, c);
}

/* ----------------------------------------------------------------------------------------------------------- output */

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* FORMAT_BY_NAME if the name says nothing. */
static run_format output_format(const run_args *args) {
    if (args->format != FORMAT_BY_NAME) return (run_format)args->format;
    if (strcmp(args->output, "-") == 0) return count_arrays(args) > 0 ? FORMAT_NPY : FORMAT_SAFETENSORS;
    if (ends_with(args->output, ".npy")) return FORMAT_NPY;
    return ends_with(args->output, ".safetensors") ? FORMAT_SAFETENSORS : FORMAT_BY_NAME;
}

static int goes_to_stdout(const char *path) {
    return path != NULL && strcmp(path, "-") == 0;
}

/* What can be said against the outputs before anything is computed. */
static int check_outputs(const run_args *args) {
    int binary = goes_to_stdout(args->output) + goes_to_stdout(args->lse);
    if (binary + args->json > 1) return complain("run: only one thing can go to standard output");
    if (binary > 0 && streams_output_is_terminal()) return complain("run: no binary data to a terminal; use -o FILE");
    if (args->output != NULL && output_format(args) == FORMAT_BY_NAME) {
        return complain("run: '%s' ends neither in .npy nor in .safetensors; add --format", args->output);
    }
    return EXIT_FINE;
}

/* Arrays that came without a batch dimension give results without one. */
static case_tensor without_batch(const case_file *c, case_tensor tensor) {
    if (!c->unbatched || tensor.rank < 2) return tensor;
    memmove(tensor.shape, tensor.shape + 1, sizeof tensor.shape - sizeof *tensor.shape);
    tensor.rank--;
    return tensor;
}

static int write_npy(const case_file *c, const case_tensor *tensor, const char *path) {
    case_error error;
    case_tensor shown = without_batch(c, *tensor);
    return npy_write_path(path, &shown, &error) == CASE_OK ? EXIT_FINE : complain("%s", error.text);
}

static int write_outputs(const run_args *args, case_file *c, case_outputs *outputs) {
    case_error error;
    int status = EXIT_FINE;
    if (args->lse != NULL) status = write_npy(c, &outputs->lse, args->lse);
    if (status != EXIT_FINE || args->output == NULL) return status;
    if (output_format(args) == FORMAT_NPY) return write_npy(c, &outputs->o, args->output);
    case_expect(c, outputs);
    return case_write(c, args->output, &error) == CASE_OK ? EXIT_FINE : complain("%s", error.text);
}

/* Bytes of memory that this process held at most. */
static double peak_memory(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : 0;
}

static void add_shape(cJSON *document, const case_tensor *o) {
    cJSON *shape = cJSON_AddArrayToObject(document, "o_shape");
    for (int i = 0; i < o->rank; i++) cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)o->shape[i]));
}

static int print_json(const attn_engine *engine, const case_file *c, const case_tensor *o, const compute_facts *facts) {
    cJSON *document = cJSON_CreateObject();
    cJSON_AddItemToObject(document, "problem", json_problem(&c->problem));
    add_shape(document, o);
    cJSON_AddStringToObject(document, "cpu", engine_label(engine));
    cJSON_AddNumberToObject(document, "threads", engine_info(engine).threads);
    cJSON_AddStringToObject(document, "kernel", facts->kernel);
    cJSON_AddNumberToObject(document, "workspace_bytes", (double)facts->workspace_bytes);
    json_add_number(document, "seconds", facts->seconds);
    cJSON_AddNumberToObject(document, "peak_memory_bytes", peak_memory());
    return json_print(document);
}

static int print_summary(const attn_engine *engine, const case_file *c, const case_tensor *o,
                         const compute_facts *facts) {
    char text[256];
    describe_problem(&c->problem, text, sizeof text);
    printf("problem  %s\n", text);
    printf("engine   %s, %d thread%s\n", engine_label(engine), engine_info(engine).threads,
           engine_info(engine).threads == 1 ? "" : "s");
    printf("kernel   %s\n", facts->kernel);
    printf("time     %.3f ms\n", 1e3 * facts->seconds);
    printf("memory   %.1f MiB at the peak, all tensors included\n", peak_memory() / (1 << 20));
    printf("o        %s [", attn_type_name(o->type));
    for (int i = 0; i < o->rank; i++) printf("%s%lld", i > 0 ? ", " : "", (long long)o->shape[i]);
    printf("]; -o FILE writes it\n");
    return EXIT_FINE;
}

/* -------------------------------------------------------------------------------------------------------------- run */

static attn_problem wanted_problem(const run_args *args, const case_file *c) {
    attn_problem problem = c->problem;
    int whole_case = args->output != NULL && output_format(args) == FORMAT_SAFETENSORS;
    if (args->lse != NULL || whole_case) problem.with |= ATTN_WITH_LSE;
    if (args->o_f32) problem.o_type = ATTN_F32;
    return problem;
}

static int run_on(const run_args *args, attn_engine *engine, case_file *c, case_outputs *outputs) {
    case_error error;
    compute_facts facts;
    attn_problem problem = wanted_problem(args, c);
    progress *bar = progress_start("running", 0);
    case_status computed = compute(engine, c, &problem, outputs, &facts, &error);
    progress_end(bar);
    if (computed != CASE_OK) return complain("run: %s", error.text);
    case_tensor o = outputs->o;
    int status = write_outputs(args, c, outputs);
    if (status != EXIT_FINE) return status;
    if (args->json) return print_json(engine, c, &o, &facts);
    return args->output == NULL && args->lse == NULL ? print_summary(engine, c, &o, &facts) : EXIT_FINE;
}

static int run_case(const run_args *args, case_file *c) {
    attn_engine *engine = NULL;
    case_outputs outputs = {0};
    int status = engine_choice_open(&args->engine, &engine);
    if (status == EXIT_FINE) status = run_on(args, engine, c, &outputs);
    case_outputs_free(&outputs);
    attn_engine_close(engine);
    return status;
}

static int run(const void *memory, int count, char **operands) {
    const run_args *args = memory;
    case_file c;
    int status = check_outputs(args);
    if (status != EXIT_FINE) return status;
    status = read_input(args, count > 0 ? operands[0] : NULL, &c);
    if (status == EXIT_FINE) status = run_case(args, &c);
    case_free(&c);
    return status;
}

static const char synopsis[] = "run CASE [-o FILE] [OPTION...]\n"
                               "run --q FILE --k FILE --v FILE [-o FILE] [OPTION...]";

static const char about[] =
    "Computes one attention problem. The input is a case file (a .safetensors file with q, k, v and options; - is "
    "standard input) or three NumPy arrays. Options that say what is computed change those of a case file.\n"
    "Without -o, --lse and --json it prints what ran and how long that took.";

static const char examples[] = "Causal attention of three arrays\n"
                               "attn run --q q.npy --k k.npy --v v.npy --causal -o o.npy\n"
                               "The same, with arrays through pipes\n"
                               "make-queries | attn run --q - --k k.npy --v v.npy -o - | use-result\n"
                               "A case file, with the results stored in a copy of it\n"
                               "attn run case.safetensors -o with-results.safetensors\n"
                               "One decoding step: a row against keys of which 100 are in use\n"
                               "attn run --q q1.npy --k cache_k.npy --v cache_v.npy --kv-lens lens.npy -o o.npy";

const command run_command = {
    .name = "run",
    .summary = "compute attention of a case file or of .npy arrays",
    .synopsis = synopsis,
    .about = about,
    .examples = examples,
    .operand = "case file",
    .operands_most = 1,
    .parts = parts,
    .args_size = sizeof(run_args),
    .init = init,
    .run = run,
};
