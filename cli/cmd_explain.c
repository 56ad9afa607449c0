/* SPDX-License-Identifier: Apache-2.0 */
/* attn explain: how the engine would compute a problem, in words. */
#include "command.h"
#include "describe.h"
#include "engine_choice.h"
#include "json.h"
#include "message.h"
#include "problem_input.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct explain_args {
    make_case_options shapes;
    engine_choice engine;
    int json;
} explain_args;

static const option explain_options[] = {
    {"json", 0, NULL, NULL, offsetof(explain_args, json), "print a JSON document"},
    {0},
};
static const option_table explain_table = {"Report", explain_options};

static const option_part parts[] = {
    {&shape_table, offsetof(explain_args, shapes)},
    {&semantics_table, offsetof(explain_args, shapes.options)},
    {&feature_table, offsetof(explain_args, shapes)},
    {&engine_table, offsetof(explain_args, engine)},
    {&threads_table, offsetof(explain_args, engine)},
    {&explain_table, 0},
    {NULL, 0},
};

static void init(void *memory) {
    explain_args *args = memory;
    problem_options_init(&args->shapes);
    engine_choice_init(&args->engine);
}

/* The plan's text in a block to be freed; NULL without memory. */
static char *plan_text(const attn_plan *plan) {
    size_t length = attn_plan_explain(plan, NULL, 0);
    char *text = malloc(length + 1);
    if (text != NULL) attn_plan_explain(plan, text, length + 1);
    return text;
}

static int print_text(const attn_problem *problem, const char *text) {
    char described[256];
    describe_problem(problem, described, sizeof described);
    printf("%s\n%s", described, text);
    if (text[0] != '\0' && text[strlen(text) - 1] != '\n') putchar('\n');
    return EXIT_FINE;
}

static int print_json(const attn_plan *plan, const attn_problem *problem, const char *text) {
    attn_plan_info info = ATTN_PLAN_INFO_INIT;
    attn_plan_get_info(plan, &info, NULL);
    cJSON *document = cJSON_CreateObject();
    cJSON_AddItemToObject(document, "problem", json_problem(problem));
    cJSON_AddStringToObject(document, "kernel", info.kernel);
    cJSON_AddNumberToObject(document, "workspace_bytes", (double)info.workspace_bytes);
    json_add_number(document, "flops", info.flops);
    json_add_number(document, "bytes", info.bytes);
    cJSON_AddStringToObject(document, "text", text);
    return json_print(document);
}

static int explain_plan(const explain_args *args, const attn_plan *plan, const attn_problem *problem) {
    char *text = plan_text(plan);
    if (text == NULL) return complain("out of memory");
    int status = args->json ? print_json(plan, problem, text) : print_text(problem, text);
    free(text);
    return status;
}

static int explain_problem(const explain_args *args, attn_problem *problem) {
    attn_engine *engine = NULL;
    attn_plan *plan = NULL;
    attn_reason reason;
    attn_status planned = attn_problem_complete(problem, problem, &reason);
    if (planned != ATTN_OK) return complain_status("explain", planned, &reason);
    if (engine_choice_open(&args->engine, &engine) != EXIT_FINE) return EXIT_WRONG;
    planned = attn_plan_create(engine, problem, 1, &plan, &reason);
    int status = planned == ATTN_OK ? explain_plan(args, plan, problem) : complain_status("explain", planned, &reason);
    attn_plan_destroy(plan);
    attn_engine_close(engine);
    return status;
}

static int run(const void *memory, int count, char **operands) {
    const explain_args *args = memory;
    attn_problem problem;
    if (count > 0 && shapes_given(&args->shapes)) return complain("explain: shapes or a case file, not both");
    if (count == 0 && !shapes_given(&args->shapes)) {
        return complain("explain: needs a case file, --preset or --seq-q; 'attn explain --help' shows how");
    }
    int status = input_problem(count > 0 ? operands[0] : NULL, &args->shapes, &problem);
    return status == EXIT_FINE ? explain_problem(args, &problem) : status;
}

static const char synopsis[] = "explain CASE [OPTION...]\n"
                               "explain --preset A|B|C|decode [OPTION...]\n"
                               "explain --seq-q N [--heads N] [--dim N] [OPTION...]";

static const char about[] = "Plans a problem and tells the plan in words: which kernel runs, in which tiles, how the "
                            "work is split over threads, and how much memory it takes beside the tensors. Nothing is "
                            "computed.";

static const char examples[] = "How is a long causal problem split?\n"
                               "attn explain --heads 8 --seq-q 65536 --dim 64 --causal\n"
                               "And one decoding step, with four threads?\n"
                               "attn explain --preset decode --threads 4\n"
                               "What would a case file do on portable C?\n"
                               "attn explain case.safetensors --cpu portable";

const command explain_command = {
    .name = "explain",
    .summary = "tell in words how a problem would be computed",
    .synopsis = synopsis,
    .about = about,
    .examples = examples,
    .operand = "case file",
    .operands_most = 1,
    .parts = parts,
    .args_size = sizeof(explain_args),
    .init = init,
    .run = run,
};
