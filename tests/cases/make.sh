#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How the case files beside this script were made: tests/cases/make.sh path/to/attn. Their expected results are those of
# the float64 oracle at that time, kept so that neither the oracle nor a kernel can change unnoticed. Add a line for a new
# case; do not make the old ones anew without a reason that the commit gives.
set -eu
attn=$1
cd -- "$(dirname -- "$0")"

make_case() {
    name=$1
    shift
    [ -e "$name.safetensors" ] || "$attn" make --expect --title "$name" --origin "float64 oracle of libattn" -o "$name.safetensors" "$@"
}

make_case one_row --seq-q 1 --seq-kv 1 --dim 3
make_case no_keys --heads 2 --seq-q 3 --seq-kv 0 --dim 8
make_case tile_edge --seq-q 13 --seq-kv 257 --dim 24 --causal
make_case groups_of_five --heads 10 --kv-heads 2 --seq-q 9 --seq-kv 40 --dim 32 --causal --seed 1
make_case wide_values --heads 2 --seq-q 7 --seq-kv 33 --dim 8 --dim-v 72 --seed 2
make_case packed --layout thd --batch 5 --heads 4 --kv-heads 2 --seq-q 37 --seq-kv 51 --dim 16 --causal --seed 3
make_case packed_i64_f16 --layout thd --batch 4 --heads 2 --seq-q 29 --dim 24 --causal --type f16 --length-type i64 --seed 4
make_case packed_decode --layout thd --batch 6 --heads 6 --kv-heads 3 --seq-q 6 --seq-kv 90 --dim 16 --causal --seed 5
make_case lengths_bshd --layout bshd --batch 3 --heads 2 --seq-q 17 --seq-kv 31 --dim 20 --q-lens --kv-lens --causal --seed 6
make_case window_sinks --heads 4 --kv-heads 2 --seq-q 45 --seq-kv 60 --dim 16 --window-left 6 --window-right 2 --sinks --seed 7
make_case early_rows_see_nothing --heads 2 --seq-q 21 --seq-kv 9 --dim 16 --causal --sinks --seed 8
make_case bias_with_holes --batch 2 --heads 3 --seq-q 19 --seq-kv 35 --dim 16 --bias full --bias-excluded 0.4 --softcap 4 --seed 9
make_case bias_f16_by_key --batch 2 --heads 3 --seq-q 19 --seq-kv 35 --dim 16 --bias 0,1,1,0 --bias-type f16 --seed 10
make_case mask_by_head --batch 2 --heads 3 --seq-q 19 --seq-kv 35 --dim 16 --mask 1,0,0,0 --mask-kept 0.3 --alibi --seed 11
make_case mask_short --heads 2 --seq-q 11 --seq-kv 50 --dim 16 --mask 1,1,0,30 --seed 12
make_case everything --batch 3 --heads 6 --kv-heads 3 --seq-q 23 --seq-kv 47 --dim 24 --dim-v 16 --causal --window-left 19 \
    --softcap 6 --alibi --sinks --bias 1,0,0,0 --mask 0,1,0,0 --q-lens --kv-lens --seed 13
make_case dropout --heads 2 --seq-q 33 --seq-kv 65 --dim 16 --causal --dropout-p 0.3 --dropout-seed 7 --dropout-offset 4294967301 \
    --seed 14
make_case offset_and_scale --heads 2 --seq-q 12 --seq-kv 40 --dim 16 --causal --q-offset 5 --scale -0.3 --seed 15
make_case double --heads 2 --seq-q 15 --seq-kv 70 --dim 18 --causal --type f64 --softcap 5 --alibi --sinks --seed 16
make_case bf16_few_rows --heads 8 --kv-heads 2 --seq-q 2 --seq-kv 300 --dim 40 --causal --type bf16 --seed 17
make_case f16_few_rows --heads 6 --kv-heads 2 --seq-q 1 --seq-kv 515 --dim 16 --type f16 --seed 18
