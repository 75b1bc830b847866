#!/usr/bin/env bash
# Counts with callgrind what a push takes, what a worker does from one operation's callable to the
# next, and both together in the run of a recording: instructions that are executed, which do not
# depend on how busy the machine is. One worker per lane, and all pushes before they start. Compares
# the counts with those of a baseline.
set -euo pipefail

root=$(dirname "$(readlink -f "$0")")/../..
program=$root/build/default/benchmarks/bench_engine
baseline=$root/benchmarks/results/instructions.json
operations=4096
most_percent=10
metrics=("instructions per push" "instructions per end" "instructions per recorded operation")
cases=(independent chain "one write, 63 reads" binary stencil "four lanes" "fan-out to 2 GPUs"
  "fan-out to 4 GPUs")

usage() {
  cat <<END
usage: count_instructions.sh [--write] [--program FILE] [--baseline FILE]

  --write          write the counts as the new baseline instead of comparing them
  --program FILE   the bench_engine to run (default: that of build/default)
  --baseline FILE  default: benchmarks/results/instructions.json

Fails if a count is more than $most_percent % above the baseline's, or has none there. Without
valgrind nothing is counted, which is a failure where the environment says CI=true.
END
}

fail() {
  echo "count_instructions.sh: $*" >&2
  exit 1
}

# instructions_before MARK FILE…: those that callgrind counted from the mark before to this one.
instructions_before() {
  local mark=$1 file
  shift
  file=$(grep -l "^desc: Trigger: --dump-before=bench_mark_$mark\$" "$@") ||
    fail "callgrind did not see bench_mark_$mark"
  awk '/^(totals|summary):/ { print $2; exit }' "$file"
}

# count CASE: prints the instructions per push, per end and per operation of a recording.
count() {
  local name=$1 pushes ends run replay
  rm -f "$scratch"/*
  valgrind --quiet --tool=callgrind --callgrind-out-file="$scratch/out" \
    --dump-before='bench_mark_*' \
    "$program" --count "$name" --operations "$operations" >"$scratch/log" 2>&1 ||
    fail "$name: $(cat "$scratch/log")"
  pushes=$(instructions_before pushes_end "$scratch"/out.*)
  ends=$(instructions_before ends_end "$scratch"/out.*)
  run=$(instructions_before run_end "$scratch"/out.*)
  replay=$(instructions_before replay_end "$scratch"/out.*)
  ((pushes > operations && ends > operations && replay > operations)) ||
    fail "$name: nothing was counted"
  echo $((pushes / operations)) $((ends / operations)) $(((run + replay) / operations))
}

# least CASE: of three counts the least ones; of up to nine, while one is too many. Where the system
# interrupts an operation that is measured the engine takes it for a long one, and other ways with
# the next ones: that only adds.
least() {
  local counts=() columns
  for ((i = 1; i <= 9; ++i)); do
    counts+=("$(count "$1")") || exit
    columns=$(for column in 1 2 3; do
      printf '%s\n' "${counts[@]}" | cut -d' ' -f$column | sort -n | head -n 1
    done | paste -sd' ')
    # shellcheck disable=SC2086 # three words
    ((i < 3)) || has_too_many "$1" $columns || break
  done
  echo "$columns"
}

# has_too_many CASE COUNT…: whether one of a case's counts is too many.
has_too_many() {
  local name=$1 metric
  shift
  for metric in "${metrics[@]}"; do
    is_too_many "$name" "$metric" "$1" && return
    shift
  done
  return 1
}

# is_too_many CASE METRIC COUNT: whether it is above what the baseline allows.
is_too_many() {
  local before
  before=$(baseline_of "$1" "$2")
  [[ -n $before ]] && (($3 * 100 > before * (100 + most_percent)))
}

# row CASE METRIC COUNT: as a row of the file.
row() {
  printf '  {"case": "%s", "contender": "heddle", "metric": "%s", ' "$1" "$2"
  printf '"median": %d, "p10": %d, "p90": %d}' "$3" "$3" "$3"
}

# baseline_of CASE METRIC: its count, or nothing.
baseline_of() {
  [[ -f $baseline ]] || return 0
  sed -n "s/.*\"case\": \"$1\", .*\"metric\": \"$2\", \"median\": \([0-9]*\).*/\1/p" "$baseline"
}

# report CASE METRIC COUNT: prints it beside the baseline's, and keeps its row.
report() {
  local before percent=""
  before=$(baseline_of "$1" "$2")
  rows+=("$(row "$@")")
  if [[ -n $before ]]; then
    ! is_too_many "$@" || too_many+=("$1: $2")
    percent=$(awk "BEGIN { printf \"%+.1f %%\", 100 * ($3 / $before - 1) }")
  else
    without_baseline+=("$1: $2")
  fi
  printf '%-22s %-36s %8d %10s %8s\n' "$1" "$2" "$3" "${before:--}" "$percent"
}

write_baseline() {
  local commit model separator=""
  commit=$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)
  model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
  {
    printf '{"bench": "instructions",\n "commit": "%s",\n "machine": "%s, %d CPUs",\n "rows": [' \
      "$commit" "${model:-unknown CPU}" "$(nproc)"
    for line in "${rows[@]}"; do
      printf '%s\n%s' "$separator" "$line"
      separator=,
    done
    printf '\n ]}\n'
  } >"$baseline"
  echo "written: $baseline"
}

write=false
while (($#)); do
  case "$1" in
    --write) write=true ;;
    --program) program=${2:?$1 needs a file} && shift ;;
    --baseline) baseline=${2:?$1 needs a file} && shift ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

command -v valgrind >/dev/null || {
  [[ ${CI:-} != true ]] || fail "valgrind is not installed, so nothing is checked"
  echo "count_instructions.sh: skipped, valgrind is not installed"
  exit 0
}
[[ -x $program ]] || fail "$program is not there: ./bootstrap.sh build makes it"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

rows=()
too_many=()
without_baseline=()
printf '%-22s %-36s %8s %10s %8s\n' case metric count baseline change
for name in "${cases[@]}"; do
  counts=$(least "$name")
  for metric in "${metrics[@]}"; do
    report "$name" "$metric" "${counts%% *}"
    counts=${counts#* }
  done
done
if "$write"; then
  write_baseline
  exit
fi
if ((${#too_many[@]})); then
  printf "more than $most_percent %% above the baseline: %s\n" "${too_many[@]}" >&2
fi
if ((${#without_baseline[@]})); then
  printf 'not in the baseline: %s\n' "${without_baseline[@]}" >&2
  echo "count_instructions.sh --write makes $baseline anew" >&2
fi
((${#too_many[@]} + ${#without_baseline[@]} == 0))
