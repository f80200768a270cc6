#!/usr/bin/env bash
# format.sh: formats all C++ by .clang-format. format.sh --check: changes nothing, fails where something would.
set -euo pipefail
cd "$(dirname "$0")/.."
format=clang-format-14
command -v $format >/dev/null || format=clang-format
mapfile -t files < <(git ls-files '*.h' '*.cc' '*.c')
[ ${#files[@]} -gt 0 ] || { echo "format: git lists no files here"; exit 1; }
case ${1:-} in
  "") $format -i "${files[@]}" ;;
  --check)
    status=0
    said=$($format --dry-run --Werror "${files[@]}" 2>&1) || status=$?
    mapfile -t wrong < <(sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error:.*/\1/p' <<<"$said" | sort -u)
    if [ $status != 0 ] && [ ${#wrong[@]} = 0 ]; then
      echo "$said"
      exit 1
    fi
    for file in "${wrong[@]}"; do echo "$file: not formatted"; done
    echo "format: ${#files[@]} files, ${#wrong[@]} to format (tools/format.sh does it)"
    [ ${#wrong[@]} = 0 ]
    ;;
  *) echo "usage: tools/format.sh [--check]" >&2; exit 2 ;;
esac
