/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"
#include "clock.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

struct progress {
    const char *what;
    int total;
    double started;
    pthread_t thread;
    pthread_mutex_t lock; /* of the fields below */
    pthread_cond_t changed;
    int done, paused, ended;
    int drawn; /* the line holds a bar */
};

static void draw_bar(const progress *bar) {
    int filled = (int)((double)BAR_WIDTH * bar->done / bar->total);
    fputs(" [", stderr);
    for (int i = 0; i < BAR_WIDTH; i++) fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %d/%d", bar->done, bar->total);
}

static void draw(progress *bar) {
    fprintf(stderr, "\r%s", bar->what);
    if (bar->total > 0) draw_bar(bar);
    fprintf(stderr, " %.0f s\033[K", clock_seconds() - bar->started);
    fflush(stderr);
    bar->drawn = 1;
}

static void clear(progress *bar) {
    if (!bar->drawn) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    bar->drawn = 0;
}

/* Waits for a change, but not longer than so many seconds. The lock is held. */
static void wait_for_change(progress *bar, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(1e9 * seconds);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&bar->changed, &bar->lock, &until);
}

static void *draw_until_ended(void *arg) {
    progress *bar = arg;
    pthread_mutex_lock(&bar->lock);
    while (!bar->ended) {
        if (!bar->paused && clock_seconds() - bar->started > 1.0) draw(bar);
        wait_for_change(bar, 0.2);
    }
    pthread_mutex_unlock(&bar->lock);
    return NULL;
}

progress *progress_start(const char *what, int total) {
    const char *terminal = getenv("TERM");
    if (!isatty(STDERR_FILENO) || (terminal != NULL && strcmp(terminal, "dumb") == 0)) return NULL;
    progress *bar = calloc(1, sizeof *bar);
    if (bar == NULL) return NULL;
    bar->what = what;
    bar->total = total;
    bar->started = clock_seconds();
    pthread_mutex_init(&bar->lock, NULL);
    pthread_cond_init(&bar->changed, NULL);
    if (pthread_create(&bar->thread, NULL, draw_until_ended, bar) == 0) return bar;
    free(bar);
    return NULL;
}

void progress_set(progress *bar, int done) {
    if (bar == NULL) return;
    pthread_mutex_lock(&bar->lock);
    bar->done = done;
    pthread_mutex_unlock(&bar->lock);
}

void progress_pause(progress *bar) {
    if (bar == NULL) return;
    pthread_mutex_lock(&bar->lock);
    bar->paused = 1;
    clear(bar);
    pthread_mutex_unlock(&bar->lock);
}

void progress_resume(progress *bar) {
    if (bar == NULL) return;
    pthread_mutex_lock(&bar->lock);
    bar->paused = 0;
    pthread_mutex_unlock(&bar->lock);
}

void progress_end(progress *bar) {
    if (bar == NULL) return;
    pthread_mutex_lock(&bar->lock);
    bar->ended = 1;
    clear(bar);
    pthread_cond_signal(&bar->changed);
    pthread_mutex_unlock(&bar->lock);
    pthread_join(bar->thread, NULL);
    pthread_mutex_destroy(&bar->lock);
    pthread_cond_destroy(&bar->changed);
    free(bar);
}
