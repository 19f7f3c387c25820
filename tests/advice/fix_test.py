#!/usr/bin/env python3
"""Tests `cleave convert` to ONNX: the model that it writes has the inputs and outputs of the other, in their order, and
gives the same bits in ONNX Runtime; it needs no --fold write to have as few accelerator partitions.

usage: fix_test.py PROJECT_FOLDER CLEAVE      exit status 1 when a model is another one
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

CASES = [("mobile_block.onnx", "tiny_npu.txt", {"N": 2}), ("attention.onnx", "ort_ops.config", {"B": 2, "T": 5}),
         ("recurrent.onnx", "tiny_npu.txt", {})]
OPEN = 3


def with_functions():
    """y = Scaled(x), which calls Clipped and leaves an input out; in it an If and attributes that the call gives.

    Calls name all outputs, and no output is an input: ONNX Runtime takes no others."""
    def reference(node, name, kind):
        node.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=name, type=kind))
        return node
    ops, own = [helper.make_opsetid("", 17)], helper.make_opsetid("own", 1)
    clipped = helper.make_function("own", "Clipped", ["v"], ["w"], [
        reference(helper.make_node("LeakyRelu", ["v"], ["t"]), "alpha", onnx.AttributeProto.FLOAT),
        helper.make_node("Tanh", ["t"], ["w"])], ops, attributes=["alpha"])
    branch = lambda op: helper.make_graph([helper.make_node(op, ["t"], ["b"])], "branch", [],
                                          [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)])
    scaled = helper.make_function("own", "Scaled", ["x", "c", "extra"], ["y", "kept", "t"], [
        reference(helper.make_node("Clipped", ["x"], ["t"], domain="own"), "alpha", onnx.AttributeProto.FLOAT),
        helper.make_node("If", ["c"], ["u"], then_branch=branch("Abs"), else_branch=branch("Neg")),
        helper.make_node("Identity", ["x"], ["kept"]),
        helper.make_node("Add", ["u", "x"], ["y"], "add")], [*ops, own], attributes=["alpha"])
    nodes = [helper.make_node("Scaled", ["x", "c"], ["y", "same", "t1"], "first", domain="own", alpha=0.25),
             helper.make_node("Scaled", ["y", "c"], ["z", "k2", "t2"], "second", domain="own", alpha=0.5),
             helper.make_node("Identity", ["same"], ["s"])]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4])
    graph = helper.make_graph(nodes, "functions", [value("x"), helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                              [value("z"), value("s")])
    return helper.make_model(graph, opset_imports=[*ops, own], ir_version=9, functions=[clipped, scaled])


def outputs(session, feed):
    return session.run(None, feed)


def feed_of(session):
    draw = np.random.default_rng(0)
    kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": bool}
    feed = {}
    for one in session.get_inputs():
        shape = [dim if isinstance(dim, int) else OPEN for dim in one.shape]
        kind = kinds[one.type]
        feed[one.name] = (draw.random(shape) if kind is np.float32 else draw.integers(0, 2, shape)).astype(kind)
    return feed


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    samples, cleave = Path(sys.argv[1]) / "samples", sys.argv[2]

    def run(*arguments):
        return subprocess.run([cleave, *map(str, arguments)], capture_output=True, check=True).stdout

    def partitions(model, support, *options):
        report = json.loads(run("preview", model, "-s", support, "--json", "-q", *options))
        return sum(part["is_acc"] for part in report["partitions"])

    with tempfile.TemporaryDirectory() as folder:
        onnx.save(with_functions(), Path(folder) / "functions.onnx")
        (Path(folder) / "inside.txt").write_text("LeakyRelu\nTanh\nAdd\n")
        for name, support, dims in [*CASES, ("functions.onnx", "inside.txt", {"N": 3})]:
            is_made = name == "functions.onnx"
            model, rules = ((Path(folder) if is_made else samples) / one for one in (name, support))
            fixed = Path(folder) / f"fixed_{name}"
            options = [text for dim, size in dims.items() for text in ("--dim", f"{dim}={size}")]
            printed = run("convert", model, "-s", rules, "-o", fixed, *options).decode()
            assert "as it is" in printed and "--fold write" in printed, printed
            before, after = (onnxruntime.InferenceSession(str(one)) for one in (model, fixed))
            for ends in ("get_inputs", "get_outputs"):
                names = [[end.name for end in getattr(one, ends)()] for one in (before, after)]
                assert names[0] == names[1], (name, names)
            feed = feed_of(after)
            for old, new in zip(outputs(before, feed), outputs(after, feed)):
                assert old.dtype == new.dtype and np.array_equal(old, new), f"{name}: other bits"
            if is_made:
                assert "functions written out" in printed and partitions(model, rules) == 0, printed
                assert {node.op_type for node in onnx.load(fixed).graph.node} == {
                    "LeakyRelu", "Tanh", "If", "Add", "Identity"}
                assert not onnx.load(fixed).functions and partitions(fixed, rules) > 0
                continue
            folded = partitions(model, rules, "--fold", "write", *options)
            assert partitions(fixed, rules) == folded, f"{name}: not {folded} partitions"
    print(f"{len(CASES) + 1} models are fixed and give the same bits")


if __name__ == "__main__":
    main()
