/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends gnuplot, for each picture, some variables, the numbers as a data block under a row of names, and the order to
 * load the script in bench/plots/ that draws them.
 */
#define _GNU_SOURCE
#include "plots.h"
#include "columns.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const char scripts[] = BENCH_SOURCES "/plots/";

/* What a picture shows of a member. */
typedef double (*measure)(const group *g, const member *m);

typedef struct picture {
    const char *script; /* in bench/plots/ */
    choice groups;
    measure of;
    const char *unit;
    double top; /* what the machine can do, in that unit; 0 where that makes no sense */
} picture;

static double gflops(const group *g, const member *m) {
    return 1e-9 * member_flops(g, m).median;
}

static double gbytes(const group *g, const member *m) {
    return 1e-9 * member_bytes(g, m).median;
}

static double seconds(const group *g, const member *m) {
    return member_seconds(g, m).median;
}

static double peak_mebibytes(const group *g, const member *m) {
    (void)g;
    return m->peak_bytes / (1 << 20);
}

/* One hue a contender, paler for 16-bit types. */
static const char *color_of(const column *c) {
    static const struct {
        const char *name, *full, *pale;
    } colors[] = {{"onnxruntime", "#d95f02", "#f3b27a"},
                  {"openblas", "#1b9e77", "#8fd3bd"},
                  {"torch", "#7570b3", "#bab7dc"},
                  {"naive", "#777777", "#bbbbbb"}};
    for (size_t i = 0; i < sizeof colors / sizeof *colors; i++) {
        if (strcmp(colors[i].name, c->who->name) == 0) return c->type == ATTN_F32 ? colors[i].full : colors[i].pale;
    }
    return c->type == ATTN_F32 ? "#08519c" : c->type == ATTN_F16 ? "#3182bd" : "#9ecae1";
}

static void send_variables(FILE *gnuplot, const picture *p, const columns *all, const char *folder) {
    const int threads = p->groups.threads;
    fprintf(gnuplot, "name = \"%s/%s", folder, p->script);
    if (p->groups.part == PART_SHAPES) fprintf(gnuplot, "-%d", threads);
    fprintf(gnuplot, "\"\nunit = \"%s\"\ntop = %.6g\nthreads = %d\ncolumns = %d\ncolors = \"", p->unit, p->top, threads,
            all->count);
    for (int i = 0; i < all->count; i++) fprintf(gnuplot, "%s ", color_of(&all->items[i]));
    fputs("\"\n", gnuplot);
}

static void send_number(FILE *gnuplot, double value) {
    if (isnan(value)) {
        fputs(" ?", gnuplot);
    } else {
        fprintf(gnuplot, " %.6g", value);
    }
}

static void send_x(FILE *gnuplot, const row *at) {
    const group *g = at->group;
    if (g->part == PART_SHAPES) fprintf(gnuplot, "%s", g->shape.name);
    if (g->part == PART_LENGTHS) fprintf(gnuplot, "%lld", (long long)g->shape.keys);
    if (g->part == PART_THREADS) fprintf(gnuplot, "%d", at->threads);
}

/* The last number is our workspace, in MiB. */
static void send_row(FILE *gnuplot, const picture *p, const columns *all, const row *at) {
    const member *ours = ours_f32(at);
    send_x(gnuplot, at);
    for (int i = 0; i < all->count; i++) {
        const member *m = cell(at, &all->items[i]);
        send_number(gnuplot, m == NULL ? NAN : p->of(at->group, m));
    }
    send_number(gnuplot, ours == NULL ? NAN : member_workspace(ours) / (1 << 20));
    fputs("\n", gnuplot);
}

static void send_picture(FILE *gnuplot, const picture *p, const results *r, const char *folder) {
    const rows lines = rows_of(r, &p->groups);
    const columns all = columns_of(&lines);
    if (all.count == 0) return;
    send_variables(gnuplot, p, &all, folder);
    fputs("$data << END\nx", gnuplot);
    for (int i = 0; i < all.count; i++) {
        fprintf(gnuplot, " \"%s %s\"", all.items[i].who->name, attn_type_name(all.items[i].type));
    }
    fputs(" workspace\n", gnuplot);
    for (int i = 0; i < lines.count; i++) send_row(gnuplot, p, &all, &lines.items[i]);
    fprintf(gnuplot, "END\nload \"%s%s.gp\"\n", scripts, p->script);
}

static void send_shapes(FILE *gnuplot, const results *r, const char *folder) {
    int threads[THREAD_COUNTS_MOST], count = threads_of(r, PART_SHAPES, threads);
    for (int i = 0; i < count; i++) {
        const double peak = 1e-9 * results_peak_flops(r, threads[i]), read = 1e-9 * results_read_bytes(r, threads[i]);
        const picture computing = {"prefill", {PART_SHAPES, threads[i], 0}, gflops, "GFLOP/s", peak};
        const picture reading = {"decode", {PART_SHAPES, threads[i], 1}, gbytes, "GB/s", read};
        send_picture(gnuplot, &computing, r, folder);
        send_picture(gnuplot, &reading, r, folder);
    }
}

static void send_scaling(FILE *gnuplot, const results *r, const char *folder) {
    const picture time = {"time", {PART_LENGTHS, 0, -1}, seconds, "seconds", 0};
    const picture memory = {"memory", {PART_LENGTHS, 0, -1}, peak_mebibytes, "MiB", 0};
    const picture threads = {"threads", {PART_THREADS, 0, -1}, gflops, "GFLOP/s", 1e-9 * results_peak_flops(r, 1)};
    send_picture(gnuplot, &time, r, folder);
    send_picture(gnuplot, &memory, r, folder);
    send_picture(gnuplot, &threads, r, folder);
}

int plots_write(const results *r, const char *folder) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) return perror(folder), -1;
    FILE *gnuplot = popen("gnuplot", "w");
    if (gnuplot == NULL) return perror("gnuplot"), -1;
    fprintf(gnuplot, "folder = \"%s\"\n", scripts);
    send_shapes(gnuplot, r, folder);
    send_scaling(gnuplot, r, folder);
    if (pclose(gnuplot) == 0) return 0;
    fputs("bench: gnuplot has failed, or is not here: no plots\n", stderr);
    return -1;
}
