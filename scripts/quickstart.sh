#!/usr/bin/env bash
# Gets from a fresh clone to a model that runs in parts: installs missing packages, builds, splits a sample network for a
# sample accelerator, compares the parts with the whole, and draws them.
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

# What runs models comes while the program is built.
runtime=build/quick-venv
make_runtime() {
  [ -x "$runtime/bin/python" ] || python3 -m venv "$runtime"
  "$runtime/bin/python" -m pip install -q --disable-pip-version-check --timeout 20 --retries 1 onnx onnxruntime numpy
}
(renice -n 19 -p "$BASHPID" && make_runtime) >"$logs/quickstart-runtime.log" 2>&1 &
packages=$!
trap 'kill "$packages" 2>/dev/null || true' EXIT

step_building build-quick "build (build/quick)" build quick quick
cleave=build/quick/cleave model=samples/mobile_block.onnx out=build/quick/quickstart
step quickstart "cleave split $model -s samples/tiny_npu.txt --dim N=1 -o $out --html $out.html --force" \
  "$cleave" split "$model" -s samples/tiny_npu.txt --dim N=1 -o "$out" --html "$out.html" --force
if wait "$packages"; then
  trap - EXIT
  step verify "cleave verify $model $out" "$cleave" verify "$model" "$out" --python "$runtime/bin/python"
  result=$(head -n 1 "$logs/verify.log")
else
  result="not run: python3 -m pip install onnx onnxruntime numpy, then cleave verify $model $out"
fi

echo
cat "$out/report.txt"
echo
echo "the parts:    $root/$out"
echo "they run:     $result"
echo "the picture:  $root/$out.html"
echo "the tool:     export PATH=\"$root/build/quick:$root/$runtime/bin:\$PATH\""
echo
echo "now yours: cleave MODEL.onnx"
