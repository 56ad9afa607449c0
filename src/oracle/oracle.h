/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of attention in float64, one row at a time: slow, plain, and what every other engine is held against. */
#ifndef ATTN_ORACLE_ORACLE_H
#define ATTN_ORACLE_ORACLE_H

#include "attn/attn.h"

/* Doubles of workspace that attn_oracle_forward needs: a row each of q, k or v, scores and o. 0 if they overflow
 * size_t. */
size_t attn_oracle_workspace(const attn_problem *completed);

/* The tensors have to be checked. */
void attn_oracle_forward(const attn_problem *completed, const attn_tensors *tensors, double *workspace);

#endif
