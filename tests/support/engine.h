/* SPDX-License-Identifier: Apache-2.0 */
/* Engines for tests, and runs that have to succeed: any failure ends the process with its reason. */
#ifndef TEST_SUPPORT_ENGINE_H
#define TEST_SUPPORT_ENGINE_H

#include "output.h"
#include "random_problem.h"

attn_engine *test_engine_open(attn_engine_kind kind, uint32_t cpu_mask, int threads);

/* The instruction sets of this machine one after another: `for (cpu = test_next_cpu(0); cpu; cpu =
 * test_next_cpu(cpu))`. */
uint32_t test_next_cpu(uint32_t cpu);

/* The outputs of a problem and its tensors, which bring all but o and lse. */
test_output test_run_problem(attn_engine *engine, const attn_problem *problem, const attn_tensors *tensors);
/* The same of a whole case. */
test_output test_run_case(attn_engine *engine, const test_case *source);

#endif
