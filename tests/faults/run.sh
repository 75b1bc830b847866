#!/usr/bin/env bash
# Provokes every fault as often as a full run does, and prints what came of it: a line per fault,
# after one that names commit and machine. Takes the folder of a build; build/default if not given.
set -euo pipefail

root=$(dirname "$(readlink -f "$0")")/../..
build=${1:-$root/build/default}

printf 'run.sh at commit %s, %s, %s CPUs\n\n' "$(git -C "$root" rev-parse --short HEAD)" \
  "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
failed=0
for program in memory_tests threads_tests tests exit_tests; do
  HEDDLE_FAULT_RUNS=full "$build/tests/faults/heddle_fault_$program" || failed=1
done
exit "$failed"
