#!/usr/bin/env python3
"""What the lists that come with cleave say of models of one node.

usage: shipped_lists_test.py CLEAVE

What a list accepts in one version of an operator it accepts in each that means the same, and what a provider's sources exclude
in general no rule of its list accepts. tests/npu/versions_test.py has Qualcomm's compiler say the same of versions.
"""
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx
from onnx import TensorProto, helper

PROJECT = Path(__file__).resolve().parents[2]
LISTS = PROJECT / "samples" / "lists"
PROVIDERS = ("coreml", "coreml_neuralnetwork", "nnapi")
FLOAT, HALF, DOUBLE, INT64, INT8, BFLOAT, FLOAT8 = (
    TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT8, TensorProto.BFLOAT16,
    TensorProto.FLOAT8E4M3FN)


def model(op, inputs, opset=17, domain="", output=None, constants=(), **attributes):
    """One node that reads tensors, [(type, shape)]; `output` is alike, and that of input 0 by default. `constants` follow."""
    values = [helper.make_tensor_value_info(f"x{i}", kind, shape) for i, (kind, shape) in enumerate(inputs)]
    made = helper.make_tensor_value_info("y", *(output or inputs[0]))
    names = [*(one.name for one in values), *(one.name for one in constants)]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], name="n", domain=domain, **attributes)], op, values, [made],
                              list(constants))
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def constant(name, kind, values):
    return helper.make_tensor(name, kind, [len(values)], values)


def said(made, name):
    """"yes", "trust" or "no"; of a list in samples/lists, or of a path."""
    path = name if isinstance(name, Path) else LISTS / f"{name}.json"
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(made, Path(folder) / "m.onnx")
        done = subprocess.run([CLEAVE, "preview", Path(folder) / "m.onnx", "-s", path, "--json", "--fold", "off"],
                              capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    if not any(part["is_acc"] for part in report["partitions"]):
        return "no"
    return "trust" if report["unchecked"] else "yes"


IMAGE = (FLOAT, [1, 8, 12, 12])
SMALL = (FLOAT, [1, 8])
WEIGHT = helper.make_tensor("w", FLOAT, [8, 8, 1, 1], [0.1] * 64)
MATRIX = helper.make_tensor("w", FLOAT, [8, 8], [0.1] * 64)
BOUNDS = [helper.make_tensor("low", FLOAT, [], [0.0]), helper.make_tensor("high", FLOAT, [], [6.0])]
# By operator: a model in an opset, and the opsets in which it is the same node.
SAME = {
    "Conv": (lambda at: model("Conv", [IMAGE], at, constants=[WEIGHT]), range(7, 24)),
    "Add": (lambda at: model("Add", [IMAGE, IMAGE], at), range(7, 24)),
    "Relu": (lambda at: model("Relu", [IMAGE], at), range(7, 24)),
    "Clip": (lambda at: model("Clip", [IMAGE], at, constants=BOUNDS), range(11, 24)),
    "Clip of attributes": (lambda at: model("Clip", [IMAGE], at, min=0.0, max=6.0), range(7, 11)),
    "MatMul": (lambda at: model("MatMul", [SMALL], at, constants=[MATRIX]), range(7, 24)),
    "MaxPool": (lambda at: model("MaxPool", [IMAGE], at, output=(FLOAT, [1, 8, 6, 6]), kernel_shape=[2, 2], strides=[2, 2]),
                range(10, 24)),
    "Gather": (lambda at: model("Gather", [(FLOAT, [6, 4])], at, output=(FLOAT, [2, 4]),
                                constants=[constant("i", INT64, [0, 2])]), range(7, 24)),
    "Tanh": (lambda at: model("Tanh", [IMAGE], at), range(7, 24)),
    "Pow": (lambda at: model("Pow", [IMAGE], at, constants=[helper.make_tensor("two", FLOAT, [1], [2.0])]), range(7, 24)),
    "Unsqueeze": (lambda at: model("Unsqueeze", [SMALL], at, output=(FLOAT, [1, 1, 8]), axes=[1]), range(7, 13)),
    "Split": (lambda at: model("Split", [IMAGE], at, output=(FLOAT, [1, 8, 12, 12]), axis=1, split=[8]), range(7, 13)),
}  # fmt: skip


class Words(unittest.TestCase):
    def test_only_a_list_that_is_no_known_one_is_asked_whether_it_means_another_op(self):
        with tempfile.TemporaryDirectory() as folder:
            known, own, file = (Path(folder) / name for name in ("known", "own.json", "m.onnx"))
            known.mkdir()
            rules = [{"op": "Frobnicates", "domain": "my"}, "Relu"]
            own.write_text(json.dumps({"format": "cleave.support", "version": 1, "name": "n", "allow": rules}), encoding="utf-8")
            (known / "npu.json").write_text(own.read_text())
            onnx.save(model("Frobnicate", [SMALL], domain="my"), file)

            def warnings(name):
                done = subprocess.run([CLEAVE, "preview", file, "-s", name], env={"CLEAVE_LISTS": str(known)}, cwd=folder,
                                      capture_output=True, text=True, check=True)
                return done.stderr

            self.assertIn('did you mean "my::Frobnicate"?', warnings("own.json").replace("my.Frob", "my::Frob"))
            self.assertNotIn("did you mean", warnings("npu"))


class Versions(unittest.TestCase):
    def test_versions_that_mean_the_same_are_one(self):
        for op, (make, opsets) in SAME.items():
            self.assertEqual({at: said(make(at), "qnn_npu") for at in opsets}, dict.fromkeys(opsets, "yes"), op)

    def test_what_was_not_measured_is_taken_on_trust(self):
        measured = {at: said(SAME["Conv"][0](at), "openvino_npu") for at in (10, 11, 22)}
        self.assertEqual(measured, {10: "trust", 11: "yes", 22: "yes"})

    def test_versions_that_mean_something_else_are_not(self):
        def transposed(at, auto_pad):
            return model("ConvTranspose", [IMAGE], at, output=(FLOAT, [1, 8, 24, 24]), constants=[WEIGHT], strides=[2, 2],
                         kernel_shape=[1, 1], auto_pad=auto_pad)

        self.assertEqual(said(transposed(10, "SAME_UPPER"), "qnn_npu"), "no")
        self.assertEqual(said(transposed(10, "NOTSET"), "qnn_npu"), said(transposed(11, "NOTSET"), "qnn_npu"))

    def test_empty_tensors_of_every_domain_are_denied(self):
        for name in ("qnn_npu", "openvino_npu"):
            rules = json.loads((LISTS / f"{name}.json").read_text())["deny"]
            self.assertTrue({("*::*", "in[0].elements == 0"), ("*::*", "out[0].elements == 0")} <=
                            {(one["op"], one.get("where")) for one in rules}, name)


class Providers(unittest.TestCase):
    def test_types_that_no_builder_takes(self):
        for kind in (DOUBLE, INT64, INT8, BFLOAT):
            tensor = (kind, [1, 4])
            for op in ("Add", "Reshape", "Relu", "MatMul"):
                if op == "Relu" and kind == INT64:
                    continue  # ONNX has no such Relu before 14
                more = [constant("s", INT64, [4, 1])] if op == "Reshape" else []
                shape = [4, 1] if op == "Reshape" else [1, 4]
                inputs = [tensor] * (2 if op == "Add" else 1) + ([(kind, [4, 4])] if op == "MatMul" else [])
                for name in PROVIDERS:
                    self.assertEqual(said(model(op, inputs, output=(kind, shape), constants=more), name), "no", (op, kind, name))

    def test_types_that_builders_take(self):
        self.assertEqual([said(model("Add", [(FLOAT, [1, 4])] * 2), name) for name in PROVIDERS], ["yes"] * 3)
        self.assertEqual([said(model("Add", [(HALF, [1, 4])] * 2), name) for name in PROVIDERS], ["yes", "no", "no"])
        boolean = (TensorProto.BOOL, [1, 4])
        same = (FLOAT, [1, 4])
        self.assertEqual(said(model("Where", [boolean, same, same], output=same), "coreml"), "yes")

    def test_casts(self):
        def cast(of, to):
            return model("Cast", [(of, [1, 4])], 19, output=(to, [1, 4]), to=to)

        self.assertEqual([said(cast(FLOAT, FLOAT8), name) for name in PROVIDERS], ["no"] * 3)
        self.assertEqual([said(cast(FLOAT, TensorProto.INT32), name) for name in PROVIDERS], ["yes", "no", "yes"])
        self.assertEqual([said(cast(INT64, TensorProto.INT32), name) for name in PROVIDERS], ["yes", "trust", "no"])
        for of, to in ((INT64, TensorProto.BOOL), (TensorProto.BOOL, FLOAT)):  # of masks, in ML Programs
            self.assertEqual([said(cast(of, to), name) for name in PROVIDERS], ["yes", "no", "no"])

    def test_ranks(self):
        def of_rank(rank):
            return model("Relu", [(FLOAT, [1, 2, 1, 2, 1, 2][:rank])])

        self.assertEqual([said(of_rank(rank), "coreml") for rank in (4, 5, 6)], ["yes", "yes", "no"])
        self.assertEqual([said(of_rank(rank), "coreml_neuralnetwork") for rank in (4, 5, 6)], ["yes", "yes", "no"])
        self.assertEqual([said(of_rank(rank), "nnapi") for rank in (4, 5, 6)], ["yes", "trust", "trust"])
        transposed = model("Transpose", [(FLOAT, [1, 2, 1, 2, 3])], perm=[0, 1, 2, 3, 4])
        self.assertEqual(said(transposed, "nnapi"), "no")

    def test_products_of_nnapi(self):
        def product(one, other, is_constant=False):
            weight = [helper.make_tensor("w", FLOAT, other, [0.1] * math.prod(other))] if is_constant else []
            inputs = [(FLOAT, one), *([] if is_constant else [(FLOAT, other)])]
            return said(model("MatMul", inputs, output=(FLOAT, [None] * max(len(one), len(other))), constants=weight), "nnapi")

        self.assertEqual([product([3, 4], [4, 5], is_constant) for is_constant in (True, False)], ["yes", "no"])
        self.assertEqual([product([2, 3, 4], [2, 4, 5], is_constant) for is_constant in (True, False)], ["yes", "yes"])
        self.assertEqual(product([2, 6, 3, 4], [2, 6, 4, 5]), "yes")
        for one, other in (([2, 3, 4], [4, 5]), ([3, 4], [2, 4, 5]), ([2, 3, 4], [1, 4, 5]), ([2, 6, 3, 4], [2, 1, 4, 5])):
            self.assertEqual(product(one, other, True), "no", (one, other))

    def test_empty_tensors(self):
        empty = (FLOAT, [1, 0])
        joined = model("Concat", [SMALL, empty], output=SMALL, axis=1)
        for name in PROVIDERS:
            self.assertEqual([said(joined, name), said(model("Relu", [empty]), name)], ["no", "no"], name)
        region = [helper.make_tensor("roi", FLOAT, [0], []), helper.make_tensor("s", FLOAT, [4], [1.0, 1.0, 2.0, 2.0])]
        resized = model("Resize", [IMAGE], output=(FLOAT, [1, 8, 24, 24]), constants=region, mode="nearest",
                        coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        self.assertEqual([said(resized, name) for name in PROVIDERS], ["trust"] * 3)

    def test_open_shapes(self):
        self.assertEqual([said(model("Relu", [(FLOAT, ["N", 4])]), name) for name in PROVIDERS], ["yes", "yes", "no"])


class Others(unittest.TestCase):
    def test_the_grid_has_the_types_of_the_table(self):
        def sampled(grid):
            return model("GridSample", [IMAGE, (grid, [1, 6, 6, 2])], output=(FLOAT, [1, 8, 6, 6]))

        self.assertEqual([said(sampled(kind), "tensorrt") for kind in (FLOAT, HALF, DOUBLE)], ["yes", "yes", "no"])

    def test_anything_takes_every_domain(self):
        for domain in ("", "com.microsoft", "my.company"):
            self.assertEqual(said(model("Relu" if not domain else "Gelu", [SMALL], domain=domain), PROJECT / "samples" / "anything.json"),
                             "yes", domain)


if __name__ == "__main__":
    CLEAVE = Path(sys.argv.pop(1)).resolve()
    unittest.main()
