#!/usr/bin/env python3
"""run_hetero.py on a model whose parts would read a shape from each other: OpenVINO computes it before it divides.

usage: hetero_test.py CLEAVE RUN_HETERO

Exit status 77: openvino or onnx is not there.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import openvino  # noqa: F401
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

CLEAVE, RUN_HETERO = sys.argv[1], sys.argv[2]


def model():
    """Relu on one target, the shape that Reshape asks for on the other, computed from Relu's output."""
    constants = {"zero": np.array([0], np.int64), "one": np.array([1], np.int64), "rest": np.array([-1], np.int64)}
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "relu"),
        helper.make_node("Shape", ["a"], ["shape"], "shape"),
        helper.make_node("Slice", ["shape", "zero", "one"], ["batch"], "slice"),
        helper.make_node("Concat", ["batch", "rest"], ["wanted"], "concat", axis=0),
        helper.make_node("Sigmoid", ["a"], ["s"], "sigmoid"),
        helper.make_node("Reshape", ["s", "wanted"], ["r"], "reshape"),
        helper.make_node("Relu", ["r"], ["y"], "last"),
    ]
    graph = helper.make_graph(
        nodes, "m",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 12])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


with tempfile.TemporaryDirectory() as folder:
    root = Path(folder)
    onnx.save(model(), root / "m.onnx")
    (root / "npu.txt").write_text("Relu\nConcat\n")
    (root / "gpu.txt").write_text("Sigmoid\nReshape\nShape\nSlice\n")
    command: list[str | Path] = [CLEAVE, "split", root / "m.onnx", "-o", root / "out"]
    command += ["-s", f"npu={root / 'npu.txt'}", "-s", f"gpu={root / 'gpu.txt'}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    ran = subprocess.run([sys.executable, RUN_HETERO, root / "out", root / "m.onnx", "--check"], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"run_hetero.py: exit status {ran.returncode}: {ran.stdout}{ran.stderr}")
print("1 model is divided as foreseen")
