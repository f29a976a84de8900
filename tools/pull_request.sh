#!/usr/bin/env bash
# What action.yml does on a runner, in three parts: `places` tells where things lie, `install` gets the programs, `gate` measures.
#
# Inputs of the action are variables here (INPUT_BUDGET for budget), and so is what a runner gives. By hand, in a repository:
#   RUNNER_TEMP=/tmp/gate GITHUB_BASE_REF=main INPUT_PROGRAM=basecase INPUT_STEPS=point-query …/tools/pull_request.sh gate
set -euo pipefail

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
installed=${RUNNER_TEMP:?names the folder for files of the job}/basecase-program
results=$RUNNER_TEMP/basecase-results
program=${INPUT_PROGRAM:-$installed/bin/basecase}
candidate=${INPUT_CANDIDATE:-git:.@HEAD}

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

# An output of the step.
tell() { printf '%s=%s\n' "$1" "$2" >>"${GITHUB_OUTPUT:-/dev/null}"; }

# Where basecase keeps builds, which every step has to know.
home() {
    if [ "${BASECASE_HOME:-}" ]; then
        printf '%s\n' "$BASECASE_HOME"
    elif [ "$(id -u)" = 0 ]; then
        echo /var/lib/basecase
    else
        printf '%s\n' "${XDG_CACHE_HOME:-$HOME/.cache}/basecase"
    fi
}

places() {
    tell builds "$(home)/builds"
    tell program "$installed"
    tell results "$results"
    # Another source makes another program.
    local files=(Cargo.toml Cargo.lock crates recipes configs workloads)
    tell source "$(cd "$source" && find "${files[@]}" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16)"
}

install() {
    if ! command -v "$program" >/dev/null; then
        [ -z "${INPUT_PROGRAM:-}" ] || fail "there is no program $program" "leave out the input program, and basecase is compiled"
        command -v cargo >/dev/null || fail "there is no cargo, which compiles basecase" "install Rust in an earlier step, or name an installed basecase by the input program"
        cargo install --locked --path "$source/crates/cli" --root "$installed"
    fi
    if [ "${INPUT_COUNTS:-}" = true ] && ! command -v valgrind >/dev/null; then
        local as_root=()
        [ "$(id -u)" = 0 ] || as_root=(sudo)
        # Without it basecase says that it cannot count, and times decide alone.
        "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -qq --yes valgrind || true
    fi
}

# The candidate to compare with: by default the branch that the pull request goes into, of which basecase takes the merge base.
base_candidate() {
    local repository=${candidate%%@*}
    if [ "${INPUT_BASE:-}" ]; then
        printf '%s\n' "$INPUT_BASE"
    elif [ -z "${GITHUB_BASE_REF:-}" ]; then
        fail "this is no pull request, so there is nothing to compare with" "name it by the input base, as in git:.@HEAD~1"
    elif [[ $repository != git:* ]]; then
        fail "$candidate is no commit, so it has no merge base" "name what it is compared with by the input base"
    elif [ "$(git -C "${repository#git:}" rev-parse --is-shallow-repository)" = true ]; then
        fail "the clone is shallow, and may lack the merge base" "give actions/checkout fetch-depth: 0"
    else
        printf '%s\n' "$repository@origin/$GITHUB_BASE_REF"
    fi
}

# The words of the input options, one a line. Quotes keep blanks in a word, as in a shell; nothing is expanded.
options() { xargs -r printf '%s\n' <<<"${INPUT_OPTIONS:-}"; }

# Puts an option before its value, unless that is empty.
add() { [ -z "$2" ] || arguments+=("$1" "$2"); }

gate() {
    local base words summary=$results/summary.md status=0
    base=$(base_candidate)
    words=$(options) || fail "the input options cannot be read: $INPUT_OPTIONS" "see that each quote is closed"
    arguments=("$base" "$candidate" --workload "${INPUT_WORKLOAD:-microbenchmarks}")
    add --list "${INPUT_STEPS:-}"
    add --budget "${INPUT_BUDGET:-}"
    add --detect "${INPUT_DETECT:-}"
    [ "${INPUT_COUNTS:-}" != true ] || arguments+=(--counts)
    if [ "$words" ]; then
        mapfile -t words <<<"$words"
        arguments+=("${words[@]}")
    fi
    mkdir -p "$results"
    rm -f "$summary"
    arguments+=(--store "$results/basecase.sqlite" --out "$results/report" --junit "$results/verdicts.xml" --summary "$summary")
    BASECASE_HOME=$(home) "$program" gate "${arguments[@]}" || status=$?
    [ -s "$summary" ] || echo "basecase could not compare $candidate with $base. The log of this step says why." >"$summary"
    publish "$summary"
    exit "$status"
}

# The summary for the page of the run, and as outputs for a comment.
publish() {
    local end
    end=end-$(sha256sum <"$1" | cut -c 1-16)
    cat "$1" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
    tell summary-file "$1"
    printf 'summary<<%s\n%s\n%s\n' "$end" "$(cat "$1")" "$end" >>"${GITHUB_OUTPUT:-/dev/null}"
}

case ${1:-} in
places | install | gate) "$1" ;;
*) fail "${1:-nothing} is no part of the gate" "run $0 places, $0 install or $0 gate" ;;
esac
