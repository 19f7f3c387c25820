#!/usr/bin/env python3
"""What `cleave convert --opset` writes computes the same bits as the model, and lists accept more of it.

usage: fix_test.py PROJECT_FOLDER CLEAVE

A model of opset 12 with shape computations, a reduction whose axes are an attribute, and a list that has two of its operators
from opset 13 on: `explain` and `preview` name the opset, `convert --opset 13` writes the model in it, and ONNX Runtime gives
equal outputs for both.

Exit status 1 if one of these does not hold.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime

MODEL = """<ir_version: 7, opset_import: ["" : 12]>
g (float[2, 3, 4] x) => (float[3, 8] y) <int64[2] order = {3, 8}> {
  a = Add (x, x)
  r = Relu (a)
  s = Unsqueeze <axes = [0]> (r)
  t = Squeeze <axes = [0]> (s)
  y = Reshape (t, order)
}"""
LIST = {
    "format": "cleave.support",
    "version": 1,
    "name": "newer",
    "allow": [
        {"op": "Add", "opset": [13, 23]},
        {"op": "Relu", "inputs": [["int8"]]},
        {"op": "Relu", "opset": [13, 23]},
        {"op": "Unsqueeze"},
        {"op": "Squeeze"},
        {"op": "Reshape"},
    ],
}


CALLED = """<ir_version: 8, opset_import: ["" : 11, "local" : 1]>
g (float[2] x) => (float[2] y) {
  a = local.twice (x)
  y = Relu (a)
}
<domain: "local", opset_import: ["" : 11]>
twice (x) => (y) {
  y = Add (x, x)
}"""


def outputs(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options).run(None, feeds)


def main():
    cleave = sys.argv[2]
    scripts = os.path.join(sys.argv[1], "scripts")
    python = os.path.dirname(sys.executable)
    env = dict(os.environ, CLEAVE_SCRIPTS=scripts, PATH=python + os.pathsep + os.environ["PATH"])
    with tempfile.TemporaryDirectory() as folder:
        model, newer, listed = (Path(folder) / name for name in ("m.onnx", "newer.onnx", "list.json"))
        onnx.save(onnx.parser.parse_model(MODEL), model)
        listed.write_text(json.dumps(LIST), encoding="utf-8")

        def run(*words):
            return subprocess.run([cleave, *map(str, words)], env=env, capture_output=True, text=True, check=True).stdout

        why = run("explain", model, "Relu_1", "-s", listed)
        assert "opset is 12, wants 13 to 23" in why and "cleave convert --opset 13" in why, why
        assert "cleave convert --opset 13 gives" in run("preview", model, "-s", listed)
        table = run("convert", model, "-s", listed, "--opset", "13", "-o", newer).splitlines()
        assert table[-1].split()[:4] == ["opset", "13", "5", "100%"], table
        assert {one.domain: one.version for one in onnx.load(newer).opset_import} == {"": 13}
        feeds = {"x": np.random.default_rng(1).random((2, 3, 4), dtype=np.float32)}
        for before, after in zip(outputs(model, feeds), outputs(newer, feeds), strict=True):
            assert np.array_equal(before, after)
        called = Path(folder) / "called.onnx"
        onnx.save(onnx.parser.parse_model(CALLED), called)
        words = [cleave, "split", called, "-s", listed, "--opset", "17", "-o", Path(folder) / "parts"]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 3 and "cleave convert MODEL --opset 17 -o FILE" in done.stderr, done
        run("convert", called, "--opset", "17", "-o", Path(folder) / "plain.onnx")
        run("split", Path(folder) / "plain.onnx", "-s", listed, "-o", Path(folder) / "parts")
        sides = json.loads(run("diff", model, newer, "-s", listed, "--json"))
        assert [sides[side]["opsets"][0]["version"] for side in ("before", "after")] == [12, 13]
    print("convert --opset: equal bits, and the list accepts all nodes")


if __name__ == "__main__":
    main()
