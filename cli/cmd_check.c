/* SPDX-License-Identifier: Apache-2.0 */
/* attn check: runs cases and compares them with their expected results, or else with the oracle. */
#include "case.h"
#include "check_report.h"
#include "command.h"
#include "compute.h"
#include "engine_choice.h"
#include "files.h"
#include "message.h"
#include "problem_input.h"
#include <limits.h>
#include <stdio.h>

typedef struct check_args {
    int quiet, json;
    case_options options; /* only its tolerances are used */
    engine_choice engine;
} check_args;

static const option check_options[] = {
    {"quiet", 'q', NULL, NULL, offsetof(check_args, quiet), "print only misses and the closing line"},
    {"json", 0, NULL, NULL, offsetof(check_args, json), "print one JSON document instead of lines"},
    {0},
};
static const option_table check_table = {"Report", check_options};

static const option_part parts[] = {
    {&engine_table, offsetof(check_args, engine)},
    {&every_cpu_table, offsetof(check_args, engine)},
    {&threads_table, offsetof(check_args, engine)},
    {&tolerance_table, offsetof(check_args, options)},
    {&check_table, 0},
    {NULL, 0},
};

static void init(void *memory) {
    check_args *args = memory;
    make_case_options usual;
    make_case_options_init(&usual);
    args->options = usual.options;
    engine_choice_init(&args->engine);
}

/* ----------------------------------------------------------------------------------------------------------- checks */

/* The engines that every case runs on, opened once. */
typedef struct check_engines {
    attn_engine *engines[ENGINE_CHOICES_MOST];
    int count;
} check_engines;

static int open_engines(const engine_choice *choice, check_engines *opened) {
    engine_choice choices[ENGINE_CHOICES_MOST];
    int count = engine_choice_expand(choice, choices);
    opened->count = 0;
    for (int i = 0; i < count; i++) {
        if (engine_choice_open(&choices[i], &opened->engines[i]) != EXIT_FINE) return EXIT_WRONG;
        opened->count++;
    }
    return EXIT_FINE;
}

static void close_engines(check_engines *opened) {
    for (int i = 0; i < opened->count; i++) attn_engine_close(opened->engines[i]);
}

/* A case and what its results are compared with. */
typedef struct check_subject {
    const char *path;
    case_file c;
    case_outputs reference; /* of the oracle; empty if the file has expected results */
    case_tensor expected[CASE_SLOTS];
    int from_file;
} check_subject;

static case_status find_expected(check_subject *s, case_error *error) {
    s->from_file = s->c.tensors[CASE_O].type != ATTN_TYPE_DEFAULT || s->c.tensors[CASE_LSE].type != ATTN_TYPE_DEFAULT;
    if (s->from_file) {
        s->expected[CASE_O] = s->c.tensors[CASE_O];
        s->expected[CASE_LSE] = s->c.tensors[CASE_LSE];
        return CASE_OK;
    }
    case_status status = compute_reference(&s->c, &s->reference, error);
    s->expected[CASE_O] = s->reference.o;
    s->expected[CASE_LSE] = s->reference.lse;
    return status;
}

static const case_slot compared_slots[] = {CASE_O, CASE_LSE};
enum { COMPARED_SLOTS = sizeof compared_slots / sizeof *compared_slots };

static case_status compare_all(const check_subject *s, const case_outputs *got, check_result *r, case_error *error) {
    const case_tensor *results[CASE_SLOTS] = {0};
    results[CASE_O] = &got->o;
    results[CASE_LSE] = &got->lse;
    for (int i = 0; i < COMPARED_SLOTS; i++) {
        case_slot slot = compared_slots[i];
        if (s->expected[slot].type == ATTN_TYPE_DEFAULT) continue;
        case_status status = case_compare(&s->c, slot, results[slot], &s->expected[slot], &r->verdict[slot], error);
        if (status != CASE_OK) return status;
        r->has[slot] = 1;
    }
    return CASE_OK;
}

/* Runs and compares a case on one engine. */
static case_status check_on(const check_subject *s, attn_engine *engine, check_result *r, case_error *error) {
    case_outputs got;
    attn_problem problem = s->c.problem;
    if (s->expected[CASE_LSE].type != ATTN_TYPE_DEFAULT) problem.with |= ATTN_WITH_LSE;
    case_status status = compute(engine, &s->c, &problem, &got, NULL, error);
    if (status == CASE_ERROR_UNSUPPORTED) {
        r->refusal = error->text;
        status = CASE_OK;
    } else if (status == CASE_OK) {
        status = compare_all(s, &got, r, error);
    }
    case_outputs_free(&got);
    return status;
}

static void check_subject_on_all(const check_subject *s, const check_engines *engines, check_report *to) {
    for (int i = 0; i < engines->count; i++) {
        case_error error;
        check_result r = {0};
        r.path = s->path;
        r.engine = engine_label(engines->engines[i]);
        r.reference = s->from_file ? "file" : "oracle";
        if (check_on(s, engines->engines[i], &r, &error) == CASE_OK) {
            check_report_add(to, &r);
        } else {
            case_fail_in(&error, CASE_ERROR_CONTENT, s->path);
            check_report_unreadable(to, s->path, error.text);
        }
    }
}

static void set_tolerance(case_file *c, const case_options *given) {
    if (given->atol >= 0) c->options.atol = given->atol;
    if (given->rtol >= 0) c->options.rtol = given->rtol;
}

static void check_file(const char *path, const case_options *given, const check_engines *engines, check_report *to) {
    case_error error;
    check_subject s = {0};
    s.path = path;
    case_status status = case_read(path, &s.c, &error);
    if (status == CASE_OK) {
        set_tolerance(&s.c, given);
        status = find_expected(&s, &error);
        if (status != CASE_OK) case_fail_in(&error, status, path);
    }
    if (status == CASE_OK) {
        check_subject_on_all(&s, engines, to);
    } else {
        check_report_unreadable(to, path, error.text);
    }
    case_outputs_free(&s.reference);
    case_free(&s.c);
}

static int check_files(const check_args *args, const file_list *files, const check_engines *engines) {
    check_report to = check_report_open(args->quiet, args->json, (int)files->count);
    for (size_t i = 0; i < files->count && !ferror(stdout); i++) {
        check_file(files->paths[i], &args->options, engines, &to);
        progress_set(to.bar, (int)i + 1);
    }
    return check_report_close(&to);
}

static int run(const void *memory, int count, char **operands) {
    const check_args *args = memory;
    file_list files = {NULL, 0, 0};
    check_engines engines;
    int listed = EXIT_FINE;
    if (count == 0) return complain("check: needs files or folders; 'attn check --help' shows how");
    for (int i = 0; i < count; i++) {
        if (files_add(&files, operands[i]) != EXIT_FINE) listed = EXIT_WRONG;
    }
    int status = open_engines(&args->engine, &engines);
    if (status == EXIT_FINE) status = check_files(args, &files, &engines);
    close_engines(&engines);
    files_free(&files);
    return listed != EXIT_FINE ? listed : status;
}

static const char about[] =
    "Runs cases and compares every element with the file's expected results (o, lse) or, where a file has none, "
    "with the oracle: the definition in float64. An element passes if "
    "|got - expected| <= atol + rtol * |expected|. Folders are searched for .safetensors files, folders in them "
    "included.\n"
    "A line a case: pass or FAIL, the file, what ran, and the element nearest to its limit or farthest beyond: "
    "batch entry, head, row, column. A file that cannot be read is reported and the rest goes on.\n"
    "Exit status: 0 all passed, 1 a case failed, 2 a file could not be read.";

static const char examples[] = "Every case below a folder, on what the engine picks here\n"
                               "attn check tests/cases\n"
                               "The same on every instruction set of this machine; show misses only\n"
                               "attn check --every-cpu --quiet tests/cases\n"
                               "A bug report's case against the oracle, with one thread\n"
                               "attn check --cpu portable --threads 1 report.safetensors\n"
                               "The worst case of a folder\n"
                               "attn check --json tests/cases | jq '.cases | max_by(.o.max_error) | .file'";

const command check_command = {
    .name = "check",
    .summary = "run cases and compare with expected results",
    .synopsis = "check FILE|FOLDER... [OPTION...]",
    .about = about,
    .examples = examples,
    .operand = "files",
    .operands_most = INT_MAX,
    .parts = parts,
    .args_size = sizeof(check_args),
    .init = init,
    .run = run,
};
