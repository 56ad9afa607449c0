/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Non-local means (Buades, Coll and Morel, A non-local algorithm for image denoising, CVPR 2005) as exact attention:
 * each pixel becomes the mean of all pixels, weighted by how alike the patches around them are,
 *
 *     w_ij = exp(-|p_i - p_j|^2 / h^2) / sum over j
 */
#ifndef DENOISE_NLM_H
#define DENOISE_NLM_H

#include <stdint.h>

#include "picture.h"

struct nlm_options {
    int side;     /* of a patch, odd */
    double sigma; /* of the noise, in levels */
    double h;     /* of the weights, in levels */
    double reach; /* pixels at which nearness in the picture counts exp(-1/2); 0: distance does not count */
    int threads;  /* 0: one a processor */
    void (*progress)(void *user, int64_t done, int64_t total); /* called now and then, with rows; may be NULL */
    void *user;
};

struct nlm_report {
    int dim;         /* of a patch */
    int threads;     /* that ran */
    char kernel[64]; /* that ran */
    double seconds;  /* of attention alone */
    double flops;    /* of it */
};

/* Returns 1 and a picture of the same size, or 0 with the reason in *why. */
int nlm_denoise(const struct picture *noisy, const struct nlm_options *options, struct picture *result,
                struct nlm_report *report, struct message *why);

#endif
