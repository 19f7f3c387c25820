#!/usr/bin/env python3
"""Sizes that reports propose for dims without a name run in ONNX Runtime; where none does, scripts say what to give.

usage: sizes_test.py PROJECT_FOLDER CLEAVE

Two models made here. One takes pictures that are 48 high only: `cleave MODEL` proposes such a size, and gives the work at it.
The other takes 91 elements only, which nobody guesses: `cleave verify` names --inputs, with which it runs.

Exit status 1 if one of these does not hold.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper


def save(path, nodes, shape, output, constants=()):
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, output),
    ]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], list(constants))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def axes(name, *numbers):
    return helper.make_tensor(name, TensorProto.INT64, [len(numbers)], numbers)


def proposed_sizes(cleave, folder):
    model = folder / "line.onnx"
    nodes = [
        helper.make_node("AveragePool", ["x"], ["a"], "pool", kernel_shape=[48, 1], strides=[48, 1]),
        helper.make_node("Squeeze", ["a", "two"], ["y"], "squeeze"),
    ]
    save(model, nodes, [None, 3, None, None], [None, 3, None], [axes("two", 2)])
    text = subprocess.run([cleave, model], capture_output=True, text=True, check=True).stdout
    proposed = re.search(r"--input-shape x=([0-9,]+)", text)
    assert proposed, text
    shape = [int(size) for size in proposed[1].split(",")]
    assert shape[2] == 48, shape
    assert "not known," not in text.splitlines()[0] and "x[2]=48" in text, text
    onnxruntime.InferenceSession(str(model)).run(None, {"x": np.zeros(shape, np.float32)})


def unguessable(project, cleave, folder):
    model, parts, inputs = folder / "odd.onnx", folder / "parts", folder / "x.npz"
    nodes = [helper.make_node("Relu", ["x"], ["r"], "relu"), helper.make_node("Reshape", ["r", "order"], ["y"], "order")]
    save(model, nodes, [None], [7, 13], [axes("order", 7, 13)])
    (folder / "list.txt").write_text("Relu\n", encoding="utf-8")
    subprocess.run([cleave, "split", model, "-s", folder / "list.txt", "-o", parts], check=True, capture_output=True)
    np.savez(inputs, x=np.ones(91, np.float32))
    verify = [sys.executable, os.path.join(project, "scripts", "runner.py"), "verify", model, parts]
    refused = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert refused.returncode != 0 and "--inputs FILE.npz" in refused.stdout + refused.stderr, refused
    subprocess.run([*verify, "--inputs", inputs], check=True, capture_output=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        proposed_sizes(sys.argv[2], Path(folder))
        unguessable(sys.argv[1], sys.argv[2], Path(folder))
    print("proposed sizes run, and --inputs is named where none does")


if __name__ == "__main__":
    main()
