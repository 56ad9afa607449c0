/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Case files: one attention problem in one safetensors file, with its expected results.
 *
 * A case_file is filled from a file (case_read), from arrays and options one by one (case_add, case_set, case_finish),
 * or at random (make_case.h). It owns the data and is then ready to run:
 *
 *     case_file c;
 *     case_outputs out;
 *     if (case_read(path, &c, &error) == CASE_OK && case_outputs_make(&c, &c.problem, &out, &error) == CASE_OK) {
 *         attn_tensors tensors = case_tensors(&c, &out);
 *         attn_sdpa(&c.problem, &tensors, &reason);
 *     }
 *     case_outputs_free(&out);
 *     case_free(&c);
 *
 * Every function that can fail initialises what it fills in, so that freeing is right after failure as well.
 */
#ifndef CASE_H
#define CASE_H

#include "attn/attn.h"
#include "case_error.h"
#include <stdint.h>
#include <stdio.h>

/* How q, k, v and o (and their gradients) lie in the file. */
typedef enum case_layout {
    CASE_BHSD, /* [batch, head, row, column] */
    CASE_BSHD, /* [batch, row, head, column]; lse is [batch, head, row] here too */
    CASE_THD   /* packed: [row, head, column] with cu_seqlens; lse is [head, row] */
} case_layout;

/* The tensors that a case file may have. */
typedef enum case_slot {
    CASE_Q,
    CASE_K,
    CASE_V,
    CASE_BIAS,
    CASE_MASK,
    CASE_ALIBI_SLOPES,
    CASE_SINKS,
    CASE_Q_LENS,
    CASE_KV_LENS,
    CASE_CU_SEQLENS_Q,
    CASE_CU_SEQLENS_KV,
    CASE_Q_OFFSETS,
    CASE_D_O, /* gradients that come in: kept for the backward pass */
    CASE_D_LSE,
    CASE_O, /* expected results from here on */
    CASE_LSE,
    CASE_D_Q,
    CASE_D_K,
    CASE_D_V,
    CASE_D_BIAS,
    CASE_D_SINKS,
    CASE_SLOTS
} case_slot;

/* A contiguous array, its dimensions as the file has them. */
typedef struct case_tensor {
    attn_type type; /* ATTN_TYPE_DEFAULT: there is none. U8 is read as BOOL */
    int rank;
    int64_t shape[4];
    const void *data; /* aligned to its elements; not NULL if there is a tensor, even an empty one */
    void *owned;      /* the block to free() with the tensor; NULL: the data belongs to someone else */
} case_tensor;

/* The scalars of a case, at the values that stand for "absent" unless set. */
typedef struct case_options {
    int causal;                        /* 0 */
    double scale, softcap;             /* ATTN_SCALE_DEFAULT, 0 */
    int64_t window_left, window_right; /* ATTN_UNBOUNDED */
    int64_t q_offset;                  /* ATTN_OFFSET_END */
    double dropout_p;                  /* 0 */
    uint64_t dropout_seed, dropout_offset;
    double atol, rtol; /* -1: by type, see case_tolerance */
} case_options;

typedef struct case_file {
    attn_problem problem; /* every size and stride explicit; ATTN_WITH_LSE is set if there is an expected lse */
    attn_tensors inputs;  /* its pointers; o and lse are NULL */
    char *title, *origin; /* "" where absent (NULL before case_finish) */
    case_layout layout;
    case_options options;
    case_tensor tensors[CASE_SLOTS]; /* what the file has; tensors[CASE_O] is the expected o */
    int unbatched;                   /* q came as a 3-D .npy array: results look best without their batch dimension */
    void *data;                      /* block that the tensors of a read file lie in */
} case_file;

/* --------------------------------------------------------------------------------------------------- read and write */

/* Reads and finishes a case. path "-" is standard input. */
case_status case_read(const char *path, case_file *c, case_error *error);
/* The same from an open stream, to its end, and from memory; `name` is for messages. */
case_status case_read_stream(FILE *stream, const char *name, case_file *c, case_error *error);
case_status case_read_memory(const void *bytes, size_t size, const char *name, case_file *c, case_error *error);

/* Writes title, origin, options and all tensors. path "-" is standard output. A file that could not be written whole is
 * removed. */
case_status case_write(const case_file *c, const char *path, case_error *error);
case_status case_write_stream(const case_file *c, FILE *stream, const char *name, case_error *error);

void case_free(case_file *c);

/* ----------------------------------------------------------------------------------------------- built step by step */

/* An empty case: case_add and case_set what it has, then case_finish. */
void case_init(case_file *c);

/* Sets a scalar by its name and text in a case file: title, origin, layout, scale, softcap, causal, window_left,
 * window_right, q_offset, dropout_p, dropout_seed, dropout_offset, atol, rtol. Other keys are ignored. */
case_status case_set(case_file *c, const char *key, const char *value, case_error *error);

/* Adds a tensor by its name in a case file. Takes tensor->owned over, on failure too. */
case_status case_add(case_file *c, const char *name, const case_tensor *tensor, case_error *error);

/* Adds a .npy file as a tensor; path "-" is standard input. Missing leading dimensions of q, k, v (one), bias and mask
 * (up to two) are taken as 1. Set the layout first. */
case_status case_add_npy(case_file *c, const char *name, const char *path, case_error *error);

/* Derives problem and inputs from tensors and options, and checks that they agree. May be called again after changes. */
case_status case_finish(case_file *c, case_error *error);

const char *case_slot_name(case_slot slot);
/* "bhsd", "bshd", "thd". */
const char *case_layout_name(case_layout layout);

/* -------------------------------------------------------------------------------------------------- run and compare */

/* The outputs of one run, laid out as the case's layout says. */
typedef struct case_outputs {
    case_tensor o;
    case_tensor lse; /* none unless the problem has ATTN_WITH_LSE */
} case_outputs;

/* Allocates outputs for a run of `problem`: c->problem, or a copy with another o_type or `with`. They are filled with
 * NaN, so that an element that is never written cannot pass. */
case_status case_outputs_make(const case_file *c, const attn_problem *problem, case_outputs *outputs,
                              case_error *error);
void case_outputs_free(case_outputs *outputs);

/* The pointers of a run: the case's inputs and these outputs. */
attn_tensors case_tensors(const case_file *c, const case_outputs *outputs);

/* Makes the outputs the expected results of the case (to be written with it) and leaves *outputs empty. The case no
 * longer has the results that it expected before; gradients that belong to them are dropped too. */
void case_expect(case_file *c, case_outputs *outputs);

/*
 * The limits of a comparison: those of the case, or else by the type of q. An element passes if
 * |got - expected| <= atol + rtol * |expected|.
 */
void case_tolerance(const case_file *c, double *atol, double *rtol);

typedef struct case_verdict {
    int pass;
    int64_t elements, failures;
    int64_t index[4]; /* of the worst element: batch entry, head, row in it, column (0 for lse). Packed rows that belong
                         to no sequence: batch entry -1, row in the packed tensor. All -1 when there are no elements */
    double got, expected; /* there */
    double limit;         /* there: atol + rtol * |expected| */
    double max_error;     /* largest |got - expected| where both are finite */
} case_verdict;

/*
 * Compares a result (slot CASE_O or CASE_LSE) with the expected one (&c->tensors[slot]) or any other reference of that
 * shape. The worst element is the one with the largest error in units of its limit. NaN equals NaN, an infinity equals
 * itself, and neither equals anything else. Fails if a tensor is missing or the shapes differ.
 */
case_status case_compare(const case_file *c, case_slot slot, const case_tensor *got, const case_tensor *expected,
                         case_verdict *verdict, case_error *error);

#endif
