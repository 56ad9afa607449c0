/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "results.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------------------------------------------------- machine */

static void find_cpu_name(char *name, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) != 0 || strchr(line, ':') == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, size, "%s", strchr(line, ':') + 2);
        break;
    }
    if (file != NULL) fclose(file);
}

static void describe_engine(machine *m, const contender_list *contenders) {
    attn_engine_info info = ATTN_ENGINE_INFO_INIT;
    attn_engine *engine = contenders_engine(contenders, 1);
    if (engine == NULL || attn_engine_get_info(engine, &info, NULL) != ATTN_OK) return;
    snprintf(m->isa, sizeof m->isa, "%s", attn_cpu_name(info.cpu));
    m->l2_bytes = (double)info.l2_bytes;
    m->l3_bytes = (double)info.l3_bytes;
    attn_engine_close(engine);
}

void machine_describe(machine *m, const contender_list *contenders) {
    struct utsname system;
    time_t now = time(NULL);
    *m = (machine){.processors = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    find_cpu_name(m->cpu, sizeof m->cpu);
    describe_engine(m, contenders);
    if (uname(&system) == 0) snprintf(m->system, sizeof m->system, "%.40s %.40s", system.sysname, system.release);
    strftime(m->date, sizeof m->date, "%Y-%m-%d", gmtime(&now));
}

/* ---------------------------------------------------------------------------------------------------------- results */

group *results_add(results *r, group_part part, const shape *s) {
    group *g = r->group_count < GROUPS_MOST ? calloc(1, sizeof *g) : NULL;
    if (g == NULL) return fputs("bench: no room for so many measurements\n", stderr), NULL;
    g->part = part;
    g->shape = *s;
    return r->groups[r->group_count++] = g;
}

void results_free(results *r) {
    for (int i = 0; i < r->group_count; i++) {
        group_free(r->groups[i]);
        free(r->groups[i]);
    }
    r->group_count = 0;
}

/* The median over groups of the medians over rounds. */
static double median(const results *r, int threads, int reads) {
    double medians[GROUPS_MOST];
    int count = 0;
    for (int i = 0; i < r->group_count; i++) {
        const machine_speed *speed = group_speed(r->groups[i], threads);
        if (speed == NULL) continue;
        medians[count++] = spread_of(reads ? speed->read_bytes : speed->peak_flops, r->groups[i]->rounds).median;
    }
    return spread_of(medians, count).median;
}

double results_peak_flops(const results *r, int threads) {
    return median(r, threads, 0);
}

double results_read_bytes(const results *r, int threads) {
    return median(r, threads, 1);
}

const char *part_name(group_part part) {
    return part == PART_SHAPES ? "shapes" : part == PART_LENGTHS ? "lengths" : "threads";
}
