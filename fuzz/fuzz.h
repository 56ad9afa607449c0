/* SPDX-License-Identifier: Apache-2.0 */
/* What every fuzzer is: libFuzzer calls the first two, and so does replay.c for files. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process, so that the fuzzer keeps the input, if something that always holds does not. */
#define FUZZ_REQUIRE(holds) fuzz_require((holds), #holds, __FILE__, __LINE__)
void fuzz_require(int holds, const char *what, const char *file, int line);

#endif
