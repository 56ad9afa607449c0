#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completions and man page name the options that the command has, and no others.
# shellcheck source=harness
. "$(dirname "$0")/harness"

root=$(cd "$here/../.." && pwd)
bash_file=$root/cli/completions/attn.bash
zsh_file=$root/cli/completions/_attn
man_page=$root/docs/attn.1

words() {
    tr -s ' ' '\n' | grep -v '^$' | sort -u
}

# The option lines of a help text: "-o, --output FILE" without the rest.
option_lines() {
    "$attn" ${1:+"$1"} --help | sed -n 's/^  \(    \|-., \)--/--/p' | sed 's/   *.*//'
}
long_options() {
    option_lines "$1" | sed 's/ .*//' | words
}
short_options() {
    "$attn" ${1:+"$1"} --help | sed -n 's/^  \(-[a-z]\), --.*/\1/p' | words
}

in_bash() {
    bash -c '. "$1"; shift; "$@"' bash "$bash_file" "$@"
}

for command in info run check bench explain make; do
    equal "bash options of $command" "$(in_bash _attn_options $command | words)" "$(long_options $command)"

    # Values: choices, files, free ones.
    option_lines $command >"$work/lines"
    while read -r option value; do
        known=$(in_bash _attn_values $command "$option" | words)
        free=no
        if in_bash _attn_takes_free_value $command "$option"; then free=yes; fi
        case $value in
        '') equal "bash: $command $option" "$known/$free" "/no" ;;
        FILE) equal "bash: $command $option" "$known/$free" "FILE/no" ;;
        *'|'*) equal "bash: $command $option" "$known" "$(echo "${value%%\[*}" | tr '|' '\n' | words)" ;;
        *) equal "bash: $command $option" "$known/$free" "/yes" ;;
        esac
    done <"$work/lines"
done
equal "bash commands" "$(bash -c '. "$1"; echo $_attn_commands' bash "$bash_file" | words)" \
    "$("$attn" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | words)"

# As bash calls it.
complete_in_bash() {
    bash -c '. "$1"; shift; COMP_CWORD=$(($# - 1)); COMP_WORDS=("$@"); _attn; echo "${COMPREPLY[*]}"' bash "$bash_file" "$@"
}
equal "attn ru" "$(complete_in_bash attn ru)" "run"
equal "attn bench --pre" "$(complete_in_bash attn bench --pre)" "--preset"
equal "attn bench --preset" "$(complete_in_bash attn bench --preset '')" "A B C decode"
equal "attn check --cpu=av" "$(complete_in_bash attn check --cpu = av)" "avx2 avx512"
equal "attn bench --seq-q" "$(complete_in_bash attn bench --seq-q '')" ""
: >"$work/a case.safetensors"
equal "attn check FILE" "$(cd "$work" && complete_in_bash attn check 'a c')" "a case.safetensors"

if command -v zsh >/dev/null; then
    for command in info run check bench explain make; do
        zsh -fc '. "$1"; _attn_specs $2; print -l -- $specs' zsh "$zsh_file" $command >"$work/specs"
        sed -n 's/^\((- \*)\)\{0,1\}\(-[-a-z0-9]*\)[[].*/\2/p' "$work/specs" | words >"$work/zsh"
        equal "zsh options of $command" "$(cat "$work/zsh")" "$({
            long_options $command
            short_options $command
        } | words)"
    done
    equal "zsh commands" "$(zsh -fc '. "$1"; print -l -- $_attn_commands' zsh "$zsh_file")" \
        "$("$attn" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"
fi

# The man page: its options, long and short, are those of all commands together.
grep '^\.It Fl' "$man_page" | tr ' ' '\n' | sed -n 's/^-\([a-z].*\)/--\1/p' | words >"$work/man"
{
    for command in info run check bench explain make ''; do long_options "$command"; done
} | words >"$work/all"
equal "options of the man page" "$(cat "$work/man")" "$(cat "$work/all")"
grep '^\.It Fl' "$man_page" | sed -n 's/^.It Fl \([a-z]\) ,.*/-\1/p' | words >"$work/man"
{
    for command in info run check bench explain make ''; do short_options "$command"; done
} | words >"$work/all"
equal "letters of the man page" "$(cat "$work/man")" "$(cat "$work/all")"
if command -v mandoc >/dev/null; then
    equal "mandoc's complaints" "$(mandoc -Tlint -W warning "$man_page" 2>&1)" ""
fi

finish
