/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"
#include <math.h>

void table_print_machine(const results *r) {
    const machine *m = &r->machine;
    printf("%s, %d processors, %s, peak measured with %s\n", m->cpu, m->processors, m->system, m->isa);
    for (int i = 0; i < r->contenders.count; i++) {
        const contender *c = &r->contenders.items[i];
        printf("  %-14s %s%s\n", c->name, c->absent[0] != '\0' ? "left out: " : "",
               c->absent[0] != '\0' ? c->absent : c->version);
    }
}

void table_print_title(const group *g) {
    char text[96];
    printf("\n%s: %s\n", g->shape.name, shape_describe(&g->shape, text, sizeof text));
    fflush(stdout);
}

/* Half the distance between the quartiles, in percent of the median. */
static double percent(spread s) {
    return 50 * (s.high - s.low) / s.median;
}

static void print_name(const member *m) {
    printf("  %-14s %-4s ", m->who->name, attn_type_name(m->type));
}

static void print_against(const group *g, const member *m) {
    const member *peer = best_peer(g, m), *one = one_thread(g, m);
    if (one != NULL) printf("  %.2fx 1 thread", member_against(g, m, one).median);
    if (m->who->kind != CONTENDER_OURS || peer == NULL) return;
    spread ratio = member_against(g, m, peer);
    printf("  %.2fx (%.2f-%.2f) %s %s", ratio.median, ratio.low, ratio.high, peer->who->name,
           attn_type_name(peer->type));
}

/* Of ours the names of kernels would only lengthen the line: the JSON document has them. */
static void print_variant(const member *m) {
    const char *variant = cJSON_GetStringValue(cJSON_GetObjectItem(m->about, "variant"));
    if (variant != NULL && m->who->kind != CONTENDER_OURS) printf("  %s", variant);
}

static void print_member(const group *g, const member *m) {
    const int reads = shape_reads(&g->shape);
    spread seconds = member_seconds(g, m), rate = reads ? member_bytes(g, m) : member_flops(g, m);
    print_name(m);
    if (!member_is_measured(m)) {
        printf("left out: %s\n", m->skipped);
        return;
    }
    printf("%10.3f ms %5.1f%%  %7.1f %s  %5.1f%% of %s", 1e3 * seconds.median, percent(seconds), 1e-9 * rate.median,
           reads ? "GB/s" : "GFLOP/s", 100 * member_share(g, m).median, reads ? "read" : "peak");
    print_against(g, m);
    print_variant(m);
    printf("\n");
}

static void print_speed(const group *g, const machine_speed *speed) {
    spread peak = spread_of(speed->peak_flops, g->rounds), read = spread_of(speed->read_bytes, g->rounds);
    printf(" %d thread%s: peak %.1f GFLOP/s %.1f%%, reads %.1f GB/s %.1f%%\n", speed->threads,
           speed->threads == 1 ? "" : "s", 1e-9 * peak.median, percent(peak), 1e-9 * read.median, percent(read));
}

void table_print_group(const group *g) {
    for (int t = 0; t < g->speed_count; t++) {
        print_speed(g, &g->speeds[t]);
        for (int i = 0; i < g->member_count; i++) {
            if (g->members[i].threads == g->speeds[t].threads) print_member(g, &g->members[i]);
        }
    }
    fflush(stdout);
}
