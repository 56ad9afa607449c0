/* SPDX-License-Identifier: Apache-2.0 */
/* One at a time, the others wait. All that the rest of the library knows of the system's mutex. */
#ifndef ATTN_TURNS_H
#define ATTN_TURNS_H

#include "base/memory.h"

typedef struct attn_turns attn_turns;

/* NULL if there is no memory, or if the system refuses. */
attn_turns *attn_turns_create(const attn_memory *memory);
/* NULL is fine. */
void attn_turns_destroy(attn_turns *turns, const attn_memory *memory);

void attn_turns_begin(attn_turns *turns);
void attn_turns_end(attn_turns *turns);

#endif
