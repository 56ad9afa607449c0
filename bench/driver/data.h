/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of one problem, in files for the workers, and the result that they are held against. */
#ifndef DATA_H
#define DATA_H

#include "shapes.h"

typedef struct data {
    const char *folder; /* the files are q.f32, k.bf16 and so on */
    int64_t q_count, kv_count;
    float *q, *k, *v;
    float *o; /* of this library, in f32 */
} data;

/*
 * Random numbers of 8 significant bits, so that f32, f16 and bf16 hold the same ones. The types are bits, 1 <<
 * attn_type. Returns 0, or -1 after a message. data_free() is due in either case.
 */
int data_make(data *d, const char *folder, const shape *s, unsigned types);
void data_free(data *d);

/* The name of a file, in the caller's text. */
void data_file(const data *d, char which, attn_type type, char *path, size_t size);

/*
 * The largest difference between an output in a file and d->o, in units of the largest value of d->o; INFINITY where
 * the file is short or holds something that is no number. Looks at each `every`-th row, from row every / 2 on.
 */
double data_compare(const data *d, const shape *s, attn_type type, const char *path, int64_t every);

#endif
