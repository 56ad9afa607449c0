/* SPDX-License-Identifier: Apache-2.0 */
/* The standard streams: open from the start, and written to the last byte or else complained about. */
#ifndef STREAMS_H
#define STREAMS_H

/* Makes sure that descriptors 0 to 2 are taken, so that no file opened later becomes "standard output". One that the
 * parent process closed refuses reads or writes from here on, as it should. */
void streams_reserve(void);

/* Writes out and closes standard output. Returns `status`, or EXIT_WRONG after a message if bytes were lost; a status
 * of EXIT_WRONG had its message before. */
int streams_finish(int status);

/* Whether bytes for standard output would land on a terminal. */
int streams_output_is_terminal(void);

#endif
