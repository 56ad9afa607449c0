#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# attn run, explain and make: arrays and cases in, results out, through files and pipes.
# shellcheck source=harness
. "$(dirname "$0")/harness"

# Two rows and two keys. With q = 0 every key that may be seen has the same weight, so that o is a mean of v.
zeros='\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
one='\0\0\200\077' two='\0\0\0\100' three='\0\0\100\100' four='\0\0\200\100'
npy q.npy '<f4' '(1, 1, 2, 2)' "$zeros"
npy v.npy '<f4' '(1, 1, 2, 2)' "$one$two$three$four"

try 0 run --q q.npy --k q.npy --v v.npy -o o.npy --lse lse.npy
says_nothing
prints_nothing
equal "o" "$(npy_floats o.npy)" "2 3 2 3"
equal "lse" "$(npy_floats lse.npy)" "0.6931472 0.6931472"
equal "shape of o" "$(grep -ac "(1, 1, 2, 2)" "$work/o.npy")" 1

try 0 run --q q.npy --k q.npy --v v.npy --causal -o o.npy --lse lse.npy
equal "causal o" "$(npy_floats o.npy)" "1 2 2 3"
equal "causal lse" "$(npy_floats lse.npy)" "0 0.6931472"

try 0 run --q q.npy --k q.npy --v v.npy --window-left 0 --window-right 0 -o o.npy
equal "o of a window of one" "$(npy_floats o.npy)" "1 2 3 4"

try 0 run --q q.npy --k q.npy --v v.npy --causal --q-offset -1 -o o.npy --lse lse.npy
equal "o with a row that sees nothing" "$(npy_floats o.npy)" "0 0 1 2"
equal "lse with a row that sees nothing" "$(npy_floats lse.npy)" "-inf 0"

# Mask, bias, lengths, sinks and slopes reach the problem.
npy mask.npy '|b1' '(2, 2)' '\0\1\1\0'
try 0 run --q q.npy --k q.npy --v v.npy --mask mask.npy -o o.npy
equal "masked o" "$(npy_floats o.npy)" "3 4 1 2"
npy bias.npy '<f4' '(2, 2)' '\0\0\200\377\0\0\0\0\0\0\0\0\0\0\200\377'
try 0 run --q q.npy --k q.npy --v v.npy --bias bias.npy -o o.npy
equal "o with -inf in the bias" "$(npy_floats o.npy)" "3 4 1 2"
npy lens.npy '<i4' '(1,)' '\1\0\0\0'
try 0 run --q q.npy --k q.npy --v v.npy --kv-lens lens.npy -o o.npy
equal "o of one key" "$(npy_floats o.npy)" "1 2 1 2"
npy sinks.npy '<f4' '(1,)' '\0\0\0\0'
try 0 run --q q.npy --k q.npy --v v.npy --causal --sinks sinks.npy -o o.npy --lse lse.npy
equal "lse with a sink" "$(npy_floats lse.npy)" "0.6931472 1.0986123"
npy slopes.npy '<f4' '(1,)' '\0\0\0\0'
try 0 run --q q.npy --k q.npy --v v.npy --alibi slopes.npy -o o.npy
equal "o with a slope of 0" "$(npy_floats o.npy)" "2 3 2 3"

# Packed sequences of one row each.
npy packed_q.npy '<f4' '(2, 1, 2)' "$zeros"
npy packed_v.npy '<f4' '(2, 1, 2)' "$one$two$three$four"
npy cu.npy '<i4' '(3,)' '\0\0\0\0\1\0\0\0\2\0\0\0'
try 0 run --layout thd --q packed_q.npy --k packed_q.npy --v packed_v.npy --cu-seqlens-q cu.npy \
    --cu-seqlens-kv cu.npy -o o.npy
equal "packed o" "$(npy_floats o.npy)" "1 2 3 4"

# Arrays without a batch dimension give one without.
npy q3.npy '<f4' '(1, 2, 2)' "$zeros"
npy v3.npy '<f4' '(1, 2, 2)' "$one$two$three$four"
try 0 run --q q3.npy --k q3.npy --v v3.npy -o o.npy
equal "shape of o without batch" "$(grep -ac "'shape': (1, 2, 2)" "$work/o.npy")" 1

# Pipes.
input="$work/v.npy" try 0 run --q q.npy --k q.npy --v - -o -
cp "$work/out" "$work/piped.npy"
equal "o through pipes" "$(npy_floats piped.npy)" "2 3 2 3"

# The oracle and every instruction set agree here to the last bit.
try 0 run --engine oracle --q q.npy --k q.npy --v v.npy -o o.npy
equal "o of the oracle" "$(npy_floats o.npy)" "2 3 2 3"
try 0 run --cpu portable --threads 1 --q q.npy --k q.npy --v v.npy -o o.npy
equal "o on portable C" "$(npy_floats o.npy)" "2 3 2 3"

# Bad arrays.
printf 'hello' >"$work/hello.npy"
head -c 100 "$work/q.npy" >"$work/short.npy"
npy big.npy '>f4' '(1, 1, 2, 2)' "$zeros"
npy text.npy '<U4' '(1,)' "$zeros"
sed "s/'fortran_order': False/'fortran_order': True /" "$work/q.npy" >"$work/fortran.npy"
for bad in hello short big text fortran missing; do
    try 2 run --q $bad.npy --k q.npy --v v.npy -o bad-o.npy
    says "^attn: .*$bad.npy"
    if [ -e "$work/bad-o.npy" ]; then fail "no output should be left after an error"; else pass; fi
done
npy narrow.npy '<f4' '(1, 1, 2, 1)' '\0\0\0\0\0\0\0\0'
try 2 run --q q.npy --k narrow.npy --v v.npy
says "^attn: "

# Cases: made, run into a copy with results, checked. The same seed gives the same bytes.
try 0 make --batch 2 --heads 4 --kv-heads 2 --seq-q 33 --seq-kv 65 --dim 24 --dim-v 40 --causal --seed 7 -o a.safetensors
says_nothing
try 0 make --batch 2 --heads 4 --kv-heads 2 --seq-q 33 --seq-kv 65 --dim 24 --dim-v 40 --causal --seed 7 -o -
if cmp -s "$work/out" "$work/a.safetensors"; then pass; else fail "the same seed should give the same bytes"; fi
try 0 make --batch 2 --heads 4 --kv-heads 2 --seq-q 33 --seq-kv 65 --dim 24 --dim-v 40 --causal --seed 8 -o b.safetensors
if cmp -s "$work/a.safetensors" "$work/b.safetensors"; then fail "seeds should differ"; else pass; fi
try 0 run a.safetensors -o result.safetensors
try 0 check result.safetensors
prints '^1 passed, 0 failed$'
try 0 run a.safetensors -o o.npy
equal "shape of a case's o" "$(grep -ac "'shape': (2, 4, 33, 40)" "$work/o.npy")" 1
input="$work/a.safetensors" try 0 run - -o - --format npy
if cmp -s "$work/out" "$work/o.npy"; then pass; else fail "- should read standard input and write standard output"; fi
try 0 run a.safetensors --o-f32 --format safetensors -o odd-name
try 0 check odd-name

# The summary, for people and as JSON.
try 0 run a.safetensors
prints '^problem  f32, batch 2, 4 heads over 2, 33 rows, 65 keys, dim 24 and 40, causal$'
prints '^kernel   [a-z]'
prints '^o        f32 \[2, 4, 33, 40\]'
try 0 run a.safetensors --json --threads 1
json '.problem.heads == 4 and .problem.kv_heads == 2 and .problem.causal and .o_shape == [2, 4, 33, 40]'
json '.seconds > 0 and .threads == 1 and (.kernel | length > 0) and .workspace_bytes >= 0 and .peak_memory_bytes > 0'
try 0 run a.safetensors --json -o o2.npy
json '.problem.seq_q == 33'
if cmp -s "$work/o.npy" "$work/o2.npy"; then pass; else fail "--json should not change -o"; fi

# Options change those of a case.
try 0 run b.safetensors --softcap 3 --window-left 5
prints 'softcap 3'
prints 'window left 5'

# make: everything at once, and what it expects holds.
try 0 make --batch 3 --heads 4 --seq-q 20 --dim 8 --bias 1,0,0,0 --bias-type f16 --bias-excluded 0.1 --mask 0,1,0,0 \
    --mask-kept 0.5 --alibi --sinks --q-lens --kv-lens --length-type i64 --softcap 9 --type bf16 --layout bshd \
    --title 'all at once' --origin 'a test' --expect -o all.safetensors
equal "title" "$(grep -ac 'all at once' "$work/all.safetensors")" 1
try 0 check all.safetensors
try 0 make --batch 3 --heads 2 --seq-q 50 --dim 16 --layout thd --dropout-p 0.2 --dropout-seed 5 --expect -o thd.safetensors
try 0 check thd.safetensors
try 0 make --seq-q 5 --atol 0.25 --rtol 0.125 -o limits.safetensors
equal "atol" "$(grep -ac '"atol": *"0.25' "$work/limits.safetensors")" 1

# explain, from shapes and from a case.
try 0 explain --heads 8 --kv-heads 2 --seq-q 1 --seq-kv 5000 --dim 128
prints '^f32, 8 heads over 2, 1 row, 5000 keys, dim 128$'
prints 'kernel'
cp "$work/out" "$work/explained"
try 0 explain a.safetensors --cpu portable
prints 'portable'
try 0 explain --preset A --json
json '.problem.seq_q == 1024 and .flops == 16 * 1024 * 1024 * 256 and .bytes > 0 and (.text | length > 20)'
json '.kernel | length > 0'
try 0 explain --preset A --batch 3 --layout bshd --bias 1,1,0,0 --mask full --alibi --sinks --kv-lens --json
json '.problem.batch == 3 and .problem.bias == [1, 1, 1024, 1024] and .problem.mask == [3, 16, 1024, 1024]'
try 0 explain --engine oracle --preset decode
prints 'oracle'

# info.
try 0 info
prints '^attn  *[0-9]'
prints '^cpu  *portable'
prints '^kernels$'
says_nothing
try 0 info --json --threads 1
json '.attn and .machine.architecture and .machine.processors >= 1 and .threads == 1'
json '(.cpus | index("portable") != null) and (.engines == ["cpu", "oracle"]) and (.kernels | length == 8)'
json 'all(.kernels[]; .kernel | length > 0)'
try 0 info --cpu portable --json
json '.cpu == "portable"'
try 0 info --measure --json --threads 1
json '.flops_f32 > 0 and .flops_f64 > 0 and .read_bytes_per_second > 0'

finish
