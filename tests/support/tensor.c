/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include "element.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int test_order_bhsd[4] = {0, 1, 2, 3};
const int test_order_bshd[4] = {0, 2, 1, 3};

void test_dense_strides(const int64_t shape[4], const int order[4], int64_t strides[4]) {
    int64_t stride = 1;
    for (int n = 3; n >= 0; n--) {
        strides[order[n]] = stride;
        stride *= shape[order[n]] > 0 ? shape[order[n]] : 1;
    }
}

static void shuffle(test_prng *prng, int order[4]) {
    for (int n = 3; n > 0; n--) {
        int other = (int)test_prng_range(prng, 0, n);
        int kept = order[n];
        order[n] = order[other];
        order[other] = kept;
    }
}

void test_random_strides(test_prng *prng, const int64_t shape[4], unsigned allowed, int64_t strides[4]) {
    int order[4] = {0, 1, 2, 3};
    if (test_prng_chance(prng, 40))
        memcpy(order, test_order_bshd, sizeof order);
    else if ((allowed & TEST_STRIDES_COLUMN_STEP) && test_prng_chance(prng, 20))
        shuffle(prng, order);
    int64_t stride =
        (allowed & TEST_STRIDES_COLUMN_STEP) && test_prng_chance(prng, 10) ? test_prng_range(prng, 2, 3) : 1;
    for (int n = 3; n >= 0; n--) {
        int dimension = order[n];
        int64_t extent = shape[dimension] > 0 ? shape[dimension] : 1;
        if (test_prng_chance(prng, 25)) extent += test_prng_range(prng, 1, 5);
        strides[dimension] = stride;
        if (dimension < 3 && (allowed & TEST_STRIDES_BROADCAST) && test_prng_chance(prng, 12)) {
            strides[dimension] = 0;
            extent = 1;
        } else if ((allowed & TEST_STRIDES_NEGATIVE) && test_prng_chance(prng, 6)) {
            strides[dimension] = -stride;
        }
        stride *= extent;
    }
}

int64_t test_tensor_count(const test_tensor *tensor) {
    return tensor->shape[0] * tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
}

void test_tensor_allocate(test_tensor *tensor, test_block_edge edge, int64_t slack_elements, int64_t margin_elements) {
    int64_t lowest = 0, highest = -1;
    int64_t size = (int64_t)attn_type_size(tensor->type);
    if (test_tensor_count(tensor) > 0) {
        highest = 0;
        for (int n = 0; n < 4; n++) {
            int64_t reach = (tensor->shape[n] - 1) * tensor->strides[n];
            if (reach < 0)
                lowest += reach;
            else
                highest += reach;
        }
    }
    size_t bytes = (size_t)((highest - lowest + 1 + 2 * margin_elements) * size);
    tensor->block = test_block_make(bytes, edge, (size_t)(slack_elements * size));
    tensor->data = tensor->block.data + (margin_elements - lowest) * size;
}

void test_tensor_free(test_tensor *tensor) {
    test_block_free(&tensor->block);
    tensor->data = NULL;
}

int64_t test_tensor_offset(const test_tensor *tensor, int64_t b, int64_t h, int64_t row, int64_t column) {
    return b * tensor->strides[0] + h * tensor->strides[1] + row * tensor->strides[2] + column * tensor->strides[3];
}

double test_tensor_get(const test_tensor *tensor, int64_t b, int64_t h, int64_t row, int64_t column) {
    return test_load(tensor->type, tensor->data, test_tensor_offset(tensor, b, h, row, column));
}

void test_tensor_set(test_tensor *tensor, int64_t b, int64_t h, int64_t row, int64_t column, double value) {
    test_store(tensor->type, tensor->data, test_tensor_offset(tensor, b, h, row, column), value);
}

/* Row n of all rows of a tensor: where it begins. */
static int64_t row_offset(const test_tensor *tensor, int64_t n) {
    int64_t row = n % tensor->shape[2], h = n / tensor->shape[2] % tensor->shape[1];
    return test_tensor_offset(tensor, n / tensor->shape[2] / tensor->shape[1], h, row, 0);
}

static int64_t count_rows(const test_tensor *tensor) {
    return tensor->shape[0] * tensor->shape[1] * tensor->shape[2];
}

void test_tensor_copy(test_tensor *target, const test_tensor *source) {
    for (int64_t n = 0; n < count_rows(source); n++) {
        int64_t to = row_offset(target, n), from = row_offset(source, n);
        for (int64_t column = 0; column < source->shape[3]; column++) {
            double value = test_load(source->type, source->data, from + column * source->strides[3]);
            test_store(target->type, target->data, to + column * target->strides[3], value);
        }
    }
}

/* Byte n of the poison. Every aligned pair is 0xFFF1 .. 0xFFFE in memory order low, high: NaN as a binary16, as a
 * bfloat16 and as the upper part of a binary32 or binary64. */
static unsigned char poison_at(size_t n) {
    return n % 2 ? 0xFF : (unsigned char)(0xF1 + (n / 2 * 7919) % 14);
}

void test_tensor_poison(test_tensor *tensor) {
    for (size_t n = 0; n < tensor->block.size; n++) tensor->block.data[n] = poison_at(n);
}

int test_tensor_untouched(const test_tensor *tensor) {
    for (size_t n = 0; n < tensor->block.size; n++) {
        if (tensor->block.data[n] != poison_at(n)) return 0;
    }
    return 1;
}

int test_tensor_gaps_intact(const test_tensor *tensor) {
    size_t size = attn_type_size(tensor->type);
    int64_t columns = tensor->shape[3], step = tensor->strides[3] * (int64_t)size;
    int intact = 1;
    unsigned char *owned = calloc(tensor->block.size + 1, 1);
    if (!owned) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    for (int64_t n = 0; n < count_rows(tensor) && columns > 0; n++) {
        ptrdiff_t first = (unsigned char *)tensor->data - tensor->block.data;
        first += row_offset(tensor, n) * (int64_t)size;
        for (int64_t column = 0; column < columns; column++) memset(owned + first + column * step, 1, size);
    }
    for (size_t n = 0; n < tensor->block.size; n++) {
        if (!owned[n] && tensor->block.data[n] != poison_at(n)) intact = 0;
    }
    free(owned);
    return intact;
}
