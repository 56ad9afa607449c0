/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char options_help[] =
    "usage: denoise PICTURE [-o OUT.png] [options]\n"
    "\n"
    "Removes noise from a photograph (PNG or JPEG) by non-local means: every pixel becomes the mean of all pixels,\n"
    "weighted by how alike their surroundings are. That is exact attention, every pixel to every pixel.\n"
    "Writes a PNG with the pictures side by side: original, with noise added (if --sigma), denoised.\n"
    "\n"
    "  denoise photo.jpg --crop 256x256+138+70 --sigma 25     add noise, remove it, say how well that went\n"
    "  denoise noisy.png -o clean.png                         remove the noise that a picture has\n"
    "\n"
    "  -o, --output OUT.png  where the result goes; default denoised.png\n"
    "  --crop WxH+X+Y        work on this part only; WxH alone is from the middle\n"
    "  --sigma S             add Gaussian noise of standard deviation S levels (of 255) first;\n"
    "                        default: none is added, and the noise that there is gets estimated\n"
    "  --seed N              of the added noise; default 1\n"
    "  --strength F          width h of the weights as a multiple of the noise, more smooths more;\n"
    "                        default 0.6, for grey pictures 0.8\n"
    "  --patch N             side of the surroundings compared: 3, 5 (default), 7 ... 15\n"
    "  --reach PIXELS        far pixels count less, by exp(-1/2) at this distance; default 24, 0: as much as near "
    "ones\n"
    "  --threads N           default: one a processor. The time grows with the square of the number of pixels\n"
    "  -h, --help            this text\n"
    "\n"
    "Exit status: 0 done; 2 not done, the reason is on standard error and no file was written.\n";

/* ---------------------------------------------------------------------------------------------- values */

static int read_whole(const char *text, long long least, long long most, int *value) {
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most) return 0;
    *value = (int)number;
    return 1;
}

static int read_real(const char *text, double least, double most, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= least && *value <= most; /* a NaN is neither */
}

static int read_seed(const char *text, uint64_t *seed) {
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

/* One number of a crop, and the character before the next one. */
static int read_part(const char **text, char before, int *value) {
    if (before != '\0' && *(*text)++ != before) return 0;
    if (**text < '0' || **text > '9') return 0;
    char *end;
    errno = 0;
    const long number = strtol(*text, &end, 10);
    *value = (int)number;
    *text = end;
    return errno == 0 && number <= INT_MAX;
}

static int read_crop(const char *text, struct options *options) {
    struct rectangle *crop = &options->crop;
    if (!read_part(&text, '\0', &crop->width) || !read_part(&text, 'x', &crop->height)) return 0;
    options->has_crop = 1;
    options->has_corner = *text != '\0';
    if (!options->has_corner) return 1;
    return read_part(&text, '+', &crop->x) && read_part(&text, '+', &crop->y) && *text == '\0';
}

/* --------------------------------------------------------------------------------------------- options */

static int is(const char *word, const char *name, const char *short_name) {
    return strcmp(word, name) == 0 || (short_name != NULL && strcmp(word, short_name) == 0);
}

/* Sets option `name`. Returns what it wants where the value is wrong, "" where it is right, NULL for no option. */
static const char *set(struct options *o, const char *name, const char *value) {
    if (is(name, "--output", "-o")) {
        o->output = value;
        return *value != '\0' ? "" : "a file name";
    }
    if (is(name, "--crop", NULL)) return read_crop(value, o) ? "" : "WxH or WxH+X+Y";
    if (is(name, "--sigma", NULL)) return read_real(value, 0.1, 255.0, &o->sigma) ? "" : "a number from 0.1 to 255";
    if (is(name, "--seed", NULL)) return read_seed(value, &o->seed) ? "" : "a whole number from 0 to 2^64 - 1";
    if (is(name, "--strength", NULL))
        return read_real(value, 0.1, 100.0, &o->strength) ? "" : "a number from 0.1 to 100";
    if (is(name, "--reach", NULL)) return read_real(value, 0.0, 1e6, &o->reach) ? "" : "a number from 0 to 1000000";
    if (is(name, "--threads", NULL))
        return read_whole(value, 1, 1024, &o->threads) ? "" : "a whole number from 1 to 1024";
    if (is(name, "--patch", NULL)) {
        const int good = read_whole(value, 3, 15, &o->side) && o->side % 2 == 1;
        return good ? "" : "an odd number from 3 to 15";
    }
    return NULL;
}

static int read_option(int count, char **words, int *at, struct options *options, struct message *why) {
    const char *name = words[*at];
    const char *value = *at + 1 < count ? words[*at + 1] : NULL;
    const char *wanted = set(options, name, value != NULL ? value : "");
    if (wanted == NULL) return refuse(why, "there is no option %s (see denoise --help)", name);
    if (value == NULL) return refuse(why, "%s wants a value (see denoise --help)", name);
    if (*wanted != '\0') return refuse(why, "%s wants %s, not '%s'", name, wanted, value);
    *at += 1;
    return 1;
}

static int read_word(int count, char **words, int *at, struct options *options, struct message *why) {
    const char *word = words[*at];
    if (is(word, "--help", "-h")) {
        options->help = 1;
        return 1;
    }
    if (word[0] == '-' && word[1] != '\0') return read_option(count, words, at, options, why);
    if (options->input != NULL) return refuse(why, "one picture at a time, not '%s' and '%s'", options->input, word);
    options->input = word;
    return 1;
}

int options_read(int count, char **words, struct options *options, struct message *why) {
    memset(options, 0, sizeof *options);
    options->output = "denoised.png";
    options->seed = 1;
    options->reach = 24.0;
    options->side = 5;
    for (int at = 1; at < count && !options->help; at++) {
        if (!read_word(count, words, &at, options, why)) return 0;
    }
    if (options->input == NULL && !options->help) return refuse(why, "which picture? (see denoise --help)");
    return 1;
}
