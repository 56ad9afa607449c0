/* SPDX-License-Identifier: Apache-2.0 */
/* Case files: what is read, what is refused and with which reason, and that both leave nothing behind. */
#define _POSIX_C_SOURCE 200809L
#include "cli/case.h"
#include "cli/make_case.h"
#include "cli/safetensors.h"
#include "support/sanitizer.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h> /* wants the five above */

/* ---------------------------------------------------------------------------------------------------- files by hand */

/* Parts of headers: a good case is {META, Q, K, V} with 64 bytes of data. */
#define META       "\"__metadata__\":{\"attn_case\":\"1\"}"
#define Q          "\"q\":{\"dtype\":\"F32\",\"shape\":[1,1,2,2],\"data_offsets\":[0,16]}"
#define K          "\"k\":{\"dtype\":\"F32\",\"shape\":[1,1,3,2],\"data_offsets\":[16,40]}"
#define V          "\"v\":{\"dtype\":\"F32\",\"shape\":[1,1,3,2],\"data_offsets\":[40,64]}"
#define CASE(more) "{" META "," Q "," K "," V more "}"
#define TENSOR(name, type, shape, begin, end)                                                                          \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" #begin "," #end "]}"

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

static bytes make_file(const char *header, size_t header_length, size_t data_size) {
    bytes file = {NULL, 8 + header_length + data_size};
    file.data = calloc(file.size, 1);
    assert_non_null(file.data);
    for (int n = 0; n < 8; n++) file.data[n] = (unsigned char)((uint64_t)header_length >> (8 * n));
    memcpy(file.data + 8, header, header_length);
    return file;
}

static void assert_contains(const char *text, const char *part) {
    if (strstr(text, part) == NULL) fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static void assert_refused(const bytes *file, case_status expected, const char *part) {
    case_file c;
    case_error error = {""};
    case_status status = case_read_memory(file->data, file->size, "NAME", &c, &error);
    assert_contains(error.text, part);
    assert_int_equal(status, expected);
    assert_int_equal(strncmp(error.text, "NAME: ", 6), 0);
    assert_null(c.data);
}

/* A header that is wrong, and the part of the reason that says why. */
typedef struct bad_header {
    const char *header;
    size_t data_size;
    case_status status;
    const char *reason;
} bad_header;

static void assert_headers_refused(const bad_header *rows, size_t count) {
    for (size_t n = 0; n < count; n++) {
        bytes file = make_file(rows[n].header, strlen(rows[n].header), rows[n].data_size);
        assert_refused(&file, rows[n].status, rows[n].reason);
        free(file.data);
    }
}
#define ASSERT_HEADERS_REFUSED(rows) assert_headers_refused(rows, sizeof(rows) / sizeof(rows)[0])

static void assert_read(const bytes *file, case_file *c) {
    case_error error;
    if (case_read_memory(file->data, file->size, "NAME", c, &error) != CASE_OK) fail_msg("%s", error.text);
    assert_string_equal(error.text, "");
}

static void assert_header_read(const char *header, size_t data_size, case_file *c) {
    bytes file = make_file(header, strlen(header), data_size);
    assert_read(&file, c);
    free(file.data);
}

/* ------------------------------------------------------------------------------------------------ files on the disk */

static void temporary_path(char path[64]) {
    strcpy(path, "/tmp/attn-test-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
}

static void write_path(const char *path, const bytes *file, size_t size) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(file->data, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
}

/* Reads the file from a pipe, whose length nobody knows beforehand. It has to fit the pipe's buffer. */
static case_status read_through_pipe(const bytes *file, size_t size, case_file *c, case_error *error) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], file->data, size), (ssize_t)size);
    assert_int_equal(close(ends[1]), 0);
    FILE *stream = fdopen(ends[0], "rb");
    assert_non_null(stream);
    case_status status = case_read_stream(stream, "pipe", c, error);
    assert_int_equal(fclose(stream), 0);
    return status;
}

static bytes written(const case_file *c) {
    bytes file = {NULL, 0};
    char *data = NULL;
    case_error error;
    FILE *stream = open_memstream(&data, &file.size);
    assert_non_null(stream);
    if (case_write_stream(c, stream, "memory", &error) != CASE_OK) fail_msg("%s", error.text);
    assert_int_equal(fclose(stream), 0);
    file.data = (unsigned char *)data;
    return file;
}

/* ------------------------------------------------------------------------------------------------------- good files */

static void reads_a_minimal_case(void **state) {
    (void)state;
    case_file c;
    assert_header_read(CASE(""), 64, &c);
    assert_int_equal(c.problem.type, ATTN_F32);
    assert_int_equal(c.problem.batch, 1);
    assert_int_equal(c.problem.heads_q, 1);
    assert_int_equal(c.problem.heads_kv, 1);
    assert_int_equal(c.problem.seq_q, 2);
    assert_int_equal(c.problem.seq_kv, 3);
    assert_int_equal(c.problem.dim, 2);
    assert_int_equal(c.problem.dim_v, 2);
    assert_int_equal(c.problem.with, 0);
    assert_true(c.problem.scale == ATTN_SCALE_DEFAULT);
    assert_true(c.problem.softcap == 0.0);
    assert_int_equal(c.problem.window_left, ATTN_UNBOUNDED);
    assert_int_equal(c.problem.window_right, ATTN_UNBOUNDED);
    assert_int_equal(c.problem.q_offset, ATTN_OFFSET_END);
    assert_string_equal(c.title, "");
    assert_string_equal(c.origin, "");
    assert_non_null(c.inputs.q);
    assert_null(c.inputs.bias);
    case_free(&c);
}

static void reads_every_option(void **state) {
    (void)state;
    case_file c;
    assert_header_read("{\"__metadata__\":{\"attn_case\":\"1\",\"title\":\"a "
                       "\\\"title\\\"\",\"origin\":\"\\u00e9\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\","
                       "\"scale\":\"0.25\",\"softcap\":\"5e0\",\"window_left\":\"7\",\"window_right\":\"2\","
                       "\"q_offset\":\"-3\",\"dropout_p\":\".5\",\"dropout_seed\":\"18446744073709551615\","
                       "\"dropout_offset\":\"9\",\"atol\":\"1e-6\",\"rtol\":\"0\",\"format\":\"pt\"}," Q "," K "," V
                       "}",
                       64, &c);
    double atol, rtol;
    case_tolerance(&c, &atol, &rtol);
    assert_string_equal(c.title, "a \"title\"");
    assert_string_equal(c.origin, "\xc3\xa9\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_true(c.problem.scale == 0.25);
    assert_true(c.problem.softcap == 5.0);
    assert_int_equal(c.problem.window_left, 7);
    assert_int_equal(c.problem.window_right, 2);
    assert_int_equal(c.problem.q_offset, -3);
    assert_true(c.problem.dropout_p == 0.5);
    assert_true(c.inputs.dropout_seed == UINT64_MAX);
    assert_int_equal(c.inputs.dropout_offset, 9);
    assert_true(atol == 1e-6 && rtol == 0.0);
    case_free(&c);
}

static void takes_causal_as_the_tighter_window(void **state) {
    (void)state;
    case_file c;
    assert_header_read(
        "{\"__metadata__\":{\"attn_case\":\"1\",\"window_right\":\"2\",\"causal\":\"1\"}," Q "," K "," V "}", 64, &c);
    assert_int_equal(c.problem.window_right, ATTN_CAUSAL);
    case_free(&c);
    assert_header_read("{\"__metadata__\":{\"attn_case\":\"1\",\"causal\":\"0\"}," Q "," K "," V "}", 64, &c);
    assert_int_equal(c.problem.window_right, ATTN_UNBOUNDED);
    case_free(&c);
}

static void reads_empty_tensors(void **state) {
    (void)state;
    case_file c;
    assert_header_read("{" META "," TENSOR("q", "F16", "2,4,0,8", 0, 0) "," TENSOR(
                           "k", "F16", "2,2,0,8", 0, 0) "," TENSOR("v", "F16", "2,2,0,3", 0, 0) "}",
                       0, &c);
    assert_int_equal(c.problem.seq_q, 0);
    assert_int_equal(c.problem.dim_v, 3);
    assert_non_null(c.inputs.q);
    case_free(&c);
}

/* A tensor of one byte an element in front leaves the others at odd addresses in the file. */
static void aligns_what_the_file_does_not(void **state) {
    (void)state;
    static const float values[4] = {1.5f, -2.0f, 3.25f, 1e-30f};
    const char *header =
        "{" META "," TENSOR("mask", "U8", "1,1,1,3", 0, 3) "," TENSOR("q", "F32", "1,1,2,2", 3, 19) "," TENSOR(
            "k", "F32", "1,1,3,2", 19, 43) "," TENSOR("v", "F32", "1,1,3,2", 43, 67) "}";
    bytes file = make_file(header, strlen(header), 67);
    memcpy(file.data + file.size - 67 + 3, values, sizeof values);
    case_file c;
    assert_read(&file, &c);
    assert_int_equal((uintptr_t)c.inputs.q % sizeof(float), 0);
    assert_memory_equal(c.inputs.q, values, sizeof values);
    assert_int_equal(c.problem.mask.type, ATTN_BOOL);
    case_free(&c);
    free(file.data);
}

static void widens_lengths_of_two_types(void **state) {
    (void)state;
    const char *header = CASE("," TENSOR("q_lens", "I32", "1", 64, 68) "," TENSOR("kv_lens", "I64", "1", 68, 76));
    bytes file = make_file(header, strlen(header), 76);
    file.data[file.size - 12] = 2;
    file.data[file.size - 8] = 3;
    case_file c;
    assert_read(&file, &c);
    assert_int_equal(c.problem.length_type, ATTN_I64);
    assert_int_equal(*(const int64_t *)c.inputs.q_lens, 2);
    assert_int_equal(*(const int64_t *)c.inputs.kv_lens, 3);
    assert_int_equal(c.problem.with, ATTN_WITH_Q_LENS | ATTN_WITH_KV_LENS);
    case_free(&c);
    free(file.data);
}

static void keeps_gradients_for_the_backward_pass(void **state) {
    (void)state;
    case_file c;
    assert_header_read(CASE("," TENSOR("d_o", "F32", "1,1,2,2", 64, 80) "," TENSOR("d_q", "F32", "1,1,2,2", 80, 96)),
                       96, &c);
    assert_int_equal(c.tensors[CASE_D_O].type, ATTN_F32);
    assert_int_equal(c.tensors[CASE_D_Q].rank, 4);
    case_free(&c);
}

/* --------------------------------------------------------------------------------------------- what is no container */

static void refuses_what_is_no_safetensors_file(void **state) {
    (void)state;
    const bytes empty = {NULL, 0};
    unsigned char picture[] = "\x89PNG\r\n\x1a\n and more of a picture";
    const bytes png = {picture, sizeof picture};
    assert_refused(&empty, CASE_ERROR_FORMAT, "should have 8 bytes, only 0 are there");
    assert_refused(&png, CASE_ERROR_FORMAT, "not a safetensors file: a header of 727905341920923785 bytes");
    static const bad_header rows[] = {
        {"", 0, CASE_ERROR_FORMAT, "byte 0: not a safetensors file"},
        {"[1]", 0, CASE_ERROR_FORMAT, "byte 0: not a safetensors file"},
        {" {}", 0, CASE_ERROR_FORMAT, "byte 0: not a safetensors file"},
        {"{", 0, CASE_ERROR_FORMAT, "not JSON"},
        {"{}", 0, CASE_ERROR_CONTENT, "not a case file: its metadata have no attn_case"},
        {"{\"q\":}", 0, CASE_ERROR_FORMAT, "not JSON"},
        {"{,}", 0, CASE_ERROR_FORMAT, "not JSON"},
        {"{\"a", 0, CASE_ERROR_FORMAT, "a string without an end"},
        {"{} x", 0, CASE_ERROR_FORMAT, "byte 3: more after the end of the header"},
        {"{}{}", 0, CASE_ERROR_FORMAT, "byte 2: more after the end of the header"},
        {"{\"a\nb\":1}", 0, CASE_ERROR_FORMAT, "byte 3: a control byte in a string"},
        {"{\v}", 0, CASE_ERROR_FORMAT, "byte 1: a control byte"},
        {"{\"q\\u0000\":{}}", 0, CASE_ERROR_FORMAT, "byte 3: a NUL in a string"},
        {"{\"\xff\":{}}", 0, CASE_ERROR_FORMAT, "byte 2: not UTF-8"},
        {"{\"\xc0\x80\":{}}", 0, CASE_ERROR_FORMAT, "byte 2: not UTF-8"},
        {"{\"\xe0\x80\x80\":{}}", 0, CASE_ERROR_FORMAT, "byte 2: not UTF-8"},
        {"{\"\xf0\x80\x80\x80\":{}}", 0, CASE_ERROR_FORMAT, "byte 2: not UTF-8"},
        {"{\"\xe2\x82\":{}}", 0, CASE_ERROR_FORMAT, "byte 2: not UTF-8"},
        {"{\"\xed\xa0\x80\":{}}", 0, CASE_ERROR_FORMAT, "byte 2: not UTF-8"},
        {"{\"\xf4\x90\x80\x80\":{}}", 0, CASE_ERROR_FORMAT, "byte 2: not UTF-8"},
        {"{\"a\":01}", 0, CASE_ERROR_FORMAT, "byte 5: not a number of JSON"},
        {"{\"a\":-}", 0, CASE_ERROR_FORMAT, "byte 5: not a number of JSON"},
    };
    ASSERT_HEADERS_REFUSED(rows);
    const char nul[] = "{\"a\":\0}";
    bytes file = make_file(nul, sizeof nul - 1, 0);
    assert_refused(&file, CASE_ERROR_FORMAT, "byte 5: a control byte");
    free(file.data);
}

static void refuses_headers_nested_without_end(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    char *header = malloc(DEPTH);
    assert_non_null(header);
    memset(header, '[', DEPTH);
    header[0] = '{';
    header[1] = header[2] = '"'; /* a name that is empty */
    header[3] = ':';
    bytes file = make_file(header, DEPTH, 0);
    assert_refused(&file, CASE_ERROR_FORMAT, "not JSON");
    free(file.data);
    free(header);
}

static void refuses_metadata_of_wrong_types(void **state) {
    (void)state;
    static const bad_header rows[] = {
        {"{\"__metadata__\":[]}", 0, CASE_ERROR_FORMAT, "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"attn_case\":1}}", 0, CASE_ERROR_FORMAT, "the value of 'attn_case' is not a string"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}", 0, CASE_ERROR_FORMAT, "the name 'a' occurs twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, CASE_ERROR_FORMAT, "the name '__metadata__' occurs twice"},
        {"{\"__metadata__\":{\"attn_case\":\"2\"}}", 0, CASE_ERROR_UNSUPPORTED, "version '2' of case files"},
    };
    ASSERT_HEADERS_REFUSED(rows);
}

static void refuses_entries_that_describe_no_tensor(void **state) {
    (void)state;
    static const bad_header rows[] = {
        {"{\"q\":1}", 0, CASE_ERROR_FORMAT, "tensor 'q' is not an object"},
        {"{\"q\":{}}", 0, CASE_ERROR_FORMAT, "tensor 'q' has no dtype"},
        {"{\"q\":{\"dtype\":\"F32\"}}", 0, CASE_ERROR_FORMAT, "tensor 'q' has no shape"},
        {"{\"q\":{\"dtype\":\"F32\",\"shape\":[]}}", 0, CASE_ERROR_FORMAT, "tensor 'q' has no data_offsets"},
        {"{\"q\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, CASE_ERROR_FORMAT, "'dtype' occurs twice"},
        {"{\"q\":{\"order\":\"C\"}}", 0, CASE_ERROR_FORMAT, "'order' is no field of a tensor"},
        {"{\"q\":{\"dtype\":7,\"shape\":[],\"data_offsets\":[0,4]}}", 4, CASE_ERROR_FORMAT, "dtype is not a string"},
        {"{" TENSOR("q", "F4", "2", 0, 1) "}", 1, CASE_ERROR_UNSUPPORTED, "tensor 'q': unknown dtype 'F4'"},
        {"{" TENSOR("q", "f32", "1", 0, 4) "}", 4, CASE_ERROR_UNSUPPORTED, "unknown dtype 'f32'"},
        {"{" Q "," Q "}", 16, CASE_ERROR_FORMAT, "the name 'q' occurs twice"},
    };
    ASSERT_HEADERS_REFUSED(rows);
}

static void refuses_dimensions_that_are_none(void **state) {
    (void)state;
    static const bad_header rows[] = {
        {"{" TENSOR("q", "F32", "1,-3", 0, 4) "}", 4, CASE_ERROR_FORMAT, "tensor 'q': dimension 1 of shape is -3"},
        {"{" TENSOR("q", "F32", "1.5", 0, 4) "}", 4, CASE_ERROR_FORMAT, "not written as a whole number"},
        {"{" TENSOR("q", "F32", "1e0", 0, 4) "}", 4, CASE_ERROR_FORMAT, "not written as a whole number"},
        {"{" TENSOR("q", "F32", "\"1\"", 0, 4) "}", 4, CASE_ERROR_FORMAT, "dimension 0 of shape is not a number"},
        {"{" TENSOR("q", "F32", "[1]", 0, 4) "}", 4, CASE_ERROR_FORMAT, "dimension 0 of shape is not a number"},
        {"{" TENSOR("q", "F32", "9007199254740994", 0, 4) "}", 4, CASE_ERROR_FORMAT, "is 9007199254740994, not one of"},
        {"{" TENSOR("q", "F32", "99999999999999999999999999", 0, 4) "}", 4, CASE_ERROR_FORMAT, "not one of 0 to 2^53"},
        {"{" TENSOR("q", "F32", "4294967296,4294967296,4", 0, 64) "}", 64, CASE_ERROR_FORMAT,
         "product of its dimensions overflows"},
        {"{" TENSOR("q", "F32", "1,1,1,1,1,1,1,1,1", 0, 4) "}", 4, CASE_ERROR_UNSUPPORTED, "9 dimensions, at most 8"},
        {"{\"q\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, CASE_ERROR_FORMAT,
         "shape is not an array"},
    };
    ASSERT_HEADERS_REFUSED(rows);
}

static void refuses_offsets_that_lie(void **state) {
    (void)state;
    static const bad_header rows[] = {
        {"{" META "," Q "," K "," V "}", 63, CASE_ERROR_FORMAT, "truncated: the data should have 64 bytes, only 63"},
        {"{" META "," Q "," K "," V "}", 65, CASE_ERROR_FORMAT, "1 bytes follow the end of the data"},
        {"{" TENSOR("q", "F32", "2", 0, 4) "}", 4, CASE_ERROR_FORMAT, "hold 4 bytes, but shape and dtype need 8"},
        {"{" TENSOR("q", "F32", "1", 0, 9007199254740992) "}", 4, CASE_ERROR_FORMAT, "hold 9007199254740992 bytes"},
        {"{" TENSOR("q", "F32", "1", 9007199254740000, 9007199254740004) "}", 4, CASE_ERROR_FORMAT,
         "a hole of 9007199254740000 bytes"},
        {"{" TENSOR("q", "F32", "1", 8, 4) "}", 8, CASE_ERROR_FORMAT, "end at 4, before their begin at 8"},
        {"{" TENSOR("q", "F32", "1", -4, 0) "}", 4, CASE_ERROR_FORMAT, "data_offsets are not two whole numbers"},
        {"{\"q\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}}", 4, CASE_ERROR_FORMAT,
         "data_offsets are not two"},
        {"{\"q\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, CASE_ERROR_FORMAT,
         "data_offsets are not two"},
        {"{\"q\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":\"0\"}}", 4, CASE_ERROR_FORMAT,
         "data_offsets are not two"},
        {"{" TENSOR("q", "F32", "2", 0, 8) "," TENSOR("k", "F32", "2", 4, 12) "}", 12, CASE_ERROR_FORMAT,
         "tensor 'k' begins at byte 4 of the data and overlaps 'q', which ends at byte 8"},
        {"{" TENSOR("q", "F32", "2", 0, 8) "," TENSOR("k", "F32", "2", 0, 8) "}", 8, CASE_ERROR_FORMAT, "overlaps"},
        {"{" TENSOR("q", "F32", "4", 0, 16) "," TENSOR("k", "F32", "1", 4, 8) "}", 16, CASE_ERROR_FORMAT,
         "overlaps 'q'"},
        {"{" TENSOR("q", "F32", "1", 4, 8) "}", 8, CASE_ERROR_FORMAT, "a hole of 4 bytes before tensor 'q'"},
        {"{" TENSOR("q", "F32", "1", 0, 4) "," TENSOR("k", "F32", "1", 8, 12) "}", 12, CASE_ERROR_FORMAT,
         "a hole of 4 bytes before tensor 'k': bytes 4 to 8"},
    };
    ASSERT_HEADERS_REFUSED(rows);
}

/* -------------------------------------------------------------------------------------------------- what is no case */

static void refuses_tensors_that_make_no_problem(void **state) {
    (void)state;
    static const bad_header rows[] = {
        {"{" META "}", 0, CASE_ERROR_CONTENT, "there is no q"},
        {"{" META "," Q "}", 16, CASE_ERROR_CONTENT, "there is no k"},
        {"{" META "," Q "," K "}", 40, CASE_ERROR_CONTENT, "there is no v"},
        {CASE("," TENSOR("w", "F32", "1", 64, 68)), 68, CASE_ERROR_CONTENT, "'w' is no tensor of a case file"},
        {CASE("," TENSOR("page_table", "I32", "1", 64, 68)), 68, CASE_ERROR_UNSUPPORTED,
         "page tables are not supported"},
        {CASE("," TENSOR("sinks", "F64", "1", 64, 72)), 72, CASE_ERROR_CONTENT,
         "sinks has type f64, but has to be f32"},
        {CASE("," TENSOR("mask", "F32", "1,1,1,1", 64, 68)), 68, CASE_ERROR_CONTENT,
         "mask has type f32, but has to be bool"},
        {CASE("," TENSOR("bias", "BOOL", "1,1,1,1", 64, 65)), 65, CASE_ERROR_CONTENT,
         "bias has type bool, but has to be"},
        {CASE("," TENSOR("kv_lens", "F32", "1", 64, 68)), 68, CASE_ERROR_CONTENT, "has to be i32 or i64"},
        {CASE("," TENSOR("kv_lens", "U32", "1", 64, 68)), 68, CASE_ERROR_UNSUPPORTED, "kv_lens has type U32"},
        {CASE("," TENSOR("mask", "BOOL", "1,1,2", 64, 66)), 66, CASE_ERROR_CONTENT, "mask has 3 dimensions"},
        {CASE("," TENSOR("bias", "F32", "1,1,1,1,1", 64, 68)), 68, CASE_ERROR_CONTENT,
         "bias has 5 dimensions, at most 4"},
        {CASE("," TENSOR("bias", "F32", "1,1,1,4", 64, 80)), 80, CASE_ERROR_CONTENT, "bias"},
        {CASE("," TENSOR("kv_lens", "I32", "2", 64, 72)), 72, CASE_ERROR_CONTENT,
         "kv_lens has 2 batch entries, but q has 1"},
        {CASE("," TENSOR("alibi_slopes", "F32", "2", 64, 72)), 72, CASE_ERROR_CONTENT,
         "has 2 query heads, but q has 1"},
        {CASE("," TENSOR("o", "F32", "1,1,2,3", 64, 88)), 88, CASE_ERROR_CONTENT,
         "o has 3 columns (of v), but v has 2"},
        {CASE("," TENSOR("lse", "F32", "1,1,3", 64, 76)), 76, CASE_ERROR_CONTENT, "lse has 3 rows, but q has 2"},
        {CASE("," TENSOR("d_bias", "F32", "1,1,1,1", 64, 68)), 68, CASE_ERROR_CONTENT,
         "there is a d_bias, but no bias"},
        {CASE("," TENSOR("bias", "F32", "1,1,1,3", 64, 76) "," TENSOR("d_bias", "F32", "1,1,2,3", 76, 100)), 100,
         CASE_ERROR_CONTENT, "dimension 2 of d_bias is 2, but of bias 1"},
        {CASE("," TENSOR("cu_seqlens_q", "I32", "2", 64, 72)), 72, CASE_ERROR_CONTENT,
         "layout bhsd has no cu_seqlens_q"},
    };
    ASSERT_HEADERS_REFUSED(rows);
}

#define THREE(q_shape, k_shape, v_shape, a, b, c)                                                                      \
    "{" META "," TENSOR("q", "F32", q_shape, 0, a) "," TENSOR("k", "F32", k_shape, a, b) "," TENSOR("v", "F32",        \
                                                                                                    v_shape, b, c) "}"

static void refuses_shapes_that_disagree(void **state) {
    (void)state;
    static const bad_header rows[] = {
        {THREE("1,2,2", "1,1,3,2", "1,1,3,2", 16, 40, 64), 64, CASE_ERROR_CONTENT,
         "q has 3 dimensions, but layout bhsd has 4"},
        {THREE("2,1,1,2", "1,1,3,2", "1,1,3,2", 16, 40, 64), 64, CASE_ERROR_CONTENT,
         "k has 1 batch entries, but q has 2"},
        {THREE("1,1,2,2", "1,1,2,3", "1,1,3,2", 16, 40, 64), 64, CASE_ERROR_CONTENT,
         "k has 3 columns (of q), but q has 2"},
        {THREE("1,1,2,2", "1,1,3,2", "1,1,2,3", 16, 40, 64), 64, CASE_ERROR_CONTENT, "v has 2 keys, but k has 3"},
        {THREE("1,1,2,2", "1,1,3,2", "1,3,1,2", 16, 40, 64), 64, CASE_ERROR_CONTENT, "v has 3 key heads, but k has 1"},
        {THREE("1,3,1,2", "1,2,1,2", "1,2,1,2", 24, 40, 56), 56, CASE_ERROR_CONTENT, "heads"},
        {THREE("1,1,2,2", "1,0,3,2", "1,0,3,2", 16, 16, 16), 16, CASE_ERROR_CONTENT, "q has 1 heads, but k has none"},
        {THREE("1,1,2,0", "1,1,3,0", "1,1,3,2", 0, 0, 24), 24, CASE_ERROR_CONTENT, "q has no columns"},
        {THREE("1,1,2,2", "1,1,3,2", "1,1,3,0", 16, 40, 40), 40, CASE_ERROR_CONTENT, "v has no columns"},
        {"{" META "," Q "," TENSOR("k", "F16", "1,1,3,2", 16, 28) "," TENSOR("v", "F16", "1,1,3,2", 28, 40) "}", 40,
         CASE_ERROR_UNSUPPORTED, "k has type f16, but q has f32"},
    };
    ASSERT_HEADERS_REFUSED(rows);
}

#define OPTION(key, value) "{\"__metadata__\":{\"attn_case\":\"1\",\"" key "\":\"" value "\"}," Q "," K "," V "}"

static void refuses_malformed_options(void **state) {
    (void)state;
    static const bad_header rows[] = {
        {OPTION("scale", ""), 64, CASE_ERROR_CONTENT, "scale '' is not a finite decimal number"},
        {OPTION("scale", "0.5x"), 64, CASE_ERROR_CONTENT, "scale '0.5x' is not"},
        {OPTION("scale", " 1"), 64, CASE_ERROR_CONTENT, "scale ' 1' is not"},
        {OPTION("scale", "0x1p3"), 64, CASE_ERROR_CONTENT, "scale '0x1p3' is not"},
        {OPTION("scale", "nan"), 64, CASE_ERROR_CONTENT, "scale 'nan' is not"},
        {OPTION("scale", "inf"), 64, CASE_ERROR_CONTENT, "scale 'inf' is not"},
        {OPTION("scale", "1e999"), 64, CASE_ERROR_CONTENT, "scale '1e999' is not"},
        {OPTION("scale", "1e"), 64, CASE_ERROR_CONTENT, "scale '1e' is not"},
        {OPTION("scale", "."), 64, CASE_ERROR_CONTENT, "scale '.' is not"},
        {OPTION("scale", "1,5"), 64, CASE_ERROR_CONTENT, "scale '1,5' is not"},
        {OPTION("softcap", "-1"), 64, CASE_ERROR_CONTENT, "softcap is -1, at least 0"},
        {OPTION("atol", "-1e-3"), 64, CASE_ERROR_CONTENT, "atol is -0.001"},
        {OPTION("causal", "true"), 64, CASE_ERROR_CONTENT, "causal is 'true', not 0 or 1"},
        {OPTION("causal", "2"), 64, CASE_ERROR_CONTENT, "causal is '2', not 0 or 1"},
        {OPTION("window_left", "3.0"), 64, CASE_ERROR_CONTENT, "window_left '3.0' is not a whole number"},
        {OPTION("window_left", "-1"), 64, CASE_ERROR_CONTENT, "window_left is -1, not in 0 to"},
        {OPTION("window_right", "+1"), 64, CASE_ERROR_CONTENT, "window_right '+1' is not a whole number"},
        {OPTION("window_right", "9223372036854775808"), 64, CASE_ERROR_CONTENT, "is 9223372036854775808, not in"},
        {OPTION("q_offset", "-9223372036854775808"), 64, CASE_ERROR_CONTENT,
         "q_offset is -9223372036854775808, not in"},
        {OPTION("q_offset", "-"), 64, CASE_ERROR_CONTENT, "q_offset '-' is not a whole number"},
        {OPTION("dropout_p", "1"), 64, CASE_ERROR_CONTENT, "dropout_p"},
        {OPTION("dropout_seed", "-1"), 64, CASE_ERROR_CONTENT, "dropout_seed '-1' is not a whole number of 0 to 2^64"},
        {OPTION("dropout_seed", "18446744073709551616"), 64, CASE_ERROR_CONTENT, "'18446744073709551616' is not"},
        {OPTION("layout", "BHSD"), 64, CASE_ERROR_CONTENT, "layout 'BHSD' is not bhsd, bshd or thd"},
        {OPTION("layout", "thd"), 64, CASE_ERROR_CONTENT, "layout thd needs cu_seqlens_q"},
    };
    ASSERT_HEADERS_REFUSED(rows);
}

#define PACKED(q_shape, cu_q, cu_kv, a, b)                                                                             \
    "{\"__metadata__\":{\"attn_case\":\"1\",\"layout\":\"thd\"}," TENSOR("q", "F32", q_shape, 0, 16) "," TENSOR(       \
        "k", "F32", "3,1,2", 16, 40) "," TENSOR("v", "F32", "3,1,2", 40,                                               \
                                                64) "," TENSOR("cu_seqlens_q", "I32", cu_q, 64,                        \
                                                               a) "," TENSOR("cu_seqlens_kv", "I32", cu_kv, a, b) "}"

static void refuses_packed_cases_that_disagree(void **state) {
    (void)state;
    static const bad_header rows[] = {
        {PACKED("2,1,2", "0", "0", 64, 64), 64, CASE_ERROR_CONTENT, "cu_seqlens_q is empty"},
        {PACKED("2,1,2", "2", "3", 72, 84), 84, CASE_ERROR_CONTENT,
         "cu_seqlens_kv has 3 batch entries + 1, but cu_seqlens_q has 2"},
        {PACKED("1,2,1,2", "2", "2", 72, 80), 80, CASE_ERROR_CONTENT, "q has 4 dimensions, but layout thd has 3"},
        {PACKED("2,1,2", "1,2", "2", 72, 80), 80, CASE_ERROR_CONTENT, "cu_seqlens_q has 2 dimensions"},
    };
    ASSERT_HEADERS_REFUSED(rows);
    case_file c;
    assert_header_read(PACKED("2,1,2", "4", "4", 80, 96), 96, &c);
    assert_int_equal(c.problem.batch, 3);
    assert_int_equal(c.problem.seq_q, 2);
    assert_int_equal(c.problem.seq_kv, 3);
    case_free(&c);
}

static void refuses_two_kinds_of_offsets(void **state) {
    (void)state;
    static const bad_header rows[] = {
        {"{\"__metadata__\":{\"attn_case\":\"1\",\"q_offset\":\"0\"}," Q "," K "," V
         "," TENSOR("q_offsets", "I32", "1", 64, 68) "}",
         68, CASE_ERROR_CONTENT, "both q_offset 0 and q_offsets"},
    };
    ASSERT_HEADERS_REFUSED(rows);
}

/* Names and values from a file enter messages, but not their control characters nor all of their length. */
static void keeps_reasons_to_one_short_line(void **state) {
    (void)state;
    char name[9000], header[20000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(header, sizeof header,
                   "{" META ",\"\\n\\u001b[31m%s\":{\"dtype\":\"%s\",\"shape\":[],\"data_offsets\":[0,0]}}", name,
                   name);
    bytes file = make_file(header, strlen(header), 0);
    case_file c;
    case_error error;
    assert_int_equal(case_read_memory(file.data, file.size, name, &c, &error), CASE_ERROR_UNSUPPORTED);
    assert_null(strchr(error.text, '\n'));
    assert_null(strchr(error.text, '\x1b'));
    assert_contains(error.text, "xxx: tensor '??[31mxxx");
    assert_contains(error.text, "unknown dtype 'xxx");
    assert_int_equal(strncmp(error.text, "...xxx", 6), 0);
    assert_int_equal(case_read_memory(file.data, file.size, name, &c, NULL), CASE_ERROR_UNSUPPORTED);
    free(file.data);
}

/* ----------------------------------------------------------------------------------------- truncated and very large */

static void refuses_every_truncation(void **state) {
    (void)state;
    char path[64];
    const char *header = CASE("," TENSOR("kv_lens", "I32", "1", 64, 68));
    bytes file = make_file(header, strlen(header), 68);
    temporary_path(path);
    for (size_t size = 0; size < file.size; size++) {
        const bytes part = {file.data, size};
        case_file c;
        case_error error;
        assert_refused(&part, CASE_ERROR_FORMAT, "truncated");
        write_path(path, &file, size);
        assert_int_equal(case_read(path, &c, &error), CASE_ERROR_FORMAT);
        assert_contains(error.text, path);
        assert_contains(error.text, "truncated");
        assert_int_equal(read_through_pipe(&file, size, &c, &error), CASE_ERROR_FORMAT);
        assert_contains(error.text, "pipe: truncated");
    }
    assert_int_equal(remove(path), 0);
    free(file.data);
}

static void reads_through_a_pipe(void **state) {
    (void)state;
    case_file c;
    case_error error;
    const char *header = CASE("");
    bytes file = make_file(header, strlen(header), 65);
    assert_int_equal(read_through_pipe(&file, file.size - 1, &c, &error), CASE_OK);
    case_free(&c);
    assert_int_equal(read_through_pipe(&file, file.size, &c, &error), CASE_ERROR_FORMAT);
    assert_contains(error.text, "pipe: bytes follow the end of the data");
    free(file.data);
}

static long peak_kilobytes(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* A sanitizer's own memory grows with ours and would be measured. */
static void assert_peak_grew_less(long before, long kilobytes) {
    if (TEST_SANITIZED) return;
    if (peak_kilobytes() - before >= kilobytes) fail_msg("%ld kB more at the peak", peak_kilobytes() - before);
}

/* A file that is 100 MB of header is refused before memory is taken for it; so is one that only says so. */
static void refuses_headers_of_100_megabytes(void **state) {
    (void)state;
    char path[64];
    case_file c;
    case_error error;
    const off_t length = 100 << 20;
    const bytes start = {(unsigned char[9]){0, 0, 0x40, 6, 0, 0, 0, 0, '{'}, 9};
    const long before = peak_kilobytes();
    temporary_path(path);
    write_path(path, &start, start.size);
    assert_int_equal(case_read(path, &c, &error), CASE_ERROR_FORMAT);
    assert_contains(error.text, "a header of 104857600 bytes is announced, 1 bytes follow");
    assert_int_equal(truncate(path, 8 + length), 0);
    assert_int_equal(case_read(path, &c, &error), CASE_ERROR_FORMAT);
    assert_contains(error.text, "a header of 104857600 bytes is announced, at most 1048576 are supported");
    assert_int_equal(read_through_pipe(&start, start.size, &c, &error), CASE_ERROR_FORMAT);
    assert_contains(error.text, "at most 1048576 are supported");
    assert_int_equal(remove(path), 0);
    assert_peak_grew_less(before, 16 << 10);
}

/* A pipe that promises half a terabyte and ends. */
static void takes_no_memory_for_promises(void **state) {
    (void)state;
    case_file c;
    case_error error;
    const char *header = "{" META "," TENSOR("q", "F32", "1,1,137438953472,1", 0, 549755813888) "}";
    bytes file = make_file(header, strlen(header), 100);
    const long before = peak_kilobytes();
    assert_int_equal(read_through_pipe(&file, file.size, &c, &error), CASE_ERROR_FORMAT);
    assert_contains(error.text, "truncated: the data");
    assert_refused(&file, CASE_ERROR_FORMAT, "should have 549755813888 bytes, only 100 are there");
    assert_peak_grew_less(before, 64 << 10);
    free(file.data);
}

/* One copy of the data: 64 MiB of them, read from a file and from a stream of unknown length. */
static void reads_large_files_once(void **state) {
    (void)state;
    char path[64], pipe_command[128];
    case_file c;
    case_error error;
    const char *header = "{" META "," TENSOR("q", "F32", "1,1,4194304,4", 0, 67108864) "," TENSOR(
        "k", "F32", "1,1,1,4", 67108864, 67108880) "," TENSOR("v", "F32", "1,1,1,4", 67108880, 67108896) "}";
    bytes file = make_file(header, strlen(header), 0);
    temporary_path(path);
    write_path(path, &file, file.size);
    assert_int_equal(truncate(path, (off_t)file.size + 67108896), 0);
    const long before = peak_kilobytes();
    assert_int_equal(case_read(path, &c, &error), CASE_OK);
    case_free(&c);
    assert_peak_grew_less(before, 80 << 10);
    (void)snprintf(pipe_command, sizeof pipe_command, "cat %s", path);
    FILE *stream = popen(pipe_command, "r");
    assert_non_null(stream);
    assert_int_equal(case_read_stream(stream, "cat", &c, &error), CASE_OK);
    assert_int_equal(pclose(stream), 0);
    assert_int_equal(c.problem.seq_q, 4194304);
    case_free(&c);
    assert_int_equal(remove(path), 0);
    free(file.data);
}

static void names_what_the_system_refuses(void **state) {
    (void)state;
    case_file c;
    case_error error;
    assert_int_equal(case_read("/nonexistent/case", &c, &error), CASE_ERROR_SYSTEM);
    assert_contains(error.text, "/nonexistent/case: cannot open: No such file");
    assert_int_equal(case_read("/", &c, &error), CASE_ERROR_SYSTEM);
    assert_contains(error.text, "/: cannot read: Is a directory");
    assert_header_read(CASE(""), 64, &c);
    assert_int_equal(case_write(&c, "/nonexistent/case", &error), CASE_ERROR_SYSTEM);
    assert_contains(error.text, "/nonexistent/case: cannot open");
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(case_write(&c, "/dev/full", &error), CASE_ERROR_SYSTEM);
        assert_contains(error.text, "/dev/full: cannot write: No space left");
        assert_int_equal(access("/dev/full", F_OK), 0);
    }
    case_free(&c);
}

/* What could not be read again is not written, and no half of it is left. */
static void writes_no_title_that_is_not_text(void **state) {
    (void)state;
    char path[64];
    case_file c;
    case_error error;
    assert_header_read(CASE(""), 64, &c);
    assert_int_equal(case_set(&c, "title", "a byte of Latin-1: \xe9", &error), CASE_OK);
    temporary_path(path);
    assert_int_equal(case_write(&c, path, &error), CASE_ERROR_FORMAT);
    assert_contains(error.text, "not UTF-8");
    assert_int_not_equal(access(path, F_OK), 0);
    case_free(&c);
}

/* ------------------------------------------------------------------------------------------------------- round trip */

static void assert_same_tensor(const case_tensor *a, const case_tensor *b) {
    size_t size = attn_type_size(a->type);
    assert_int_equal(a->type, b->type);
    if (a->type == ATTN_TYPE_DEFAULT) return;
    assert_int_equal(a->rank, b->rank);
    for (int n = 0; n < a->rank; n++) {
        assert_int_equal(a->shape[n], b->shape[n]);
        size *= (size_t)a->shape[n];
    }
    if (size > 0) assert_memory_equal(a->data, b->data, size);
}

/* Writes the case, reads it back, compares everything, and writes it again. */
static void assert_round_trip(const case_file *c) {
    bytes first = written(c);
    case_file again;
    assert_read(&first, &again);
    for (int slot = 0; slot < CASE_SLOTS; slot++) assert_same_tensor(&c->tensors[slot], &again.tensors[slot]);
    assert_string_equal(c->title, again.title);
    assert_string_equal(c->origin, again.origin);
    assert_int_equal(c->layout, again.layout);
    assert_memory_equal(&c->problem.batch, &again.problem.batch, 7 * sizeof(int64_t));
    assert_int_equal(c->problem.with, again.problem.with);
    bytes second = written(&again);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    case_free(&again);
    free(first.data);
    free(second.data);
}

/* A random case with everything that goes together. */
static void make_full_case(case_layout layout, attn_type type, case_file *c) {
    make_case_options options;
    case_error error;
    make_case_options_init(&options);
    options.seed = 11;
    options.type = type;
    options.layout = layout;
    options.batch = 3;
    options.heads_q = 4;
    options.heads_kv = 2;
    options.seq_q = 7;
    options.seq_kv = 9;
    options.dim = 5;
    options.dim_v = 3;
    options.bias.wanted = options.mask.wanted = 1;
    options.mask.shape[0] = options.mask.shape[2] = 1;
    options.bias_excluded = 0.1;
    options.alibi = options.sinks = options.q_lens = options.kv_lens = 1;
    options.options.causal = 1;
    options.options.window_left = 4;
    options.options.scale = 0.1;
    options.options.softcap = 3.3;
    options.options.dropout_p = 0.3;
    options.options.dropout_seed = UINT64_MAX;
    options.options.dropout_offset = 1;
    options.options.atol = 1e-300;
    if (make_case(&options, c, &error) != CASE_OK) fail_msg("%s", error.text);
}

static void run(const case_file *c, case_outputs *outputs) {
    case_error error;
    attn_reason reason;
    attn_engine_options options = ATTN_ENGINE_OPTIONS_INIT;
    attn_engine *engine;
    attn_plan *plan;
    attn_problem problem = c->problem;
    options.kind = ATTN_ENGINE_ORACLE;
    problem.with |= ATTN_WITH_LSE;
    if (case_outputs_make(c, &problem, outputs, &error) != CASE_OK) fail_msg("%s", error.text);
    const attn_tensors tensors = case_tensors(c, outputs);
    assert_int_equal(attn_engine_open(&options, &engine, &reason), ATTN_OK);
    if (attn_plan_create(engine, &problem, 0, &plan, &reason) != ATTN_OK) fail_msg("%s", reason.text);
    if (attn_run(plan, &tensors, &reason) != ATTN_OK) fail_msg("%s", reason.text);
    attn_plan_destroy(plan);
    attn_engine_close(engine);
}

static void writes_what_it_reads(void **state) {
    (void)state;
    static const attn_type types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64};
    for (int layout = CASE_BHSD; layout <= CASE_THD; layout++) {
        for (size_t n = 0; n < sizeof types / sizeof types[0]; n++) {
            case_file c;
            case_outputs outputs;
            make_full_case((case_layout)layout, types[n], &c);
            assert_round_trip(&c);
            run(&c, &outputs);
            case_expect(&c, &outputs);
            assert_null(outputs.o.data);
            assert_true((c.problem.with & ATTN_WITH_LSE) != 0);
            assert_round_trip(&c);
            case_free(&c);
        }
    }
}

/* ----------------------------------------------------------------------------------------------------------------
 * layouts */

static void transpose_heads_and_rows(const case_tensor *from, case_tensor *to) {
    const int64_t *n = from->shape;
    const size_t row = (size_t)n[3] * sizeof(float);
    *to = *from;
    to->shape[1] = n[2];
    to->shape[2] = n[1];
    to->data = to->owned = malloc((size_t)(n[0] * n[1] * n[2]) * row);
    assert_non_null(to->owned);
    for (int64_t b = 0; b < n[0]; b++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t i = 0; i < n[2]; i++)
                memcpy((char *)to->owned + (size_t)((b * n[2] + i) * n[1] + h) * row,
                       (const char *)from->data + (size_t)((b * n[1] + h) * n[2] + i) * row, row);
}

static void make_plain_case(case_file *c) {
    make_case_options options;
    case_error error;
    make_case_options_init(&options);
    options.batch = 2;
    options.heads_q = 4;
    options.heads_kv = 2;
    options.seq_q = 5;
    options.seq_kv = 7;
    options.dim = 6;
    options.dim_v = 3;
    options.options.causal = 1;
    if (make_case(&options, c, &error) != CASE_OK) fail_msg("%s", error.text);
}

static void assert_verdict(const case_file *c, const case_outputs *got, const case_outputs *expected) {
    case_verdict verdict;
    case_error error;
    assert_int_equal(case_compare(c, CASE_O, &got->o, &expected->o, &verdict, &error), CASE_OK);
    assert_true(verdict.pass && verdict.max_error == 0.0 && verdict.elements > 0);
    assert_int_equal(case_compare(c, CASE_LSE, &got->lse, &expected->lse, &verdict, &error), CASE_OK);
    assert_true(verdict.pass && verdict.max_error == 0.0 && verdict.elements > 0);
}

/* Builds the case in another layout from tensors with heads and rows exchanged, runs both, compares. */
static void means_the_same_in_every_layout(void **state) {
    (void)state;
    static const char *const names[] = {"q", "k", "v"};
    case_file plain;
    case_outputs expected;
    make_plain_case(&plain);
    run(&plain, &expected);
    for (int layout = CASE_BSHD; layout <= CASE_THD; layout++) {
        const int32_t cu_q[3] = {0, 5, 10}, cu_kv[3] = {0, 7, 14};
        case_file c;
        case_error error;
        case_outputs got, exchanged = {{0}, {0}};
        case_init(&c);
        c.layout = (case_layout)layout;
        c.options = plain.options;
        for (int slot = CASE_Q; slot <= CASE_V; slot++) {
            case_tensor tensor;
            transpose_heads_and_rows(&plain.tensors[slot], &tensor);
            if (layout == CASE_THD) {
                tensor.rank = 3;
                tensor.shape[0] *= tensor.shape[1];
                memmove(tensor.shape + 1, tensor.shape + 2, 2 * sizeof tensor.shape[0]);
            }
            assert_int_equal(case_add(&c, names[slot], &tensor, &error), CASE_OK);
        }
        if (layout == CASE_THD) {
            const case_tensor q = {ATTN_I32, 1, {3}, cu_q, NULL}, kv = {ATTN_I32, 1, {3}, cu_kv, NULL};
            assert_int_equal(case_add(&c, "cu_seqlens_q", &q, &error), CASE_OK);
            assert_int_equal(case_add(&c, "cu_seqlens_kv", &kv, &error), CASE_OK);
        }
        if (case_finish(&c, &error) != CASE_OK) fail_msg("%s", error.text);
        run(&c, &got);
        transpose_heads_and_rows(&expected.o, &exchanged.o);
        assert_memory_equal(got.o.data, exchanged.o.data, (size_t)(2 * 4 * 5 * 3) * sizeof(float));
        if (layout == CASE_BSHD) {
            exchanged.lse = expected.lse;
            exchanged.lse.owned = NULL;
            assert_verdict(&c, &got, &exchanged);
        }
        case_outputs_free(&exchanged);
        case_outputs_free(&got);
        case_free(&c);
    }
    case_outputs_free(&expected);
    case_free(&plain);
}

/* --------------------------------------------------------------------------------------------------------------
 * comparing */

static void set(case_tensor *tensor, int64_t index, float value) {
    ((float *)tensor->owned)[index] = value;
}

static void fill(case_tensor *tensor, float value) {
    int64_t count = 1;
    for (int n = 0; n < tensor->rank; n++) count *= tensor->shape[n];
    for (int64_t n = 0; n < count; n++) set(tensor, n, value);
}

/* Two equal outputs of a case. */
static void make_pair(const case_file *c, case_outputs pair[2]) {
    case_error error;
    for (int n = 0; n < 2; n++) {
        assert_int_equal(case_outputs_make(c, &c->problem, &pair[n], &error), CASE_OK);
        fill(&pair[n].o, 1);
    }
}

static case_verdict compare(const case_file *c, const case_outputs pair[2]) {
    case_verdict verdict;
    case_error error;
    assert_int_equal(case_compare(c, CASE_O, &pair[0].o, &pair[1].o, &verdict, &error), CASE_OK);
    return verdict;
}

static void assert_worst(const case_verdict *verdict, int64_t b, int64_t h, int64_t i, int64_t column) {
    assert_int_equal(verdict->index[0], b);
    assert_int_equal(verdict->index[1], h);
    assert_int_equal(verdict->index[2], i);
    assert_int_equal(verdict->index[3], column);
}

static void finds_the_worst_element(void **state) {
    (void)state;
    case_file c;
    case_outputs pair[2];
    make_plain_case(&c); /* o: [2, 4, 5, 3] */
    make_pair(&c, pair);
    c.options.atol = 0.5;
    c.options.rtol = 0.25;
    assert_true(compare(&c, pair).pass);
    set(&pair[0].o, ((1 * 4 + 2) * 5 + 3) * 3 + 2, 1.75f); /* on the limit: 0.5 + 0.25 * 1 */
    case_verdict verdict = compare(&c, pair);
    assert_true(verdict.pass && verdict.limit == 0.75 && verdict.got == 1.75 && verdict.expected == 1.0);
    assert_int_equal(verdict.elements, 120);
    assert_worst(&verdict, 1, 2, 3, 2);
    set(&pair[0].o, 7, -4);
    set(&pair[1].o, 119, -100); /* a larger error, but its limit is larger still */
    set(&pair[0].o, 119, -120);
    verdict = compare(&c, pair);
    assert_false(verdict.pass);
    assert_int_equal(verdict.failures, 1);
    assert_true(verdict.max_error == 20.0);
    assert_worst(&verdict, 0, 0, 2, 1);
    case_outputs_free(&pair[0]);
    case_outputs_free(&pair[1]);
    case_free(&c);
}

static void compares_what_is_not_finite(void **state) {
    (void)state;
    const float special[] = {0, NAN, INFINITY, -INFINITY};
    case_file c;
    case_outputs pair[2];
    make_plain_case(&c);
    make_pair(&c, pair);
    c.options.atol = c.options.rtol = 1e30; /* no tolerance reaches what is not finite */
    for (int got = 0; got < 4; got++) {
        for (int expected = 0; expected < 4; expected++) {
            set(&pair[0].o, 4, special[got]);
            set(&pair[1].o, 4, special[expected]);
            case_verdict verdict = compare(&c, pair);
            assert_int_equal(verdict.pass, got == expected);
            assert_int_equal(verdict.failures, got != expected);
            if (got != expected) assert_worst(&verdict, 0, 0, 1, 1);
        }
    }
    set(&pair[0].o, 5, NAN); /* as bad as element 4: the first is told */
    case_verdict verdict = compare(&c, pair);
    assert_int_equal(verdict.failures, 1);
    set(&pair[0].o, 4, NAN);
    verdict = compare(&c, pair);
    assert_int_equal(verdict.failures, 2);
    assert_worst(&verdict, 0, 0, 1, 1);
    case_outputs_free(&pair[0]);
    case_outputs_free(&pair[1]);
    case_free(&c);
}

/* Fresh outputs are NaN, so a run that leaves an element out does not pass. */
static void fails_what_was_never_written(void **state) {
    (void)state;
    static const attn_type types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64};
    for (size_t n = 0; n < sizeof types / sizeof types[0]; n++) {
        case_file c;
        case_outputs outputs, untouched;
        case_verdict verdict;
        case_error error;
        make_full_case(CASE_BHSD, types[n], &c);
        run(&c, &outputs);
        assert_int_equal(case_outputs_make(&c, &c.problem, &untouched, &error), CASE_OK);
        assert_null(untouched.lse.data);
        assert_int_equal(case_compare(&c, CASE_O, &untouched.o, &outputs.o, &verdict, &error), CASE_OK);
        assert_int_equal(verdict.failures, verdict.elements);
        assert_true(isnan(verdict.got));
        assert_int_equal(case_compare(&c, CASE_LSE, &untouched.lse, &outputs.lse, &verdict, &error),
                         CASE_ERROR_CONTENT);
        assert_contains(error.text, "there is no lse of the run");
        case_outputs_free(&outputs);
        case_outputs_free(&untouched);
        case_free(&c);
    }
}

static void names_sequence_and_row_of_packed_elements(void **state) {
    (void)state;
    const int32_t cu_q[4] = {0, 2, 2, 4}, cu_kv[4] = {0, 1, 1, 1};
    static const float data[5 * 3 * 2];
    const case_tensor q = {ATTN_F32, 3, {5, 3, 2}, data, NULL}, k = {ATTN_F32, 3, {1, 3, 2}, data, NULL};
    const case_tensor q_ends = {ATTN_I32, 1, {4}, cu_q, NULL}, kv_ends = {ATTN_I32, 1, {4}, cu_kv, NULL};
    case_file c;
    case_error error;
    case_outputs pair[2];
    case_init(&c);
    c.layout = CASE_THD;
    assert_int_equal(case_add(&c, "q", &q, &error), CASE_OK);
    assert_int_equal(case_add(&c, "k", &k, &error), CASE_OK);
    assert_int_equal(case_add(&c, "v", &k, &error), CASE_OK);
    assert_int_equal(case_add(&c, "cu_seqlens_q", &q_ends, &error), CASE_OK);
    assert_int_equal(case_add(&c, "cu_seqlens_kv", &kv_ends, &error), CASE_OK);
    assert_int_equal(case_finish(&c, &error), CASE_OK);
    make_pair(&c, pair);
    set(&pair[0].o, (3 * 3 + 1) * 2 + 1, 9);
    case_verdict verdict = compare(&c, pair);
    assert_worst(&verdict, 2, 1, 1, 1);
    set(&pair[0].o, (4 * 3 + 2) * 2, 10);
    verdict = compare(&c, pair);
    assert_int_equal(verdict.failures, 2);
    assert_worst(&verdict, -1, 2, 4, 0);
    case_outputs_free(&pair[0]);
    case_outputs_free(&pair[1]);
    case_free(&c);
}

static void takes_tolerances_by_type(void **state) {
    (void)state;
    static const struct {
        attn_type type;
        double atol, rtol;
    } rows[] = {{ATTN_F32, 2e-5, 1e-4}, {ATTN_F16, 2e-3, 4e-3}, {ATTN_BF16, 1e-2, 2e-2}, {ATTN_F64, 1e-10, 1e-9}};
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        case_file c;
        double atol, rtol;
        make_full_case(CASE_BHSD, rows[n].type, &c);
        c.options.atol = -1;
        case_tolerance(&c, &atol, &rtol);
        assert_true(atol == rows[n].atol && rtol == rows[n].rtol);
        c.options.atol = 0.25; /* one of them given: the other stays */
        case_tolerance(&c, &atol, &rtol);
        assert_true(atol == 0.25 && rtol == rows[n].rtol);
        case_free(&c);
    }
}

static void refuses_to_compare_other_shapes(void **state) {
    (void)state;
    case_file c;
    case_outputs pair[2];
    case_verdict verdict;
    case_error error;
    make_plain_case(&c);
    make_pair(&c, pair);
    pair[1].o.shape[2] = 6;
    assert_int_equal(case_compare(&c, CASE_O, &pair[0].o, &pair[1].o, &verdict, &error), CASE_ERROR_CONTENT);
    assert_contains(error.text, "dimension 2 of o is 5, but 6 is expected");
    assert_int_equal(case_compare(&c, CASE_O, &pair[0].o, &c.tensors[CASE_O], &verdict, &error), CASE_ERROR_CONTENT);
    assert_contains(error.text, "there is no o expected");
    assert_false(verdict.pass);
    case_outputs_free(&pair[0]);
    case_outputs_free(&pair[1]);
    case_free(&c);
}

/* -------------------------------------------------------------------------------------------- cases of other origin */

/* The folder of conformance cases beside the checkout, or NULL. */
static DIR *open_conformance(const char *below, char path[2048]) {
    const char *slash = strrchr(__FILE__, '/');
    (void)snprintf(path, 2048, "%.*s/../../shared/conformance%s", slash != NULL ? (int)(slash - __FILE__) : 1,
                   slash != NULL ? __FILE__ : ".", below);
    return opendir(path);
}

static void check_conformance_file(const char *path) {
    case_file c;
    case_error error;
    case_verdict verdict;
    if (case_read(path, &c, &error) != CASE_OK) fail_msg("%s", error.text);
    assert_int_equal(c.tensors[CASE_O].type == ATTN_TYPE_DEFAULT, 0);
    const case_tensor *o = &c.tensors[CASE_O];
    assert_int_equal(case_compare(&c, CASE_O, o, o, &verdict, &error), CASE_OK);
    assert_true(verdict.pass);
    assert_round_trip(&c);
    case_free(&c);
}

static int check_conformance_folder(const char *below) {
    char path[2048], name[4096];
    int count = 0;
    DIR *folder = open_conformance(below, path);
    if (folder == NULL) return 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        const char *suffix = strrchr(entry->d_name, '.');
        if (suffix == NULL || strcmp(suffix, ".safetensors") != 0) continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        check_conformance_file(name);
        count++;
    }
    assert_int_equal(closedir(folder), 0);
    return count;
}

static void reads_every_conformance_case(void **state) {
    (void)state;
    char path[2048];
    int count = 0;
    DIR *root = open_conformance("", path);
    if (root == NULL) skip();
    for (const struct dirent *entry = readdir(root); entry != NULL; entry = readdir(root)) {
        char below[512];
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(below, sizeof below, "/%s", entry->d_name);
        count += check_conformance_folder(below);
    }
    assert_int_equal(closedir(root), 0);
    assert_true(count > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_minimal_case),
        cmocka_unit_test(reads_every_option),
        cmocka_unit_test(takes_causal_as_the_tighter_window),
        cmocka_unit_test(reads_empty_tensors),
        cmocka_unit_test(aligns_what_the_file_does_not),
        cmocka_unit_test(widens_lengths_of_two_types),
        cmocka_unit_test(keeps_gradients_for_the_backward_pass),
        cmocka_unit_test(refuses_what_is_no_safetensors_file),
        cmocka_unit_test(refuses_headers_nested_without_end),
        cmocka_unit_test(refuses_metadata_of_wrong_types),
        cmocka_unit_test(refuses_entries_that_describe_no_tensor),
        cmocka_unit_test(refuses_dimensions_that_are_none),
        cmocka_unit_test(refuses_offsets_that_lie),
        cmocka_unit_test(refuses_tensors_that_make_no_problem),
        cmocka_unit_test(refuses_shapes_that_disagree),
        cmocka_unit_test(refuses_malformed_options),
        cmocka_unit_test(refuses_packed_cases_that_disagree),
        cmocka_unit_test(refuses_two_kinds_of_offsets),
        cmocka_unit_test(keeps_reasons_to_one_short_line),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(reads_through_a_pipe),
        cmocka_unit_test(refuses_headers_of_100_megabytes),
        cmocka_unit_test(takes_no_memory_for_promises),
        cmocka_unit_test(reads_large_files_once),
        cmocka_unit_test(names_what_the_system_refuses),
        cmocka_unit_test(writes_no_title_that_is_not_text),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(means_the_same_in_every_layout),
        cmocka_unit_test(finds_the_worst_element),
        cmocka_unit_test(compares_what_is_not_finite),
        cmocka_unit_test(fails_what_was_never_written),
        cmocka_unit_test(names_sequence_and_row_of_packed_elements),
        cmocka_unit_test(takes_tolerances_by_type),
        cmocka_unit_test(refuses_to_compare_other_shapes),
        cmocka_unit_test(reads_every_conformance_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
