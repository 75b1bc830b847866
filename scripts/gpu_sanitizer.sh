#!/usr/bin/env bash
# A part of gpu_check.sh: runs some of the tests for real GPUs under each tool of compute-sanitizer,
# which must find nothing, and a kernel with the bug that the tool is for, which it must find.
#
#   scripts/gpu_sanitizer.sh BUILD      the folder; logs come into BUILD/sanitizer
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

readonly build=$1
readonly logs=$build/sanitizer
readonly report=86 # what the tool exits with if it found something
sanitizer=$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer)
failed=()
mkdir -p "$logs"

# Programs and, behind each, its cases: kernels that share memory or write at computed places.
readonly tests=(
  ops/heddle_ops_cuda_tests
  "every operator*,reductions*,argmax*,elements are moved*,a GPU draws*,a wrong label*"
  ndarray/heddle_ndarray_cuda_tests
  "elements arrive*,parts of arrays*,small numbers*,zeros*"
  kvstore/heddle_kvstore_cuda_tests
  "any number of floats*,a big value*,Sgd is the serial sum*")

# run LOG SECONDS TOOL PROGRAM ARGUMENT…: returns the exit code of the tool, which is the program's
# unless it found something.
run() {
  local log=$1 limit=$2 tool=$3 code=0
  shift 3
  # What CUDA refuses heddle takes care of itself.
  local options=(--tool "$tool" --error-exitcode "$report" --report-api-errors no)
  # Kernels of cuBLAS are not for these to check. But initcheck has to see what they write, and
  # memcheck where.
  [[ $tool != racecheck && $tool != synccheck ]] || options+=(--kernel-name kns=heddle)
  timeout "$limit" "$sanitizer" "${options[@]}" "$@" >"$log" 2>&1 || code=$?
  grep 'SUMMARY' "$log" || true
  return "$code"
}

# complain WHAT LOG
complain() {
  failed+=("$1")
  printf 'FAILED: %s; from %s:\n' "$1" "$2"
  tail -n 40 "$2"
}

for tool in memcheck racecheck initcheck synccheck; do
  printf '\n--- %s of a kernel with a bug\n' "$tool"
  log=$logs/$tool.planted.log
  code=0
  run "$log" 60 "$tool" "$build/tests/sanitizer/heddle_planted_gpu_bugs" "$tool" || code=$?
  ((code == report)) || complain "$tool does not find the planted bug: it exits with $code" "$log"

  for ((i = 0; i < ${#tests[@]}; i += 2)); do
    program=${tests[i]}
    printf '\n--- %s of %s\n' "$tool" "${program##*/}"
    log=$logs/$tool.${program##*/}.log
    begin=$SECONDS
    run "$log" 120 "$tool" "$build/tests/$program" "${tests[i + 1]}" --warn NoTests ||
      complain "$tool of ${program##*/}: exit code $?" "$log"
    printf '%d s\n' $((SECONDS - begin))
  done
done

if ((${#failed[@]})); then
  printf '\nfailed: %s\n' "${failed[@]}"
  exit 1
fi
