#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The denoise example: what it computes, what it reads, what it refuses. Called with the paths of the built example and of
# the helper that makes and measures pictures (pictures.c):
#
#     sh tests/examples/denoise.sh build/bin/denoise build/tests/examples/pictures

if [ $# -ne 2 ] || [ ! -x "$1" ] || [ ! -x "$2" ]; then
    echo "usage: $0 PATH-OF-DENOISE PATH-OF-PICTURES" >&2
    exit 2
fi
denoise=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
pictures=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
photo=/usr/share/matplotlib/mpl-data/sample_data/grace_hopper.jpg # Debian's python-matplotlib-data, if it is there
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
cd "$work" || exit 2
passed=0
failed=0
export LC_ALL=C

pass() {
    passed=$((passed + 1))
}
fail() {
    failed=$((failed + 1))
    echo "FAIL: $1"
    echo "  after: denoise $last_arguments"
    sed 's/^/  out: /' out
    sed 's/^/  err: /' err
}

# expect WHAT COMMAND...: the command succeeds.
expect() {
    what=$1
    shift
    if "$@"; then pass; else fail "$what"; fi
}
# less A B: as decimal numbers.
less() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 < b + 0) }'
}

# run STATUS ARGUMENT...: runs denoise and expects an exit status.
run() {
    expected_status=$1
    shift
    last_arguments=$*
    status=0
    "$denoise" "$@" >out 2>err </dev/null || status=$?
    expect "exit status $expected_status, got $status" [ "$status" -eq "$expected_status" ]
}
# refuses PATTERN ARGUMENT...: exit status 2, one line on standard error that matches, and no file that was not there.
refuses() {
    pattern=$1
    shift
    ls -a >before
    run 2 "$@"
    expect "standard error should match: $pattern" grep -q -e "^denoise: .*$pattern" err
    expect "one line on standard error" [ "$(wc -l <err)" -eq 1 ]
    expect "nothing on standard output" [ ! -s out ]
    ls -a >after
    expect "no file is left behind" cmp -s before after
}
# gain: the rise of the PSNR that the last run printed, in dB.
gain() {
    sed -n 's/^PSNR .*: +*\([-0-9.]*\) dB$/\1/p' out
}

: >out
: >err
: >before
: >after
last_arguments=
"$pictures" make . || exit 2

# ---- it removes noise, says the truth about it, and computes what non-local means is

for picture in colour.png grey.png colour.jpg; do
    run 0 "$picture" -o row.png --sigma 20
    expect "$picture: a gain of at least 6 dB, got $(gain)" less 6 "$(gain)"
    printed=$(sed -n 's/^PSNR *\([0-9.]*\) dB before, \([0-9.]*\) dB after.*/\1 \2/p' out)
    expect "$picture: the printed PSNR is that of the file" [ "$printed" = "$("$pictures" psnr row.png)" ]
    expect "$picture: silence on standard error" [ ! -s err ]
done
if [ -r "$photo" ]; then
    run 0 "$photo" -o row.png --crop 64x64+236+130 --sigma 25
    expect "photograph: a gain of at least 6 dB, got $(gain)" less 6 "$(gain)"
fi

# nlm PICTURE STRENGTH H SIDE REACH: the result is the definition in f64 but for its rounding to whole levels.
nlm() {
    run 0 "$1" -o row.png --crop 40x33+5+7 --sigma 20 --strength "$2" --patch "$4" --reach "$5"
    apart=$("$pictures" apart row.png 20 "$3" "$4" "$5")
    expect "$1: $apart levels from the definition" less "$apart" 0.65
}
nlm colour.png 0.6 12 5 24
nlm colour.png 1 20 3 0
nlm grey.png 0.8 16 7 0
nlm grey.png 0.8 16 5 10

# ---- same input, same bits: the number of threads changes nothing, the seed does

run 0 colour.png -o one.png --sigma 20 --threads 1
run 0 colour.png -o two.png --sigma 20 --threads 2 --seed 1
expect "two threads give what one gives" cmp -s one.png two.png
run 0 colour.png -o three.png --sigma 20 --seed 2
expect "another seed, another noise" [ "$(cmp -s one.png three.png && echo same)" != same ]

# ---- every kind of picture; without --sigma the noise is estimated and two pictures are shown

for picture in alpha.png grey-alpha.png deep.png deep-grey.png palette.png bits.png grey.jpg; do
    run 0 "$picture" -o row.png --crop 20x20
done
run 0 colour.png
expect "the default name" [ -s denoised.png ]
expect "an estimate is printed" grep -q '^noise .*, estimated$' out
expect "no PSNR without an original" [ -z "$(gain)" ]
run 0 row.png -o again.png --crop 20x20+0+0
run 0 large.png -o row.png --crop 1x1
run 0 large.png -o row.png --crop 2x1+1998+599 --patch 15 --sigma 3
expect "the matrix that was not made" grep -q '^memory .* would take [0-9.]* MiB$' out

# ---- help

run 0 --help
expect "help on standard output" grep -q '^usage: denoise ' out
expect "every option in the help" [ "$(grep -c -e '--[a-z]* ' out)" -ge 9 ]

# ---- refusals

refuses 'missing.png: No such file' missing.png
refuses 'Is a directory' .
: >empty
refuses 'empty: the file is empty' empty
echo 'no picture' >text.png
refuses 'text.png: neither a PNG nor a JPEG' text.png
refuses 'cmyk.jpg: .*CMYK' cmyk.jpg
refuses 'huge.png: 100000 x 100000 pixels' huge.png
refuses 'empty-data.png: damaged PNG' empty-data.png
refuses 'large.png: 2000 x 600 pixels .*--crop' large.png
for picture in colour.png palette.png colour.jpg grey.jpg; do
    size=$(wc -c <"$picture")
    for bytes in 12 100 $((size / 2)) $((size - 1)); do
        head -c "$bytes" "$picture" >short.png
        refuses 'short.png: .*\(cut off\|damaged\|end\)' short.png --crop 4x4
    done
done
{ head -c 200 colour.png && printf 'XXXX' && tail -c +205 colour.png; } >broken
refuses 'broken: damaged PNG' broken

refuses 'crop 49x10+0+0 is not inside .* 48 x 48' colour.png --crop 49x10+0+0
refuses 'crop 10x10+39+0 is not inside' colour.png --crop 10x10+39+0
refuses 'crop 0x10' colour.png --crop 0x10
for crop in 10 10x 10x10+1 10x10+1+ 10x10+-1+0 10x10+1+1x x10 99999999999x1; do
    refuses '--crop wants WxH' colour.png --crop "$crop"
done
for sigma in 0 -1 nan inf x '' 256; do refuses '--sigma wants a number' colour.png --sigma "$sigma"; done
for side in 1 4 17 5x; do refuses '--patch wants an odd number' colour.png --patch "$side"; done
for threads in 0 1025 two; do refuses '--threads wants a whole number' colour.png --threads "$threads"; done
refuses '--strength wants' colour.png --strength 0
refuses '--reach wants' colour.png --reach -1
refuses '--seed wants' colour.png --seed -1
refuses 'no option --frobnicate' colour.png --frobnicate
refuses '--output wants a value\|-o wants a value' colour.png -o
refuses 'which picture'
refuses 'one picture at a time' colour.png grey.png

# ---- where the result goes

cp colour.png kept.png
refuses 'kept.png would be overwritten' kept.png -o kept.png
expect "the input is untouched" cmp -s colour.png kept.png
refuses 'missing/row.png: No such file' colour.png -o missing/row.png
mkdir folder
refuses 'folder: exists and is no ordinary file' colour.png -o folder
refuses '/dev/null: exists and is no ordinary file' colour.png -o /dev/null
echo old >old.png
refuses 'neither' text.png -o old.png
expect "a refusal leaves an old result alone" [ "$(cat old.png)" = old ]
run 0 colour.png --crop 4x4 -o old.png
expect "success replaces it" [ "$(head -c 4 old.png | tail -c 3)" = PNG ]

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
