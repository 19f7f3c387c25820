#!/usr/bin/env python3
"""What a user says of a model's inputs holds wherever the model is run, and what is chosen is sensible.

usage: inputs_test.py PROJECT_FOLDER CLEAVE
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import onnx
from onnx import TensorProto, helper

PROJECT, CLEAVE = Path(sys.argv[1]).resolve(), sys.argv[2]
sys.path.insert(0, str(PROJECT / "scripts"))
from ort_inputs import WrongUsage, find_inputs, values_of_texts


def model_file(folder, inputs, nodes, outputs, initializers=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = Path(folder) / "m.onnx"
    onnx.save(model, path)
    return path


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def picture(folder, shape):
    """A model of one Relu."""
    return model_file(folder, [info("x", shape)], [helper.make_node("Relu", ["x"], ["y"])], [info("y", shape)])


def shape_of(feeds, name="x"):
    return list(feeds[name].plain().shape)


class Inputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def shape(self, path, dims=None, shapes=None):
        return shape_of(find_inputs(path, {}, dims or {}, 0, shapes)[0])

    def test_pictures_come_first_at_224(self):
        for shape, wanted in (
            (["N", 3, "H", "W"], [1, 3, 224, 224]),
            ([None, 1, None, None], [1, 1, 224, 224]),
            (["N", "H", "W", 3], [1, 224, 224, 3]),
            (["?", 3, "?", "?"], [1, 3, 224, 224]),
            ([2, 3, "H", 100], [2, 3, 224, 100]),
        ):
            with self.subTest(shape=shape):
                self.assertEqual(self.shape(picture(self.folder, shape)), wanted)

    def test_sequences_come_first_at_128(self):
        for shape, wanted in ((["B", "T"], [1, 128]), (["B", "T", 64], [1, 128, 64]), (["T"], [128])):
            with self.subTest(shape=shape):
                self.assertEqual(self.shape(picture(self.folder, shape)), wanted)

    def test_small_sizes_are_taken_where_nothing_else_runs(self):
        nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
        weight = helper.make_tensor("w", TensorProto.FLOAT, [2, 5], [0.0] * 10)
        path = model_file(self.folder, [info("x", ["N", 5])], nodes, [info("y", ["N", 5])], [weight])
        self.assertIn(self.shape(path), ([1, 5], [2, 5]))  # 128 of them would not fit

    def test_one_name_is_one_size(self):
        inputs = [info("lengths", ["T"]), info("x", ["B", "T"])]
        nodes = [helper.make_node("Mul", ["x", "lengths"], ["y"])]
        path = model_file(self.folder, inputs, nodes, [info("y", ["B", "T"])])
        feeds, _ = find_inputs(path, {}, {}, 0)
        self.assertEqual((shape_of(feeds), shape_of(feeds, "lengths")), ([1, 128], [128]))

    def test_sizes_hold_by_input_and_axis(self):
        """Two dims of one name, and dims without any: the last one's size was everybody's."""
        for shape in (["?", 3, "?", "?"], [None, 3, None, None], ["N", 3, "H", "W"]):
            path = picture(self.folder, shape)
            with self.subTest(shape=shape):
                self.assertEqual(self.shape(path, shapes={"x": [1, 3, 48, 192]}), [1, 3, 48, 192])
                self.assertEqual(self.shape(path, shapes={"x": [-1, -1, 48, -1]}), [1, 3, 48, 224])
                self.assertEqual(self.shape(path, dims={"x:2": 48, "inner:1": 7}), [1, 3, 48, 224])

    def test_a_dim_that_there_is_not_is_wrong_usage(self):
        with self.assertRaises(WrongUsage):
            self.shape(picture(self.folder, ["N", 3, "H", "W"]), dims={"M": 1})

    def test_a_value_that_is_set_is_fed(self):
        path = model_file(
            self.folder, [info("x", ["T"]), info("sr", [], TensorProto.INT64)],
            [helper.make_node("Cast", ["sr"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["x", "f"], ["y"])],
            [info("y", ["T"])],
        )
        feeds, _ = find_inputs(path, values_of_texts(path, {"sr": "16000"}), {}, 0)
        self.assertEqual(int(feeds["sr"].plain()), 16000)

    def test_the_reference_of_lower_sees_sizes_and_values(self):
        """A compiler that takes everything: the values of its pieces are those of the reference, which ran
        with the sizes and the rate that the user gave."""
        rate = helper.make_tensor("rate", TensorProto.INT64, [], [12345])
        table = helper.make_tensor("table", TensorProto.FLOAT, [1], [2.0])
        nodes = [
            helper.make_node("Sub", ["sr", "rate"], ["row"]),  # another rate has no row
            helper.make_node("Gather", ["table", "row"], ["factor"]),
            helper.make_node("Concat", ["x", "more"], ["all"], axis=1),  # other pictures do not fit
            helper.make_node("Relu", ["all"], ["r"]),
            helper.make_node("Mul", ["r", "factor"], ["y"]),
        ]
        more = helper.make_tensor("more", TensorProto.FLOAT, [1, 1, 4, 6], [0.0] * 24)
        path = model_file(
            self.folder, [info("x", ["?", 3, "?", "?"]), info("sr", [], TensorProto.INT64)], nodes,
            [info("y", ["?", 4, "?", "?"])], [rate, table, more],
        )
        listed = Path(self.folder) / "l.txt"
        listed.write_text("Relu\nMul\n")
        worker = json.dumps({
            "format": "cleave.backend", "version": 1, "name": "same",
            "serve": {"argv": [sys.executable, str(PROJECT / "scripts/backends/onnxruntime_worker.py")],
                      "ops": ["compile", "run", "capture", "convert"]},
        })
        (Path(self.folder) / "same.json").write_text(worker)
        out = Path(self.folder) / "out"
        done = subprocess.run(
            [CLEAVE, "lower", str(path), "-s", str(listed), "--backend", str(Path(self.folder) / "same.json"),
             "--reference", str(Path(self.folder) / "same.json"), "--compare", "--input-shape", "x=1,3,4,6",
             "--set-input", "sr=12345", "-o", str(out)],
            capture_output=True, text=True, timeout=120, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        # With all sizes known, what computes "factor" is known, too: two nodes less.
        self.assertIn("lowered 2 of 3 nodes", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
