#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# attn bench: the table, the document, and what there is to choose.
# shellcheck source=harness
. "$(dirname "$0")/harness"

try 0 bench --heads 2 --seq-q 64 --dim 16 --repeat 5 --threads 1,2
prints '^f32, 2 heads, 64 rows, 64 keys, dim 16$'
prints ' median ms .* GFLOP/s  of peak .* GB/s '
equal "rows" "$(grep -c '[0-9]%' "$work/out")" 2
says_nothing

try 0 bench --heads 2 --kv-heads 1 --seq-q 64 --seq-kv 80 --dim 16 --dim-v 8 --causal --q-offset 80 --repeat 5 \
    --threads 1,2 --json
says_nothing
json '.attn and (.results | length == 2) and .results[0].threads == 1 and .results[1].threads == 2'
json 'all(.results[]; .repeats == 5 and .seconds.min > 0 and .seconds.min <= .seconds.quarter)'
json 'all(.results[]; .seconds.quarter <= .seconds.median and .seconds.median <= .seconds.three_quarters)'
json 'all(.results[]; .seconds.three_quarters <= .seconds.max)'
json 'all(.results[]; .flops == 2 * 64 * 80 * 2 * 24 and (.kernel | length > 0) and (.cpu | length > 0))'
json 'all(.results[]; (.gflops.median * .seconds.median * 1e9 / .flops - 1) | fabs < 1e-6)'
json 'all(.results[]; (.gbytes_per_second.median * .seconds.median * 1e9 / .bytes - 1) | fabs < 1e-6)'
json 'all(.results[]; (.gflops.median / .gflops.machine / .gflops.fraction - 1) | fabs < 1e-6)'
json 'all(.results[]; .gbytes_per_second.machine > 0 and .gbytes_per_second.fraction > 0)'
json '.results[0].problem | .type == "f32" and .heads == 2 and .kv_heads == 1 and .seq_kv == 80 and .dim_v == 8 and .causal'

# Without the machine's own speeds.
try 0 bench --seq-q 8 --repeat 2 --no-peak --json
json '.results[0].gflops.machine == null and .results[0].gflops.median > 0'
try 0 bench --seq-q 8 --repeat 2 --no-peak
prints ' - .* - '

# Case files, several and by name; features of random data; types.
try 0 make --seq-q 16 --batch 2 --layout thd -o a.safetensors
try 0 make --seq-q 16 --type f16 -o b.safetensors
try 0 bench a.safetensors b.safetensors --repeat 3 --warm-up 0 --no-peak --json
json '[.results[].title] == ["a.safetensors", "b.safetensors"] and .results[1].problem.type == "f16"'
try 2 bench a.safetensors missing.safetensors --repeat 3 --no-peak
says '^attn: missing.safetensors: '
try 0 bench --seq-q 16 --bias full --mask full --alibi --sinks --kv-lens --type bf16 --repeat 3 --no-peak
prints '^bf16, .*, bias, mask, ALiBi, sinks, lengths$'
try 0 bench --preset decode --seq-kv 64 --repeat 3 --no-peak
prints '^f32, 32 heads over 8, 1 row, 64 keys, dim 128$'
try 0 bench --seq-q 0 --repeat 3 --no-peak
prints ' 0 rows, 0 keys'

# Engines.
cpus=$("$attn" info --json | jq '.cpus | length')
try 0 bench --seq-q 16 --every-cpu --repeat 2 --no-peak --json
json "(.results | length == $cpus) and ([.results[].cpu] | index(\"portable\") != null)"
try 0 bench --seq-q 16 --engine oracle --repeat 2 --json
json '.results[0].cpu == "oracle" and .results[0].gflops.machine == null'

# All presets, when no shape is given; with a window of one key they are little work.
try 0 bench --window-left 0 --window-right 0 --repeat 1 --warm-up 0 --no-peak --json
json '[.results[].title] == ["A", "B", "C", "decode"] and .results[2].problem.seq_q == 4096'
try 2 bench --dropout-p 2
says '^attn: .*dropout'

finish
