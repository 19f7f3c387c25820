#!/usr/bin/env python3
"""Every command that makes a split, with every option of a split: the option changes what the command says
or writes, or is refused in words.

An option is given beside a base that makes it matter, such as --keep-by beside --keep-acc-subgraphs 1, and the
result is compared with that of the base alone. The options are those that `cleave split --help` lists from -s
to --costs; one that is in no row of OPTIONS, or that a command lacks, fails the test.

usage: every_option_test.py CLEAVE [COMMAND...]     exit status 1 when an option is ignored, 77 without onnx
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"skipped: needs the Python module {error.name}")
    sys.exit(77)

FAKE = Path(__file__).resolve().parent.parent / "lower" / "fake_backend.py"

RATES = "--target cpu:flops=1GFLOP/s,bandwidth=1GB/s --target acc:launch=4us,flops=1TFLOP/s,bandwidth=100GB/s"
COST = f"--place cost --min-gain 0% {RATES}"  # the model is small, and so are its gains
SLOW = f"{COST} --pcie-bw 1GB/s"
TIMES = "--place cost --target acc:launch=4us --costs cpu.csv --target acc:flops=1TFLOP/s,bandwidth=100GB/s"
KEEP = f"{RATES} --keep-acc-subgraphs 2"

# option -> (the option with its value, the base)
OPTIONS = {
    "--support": ("-s more.txt", ""),
    "--deny": ("--deny Exp", ""),
    "--verdicts": ("--verdicts verdicts.csv", ""),
    "--combine": ("--combine all", "-s more.txt"),
    "--as": ("--as onnxruntime", ""),
    "--min-acc-module-size": ("--min-acc-module-size 4", ""),
    "--skip-fusion": ("--skip-fusion", ""),
    "--allow-non-tensor": ("--allow-non-tensor", "--skip-fusion"),
    "--move-non-tensor": ("--move-non-tensor", "--skip-fusion"),
    "--keep-qdq": ("--keep-qdq", ""),
    "--host-shapes": ("--host-shapes", ""),
    "--place": ("--place cost --min-gain 0%", RATES),
    "--residency": ("--residency on", SLOW),
    "--start": ("--start acc", ""),
    "--pack": ("--pack bytes", ""),
    "--keep-acc-subgraphs": ("--keep-acc-subgraphs 1", ""),
    "--keep-by": ("--keep-by nodes", KEEP),
    "--extend": ("--extend all", "--min-acc-module-size 3"),
    "--prefix": ("--prefix npu_", ""),
    "--non-acc-prefix": ("--non-acc-prefix host_", ""),
    "--link": ("--link acc-gpu=16GB/s", ""),
    "--overlap": ("--overlap", ""),
    "--target": ("--target acc:launch=1s", COST),
    "--pcie-bw": ("--pcie-bw 1kB/s", COST),
    "--min-gain": ("--min-gain 0%", f"--place cost {RATES}"),
    "--costs": ("--costs acc=slow.csv", TIMES),
    "--require": ("--require a0", f"{COST} --target acc:launch=100us"),
}

# They say nothing to a split by lists, or make several.
OF_OTHERS = ("--map", "--map-option", "--keep-original-order", "--phase", "--tokens",
             "--pipeline")

LOWER = "--backend fake.json --json --cache off --fold report"
NO_NAMES = dict.fromkeys(("--prefix", "--non-acc-prefix"), "it prints no names of partitions")
NO_CPU_NAMES = {"--non-acc-prefix": "it names partitions of the accelerator only"}
# command -> (its words, the options that say nothing to it and why); {partition}: any of the accelerator's;
# {gain}: unless the option is about it, any gain counts
COMMANDS = {
    "split": ("split m.onnx -s list.txt -o out --force --json", {}),
    "preview": ("preview m.onnx -s list.txt --json", {}),
    "explain": ("explain m.onnx * -s list.txt --json", {}),
    "draw": ("draw m.onnx -s list.txt --show preview", {}),
    "preview --show nodes": ("preview m.onnx -s list.txt --show nodes", {}),
    "advise": ("advise m.onnx -s list.txt --json", NO_NAMES),
    "check": ("check m.onnx -s list.txt --combine any --min coverage=1% --max boundary-bytes=1 --exit-zero --json",
              {**NO_NAMES, "--start": "no gate counts partitions of the CPU"}),
    "diff": ("diff m.onnx -s list.txt --json to -s list.txt", NO_NAMES),
    "tune": (f"tune m.onnx -s list.txt --run ./time.sh -o tuned.json {RATES} {{gain}}",
             {**NO_NAMES, "--place": "it always places by cost", "--start": "which side is first costs no time here",
              "--host-shapes": "a Shape and its user are placed by cost",
              "--as": "an Identity that is accepted is placed by cost: it gains no time on the accelerator"}),
    "lower": (f"lower m.onnx -s list.txt {LOWER}", NO_CPU_NAMES),
    "reduce": ("reduce m.onnx -s list.txt --backend fake.json --json --fold report --partition {partition}", NO_CPU_NAMES),
}


def write_model(path):
    def node(op, inputs, name, **attributes):
        return helper.make_node(op, inputs, [name], name=name, **attributes)

    nodes = [
        node("Relu", ["x"], "a0"),
        node("Exp", ["a0"], "a1"),
        node("Tanh", ["a1"], "c1"),
        node("Neg", ["c1"], "a2"),
        node("Add", ["a2", "a1"], "a3"),
        node("Tanh", ["a3"], "c2"),
        node("Sigmoid", ["c2"], "a4"),
        node("Tanh", ["a4"], "c3"),
        node("Exp", ["c2"], "a9"),
        node("MatMul", ["c3", "a9"], "a5"),
        node("Relu", ["a5"], "a10"),
        node("Add", ["a10", "a1"], "a11"),
        node("Identity", ["a11"], "a12"),
        node("Tanh", ["y"], "c4"),
        # a sequence that waits for an index of the CPU
        node("SequenceConstruct", ["a0", "a0"], "s0"),
        node("ReduceMax", ["c1"], "most", keepdims=0),
        node("Cast", ["most"], "index", to=TensorProto.INT64),
        node("SequenceAt", ["s0", "index"], "a6"),
        # a sequence that the CPU reads
        node("SequenceConstruct", ["a1"], "s1"),
        node("SequenceLength", ["s1"], "length"),
        node("DequantizeLinear", ["q", "scale"], "d0"),
        node("Neg", ["d0"], "a7"),
        node("QuantizeLinear", ["a7", "scale"], "q1"),
        node("Shape", ["a0"], "shape"),
        node("Reshape", ["a1", "shape"], "a8"),
    ]
    size = [64, 64]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, size),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, size),
        helper.make_tensor_value_info("q", TensorProto.UINT8, size),
    ]
    outputs = [
        helper.make_tensor_value_info(name, kind, None)
        for name, kind in (("a12", TensorProto.FLOAT), ("c4", TensorProto.FLOAT), ("a6", TensorProto.FLOAT),
                           ("length", TensorProto.INT64), ("q1", TensorProto.UINT8), ("a8", TensorProto.FLOAT))
    ]
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [], [0.5])
    graph = helper.make_graph(nodes, "every", inputs, outputs, [scale])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return [node.name for node in nodes]


def write_inputs(folder):
    names = write_model(folder / "m.onnx")
    accepted = ["Relu", "Exp", "Neg", "Add", "Sigmoid", "MatMul", "SequenceConstruct", "SequenceAt",
                "DequantizeLinear", "Reshape"]
    (folder / "list.txt").write_text("\n".join(accepted) + "\n")
    (folder / "more.txt").write_text("Tanh\nRelu\nNeg\n")
    (folder / "verdicts.csv").write_text("node,accepted\nc1,true\na4,false\n")
    for file, time in (("cpu.csv", 9), ("slow.csv", 90), ("acc.csv", 3)):
        (folder / file).write_text("node,time_us\n" + "".join(f"{name},{time}\n" for name in names))
    (folder / "time.sh").write_text("#!/bin/sh\necho 0.001\n")
    (folder / "time.sh").chmod(0o755)
    argv = [sys.executable, "-S", "-E", str(FAKE), "{model}", "{out}"]
    (folder / "fake.json").write_text(json.dumps({
        "format": "cleave.backend", "version": 1, "name": "fake",
        "compile": {"argv": argv, "produces": ["{out}"], "timeout": "60s"}}))


class Runner:
    def __init__(self, cleave, folder):
        self.cleave, self.folder = cleave, folder
        self.known = {}  # results by words

    # Exit status, what was printed but for times of the clock, and what went wrong.
    def result(self, words):
        if words not in self.known:
            for file in ("tuned.json", "tuned.json.journal"):
                (self.folder / file).unlink(missing_ok=True)
            env = dict(os.environ, NO_COLOR="1", XDG_CACHE_HOME=str(self.folder / "cache"))
            done = subprocess.run([self.cleave, *words.split()], cwd=self.folder, env=env, capture_output=True,
                                  text=True, timeout=300, check=False)
            tuned = self.folder / "tuned.json"
            out = done.stdout + (tuned.read_text() if tuned.exists() else "")
            out = re.sub(r'"(backend_)?seconds": [-+.e0-9]+', "", out)
            self.known[words] = (done.returncode, out, done.stderr)
        return self.known[words]


def shared_options(runner):
    """The options of `cleave split --help` that every command has: lists, settings, costs, what is required."""
    _, out, _ = runner.result("split --help")
    found = re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", out, re.M)
    first, last = found.index("--support"), found.index("--costs")
    return [name for name in found[first:last + 1] if name not in OF_OTHERS]


def fault_of(runner, command, option):
    words, skipped = COMMANDS[command]
    if option in skipped:
        return ""
    more, base = OPTIONS[option]
    if option == "--combine":
        words = words.replace(" --combine any", "")
    words = words.replace("{gain}", "" if "--min-gain" in base + more else "--min-gain 0%")
    if "{partition}" not in words:
        return fault_of_words(runner, words, base, more)
    _, out, error = runner.result(f"preview m.onnx -s list.txt --json {base}".strip())
    names = [part["name"] for part in json.loads(out)["partitions"] if part["is_acc"]]
    faults = [fault_of_words(runner, words.format(partition=name), base, more) for name in names]
    return "" if "" in faults else (faults or [error])[0]


def fault_of_words(runner, words, base, more):
    before = runner.result(f"{words} {base}".strip())
    if before[0] not in (0, 1):
        return f"the base {base!r} is refused: {before[2].splitlines()[-1:]}"
    after = runner.result(f"{words} {base} {more}")
    if after[0] not in (0, 1):
        is_said = "error: " in after[2] and "not expected" not in after[2]
        return "" if is_said else f"ends with {after[0]}: {after[2]}"
    return "" if after[1] != before[1] else f"{more!r} beside {base!r} changes nothing"


def main(cleave, commands):
    failed = 0
    with tempfile.TemporaryDirectory(prefix="every_option") as name:
        folder = Path(name)
        write_inputs(folder)
        runner = Runner(os.path.abspath(cleave), folder)
        shared = shared_options(runner)
        assert set(shared) == set(OPTIONS), f"options and rows differ: {set(shared) ^ set(OPTIONS)}"
        for command in commands or COMMANDS:
            faults = [f"{option}: {fault}" for option in shared if (fault := fault_of(runner, command, option))]
            failed += len(faults)
            print(f"{command}: {len(shared)} options, {len(faults)} ignored", *faults, sep="\n    ", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
