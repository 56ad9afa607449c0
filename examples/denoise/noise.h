/* SPDX-License-Identifier: Apache-2.0 */
/* Noise: put into a picture, and found in one. sigma is its standard deviation in grey levels. */
#ifndef DENOISE_NOISE_H
#define DENOISE_NOISE_H

#include <stdint.h>

#include "picture.h"

/* Adds independent Gaussian noise to every sample. The same seed gives the same noise. */
void noise_add(struct picture *picture, double sigma, uint64_t seed);

/* Estimates sigma as if the noise were Gaussian and independent. A picture smaller than 3 x 3 gives 0. */
int noise_estimate(const struct picture *picture, double *sigma, struct message *why);

#endif
