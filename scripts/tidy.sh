#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy on the library's sources, or on the files named.
# Works on the compile commands of the clang preset.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

[[ -f build/clang/compile_commands.json ]] || cmake --preset clang
if (($#)); then
  files=("$@")
else
  mapfile -t files < <(scripts/sources.sh engine ndarray ops kvstore io | grep '\.cc$')
fi
printf '%s\n' "${files[@]}" |
  xargs --max-procs "$(nproc)" --max-args 4 clang-tidy --quiet -p build/clang
