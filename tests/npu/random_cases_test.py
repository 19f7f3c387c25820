#!/usr/bin/env python3
"""Asks Qualcomm's compiler about random cases of the corpus, and cleave with the list qnn_npu about the same models.

usage: random_cases_test.py CLEAVE [--count 1000] [--seed N] [--wheel FILE] [--quantised] [--all]
    [--only OP]... [--list NAME|FILE] [--keep DIR]

The list is made of what a device once took (scripts/dev/measured_lists.py). Here winml-cli's own generators make random
models of one node, as they made the corpus: of each operator and version as many, with types, ranks, constant inputs and
attributes drawn at random. cleave says what the list accepts, and Qualcomm's compiler of today must take each such
model. With --quantised the operator stands between DequantizeLinear and QuantizeLinear. With --all the compiler is also
asked about the others, and the test prints how many it takes of them: the list is made to be careful.

Exit status: 1 when the compiler refuses what the list accepts, or nothing was asked; 77 when a package cannot be had.
"""
import argparse
import contextlib
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
WORKER = PROJECT / "scripts" / "backends" / "qnn_worker.py"
FILES = re.compile(r".*/QNNExecutionProvider_NPU/(\w+?)_QNNExecutionProvider_NPU_ai\.onnx_opset(\d+)(_qdq)?\.parquet")
MOST_DRAWN = 40  # of the combinations of inputs and attributes of one operator that are tried until one makes a model


def skip(why):
    print(f"random_cases_test.py: skipped: {why}")
    sys.exit(77)


try:
    import colorama  # noqa: F401 (the generators need it)
    import onnx
    import onnxruntime_qnn  # noqa: F401
    import pydantic  # noqa: F401
except ImportError as error:
    skip(f"needs the Python module {error.name}")


def have_wheel(options, folder):
    if options.wheel:
        return options.wheel
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "winml-cli==0.4.0"],
                   capture_output=True, check=False)
    return next(Path(folder).glob("*.whl"), None)


def measured_versions(options, scratch):
    """Unpacks the generators of winml-cli; the operators and versions of which the corpus has cases, in order."""
    wheel = have_wheel(options, scratch)
    if wheel is None:
        skip("winml-cli cannot be had from PyPI")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(scratch / "winml", [one for one in names if one.endswith(".py")])
    sys.path.insert(0, str(scratch / "winml"))
    return sorted({(found[1], int(found[2])) for one in names if (found := FILES.fullmatch(one))
                   and not found[1].endswith("Pattern") and bool(found[3]) == options.quantised
                   and (not options.only or found[1] in options.only)})


class Generator:
    """The models of one operator and version."""

    def __init__(self, op, since, is_quantised):
        from winml.modelkit.onnx import ONNXDomain
        from winml.modelkit.pattern.op_input_gen import get_runtime_checker_op
        from winml.modelkit.pattern.op_input_gen.qdq_gen import QDQGenerator

        quantizers = {"qdq_generator": QDQGenerator(1, ONNXDomain.COM_MICROSOFT)} if is_quantised else {}
        self.op, self.since = op, since
        self.made = get_runtime_checker_op(op)(onnx.defs.get_schema(op, since), **quantizers)

    def draw(self, count, numbers):
        """`count` of all combinations of inputs and attributes, each as likely as another; then one model of each, of
        those with all shapes known."""
        kept = []
        for place, one in enumerate(self.made.iter()):
            if len(kept) < MOST_DRAWN:
                kept.append(one)
            elif (at := numbers.randrange(place + 1)) < MOST_DRAWN:
                kept[at] = one
        numbers.shuffle(kept)
        models = []
        for arguments, tags in kept:
            if len(models) == count:
                break
            found = [model for model, said in self.made.iter_const_and_dynamic_models(arguments, tags)
                     if not any(said.get("dynamic_axes") or ())]
            if found:
                models.append(numbers.choice(found))
        return models


def as_model(made):
    if isinstance(made, str):
        from winml.modelkit.pattern.op_input_gen.op_input_gen import model_from_b64

        made = model_from_b64(made)
    return onnx.load_from_string(made) if isinstance(made, bytes) else made


def draw_all(files, options, folder):
    """Writes the models; their paths."""
    numbers = random.Random(options.seed)
    each = -(-options.count // len(files))
    paths, left_out = [], Counter()
    for op, since in files:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                models = Generator(op, since, options.quantised).draw(each, numbers)
        except Exception as error:  # of the generators, of any kind
            left_out[f"{op} {since}: {str(error).splitlines()[0][:60] if str(error) else type(error).__name__}"] += 1
            continue
        for place, model in enumerate(models):
            path = folder / f"{op}_{since}_{place}.onnx"
            onnx.save(as_model(model), path)
            paths.append(path)
    if left_out:
        print(f"{len(left_out)} of {len(files)} operators and versions make no models here: {', '.join(sorted(left_out)[:6])}")
    return sorted(numbers.sample(paths, min(options.count, len(paths))))


class Compiler:
    """The worker of the backend; started again when a model ends it."""

    def __init__(self, folder):
        self.folder, self.process = folder, None

    def start(self):
        self.process = subprocess.Popen([sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        if not json.loads(self.process.stdout.readline() or "{}").get("ready"):
            skip("Qualcomm's compiler does not start")

    def ask(self, path):
        """("taken" | "folded" | "refused", why)"""
        if self.process is None:
            self.start()
        request = {"op": "compile", "model": str(path), "out": str(self.folder / "out")}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            code, self.process = self.process.wait(), None
            return "refused", f"the compiler ended with {code}"
        answer = json.loads(line)
        if not answer["ok"]:
            return "refused", answer["error"].splitlines()[0]
        return ("folded" if answer.get("nothing") else "taken"), ""

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def accepts(cleave, path, name, whole=False):
    """Whether the list accepts the node, or some node; `whole`: all of them."""
    command = [cleave, "preview", path, "-s", name, "--json", "--fold", "off", "--min-acc-module-size", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{path.name}: cleave ended with {done.returncode}: {done.stderr}")
    return (all if whole else any)(part["is_acc"] for part in json.loads(done.stdout)["partitions"])


def run(options, scratch):
    files = measured_versions(options, scratch)
    (scratch / "models").mkdir()
    paths = draw_all(files, options, scratch / "models")
    compiler = Compiler(scratch)
    table, wrong, careful = Counter(), [], defaultdict(int)
    for path in paths:
        is_accepted = accepts(options.cleave.resolve(), path, options.list)
        if not is_accepted and not options.all:
            table["not accepted"] += 1
            continue
        said, why = compiler.ask(path)
        table[f"{'accepted' if is_accepted else 'not accepted'}, {said}"] += 1
        if is_accepted and said == "refused":
            wrong.append(f"  false yes: {path.name}: {why[:200]}")
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                onnx.save(onnx.load(path), options.keep / path.name)
        if not is_accepted and said == "taken":
            careful[path.name.split("_")[0]] += 1
    compiler.close()
    print(f"{len(paths)} random cases of {len(files)} operators and versions: {dict(sorted(table.items()))}; "
          f"{len(wrong)} false yes")
    if careful:
        print(f"  taken, not accepted: {dict(sorted(careful.items(), key=lambda one: -one[1])[:20])}")
    print("\n".join(wrong), end="\n" if wrong else "")
    asked = sum(count for what, count in table.items() if what.startswith("accepted"))
    return 1 if wrong or not asked else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wheel", type=Path, help="of winml-cli; default: pip downloads it")
    parser.add_argument("--all", action="store_true", help="ask about what the list does not accept, too")
    parser.add_argument("--quantised", action="store_true", help="operators between DequantizeLinear and QuantizeLinear")
    parser.add_argument("--only", action="append", metavar="OP", help="cases of these operators")
    parser.add_argument("--list", default="qnn_npu", help="the list that is held against the compiler")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where false yes are kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TMPDIR"] = scratch
        return run(options, Path(scratch))


if __name__ == "__main__":
    sys.exit(main())
