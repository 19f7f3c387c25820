#!/usr/bin/env python3
"""Workers read and write tensors as onnx does, and those of plain types without it.

usage: tensors_test.py
"""
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "backends"))
import worker


def faults_of(path, array):
    """What differs from onnx for one array."""
    worker.write_tensor(path, "nämé", array)
    if path.read_bytes() != numpy_helper.from_array(array, "nämé").SerializeToString():
        yield f"{array.dtype} {array.shape}: written otherwise than by onnx"
    read = worker.read_tensor(path)
    if read.dtype != array.dtype or read.shape != array.shape or not (read == array).all():
        yield f"{array.dtype} {array.shape}: read as {read!r}"
    if not read.flags.writeable:
        yield f"{array.dtype} {array.shape}: cannot be written"


def main():
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.pb"
        for kind in [*worker.TENSOR_TYPES, "O"]:
            for shape in [(), (3,), (2, 0, 3), (2, 300, 1)]:
                array = np.full(shape, "text", object) if kind == "O" else np.ones(shape, kind)
                faults += faults_of(path, array)
        # Elements outside raw_data are left to onnx.
        for kind, values in [(onnx.TensorProto.FLOAT, [1.5, 2.5]), (onnx.TensorProto.INT64, [-1, 2]),
                             (onnx.TensorProto.BFLOAT16, [1.0, 2.0])]:  # fmt: skip
            path.write_bytes(onnx.helper.make_tensor("x", kind, [2], values).SerializeToString())
            if list(worker.read_tensor(path)) != values:
                faults.append(f"type {kind}: read as {worker.read_tensor(path)!r}")
        # A plain tensor needs no onnx.
        sys.modules["onnx"] = None
        for kind in worker.TENSOR_TYPES:
            worker.write_tensor(path, "x", np.ones((2, 2), kind))
            worker.read_tensor(path)
    print("\n".join(faults) if faults else "tensors are as onnx has them")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
