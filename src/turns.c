/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include <pthread.h>

struct attn_turns {
    pthread_mutex_t mutex;
};

attn_turns *attn_turns_create(const attn_memory *memory) {
    attn_turns *turns = attn_memory_take(memory, sizeof *turns);
    if (turns && pthread_mutex_init(&turns->mutex, NULL) != 0) {
        attn_memory_give(memory, turns);
        turns = NULL;
    }
    return turns;
}

void attn_turns_destroy(attn_turns *turns, const attn_memory *memory) {
    if (!turns) return;
    pthread_mutex_destroy(&turns->mutex);
    attn_memory_give(memory, turns);
}

/* A mutex that was made with default attributes and is not held by this thread cannot refuse. */
void attn_turns_begin(attn_turns *turns) {
    (void)pthread_mutex_lock(&turns->mutex);
}

void attn_turns_end(attn_turns *turns) {
    (void)pthread_mutex_unlock(&turns->mutex);
}
