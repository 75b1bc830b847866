#!/usr/bin/env bash
# Installs the Debian packages that building heddle takes and, with "bench", comparing it with others
# or, with "ci", checking it and that comparison, too. Packages that are there already are left alone; if none is
# missing, apt is not called.
set -euo pipefail

build_packages=(
  catch2
  cmake
  dataset-fashion-mnist
  g++
  libcli11-dev
  libopenblas-pthread-dev
  ninja-build
  python3
  zlib1g-dev
)
bench_packages=(libstarpu-dev libtbb-dev pkg-config)
ci_packages=(clang clang-format clang-tidy relacy-dev valgrind)

fail() {
  echo "install_packages.sh: $*" >&2
  exit 1
}

case "${1:-}" in
  build) packages=("${build_packages[@]}") ;;
  bench) packages=("${build_packages[@]}" "${bench_packages[@]}") ;;
  ci) packages=("${build_packages[@]}" "${bench_packages[@]}" "${ci_packages[@]}") ;;
  *) fail "\"${1:-}\": expected build, bench or ci" ;;
esac

command -v dpkg-query apt-get >/dev/null ||
  fail "this is no Debian system; install what these packages hold: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null ||
    fail "neither root nor sudo; as root, run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

echo "installing: ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
"${apt[@]}" update
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >/dev/null ||
  fail "apt-get could not install: ${missing[*]}"
