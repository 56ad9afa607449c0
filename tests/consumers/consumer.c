/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside this project: uses the installed header and library, and checks a result known on paper. */
#include <attn/attn.h>

#include <math.h>
#include <stdio.h>

#define LN3 1.0986122886681098f

static int near(float got, float wanted) {
    return fabsf(got - wanted) < 1e-5f;
}

/* Scores of row 0 are 0 and ln 3, so that its weights are 1/4 and 3/4; those of row 1 are equal. */
static int one_call(void) {
    const float q[2] = {1, 0}, k[2] = {0, LN3}, v[2] = {0, 4};
    float o[2] = {-1, -1}, causal[2] = {-1, -1};
    if (attn_sdpa_f32(1, 1, 2, 1, 0, q, k, v, o) != ATTN_OK || attn_sdpa_f32(1, 1, 2, 1, 1, q, k, v, causal) != ATTN_OK)
        return 0;
    return near(o[0], 3) && near(o[1], 2) && near(causal[0], 0) && near(causal[1], 2);
}

static int refusal_has_a_reason(void) {
    attn_problem problem = ATTN_PROBLEM_INIT;
    attn_reason reason;
    problem.heads_q = 3;
    problem.heads_kv = 2;
    problem.dim = 1;
    return attn_problem_complete(&problem, NULL, &reason) == ATTN_ERROR_SHAPE && reason.text[0] != '\0';
}

int main(void) {
    const int version = ATTN_VERSION_MAJOR * 10000 + ATTN_VERSION_MINOR * 100 + ATTN_VERSION_PATCH;
    if (attn_version() != version || !one_call() || !refusal_has_a_reason()) {
        fprintf(stderr, "attn %s: a wrong result\n", attn_version_string());
        return 1;
    }
    printf("attn %s: right\n", attn_version_string());
    return 0;
}
