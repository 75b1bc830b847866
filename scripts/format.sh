#!/usr/bin/env bash
# Formats every C++ file of the tree; with --check, changes nothing and fails if one would change.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

case "${1:-}" in
  "") action=(-i) ;;
  --check) action=(--dry-run -Werror) ;;
  *)
    echo "format.sh: \"$1\": expected nothing or --check" >&2
    exit 2
    ;;
esac
scripts/sources.sh | xargs clang-format "${action[@]}"
