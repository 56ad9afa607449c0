/* SPDX-License-Identifier: Apache-2.0 */
/* Why something was refused, in one line, with the numbers in it. */
#ifndef DENOISE_MESSAGE_H
#define DENOISE_MESSAGE_H

struct message {
    char text[512];
};

/* Writes the text and returns 0, the failure of every function here: `return refuse(why, ...)`. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int refuse(struct message *why, const char *format, ...);

#endif
