#!/usr/bin/env python3
"""Compares cleave's constants of ONNX models with those of a simple second implementation.

A constant depends only on initializers and Constant nodes, directly or through other nodes, but not on
random operators. None may cross between partitions: each partition that reads one has a copy. Models are
split by a list of every other op type, so that partitions alternate often.

usage: check_constants.py CLEAVE FOLDER...      exit status 1 when a model differs
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

RANDOM = {"RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike", "Multinomial",
          "Bernoulli", "Dropout"}
BODIES = {"If", "Loop", "Scan"}


def constants_of(graph):
    """(how many nodes are constants, names of all that is constant)."""
    names = {tensor.name for tensor in graph.initializer} | {""}
    names |= {tensor.values.name for tensor in graph.sparse_initializer}
    count, nodes = 0, list(graph.node)
    while nodes:
        left = []
        for node in nodes:
            is_made = node.input or node.op_type == "Constant"
            if is_made and node.op_type not in RANDOM | BODIES and names.issuperset(node.input):
                names.update(node.output)
                count += 1
            else:
                left.append(node)
        if len(left) == len(nodes):
            break
        nodes = left
    return count, names


def check(cleave, path, support):
    """What is wrong with the model's constants; "" if they are right."""
    graph = onnx.load(str(path), load_external_data=False).graph
    support.write_text("\n".join(sorted({node.op_type for node in graph.node})[::2]) + "\n")
    done = subprocess.run([cleave, "preview", path, "-s", support, "--json"], capture_output=True)
    if done.returncode == 3:
        return ""  # no valid model
    report = json.loads(done.stdout)
    count, names = constants_of(graph)
    cut = {value["name"] for part in report["partitions"] for value in part["inputs"]} & names
    if cut:
        return f"constants cross between parts: {', '.join(sorted(cut))}"
    if len(report["constants"]) != count:
        return f"{len(report['constants'])} constants, {count} by a plain reading"
    return ""


def main():
    cleave, folders = Path(sys.argv[1]).resolve(), [Path(folder) for folder in sys.argv[2:]]
    models = sorted(path for folder in folders for path in folder.rglob("*.onnx"))
    failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        for path in models:
            fault = check(cleave, path, Path(tmp) / "ops.txt")
            failed += bool(fault)
            if fault:
                print(f"{path}: {fault}")
    print(f"{len(models) - failed} passed, {failed} failed")
    return 1 if failed or not models else 0


if __name__ == "__main__":
    sys.exit(main())
