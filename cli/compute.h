/* SPDX-License-Identifier: Apache-2.0 */
/* One case, one engine, one run. */
#ifndef COMPUTE_H
#define COMPUTE_H

#include "case.h"

/* What is worth telling about a run. */
typedef struct compute_facts {
    char kernel[64];
    size_t workspace_bytes;
    double flops;
    double seconds; /* of the run alone */
} compute_facts;

/* Runs `problem` (c->problem, or a copy with other outputs) on the case's inputs into outputs that are made here; they
 * are to be freed after failure, too. facts may be NULL. An engine without a kernel for it: CASE_ERROR_UNSUPPORTED. */
case_status compute(attn_engine *engine, const case_file *c, const attn_problem *problem, case_outputs *outputs,
                    compute_facts *facts, case_error *error);

/* The same on the oracle, in f32 at least and with lse, as a reference. */
case_status compute_reference(const case_file *c, case_outputs *outputs, case_error *error);

/* Turns a refusal of the library into one of the case readers' kind. */
case_status case_fail_from(case_error *error, attn_status status, const attn_reason *reason);

#endif
