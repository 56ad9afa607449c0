#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test.sh <folder of the programs>
# The benchmark itself: that it measures, reports the same again from its document, lets nobody's wrong result count, and
# goes on without those who are absent or die.
# shellcheck disable=SC2317 # the functions are called through check
set -u
bench=$1/attn_bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
failed=0

# check <what> <command>...
check() {
    what=$1
    shift
    if "$@" >"$work/check" 2>&1; then
        echo "ok: $what"
    else
        failed=1
        echo "FAILED: $what"
        sed 's/^/    /' "$work/check" "$work/table"
    fi
}

# A python3 that plays the worker of torch: fake_torch <answer to hello> <answer to prepare>. Its results are zeros.
fake_torch() {
    mkdir -p "$work/bin"
    cat >"$work/bin/python3" <<END
#!/bin/sh
while read -r request rest; do
    case \$request in
    hello) echo '$1' ;;
    prepare) $2 ;;
    store) head -c 1000000 /dev/zero >"\$rest" && echo '{}' ;;
    run) echo '{"seconds":0.001}' ;;
    quit) echo '{"peak_bytes":1}' ;;
    esac
done
END
    chmod +x "$work/bin/python3"
}

# measure <option>...: little, into $work/table.
measure() {
    PATH=$work/bin:$PATH "$bench" --quick --rounds 1 --shapes rows-8 --threads 1 --types f32 "$@" >"$work/table" 2>&1
}
has() { grep -qE "$1" "$work/table"; }
has_not() { ! has "$1"; }
page_is_kept() {
    [ "$(head -n 1 "$work/page.md") $(tail -n 1 "$work/page.md")" = "before after" ] && ! grep -qx old "$work/page.md"
}

fake_torch '{"version":"fake"}' "echo '{\"variant\":\"zeros\"}'"
printf 'before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n' >"$work/page.md"
check "it measures" measure --peers naive,torch --json "$work/all.json" --docs "$work/page.md"
check "this library has a speed" has '^  attn +f32 .* GFLOP/s .*% of peak'
check "so has the floor" has '^  naive +f32 .* GFLOP/s'
check "a wrong result does not count" has '^  torch +f32 +left out: its result is wrong: '
check "nobody is compared with a wrong result" has_not 'x \([0-9.-]*\) torch'
check "the page has the table in place of the old one" grep -q '^| rows-8 |' "$work/page.md"
check "and the rest as it was" page_is_kept
mv "$work/table" "$work/first"
"$bench" --from "$work/all.json" >"$work/table" 2>&1
check "the document gives the same table again" cmp "$work/first" "$work/table"

fake_torch '{"version":"fake"}' 'exit 3'
check "it goes on when a worker dies" measure --peers torch
check "and says so" has 'torch +f32 +left out: it ended without an answer, with status 3'
fake_torch '{"skip":"not today"}' 'exit 3'
check "it goes on without the absent" measure --peers torch
check "and says why" has '^  torch +left out: not today'

for wrong in '--shapes D' '--types f8' '--threads 0' '--cpu z80' '--peers nobody' '--rounds -1' '--parts all' '--what' 'what'; do
    # shellcheck disable=SC2086 # an option and its value
    "$bench" $wrong >"$work/table" 2>&1
    check "it refuses $wrong" test $? = 2
done
exit $failed
