#!/usr/bin/env bash
# Installs the library into a temporary prefix and builds, against nothing but that prefix, the
# project in this folder.
set -euo pipefail

usage() {
  cat <<'END'
usage: tests/consumer/run.sh [BUILD]

  BUILD  a build folder of the library to install from; without it one of a shared library is made
END
}

here=$(dirname "$(readlink -f "$0")")
(($# <= 1)) && [[ ${1:-} != -* ]] || { usage >&2 && exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build=${1:-}
if [[ -z $build ]]; then
  build=$work/library
  # Without optimization, which makes no difference to what is installed but takes long.
  cmake -S "$here/../.." -B "$build" -G Ninja -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DHEDDLE_TESTS=OFF -DHEDDLE_EXAMPLES=OFF \
    -DHEDDLE_BENCHMARKS=OFF -DHEDDLE_WERROR=ON
  cmake --build "$build" --parallel "$(nproc)"
fi
cmake --install "$build" --prefix "$work/prefix" >/dev/null
rm -rf "$work/library"

cmake -S "$here" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix"
cmake --build "$work/consumer" --parallel "$(nproc)"
ctest --test-dir "$work/consumer" --output-on-failure --no-tests=error
