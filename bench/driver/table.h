/* SPDX-License-Identifier: Apache-2.0 */
/* The results for a terminal. */
#ifndef TABLE_H
#define TABLE_H

#include "results.h"

void table_print_machine(const results *r);
/* The line before a group is measured, and the rows after. */
void table_print_title(const group *g);
void table_print_group(const group *g);

#endif
