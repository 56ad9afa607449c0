/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line asks for. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "results.h"

typedef struct options {
    unsigned parts; /* bits, 1 << group_part */
    shape_list shapes;
    unsigned types; /* bits, 1 << attn_type */
    int threads[THREAD_COUNTS_MOST];
    int thread_count;
    int64_t longest; /* of the lengths */
    effort effort;
    const char *json, *out, *docs; /* files and a folder to write; NULL: not */
    const char *from;              /* results to report in place of measuring; NULL: none */
} options;

/* Fills in the options and chooses the contenders. Returns 0; 1 if all is said (--help); -1 after a message. */
int options_read(options *o, contender_list *contenders, int argc, char **argv);

#endif
