/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "options.h"
#include "words.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: ./dev bench [option...]\n"
    "\n"
    "Measures attention: this library and its peers in turn, round after round, and the machine itself in each round.\n"
    "\n"
    "what\n"
    "  --parts LIST    of shapes, lengths (time and memory against the length), threads; default all, with --shapes "
    "shapes\n"
    "  --shapes LIST   A, B, C, rows, decode, or one of them alone: A-causal, rows-8, decode-group, ...\n"
    "  --types LIST    of f32, f16, bf16; default all\n"
    "  --threads LIST  numbers of threads for the shapes; default 1 and one a processor\n"
    "  --cpu LIST      instruction sets of this library side by side, as in avx2,avx512; default the best one\n"
    "  --peers LIST    of onnxruntime, openblas, torch, naive; \"\" for none; default all that are here\n"
    "how\n"
    "  --quick         3 short rounds, lengths up to 8k\n"
    "  --rounds N      default 15\n"
    "  --from FILE     measure nothing; report what --json has written\n"
    "result, beside the table\n"
    "  --json FILE     everything, every sample\n"
    "  --out FOLDER    plots as PNG and SVG; needs gnuplot\n"
    "  --docs FILE     tables, into a Markdown file between its lines <!-- bench --> and <!-- /bench -->; with --out "
    "also\n"
    "                  the pictures, of which the folder has to be beside the file\n"
    "  --write-docs    ./dev bench: --docs docs/performance.md --out docs/plots\n";

/* What --quick and the default are. */
static const effort full = {
    .rounds = 15, .slow_rounds = 3, .sample_seconds = 0.03, .slow_seconds = 1.0, .trial_seconds = 1.0};
static const effort quick = {
    .rounds = 3, .slow_rounds = 1, .sample_seconds = 0.005, .slow_seconds = 0.3, .trial_seconds = 0.1};
enum { LONGEST_FULL = 65536, LONGEST_QUICK = 8192 };

/* The texts of the options, before anything is made of them. */
typedef struct texts {
    const char *parts, *shapes, *types, *threads, *cpu, *peers, *rounds, *from, *json, *out, *docs;
    int quick, help;
} texts;

enum { HELP = 'h', QUICK = 'q' };

static const struct option long_options[] = {
    {"help", no_argument, NULL, HELP},        {"quick", no_argument, NULL, QUICK},
    {"parts", required_argument, NULL, 'p'},  {"shapes", required_argument, NULL, 's'},
    {"types", required_argument, NULL, 't'},  {"threads", required_argument, NULL, 'n'},
    {"cpu", required_argument, NULL, 'c'},    {"peers", required_argument, NULL, 'e'},
    {"rounds", required_argument, NULL, 'r'}, {"from", required_argument, NULL, 'f'},
    {"json", required_argument, NULL, 'j'},   {"out", required_argument, NULL, 'o'},
    {"docs", required_argument, NULL, 'd'},   {NULL, 0, NULL, 0},
};

static const char **text_of(texts *t, int option) {
    switch (option) {
    case 'p':
        return &t->parts;
    case 's':
        return &t->shapes;
    case 't':
        return &t->types;
    case 'n':
        return &t->threads;
    case 'c':
        return &t->cpu;
    case 'e':
        return &t->peers;
    case 'r':
        return &t->rounds;
    case 'f':
        return &t->from;
    case 'j':
        return &t->json;
    case 'o':
        return &t->out;
    case 'd':
        return &t->docs;
    default:
        return NULL;
    }
}

static int read_texts(texts *t, int argc, char **argv) {
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == HELP) {
            t->help = 1;
        } else if (option == QUICK) {
            t->quick = 1;
        } else if (text_of(t, option) != NULL) {
            *text_of(t, option) = optarg;
        } else {
            return -1;
        }
    }
    return optind == argc ? 0 : -1;
}

/* The number, or -1 where the text is none from 1 to most. */
static int read_number(const char *text, int most) {
    char *end;
    long value = strtol(text, &end, 10);
    return end == text || *end != '\0' || value < 1 || value > most ? -1 : (int)value;
}

static const char *read_types(const char *list, unsigned *types) {
    *types = 0;
    for (words w = words_of(list == NULL ? "f32,f16,bf16" : list); words_next(&w);) {
        attn_type type = ATTN_F32;
        while (type <= ATTN_BF16 && strcmp(attn_type_name(type), w.word) != 0) type++;
        if (type > ATTN_BF16) return w.at;
        *types |= 1u << type;
    }
    return NULL;
}

static const char *read_parts(const char *list, unsigned *parts) {
    *parts = 0;
    for (words w = words_of(list); words_next(&w);) {
        group_part part = PART_SHAPES;
        while (part <= PART_THREADS && strcmp(part_name(part), w.word) != 0) part++;
        if (part > PART_THREADS) return w.at;
        *parts |= 1u << part;
    }
    return NULL;
}

static const char *read_threads(const char *list, options *o) {
    if (list == NULL) {
        int all = (int)sysconf(_SC_NPROCESSORS_ONLN);
        o->threads[o->thread_count++] = 1;
        if (all > 1) o->threads[o->thread_count++] = all;
        return NULL;
    }
    for (words w = words_of(list); words_next(&w);) {
        int count = o->thread_count == THREAD_COUNTS_MOST ? -1 : read_number(w.word, 1024);
        if (count < 0) return w.at;
        o->threads[o->thread_count++] = count;
    }
    return NULL;
}

static int wrong(const char *option, const char *value) {
    fprintf(stderr, "bench: --%s does not take '%s' (--help says what it takes)\n", option, value);
    return -1;
}

static int read_lists(const texts *t, options *o, contender_list *contenders) {
    const char *bad;
    if ((bad = read_types(t->types, &o->types)) != NULL) return wrong("types", bad);
    if ((bad = read_parts(t->parts ? t->parts : t->shapes ? "shapes" : "shapes,lengths,threads", &o->parts)) != NULL) {
        return wrong("parts", bad);
    }
    if ((bad = read_threads(t->threads, o)) != NULL) return wrong("threads", bad);
    if ((bad = shapes_choose(t->shapes, &o->shapes)) != NULL) return wrong("shapes", bad);
    if ((bad = contenders_choose(t->cpu, t->peers, contenders)) != NULL) return wrong("cpu or --peers", bad);
    return 0;
}

int options_read(options *o, contender_list *contenders, int argc, char **argv) {
    texts t = {0};
    if (read_texts(&t, argc, argv) != 0) return fputs(usage, stderr), -1;
    if (t.help) return fputs(usage, stdout), 1;
    *o = (options){.json = t.json, .out = t.out, .docs = t.docs, .from = t.from};
    o->effort = t.quick ? quick : full;
    o->longest = t.quick ? LONGEST_QUICK : LONGEST_FULL;
    if (t.rounds != NULL && (o->effort.rounds = read_number(t.rounds, ROUNDS_MOST)) < 0)
        return wrong("rounds", t.rounds);
    return t.from != NULL ? 0 : read_lists(&t, o, contenders);
}
