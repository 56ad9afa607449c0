/* SPDX-License-Identifier: Apache-2.0 */
#include "nlm.h"

#include <attn/attn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "patches.h"

/* Pairs of one call of the library: about a second, so that progress can be shown in between. */
#define PAIRS_AT_ONCE (INT64_C(1) << 28)
enum { FEWEST_ROWS_AT_ONCE = 256 };

struct attention {
    attn_engine *engine;
    attn_problem problem;   /* of all rows; seq_q changes from slice to slice */
    struct patches patches; /* q and k */
    float *bias;            /* [count] */
    float *lse;             /* [count] */
    const float *values;    /* [count, channels] */
    float *means;           /* [count, channels] */
};

/* ----------------------------------------------------------------------------------------- the problem */

static double largest_norm(struct attention *attention) {
    double largest = 0.0;
    for (int64_t j = 0; j < attention->patches.count; j++) {
        largest = fmax(largest, patches_squared_norm(&attention->patches, j));
    }
    return largest;
}

/*
 *     -|p_i - p_j|^2 / h^2  =  2 p_i.p_j / h^2  -  |p_j|^2 / h^2  -  |p_i|^2 / h^2
 *
 * The first term is a scaled dot product, the second a bias of the key, and the third is the same for all keys of a
 * row, so that it cancels in the softmax.
 */
static void pose(struct attention *attention, double h, int channels) {
    const int64_t count = attention->patches.count;
    attention->problem = (attn_problem)ATTN_PROBLEM_INIT;
    attention->problem.seq_kv = count;
    attention->problem.dim = attention->patches.dim;
    attention->problem.dim_v = channels;
    attention->problem.scale = 2.0 / (h * h);
    attention->problem.bias = (attn_view){ATTN_F32, {1, 1, 1, count}, {0, 0, 0, 0}};
    attention->problem.with = ATTN_WITH_LSE;
    for (int64_t j = 0; j < count; j++) {
        attention->bias[j] = (float)(-patches_squared_norm(&attention->patches, j) / (h * h));
    }
}

/* How near pixels have to be is a matter of h: dist^2 * levels_per_pixel^2 / h^2 = dist^2 / (2 reach^2). */
static double levels_per_pixel(const struct nlm_options *options) {
    return options->reach > 0.0 ? options->h / (options->reach * sqrt(2.0)) : 0.0;
}

static int prepare(struct attention *attention, const struct picture *noisy, const struct nlm_options *options,
                   struct message *why) {
    if (!patches_create(noisy, options->side, levels_per_pixel(options), &attention->patches, why)) return 0;
    const size_t count = (size_t)attention->patches.count;
    attention->bias = malloc(count * sizeof(float));
    attention->lse = malloc(count * sizeof(float));
    if (attention->bias == NULL || attention->lse == NULL) return refuse(why, "no memory for %zu pixels", count);
    pose(attention, options->h, noisy->channels);
    attention->values = noisy->pixels;

    attn_engine_options engine = ATTN_ENGINE_OPTIONS_INIT;
    engine.threads = options->threads;
    attn_reason reason;
    if (attn_engine_open(&engine, &attention->engine, &reason) != ATTN_OK) return refuse(why, "%s", reason.text);
    return 1;
}

static void end(struct attention *attention) {
    attn_engine_close(attention->engine);
    patches_free(&attention->patches);
    free(attention->bias);
    free(attention->lse);
}

/* --------------------------------------------------------------------------------------------- running */

static void note_plan(const attn_plan *plan, struct nlm_report *report) {
    attn_plan_info info = ATTN_PLAN_INFO_INIT;
    if (attn_plan_get_info(plan, &info, NULL) != ATTN_OK) return;
    report->flops += info.flops;
    snprintf(report->kernel, sizeof report->kernel, "%s", info.kernel);
}

/* Rows first .. first + rows - 1 attend to all pixels. */
static int attend(const struct attention *attention, int64_t first, int64_t rows, struct nlm_report *report,
                  struct message *why) {
    attn_problem problem = attention->problem;
    problem.seq_q = rows;
    attn_plan *plan = NULL;
    attn_reason reason;
    if (attn_plan_create(attention->engine, &problem, 0, &plan, &reason) != ATTN_OK)
        return refuse(why, "%s", reason.text);

    attn_tensors tensors = ATTN_TENSORS_INIT;
    tensors.q = attention->patches.rows + first * problem.dim;
    tensors.k = attention->patches.rows;
    tensors.v = attention->values;
    tensors.bias = attention->bias;
    tensors.o = attention->means + first * problem.dim_v;
    tensors.lse = attention->lse + first;
    const attn_status status = attn_run(plan, &tensors, &reason);
    note_plan(plan, report);
    attn_plan_destroy(plan);
    return status == ATTN_OK ? 1 : refuse(why, "%s", reason.text);
}

/* A row's result does not depend on the other rows, so they may come in slices. */
static int attend_all(const struct attention *attention, const struct nlm_options *options, struct nlm_report *report,
                      struct message *why) {
    const int64_t count = attention->patches.count;
    int64_t at_once = PAIRS_AT_ONCE / count;
    if (at_once < FEWEST_ROWS_AT_ONCE) at_once = FEWEST_ROWS_AT_ONCE;
    for (int64_t first = 0; first < count; first += at_once) {
        if (options->progress != NULL) options->progress(options->user, first, count);
        const int64_t rows = first + at_once < count ? at_once : count - first;
        if (!attend(attention, first, rows, report, why)) return 0;
    }
    return 1;
}

/* -------------------------------------------------------------------------- a pixel's weight on itself */

/*
 * A patch is at distance 0 from itself, noise and all, while its equals elsewhere are 2 sigma^2 away, by their noise
 * and its own. The pixel would keep exp(2 sigma^2 / h^2) times the weight of an equal, and with it its noise. So the
 * weight is lowered to that of an equal, by the factor below.
 *
 * w, the share of the own pixel in the mean, comes from lse to within the rounding of f32 scores; a factor no smaller
 * than that error keeps 1 - w (1 - factor) away from 0.
 */
static double own_factor(struct attention *attention, const struct nlm_options *options) {
    const double h2 = options->h * options->h;
    const double rounding = 64.0 * (double)FLT_EPSILON * (1.0 + largest_norm(attention) / h2);
    return fmin(1.0, fmax(exp(-2.0 * options->sigma * options->sigma / h2), rounding));
}

/* In o the own value v has the share w. With its weight lowered by the factor, and all shares summing up to 1 again,
 * the mean is (o - w (1 - factor) v) / (1 - w (1 - factor)). */
static void lower_own_weights(struct attention *attention, const struct nlm_options *options) {
    const double factor = own_factor(attention, options);
    const int64_t channels = attention->problem.dim_v;
    for (int64_t i = 0; i < attention->patches.count; i++) {
        /* The own score 2 |p_i|^2 / h^2 - |p_i|^2 / h^2 is minus the own bias. */
        const double w = fmin(1.0, exp(-(double)attention->bias[i] - (double)attention->lse[i]));
        const double surplus = w * (1.0 - factor);
        for (int64_t c = i * channels; c < (i + 1) * channels; c++) {
            const double mean =
                ((double)attention->means[c] - surplus * (double)attention->values[c]) / (1.0 - surplus);
            attention->means[c] = (float)mean;
        }
    }
}

/* ------------------------------------------------------------------------------------------- the whole */

static int run(struct attention *attention, const struct nlm_options *options, struct nlm_report *report,
               struct message *why) {
    attn_engine_info info = ATTN_ENGINE_INFO_INIT;
    if (attn_engine_get_info(attention->engine, &info, NULL) == ATTN_OK) report->threads = info.threads;
    report->dim = attention->patches.dim;
    const double started = clock_seconds();
    if (!attend_all(attention, options, report, why)) return 0;
    report->seconds = clock_seconds() - started;
    lower_own_weights(attention, options);
    return 1;
}

int nlm_denoise(const struct picture *noisy, const struct nlm_options *options, struct picture *result,
                struct nlm_report *report, struct message *why) {
    memset(report, 0, sizeof *report);
    if (!picture_create(result, noisy->width, noisy->height, noisy->channels, why)) return 0;
    struct attention attention;
    memset(&attention, 0, sizeof attention);
    attention.means = result->pixels;
    const int done = prepare(&attention, noisy, options, why) && run(&attention, options, report, why);
    end(&attention);
    if (!done) picture_free(result);
    return done;
}
