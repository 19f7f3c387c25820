#!/usr/bin/env python3
"""No target holds more than its memory: splits for two targets are run, and what each held is counted.

usage: memory_test.py PROJECT_FOLDER CLEAVE [--cases N] [MODEL.onnx[:NAME=SIZE]...]...

Of N random models (15), and of each MODEL at half and at a quarter, the split without a limit says what the targets
hold. The same split with less memory is then replayed by `cleave run`, which counts for itself what was held.
Sizes bind open dims. Exit status: 0 never more than the memory; 1 more, or a script failed.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NAMES = ("npu", "gpu")
NUMBERS = {
    "npu": "launch=20us,flops=1TFLOP/s,bandwidth=50GB/s",
    "gpu": "launch=5us,flops=200GFLOP/s,bandwidth=20GB/s",
    "cpu": "flops=1GFLOP/s,bandwidth=1GB/s",
}
ALIKE = ["Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Exp"]  # one input, its shape
OPS = [*ALIKE, "Add", "Mul", "MatMul", "Concat", "Split"]


class RandomModel:
    """Nodes that read what is before them, mostly near by; values are of 8 rows, and weights of some nodes are shared."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.columns = {"x": 16}  # by value
        self.names, self.nodes, self.weights = ["x"], [], {}

    def add(self, op, inputs, columns, **attributes):
        outputs = []
        for wide in columns:
            outputs.append(f"v{len(self.names)}")
            self.columns[outputs[-1]] = wide
            self.names.append(outputs[-1])
        self.nodes.append(helper.make_node(op, inputs, outputs, name=f"n{len(self.nodes)}", **attributes))

    def pick(self):
        back = 30 if self.numbers.random() < 0.2 else 4
        return self.numbers.choice(self.names[-back:])

    def weight(self, rows):
        """Of `rows` rows; one that there is, or a new one."""
        known = [name for name, value in self.weights.items() if value.shape[0] == rows]
        if not known or self.numbers.random() < 0.8:
            shape = (rows, self.numbers.choice([4, 16, 64, 200]))
            made = np.random.default_rng(len(self.weights)).standard_normal(shape) / rows
            known = [f"w{len(self.weights)}"]
            self.weights[known[0]] = made.astype(np.float32)
        return known[-1]

    def step(self):
        op, value = self.numbers.choice(OPS), self.pick()
        wide = self.columns[value]
        if op in ALIKE:
            self.add(op, [value], [wide])
        elif op == "MatMul":
            weight = self.weight(wide)
            self.add(op, [value, weight], [self.weights[weight].shape[1]])
        elif op == "Split" and wide >= 4 and wide % 2 == 0:
            self.add(op, [value], [wide // 2, wide // 2], axis=1)
        elif op == "Concat" and wide < 400:
            other = self.pick()
            self.add(op, [value, other], [wide + self.columns[other]], axis=1)
        else:
            alike = [name for name in self.names if self.columns[name] == wide]
            self.add(self.numbers.choice(["Add", "Mul"]), [value, self.numbers.choice(alike)], [wide])

    def save(self, path):
        read = {name for node in self.nodes for name in node.input}
        left = [name for name in self.names if name not in read and name != "x"]

        def info(name):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, self.columns[name]])

        graph = helper.make_graph(
            self.nodes, "random", [info("x")], [info(name) for name in left],
            [numpy_helper.from_array(value, name) for name, value in self.weights.items()])  # fmt: skip
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Splits:
    def __init__(self, project, cleave, folder):
        self.project, self.cleave, self.folder = project, cleave, folder

    def lists(self, numbers, ops):
        paths = []
        for name in NAMES:
            paths.append(self.folder / f"{name}.txt")
            paths[-1].write_text("\n".join(numbers.sample(ops, max(1, len(ops) * 3 // 4))) + "\n")
        return paths

    def split(self, model, lists, bound, memory, more):
        """The manifest's targets by name; the last is the host."""
        out = self.folder / "split"
        shutil.rmtree(out, ignore_errors=True)
        command = [self.cleave, "split", model, "-o", out, "-q", "--place", "cost", *bound, *more]
        for name, path in zip(NAMES, lists):
            limit = f",memory={memory[name]}" if memory.get(name) else ""
            command += ["-s", f"{name}={path}", "--target", f"{name}:{NUMBERS[name]}{limit}"]
        command += ["--target", f"cpu:{NUMBERS['cpu']}"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{model}: {done.stderr}"
        return {target["name"]: target for target in json.loads((out / "manifest.json").read_text())["targets"]}

    def replay(self, model):
        script = self.project / "scripts" / "runner.py"
        done = subprocess.run([sys.executable, script, "run", self.folder / "split"], capture_output=True, text=True)
        assert done.returncode == 0, f"{model}: {done.stdout}{done.stderr}"

    def try_one(self, model, lists, share, bound=(), more=()):
        """How many targets were limited to this share of what they hold without a limit."""
        free = self.split(model, lists, bound, {}, more)
        memory = {name: int(free[name]["peak_bytes"] * share) for name in NAMES if free[name]["peak_bytes"] > 8}
        kept = self.split(model, lists, bound, memory, more)
        for name, most in memory.items():
            assert kept[name]["peak_bytes"] <= most, f"{model}: {name} holds {kept[name]['peak_bytes']} of {most}"
        self.replay(model)
        return len(memory), sum(kept[name]["nodes"] > 0 for name in memory)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("cleave", type=Path)
    parser.add_argument("--cases", type=int, default=15)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    limited = used = 0
    with tempfile.TemporaryDirectory() as name:
        splits = Splits(options.project, options.cleave, Path(name))
        for seed in range(options.cases):
            numbers, made = random.Random(seed), None
            made = RandomModel(numbers)
            for _ in range(numbers.randrange(5, 60)):
                made.step()
            model = splits.folder / "random.onnx"
            made.save(model)
            more = [["--residency", "on"], ["--link", "npu-gpu=shared"], []][seed % 3]
            counts = splits.try_one(model, splits.lists(numbers, OPS), [0.5, 0.25, 0.75][seed % 3], more=more)
            limited, used = limited + counts[0], used + counts[1]
        for text in options.models:
            path, *sizes = text.split(":")
            bound = [word for size in sizes for word in ("--dim", size)]
            ops = sorted({node.op_type for node in onnx.load(path, load_external_data=False).graph.node})
            for share in (0.5, 0.25):
                counts = splits.try_one(Path(path), splits.lists(random.Random(1), ops), share, bound)
                limited, used = limited + counts[0], used + counts[1]
                print(f"{Path(path).name} at {share}: {counts[1]} of {counts[0]} targets used")
    print(f"{options.cases} random models and {len(options.models)} others: {limited} targets limited, "
          f"{used} used, none held more than its memory")  # fmt: skip
    assert used > limited // 3, "the limits leave nothing to test"


if __name__ == "__main__":
    main()
