#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check.sh <build folder> <work folder>
# Installs a build that has both libraries, uses the copy from C and C++ in every way that the documentation names, and
# uninstalls it. One line a check: "ok: ...", "FAILED: ..." or "skipped: why"; exit status 1 if any failed.
# shellcheck disable=SC2317 # the functions are called through check
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
source=$(cd -- "$here/../.." && pwd)
build=$1
work=$2
prefix=$work/prefix
failed=0

# check <what> <command>...
check() {
    what=$1
    shift
    if output=$("$@" 2>&1); then
        echo "ok: $what"
    else
        failed=1
        echo "FAILED: $what"
        printf '%s\n' "$output" | tail -n 30 | sed 's/^/    /'
    fi
}

has() { command -v "$1" >/dev/null 2>&1; }

installed_tree() {
    (cd "$prefix" && find . -type f -o -type l | sort)
}

# with_pkg_config <compiler> <source> <static or nothing>
with_pkg_config() {
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name attn.pc)")
    export PKG_CONFIG_PATH
    libraries=$(pkg-config ${3:+--static} --libs attn) || return 1
    [ -z "$3" ] || libraries=$(printf '%s' "$libraries" | sed 's/-lattn/-Wl,-Bstatic -lattn -Wl,-Bdynamic/')
    # shellcheck disable=SC2046,SC2086 # lists of words
    "$1" -Wall -Wextra -Werror "$here/$2" $(pkg-config --cflags attn) $libraries -lm -o "$work/program" &&
        LD_LIBRARY_PATH=$(pkg-config --variable=libdir attn) "$work/program" &&
        linked_as "${3:-shared}" "$work/program"
}

linked_as() { # <shared or static> <program>
    if readelf -d "$2" | grep -q 'NEEDED.*libattn'; then [ "$1" = shared ]; else [ "$1" = static ]; fi
}

# with_cmake <name> <option>...
with_cmake() {
    folder=$work/$1
    shift
    cmake -S "$here" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix" -DATTN_SOURCE="$source" "$@" &&
        cmake --build "$folder" --parallel 2 && ctest --test-dir "$folder" --output-on-failure --no-tests=error
}

command_runs() {
    "$prefix/bin/attn" --version && [ -n "$(find "$prefix" -name 'attn.1*')" ]
}

only_library() { # <ON or OFF>: a build of the library alone, of one kind, as a distribution makes it
    folder=$work/only-shared-$1
    cmake -S "$source" -B "$folder" -DBUILD_SHARED_LIBS="$1" -DATTN_BUILD_CLI=OFF -DATTN_BUILD_TESTS=OFF \
        -DATTN_BUILD_EXAMPLES=OFF -DATTN_BUILD_BENCH=OFF -DCMAKE_INSTALL_PREFIX=/usr &&
        cmake --build "$folder" --parallel 2 && DESTDIR=$folder/stage cmake --install "$folder" || return 1
    kinds=$(find "$folder/stage" -name 'libattn.*' | sed 's/.*libattn\.\([a-z]*\).*/\1/' | sort -u)
    [ "$kinds" = "$([ "$1" = ON ] && echo so || echo a)" ] || return 1
    DESTDIR=$folder/stage cmake --build "$folder" --target uninstall &&
        [ -z "$(find "$folder/stage" ! -type d)" ] && [ -z "$(find "$folder/stage" -name attn)" ]
}

uninstalled() {
    cmake --build "$build" --target uninstall || return 1
    left=$(
        installed_tree
        find "$prefix" -name attn
    )
    [ -z "$left" ] && return 0
    echo "left behind: $left"
    return 1
}

rm -rf "$work"
mkdir -p "$work"

# An install of the user's from this build folder can still be removed afterwards.
manifest=$build/install_manifest.txt
[ ! -f "$manifest" ] || mv "$manifest" "$work/manifest.kept"
trap '[ ! -f "$work/manifest.kept" ] || mv "$work/manifest.kept" "$manifest"' EXIT

check "install" cmake --install "$build" --prefix "$prefix"
installed_tree
[ ! -x "$build/bin/attn" ] || check "the installed command and its man page" command_runs
if has pkg-config; then
    check "C, pkg-config, shared" with_pkg_config cc consumer.c ""
    check "C, pkg-config, static" with_pkg_config cc consumer.c static
    if has c++; then
        check "C++, pkg-config, shared" with_pkg_config c++ consumer.cpp ""
        check "C++, pkg-config, static" with_pkg_config c++ consumer.cpp static
    fi
else
    echo "skipped: pkg-config is not installed"
fi
if has c++; then
    check "C and C++, find_package, shared" with_cmake package-shared
    check "C and C++, find_package, static" with_cmake package-static -DATTN_TARGET=attn::static
    check "C and C++, add_subdirectory" with_cmake subdirectory -DATTN_FROM=subdirectory
    check "C and C++, FetchContent, shared" with_cmake fetch -DATTN_FROM=fetch -DBUILD_SHARED_LIBS=ON
else
    echo "skipped: no C++ compiler is installed"
fi
check "uninstall leaves nothing" uninstalled
check "the shared library alone, staged and removed" only_library ON
check "the static library alone, staged and removed" only_library OFF
exit $failed
