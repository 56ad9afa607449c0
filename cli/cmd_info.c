/* SPDX-License-Identifier: Apache-2.0 */
/* attn info: the library, the machine, and which kernels typical problems would run. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "describe.h"
#include "engine_choice.h"
#include "json.h"
#include "message.h"
#include "problem_choice.h"
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

typedef struct info_args {
    int measure, json;
    engine_choice engine;
} info_args;

static const option info_options[] = {
    {"measure", 'm', NULL, NULL, offsetof(info_args, measure),
     "measure what the machine can do: arithmetic and memory reads, with the engine's threads"},
    {"json", 0, NULL, NULL, offsetof(info_args, json), "print a JSON document"},
    {0},
};
static const option_table info_table = {"Report", info_options};

static const option_part parts[] = {
    {&info_table, 0},
    {&engine_table, offsetof(info_args, engine)},
    {&threads_table, offsetof(info_args, engine)},
    {NULL, 0},
};

static void init(void *memory) {
    info_args *args = memory;
    engine_choice_init(&args->engine);
}

/* ---------------------------------------------------------------------------------------------------------- machine */

typedef struct machine {
    char system[128], architecture[64], processor[128];
    long processors;
} machine;

/* The value of a line "model name : value", or nothing. */
static int take_model_name(const char *line, char *name, size_t size) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || colon == NULL) return 0;
    colon += 1 + strspn(colon + 1, " \t");
    snprintf(name, size, "%.*s", (int)strcspn(colon, "\n"), colon);
    return 1;
}

static void read_processor_name(char *name, size_t size) {
    char line[256];
    FILE *stream = fopen("/proc/cpuinfo", "r");
    name[0] = '\0';
    if (stream == NULL) return;
    while (fgets(line, sizeof line, stream) != NULL && !take_model_name(line, name, size)) {
    }
    fclose(stream);
}

static machine look_at_machine(void) {
    machine m = {"", "unknown", "", sysconf(_SC_NPROCESSORS_ONLN)};
    struct utsname name;
    if (uname(&name) >= 0) {
        snprintf(m.system, sizeof m.system, "%.60s %.60s", name.sysname, name.release);
        snprintf(m.architecture, sizeof m.architecture, "%.60s", name.machine);
    }
    read_processor_name(m.processor, sizeof m.processor);
    return m;
}

/* ---------------------------------------------------------------------------------------------------- what is shown */

enum { SAMPLES_MOST = 16, CPU_BITS = 32 };

/* A typical problem and the kernel that it would run. */
typedef struct sample {
    attn_problem problem;
    char kernel[256]; /* or why there is none */
} sample;

typedef struct facts {
    machine machine;
    attn_engine_info engine;
    attn_engine_speed speed; /* zeros unless measured */
    sample samples[SAMPLES_MOST];
    int sample_count;
} facts;

static void note_kernel(attn_engine *engine, sample *s) {
    attn_plan *plan = NULL;
    attn_plan_info info = ATTN_PLAN_INFO_INIT;
    attn_reason reason;
    attn_status status = attn_plan_create(engine, &s->problem, 1, &plan, &reason);
    if (status == ATTN_OK) status = attn_plan_get_info(plan, &info, &reason);
    const char *text = status == ATTN_OK ? info.kernel : reason.text;
    snprintf(s->kernel, sizeof s->kernel, "%s", text);
    attn_plan_destroy(plan);
}

static void add_sample(attn_engine *engine, const preset *shapes, attn_type type, facts *f) {
    make_case_options options;
    sample *s = &f->samples[f->sample_count++];
    problem_options_init(&options);
    preset_apply(shapes, &options);
    options.type = type;
    problem_of_shapes(&options, &s->problem);
    note_kernel(engine, s);
}

/* Every type on the first preset and on the last, which is decoding. */
static void add_samples(attn_engine *engine, facts *f) {
    static const attn_type types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64};
    const preset *last = presets;
    while (last[1].name != NULL) last++;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        add_sample(engine, &presets[0], types[i], f);
        add_sample(engine, last, types[i], f);
    }
}

static int measure(attn_engine *engine, facts *f) {
    attn_reason reason;
    attn_status status = attn_engine_measure(engine, &f->speed, &reason);
    return status == ATTN_OK ? EXIT_FINE : complain_status("info: measuring", status, &reason);
}

/* ---------------------------------------------------------------------------------------------------------- as text */

static void print_bytes(const char *name, int64_t bytes) {
    if (bytes <= 0) {
        printf("%s unknown", name);
    } else if (bytes >= 1 << 20) {
        printf("%s %.4g MiB", name, (double)bytes / (1 << 20));
    } else {
        printf("%s %.4g KiB", name, (double)bytes / (1 << 10));
    }
}

static void print_cpus(uint32_t used) {
    const char *separator = "";
    printf("cpu       ");
    for (int bit = 0; bit < CPU_BITS; bit++) {
        uint32_t cpu = UINT32_C(1) << bit;
        if ((attn_cpu_available() & cpu) == 0) continue;
        printf("%s%s%s", separator, attn_cpu_name(cpu), cpu == used ? " (in use)" : "");
        separator = ", ";
    }
    putchar('\n');
}

static void print_machine(const facts *f) {
    const machine *m = &f->machine;
    printf("attn      %s\n", attn_version_string());
    printf("machine   %s, %ld processor%s%s%s\n", m->architecture, m->processors, m->processors == 1 ? "" : "s",
           m->processor[0] != '\0' ? ", " : "", m->processor);
    printf("system    %s\n", m->system);
    print_bytes("caches    L1d", f->engine.l1d_bytes);
    print_bytes(", L2", f->engine.l2_bytes);
    print_bytes(", L3", f->engine.l3_bytes);
    printf("\nengines   cpu, oracle\n");
    print_cpus(f->engine.cpu);
    printf("threads   %d\n", f->engine.threads);
}

static void print_text(const facts *f) {
    print_machine(f);
    if (f->speed.flops_f32 > 0) {
        printf("speed     %.1f GFLOP/s f32, %.1f GFLOP/s f64, %.1f GB/s read\n", 1e-9 * f->speed.flops_f32,
               1e-9 * f->speed.flops_f64, 1e-9 * f->speed.read_bytes);
    }
    printf("kernels\n");
    for (int i = 0; i < f->sample_count; i++) {
        char text[256];
        describe_problem(&f->samples[i].problem, text, sizeof text);
        printf("  %-54s %s\n", text, f->samples[i].kernel);
    }
}

/* ---------------------------------------------------------------------------------------------------------- as JSON */

static cJSON *machine_json(const facts *f) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "architecture", f->machine.architecture);
    cJSON_AddStringToObject(object, "system", f->machine.system);
    cJSON_AddStringToObject(object, "processor", f->machine.processor);
    cJSON_AddNumberToObject(object, "processors", (double)f->machine.processors);
    cJSON_AddNumberToObject(object, "l1d_bytes", (double)f->engine.l1d_bytes);
    cJSON_AddNumberToObject(object, "l2_bytes", (double)f->engine.l2_bytes);
    cJSON_AddNumberToObject(object, "l3_bytes", (double)f->engine.l3_bytes);
    return object;
}

static cJSON *cpus_json(void) {
    cJSON *array = cJSON_CreateArray();
    for (int bit = 0; bit < CPU_BITS; bit++) {
        uint32_t cpu = UINT32_C(1) << bit;
        if ((attn_cpu_available() & cpu) != 0) cJSON_AddItemToArray(array, cJSON_CreateString(attn_cpu_name(cpu)));
    }
    return array;
}

static cJSON *samples_json(const facts *f) {
    cJSON *array = cJSON_CreateArray();
    for (int i = 0; i < f->sample_count; i++) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddItemToObject(object, "problem", json_problem(&f->samples[i].problem));
        cJSON_AddStringToObject(object, "kernel", f->samples[i].kernel);
        cJSON_AddItemToArray(array, object);
    }
    return array;
}

static int print_json(const facts *f) {
    static const char *const engines[] = {"cpu", "oracle"};
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "attn", attn_version_string());
    cJSON_AddItemToObject(document, "machine", machine_json(f));
    cJSON_AddItemToObject(document, "engines", cJSON_CreateStringArray(engines, 2));
    cJSON_AddItemToObject(document, "cpus", cpus_json());
    cJSON_AddStringToObject(document, "engine", f->engine.name);
    cJSON_AddStringToObject(document, "cpu", f->engine.cpu != 0 ? attn_cpu_name(f->engine.cpu) : "");
    cJSON_AddNumberToObject(document, "threads", f->engine.threads);
    if (f->speed.flops_f32 > 0) {
        json_add_number(document, "flops_f32", f->speed.flops_f32);
        json_add_number(document, "flops_f64", f->speed.flops_f64);
        json_add_number(document, "read_bytes_per_second", f->speed.read_bytes);
    }
    cJSON_AddItemToObject(document, "kernels", samples_json(f));
    return json_print(document);
}

/* -------------------------------------------------------------------------------------------------------------- run */

static int show(const info_args *args, attn_engine *engine) {
    facts f = {.machine = look_at_machine(), .engine = engine_info(engine), .speed = ATTN_ENGINE_SPEED_INIT};
    if (args->measure && measure(engine, &f) != EXIT_FINE) return EXIT_WRONG;
    add_samples(engine, &f);
    if (args->json) return print_json(&f);
    print_text(&f);
    return EXIT_FINE;
}

static int run(const void *memory, int count, char **operands) {
    const info_args *args = memory;
    attn_engine *engine = NULL;
    (void)count;
    (void)operands;
    if (engine_choice_open(&args->engine, &engine) != EXIT_FINE) return EXIT_WRONG;
    int status = show(args, engine);
    attn_engine_close(engine);
    return status;
}

static const char about[] = "Shows the library's version, the machine with its caches, the engines and instruction "
                            "sets that can be used here, and the kernels that typical problems would run.";

static const char examples[] = "What is here?\n"
                               "attn info\n"
                               "And how fast is it at best, with one thread?\n"
                               "attn info --measure --threads 1\n"
                               "Which instruction sets may a script choose from?\n"
                               "attn info --json | jq -r '.cpus[]'";

const command info_command = {
    .name = "info",
    .summary = "show the machine, its instruction sets and the kernels in use",
    .synopsis = "info [OPTION...]",
    .about = about,
    .examples = examples,
    .operand = NULL,
    .operands_most = 0,
    .parts = parts,
    .args_size = sizeof(info_args),
    .init = init,
    .run = run,
};
