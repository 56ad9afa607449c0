/* SPDX-License-Identifier: Apache-2.0 */
/* denoise: a photograph denoised by attention, every pixel to every pixel, through the public API of libattn. */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "nlm.h"
#include "noise.h"
#include "options.h"
#include "picture_file.h"

enum { MOST_TOKENS = 1 << 20, DONE = 0, NOT_DONE = 2 };

/* The pictures in the order in which they are shown. */
struct work {
    struct picture original, noisy, denoised;
    double sigma; /* of the noise, added or estimated */
};

/* -------------------------------------------------------------------------------------------- progress */

struct progress {
    double started;
    int shown;
};

/* One line on a terminal that has waited for a second. */
static void show_progress(void *user, int64_t done, int64_t total) {
    struct progress *progress = user;
    const double seconds = clock_seconds() - progress->started;
    if (seconds < 1.0 || !isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r%.0f%% of the rows, %.0f s ", 100.0 * (double)done / (double)total, seconds);
    progress->shown = 1;
}

static void clear_progress(const struct progress *progress) {
    if (progress->shown) fprintf(stderr, "\r%40s\r", "");
}

/* ---------------------------------------------------------------------------------------------- report */

static double peak_mebibytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
    return (double)usage.ru_maxrss / 1048576.0; /* there it is in bytes */
#else
    return (double)usage.ru_maxrss / 1024.0;
#endif
}

static void print_report(const struct options *options, const struct work *work, const struct nlm_report *report) {
    const double pixels = (double)picture_pixels(&work->noisy);
    const double matrix = 4.0 * pixels * pixels / 1048576.0;
    const int in_gibibytes = matrix >= 1024.0;
    printf("picture    %d x %d = %.0f pixels, %s\n", work->noisy.width, work->noisy.height, pixels,
           work->noisy.channels == 3 ? "colour" : "grey");
    printf("noise      sigma %.1f, %s\n", work->sigma, options->sigma > 0.0 ? "added" : "estimated");
    printf("attention  %.0f x %.0f pairs of %d numbers, %d thread%s, %s\n", pixels, pixels, report->dim,
           report->threads, report->threads == 1 ? "" : "s", report->kernel);
    printf("time       %.2f s, %.0f million pairs/s, %.1f GFLOP/s\n", report->seconds,
           1e-6 * pixels * pixels / report->seconds, 1e-9 * report->flops / report->seconds);
    printf("memory     peak %.0f MiB; the matrix of all pairs in f32 would take %.1f %s\n", peak_mebibytes(),
           in_gibibytes ? matrix / 1024.0 : matrix, in_gibibytes ? "GiB" : "MiB");
    if (options->sigma > 0.0) {
        const double before = picture_psnr(&work->original, &work->noisy);
        const double after = picture_psnr(&work->original, &work->denoised);
        printf("PSNR       %.2f dB before, %.2f dB after: %+.2f dB\n", before, after, after - before);
    }
    printf("written    %s: original | %sdenoised\n", options->output, options->sigma > 0.0 ? "noisy | " : "");
}

/* ----------------------------------------------------------------------------------------------- steps */

static int crop_as_asked(const struct options *options, const struct picture *whole, struct picture *crop,
                         struct message *why) {
    struct rectangle part = {0, 0, whole->width, whole->height};
    if (options->has_crop) part = options->crop;
    if (options->has_crop && !options->has_corner) {
        part.x = part.width < whole->width ? (whole->width - part.width) / 2 : 0;
        part.y = part.height < whole->height ? (whole->height - part.height) / 2 : 0;
    }
    if (!picture_crop(whole, part, crop, why)) return 0;
    if (picture_pixels(crop) <= MOST_TOKENS) return 1;
    return refuse(why,
                  "%d x %d pixels would take hours, for each attends to each: choose a part of at most %d with --crop",
                  crop->width, crop->height, MOST_TOKENS);
}

static int load(const struct options *options, struct picture *original, struct message *why) {
    struct picture whole = {0, 0, 0, NULL};
    const int done = picture_read(options->input, &whole, why) && crop_as_asked(options, &whole, original, why);
    picture_free(&whole);
    return done;
}

/* Noise that was not added is estimated, and taken to be a level at least, for rounding alone makes a third of one. */
static int make_noisy(const struct options *options, struct work *work, struct message *why) {
    if (!picture_copy(&work->original, &work->noisy, why)) return 0;
    work->sigma = options->sigma;
    if (options->sigma <= 0.0) {
        if (!noise_estimate(&work->noisy, &work->sigma, why)) return 0;
        work->sigma = fmax(work->sigma, 1.0);
        return 1;
    }
    noise_add(&work->noisy, options->sigma, options->seed);
    picture_round(&work->noisy); /* what is denoised is a picture as a file would hold it */
    return 1;
}

/* Measured to be good for noise of 10 to 50 levels: the distances of grey patches, of fewer samples, vary more. */
static double strength_for(const struct options *options, const struct picture *picture) {
    if (options->strength > 0.0) return options->strength;
    return picture->channels == 3 ? 0.6 : 0.8;
}

static int denoise(const struct options *options, struct work *work, struct nlm_report *report, struct message *why) {
    struct progress progress = {clock_seconds(), 0};
    struct nlm_options nlm = {.side = options->side,
                              .sigma = work->sigma,
                              .h = strength_for(options, &work->noisy) * work->sigma,
                              .reach = options->reach,
                              .threads = options->threads,
                              .progress = show_progress,
                              .user = &progress};
    const int done = nlm_denoise(&work->noisy, &nlm, &work->denoised, report, why);
    clear_progress(&progress);
    if (done) picture_round(&work->denoised);
    return done;
}

static int write_result(const struct options *options, const struct work *work, struct message *why) {
    struct picture shown[3] = {work->original, work->noisy, work->denoised};
    int count = 3;
    if (options->sigma <= 0.0) shown[1] = shown[--count];
    struct picture row = {0, 0, 0, NULL};
    const int done = picture_side_by_side(shown, count, &row, why) && picture_write(options->output, &row, why);
    picture_free(&row);
    return done;
}

/* ------------------------------------------------------------------------------------------------ main */

static int same_file(const char *a, const char *b) {
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Names the file that the reason is about. */
static int about(const char *path, int done, struct message *why) {
    struct message bare = *why;
    return done ? 1 : refuse(why, "%.200s: %.300s", path, bare.text);
}

static int do_all(const struct options *options, struct work *work, struct message *why) {
    struct nlm_report report;
    if (same_file(options->input, options->output)) return refuse(why, "%s would be overwritten", options->input);
    if (!about(options->output, picture_may_write(options->output, why), why)) return 0;
    if (!about(options->input, load(options, &work->original, why), why)) return 0;
    if (!make_noisy(options, work, why) || !denoise(options, work, &report, why)) return 0;
    if (!about(options->output, write_result(options, work, why), why)) return 0;
    print_report(options, work, &report);
    return 1;
}

int main(int count, char **words) {
    struct options options;
    struct message why;
    struct work work;
    memset(&work, 0, sizeof work);
    int done = options_read(count, words, &options, &why);
    if (done && options.help) {
        fputs(options_help, stdout);
        return DONE;
    }
    done = done && do_all(&options, &work, &why);
    picture_free(&work.original);
    picture_free(&work.noisy);
    picture_free(&work.denoised);
    if (!done) fprintf(stderr, "denoise: %s\n", why.text);
    return done ? DONE : NOT_DONE;
}
