#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: lint.sh <build folder>        (./dev lint calls it, with the tools installed and that folder built)
# One line a check: "ok: ..." or "FAILED: ..." and what was found; exit status 1 if any failed.
# shellcheck disable=SC2317 # the functions are called through check
set -u
cd -- "$(dirname -- "$0")/.." || exit 1
build=$1
work=$build/lint
header=include/attn/attn.h
failed=0

# check <what> <command>...: the command prints what is wrong and fails then.
check() {
    what=$1
    shift
    if output=$("$@" 2>&1); then
        echo "ok: $what"
    else
        failed=1
        echo "FAILED: $what"
        printf '%s\n' "$output" | tail -n 60 | sed 's/^/    /'
    fi
}

# Nothing on standard input is success.
nothing() { ! grep .; }

has() { command -v "$1" >/dev/null 2>&1; }
files() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do [ ! -f "$f" ] || echo "$f"; done; }

formatted() { files '*.c' '*.h' '*.cpp' | xargs clang-format --dry-run -Werror; }

# Sources that this machine compiles, by its compile commands, so that each is seen with its own flags.
tidy() {
    files 'src/*.c' 'cli/*.c' 'tests/*.c' 'examples/*.c' 'bench/*.c' 'fuzz/*.c' | while read -r f; do
        ! grep -q "\"file\": \"$PWD/$f\"" "$build/compile_commands.json" || echo "$f"
    done | xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 4 clang-tidy --quiet -p "$build" 2>/dev/null
}

shell_scripts() {
    files | while read -r f; do ! head -n 1 "$f" | grep -aqE '^#!.*[/ ](ba|da)?sh$' || echo "$f"; done
}
shells_clean() { shell_scripts | xargs shellcheck; }

# Data, the licence itself and prose (which says it once, in LICENSE) carry no line of their own.
has_licence_line() {
    files | grep -vE '(^LICENSE|^tests/cli/golden/.*|\.md|\.json|\.png|\.svg|\.jpg|\.npy|\.safetensors|\.bin|\.gitignore)$' | while read -r f; do
        head -n 4 "$f" | grep -aq 'SPDX-License-Identifier: Apache-2\.0' || echo "$f"
    done | nothing
}

# The pattern is written so that it does not find itself.
no_leftovers() { ! git grep -nIE '/wor[k]/|TOD[O]'; }

sources_are_listed() {
    files 'src/*.c' | sed 's|^src/||' | while read -r f; do
        grep -q "\b$f\b" src/CMakeLists.txt || echo "not in src/CMakeLists.txt: $f"
    done | nothing
}

# Names that the public headers declare, and names that the library exports: the same ones.
declared() {
    cat include/attn/*.h | tr '\n' ' ' | grep -o 'ATTN_API [^;]*;' | grep -o '\battn_[a-z0-9_]* *(' | tr -d ' (' | sort -u
}
exported() { nm -D --defined-only "$build/src/libattn.so" | awk '{ print $3 }' | sort -u; }
exports_match() {
    declared >"$work/declared" && exported >"$work/exported" && diff "$work/declared" "$work/exported"
}

# Two static libraries in one program do not clash: ours has no global name without the prefix either.
static_names_prefixed() {
    nm -g --defined-only "$build/src/libattn.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^attn_/ { print $3 }' | nothing
}

# A program of every INIT macro that the header defines.
init_program() {
    echo '#include <attn/attn.h>'
    echo 'int main(void) {'
    sed -n 's/^#define ATTN_\([A-Z0-9_]*\)_INIT\>.*/\1/p' "$header" | while read -r name; do
        lower=$(echo "$name" | tr '[:upper:]' '[:lower:]')
        echo "    attn_$lower $lower = ATTN_${name}_INIT; (void)$lower;"
    done
    echo '    return 0;'
    echo '}'
}
header_compiles() { # <compiler> <standard>
    case $2 in *++*) language=c++ ;; *) language=c ;; esac
    for static in "" -DATTN_STATIC; do
        "$1" -x "$language" -std="$2" -Wall -Wextra -Wshadow -Wconversion -Wpedantic -Werror ${static:+"$static"} -Iinclude \
            -fsyntax-only "$work/init.c" || return 1
    done
}
every_struct_has_init() {
    sed -n 's/^    size_t struct_size;.*sizeof(\(attn_[a-z_]*\)).*/\1/p' "$header" | while read -r name; do
        macro=$(echo "$name" | tr '[:lower:]' '[:upper:]')_INIT
        grep -q "^#define $macro\>" "$header" || echo "$name has no $macro"
    done | nothing
}

mkdir -p "$work"
init_program >"$work/init.c"

check "clang-format" formatted
check "shellcheck" shells_clean
check "licence lines" has_licence_line
check "no leftovers" no_leftovers
check "every source of the library is built" sources_are_listed
check "exported names are the declared ones" exports_match
check "names in the static library have the prefix" static_names_prefixed
check "every versioned struct has an INIT macro" every_struct_has_init
for standard in c99 c11 c17; do check "header and INIT macros in $standard, gcc" header_compiles gcc $standard; done
for standard in c++11 c++20; do check "header and INIT macros in $standard, g++" header_compiles g++ $standard; done
if has clang; then
    check "header and INIT macros in c11, clang" header_compiles clang c11
    check "header and INIT macros in c++20, clang" header_compiles clang c++20
fi
check "clang-tidy" tidy

[ "$failed" = 0 ] && echo "lint: clean" || echo "lint: not clean"
exit $failed
