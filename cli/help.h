/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, made from the tables. */
#ifndef HELP_H
#define HELP_H

#include "command.h"

void print_help(void);
void print_command_help(const command *c);

#endif
