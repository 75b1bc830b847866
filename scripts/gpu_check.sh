#!/usr/bin/env bash
# Checks heddle on a machine with a CUDA GPU, in build/gpu: the tests with label gpu, the demo and
# the overlap benchmark on one GPU split in two, and a few tests under compute-sanitizer if that is
# there. Every step runs, whatever the ones before it gave; the exit status tells whether all of them
# passed.
#
#   scripts/gpu_check.sh [ARCHITECTURE]      of CMAKE_CUDA_ARCHITECTURES, default 90
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

architecture=${1:-90}
build=build/gpu
failed=()

# step TITLE COMMAND…
step() {
  local title=$1
  shift
  printf '\n=== %s\n' "$title"
  "$@" || failed+=("$title")
}

command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv

step "configure" cmake --preset default -B "$build" -DHEDDLE_CUDA=ON \
  -DCMAKE_CUDA_ARCHITECTURES="$architecture"
step "build" cmake --build "$build" --parallel "$(nproc)"
step "tests with label gpu" ctest --test-dir "$build" --label-regex '^gpu$' --output-on-failure \
  --timeout 300
step "demo" "$build/examples/train_fashion_mnist" --gpus cuda:0,cuda:0 --epochs 2
step "demo, larger batch, sums on the CPU" "$build/examples/train_fashion_mnist" \
  --gpus cuda:0,cuda:0 --kvstore local --batch 1024 --epochs 2
step "overlap, beside streams and events by hand" "$build/benchmarks/bench_overlap" \
  --gpus cuda:0,cuda:0 --steps 200 --runs 11 --json "$build/overlap.json"
step "overlap of pieces of work that take about as long as it takes to enqueue them" \
  "$build/benchmarks/bench_overlap" --gpus cuda:0,cuda:0 --side 512 --steps 1000 --runs 11 \
  --json "$build/overlap_small.json"

sanitizer=$(command -v compute-sanitizer || true)
[[ -n $sanitizer || ! -x /usr/local/cuda/bin/compute-sanitizer ]] ||
  sanitizer=/usr/local/cuda/bin/compute-sanitizer
if [[ -n $sanitizer ]]; then
  for program in "tests/ops/heddle_ops_cuda_tests" "tests/ndarray/heddle_ndarray_cuda_tests"; do
    step "memcheck: ${program##*/}" "$sanitizer" --tool memcheck --error-exitcode 1 \
      "$build/$program" "~*random copies*"
  done
else
  printf '\n=== compute-sanitizer is not there: skipped\n'
fi

if ((${#failed[@]})); then
  printf '\nfailed: %s\n' "${failed[@]}"
  exit 1
fi
printf '\neverything passed\n'
