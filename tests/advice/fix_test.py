#!/usr/bin/env python3
"""Tests `cleave fix`: the model that it writes has the inputs and outputs of the other, in their order, and
gives the same bits in ONNX Runtime; it needs no --fold write to have as few accelerator partitions.

usage: fix_test.py PROJECT_FOLDER CLEAVE      exit status 1 when a model is another one
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

CASES = [("mobile_block.onnx", "tiny_npu.txt", {"N": 2}), ("attention.onnx", "ort_ops.config", {"B": 2, "T": 5}),
         ("recurrent.onnx", "tiny_npu.txt", {})]
OPEN = 3


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
        for name, support, dims in CASES:
            model, fixed, rules = samples / name, Path(folder) / name, samples / support
            options = [text for dim, size in dims.items() for text in ("--dim", f"{dim}={size}")]
            printed = run("fix", model, "-s", rules, "-o", fixed, *options).decode()
            assert "as it is" in printed and "--fold write" in printed, printed
            before, after = (onnxruntime.InferenceSession(str(one)) for one in (model, fixed))
            for ends in ("get_inputs", "get_outputs"):
                names = [[end.name for end in getattr(one, ends)()] for one in (before, after)]
                assert names[0] == names[1], (name, names)
            feed = feed_of(after)
            for old, new in zip(outputs(before, feed), outputs(after, feed)):
                assert old.dtype == new.dtype and np.array_equal(old, new), f"{name}: other bits"
            folded = partitions(model, rules, "--fold", "write", *options)
            assert partitions(fixed, rules) == folded, f"{name}: not {folded} partitions"
    print(f"{len(CASES)} models are fixed and give the same bits")


if __name__ == "__main__":
    main()
