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
    printf("\n%s: %s; %d thread%s\n", g->task.shape.name, shape_describe(&g->task.shape, text, sizeof text),
           g->task.threads, g->task.threads == 1 ? "" : "s");
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
    const member *peer = best_peer(g, m);
    if (m->who->kind != CONTENDER_OURS || peer == NULL) return;
    spread ratio = member_against(g, m, peer);
    printf("  %5.2fx %s %s (%.2f-%.2f)", ratio.median, peer->who->name, attn_type_name(peer->type), ratio.low,
           ratio.high);
}

static void print_member(const group *g, const member *m) {
    const int reads = shape_reads(&g->task.shape);
    const char *variant = cJSON_GetStringValue(cJSON_GetObjectItem(m->about, "variant"));
    spread seconds = member_seconds(g, m), rate = reads ? member_bytes(g, m) : member_flops(g, m);
    print_name(m);
    printf("%10.3f ms %5.1f%%  %8.1f %s  %5.1f%% of %s", 1e3 * seconds.median, percent(seconds), 1e-9 * rate.median,
           reads ? "GB/s" : "GFLOP/s", 100 * member_share(g, m).median, reads ? "read" : "peak");
    print_against(g, m);
    printf("%s%s\n", variant == NULL ? "" : "  ", variant == NULL ? "" : variant);
}

void table_print_group(const group *g) {
    spread peak = spread_of(g->peak_flops, g->rounds), read = spread_of(g->read_bytes, g->rounds);
    printf("  %-19s peak %.1f GFLOP/s, %.1f%%; reads %.1f GB/s, %.1f%%\n", "machine", 1e-9 * peak.median, percent(peak),
           1e-9 * read.median, percent(read));
    for (int i = 0; i < g->member_count; i++) {
        const member *m = &g->members[i];
        if (member_is_measured(m)) {
            print_member(g, m);
        } else {
            print_name(m);
            printf("left out: %s\n", m->skipped);
        }
    }
    fflush(stdout);
}
