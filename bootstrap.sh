#!/usr/bin/env bash
# From a fresh Debian 12 machine to a running heddle: see usage below.
set -euo pipefail

usage() {
  cat <<'END'
usage: ./bootstrap.sh COMMAND [ARGUMENT…]

  demo    train a network on Fashion-MNIST over two devices;
          arguments go to build/default/examples/train_fashion_mnist (try --help)
  test    run all tests; arguments go to ctest (as -R engine)
  bench   run the benchmarks; arguments go to each of them (default: --quick)
  build   only build

Each command first installs the Debian packages that are missing (as root or with sudo) and brings
build/default up to date.
END
}

root=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
build_dir=$root/build/default

# build [TARGET…]: everything if no target is named.
build() {
  local targets=("$@")
  "$root/scripts/install_packages.sh" build
  (
    cd "$root"
    cmake --preset default
    cmake --build --preset default --parallel "$(nproc)" ${targets:+--target "${targets[@]}"}
  )
}

run_tests() {
  build
  (cd "$root" && ctest --preset default --parallel "$(nproc)" "$@")
}

run_demo() {
  build train_fashion_mnist
  "$build_dir/examples/train_fashion_mnist" "$@"
}

run_benchmarks() {
  "$root/scripts/install_packages.sh" bench
  build benchmarks/all
  (($#)) || set -- --quick
  local program
  for program in "$build_dir"/benchmarks/bench_*; do
    echo "== ${program##*/} $*"
    "$program" "$@"
  done
}

command=${1:-}
shift || true
case "$command" in
  demo) run_demo "$@" ;;
  test) run_tests "$@" ;;
  bench) run_benchmarks "$@" ;;
  build) build ;;
  help | -h | --help) usage ;;
  *)
    echo "bootstrap.sh: \"$command\" is no command" >&2
    usage >&2
    exit 2
    ;;
esac
