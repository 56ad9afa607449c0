/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a case file. What is refused is refused with a reason; what is read can be written, and reads again as
 * the same; and whatever it says about lengths, runs within its memory.
 */
#define _POSIX_C_SOURCE 200809L
#include "cli/case.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

/* Bounds on what is run: a fuzzer wants many small inputs a second. */
#define RUN_WORK   2e6
#define RUN_OUTPUT 1e5

static attn_engine *engines[2];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const attn_engine_kind kinds[2] = {ATTN_ENGINE_CPU, ATTN_ENGINE_ORACLE};
    for (int n = 0; n < 2; n++) {
        attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
        options.kind = kinds[n];
        options.threads = 1;
        FUZZ_REQUIRE(attn_engine_open(&options, &engines[n], NULL) == ATTN_OK);
    }
    return 0;
}

static int is_small(const attn_problem *p) {
    const double rows = (double)p->batch * (double)p->heads_q * (double)p->seq_q;
    const double columns = (double)(p->dim + p->dim_v);
    const double sequences = (double)p->batch * (double)p->heads_q;
    return rows * (1 + (double)p->seq_kv) * columns < RUN_WORK && rows * columns < RUN_OUTPUT && sequences < RUN_OUTPUT;
}

static void run(const case_file *c, attn_engine *engine) {
    attn_plan *plan;
    attn_problem problem = c->problem;
    case_outputs outputs;
    case_verdict verdict;
    problem.with |= ATTN_WITH_LSE;
    FUZZ_REQUIRE(case_outputs_make(c, &problem, &outputs, NULL) == CASE_OK);
    if (attn_plan_create(engine, &problem, 0, &plan, NULL) == ATTN_OK) {
        const attn_tensors tensors = case_tensors(c, &outputs);
        attn_reason reason;
        attn_status status = attn_run(plan, &tensors, &reason);
        FUZZ_REQUIRE(status == ATTN_OK || reason.text[0] != '\0');
        FUZZ_REQUIRE(case_compare(c, CASE_O, &outputs.o, &outputs.o, &verdict, NULL) == CASE_OK && verdict.pass);
        if (c->tensors[CASE_O].type != ATTN_TYPE_DEFAULT)
            (void)case_compare(c, CASE_O, &outputs.o, &c->tensors[CASE_O], &verdict, NULL);
    }
    attn_plan_destroy(plan);
    case_outputs_free(&outputs);
}

/* The bytes that case_write makes. */
static char *written(const case_file *c, size_t *size) {
    char *bytes = NULL;
    FILE *stream = open_memstream(&bytes, size);
    FUZZ_REQUIRE(stream != NULL);
    FUZZ_REQUIRE(case_write_stream(c, stream, "memory", NULL) == CASE_OK);
    FUZZ_REQUIRE(fclose(stream) == 0);
    return bytes;
}

static void round_trip(const case_file *c) {
    case_file again;
    case_error error;
    size_t size, size_again;
    char *bytes = written(c, &size);
    FUZZ_REQUIRE(case_read_memory(bytes, size, "memory", &again, &error) == CASE_OK);
    char *bytes_again = written(&again, &size_again);
    FUZZ_REQUIRE(size == size_again && memcmp(bytes, bytes_again, size) == 0);
    case_free(&again);
    free(bytes);
    free(bytes_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    case_file c;
    case_error error;
    case_status status = case_read_memory(data, size, "input", &c, &error);
    FUZZ_REQUIRE((status == CASE_OK) == (error.text[0] == '\0'));
    if (status == CASE_OK) {
        round_trip(&c);
        for (int n = 0; n < 2 && is_small(&c.problem); n++) run(&c, engines[n]);
    }
    case_free(&c);
    return 0;
}
