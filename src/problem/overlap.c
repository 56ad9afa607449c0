/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do two strided sets of bytes meet? Each byte of a tensor is its base plus a sum of index * stride, so the question is
 * whether a linear equation
 *
 *     sum of step_i * x_i = target,   0 <= x_i <= count_i,   step_i > 0
 *
 * has a solution. In general that is a knapsack problem; for tensors the steps nest (row in head in batch), so that
 * most of them merge into one, and the search over what is left is cut by ranges and by greatest common divisors.
 *
 * All sums are of byte distances within two tensors, each of which fits int64_t: uint64_t holds them.
 */
#include "problem/problem.h"

enum {
    TERMS = 10,          /* four dimensions and the bytes of an element, of two tensors */
    WORK_LIMIT = 1 << 15 /* nodes of the search: well under a millisecond */
};

typedef struct term {
    uint64_t step, count;
} term;

typedef struct equation {
    term terms[TERMS];
    int size;
    uint64_t reach[TERMS];   /* the largest sum that terms 0 .. i can have */
    uint64_t divisor[TERMS]; /* greatest common divisor of steps 0 .. i */
    int work;
} equation;

/* Keeps the terms in rising order of their steps. */
static void add_term(equation *e, uint64_t step, uint64_t count) {
    if (step == 0 || count == 0) return; /* contributes nothing but 0 */
    int n = e->size++;
    for (; n > 0 && e->terms[n - 1].step > step; n--) e->terms[n] = e->terms[n - 1];
    e->terms[n] = (term){step, count};
}

/* Where step b is a multiple of step a and at most a's whole length, a * x + b * y takes every multiple of a up to its
 * largest value: one term says the same. Contiguous dimensions, and equal strides of two tensors, always do. */
static void merge_terms(equation *e) {
    int kept = 0;
    for (int n = 0; n < e->size; n++) {
        term next = e->terms[n];
        term *last = kept > 0 ? &e->terms[kept - 1] : NULL;
        if (last && next.step % last->step == 0 && next.step / last->step <= last->count + 1) {
            last->count += next.step / last->step * next.count;
        } else {
            e->terms[kept++] = next;
        }
    }
    e->size = kept;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void prepare(equation *e) {
    merge_terms(e);
    uint64_t reach = 0, divisor = 0;
    for (int n = 0; n < e->size; n++) {
        reach += e->terms[n].step * e->terms[n].count;
        divisor = common_divisor(e->terms[n].step, divisor);
        e->reach[n] = reach;
        e->divisor[n] = divisor;
    }
    e->work = WORK_LIMIT;
}

/* 1 if terms 0 .. top can sum to target, or if the work allowed does not decide it. The largest step goes first: it has
 * the fewest values that leave a rest within the reach of the others. */
static int solvable(equation *e, int top, uint64_t target) {
    if (target == 0) return 1;
    if (top < 0 || target > e->reach[top] || target % e->divisor[top] != 0) return 0;
    if (top == 0) return 1;
    term t = e->terms[top];
    uint64_t below = e->reach[top - 1];
    uint64_t most = target / t.step < t.count ? target / t.step : t.count;
    uint64_t least = target > below ? (target - below - 1) / t.step + 1 : 0;
    for (uint64_t x = least; x <= most; x++) {
        if (e->work-- <= 0) return 1;
        if (solvable(e, top - 1, target - x * t.step)) return 1;
    }
    return 0;
}

static int solve(equation *e, uint64_t target) {
    prepare(e);
    return solvable(e, e->size - 1, target);
}

static uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int is_empty(const attn_extent *extent) {
    for (int n = 0; n < extent->rank; n++)
        if (extent->shape[n] <= 0) return 1;
    return 0;
}

/*
 * Two indices that differ first in dimension d (by 1 + y there, and by anything from -count to count in each dimension
 * e of a smaller stride) name one element if step_d * (1 + y) + sum of step_e * delta_e = 0. Counting every variable
 * from its other end gives the equation below; signs of strides do not matter, as the ranges of delta_e are symmetric.
 */
static int meets_itself_in(const term *dimensions, int d) {
    equation e = {.size = 0};
    uint64_t target = dimensions[d].step * dimensions[d].count;
    add_term(&e, dimensions[d].step, dimensions[d].count - 1);
    for (int n = 0; n < d; n++) {
        add_term(&e, dimensions[n].step, 2 * dimensions[n].count);
        target += dimensions[n].step * dimensions[n].count;
    }
    return solve(&e, target);
}

int attn_overlaps_itself(const attn_extent *extent) {
    if (is_empty(extent)) return 0;
    equation dimensions = {.size = 0};
    for (int n = 0; n < extent->rank; n++) {
        if (extent->shape[n] > 1 && extent->strides[n] == 0) return 1;
        add_term(&dimensions, magnitude(extent->strides[n]), (uint64_t)(extent->shape[n] - 1));
    }
    for (int d = 0; d < dimensions.size; d++)
        if (meets_itself_in(dimensions.terms, d)) return 1;
    return 0;
}

/* First and last byte. */
typedef struct byte_range {
    uintptr_t first, last;
} byte_range;

static byte_range bytes_of(const attn_extent *extent) {
    byte_range range = {(uintptr_t)extent->data, (uintptr_t)extent->data};
    for (int n = 0; n < extent->rank; n++) {
        uint64_t length = magnitude(extent->strides[n]) * extent->element_size * (uint64_t)(extent->shape[n] - 1);
        if (extent->strides[n] < 0) {
            range.first -= (uintptr_t)length;
        } else {
            range.last += (uintptr_t)length;
        }
    }
    range.last += extent->element_size - 1;
    return range;
}

static void add_extent(equation *e, const attn_extent *extent) {
    add_term(e, 1, extent->element_size - 1);
    for (int n = 0; n < extent->rank; n++) {
        uint64_t step = magnitude(extent->strides[n]) * extent->element_size;
        add_term(e, step, (uint64_t)(extent->shape[n] - 1));
    }
}

/*
 * A byte of a is a.first + sum of step * x; a byte of b, its indices counted from their other ends, is b.last - sum of
 * step * y. They are one where both sums together are b.last - a.first.
 */
int attn_overlaps(const attn_extent *a, const attn_extent *b) {
    if (is_empty(a) || is_empty(b)) return 0;
    byte_range in_a = bytes_of(a), in_b = bytes_of(b);
    if (in_a.last < in_a.first || in_b.last < in_b.first) return 1; /* past the end of the address space: no tensor */
    if (in_a.last < in_b.first || in_b.last < in_a.first) return 0;
    equation e = {.size = 0};
    add_extent(&e, a);
    add_extent(&e, b);
    return solve(&e, in_b.last - in_a.first);
}
