/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npy file: refused with a reason, or read, and then written and read again as the same. */
#define _POSIX_C_SOURCE 200809L
#include "cli/npy.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}

static void require_same(const case_tensor *a, const case_tensor *b) {
    size_t size = attn_type_size(a->type);
    FUZZ_REQUIRE(a->type == b->type && a->rank == b->rank);
    for (int n = 0; n < a->rank; n++) {
        FUZZ_REQUIRE(a->shape[n] == b->shape[n]);
        size *= (size_t)a->shape[n];
    }
    FUZZ_REQUIRE(size == 0 || memcmp(a->data, b->data, size) == 0);
}

static void round_trip(const case_tensor *tensor) {
    case_tensor again;
    case_error error;
    char *bytes = NULL;
    size_t size;
    FILE *stream = open_memstream(&bytes, &size);
    FUZZ_REQUIRE(stream != NULL);
    FUZZ_REQUIRE(npy_write(stream, tensor, &error) == CASE_OK);
    FUZZ_REQUIRE(fclose(stream) == 0);
    case_input input = case_input_from_memory(bytes, size);
    FUZZ_REQUIRE(npy_read(&input, &again, &error) == CASE_OK);
    require_same(tensor, &again);
    free(again.owned);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    case_tensor tensor;
    case_error error = {""};
    case_input input = case_input_from_memory(data, size);
    case_status status = npy_read(&input, &tensor, &error);
    FUZZ_REQUIRE((status == CASE_OK) == (error.text[0] == '\0'));
    if (status == CASE_OK) round_trip(&tensor);
    free(tensor.owned);
    return 0;
}
