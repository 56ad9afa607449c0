#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Help texts against golden files. `ATTN_GOLDEN=update sh tests/cli/help.sh build/bin/attn` writes them anew.
# shellcheck source=harness
. "$(dirname "$0")/harness"

licence='# SPDX-License-Identifier: Apache-2.0'

# golden NAME: the last command's standard output is that of a golden file, below its licence line.
golden() {
    file=$here/golden/$1.txt
    if [ "${ATTN_GOLDEN:-}" = update ]; then (echo "$licence" && cat "$work/out") >"$file"; fi
    tail -n +2 "$file" >"$work/golden"
    if diff -u "$work/golden" "$work/out" >"$work/diff"; then
        pass
    else
        cat "$work/diff"
        fail "standard output should be golden/$1.txt"
    fi
}

try 0 --help
golden help
says_nothing
cp "$work/out" "$work/general"

for command in info run check bench explain make; do
    try 0 $command --help
    golden help-$command
    says_nothing
    cp "$work/out" "$work/of-command"

    # The other ways to ask say the same, whatever else is given.
    try 0 help $command
    equal "help $command" "$(cat "$work/out")" "$(cat "$work/of-command")"
    try 0 $command -h --no-such-option
    equal "$command -h" "$(cat "$work/out")" "$(cat "$work/of-command")"

    equal "lines over 80 columns in $command --help" "$(grep -v '^      attn ' "$work/out" | grep -c '.\{81,\}')" 0
    equal "$command in attn --help" "$(grep -c "^  $command  *[a-z]" "$work/general")" 1
    prints '^Examples:$'
    prints "attn $command"
done

try 0 -h
equal "-h" "$(cat "$work/out")" "$(cat "$work/general")"
try 0 help
equal "help" "$(cat "$work/out")" "$(cat "$work/general")"

try 0 --version
prints '^attn [0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*$'
says_nothing

finish
