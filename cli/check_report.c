/* SPDX-License-Identifier: Apache-2.0 */
#include "check_report.h"
#include "message.h"
#include <stdio.h>

static const case_slot compared_slots[] = {CASE_O, CASE_LSE};
enum { COMPARED_SLOTS = sizeof compared_slots / sizeof *compared_slots };

static int passed(const check_result *r) {
    if (r->refusal != NULL) return 0;
    for (int i = 0; i < COMPARED_SLOTS; i++) {
        if (r->has[compared_slots[i]] && !r->verdict[compared_slots[i]].pass) return 0;
    }
    return 1;
}

static double badness(const case_verdict *v) {
    double error = v->got > v->expected ? v->got - v->expected : v->expected - v->got;
    return v->limit > 0 ? error / v->limit : error;
}

/* The slot to show: one that failed before one that passed, then the one nearer to its limit. */
static case_slot worst_slot(const check_result *r) {
    const case_verdict *o = &r->verdict[CASE_O], *lse = &r->verdict[CASE_LSE];
    if (!r->has[CASE_LSE]) return CASE_O;
    if (!r->has[CASE_O]) return CASE_LSE;
    if (o->pass != lse->pass) return o->pass ? CASE_LSE : CASE_O;
    return badness(lse) > badness(o) ? CASE_LSE : CASE_O;
}

static void print_worst(const check_result *r) {
    case_slot slot = worst_slot(r);
    const case_verdict *v = &r->verdict[slot];
    if (v->elements == 0) {
        printf("  no elements");
        return;
    }
    printf("  %s[%lld %lld %lld", case_slot_name(slot), (long long)v->index[0], (long long)v->index[1],
           (long long)v->index[2]);
    if (slot == CASE_O) printf(" %lld", (long long)v->index[3]);
    printf("] got %.9g expected %.9g limit %.3g", v->got, v->expected, v->limit);
    if (v->failures > 0) printf(", %lld of %lld miss", (long long)v->failures, (long long)v->elements);
}

static void print_line(const check_result *r) {
    printf("%s  %s  %s", passed(r) ? "pass" : "FAIL", r->path, r->engine);
    if (r->refusal != NULL) {
        printf("  %s", r->refusal);
    } else {
        print_worst(r);
    }
    putchar('\n');
    fflush(stdout);
}

static void add_verdict(cJSON *object, case_slot slot, const case_verdict *v) {
    static const char *const axes[] = {"b", "h", "i", "c"};
    cJSON *verdict = cJSON_AddObjectToObject(object, case_slot_name(slot));
    cJSON_AddBoolToObject(verdict, "pass", v->pass);
    cJSON_AddNumberToObject(verdict, "elements", (double)v->elements);
    cJSON_AddNumberToObject(verdict, "failures", (double)v->failures);
    json_add_number(verdict, "max_error", v->max_error);
    if (v->elements == 0) return;
    cJSON *worst = cJSON_AddObjectToObject(verdict, "worst");
    for (int i = 0; i < (slot == CASE_LSE ? 3 : 4); i++) cJSON_AddNumberToObject(worst, axes[i], (double)v->index[i]);
    json_add_number(worst, "got", v->got);
    json_add_number(worst, "expected", v->expected);
    json_add_number(worst, "limit", v->limit);
}

static void add_json(cJSON *cases, const check_result *r) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(cases, object);
    cJSON_AddStringToObject(object, "file", r->path);
    cJSON_AddStringToObject(object, "engine", r->engine);
    cJSON_AddBoolToObject(object, "pass", passed(r));
    cJSON_AddStringToObject(object, "reference", r->reference);
    if (r->refusal != NULL) cJSON_AddStringToObject(object, "refusal", r->refusal);
    for (int i = 0; i < COMPARED_SLOTS; i++) {
        if (r->has[compared_slots[i]]) add_verdict(object, compared_slots[i], &r->verdict[compared_slots[i]]);
    }
}

check_report check_report_open(int quiet, int json, int files) {
    check_report report = {quiet, NULL, NULL, 0, 0, 0};
    if (json) report.cases = cJSON_CreateArray();
    report.bar = progress_start("checking", files);
    return report;
}

void check_report_add(check_report *to, const check_result *r) {
    if (passed(r)) {
        to->passed++;
    } else {
        to->failed++;
    }
    if (to->cases != NULL) {
        add_json(to->cases, r);
    } else if (!passed(r) || !to->quiet) {
        progress_pause(to->bar);
        print_line(r);
        progress_resume(to->bar);
    }
}

void check_report_unreadable(check_report *to, const char *path, const char *text) {
    to->unreadable++;
    progress_pause(to->bar);
    complain("%s", text);
    progress_resume(to->bar);
    if (to->cases == NULL) return;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(to->cases, object);
    cJSON_AddStringToObject(object, "file", path);
    cJSON_AddStringToObject(object, "error", text);
}

int check_report_close(check_report *r) {
    progress_end(r->bar);
    int status = r->unreadable > 0 ? EXIT_WRONG : r->failed > 0 ? EXIT_MISS : EXIT_FINE;
    if (r->cases == NULL) {
        printf("%d passed, %d failed", r->passed, r->failed);
        if (r->unreadable > 0) printf(", %d not read", r->unreadable);
        putchar('\n');
        return status;
    }
    cJSON *document = cJSON_CreateObject();
    cJSON_AddItemToObject(document, "cases", r->cases);
    cJSON_AddNumberToObject(document, "passed", r->passed);
    cJSON_AddNumberToObject(document, "failed", r->failed);
    cJSON_AddNumberToObject(document, "unreadable", r->unreadable);
    return json_print(document) == EXIT_FINE ? status : EXIT_WRONG;
}
