#!/usr/bin/env bash
# Prints the C++ files of the tree, one a line, as paths from its root: scripts/sources.sh FOLDER…
# limits them to some folders.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

(($#)) || set -- include engine ndarray ops kvstore io tests benchmarks examples
find "$@" -name '*.h' -o -name '*.cc' -o -name '*.cu' | sort
