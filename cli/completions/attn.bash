# SPDX-License-Identifier: Apache-2.0
# Completion of the attn command for bash. tests/cli compares the options with those of the command itself.
# shellcheck shell=bash

_attn_commands="info run check bench explain make"

# The options of a command, as words.
_attn_options() {
    local engine="--engine --cpu"
    local shapes="--preset --batch --heads --kv-heads --seq-q --seq-kv --dim --dim-v --type --layout"
    local semantics="--causal --scale --softcap --window-left --window-right --q-offset
        --dropout-p --dropout-seed --dropout-offset"
    local features="--bias --bias-type --bias-excluded --mask --mask-kept --alibi --sinks --q-lens --kv-lens
        --length-type"
    local arrays="--q --k --v --bias --mask --alibi --sinks --q-lens --kv-lens --cu-seqlens-q --cu-seqlens-kv
        --q-offsets --layout"
    case $1 in
    info) echo "--help --json --measure --threads $engine" ;;
    run) echo "--help --json --output --lse --format --o-f32 --threads $arrays $semantics $engine" ;;
    check) echo "--help --json --quiet --threads --every-cpu --atol --rtol $engine" ;;
    bench)
        echo "--help --json --threads --repeat --warm-up --no-peak --every-cpu --seed"
        echo "$shapes $semantics $features $engine"
        ;;
    explain) echo "--help --json --threads $shapes $semantics $features $engine" ;;
    make) echo "--help --output --expect --title --origin --seed --atol --rtol $shapes $semantics $features" ;;
    *) echo "--help --version" ;;
    esac
}

# The words that the value of an option may be; "FILE" for file names, nothing for anything else.
_attn_values() {
    case $1/$2 in
    */--engine) echo "cpu oracle" ;;
    */--cpu) echo "portable avx2 avx512 neon any" ;;
    */--preset | */-p) echo "A B C decode" ;;
    */--type | */--bias-type) echo "f32 f16 bf16 f64" ;;
    */--length-type) echo "i32 i64" ;;
    */--layout) echo "bhsd bshd thd" ;;
    */--format) echo "npy safetensors" ;;
    */--output | */-o) echo "FILE" ;;
    run/--lse | run/--q | run/--k | run/--v | run/-q | run/-k | run/-v) echo "FILE" ;;
    run/--bias | run/--mask | run/--alibi | run/--sinks | run/--q-lens | run/--kv-lens) echo "FILE" ;;
    run/--cu-seqlens-q | run/--cu-seqlens-kv | run/--q-offsets) echo "FILE" ;;
    esac
}

# Whether an option takes a value that is neither a file nor one of a few words.
_attn_takes_free_value() {
    case $1/$2 in
    run/--bias | run/--mask) return 1 ;;
    */--threads | */-t | */--repeat | */-r | */--warm-up | */--seed | */-s | */--title | */--origin) return 0 ;;
    */--atol | */--rtol | */--batch | */--heads | */--kv-heads | */--seq-q | */--seq-kv | */--dim | */--dim-v) return 0 ;;
    */--scale | */--softcap | */--window-left | */--window-right | */--q-offset) return 0 ;;
    */--dropout-p | */--dropout-seed | */--dropout-offset) return 0 ;;
    */--bias | */--bias-excluded | */--mask | */--mask-kept) return 0 ;;
    esac
    return 1
}

# Leaves the words that start with what is typed in COMPREPLY.
_attn_offer() {
    local IFS=$' \t\n' word
    COMPREPLY=()
    for word in $1; do
        [[ $word == "$2"* ]] && COMPREPLY+=("$word")
    done
    return 0
}

_attn_offer_files() {
    local file
    COMPREPLY=()
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$1")
}

_attn() {
    local typed=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} values
    # bash takes the = of --option=value for a word of its own.
    if [[ $typed == "=" ]]; then
        typed=""
    elif [[ $previous == "=" ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if ((COMP_CWORD == 1)); then
        _attn_offer "$_attn_commands --help --version" "$typed"
        return
    fi
    values=$(_attn_values "$command" "$previous")
    if [[ $values == FILE ]]; then
        _attn_offer_files "$typed"
    elif [[ -n $values ]]; then
        _attn_offer "$values" "$typed"
    elif _attn_takes_free_value "$command" "$previous"; then
        COMPREPLY=()
    elif [[ $typed == -* ]]; then
        _attn_offer "$(_attn_options "$command")" "$typed"
    else
        _attn_offer_files "$typed"
    fi
}

complete -F _attn attn
