#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What README.md and the other pages say of the code, held against the code: their programs compile without a warning, run
# and print what stands below them; links lead somewhere; files and names that they mention are there. The arguments
# compile a program and link it with the library:
#
#     sh tests/docs/readme.sh cc build/src/libattn.a -lm -pthread
#
# A block of C with a main() is a program. A block of text right after it is what it prints. Other blocks of C are
# statements, and compile within a function that has the variables of `prelude`.
set -u
if [ $# -eq 0 ]; then
    echo "usage: $0 COMPILER [FLAG OR LIBRARY...]" >&2
    exit 2
fi
root=$(cd -- "$(dirname -- "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
passed=0
failed=0

pass() { passed=$((passed + 1)); }
fail() { # <what> [<file with the details>]
    failed=$((failed + 1))
    echo "FAIL: $1"
    [ $# -lt 2 ] || sed 's/^/    /' "$2" | head -n 30
}

# -------------------------------------------------------------------------------------------------------------- programs

# Writes each block of a page to $work/<page>.<number>.<language>, and to ....expected the text right after C.
split() { # <page> <name of it in a file name>
    awk -v page="$1" -v to="$work/$2" '
        !inside && /^```/ {
            language = substr($0, 4)
            file = sprintf("%s.%02d.%s", to, ++count, language)
            if (language == "text" && after_c) { file = last "expected"; sub(/\.c$/, ".", file) }
            if (language == "c") { last = file; sub(/c$/, "", last); print "#line " NR + 1 " \"" page "\"" >file }
            inside = 1
            next
        }
        inside && /^```/ { inside = 0; after_c = language == "c"; close(file); next }
        inside { print >file; next }
        /[^ ]/ { after_c = 0 }
    ' "$root/$1"
}

prelude() {
    cat <<'END'
#include <attn/attn.h>
#include <stdio.h>
#include <stdlib.h>
void statements(attn_engine *engine, attn_plan *plan, attn_problem problem, attn_tensors tensors, attn_reason reason,
                attn_status status, const float *q, const float *k, const float *v, float *o, float *lse);
void statements(attn_engine *engine, attn_plan *plan, attn_problem problem, attn_tensors tensors, attn_reason reason,
                attn_status status, const float *q, const float *k, const float *v, float *o, float *lse) {
    (void)engine, (void)plan, (void)problem, (void)tensors, (void)reason, (void)status;
    (void)q, (void)k, (void)v, (void)o, (void)lse;
    {
END
}

check_statements() { # <block> <what>, and how to compile
    block=$1 what=$2
    shift 2
    { prelude && cat "$block" && echo '    } } int main(void) { return 0; }'; } >"$work/statements.c"
    compiler=$1
    shift
    if "$compiler" "$work/statements.c" "$@" -o "$work/program" >"$work/log" 2>&1; then
        pass
    else
        fail "$what does not compile" "$work/log"
    fi
}

check_program() { # <block> <what>, and how to compile
    block=$1 what=$2
    shift 2
    # The source goes first: a linker looks into a static library for what is missing so far.
    compiler=$1
    shift
    if ! "$compiler" "$block" "$@" -o "$work/program" >"$work/log" 2>&1; then
        fail "$what does not compile" "$work/log"
        return
    fi
    if ! "$work/program" >"$work/out" 2>&1 </dev/null; then
        fail "$what fails" "$work/out"
    elif [ -f "${block%.c}.expected" ] && ! diff "${block%.c}.expected" "$work/out" >"$work/log"; then
        fail "$what prints something else than the page says" "$work/log"
    else
        pass
    fi
}

check_blocks() { # <page>, and how to compile
    page=$1
    shift
    name=$(echo "$page" | tr '/' '_')
    split "$page" "$name"
    for block in "$work/$name".*.c; do
        [ -f "$block" ] || continue
        line=$(sed -n '1s/^#line \([0-9]*\).*/\1/p' "$block")
        if grep -q '^int main(' "$block"; then
            programs=$((programs + 1))
            check_program "$block" "the program at $page:$line" "$@"
        else
            check_statements "$block" "the block at $page:$line" "$@"
        fi
    done
}

# ----------------------------------------------------------------------------------------------------- links and mentions

# The anchors that a page has: one a heading, as GitHub makes them.
anchors() {
    sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

check_links() { # <page>
    sed 's/](/\n](/g' "$root/$1" | sed -n 's/^](\([^)]*\)).*/\1/p' | grep -v '^https\{0,1\}:' >"$work/links"
    while read -r link; do
        path=${link%%#*}
        anchor=${link#"$path"}
        target=$root/$1
        [ -z "$path" ] || target=$root/$(dirname "$1")/$path
        if [ ! -e "$target" ]; then
            fail "$1 links to $link, which is not there"
        elif [ -n "$anchor" ] && ! anchors "$target" | grep -qx -e "${anchor#\#}"; then
            fail "$1 links to $link, but there is no such heading"
        else
            pass
        fi
    done <"$work/links"
}

# All that stands between backticks, one a line, and the blocks.
code_of() {
    awk '/^```/ { inside = !inside; next } inside { print; next } { n = split($0, part, "`"); for (i = 2; i <= n; i += 2) print part[i] }' \
        "$root/$1"
}

check_paths() { # <page>
    code_of "$1" | grep -oE '(^|[ (])(src|include|cli|docs|tests|fuzz|examples|bench|cmake|\.ci)/[A-Za-z0-9_./*-]*' |
        tr -d ' (' | sort -u >"$work/paths"
    while read -r path; do
        # shellcheck disable=SC2086 # a pattern
        if (cd "$root" && ls -d ${path%[.,]} >/dev/null 2>&1); then pass; else fail "$1 mentions $path, which is not there"; fi
    done <"$work/paths"
}

check_names() { # <page>
    code_of "$1" | grep -oE '\b(attn|ATTN)_[A-Za-z0-9_]*' | sort -u >"$work/names"
    while read -r name; do
        if grep -rqF --exclude='*.md' -e "$name" "$root/include" "$root/src" "$root/cli" "$root/tests" "$root/fuzz" \
            "$root/cmake" "$root/CMakeLists.txt" "$root/dev"; then
            pass
        else
            fail "$1 mentions $name, which is nowhere in the sources"
        fi
    done <"$work/names"
}

# ------------------------------------------------------------------------------------------------------------------- all

programs=0
compiler=$1
shift
for page in README.md CONTRIBUTING.md CHANGELOG.md $(cd "$root" && ls docs/*.md examples/*/README.md); do
    check_blocks "$page" "$compiler" -std=c11 -Wall -Wextra -Wconversion -Werror -I"$root/include" "$@"
    check_links "$page"
    check_paths "$page"
    check_names "$page"
done
# A page whose blocks are no longer found would pass.
if [ "$programs" -ge 4 ]; then pass; else fail "only $programs programs found"; fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
