/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading, making and writing with each allocation in turn failing: an error each time, nothing leaked (which a
 * sanitizer sees), nothing used that is not there. malloc, calloc and realloc are replaced by the linker's --wrap.
 */
#define _POSIX_C_SOURCE 200809L
#include "cli/make_case.h"
#include "cli/npy.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* wants the five above */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

/* Allocations until one fails; negative: none does. */
static long left = -1;

static int fails(void) {
    if (left < 0) return 0;
    return left-- == 0;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size) {
    return fails() ? NULL : __real_realloc(block, size);
}

/* A job gives its status; the bytes of a case file are there for those that read. */
typedef struct bytes {
    char *data;
    size_t size;
} bytes;
typedef case_status (*job)(const bytes *file, case_error *error);

/* Runs the job with the first allocation failing, then the second, and so on until it gets through. */
static void fail_each_allocation(job run, const bytes *file) {
    for (long n = 0; n < 10000; n++) {
        case_error error = {""};
        left = n;
        case_status status = run(file, &error);
        int reached = left < 0;
        left = -1;
        if (!reached) {
            assert_int_equal(status, CASE_OK);
            assert_true(n > 0);
            return;
        }
        assert_int_not_equal(status, CASE_OK);
        assert_string_not_equal(error.text, "");
    }
    fail_msg("the job never got through");
}

static case_status make(case_file *c, case_error *error) {
    make_case_options options;
    make_case_options_init(&options);
    options.layout = CASE_THD;
    options.batch = 3;
    options.heads_q = options.heads_kv = 2;
    options.seq_q = 3;
    options.seq_kv = 5;
    options.dim = 4;
    options.bias.wanted = options.mask.wanted = options.alibi = options.sinks = 1;
    options.q_lens = options.kv_lens = 1;
    return make_case(&options, c, error);
}

static case_status make_and_free(const bytes *file, case_error *error) {
    (void)file;
    case_file c;
    case_outputs outputs = {{0}, {0}};
    case_status status = make(&c, error);
    c.problem.with |= ATTN_WITH_LSE;
    if (status == CASE_OK) status = case_outputs_make(&c, &c.problem, &outputs, error);
    case_outputs_free(&outputs);
    case_free(&c);
    return status;
}

static case_status read_and_free(const bytes *file, case_error *error) {
    case_file c;
    case_status status = case_read_memory(file->data, file->size, "memory", &c, error);
    case_free(&c);
    return status;
}

/* From a stream of unknown length, whose block grows. The stream's own buffer is not ours to make fail. */
static case_status read_stream_and_free(const bytes *file, case_error *error) {
    case_file c;
    const long armed = left;
    left = -1;
    FILE *stream = fmemopen(file->data, file->size, "rb");
    assert_non_null(stream);
    assert_int_equal(setvbuf(stream, NULL, _IONBF, 0), 0);
    left = armed;
    case_status status = case_read_stream(stream, "stream", &c, error);
    assert_int_equal(fclose(stream), 0);
    case_free(&c);
    return status;
}

static case_file written_case;

static case_status write_to_nowhere(const bytes *file, case_error *error) {
    (void)file;
    const long armed = left;
    left = -1;
    FILE *stream = fopen("/dev/null", "wb");
    assert_non_null(stream);
    assert_int_equal(setvbuf(stream, NULL, _IONBF, 0), 0);
    left = armed;
    case_status status = case_write_stream(&written_case, stream, "null", error);
    assert_int_equal(fclose(stream), 0);
    return status;
}

static case_status read_array_and_free(const bytes *file, case_error *error) {
    case_tensor tensor;
    case_input input = case_input_from_memory(file->data, file->size);
    case_status status = npy_read(&input, &tensor, error);
    free(tensor.owned);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------------
 * tests */

static bytes file_of_case(const case_file *c) {
    bytes file = {NULL, 0};
    case_error error;
    FILE *stream = open_memstream(&file.data, &file.size);
    assert_non_null(stream);
    assert_int_equal(case_write_stream(c, stream, "memory", &error), CASE_OK);
    assert_int_equal(fclose(stream), 0);
    return file;
}

static void survives_without_memory_for_cases(void **state) {
    (void)state;
    case_error error;
    assert_int_equal(make(&written_case, &error), CASE_OK);
    bytes file = file_of_case(&written_case);
    fail_each_allocation(make_and_free, NULL);
    fail_each_allocation(read_and_free, &file);
    fail_each_allocation(read_stream_and_free, &file);
    fail_each_allocation(write_to_nowhere, NULL);
    free(file.data);
    case_free(&written_case);
}

/* The lengths are of two types and the mask leaves them at an odd place, so that both are copied. */
static void survives_without_memory_for_copies(void **state) {
    (void)state;
    static const char header[] = "{\"__metadata__\":{\"attn_case\":\"1\",\"title\":\"t\",\"origin\":\"o\"},"
                                 "\"mask\":{\"dtype\":\"BOOL\",\"shape\":[1,1,1,1],\"data_offsets\":[0,1]},"
                                 "\"q\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1],\"data_offsets\":[1,3]},"
                                 "\"k\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1],\"data_offsets\":[3,5]},"
                                 "\"v\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1],\"data_offsets\":[5,7]},"
                                 "\"q_lens\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[7,11]},"
                                 "\"kv_lens\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[11,19]}}";
    bytes file = {calloc(1, 8 + sizeof header - 1 + 19), 8 + sizeof header - 1 + 19};
    assert_non_null(file.data);
    for (size_t n = 0; n < 8; n++) file.data[n] = (char)((sizeof header - 1) >> (8 * n) & 0xff);
    memcpy(file.data + 8, header, sizeof header - 1);
    fail_each_allocation(read_and_free, &file);
    free(file.data);
}

static void survives_without_memory_for_arrays(void **state) {
    (void)state;
    char text[] = "\x93NUMPY\x01\x00\x3c\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }\n....";
    const bytes file = {text, sizeof text - 1};
    fail_each_allocation(read_array_and_free, &file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_without_memory_for_cases),
        cmocka_unit_test(survives_without_memory_for_copies),
        cmocka_unit_test(survives_without_memory_for_arrays),
    };
    cJSON_Hooks hooks = {__wrap_malloc, free};
    cJSON_InitHooks(&hooks);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
