/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "docs.h"
#include "columns.h"
#include "text_file.h"
#include <stdlib.h>
#include <string.h>

static const char begin[] = "<!-- bench -->\n";
static const char finish[] = "<!-- /bench -->\n";

/* ----------------------------------------------------------------------------------------------------------- tables */

static void print_head(FILE *out, const char *first, const columns *all, const char *const *more) {
    fprintf(out, "\n| %s |", first);
    int count = 1;
    for (int i = 0; i < all->count; i++, count++) {
        fprintf(out, " %s %s |", all->items[i].who->name, attn_type_name(all->items[i].type));
    }
    for (; *more != NULL; more++, count++) fprintf(out, " %s |", *more);
    fputs("\n|", out);
    for (int i = 0; i < count; i++) fputs(i == 0 ? "---|" : "--:|", out);
    fputs("\n", out);
}

/* Our f32 against the machine, one thread and the best peer. */
static void print_ratios(FILE *out, const row *at) {
    const group *g = at->group;
    const member *m = ours_f32(at), *peer = m == NULL ? NULL : best_peer(g, m),
                 *one = m == NULL ? NULL : one_thread(g, m);
    if (m == NULL) {
        fputs(" | | |\n", out);
        return;
    }
    fprintf(out, " %.0f%% |", 100 * member_share(g, m).median);
    if (one != NULL) fprintf(out, " %.2f", member_against(g, m, one).median);
    fputs(" |", out);
    if (peer != NULL) {
        spread ratio = member_against(g, m, peer);
        fprintf(out, " %.2f (%.2f to %.2f) %s", ratio.median, ratio.low, ratio.high, peer->who->name);
    }
    fputs(" |\n", out);
}

static void print_cells(FILE *out, const row *at, const columns *all, int milliseconds) {
    for (int i = 0; i < all->count; i++) {
        const member *m = cell(at, &all->items[i]);
        if (m == NULL) {
            fputs(" |", out);
        } else if (milliseconds) {
            fprintf(out, " %.3g |", 1e3 * member_seconds(at->group, m).median);
        } else {
            fprintf(out, " %.1f |", 1e-9 * member_flops(at->group, m).median);
        }
    }
}

static void print_picture(FILE *out, const char *pictures, const char *name, const char *what) {
    if (pictures != NULL) fprintf(out, "\n![%s](%s/%s.svg)\n", what, pictures, name);
}

static void print_shapes(FILE *out, const results *r, int threads, int reads, const char *pictures) {
    static const char *const computing[] = {"of the peak", "against 1 thread", "against the best peer", NULL};
    static const char *const reading[] = {"of the reading", "against 1 thread", "against the best peer", NULL};
    const choice chosen = {PART_SHAPES, threads, reads};
    const rows lines = rows_of(r, &chosen);
    const columns all = columns_of(&lines);
    if (all.count == 0) return;
    fprintf(out, "\n%s, %d thread%s:\n", reads ? "Milliseconds" : "GFLOP/s", threads, threads == 1 ? "" : "s");
    print_head(out, "shape", &all, reads ? reading : computing);
    for (int i = 0; i < lines.count; i++) {
        fprintf(out, "| %s |", lines.items[i].group->shape.name);
        print_cells(out, &lines.items[i], &all, reads);
        print_ratios(out, &lines.items[i]);
    }
    char name[32];
    snprintf(name, sizeof name, "%s-%d", reads ? "decode" : "prefill", threads);
    print_picture(out, pictures, name, reads ? "GB/s of each shape" : "GFLOP/s of each shape");
}

static double mebibytes(double bytes) {
    return bytes / (1 << 20);
}

static void print_lengths(FILE *out, const results *r, const char *pictures) {
    static const char *const more[] = {"our workspace, MiB", "our process at its peak, MiB", NULL};
    const choice chosen = {PART_LENGTHS, 0, -1};
    const rows lines = rows_of(r, &chosen);
    const columns all = columns_of(&lines);
    if (all.count == 0) return;
    fputs("\nMilliseconds against the length: one head, D = 64, as many rows as keys, all threads:\n", out);
    print_head(out, "length", &all, more);
    for (int i = 0; i < lines.count; i++) {
        const member *m = ours_f32(&lines.items[i]);
        fprintf(out, "| %d |", (int)lines.items[i].group->shape.keys);
        print_cells(out, &lines.items[i], &all, 1);
        if (m == NULL) {
            fputs(" | |\n", out);
        } else {
            fprintf(out, " %.2f | %.1f |\n", mebibytes(member_workspace(m)), mebibytes(m->peak_bytes));
        }
    }
    print_picture(out, pictures, "time", "Seconds against the length");
    print_picture(out, pictures, "memory", "MiB against the length");
}

static void print_threads(FILE *out, const results *r, const char *pictures) {
    static const char *const more[] = {"of the peak", "against 1 thread", "against the best peer", NULL};
    const choice chosen = {PART_THREADS, 0, -1};
    const rows lines = rows_of(r, &chosen);
    const columns all = columns_of(&lines);
    if (all.count == 0) return;
    fputs("\nGFLOP/s against the number of threads, shape B:\n", out);
    print_head(out, "threads", &all, more);
    for (int i = 0; i < lines.count; i++) {
        fprintf(out, "| %d |", lines.items[i].threads);
        print_cells(out, &lines.items[i], &all, 0);
        print_ratios(out, &lines.items[i]);
    }
    print_picture(out, pictures, "threads", "GFLOP/s against the number of threads");
}

static void print_machine(FILE *out, const results *r) {
    const machine *m = &r->machine;
    int threads[THREAD_COUNTS_MOST], count = threads_of(r, PART_SHAPES, threads);
    fprintf(out, "Measured on %s, %d processors, with %s (%s):\n\n", m->cpu, m->processors, m->isa, m->date);
    for (int i = 0; i < count; i++) {
        fprintf(out, "- %d thread%s: %.1f GFLOP/s of multiply-adds in registers, %.1f GB/s read\n", threads[i],
                threads[i] == 1 ? "" : "s", 1e-9 * results_peak_flops(r, threads[i]),
                1e-9 * results_read_bytes(r, threads[i]));
    }
    for (int i = 0; i < r->contenders.count; i++) {
        const contender *c = &r->contenders.items[i];
        fprintf(out, "- %s: %s%s\n", c->name, c->absent[0] != '\0' ? "not measured: " : "",
                c->absent[0] != '\0' ? c->absent : c->version);
    }
}

static void print_all(FILE *out, const results *r, const char *pictures) {
    int threads[THREAD_COUNTS_MOST], count = threads_of(r, PART_SHAPES, threads);
    print_machine(out, r);
    for (int reads = 0; reads <= 1; reads++) {
        for (int i = 0; i < count; i++) print_shapes(out, r, threads[i], reads, pictures);
    }
    print_lengths(out, r, pictures);
    print_threads(out, r, pictures);
}

/* ------------------------------------------------------------------------------------------------------------- file */

static char *tables(const results *r, const char *pictures) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    print_all(out, r, pictures);
    return fclose(out) == 0 ? text : NULL;
}

/* Ends what is before at the end of the line `begin`, and returns where the line `finish` begins; NULL without them. */
static char *split(char *before) {
    char *start = strstr(before, begin), *after = start == NULL ? NULL : strstr(start, finish);
    if (after == NULL) return NULL;
    start[strlen(begin) - 1] = '\0';
    return after;
}

int docs_write(const results *r, const char *path, const char *pictures) {
    char *before = text_file_read(path), *between = tables(r, pictures), *after = before == NULL ? NULL : split(before);
    int status = -1;
    if (after != NULL && between != NULL) {
        status = text_file_write(path, (const char *const[]){before, "\n\n", between, "\n", after, NULL});
    } else if (before != NULL) {
        fprintf(stderr, "bench: %s has no lines <!-- bench --> and <!-- /bench -->\n", path);
    }
    free(before);
    free(between);
    return status;
}
