/* SPDX-License-Identifier: Apache-2.0 */
/* The results as Markdown. */
#ifndef DOCS_H
#define DOCS_H

#include "results.h"

/*
 * Puts the tables between the lines <!-- bench --> and <!-- /bench --> of a file, in place of what is there, with the
 * pictures of plots_write() if their folder is given (as the file sees it; NULL: none). Returns 0, or -1 after a message.
 */
int docs_write(const results *r, const char *path, const char *pictures);

#endif
