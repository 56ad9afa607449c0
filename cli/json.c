/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"
#include "message.h"
#include <math.h>
#include <stdio.h>

void json_add_number(cJSON *object, const char *name, double value) {
    if (isfinite(value)) {
        cJSON_AddNumberToObject(object, name, value);
    } else {
        cJSON_AddStringToObject(object, name, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    }
}

static void add_window(cJSON *object, const char *name, int64_t keys) {
    if (keys != ATTN_UNBOUNDED) cJSON_AddNumberToObject(object, name, (double)keys);
}

static void add_view(cJSON *object, const char *name, const attn_view *view) {
    if (view->type == ATTN_TYPE_DEFAULT) return;
    cJSON *shape = cJSON_AddArrayToObject(object, name);
    for (int i = 0; i < 4; i++) cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)view->shape[i]));
}

cJSON *json_problem(const attn_problem *problem) {
    const attn_problem *p = problem;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "type", attn_type_name(p->type));
    cJSON_AddNumberToObject(object, "batch", (double)p->batch);
    cJSON_AddNumberToObject(object, "heads", (double)p->heads_q);
    cJSON_AddNumberToObject(object, "kv_heads", (double)p->heads_kv);
    cJSON_AddNumberToObject(object, "seq_q", (double)p->seq_q);
    cJSON_AddNumberToObject(object, "seq_kv", (double)p->seq_kv);
    cJSON_AddNumberToObject(object, "dim", (double)p->dim);
    cJSON_AddNumberToObject(object, "dim_v", (double)p->dim_v);
    cJSON_AddBoolToObject(object, "causal", p->window_right == ATTN_CAUSAL);
    add_window(object, "window_left", p->window_left);
    add_window(object, "window_right", p->window_right);
    if (p->softcap > 0) json_add_number(object, "softcap", p->softcap);
    add_view(object, "bias", &p->bias);
    add_view(object, "mask", &p->mask);
    return object;
}

int json_print(cJSON *document) {
    char *text = cJSON_Print(document);
    cJSON_Delete(document);
    if (text == NULL) return complain("out of memory");
    puts(text);
    cJSON_free(text);
    return EXIT_FINE;
}
