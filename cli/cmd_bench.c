/* SPDX-License-Identifier: Apache-2.0 */
/* attn bench: how fast problems run, beside what the machine can do. */
#include "bench_row.h"
#include "command.h"
#include "engine_choice.h"
#include "message.h"
#include "problem_input.h"
#include "progress.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { THREAD_COUNTS_MOST = 16 };

typedef struct thread_list {
    int64_t values[THREAD_COUNTS_MOST];
    int count;
} thread_list;

typedef struct bench_args {
    make_case_options shapes;
    engine_choice engine;
    thread_list threads;
    bench_effort effort;
    int json;
} bench_args;

static const char *read_thread_list(const option *self, const char *text, void *field) {
    thread_list *list = field;
    list->count = 0;
    while (list->count < THREAD_COUNTS_MOST) {
        char word[8] = "";
        size_t length = strcspn(text, ",");
        if (length < sizeof word) memcpy(word, text, length);
        const char *takes = read_thread_count(self, word, &list->values[list->count++]);
        if (takes != NULL) return "whole numbers from 0 to 1024, as in 1,2";
        if (text[length] == '\0') return NULL;
        text += length + 1;
    }
    return "16 numbers of threads at most";
}

static const option bench_options[] = {
    {"threads", 't', "N[,...]", read_thread_list, offsetof(bench_args, threads),
     "threads, one measurement each (default 0: one a processor)"},
    {"repeat", 'r', "N", read_count, offsetof(bench_args, effort.repeat),
     "counted runs (default 0: as many as fit in a second, but 3 at least)"},
    {"warm-up", 0, "N", read_count, offsetof(bench_args, effort.warm_up), "runs before those (default 1)"},
    {"no-peak", 0, NULL, NULL, offsetof(bench_args, effort.no_peak),
     "do not measure the machine, which takes a moment and 192 MiB"},
    {"json", 0, NULL, NULL, offsetof(bench_args, json), "print one JSON document instead of a table"},
    {0},
};
static const option_table bench_table = {"Measurement", bench_options};

static const option_part parts[] = {
    {&bench_table, 0},
    {&shape_table, offsetof(bench_args, shapes)},
    {&semantics_table, offsetof(bench_args, shapes.options)},
    {&feature_table, offsetof(bench_args, shapes)},
    {&seed_table, offsetof(bench_args, shapes)},
    {&engine_table, offsetof(bench_args, engine)},
    {&every_cpu_table, offsetof(bench_args, engine)},
    {NULL, 0},
};

static void init(void *memory) {
    bench_args *args = memory;
    problem_options_init(&args->shapes);
    engine_choice_init(&args->engine);
    args->threads.count = 1;
    args->effort.warm_up = 1;
}

/* ---------------------------------------------------------------------------------------------------------- measure */

typedef struct bench {
    const bench_args *args;
    engine_choice choices[ENGINE_CHOICES_MOST];
    int choice_count;
    cJSON *results; /* NULL without --json */
    progress *bar;
    int done;
} bench;

static int measure_on(bench *b, const engine_choice *choice, const case_file *c, const case_outputs *outputs,
                      const char *title) {
    attn_engine *engine = NULL;
    bench_row row;
    case_error error;
    if (engine_choice_open(choice, &engine) != EXIT_FINE) return EXIT_WRONG;
    case_status status = bench_measure(engine, c, outputs, &b->args->effort, &row, &error);
    progress_pause(b->bar);
    if (status != CASE_OK) {
        complain("bench: %s", error.text);
    } else if (b->results != NULL) {
        cJSON_AddItemToArray(b->results, bench_json(&c->problem, title, &row));
    } else {
        bench_print_row(&row);
    }
    progress_resume(b->bar);
    attn_engine_close(engine);
    return status == CASE_OK ? EXIT_FINE : EXIT_WRONG;
}

/* Every instruction set with every number of threads. */
static int measure_rows(bench *b, const case_file *c, const case_outputs *outputs, const char *title) {
    for (int i = 0; i < b->choice_count; i++) {
        for (int t = 0; t < b->args->threads.count; t++) {
            engine_choice choice = b->choices[i];
            choice.threads = b->args->threads.values[t];
            int status = measure_on(b, &choice, c, outputs, title);
            if (status != EXIT_FINE) return status;
            progress_set(b->bar, ++b->done);
        }
    }
    return EXIT_FINE;
}

static int measure_case(bench *b, const case_file *c, const char *title) {
    case_outputs outputs;
    case_error error;
    int status = EXIT_FINE;
    if (case_outputs_make(c, &c->problem, &outputs, &error) != CASE_OK) status = complain("bench: %s", error.text);
    if (status == EXIT_FINE && b->results == NULL) {
        progress_pause(b->bar);
        bench_print_problem(&c->problem, title);
        progress_resume(b->bar);
    }
    if (status == EXIT_FINE) status = measure_rows(b, c, &outputs, title);
    case_outputs_free(&outputs);
    return status;
}

static int measure_shapes(bench *b, const make_case_options *shapes, const char *title) {
    case_file c;
    int status = input_make(shapes, &c);
    if (status == EXIT_FINE) status = measure_case(b, &c, title);
    case_free(&c);
    return status;
}

static int measure_file(bench *b, const char *path) {
    case_file c;
    int status = input_read(path, &b->args->shapes.options, &c);
    if (status == EXIT_FINE) status = measure_case(b, &c, path);
    case_free(&c);
    return status;
}

static int measure_presets(bench *b) {
    int status = EXIT_FINE;
    for (const preset *p = presets; p->name != NULL && status == EXIT_FINE; p++) {
        make_case_options shapes = b->args->shapes;
        preset_apply(p, &shapes);
        status = measure_shapes(b, &shapes, p->name);
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- run */

static int count_presets(void) {
    int count = 0;
    while (presets[count].name != NULL) count++;
    return count;
}

static int measure_all(bench *b, int count, char **files) {
    int subjects = count > 0 ? count : shapes_given(&b->args->shapes) ? 1 : count_presets();
    int status = EXIT_FINE;
    b->bar = progress_start("measuring", subjects * b->choice_count * b->args->threads.count);
    for (int i = 0; i < count && status == EXIT_FINE; i++) status = measure_file(b, files[i]);
    if (count == 0 && shapes_given(&b->args->shapes)) status = measure_shapes(b, &b->args->shapes, "");
    if (count == 0 && !shapes_given(&b->args->shapes)) status = measure_presets(b);
    progress_end(b->bar);
    return status;
}

static int print_results(cJSON *results) {
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "attn", attn_version_string());
    cJSON_AddItemToObject(document, "results", results);
    return json_print(document);
}

static int run(const void *memory, int count, char **operands) {
    bench b = {.args = memory};
    if (count > 0 && shapes_given(&b.args->shapes)) return complain("bench: shapes or case files, not both");
    b.choice_count = engine_choice_expand(&b.args->engine, b.choices);
    if (b.args->json) b.results = cJSON_CreateArray();
    int status = measure_all(&b, count, operands);
    if (b.results == NULL) return status;
    int printed = print_results(b.results);
    return status != EXIT_FINE ? status : printed;
}

static const char synopsis[] = "bench [CASE...] [OPTION...]\n"
                               "bench --preset A|B|C|decode [OPTION...]\n"
                               "bench --seq-q N [--heads N] [--dim N] [OPTION...]";

static const char about[] =
    "Measures problems: random data of the given shapes, or case files; without either, all presets. Times are of "
    "whole calls with a plan that is made before; the table gives their median, least and greatest.\n"
    "GFLOP/s counts 2 (D + Dv) operations for each pair of a row and a key inside the window; GB/s counts every "
    "tensor once. \"Of peak\" and \"of read\" compare with the fused multiply-adds and the memory reads that the "
    "same engine with the same threads reached just before, in the same run.";

static const char examples[] = "All presets with one thread and with two\n"
                               "attn bench --threads 1,2\n"
                               "A causal problem of your own\n"
                               "attn bench --heads 32 --kv-heads 8 --seq-q 2048 --dim 128 --causal\n"
                               "Instruction sets side by side\n"
                               "attn bench --preset B --every-cpu\n"
                               "The problem of a case file, 20 times, as JSON\n"
                               "attn bench case.safetensors --repeat 20 --json";

const command bench_command = {
    .name = "bench",
    .summary = "measure how fast problems run",
    .synopsis = synopsis,
    .about = about,
    .examples = examples,
    .operand = "case files",
    .operands_most = INT_MAX,
    .parts = parts,
    .args_size = sizeof(bench_args),
    .init = init,
    .run = run,
};
