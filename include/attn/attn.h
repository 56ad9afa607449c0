/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libattn: exact attention as one C call.
 *
 *     o = softmax(scale * q k^T + bias, over the keys a row may see) v
 *
 * computed tile by tile with an online softmax (Milakov and Gimelshein, 2018; Dao et al., FlashAttention, 2022), so
 * that memory beside the tensors grows linearly with the sequence at most and the N x N matrix never exists.
 *
 * The header has four tiers; use the first that does what you need.
 *
 *   1. One call          attn_sdpa_f32() and friends: contiguous [batch, head, row, column] tensors;
 *                        attn_sdpa(): any problem.
 *   2. Engine and plan   open an engine once, plan a problem once, run it many times: attn_engine_open(),
 *                        attn_plan_create(), attn_run(). Running allocates nothing.
 *   3. Bring your own    threads, allocator, workspace: fields of attn_engine_options and attn_tensors.
 *   4. Experimental      may change between minor versions.
 *
 * What is computed, in every detail, is docs/semantics.md; the field comments of attn_problem are its short form.
 *
 * Errors. Every function that can fail returns an attn_status, 0 for success. The last parameter of most is an optional
 * attn_reason, the caller's memory, that receives one line of text with the numbers at fault (and an empty line on
 * success). Nothing in this library prints, aborts, reads the environment or installs handlers. On any error no output
 * is written.
 *
 * Ownership. The library never keeps a pointer of yours beyond a call, except the hooks in attn_engine_options (until
 * the engine is closed). Closing and destroying accept NULL.
 *
 * Threads. An engine and a plan may be used from several threads at once; an attn_reason belongs to one call at a time.
 * Results do not depend on the number of threads: same inputs, same plan, same bits.
 *
 * Structs. Every struct that you fill in has an INIT macro; start from it, so that fields added later get their
 * defaults:
 *
 *     attn_problem p = ATTN_PROBLEM_INIT;
 */
#ifndef ATTN_ATTN_H
#define ATTN_ATTN_H

#include <stddef.h>
#include <stdint.h>

#define ATTN_VERSION_MAJOR 0
#define ATTN_VERSION_MINOR 1
#define ATTN_VERSION_PATCH 0

#if defined(ATTN_STATIC)
#define ATTN_API
#elif defined(_WIN32)
#if defined(ATTN_BUILDING)
#define ATTN_API __declspec(dllexport)
#else
#define ATTN_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define ATTN_API __attribute__((visibility("default")))
#else
#define ATTN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------ status and reason */

/* What became of a call. The values are part of the ABI and never change. */
typedef enum attn_status {
    ATTN_OK = 0,
    ATTN_ERROR_ARGUMENT = 1,    /* a NULL, a struct of another version's size, an unknown enum value, a NaN */
    ATTN_ERROR_SHAPE = 2,       /* sizes or strides that make no attention problem */
    ATTN_ERROR_OVERFLOW = 3,    /* a product of sizes that does not fit int64_t, or size_t for memory */
    ATTN_ERROR_OVERLAP = 4,     /* an output that overlaps itself, another output or an input */
    ATTN_ERROR_LENGTHS = 5,     /* lengths or cumulative lengths, read at run time, that do not fit the problem */
    ATTN_ERROR_UNSUPPORTED = 6, /* well-formed, but this engine has no kernel for it */
    ATTN_ERROR_MEMORY = 7,      /* an allocation failed, or the workspace handed in is too small */
    ATTN_ERROR_SYSTEM = 8,      /* the operating system refused: threads could not be started */
    ATTN_ERROR_DEVICE = 9       /* an accelerator is missing, refused the work, or was lost */
} attn_status;

/* One line of text, without a newline, always terminated. */
typedef struct attn_reason {
    char text[256];
} attn_reason;

/* The status in a few words, for any value. Never NULL; static storage. */
ATTN_API const char *attn_status_string(attn_status status);

/* Version of the library that runs, as major * 10000 + minor * 100 + patch; the macros above are the header's. */
ATTN_API int attn_version(void);
ATTN_API const char *attn_version_string(void);

/* ---------------------------------------------------------------------------------------------------- element types */

typedef enum attn_type {
    ATTN_TYPE_DEFAULT = 0, /* each use says what that means there */
    ATTN_F32 = 1,
    ATTN_F16 = 2,  /* IEEE 754 binary16 */
    ATTN_BF16 = 3, /* the upper half of a binary32 */
    ATTN_F64 = 4,
    ATTN_BOOL = 5, /* one byte, nonzero is true */
    ATTN_I32 = 6,
    ATTN_I64 = 7
} attn_type;

/* Bytes of one element; 0 for a value that is not a type. */
ATTN_API size_t attn_type_size(attn_type type);
/* "f32", "bf16", ...; "?" for a value that is not a type. Static storage. */
ATTN_API const char *attn_type_name(attn_type type);

/* ------------------------------------------------------------------------------------------------- tier 1: one call */

/*
 * Scaled dot-product attention of contiguous tensors: q, k, v and o are [batch, heads, seq, dim], the scale is
 * 1 / sqrt(dim), and with causal nonzero a row sees the keys up to its own position. Runs on the CPU with as many
 * threads as the size is worth, and returns when o is written.
 *
 * o may not overlap q, k or v. Any of batch, heads and seq may be 0: nothing to do is success. dim is 1 to 1024.
 * The f16 and bf16 forms take and give the 16-bit patterns, whatever type of yours holds them, and accumulate in f32.
 *
 * Each call opens an engine and closes it; a program that calls often opens one of its own (tier 2).
 */
ATTN_API attn_status attn_sdpa_f32(int64_t batch, int64_t heads, int64_t seq, int64_t dim, int causal, const float *q,
                                   const float *k, const float *v, float *o);
ATTN_API attn_status attn_sdpa_f16(int64_t batch, int64_t heads, int64_t seq, int64_t dim, int causal, const void *q,
                                   const void *k, const void *v, void *o);
ATTN_API attn_status attn_sdpa_bf16(int64_t batch, int64_t heads, int64_t seq, int64_t dim, int causal, const void *q,
                                    const void *k, const void *v, void *o);

/* The same for any problem and tensors (tier 2 describes both). */
struct attn_problem;
struct attn_tensors;
ATTN_API attn_status attn_sdpa(const struct attn_problem *problem, const struct attn_tensors *tensors,
                               attn_reason *reason);

/* ------------------------------------------------------------------------------------ tier 2: engine: where it runs */

typedef enum attn_engine_kind {
    ATTN_ENGINE_CPU = 0,   /* this machine's processor */
    ATTN_ENGINE_ORACLE = 1 /* the definition, in float64, one thread, slow: what the other engines are held against */
} attn_engine_kind;

/* Instruction sets of the CPU engine, as bits. An engine uses the best one that the mask allows and the machine has. */
#define ATTN_CPU_PORTABLE 0x1u /* C, on any processor */
#define ATTN_CPU_AVX2     0x2u /* AVX2 with FMA and F16C */
#define ATTN_CPU_AVX512   0x4u /* AVX-512 F, BW, DQ and VL */
#define ATTN_CPU_NEON     0x8u /* AArch64 Advanced SIMD */
#define ATTN_CPU_ANY      0xFFFFFFFFu

/* Bits of the instruction sets that this machine and its operating system have and this build holds kernels for. */
ATTN_API uint32_t attn_cpu_available(void);
/* "portable", "avx2", ... for one of the bits; "?" for anything else. Static storage. */
ATTN_API const char *attn_cpu_name(uint32_t cpu_bit);

/*
 * Your own threads (tier 3). Has to call task(arg, i) once for each i of 0 .. count - 1, on any threads, in any order,
 * one after another or at the same time, and to return when all have returned. count is at most
 * attn_engine_options.threads.
 */
typedef void (*attn_parallel_for)(void *user, int count, void (*task)(void *arg, int index), void *arg);

/* Your own memory (tier 3). Blocks have to be aligned for any standard type; NULL says that there is no memory. */
typedef void *(*attn_allocate)(void *user, size_t size);
typedef void (*attn_release)(void *user, void *block, size_t size);

typedef struct attn_engine_options {
    size_t struct_size;             /* sizeof(attn_engine_options), set by the INIT macro */
    attn_engine_kind kind;          /* default ATTN_ENGINE_CPU */
    uint32_t cpu_mask;              /* instruction sets that may be used; default ATTN_CPU_ANY */
    int threads;                    /* 1 .. 1024; 0, the default: one a processor that this process may use */
    attn_parallel_for parallel_for; /* NULL, the default: threads of the engine's own */
    void *parallel_user;
    attn_allocate allocate; /* NULL, the default, in both: malloc and free */
    attn_release release;
    void *memory_user;
} attn_engine_options;

#define ATTN_ENGINE_OPTIONS_INIT                                                                                       \
    { sizeof(attn_engine_options), ATTN_ENGINE_CPU, ATTN_CPU_ANY, 0, NULL, NULL, NULL, NULL, NULL }

typedef struct attn_engine attn_engine;

/*
 * Opens an engine. options may be NULL for the defaults. *engine receives the handle, or NULL on any error.
 * Errors: ARGUMENT, UNSUPPORTED (a cpu_mask without a kernel here), MEMORY, SYSTEM.
 */
ATTN_API attn_status attn_engine_open(const attn_engine_options *options, attn_engine **engine, attn_reason *reason);

/* Ends the engine's threads and frees it. Its plans have to be destroyed before, its runs to have returned. NULL is
 * fine. */
ATTN_API void attn_engine_close(attn_engine *engine);

typedef struct attn_engine_info {
    size_t struct_size;    /* sizeof(attn_engine_info), set by the INIT macro */
    attn_engine_kind kind; /* the rest is the library's to fill in */
    const char *name;      /* "cpu", "oracle"; static storage */
    uint32_t cpu;          /* the ATTN_CPU_ bit in use; 0 where there is none */
    int threads;
    int64_t l1d_bytes, l2_bytes, l3_bytes; /* data caches that one core sees; 0 where unknown */
} attn_engine_info;

#define ATTN_ENGINE_INFO_INIT                                                                                          \
    { sizeof(attn_engine_info), ATTN_ENGINE_CPU, NULL, 0, 0, 0, 0, 0 }

/* Errors: ARGUMENT. */
ATTN_API attn_status attn_engine_get_info(const attn_engine *engine, attn_engine_info *info, attn_reason *reason);

/* -------------------------------------------------------------------------------- tier 2: problem: what is computed */

#define ATTN_UNBOUNDED     INT64_C(-1)               /* of a window: no limit on that side. 0 is a limit: itself only */
#define ATTN_CAUSAL        INT64_C(0)                /* of window_right: no key after the row's own position */
#define ATTN_OFFSET_END    INT64_MIN                 /* of q_offset: the last row lines up with the last key */
#define ATTN_SCALE_DEFAULT (-1.7976931348623157e308) /* of scale: 1 / sqrt(dim) */

/* What a problem has beside q, k, v and o, as bits of attn_problem.with. Each names the pointer in attn_tensors. */
#define ATTN_WITH_LSE           0x1u  /* lse is written */
#define ATTN_WITH_ALIBI         0x2u  /* alibi_slopes, one a query head */
#define ATTN_WITH_SINKS         0x4u  /* sinks, one a query head */
#define ATTN_WITH_Q_LENS        0x8u  /* q_lens: rows in use of each batch entry */
#define ATTN_WITH_KV_LENS       0x10u /* kv_lens: keys in use of each batch entry */
#define ATTN_WITH_CU_SEQLENS_Q  0x20u /* cu_seqlens_q: q, o and lse are packed, see there */
#define ATTN_WITH_CU_SEQLENS_KV 0x40u /* cu_seqlens_kv: k and v are packed */
#define ATTN_WITH_Q_OFFSETS     0x80u /* q_offsets: one a batch entry, in place of q_offset */
/* A row's bits depend neither on what else is in the batch nor on how many rows share the call. */
#define ATTN_WITH_BATCH_INVARIANCE 0x100u

/* A broadcastable tensor over (batch, query head, row, key). type ATTN_TYPE_DEFAULT: there is none. */
typedef struct attn_view {
    attn_type type;
    int64_t shape[4];   /* any of them may be 1: broadcast. The last may be less than the keys: see bias and mask */
    int64_t strides[4]; /* in elements; all zero: contiguous in the order of shape */
} attn_view;

/*
 * A problem is a value: no pointers, no ownership. Row i of batch entry b and query head h gets
 *
 *     p  = i + q_offset                            its position among the keys
 *     s  = scale * dot(q_i, k_j)
 *     s  = softcap * tanh(s / softcap)             if softcap > 0
 *     s += bias[b, h, i, j]                        if there is one
 *     s -= alibi_slopes[h] * |p - j|               if there are any
 *
 * over the keys j with j < kv_len, p - window_left <= j <= p + window_right, mask[b, h, i, j] nonzero and bias > -inf;
 * o_i = sum exp(s - lse) v_j with lse = log sum exp(s), the sink's logit included in that sum. A row without keys gets
 * o = 0 and lse = -inf (the sink, if any); rows at or beyond q_len get o = 0 and lse = -inf.
 *
 * Keys that a row may not see are never used: NaN, Inf or garbage there changes nothing.
 */
typedef struct attn_problem {
    size_t struct_size; /* sizeof(attn_problem), set by the INIT macro */

    attn_type type;    /* of q, and of k, v, o where those say default: F32 (default), F16, BF16, F64 */
    attn_type kv_type; /* of k and v; default: type. Nothing else is supported yet */
    attn_type o_type;  /* of o; default: type. ATTN_F32 is allowed beside F16 and BF16 */

    int64_t batch;    /* B >= 0; with cu_seqlens the number of sequences */
    int64_t heads_q;  /* Hq >= 0, a multiple of heads_kv; query head h reads key head h / (heads_q / heads_kv) */
    int64_t heads_kv; /* Hkv; 0, the default: heads_q */
    int64_t seq_q;    /* Nq >= 0 rows; with cu_seqlens_q the rows of the whole packed tensor */
    int64_t seq_kv;   /* Nkv >= 0 keys; with cu_seqlens_kv the keys of the whole packed tensor */
    int64_t dim;      /* D of q and k, 1 .. 1024 */
    int64_t dim_v;    /* Dv of v and o, 1 .. 1024; 0, the default: dim */

    /* In elements, for (batch, head, row, column); any value, 0 and negative included, for inputs. All zero, the
     * default: contiguous [batch, head, row, column], or packed [row, head, column] (the batch stride is then not
     * used). */
    int64_t q_strides[4], k_strides[4], v_strides[4], o_strides[4];
    int64_t lse_strides[3]; /* (batch, head, row); all zero: contiguous [batch, head, row], or packed [head, row] */

    double scale;                      /* any finite number; ATTN_SCALE_DEFAULT: 1 / sqrt(dim) */
    double softcap;                    /* > 0; 0, the default: none */
    int64_t window_left, window_right; /* keys seen before and after the row's position; default ATTN_UNBOUNDED */
    int64_t q_offset;                  /* position of row 0 among the keys; default ATTN_OFFSET_END: kv_len - q_len */

    attn_view bias; /* F32, F16, BF16 or F64. Fewer columns (but not 1) than keys: the keys beyond are excluded */
    attn_view mask; /* BOOL, nonzero: may be seen. Fewer columns: as for bias */

    double dropout_p;      /* 0 <= p < 1: weights are dropped with this probability, kept ones scaled by 1 / (1 - p) */
    uint32_t with;         /* ATTN_WITH_ bits */
    attn_type length_type; /* of lengths, cumulative lengths and offsets: ATTN_I32 (default) or ATTN_I64 */
} attn_problem;

#define ATTN_VIEW_INIT                                                                                                 \
    {                                                                                                                  \
        ATTN_TYPE_DEFAULT, {0, 0, 0, 0}, {                                                                             \
            0, 0, 0, 0                                                                                                 \
        }                                                                                                              \
    }

#define ATTN_PROBLEM_INIT                                                                                              \
    {                                                                                                                  \
        sizeof(attn_problem), ATTN_F32, ATTN_TYPE_DEFAULT, ATTN_TYPE_DEFAULT, 1, 1, 0, 0, 0, 0, 0, {0, 0, 0, 0},       \
            {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0}, ATTN_SCALE_DEFAULT, 0.0, ATTN_UNBOUNDED,              \
            ATTN_UNBOUNDED, ATTN_OFFSET_END, ATTN_VIEW_INIT, ATTN_VIEW_INIT, 0.0, 0, ATTN_I32                          \
    }

/*
 * Checks a problem and writes its completed form, every default replaced by what it stands for, to *completed (may be
 * NULL, may be problem itself). A completed problem is valid input again and means the same.
 * Errors: ARGUMENT, SHAPE, OVERFLOW, OVERLAP (strides by which o or lse overlaps itself), UNSUPPORTED (a kv_type other
 * than type).
 */
ATTN_API attn_status attn_problem_complete(const attn_problem *problem, attn_problem *completed, attn_reason *reason);

/* ATTN_OK if the engine can run the problem, or else why not: attn_problem_complete's errors, UNSUPPORTED. */
ATTN_API attn_status attn_supports(const attn_engine *engine, const attn_problem *problem, attn_reason *reason);

/* --------------------------------------------------------------------------------------- tier 2: plan: how, and run */

typedef struct attn_plan attn_plan;

/*
 * Chooses kernels, tiles and splits for the problem, and allocates the workspace that running needs unless
 * own_workspace is nonzero: then every attn_run brings one (attn_tensors.workspace). Lengths are run-time data: one
 * plan for the largest sizes serves every step of a decode loop. The engine has to outlive the plan. *plan receives the
 * handle, or NULL on any error. Errors: those of attn_supports, MEMORY.
 */
ATTN_API attn_status attn_plan_create(attn_engine *engine, const attn_problem *problem, int own_workspace,
                                      attn_plan **plan, attn_reason *reason);
ATTN_API void attn_plan_destroy(attn_plan *plan);

typedef struct attn_plan_info {
    size_t struct_size;     /* sizeof(attn_plan_info), set by the INIT macro */
    const char *kernel;     /* name of the kernel that will run; lives as long as the plan */
    size_t workspace_bytes; /* a promise: running uses no more beside the tensors */
    double flops; /* of one run with full lengths: 2 (D + Dv) for each pair of row and key inside the window */
    double bytes; /* of the tensors of one run with full lengths, each counted once */
} attn_plan_info;

#define ATTN_PLAN_INFO_INIT                                                                                            \
    { sizeof(attn_plan_info), NULL, 0, 0.0, 0.0 }

ATTN_API attn_status attn_plan_get_info(const attn_plan *plan, attn_plan_info *info, attn_reason *reason);

/* Bytes of workspace that a run of this plan needs; 0 for NULL. */
ATTN_API size_t attn_plan_workspace(const attn_plan *plan);

/*
 * The plan in words: several lines of text, terminated. As snprintf: at most size bytes are written, and the return
 * value is the length of the whole text without its terminator. text may be NULL if size is 0. NULL plan: 0.
 */
ATTN_API size_t attn_plan_explain(const attn_plan *plan, char *text, size_t size);

/*
 * The pointers of one run, each aligned to its element. Those that the problem does not name in `with`, bias or mask
 * have to be NULL. Only the outputs and the workspace may not overlap anything.
 */
typedef struct attn_tensors {
    size_t struct_size; /* sizeof(attn_tensors), set by the INIT macro */
    const void *q, *k, *v;
    void *o;
    float *lse;                /* natural logarithm, also for F64 */
    const void *bias, *mask;   /* element (0, 0, 0, 0) of each */
    const float *alibi_slopes; /* [Hq] */
    const float *sinks;        /* [Hq] logits that join the softmax and add no value */
    /* Lengths, all of problem.length_type: */
    const void *q_lens, *kv_lens; /* [B], 0 .. the rows (keys) that the entry has room for */
    const void *cu_seqlens_q;     /* [B + 1], starts with 0, never falls, ends at seq_q at most: sequence b is the rows
                                     cu[b] .. cu[b + 1] - 1 of the packed q. Rows of no sequence get o = 0, lse = -inf */
    const void *cu_seqlens_kv;    /* the same for k and v */
    const void *q_offsets;        /* [B] */
    uint64_t dropout_seed, dropout_offset;
    void *workspace; /* NULL: the plan's own; two runs of one plan then take turns */
    size_t workspace_bytes;
} attn_tensors;

#define ATTN_TENSORS_INIT                                                                                              \
    {                                                                                                                  \
        sizeof(attn_tensors), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0,   \
            0, NULL, 0                                                                                                 \
    }

/*
 * Runs a plan and returns when the outputs are written. Allocates nothing.
 * Errors: ARGUMENT (a pointer missing, too many or not aligned, no workspace where the plan has none), OVERLAP,
 * LENGTHS, MEMORY (workspace too small). Nothing is written then.
 */
ATTN_API attn_status attn_run(const attn_plan *plan, const attn_tensors *tensors, attn_reason *reason);

/*
 * Merges results over disjoint sets of keys into the result over all of them, from (o, lse) alone: weights
 * exp(lse_part - lse). o: [batch, heads, seq, dim_v] contiguous in every part, lse: [batch, heads, seq]. The result may
 * be written over one of the parts, or else may not overlap any. A row without keys in all parts gets o = 0, lse =
 * -inf. A sink belongs in exactly one part. lse may be NULL. Errors: ARGUMENT, SHAPE, OVERFLOW, OVERLAP.
 */
typedef struct attn_merge_shape {
    size_t struct_size;  /* sizeof(attn_merge_shape), set by the INIT macro */
    attn_type part_type; /* of the parts' o: F32 (default), F16, BF16, F64 */
    attn_type o_type;    /* of o; default: part_type */
    int64_t batch, heads, seq, dim_v;
} attn_merge_shape;

#define ATTN_MERGE_SHAPE_INIT                                                                                          \
    { sizeof(attn_merge_shape), ATTN_F32, ATTN_TYPE_DEFAULT, 1, 1, 0, 0 }

ATTN_API attn_status attn_merge(const attn_merge_shape *shape, int parts, const void *const *o_parts,
                                const float *const *lse_parts, void *o, float *lse, attn_reason *reason);

/* --------------------------------------------------------------------------------------------- tier 4: experimental */

/* What the machine can do at best, measured in a few hundred milliseconds with the engine's threads. */
typedef struct attn_engine_speed {
    size_t struct_size; /* sizeof(attn_engine_speed), set by the INIT macro */
    double flops_f32;   /* fused multiply-adds in registers, two operations each, a second */
    double flops_f64;
    double read_bytes; /* bytes a second read from memory, not cache */
} attn_engine_speed;

#define ATTN_ENGINE_SPEED_INIT                                                                                         \
    { sizeof(attn_engine_speed), 0.0, 0.0, 0.0 }

/* Errors: ARGUMENT, UNSUPPORTED (the oracle), MEMORY. */
ATTN_API attn_status attn_engine_measure(attn_engine *engine, attn_engine_speed *speed, attn_reason *reason);

#ifdef __cplusplus
}
#endif

#endif /* ATTN_ATTN_H */
