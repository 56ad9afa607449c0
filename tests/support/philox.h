/* SPDX-License-Identifier: Apache-2.0 */
/* The keep decision of dropout, written from the paper (Salmon et al., SC 2011) apart from the library's. */
#ifndef TEST_SUPPORT_PHILOX_H
#define TEST_SUPPORT_PHILOX_H

#include <stdint.h>

/* Philox 4x32 with ten rounds. */
void test_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* 1 if the weight of key `key` in row `row` of query head `head` (of `heads`) of batch entry `batch` is kept. */
int test_dropout_keeps(double p, uint64_t seed, uint64_t offset, int64_t batch, int64_t heads, int64_t head,
                       int64_t row, int64_t key);

#endif
