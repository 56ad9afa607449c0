/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine kind provides. attn.c checks, completes and hands over to one of these; no backend knows another.
 *
 *     entry point (attn.c) -> problem/ -> backend: plan -> backend: run
 */
#ifndef ATTN_BACKEND_H
#define ATTN_BACKEND_H

#include "attn/attn.h"
#include "base/memory.h"

typedef struct attn_backend attn_backend;

struct attn_engine {
    const attn_backend *backend;
    attn_memory memory;
    attn_engine_info info; /* filled in by the backend's open */
    void *state;           /* the backend's own */
};

struct attn_plan {
    attn_engine *engine;
    attn_problem problem;     /* completed */
    const char *kernel;       /* name of the kernel, static storage or in state; set by the backend's plan */
    size_t workspace_bytes;   /* set by the backend's plan */
    void *workspace;          /* the plan's own, or NULL when each run brings one */
    struct attn_turns *turns; /* runs that share `workspace` take turns */
    void *state;              /* the backend's own */
};

struct attn_backend {
    const char *name;
    attn_status (*open)(attn_engine *engine, const attn_engine_options *options, attn_reason *reason);
    void (*close)(attn_engine *engine); /* also after an open that failed half-way; state may be NULL */
    /* ATTN_OK if there is a kernel for the completed problem. */
    attn_status (*supports)(const attn_engine *engine, const attn_problem *completed, attn_reason *reason);
    /* plan->engine and plan->problem are set. */
    attn_status (*plan)(attn_plan *plan, attn_reason *reason);
    void (*unplan)(attn_plan *plan); /* also after a plan that failed half-way; state may be NULL */
    size_t (*explain)(const attn_plan *plan, char *text, size_t size); /* as attn_plan_explain */
    /* The tensors are checked; workspace has workspace_bytes, aligned to ATTN_ALIGNMENT. Cannot fail but for the
     * device. */
    attn_status (*run)(const attn_plan *plan, const attn_tensors *tensors, void *workspace, attn_reason *reason);
    attn_status (*measure)(attn_engine *engine, attn_engine_speed *speed, attn_reason *reason); /* NULL: unsupported */
};

extern const attn_backend attn_cpu_backend;    /* cpu/engine.c */
extern const attn_backend attn_oracle_backend; /* oracle/engine.c */

#endif
