#!/usr/bin/env bash
# Do the tests bite? Plants one bug of this folder after the other into a copy of the tree, draws
# schedules of its threads, and runs the engine's tests: one or the other has to fail. Each patch
# begins with a line that says what it breaks.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
root=$here/../..
seconds=150
schedules=100000
few_schedules=3000  # most bugs show in these; where they do not, the tests are faster than the rest
programs=(heddle_engine_tests heddle_engine_helping_tests heddle_engine_sim_tests)

usage() {
  cat <<END
usage: run.sh [--check] [--seconds N] [NAME…]

  --check      only see whether every patch still fits the tree
  --seconds N  how long a program may take; more than $seconds where the machine has else to do
  NAME         only these, without .patch

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

# within_time PROGRAM [OPTION…]: runs it, for so long at most, and fails as it does.
within_time() {
  local program=$1
  shift
  timeout --kill-after=10 "$seconds" "$scratch/build/$program" "$@" >"$scratch/log" 2>&1
}

# first_schedule SCHEDULES: draws so many, until something is wrong in one; prints of what program,
# or nothing.
first_schedule() {
  build heddle_explore || return 2
  local gpus status program
  for gpus in 0 2; do
    status=0
    within_time tests/explore/heddle_explore --schedules "$1" --gpus $gpus || status=$?
    ((status != 0)) || continue
    program=$(sed -n 's/^again: .*\(--seed .*\) --depth.*/heddle_explore \1/p' "$scratch/log")
    echo "${program:-heddle_explore exits with $status}${program:+ --gpus $gpus}"
    return
  done
}

# first_failure: runs the programs until one fails; prints what failed, or nothing.
first_failure() {
  local program status
  build "${programs[@]}" || return 2
  for program in "${programs[@]}"; do
    status=0
    within_time "tests/engine/$program" --abort --reporter compact || status=$?
    ((status != 0)) || continue
    if ((status == 124 || status == 137)); then
      echo "$program does not end"
    else
      grep -m 1 -o '[a-z_]*\.cc:[0-9]*: failed' "$scratch/log" || echo "$program exits with $status"
    fi
    return
  done
}

# what_shows: the first of all that fails, or nothing.
what_shows() {
  local failure
  failure=$(first_schedule $few_schedules) || return 2
  [[ -n $failure ]] || failure=$(first_failure) || return 2
  [[ -n $failure ]] || failure=$(first_schedule $schedules) || return 2
  echo "$failure"
}

# build TARGET…
build() {
  cmake --build "$scratch/build" --parallel --target "$@" >"$scratch/log" 2>&1
}

only_check=false
names=()
while (($# != 0)); do
  case $1 in
    --check) only_check=true ;;
    --seconds)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || fail "--seconds takes a number"
      seconds=$2
      shift
      ;;
    -h | --help) usage && exit ;;
    -*) fail "unknown option $1" ;;
    *) names+=("$1") ;;
  esac
  shift
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
failure=$(what_shows) || fail "$(tail -n 20 "$scratch/log")"
[[ -z $failure ]] || fail "the tests fail without a planted bug: $(cat "$scratch/log")"

caught=0
for name in "${names[@]}"; do
  plant "$here/$name.patch" "$tree" || fail "$name.patch does not fit"
  failure=$(what_shows) || fail "$name does not compile: $(tail -n 20 "$scratch/log")"
  [[ -z $failure ]] || caught=$((caught + 1))
  printf '%-32s %s\n' "$name" "${failure:-NOT CAUGHT}"
  plant "$here/$name.patch" "$tree" --reverse
done
echo "$caught of ${#names[@]} caught"
((caught + 1 >= ${#names[@]}))
