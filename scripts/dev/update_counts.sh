#!/usr/bin/env bash
# Updates the instruction counts that a test checks (tests/bench/instruction_counts.json), after a
# justified increase or a decrease.
#
# usage: scripts/dev/update_counts.sh "REASON"
#
# Builds build/release and build/quick, whose compilers have counts of their own, counts, and prints the changes and a
# message for the commit, which has the reason, so that git log answers where the time went.
set -euo pipefail
if [ $# -ne 1 ] || [ -z "${1// /}" ]; then
  echo 'usage: scripts/dev/update_counts.sh "REASON"' >&2
  echo 'update_counts: say why the counts may change; it goes into the commit' >&2
  exit 2
fi
# shellcheck source=scripts/steps.sh
. "$(dirname "${BASH_SOURCE[0]}")/../steps.sh"
cd "$root"

count() {
  ctest --test-dir "build/$1" --show-only=json-v1 | python3 -c '
import json, os, sys
tests = json.load(sys.stdin)["tests"]
(command,) = (one["command"] for one in tests if one["name"].startswith("instructions: workloads"))
os.execv(command[0], [*command, "--update"])'
}

build_what_counts() {
  cmake --preset "$1" -DBUILD_TESTING=ON &&
    cmake --build "build/$1" --target cleave cleave_make_graph --parallel "$jobs"
}

changes=
for preset in release quick; do
  step "build-$preset" "build/$preset" build_what_counts "$preset"
  changed=$(count "$preset")
  [ -z "$changed" ] || changes+="${changes:+$'\n'}build/$preset:"$'\n'$changed
done
if [ -z "$changes" ]; then
  echo "update_counts: nothing changed by half a percent"
  exit 0
fi
printf '\nA message for the commit:\n\nInstruction counts: %s\n\n%s\n\n' "$1" "$changes"
git diff --stat -- tests/bench/instruction_counts.json
