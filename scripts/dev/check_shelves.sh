#!/usr/bin/env bash
# Builds cleave without each shelf, and without all of them, and runs the tests that remain.
#
# usage: scripts/dev/check_shelves.sh [SHELF...]      default: each shelf of scripts/build/shelves.cmake, and `all`
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "${BASH_SOURCE[0]}")/../steps.sh"
cd "$root"

mapfile -t shelves < <(sed -n 's/^cleave_shelf(\([A-Z]*\) .*/\1/p' scripts/build/shelves.cmake)
[ $# -gt 0 ] || set -- "${shelves[@]}" all
for shelf in "$@"; do
  off=()
  for other in "${shelves[@]}"; do
    [ "$shelf" != all ] && [ "$shelf" != "$other" ] || off+=("-DCLEAVE_WITH_$other=OFF")
  done
  [ ${#off[@]} -gt 0 ] || { echo "no shelf is called $shelf: ${shelves[*]}, or all" >&2; exit 2; }
  folder=without_$shelf
  step_building "build-$folder" "build without $shelf" build "$folder" release "${off[@]}"
  step "test-$folder" "its tests" ctest --test-dir "build/$folder" --parallel "$jobs" --timeout 300 \
    --output-on-failure --no-tests=error
done
