/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress bar on standard error, for people: only on a terminal, only once a second has passed, gone when done.
 * A thread of its own draws it, so that it lives while one long call runs.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

typedef struct progress progress;

/* Starts a bar over `total` steps; 0: an unknown number, only the time is shown. NULL where there is nobody to see it,
 * which all functions here take. */
progress *progress_start(const char *what, int total);

/* So many steps are done. */
void progress_set(progress *bar, int done);

/* Clears the line, so that other text may be printed, until the next progress_resume. */
void progress_pause(progress *bar);
void progress_resume(progress *bar);

/* Clears the line and ends the thread. */
void progress_end(progress *bar);

#endif
