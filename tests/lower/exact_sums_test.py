#!/usr/bin/env python3
"""The reference sums products of bytes as arithmetic does, on processors without VNNI, too.

usage: exact_sums_test.py      exit status 77 when ONNX Runtime is not there
"""
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime  # noqa: F401
except ImportError as error:
    print(f"exact_sums_test.py: skipped: needs the Python module {error.name}")
    sys.exit(77)

from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ort_values import UNOPTIMISED, open_session


def model_of(op, weights, zero_points, **attributes):
    constants = {"w": weights, **zero_points}
    shape = [1, 2] if op == "MatMulInteger" else [1, 2, 3, 3]
    names = ["x", "w", "zx" if "zx" in constants else "", "zw" if "zw" in constants else ""]
    node = helper.make_node(op, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.INT32, None)],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    x = np.full((1, 2), 255, np.uint8)
    weights = np.array([[127, -128, 3], [127, -128, 5]], np.int8)
    cases = [({}, x.astype(np.int64) @ weights)]
    for zero in (np.array(7, np.int8), np.array([7, -7, 0], np.int8)):
        exact = (x.astype(np.int64) - 3) @ (weights.astype(np.int64) - zero)
        cases.append(({"zx": np.array(3, np.uint8), "zw": zero}, exact))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        for zero_points, exact in cases:
            model = model_of("MatMulInteger", weights, zero_points)
            onnx.save(model, path)
            for given in (path, model.SerializeToString()):
                made = open_session(given, UNOPTIMISED).run(None, {"x": x})[0]
                assert (made == exact).all(), (zero_points, made, exact)
    image = np.full((1, 2, 3, 3), 255, np.uint8)
    model = model_of("ConvInteger", np.full((1, 2, 3, 3), 127, np.int8), {})
    made = open_session(model.SerializeToString(), UNOPTIMISED).run(None, {"x": image})[0]
    assert made.ravel().tolist() == [18 * 255 * 127], made
    print("sums of bytes are exact")


if __name__ == "__main__":
    main()
