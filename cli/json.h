/* SPDX-License-Identifier: Apache-2.0 */
/* What cJSON lacks for reports. */
#ifndef JSON_H
#define JSON_H

#include "attn/attn.h"
#include <cjson/cJSON.h>

/* Adds a number; one that JSON has no way to write becomes the string "nan", "inf" or "-inf". */
void json_add_number(cJSON *object, const char *name, double value);

/* The sizes, types and options of a problem as an object, which belongs to the caller. */
cJSON *json_problem(const attn_problem *problem);

/* Prints a document and a newline to standard output and frees it. Returns an exit code. */
int json_print(cJSON *document);

#endif
