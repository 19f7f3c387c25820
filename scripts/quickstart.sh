#!/usr/bin/env bash
# Gets from a fresh clone to a split model: installs missing packages, builds, splits a sample network
# for a sample accelerator, and shows the report.
#
# usage: scripts/quickstart.sh
set -euo pipefail
if [ $# -ne 0 ]; then
  echo "usage: scripts/quickstart.sh" >&2
  exit 2
fi
# shellcheck source=scripts/steps.sh
. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"
cd "$root"

scripts/setup.sh
step_building build-quick "build (build/quick)" build quick quick
cleave=build/quick/cleave
out=build/quick/quickstart
step quickstart "cleave split samples/resnet18.json -s samples/npu.json -o $out --force" \
  "$cleave" split samples/resnet18.json -s samples/npu.json -o "$out" --force

echo
cat "$out/report.txt"
echo
echo "the tool:        $root/$cleave   (try: $cleave --help)"
echo "what it wrote:   $root/$out"
for file in "$out"/*; do
  printf '  %8d bytes  %s\n' "$(stat -c %s "$file")" "${file##*/}"
done
echo "quickstart: done"
