/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward: deals items to threads. A sequence with many rows is cut into items of rows, one with few rows into splits
 * of keys, whose partial results are merged in order afterwards. What an item computes depends on neither threads nor
 * order.
 */
#include "base/half.h"
#include "cpu/cpu.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { TURNS = 4 }; /* of a thread, so that all finish together */

typedef struct attn_job {
    const attn_plan *plan;
    const attn_cpu_plan *cpu;
    const attn_tensors *tensors;
    char *workspace;
    int64_t groups; /* batch entries x key heads */
    int64_t parts;  /* items of a group, at most */
    int64_t splits; /* of a group whose sequence has few rows, at most */
    int64_t turn;   /* items that a thread takes at a time */
    int all_few;    /* no sequence has many rows */
    _Atomic int64_t next;
} attn_job;

static int64_t stacked_rows(const attn_cpu_plan *cpu, const attn_sequence *sequence) {
    return sequence->rows * cpu->group;
}

static int is_few(const attn_cpu_plan *cpu, const attn_sequence *sequence) {
    return stacked_rows(cpu, sequence) <= cpu->few_rows;
}

static attn_span span_of_sequence(const attn_plan *plan, const attn_sequence *sequence) {
    return attn_keys_of_any(&plan->problem, sequence, 0, sequence->rows);
}

/* Splits depend on the keys in use, so that a short one in a plan for long ones is cut just as finely as it should. */
static int64_t splits_of(const attn_cpu_plan *cpu, attn_span span) {
    const int64_t wanted = (span.end - span.begin) / ATTN_SPLIT_KEYS + 1;
    return wanted < cpu->max_splits ? wanted : cpu->max_splits;
}

static int64_t parts_of(const attn_plan *plan, const attn_sequence *sequence) {
    const attn_cpu_plan *cpu = plan->state;
    if (is_few(cpu, sequence)) return splits_of(cpu, span_of_sequence(plan, sequence));
    return (stacked_rows(cpu, sequence) + cpu->item_rows - 1) / cpu->item_rows;
}

static attn_scratch scratch_of(const attn_job *job, int worker) {
    const attn_scratch_layout *at = &job->cpu->scratch;
    char *base = job->workspace + (size_t)worker * at->size;
    return (attn_scratch){base + at->q,     base + at->o,       base + at->m,      base + at->l,
                          base + at->alpha, base + at->row_max, base + at->scores, base + at->k,
                          base + at->v,     base + at->rows,    base + at->clean};
}

static attn_item item_of_group(const attn_job *job, int64_t group, int worker) {
    const int64_t heads_kv = job->plan->problem.heads_kv;
    attn_item item = {.plan = job->plan, .cpu = job->cpu, .kernels = job->cpu->kernels, .tensors = job->tensors};
    item.b = group / heads_kv;
    item.head_kv = group % heads_kv;
    item.sequence = attn_sequence_of(&job->plan->problem, job->tensors, item.b);
    item.scratch = scratch_of(job, worker);
    return item;
}

/* --------------------------------------------------------------------------------------------------- splits of keys */

/* One split's results: o [few_rows][o_stride], then m and l [few_rows]; reals. */
static void *partial_of(const attn_job *job, int64_t group, int64_t split) {
    const size_t slot = (size_t)(group * job->cpu->max_splits + split);
    return job->workspace + job->cpu->partials_at + slot * job->cpu->partial_bytes;
}

static void *partial_m(const attn_cpu_plan *cpu, void *partial) {
    return attn_reals_at(cpu->kernels, partial, cpu->few_rows * cpu->o_stride);
}

static void *partial_l(const attn_cpu_plan *cpu, void *partial) {
    return attn_reals_at(cpu->kernels, partial, cpu->few_rows * (cpu->o_stride + 1));
}

static void keep_partial(const attn_job *job, const attn_item *item, int64_t group, int64_t split) {
    const size_t real = attn_type_size(item->kernels->type), rows = (size_t)item->rows;
    void *partial = partial_of(job, group, split);
    memcpy(partial, item->scratch.o, rows * (size_t)job->cpu->o_stride * real);
    memcpy(partial_m(job->cpu, partial), item->scratch.m, rows * real);
    memcpy(partial_l(job->cpu, partial), item->scratch.l, rows * real);
}

/* Cut at multiples of a tile. */
static attn_span span_of_split(attn_span span, int64_t split, int64_t splits) {
    const int64_t first = span.begin / ATTN_TILE_KEYS;
    const int64_t tiles = (span.end + ATTN_TILE_KEYS - 1) / ATTN_TILE_KEYS - first;
    const int64_t begin = (first + tiles * split / splits) * ATTN_TILE_KEYS;
    const int64_t end = (first + tiles * (split + 1) / splits) * ATTN_TILE_KEYS;
    return (attn_span){begin > span.begin ? begin : span.begin, end < span.end ? end : span.end};
}

static void run_split(const attn_job *job, attn_item *item, int64_t group, int64_t split) {
    const attn_span span = span_of_sequence(job->plan, &item->sequence);
    const int64_t splits = splits_of(job->cpu, span);
    if (split >= splits) return;
    item->few = 1;
    item->rows = (int)stacked_rows(job->cpu, &item->sequence);
    attn_item_begin(item);
    attn_item_pass(item, span_of_split(span, split, splits));
    if (splits == 1) {
        attn_item_finish(item);
    } else {
        keep_partial(job, item, group, split);
    }
}

/*
 * Merges the splits of one row: m is the largest of theirs, each weighs exp(m_split - m). The weights stand in for p
 * and the partial results for v, so that accumulate() does the rest. A row without keys has m = -inf in every split,
 * and stays so.
 */
static void merge_row(const attn_job *job, const attn_item *item, int64_t group, int64_t splits, int row) {
    const attn_kernels *kernels = item->kernels;
    const attn_type type = kernels->type;
    double m = -INFINITY, l = 0;
    for (int64_t s = 0; s < splits; s++) {
        const double part = attn_load(type, partial_m(job->cpu, partial_of(job, group, s)), row);
        if (part > m || part != part) m = part;
    }
    for (int64_t s = 0; s < splits; s++) {
        void *partial = partial_of(job, group, s);
        const double weight = m == -INFINITY ? 0.0 : exp(attn_load(type, partial_m(job->cpu, partial), row) - m);
        attn_store(type, item->scratch.scores, s, weight);
        l += weight * attn_load(type, partial_l(job->cpu, partial), row);
    }
    attn_store(type, item->scratch.m, row, m);
    attn_store(type, item->scratch.l, row, l);
    attn_store(type, item->scratch.alpha, 0, 1.0);
    const attn_panel_keys all = {0, (int)splits};
    attn_next nothing = {.lines = 0};
    const int64_t slot = (int64_t)(job->cpu->partial_bytes / attn_type_size(type));
    for (int64_t c = 0; c < job->cpu->o_stride; c += kernels->nr) {
        const int64_t at = row * job->cpu->o_stride + c;
        kernels->accumulate(attn_reals_at(kernels, item->scratch.o, at), job->cpu->o_stride, item->scratch.scores,
                            attn_reals_at(kernels, partial_of(job, group, 0), at), slot, item->scratch.alpha, &all, 1,
                            &nothing);
    }
}

static void merge_group(const attn_job *job, int64_t group, int worker) {
    attn_item item = item_of_group(job, group, worker);
    if (!is_few(job->cpu, &item.sequence)) return;
    const int64_t splits = splits_of(job->cpu, span_of_sequence(job->plan, &item.sequence));
    if (splits == 1) return;
    item.rows = (int)stacked_rows(job->cpu, &item.sequence);
    memset(item.scratch.o, 0, (size_t)item.rows * (size_t)job->cpu->o_stride * attn_type_size(item.kernels->type));
    for (int row = 0; row < item.rows; row++) merge_row(job, &item, group, splits, row);
    attn_item_finish(&item);
}

/* --------------------------------------------------------------------------------------------------- blocks of rows */

static void run_rows(const attn_job *job, attn_item *item, int64_t block) {
    const int64_t rows = stacked_rows(job->cpu, &item->sequence);
    item->row0 = block * job->cpu->item_rows;
    if (item->row0 >= rows) return;
    const int64_t left = rows - item->row0;
    item->rows = (int)(left < job->cpu->item_rows ? left : job->cpu->item_rows);
    attn_item_begin(item);
    attn_item_pass(item, attn_item_span(item));
    attn_item_finish(item);
}

/* ------------------------------------------------------------------------------------------------------------- deal */

static int64_t count_items(const attn_job *job) {
    return job->parts * job->groups;
}

/*
 * Blocks of rows are numbered so that the last ones of all groups come first: under a causal mask they see the most keys.
 * Splits are numbered as they lie in memory, and a thread takes some neighbours at a time: memory is read fastest in
 * one go.
 */
static void compute_item(const attn_job *job, int64_t n, int worker) {
    const int64_t group = job->all_few ? n / job->parts : n % job->groups;
    const int64_t part = job->all_few ? n % job->parts : job->parts - 1 - n / job->groups;
    attn_item item = item_of_group(job, group, worker);
    if (is_few(job->cpu, &item.sequence)) {
        run_split(job, &item, group, part);
    } else {
        run_rows(job, &item, part);
    }
}

static void compute_items(void *arg, int worker) {
    attn_job *job = arg;
    const int64_t items = count_items(job);
    for (;;) {
        const int64_t begin = atomic_fetch_add(&job->next, job->turn);
        const int64_t end = begin + job->turn < items ? begin + job->turn : items;
        if (begin >= items) return;
        for (int64_t n = begin; n < end; n++) compute_item(job, n, worker);
    }
}

static void merge_items(void *arg, int worker) {
    attn_job *job = arg;
    for (;;) {
        const int64_t n = atomic_fetch_add(&job->next, 1);
        if (n >= job->groups) return;
        merge_group(job, n, worker);
    }
}

/* Rows of a packed o that belong to no sequence. */
static void clear_rest(const attn_problem *p, const attn_tensors *tensors) {
    const attn_sequence whole = {0};
    for (int64_t row = attn_rows_in_sequences(p, tensors); row < p->seq_q; row++)
        for (int64_t head = 0; head < p->heads_q; head++) {
            const int64_t at = attn_o_offset_of(p, &whole, head, row);
            for (int64_t c = 0; c < p->dim_v; c++) attn_store(p->o_type, tensors->o, at + c * p->o_strides[3], 0.0);
            if (p->with & ATTN_WITH_LSE) tensors->lse[attn_lse_offset_of(p, &whole, head, row)] = -INFINITY;
        }
}

static int workers_for(const attn_job *job, int64_t items) {
    return items < job->cpu->workers ? (int)items : job->cpu->workers;
}

void attn_cpu_forward(const attn_plan *plan, const attn_tensors *tensors, void *workspace) {
    const attn_problem *p = &plan->problem;
    attn_job job = {.plan = plan, .cpu = plan->state, .tensors = tensors, .workspace = workspace, .all_few = 1};
    job.groups = p->batch * p->heads_kv;
    for (int64_t b = 0; b < p->batch; b++) {
        const attn_sequence sequence = attn_sequence_of(p, tensors, b);
        const int64_t parts = parts_of(plan, &sequence);
        if (parts > job.parts) job.parts = parts;
        if (!is_few(job.cpu, &sequence)) {
            job.all_few = 0;
        } else if (parts > job.splits) {
            job.splits = parts;
        }
    }
    const int workers = workers_for(&job, count_items(&job));
    const int64_t share = job.all_few && workers ? count_items(&job) / workers / TURNS : 0;
    job.turn = share > 1 ? share : 1;
    atomic_init(&job.next, 0);
    attn_cpu_parallel(plan->engine, workers, compute_items, &job);
    if (job.splits > 1) {
        atomic_store(&job.next, 0);
        attn_cpu_parallel(plan->engine, workers_for(&job, job.groups), merge_items, &job);
    }
    clear_rest(p, tensors);
}
