#!/usr/bin/env bash
# Do the tests bite? Plants one bug of this folder after the other into a copy of the tree and runs
# the engine's tests, which have to fail. Each patch begins with a line that says what it breaks.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
root=$here/../..
seconds=150
programs=(heddle_engine_tests heddle_engine_sim_tests)

usage() {
  cat <<END
usage: run.sh [--check] [NAME…]

  --check  only see whether every patch still fits the tree
  NAME     only these, without .patch

Prints for each bug the first test that fails, or that none does, and at the end how many were
caught. A bug is caught, too, if a program crashes or takes longer than $seconds s. Fails if more
than one survives, or if a patch does not fit.
END
}

fail() {
  echo "run.sh: $*" >&2
  exit 2
}

# plant PATCH FOLDER [OPTION…]
plant() {
  local patch=$1 folder=$2
  shift 2
  patch --quiet --strip=1 --directory="$folder" --fuzz=1 "$@" <"$patch" >"$scratch/log" 2>&1
}

# first_failure: runs the programs until one fails; prints what failed, or nothing.
first_failure() {
  local program status
  for program in "${programs[@]}"; do
    status=0
    timeout "$seconds" "$scratch/build/tests/engine/$program" --abort --reporter compact \
      >"$scratch/log" 2>&1 || status=$?
    ((status != 0)) || continue
    if ((status == 124)); then
      echo "$program does not end"
    else
      grep -m 1 -o '[a-z_]*\.cc:[0-9]*: failed' "$scratch/log" || echo "$program exits with $status"
    fi
    return
  done
}

build() {
  cmake --build "$scratch/build" --parallel --target "${programs[@]}" >"$scratch/log" 2>&1
}

only_check=false
names=()
for argument in "$@"; do
  case $argument in
    --check) only_check=true ;;
    -h | --help) usage && exit ;;
    -*) fail "unknown option $argument" ;;
    *) names+=("$argument") ;;
  esac
done
((${#names[@]} != 0)) || mapfile -t names < <(cd "$here" && basename --suffix=.patch -- *.patch)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for name in "${names[@]}"; do
  [[ -f $here/$name.patch ]] || fail "there is no $name.patch"
  plant "$here/$name.patch" "$root" --dry-run || fail "$name.patch does not fit: $(cat "$scratch/log")"
done
if $only_check; then
  echo "all ${#names[@]} patches fit"
  exit
fi

git -C "$root" archive --format=tar --prefix=tree/ HEAD | tar -x -C "$scratch"
tree=$scratch/tree
cmake -S "$tree" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEDDLE_CUDA=OFF \
  -DHEDDLE_BENCHMARKS=OFF >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
build || fail "$(tail -n 20 "$scratch/log")"
[[ -z $(first_failure) ]] || fail "the tests fail without a planted bug: $(cat "$scratch/log")"

caught=0
for name in "${names[@]}"; do
  plant "$here/$name.patch" "$tree" || fail "$name.patch does not fit"
  build || fail "$name does not compile: $(tail -n 20 "$scratch/log")"
  failure=$(first_failure)
  [[ -z $failure ]] || caught=$((caught + 1))
  printf '%-32s %s\n' "$name" "${failure:-NOT CAUGHT}"
  plant "$here/$name.patch" "$tree" --reverse
done
echo "$caught of ${#names[@]} caught"
((caught + 1 >= ${#names[@]}))
