#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Outputs that cannot be written, readers that leave, terminals.
# The command lines here are expanded later, by eval.
# shellcheck disable=SC2016
# shellcheck source=harness
. "$(dirname "$0")/harness"

# after STATUS COMMAND-LINE: runs a shell command line in the work folder, attn in it as "$attn".
after() {
    expected_status=$1
    last_arguments=$2
    status=0
    (cd "$work" && eval "$2" >out 2>err </dev/null) || status=$?
    if [ "$status" -eq "$expected_status" ]; then pass; else fail "exit status $expected_status expected"; fi
}

"$attn" make --seq-q 30 --expect -o "$work/case.safetensors"

if [ -c /dev/full ]; then
    for arguments in --help --version info 'info --json' 'run --help' 'check case.safetensors' 'run case.safetensors' \
        'run case.safetensors -o -' 'make --seq-q 9 -o -' 'make --seq-q 100000 --dim 8 -o -' 'explain --seq-q 9'; do
        after 2 "\"\$attn\" $arguments >/dev/full"
        says 'standard output: .*No space left on device'
        equal "lines of the message" "$(wc -l <"$work/err" | tr -d ' ')" 1
    done
    after 2 '"$attn" run case.safetensors --format npy -o /dev/full'
    says '^attn: /dev/full: '
fi
after 2 '"$attn" run case.safetensors -o no-such-folder/o.npy'
says '^attn: no-such-folder/o.npy: '

# Standard streams that are closed from the start are errors where they are used, and never hit another file.
after 2 '"$attn" info >&-'
says '^attn: standard output: '
after 2 '"$attn" run - <&-'
says '^attn: standard input: '
cp "$work/case.safetensors" "$work/before.safetensors"
after 2 '"$attn" check case.safetensors >&-'
if cmp -s "$work/case.safetensors" "$work/before.safetensors"; then pass; else fail "the case should be untouched"; fi
after 0 '"$attn" run case.safetensors -o o.npy >&- 2>&-'

# A reader that has enough ends the command without a word: by a signal, or where that is ignored by an error.
after 0 '{ "$attn" make --seq-q 100000 --dim 8 -o -; echo $? >left; } | head -c 1 | od -An -c'
case $(cat "$work/left") in
141) says_nothing ;;
2) says 'standard output: ' ;;
*) fail "exit status 141 or 2 expected after the reader left, not $(cat "$work/left")" ;;
esac

# No binary data to a terminal; a progress bar there after a second, gone when done; none of it elsewhere.
# (script makes one, where the machine has pseudo-terminals.)
if script -qec true /dev/null >/dev/null 2>&1; then
    after 0 'script -qec "\"$attn\" make --seq-q 9 -o -; echo status \$?" /dev/null'
    prints 'no binary data to a terminal'
    prints 'status 2'
    after 0 'TERM=xterm script -qec "\"$attn\" bench --heads 2 --seq-q 256 --no-peak --threads 1,1 2>&1 >table" /dev/null'
    prints 'measuring \[#*\.*\] [01]/2 [0-9]* s'
    equal "bytes after the bar" "$(tail -c 4 "$work/out" | od -An -c | tr -d ' ')" '\r033[K'
    equal "rows" "$(grep -c '^  [a-z]' "$work/table")" 3
    after 0 'TERM=dumb script -qec "\"$attn\" bench --heads 2 --seq-q 256 --no-peak --threads 1,1 2>&1 >table" /dev/null'
    prints_nothing
fi
after 0 '"$attn" bench --heads 2 --seq-q 256 --no-peak --threads 1,1'
says_nothing

finish
