#!/usr/bin/env bash
# Installs the library into a temporary prefix and builds, against nothing but that prefix, the
# project in this folder: tests/consumer/run.sh SHARED, with SHARED ON or OFF.
set -euo pipefail

shared=${1:?expected ON or OFF: whether to build a shared library}
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Without optimization, which makes no difference to what is installed but takes long.
cmake -S "$here/../.." -B "$work/library" -G Ninja -DBUILD_SHARED_LIBS="$shared" \
  -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DHEDDLE_TESTS=OFF -DHEDDLE_EXAMPLES=OFF -DHEDDLE_BENCHMARKS=OFF \
  -DHEDDLE_WERROR=ON
cmake --build "$work/library" --parallel "$(nproc)"
cmake --install "$work/library" --prefix "$work/prefix" >/dev/null
rm -rf "$work/library"

cmake -S "$here" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix"
cmake --build "$work/consumer" --parallel "$(nproc)"
ctest --test-dir "$work/consumer" --output-on-failure --no-tests=error
