#!/usr/bin/env bash
# Fuzzes every reader and the passes with libFuzzer, clang's address and undefined-behaviour sanitizers on.
#
# usage: scripts/dev/fuzz.sh MINUTES [TARGET...]
#   MINUTES   of processor time for each target
#   TARGET    some of the targets of tests/fuzz/README.md; all without any
#
# Builds build/fuzz (preset `fuzz`), makes seeds from the samples, the schemas and the models of the tests,
# and adds models from $CLEAVE_RECORDED/models, else ../shared/models, if they exist. New inputs are kept in
# build/fuzz/corpus/TARGET, where the next run continues. Prints executions and edges by target at the end.
# Exit status 1 if an input broke a target; it is in build/fuzz/found/.
set -euo pipefail
if [ $# -lt 1 ] || ! [[ $1 =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: scripts/dev/fuzz.sh MINUTES [TARGET...]" >&2
  exit 2
fi
minutes=$1
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
models=${CLEAVE_RECORDED:-$root/../shared}/models
work=build/fuzz
most_bytes=16384

cmake --preset fuzz >/dev/null
cmake --build $work --parallel
python3 tests/fuzz/make_corpus.py . $work/cleave $work/seeds
if [ -d "$models" ]; then
  find "$models" -type f -size -${most_bytes}c -name '*.onnx' -exec cp -n {} $work/seeds/onnx/ \;
  find "$models" -type f -size -${most_bytes}c -name '*.json' -exec cp -n {} $work/seeds/graph_json/ \;
fi

if [ $# -eq 0 ]; then
  for program in "$work"/tests/fuzz/fuzz_*; do
    name=$(basename "$program")
    if [ -x "$program" ] && [ -f "$program" ] && [ "$name" != fuzz_runner ]; then set -- "$@" "${name#fuzz_}"; fi
  done
fi

broken=0
summary=
for target in "$@"; do
  corpus=$work/corpus/$target found=$work/found
  mkdir -p "$corpus" $found
  log=$work/$target.log
  options=("-max_len=$most_bytes" -max_total_time=$((minutes * 60)) -rss_limit_mb=2048 -timeout=10
    -print_final_stats=1 -artifact_prefix="$found/$target-")
  if [ -f "$work/seeds/$target.dict" ]; then options+=(-dict="$work/seeds/$target.dict"); fi
  echo "fuzz: $target, $minutes min"
  seeds=()
  if [ -d "$work/seeds/$target" ]; then seeds=("$work/seeds/$target"); fi
  state=ok
  if ! "$work/tests/fuzz/fuzz_$target" "$corpus" "${seeds[@]}" "${options[@]}" >"$log" 2>&1; then
    state=BROKEN
    broken=1
    tail -n 30 "$log"
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  summary+=$(printf '%-14s %-7s %12s executions %8s edges' "$target" $state "${runs:-?}" "${edges:-?}")$'\n'
done
printf '%s' "$summary"
exit $broken
