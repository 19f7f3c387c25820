#!/usr/bin/env bash
# Builds cleave without each shelf, and without all of them, and runs the tests that remain. All in one folder, as the
# quickstart builds: a shelf that is left out changes three sources, so that each build after the first takes seconds.
#
# usage: scripts/dev/check_shelves.sh [SHELF...]      default: each shelf of scripts/build/shelves.cmake, and `all`
set -euo pipefail
# shellcheck source=scripts/steps.sh
. "$(dirname "${BASH_SOURCE[0]}")/../steps.sh"
cd "$root"

mapfile -t shelves < <(sed -n 's/^cleave_shelf(\([A-Z]*\) .*/\1/p' scripts/build/shelves.cmake)
[ $# -gt 0 ] || set -- "${shelves[@]}" all
python=$root/build/venv/bin/python
[ -x "$python" ] || python=$(command -v python3)
for shelf in "$@"; do
  [ "$shelf" = all ] || [[ " ${shelves[*]} " == *" $shelf "* ]] ||
    { echo "no shelf is called $shelf: ${shelves[*]}, or all" >&2; exit 2; }
  with=()
  for other in "${shelves[@]}"; do
    if [ "$shelf" = all ] || [ "$shelf" = "$other" ]; then value=OFF; else value=ON; fi
    with+=("-DCLEAVE_WITH_$other=$value")
  done
  step_building "build-without-$shelf" "build without $shelf" build shelves quick -DBUILD_TESTING=ON \
    -DCLEAVE_PYTHON="$python" "${with[@]}"
  step "test-without-$shelf" "its tests" ctest --test-dir build/shelves --parallel "$jobs" --timeout 300 \
    --output-on-failure --no-tests=error
done
