#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# attn check: passes, misses, files that are none, folders, reports.
# shellcheck source=harness
. "$(dirname "$0")/harness"

# One batch entry, one head, two rows, two keys, q = k = 0: o is the mean of v, which is 2 3. Expected is written down as
# 2 3 2 9, so that one element misses.
zeros='\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
one='\0\0\200\077' two='\0\0\0\100' three='\0\0\100\100' four='\0\0\200\100' nine='\0\0\020\101'
tensor='{"dtype":"F32","shape":[1,1,2,2],"data_offsets"'
header='{"__metadata__":{"attn_case":"1"},"q":'$tensor':[0,16]},"k":'$tensor':[16,32]},"v":'$tensor':[32,48]},"o":'$tensor
header=$header':[48,64]}}'
mkdir "$work/good" "$work/good/deeper" "$work/bad" "$work/empty" "$work/mixed"
safetensors good/mean.safetensors "$header" "$zeros$zeros$one$two$three$four$two$three$two$three"
safetensors bad/doctored.safetensors "$header" "$zeros$zeros$one$two$three$four$two$three$two$nine"

try 0 check good/mean.safetensors
prints '^pass  good/mean.safetensors  '
prints '^1 passed, 0 failed$'
says_nothing

try 1 check bad/doctored.safetensors
prints '^FAIL  bad/doctored.safetensors  .*o\[0 0 1 1\] got 3 expected 9 limit .*, 1 of 4 miss$'
prints '^0 passed, 1 failed$'
says_nothing

# Only a limit that is wide enough lets it pass.
try 0 check bad/doctored.safetensors --atol 6.5
try 1 check bad/doctored.safetensors --atol 5.5 --rtol 0
prints 'limit 5.5,'
try 0 check bad/doctored.safetensors --rtol 0.7

# Results that are expected of other options than the file says.
try 0 make --heads 2 --seq-q 40 --scale 0.5 --expect -o good/deeper/scaled.safetensors
try 0 check good/deeper/scaled.safetensors
sed 's/"scale": *"0.5"/"scale":"0.9"/' "$work/good/deeper/scaled.safetensors" >"$work/bad/other-scale.safetensors"
try 1 check bad/other-scale.safetensors
prints '^FAIL'

# Without expected results the oracle is asked.
try 0 make --heads 3 --seq-q 70 --dim 20 --causal -o good/deeper/unanswered.safetensors
try 0 check good/deeper/unanswered.safetensors --json
json '.cases[0].reference == "oracle" and .cases[0].pass and .cases[0].lse.pass and .cases[0].o.elements == 4200'

# Folders, whatever else lies in them.
echo text >"$work/good/notes.txt"
try 0 check good
prints '^pass  good/deeper/scaled.safetensors  '
prints '^3 passed, 0 failed$'
try 0 check good/ --quiet
equal "quiet output" "$(cat "$work/out")" "3 passed, 0 failed"
try 1 check bad good -q
equal "misses shown when quiet" "$(grep -c '^FAIL  bad/' "$work/out")" 2
prints '^3 passed, 2 failed$'
try 2 check empty
says '^attn: empty: no .safetensors file'
try 2 check empty good
prints '^3 passed, 0 failed$'

# Files that make no case are reported, and the rest goes on.
cp "$work/good/mean.safetensors" "$work/mixed/a.safetensors"
printf 'not a case' >"$work/mixed/b.safetensors"
head -c 1000 "$work/good/mean.safetensors" >"$work/mixed/c.safetensors"
cp "$work/bad/doctored.safetensors" "$work/mixed/d.safetensors"
: >"$work/mixed/e.safetensors"
try 2 check mixed
says '^attn: mixed/b.safetensors: '
says '^attn: mixed/c.safetensors: '
says '^attn: mixed/e.safetensors: '
prints '^1 passed, 1 failed, 3 not read$'
try 2 check mixed --json
json '.passed == 1 and .failed == 1 and .unreadable == 3 and (.cases | length == 5)'
json '[.cases[] | select(.error)] | length == 3'
try 2 check good/mean.safetensors missing.safetensors
says '^attn: missing.safetensors: '
prints '^1 passed, 0 failed, 1 not read$'

# The document.
try 1 check bad/doctored.safetensors good/mean.safetensors --json
json '.cases[0].file == "bad/doctored.safetensors" and (.cases[0].pass | not) and .cases[0].reference == "file"'
json '.cases[0].o.worst | .b == 0 and .h == 0 and .i == 1 and .c == 1 and .got == 3 and .expected == 9 and .limit > 0'
json '.cases[0].o.failures == 1 and .cases[0].o.elements == 4 and .cases[0].o.max_error == 6'
json '.cases[1].pass and .passed == 1 and .failed == 1'

# Standard input, engines, instruction sets.
input="$work/good/mean.safetensors" try 0 check -
prints '^pass  -  '
try 0 check good --engine oracle
prints '  oracle  '
try 0 check good --cpu portable --threads 2
prints '  portable  '
cpus=$("$attn" info --json | jq '.cpus | length')
try 0 check good --every-cpu
prints "^$((3 * cpus)) passed, 0 failed\$"
equal "instruction sets" "$(grep -c '  portable  ' "$work/out")" 3

# Non-finite values have no number in JSON.
nan='\0\0\300\177'
safetensors nan.safetensors "$header" "$zeros$zeros$nan$two$three$four$nan$three$nan$three"
try 0 check nan.safetensors
safetensors nan-missed.safetensors "$header" "$zeros$zeros$nan$two$three$four$two$three$two$three"
try 1 check nan-missed.safetensors --json
json '.cases[0].o.worst.got == "nan"'

finish
