/* SPDX-License-Identifier: Apache-2.0 */
/* Problems from options: shapes, what is computed, what random cases have beside q, k and v. */
#ifndef PROBLEM_CHOICE_H
#define PROBLEM_CHOICE_H

#include "make_case.h"
#include "options.h"

extern const option_table shape_table;     /* of make_case_options: --preset, --batch, --heads, ... */
extern const option_table feature_table;   /* of make_case_options: --bias, --mask, --alibi, ... */
extern const option_table seed_table;      /* of make_case_options: --seed */
extern const option_table semantics_table; /* of case_options: --causal, --scale, --softcap, windows, dropout */
extern const option_table tolerance_table; /* of case_options: --atol, --rtol */

/* Named shapes. */
typedef struct preset {
    const char *name;
    int64_t heads_q, heads_kv, seq_q, seq_kv, dim;
} preset;
extern const preset presets[]; /* ends with a NULL name */
void preset_apply(const preset *chosen, make_case_options *options);

/* The defaults; rows are not given yet. */
void problem_options_init(make_case_options *options);

/* Whether --seq-q or --preset were given. */
int shapes_given(const make_case_options *options);

/* The problem that make_case would make, without its data. */
void problem_of_shapes(const make_case_options *options, attn_problem *problem);

#endif
