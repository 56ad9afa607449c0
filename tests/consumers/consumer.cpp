/* SPDX-License-Identifier: Apache-2.0 */
/* The same from C++, through an engine and a plan: weights 1/4 and 3/4, lse = ln(1 + 3). */
#include <attn/attn.h>

#include <cmath>
#include <cstdio>
#include <memory>

namespace {

struct engine_closer {
    void operator()(attn_engine *engine) const {
        attn_engine_close(engine);
    }
};
struct plan_destroyer {
    void operator()(attn_plan *plan) const {
        attn_plan_destroy(plan);
    }
};

bool near(float got, double wanted) {
    return std::fabs(got - wanted) < 1e-5;
}

bool planned(attn_reason *reason) {
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    options.threads = 2;
    attn_engine *opened = nullptr;
    if (attn_engine_open(&options, &opened, reason) != ATTN_OK) return false;
    std::unique_ptr<attn_engine, engine_closer> engine(opened);

    attn_problem problem = ATTN_PROBLEM_INIT;
    problem.heads_q = 1;
    problem.seq_q = 1;
    problem.seq_kv = 2;
    problem.dim = 1;
    problem.with = ATTN_WITH_LSE;
    attn_plan *made = nullptr;
    if (attn_plan_create(engine.get(), &problem, 0, &made, reason) != ATTN_OK) return false;
    std::unique_ptr<attn_plan, plan_destroyer> plan(made);

    const float q = 1, k[2] = {0, std::log(3.0f)}, v[2] = {0, 4};
    float o = -1, lse = -1;
    attn_tensors tensors = ATTN_TENSORS_INIT;
    tensors.q = &q;
    tensors.k = k;
    tensors.v = v;
    tensors.o = &o;
    tensors.lse = &lse;
    return attn_run(plan.get(), &tensors, reason) == ATTN_OK && near(o, 3) && near(lse, std::log(4.0));
}

} // namespace

int main() {
    attn_reason reason = {};
    if (!planned(&reason)) {
        std::fprintf(stderr, "attn %s: a wrong result or an error: %s\n", attn_version_string(), reason.text);
        return 1;
    }
    std::printf("attn %s: right\n", attn_version_string());
    return 0;
}
