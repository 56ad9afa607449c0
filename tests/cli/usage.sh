#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong usage: exit status 2, a message that names the culprit, and nothing on standard output.
# shellcheck source=harness
. "$(dirname "$0")/harness"

# wrong PATTERN ARGUMENT...: the usage is refused with one line that matches.
wrong() {
    pattern=$1
    shift
    try 2 "$@"
    says "^attn: $pattern"
    equal "lines of the message" "$(wc -l <"$work/err" | tr -d ' ')" 1
    prints_nothing
}

wrong "which command"
wrong "unknown command 'chek'; did you mean 'check'" chek
wrong "unknown command 'frobnicate'; 'attn --help'" frobnicate
wrong "unknown command 'frobnicate'" help frobnicate
wrong "unknown option --verbose" --verbose
wrong "run: unknown option --casual; did you mean --causal" run --casual
wrong "run: unknown option --sclae; did you mean --scale" run --sclae 1
wrong "check: unknown option --help-me-please; 'attn check --help'" check --help-me-please
wrong "bench: unknown option --threds; did you mean --threads" bench --threds=2
wrong "info: unknown option -Z" info -Z
wrong "info: takes options only, not 'more'" info more
wrong "explain: takes 1 case file at most; 'b' is one too many" explain a b
wrong "check: needs files or folders" check
wrong "make: needs --seq-q" make -o x.safetensors
wrong "make: needs -o" make --seq-q 4
wrong "explain: needs a case file" explain
wrong "run: needs a case file, or --q" run
wrong "run: needs a case file, or --q" run --q q.npy --k k.npy
wrong "run: a case file or arrays" run a.safetensors --q q.npy
wrong "run: only one array" run --q - --k - --v v.npy
wrong "run: only one thing" run a.safetensors -o - --lse -
wrong "run: only one thing" run a.safetensors -o - --json
wrong "run: 'o.txt' ends neither" run a.safetensors -o o.txt
wrong "bench: shapes or case files" bench --seq-q 4 a.safetensors
wrong "explain: shapes or a case file" explain --preset A a.safetensors

# Values.
wrong "run: --causal takes no value" run --causal=1
wrong "run: --output needs a value: FILE" run -o
wrong "run: --scale needs a value: X" run --scale
wrong "run: --scale takes a number, not 'wide'" run --scale wide
wrong "run: --scale takes a number, not 'nan'" run --scale nan
wrong "run: --q-offset takes a whole number, not '1.5'" run --q-offset 1.5
wrong "run: --window-left takes a whole number, 0 or more, not '-1'" run --window-left -1
wrong "run: --layout takes bhsd|bshd|thd, not 'hbsd'" run --layout hbsd
wrong "bench: --threads takes whole numbers from 0 to 1024, as in 1,2, not '1,,2'" bench --threads 1,,2
wrong "info: --threads takes a whole number from 0 to 1024, not '1025'" info --threads 1025
wrong "info: --engine takes cpu|oracle, not 'gpu'" info --engine gpu
wrong "info: --cpu takes portable" info --cpu avx9
wrong "make: --seed takes a whole number, 0 or more, not '-1'" make --seed -1
wrong "make: --seed takes a whole number, 0 or more, not '18446744073709551616'" make --seed 18446744073709551616
wrong "make: --type takes f32|f16|bf16|f64, not 'i32'" make --type i32
wrong "make: --bias takes 'full' or four sizes" make --bias 1,2
wrong "make: --mask-kept takes a number from 0 to 1, not '2'" make --mask-kept 2
wrong "make: --preset takes A|B|C|decode, not 'D'" make --preset D

# The library's own reasons come through, with the numbers.
wrong ".*7.*3" make --heads 7 --kv-heads 3 --seq-q 4 -o x.safetensors
wrong "explain: dim is 2000" explain --seq-q 4 --dim 2000
wrong "explain: .*softcap" explain --seq-q 4 --softcap -1

# An instruction set that no machine has together with all others: one of them is missing here.
for cpu in avx2 avx512 neon; do
    "$attn" info --json | jq -e ".cpus | index(\"$cpu\")" >/dev/null || wrong "engine: .*cpu_mask" info --cpu $cpu
done

# Where an option is a word of its own, where it is attached, and where options end.
try 0 explain --seq-q 4 -t 1
try 0 explain --seq-q=4 -t1
cp "$work/out" "$work/attached"
try 0 explain -c --seq-q 4
prints ', causal'
try 2 explain --seq-q 4 -- --causal
says "shapes or a case file"
try 2 check -- --no-such-file
says "^attn: --no-such-file: "

finish
