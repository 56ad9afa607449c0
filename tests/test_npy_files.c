/* SPDX-License-Identifier: Apache-2.0 */
/* .npy files: what is read, what is refused and with which reason. */
#define _POSIX_C_SOURCE 200809L
#include "cli/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h> /* wants the five above */

#define GOOD "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"

/* A file of version 1, 2 or 3 with any header and zeros as data. */
static unsigned char *make_file(int version, const char *header, size_t data_size, size_t *size) {
    const size_t length = strlen(header), start = version == 1 ? 10 : 12;
    unsigned char *file = calloc(start + length + data_size + 1, 1);
    assert_non_null(file);
    for (size_t n = 0; n < 6; n++) file[n] = (unsigned char)"\x93NUMPY"[n];
    file[6] = (unsigned char)version;
    for (size_t n = 8; n < start; n++) file[n] = (unsigned char)(length >> (8 * (n - 8)));
    for (size_t n = 0; n < length; n++) file[start + n] = (unsigned char)header[n];
    *size = start + length + data_size;
    return file;
}

static case_status read_bytes(const unsigned char *file, size_t size, case_tensor *tensor, case_error *error) {
    case_input input = case_input_from_memory(file, size);
    error->text[0] = '\0';
    return npy_read(&input, tensor, error);
}

static void assert_contains(const char *text, const char *part) {
    if (strstr(text, part) == NULL) fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static void assert_refused(int version, const char *header, size_t data_size, case_status expected, const char *part) {
    size_t size;
    case_tensor tensor;
    case_error error;
    unsigned char *file = make_file(version, header, data_size, &size);
    case_status status = read_bytes(file, size, &tensor, &error);
    assert_contains(error.text, part);
    assert_int_equal(status, expected);
    assert_null(tensor.owned);
    free(file);
}

/* ------------------------------------------------------------------------------------------------------- good files */

typedef struct good_header {
    int version;
    const char *header;
    attn_type type;
    int rank;
    int64_t shape[4];
} good_header;

static void reads_every_type_and_form(void **state) {
    (void)state;
    static const good_header rows[] = {
        {1, GOOD, ATTN_F32, 2, {2, 3}},
        {2, GOOD "          \n", ATTN_F32, 2, {2, 3}},
        {3, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n", ATTN_F16, 1, {2}},
        {1, "{\"shape\":(1,2,3,4),\"fortran_order\":False,\"descr\":\"<f8\"}", ATTN_F64, 4, {1, 2, 3, 4}},
        {1, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", ATTN_BOOL, 0, {0}},
        {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (5,)}", ATTN_BOOL, 1, {5}},
        {1, "{'descr': '<i4', 'fortran_order': False, 'shape': (0, 7), }", ATTN_I32, 2, {0, 7}},
        {1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", ATTN_I64, 1, {1}},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        size_t size, data_size = attn_type_size(rows[n].type);
        case_tensor tensor;
        case_error error;
        for (int axis = 0; axis < rows[n].rank; axis++) data_size *= (size_t)rows[n].shape[axis];
        unsigned char *file = make_file(rows[n].version, rows[n].header, data_size, &size);
        if (data_size > 0) file[size - 1] = 0x3f;
        if (read_bytes(file, size, &tensor, &error) != CASE_OK) fail_msg("%s", error.text);
        assert_int_equal(tensor.type, rows[n].type);
        assert_int_equal(tensor.rank, rows[n].rank);
        assert_memory_equal(tensor.shape, rows[n].shape, sizeof tensor.shape);
        if (data_size > 0) assert_memory_equal(tensor.data, file + size - data_size, data_size);
        free(tensor.owned);
        free(file);
    }
}

static case_tensor make_tensor(attn_type type, int rank, const int64_t *shape) {
    case_tensor tensor = {.type = type, .rank = rank};
    size_t size = attn_type_size(type);
    for (int n = 0; n < rank; n++) {
        tensor.shape[n] = shape[n];
        size *= (size_t)shape[n];
    }
    tensor.data = tensor.owned = malloc(size);
    assert_non_null(tensor.owned);
    for (size_t n = 0; n < size; n++) ((unsigned char *)tensor.owned)[n] = (unsigned char)(n * 7);
    return tensor;
}

static void writes_what_it_reads(void **state) {
    (void)state;
    static const attn_type types[] = {ATTN_F32, ATTN_F16, ATTN_F64, ATTN_BOOL, ATTN_I32, ATTN_I64};
    const int64_t shape[4] = {2, 1, 3, 5};
    for (size_t n = 0; n < sizeof types / sizeof types[0]; n++) {
        for (int rank = 0; rank <= 4; rank++) {
            char *bytes = NULL;
            size_t size, data_size = attn_type_size(types[n]);
            case_tensor tensor = make_tensor(types[n], rank, shape), again;
            case_error error;
            FILE *stream = open_memstream(&bytes, &size);
            for (int axis = 0; axis < rank; axis++) data_size *= (size_t)shape[axis];
            assert_int_equal(npy_write(stream, &tensor, &error), CASE_OK);
            assert_int_equal(fclose(stream), 0);
            assert_int_equal((size - data_size) % 64, 0); /* NumPy promises its readers an aligned start */
            if (read_bytes((unsigned char *)bytes, size, &again, &error) != CASE_OK) fail_msg("%s", error.text);
            assert_int_equal(again.type, types[n]);
            assert_int_equal(again.rank, rank);
            assert_memory_equal(again.shape, tensor.shape, sizeof again.shape);
            assert_memory_equal(again.data, tensor.data, data_size);
            free(again.owned);
            free(tensor.owned);
            free(bytes);
        }
    }
}

/* The header as NumPy itself writes it. */
static void writes_headers_as_numpy_does(void **state) {
    (void)state;
    char *bytes = NULL;
    size_t size;
    case_error error;
    const int64_t one[1] = {3}, three[3] = {1, 2, 3};
    case_tensor vector = make_tensor(ATTN_F64, 1, one), cube = make_tensor(ATTN_BOOL, 3, three);
    FILE *stream = open_memstream(&bytes, &size);
    assert_int_equal(npy_write(stream, &vector, &error), CASE_OK);
    assert_int_equal(npy_write(stream, &cube, &error), CASE_OK);
    assert_int_equal(fclose(stream), 0);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3,), } ",
                        68);
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 152,
                        "\x93NUMPY\x01\x00\x76\x00{'descr': '|b1', 'fortran_order': False, 'shape': (1, 2, 3), } ", 73);
    free(bytes);
    free(vector.owned);
    free(cube.owned);
}

/* -------------------------------------------------------------------------------------------------------- bad files */

static void refuses_what_is_no_npy_file(void **state) {
    (void)state;
    size_t size;
    case_tensor tensor;
    case_error error;
    unsigned char *file = make_file(1, GOOD, 24, &size);
    file[0] = 'P';
    assert_int_equal(read_bytes(file, size, &tensor, &error), CASE_ERROR_FORMAT);
    assert_contains(error.text, "not a .npy file");
    free(file);
    assert_refused(4, GOOD, 24, CASE_ERROR_UNSUPPORTED, "version 4.0 of .npy");
    assert_refused(0, GOOD, 24, CASE_ERROR_UNSUPPORTED, "version 0.0 of .npy");
    const unsigned char long_header[] = "\x93NUMPY\x02\x00\xff\xff\xff\x7f";
    assert_int_equal(read_bytes(long_header, 12, &tensor, &error), CASE_ERROR_FORMAT);
    assert_contains(error.text, "a header of 2147483647 bytes is announced, at most 65536 are supported");
}

static void refuses_arrays_of_other_kinds(void **state) {
    (void)state;
    assert_refused(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24, CASE_ERROR_UNSUPPORTED,
                   "Fortran order; save numpy.ascontiguousarray(array) instead");
    assert_refused(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", 24, CASE_ERROR_UNSUPPORTED,
                   "type '>f4' is big-endian; save the array as '<f4'");
    assert_refused(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", 24, CASE_ERROR_UNSUPPORTED,
                   "type '<c8' is not one of f2, f4, f8, b1, u1, i4, i8");
    assert_refused(1, "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", 24, CASE_ERROR_UNSUPPORTED,
                   "type '|O'");
    assert_refused(1, "{'descr': '<V2', 'fortran_order': False, 'shape': (3,), }", 6, CASE_ERROR_UNSUPPORTED,
                   "type '<V2'");
    assert_refused(1, "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,), }", 12, CASE_ERROR_UNSUPPORTED,
                   "arrays of structures");
    assert_refused(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 6), }", 24,
                   CASE_ERROR_UNSUPPORTED, "more than 4 dimensions");
}

static void refuses_malformed_headers(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"", "'{' expected"},
        {"{", "a string expected"},
        {"{}", "the header has no 'descr'"},
        {"{'descr': '<f4'}", "the header has no 'fortran_order'"},
        {"{'descr': '<f4', 'fortran_order': False}", "the header has no 'shape'"},
        {"{'descr': '<f4', 'descr': '<f4'}", "'descr' occurs twice"},
        {"{'dtype': '<f4'}", "unknown key 'dtype'"},
        {"{'descr' '<f4'}", "byte 9: ':' expected"},
        {"{'descr: '<f4'}", "':' expected"},
        {"{'descr': '<f4' 'shape': (1,)}", "',' or '}' expected"},
        {"{'fortran_order': 0}", "True or False expected"},
        {"{'shape': [1]}", "the tuple of the shape expected"},
        {"{'shape': (-1,)}", "a dimension, a whole number of 0 or more, expected"},
        {"{'shape': (1.5,)}", "',' or ')' expected"},
        {"{'shape': (1 2)}", "',' or ')' expected"},
        {"{'shape': (2L,)}", "',' or ')' expected"},
        {"{'shape': (1,", "a dimension, a whole number of 0 or more, expected"},
        {"{'shape': (9223372036854775808,)}", "a dimension overflows"},
        {GOOD "x", "the end of the header expected"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
         "product of the dimensions overflows"},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++)
        assert_refused(1, rows[n][0], 0, CASE_ERROR_FORMAT, rows[n][1]);
}

static void refuses_data_of_another_size(void **state) {
    (void)state;
    assert_refused(1, GOOD, 23, CASE_ERROR_FORMAT, "truncated: the data should have 24 bytes, only 23 are there");
    assert_refused(1, GOOD, 25, CASE_ERROR_FORMAT, "1 bytes follow the end of the data");
}

static void refuses_every_truncation(void **state) {
    (void)state;
    for (int version = 1; version <= 3; version++) {
        size_t size;
        case_tensor tensor;
        case_error error;
        unsigned char *file = make_file(version, GOOD "\n", 24, &size);
        for (size_t part = 0; part < size; part++) {
            unsigned char *exact = malloc(part > 0 ? part : 1); /* so that a sanitizer sees a byte too far */
            assert_non_null(exact);
            memcpy(exact, file, part);
            assert_int_equal(read_bytes(exact, part, &tensor, &error), CASE_ERROR_FORMAT);
            assert_contains(error.text, "truncated");
            free(exact);
        }
        assert_int_equal(read_bytes(file, size, &tensor, &error), CASE_OK);
        free(tensor.owned);
        free(file);
    }
}

static void writes_no_bfloat16(void **state) {
    (void)state;
    char path[] = "/tmp/attn-test-XXXXXX";
    const int64_t shape[1] = {3};
    case_tensor tensor = make_tensor(ATTN_BF16, 1, shape);
    case_error error;
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    assert_int_equal(npy_write_path(path, &tensor, &error), CASE_ERROR_UNSUPPORTED);
    assert_contains(error.text, path);
    assert_contains(error.text, "type bf16 does not exist in .npy");
    assert_int_not_equal(access(path, F_OK), 0);
    free(tensor.owned);
}

/* -------------------------------------------------------------------------------------------------- arrays as cases */

/* A .npy file of that shape in a new temporary place. */
static void make_array(char path[64], attn_type type, int rank, const int64_t *shape) {
    case_error error;
    case_tensor tensor = make_tensor(type, rank, shape);
    strcpy(path, "/tmp/attn-test-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    if (npy_write_path(path, &tensor, &error) != CASE_OK) fail_msg("%s", error.text);
    free(tensor.owned);
}

static void add_array(case_file *c, const char *name, attn_type type, int rank, const int64_t *shape) {
    char path[64];
    case_error error;
    make_array(path, type, rank, shape);
    if (case_add_npy(c, name, path, &error) != CASE_OK) fail_msg("%s", error.text);
    assert_int_equal(remove(path), 0);
}

static void takes_arrays_without_batch_as_one_entry(void **state) {
    (void)state;
    const int64_t q[3] = {4, 5, 6}, k[4] = {1, 2, 7, 6}, v[3] = {2, 7, 3}, bias[2] = {5, 7}, mask[3] = {4, 5, 7};
    case_file c;
    case_error error;
    case_init(&c);
    add_array(&c, "q", ATTN_F32, 3, q);
    add_array(&c, "k", ATTN_F32, 4, k);
    add_array(&c, "v", ATTN_F32, 3, v);
    add_array(&c, "bias", ATTN_F16, 2, bias);
    add_array(&c, "mask", ATTN_BOOL, 3, mask);
    if (case_finish(&c, &error) != CASE_OK) fail_msg("%s", error.text);
    assert_true(c.unbatched);
    assert_int_equal(c.problem.batch, 1);
    assert_int_equal(c.problem.heads_q, 4);
    assert_int_equal(c.problem.heads_kv, 2);
    assert_int_equal(c.problem.seq_q, 5);
    assert_int_equal(c.problem.seq_kv, 7);
    assert_int_equal(c.problem.dim, 6);
    assert_int_equal(c.problem.dim_v, 3);
    assert_int_equal(c.problem.bias.shape[1], 1);
    assert_int_equal(c.problem.bias.shape[2], 5);
    assert_int_equal(c.problem.mask.shape[1], 4);
    case_free(&c);
}

static void refuses_arrays_of_wrong_rank(void **state) {
    (void)state;
    const int64_t shape[4] = {1, 1, 5, 6};
    char path[64];
    case_file c;
    case_error error;
    case_init(&c);
    add_array(&c, "q", ATTN_F32, 2, shape);
    add_array(&c, "k", ATTN_F32, 4, shape);
    add_array(&c, "v", ATTN_F32, 4, shape);
    assert_int_equal(case_finish(&c, &error), CASE_ERROR_CONTENT);
    assert_contains(error.text, "q has 2 dimensions, but layout bhsd has 4");
    make_array(path, ATTN_I32, 1, shape);
    assert_int_equal(case_add_npy(&c, "sinks", path, &error), CASE_ERROR_CONTENT);
    assert_contains(error.text, path);
    assert_contains(error.text, "sinks has type i32, but has to be f32");
    assert_int_equal(case_add_npy(&c, "w", path, &error), CASE_ERROR_CONTENT);
    assert_contains(error.text, "'w' is no tensor of a case file");
    assert_int_equal(case_add_npy(&c, "q", path, &error), CASE_ERROR_CONTENT);
    assert_contains(error.text, "q is there already");
    assert_int_equal(remove(path), 0);
    assert_int_equal(case_add_npy(&c, "bias", path, &error), CASE_ERROR_SYSTEM);
    case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_type_and_form),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(writes_headers_as_numpy_does),
        cmocka_unit_test(refuses_what_is_no_npy_file),
        cmocka_unit_test(refuses_arrays_of_other_kinds),
        cmocka_unit_test(refuses_malformed_headers),
        cmocka_unit_test(refuses_data_of_another_size),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(writes_no_bfloat16),
        cmocka_unit_test(takes_arrays_without_batch_as_one_entry),
        cmocka_unit_test(refuses_arrays_of_wrong_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
