/* SPDX-License-Identifier: Apache-2.0 */
/* Results as a JSON document, and back. Every sample is in it, so that reports can be made again, and others made. */
#include "results.h"
#include "text_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------------------- writing */

/* A round without a measurement is null. */
static void add_rounds(cJSON *object, const char *name, const double *values, int count) {
    cJSON *array = cJSON_AddArrayToObject(object, name);
    for (int i = 0; i < count; i++) {
        cJSON_AddItemToArray(array, isnan(values[i]) ? cJSON_CreateNull() : cJSON_CreateNumber(values[i]));
    }
}

static cJSON *machine_object(const machine *m) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "cpu", m->cpu);
    cJSON_AddStringToObject(object, "isa", m->isa);
    cJSON_AddStringToObject(object, "system", m->system);
    cJSON_AddStringToObject(object, "date", m->date);
    cJSON_AddNumberToObject(object, "processors", m->processors);
    cJSON_AddNumberToObject(object, "l2_bytes", m->l2_bytes);
    cJSON_AddNumberToObject(object, "l3_bytes", m->l3_bytes);
    return object;
}

static cJSON *contender_object(const contender *c) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", c->name);
    cJSON_AddNumberToObject(object, "kind", c->kind);
    if (c->version[0] != '\0') cJSON_AddStringToObject(object, "version", c->version);
    if (c->absent[0] != '\0') cJSON_AddStringToObject(object, "absent", c->absent);
    return object;
}

static cJSON *shape_object(const shape *s) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", s->name);
    cJSON_AddNumberToObject(object, "heads_q", (double)s->heads_q);
    cJSON_AddNumberToObject(object, "heads_kv", (double)s->heads_kv);
    cJSON_AddNumberToObject(object, "rows", (double)s->rows);
    cJSON_AddNumberToObject(object, "keys", (double)s->keys);
    cJSON_AddNumberToObject(object, "dim", (double)s->dim);
    cJSON_AddBoolToObject(object, "causal", s->causal);
    return object;
}

static cJSON *member_object(const member *m, int rounds) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", m->who->name);
    cJSON_AddStringToObject(object, "type", attn_type_name(m->type));
    cJSON_AddNumberToObject(object, "threads", m->threads);
    if (m->about != NULL) cJSON_AddItemToObject(object, "about", cJSON_Duplicate(m->about, 1));
    if (m->skipped[0] != '\0') {
        cJSON_AddStringToObject(object, "skipped", m->skipped);
        return object;
    }
    cJSON_AddNumberToObject(object, "error", m->error);
    cJSON_AddNumberToObject(object, "repeats", m->repeats);
    cJSON_AddNumberToObject(object, "rounds", m->rounds);
    cJSON_AddNumberToObject(object, "peak_bytes", m->peak_bytes);
    add_rounds(object, "seconds", m->seconds, rounds);
    return object;
}

static cJSON *speed_object(const machine_speed *speed, int rounds) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "threads", speed->threads);
    add_rounds(object, "peak_flops", speed->peak_flops, rounds);
    add_rounds(object, "read_bytes", speed->read_bytes, rounds);
    return object;
}

static cJSON *group_object(const group *g) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "part", part_name(g->part));
    cJSON_AddItemToObject(object, "shape", shape_object(&g->shape));
    cJSON_AddNumberToObject(object, "flops", shape_flops(&g->shape));
    cJSON *speeds = cJSON_AddArrayToObject(object, "machine");
    for (int i = 0; i < g->speed_count; i++) cJSON_AddItemToArray(speeds, speed_object(&g->speeds[i], g->rounds));
    cJSON *members = cJSON_AddArrayToObject(object, "members");
    for (int i = 0; i < g->member_count; i++) cJSON_AddItemToArray(members, member_object(&g->members[i], g->rounds));
    return object;
}

int results_write(const results *r, const char *path) {
    cJSON *document = cJSON_CreateObject();
    cJSON_AddItemToObject(document, "machine", machine_object(&r->machine));
    cJSON *contenders = cJSON_AddArrayToObject(document, "contenders");
    for (int i = 0; i < r->contenders.count; i++) {
        cJSON_AddItemToArray(contenders, contender_object(&r->contenders.items[i]));
    }
    cJSON *groups = cJSON_AddArrayToObject(document, "groups");
    for (int i = 0; i < r->group_count; i++) cJSON_AddItemToArray(groups, group_object(r->groups[i]));
    char *text = cJSON_Print(document);
    int status = text == NULL ? -1 : text_file_write(path, (const char *const[]){text, "\n", NULL});
    free(text);
    cJSON_Delete(document);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

static double number(const cJSON *object, const char *name) {
    return cJSON_GetNumberValue(cJSON_GetObjectItem(object, name));
}

static void copy_string(const cJSON *object, const char *name, char *text, size_t size) {
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    snprintf(text, size, "%s", value == NULL ? "" : value);
}

static int read_rounds(const cJSON *object, const char *name, double *values) {
    const cJSON *array = cJSON_GetObjectItem(object, name), *item;
    int count = 0;
    for (int i = 0; i < ROUNDS_MOST; i++) values[i] = NAN;
    cJSON_ArrayForEach(item, array) {
        if (count < ROUNDS_MOST) values[count++] = cJSON_GetNumberValue(item);
    }
    return count;
}

static void read_machine(const cJSON *object, machine *m) {
    copy_string(object, "cpu", m->cpu, sizeof m->cpu);
    copy_string(object, "isa", m->isa, sizeof m->isa);
    copy_string(object, "system", m->system, sizeof m->system);
    copy_string(object, "date", m->date, sizeof m->date);
    m->processors = (int)number(object, "processors");
    m->l2_bytes = number(object, "l2_bytes");
    m->l3_bytes = number(object, "l3_bytes");
}

static void read_contenders(const cJSON *array, contender_list *list) {
    const cJSON *object;
    cJSON_ArrayForEach(object, array) {
        if (list->count == CONTENDERS_MOST) return;
        contender *c = &list->items[list->count++];
        copy_string(object, "name", c->name, sizeof c->name);
        copy_string(object, "version", c->version, sizeof c->version);
        copy_string(object, "absent", c->absent, sizeof c->absent);
        c->kind = (contender_kind)number(object, "kind");
    }
}

static shape read_shape(const cJSON *object) {
    shape s = {.heads_q = (int64_t)number(object, "heads_q"),
               .heads_kv = (int64_t)number(object, "heads_kv"),
               .rows = (int64_t)number(object, "rows"),
               .keys = (int64_t)number(object, "keys"),
               .dim = (int64_t)number(object, "dim"),
               .causal = cJSON_IsTrue(cJSON_GetObjectItem(object, "causal"))};
    copy_string(object, "name", s.name, sizeof s.name);
    return s;
}

static attn_type type_of(const char *name) {
    attn_type type = ATTN_F32;
    while (type < ATTN_BF16 && strcmp(attn_type_name(type), name) != 0) type++;
    return type;
}

static void read_member(const cJSON *object, const contender_list *contenders, group *g) {
    char name[24], type[8];
    copy_string(object, "name", name, sizeof name);
    copy_string(object, "type", type, sizeof type);
    const contender *who = contenders_find(contenders, name);
    if (who == NULL || g->member_count == MEMBERS_MOST) return;
    member *m = &g->members[g->member_count++];
    m->who = who;
    m->type = type_of(type);
    m->threads = (int)number(object, "threads");
    m->about = cJSON_Duplicate(cJSON_GetObjectItem(object, "about"), 1);
    copy_string(object, "skipped", m->skipped, sizeof m->skipped);
    read_rounds(object, "seconds", m->seconds);
    if (m->skipped[0] != '\0') return;
    m->error = number(object, "error");
    m->repeats = (int)number(object, "repeats");
    m->rounds = (int)number(object, "rounds");
    m->peak_bytes = number(object, "peak_bytes");
}

static void read_speed(const cJSON *object, group *g) {
    if (g->speed_count == THREAD_COUNTS_MOST) return;
    machine_speed *speed = &g->speeds[g->speed_count++];
    speed->threads = (int)number(object, "threads");
    g->rounds = read_rounds(object, "peak_flops", speed->peak_flops);
    read_rounds(object, "read_bytes", speed->read_bytes);
}

static int read_group(const cJSON *object, results *r) {
    char part[16];
    copy_string(object, "part", part, sizeof part);
    shape s = read_shape(cJSON_GetObjectItem(object, "shape"));
    group_part which = PART_SHAPES;
    while (which < PART_THREADS && strcmp(part_name(which), part) != 0) which++;
    group *g = results_add(r, which, &s);
    if (g == NULL) return -1;
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(object, "machine")) read_speed(item, g);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(object, "members")) read_member(item, &r->contenders, g);
    return 0;
}

int results_read(results *r, const char *path) {
    char *text = text_file_read(path);
    cJSON *document = text == NULL ? NULL : cJSON_Parse(text);
    if (text != NULL && document == NULL) fprintf(stderr, "bench: %s is no JSON document\n", path);
    free(text);
    if (document == NULL) return -1;
    int status = 0;
    const cJSON *object;
    read_machine(cJSON_GetObjectItem(document, "machine"), &r->machine);
    read_contenders(cJSON_GetObjectItem(document, "contenders"), &r->contenders);
    cJSON_ArrayForEach(object, cJSON_GetObjectItem(document, "groups")) {
        if (status == 0) status = read_group(object, r);
    }
    cJSON_Delete(document);
    return status;
}
