#!/usr/bin/env python3
"""What computes constants is told: operators that the list refuses, in accelerator partitions.

usage: constants_test.py CLEAVE
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 6] x) => (float[2, 4] y) <float[4] bias = {1, 2, 3, 4}> {
  wide = Cast <to = 1> (half)
  turned = Transpose <perm = [1, 0]> (wide)
  length = Neg (bias)
  a = MatMul (x, turned)
  y = Add (a, length)
}"""


def main():
    model = onnx.parser.parse_model(MODEL)
    half = onnx.helper.make_tensor("half", onnx.TensorProto.FLOAT16, [4, 6], [0.5] * 24)
    model.graph.initializer.append(half)
    with tempfile.TemporaryDirectory() as folder:
        path, listed = Path(folder) / "m.onnx", Path(folder) / "l.txt"
        onnx.save(model, path)
        listed.write_text("MatMul\nNeg\n", encoding="utf-8")

        def run(*words):
            done = subprocess.run([sys.argv[1], *map(str, words)], capture_output=True, text=True, check=True)
            return " ".join(done.stdout.split()), done.stderr

        told = ("2 constants in accelerator partitions are computed by operators that the lists refuse: Cast, Transpose; "
                "--fold off keeps what computes them as nodes")
        text, _ = run("preview", path, "-s", listed)
        assert told in text, text
        # Add is on the CPU: what it reads needs no accelerator.
        text, errors = run("preview", path, "-s", listed, "--deny", "Neg")
        assert told in text and "denies nothing" not in errors, (text, errors)
        text, _ = run("explain", path, "Cast_0", "MatMul_3", "-s", listed)
        assert "as a node it would be refused: the list does not have op" in text, text
        text, _ = run("preview", path, "-s", listed, "--fold", "off", "--json")
        nodes = json.loads(text)["node_map"]
        assert len(nodes) == 5 and sum("acc" in part for part in nodes.values()) == 2, nodes
        text, _ = run("preview", path, "-s", listed, "--fold", "off")
        assert "constants in accelerator" not in text, text
    print("constants: told, explained, denied and kept as nodes")


if __name__ == "__main__":
    main()
