#!/usr/bin/env bash
# Checks heddle on a machine with a CUDA GPU, in build/gpu. The parts, in the order in which they are
# run, and what each takes with 16 cores:
#
#   build      configures, and builds what the others need (4 minutes)
#   tests      the test programs for real GPUs, and the demo on one GPU split in two (2 minutes)
#   bench      bench_gpu, and bench_overlap on one GPU split in two (2 minutes)
#   sanitizer  some of the tests under each tool of compute-sanitizer, which must be clean, and a
#              kernel with a bug for each, which must not (3 minutes)
#
# Every step runs, whatever the ones before it gave, for as long as it may; the exit status tells
# whether all of them passed.
#
#   scripts/gpu_check.sh [--only PART]… [ARCHITECTURE]      of CMAKE_CUDA_ARCHITECTURES, default 90
#
# To keep what the part bench measured, copy build/gpu/gpu.json to benchmarks/results/gpu.json, and
# overlap.json and overlap_small.json to overlap_gpu.json and overlap_gpu_small.json there, as they
# are, and commit them. They name machine, GPU, driver and the commit that was built: of a clean
# tree, and if that is a copy without git, the one that HEDDLE_COMMIT says, so set it to what
# `git rev-parse --short HEAD` gives where the copy was made.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

readonly build=build/gpu
architecture=90
parts=()
failed=()

usage() {
  echo "usage: gpu_check.sh [--only build|tests|bench|sanitizer]… [ARCHITECTURE]" >&2
  exit 2
}

while (($#)); do
  case $1 in
    --only)
      [[ ${2:-} =~ ^(build|tests|bench|sanitizer)$ ]] || usage
      parts+=("$2")
      shift 2
      ;;
    [0-9]*)
      architecture=$1
      shift
      ;;
    *) usage ;;
  esac
done

# wanted PART
wanted() { ((${#parts[@]} == 0)) || [[ " ${parts[*]} " == *" $1 "* ]]; }

# step SECONDS TITLE COMMAND…
step() {
  local limit=$1 title=$2 begin=$SECONDS
  shift 2
  printf '\n=== %s\n' "$title"
  timeout "$limit" "$@" || failed+=("$title")
  printf '=== %d s\n' $((SECONDS - begin))
}

readonly programs=(
  engine/heddle_engine_cuda_tests
  conformance/heddle_conformance_cuda_tests
  conformance/heddle_conformance_logical_tests
  ndarray/heddle_ndarray_cuda_tests
  ops/heddle_ops_cuda_tests
  kvstore/heddle_kvstore_cuda_tests
  io/heddle_io_cuda_tests)

part_build() {
  step 60 "configure" cmake --preset default -B "$build" -DHEDDLE_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES="$architecture"
  step 540 "build" cmake --build "$build" --parallel "$(nproc)" --target "${programs[@]##*/}" \
    heddle_planted_gpu_bugs train_fashion_mnist bench_gpu bench_overlap
}

# The programs as they are: with a process for each case most of the time would be CUDA's start.
part_tests() {
  local program
  for program in "${programs[@]}"; do
    step 120 "${program##*/}" "$build/tests/$program"
  done
  step 60 "demo" "$build/examples/train_fashion_mnist" --gpus cuda:0,cuda:0 --epochs 2
  step 60 "demo, larger batch, sums on the CPU" "$build/examples/train_fashion_mnist" \
    --gpus cuda:0,cuda:0 --kvstore local --batch 1024 --epochs 2
}

part_bench() {
  step 120 "heddle beside the same work by hand" "$build/benchmarks/bench_gpu" \
    --json "$build/gpu.json"
  step 240 "overlap, beside streams and events by hand" "$build/benchmarks/bench_overlap" \
    --gpus cuda:0,cuda:0 --steps 100 --runs 7 --json "$build/overlap.json"
  step 240 "overlap of pieces of work that take about as long as it takes to enqueue them" \
    "$build/benchmarks/bench_overlap" --gpus cuda:0,cuda:0 --side 512 --steps 300 --runs 7 \
    --json "$build/overlap_small.json"
  printf '\nresults, to be kept as the head of this script says:\n'
  grep -H -e '"commit"' -e '"machine"' "$build"/{gpu,overlap,overlap_small}.json || true
}

part_sanitizer() {
  if ! command -v compute-sanitizer /usr/local/cuda/bin/compute-sanitizer >/dev/null; then
    printf '\n=== compute-sanitizer is not there: skipped\n'
    ((${#parts[@]} == 0)) || failed+=("compute-sanitizer is not there")
    return
  fi
  step 540 "compute-sanitizer" scripts/gpu_sanitizer.sh "$build"
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv || true
for part in build tests bench sanitizer; do
  if wanted "$part"; then "part_$part"; fi
done

if ((${#failed[@]})); then
  printf '\nfailed: %s\n' "${failed[@]}"
  exit 1
fi
printf '\neverything passed\n'
