#!/usr/bin/env python3
"""Times `cleave split` of an ONNX model with large weights against copying the bytes that it writes.

usage: bench_onnx.py CLEAVE [--megabytes N] [--layers N] [--repeat N] [--folder DIR]

Prints medians: the seconds of both and their ratio, and the most private memory that cleave held
(pages of mapped files do not count). Needs the Python package onnx: build/venv has it after
scripts/test.sh.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUPPORT = {
    "format": "cleave.support",
    "version": 1,
    "name": "bench-npu",
    "allow": ["MatMul", "Add"],
}
LAYERS_A_PART = 8  # then a Relu, which the list does not name


def make_model(path, layers, megabytes):
    """A chain of MatMul and Add on square weights, all different."""
    from onnx import TensorProto, helper, save

    side = max(int((megabytes * 1e6 / layers / 4) ** 0.5), 1)
    nodes, weights, last = [], [], "x"
    noise = os.urandom(side * side * 4)
    for i in range(layers):
        data = noise[i:] + noise[:i]
        weights.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT, [side, side], data, raw=True))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], name=f"matmul{i}"))
        nodes.append(helper.make_node("Add", [f"m{i}", last], [f"a{i}"], name=f"add{i}"))
        last = f"a{i}"
        if i % LAYERS_A_PART == LAYERS_A_PART - 1:
            nodes.append(helper.make_node("Relu", [last], [f"r{i}"], name=f"relu{i}"))
            last = f"r{i}"
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, side])
    graph = helper.make_graph(nodes, "bench", [value("x")], [value(last)], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def private_bytes(pid):
    """Anonymous memory that is resident, 0 when the process is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def run(command):
    """Seconds, and the most private memory seen."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    most = 0
    while process.poll() is None:
        most = max(most, private_bytes(process.pid))
        time.sleep(0.002)
    seconds = time.perf_counter() - begin
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} exits {process.returncode}:\n{process.stderr.read().decode()}")
    return seconds, most


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cleave")
    options.add_argument("--megabytes", type=int, default=512, help="of weights; at most 1900")
    options.add_argument("--layers", type=int, default=64)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--folder", help="where to work; a temporary folder when not given")
    asked = options.parse_args()

    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        model, support = Path(folder) / "model.onnx", Path(folder) / "support.json"
        out, copy = Path(folder) / "out", Path(folder) / "copy"
        make_model(model, asked.layers, min(asked.megabytes, 1900))
        support.write_text(json.dumps(SUPPORT))
        split, copied, memory = [], [], []
        for _ in range(asked.repeat):
            shutil.rmtree(out, ignore_errors=True)
            seconds, most = run([asked.cleave, "split", str(model), "-s", str(support), "-o", str(out)])
            split.append(seconds)
            memory.append(most)
            shutil.rmtree(copy, ignore_errors=True)
            copied.append(run(["cp", "-r", "--reflink=never", str(out), str(copy)])[0])
        written = sum(path.stat().st_size for path in out.iterdir())
        split, copied = statistics.median(split), statistics.median(copied)
        print(f"model           {model.stat().st_size / 1e6:10.1f} MB, {asked.layers} layers")
        print(f"written         {written / 1e6:10.1f} MB in {len(list(out.iterdir()))} files")
        print(f"cleave split    {split:10.3f} s")
        print(f"cp              {copied:10.3f} s")
        print(f"ratio           {split / copied:10.2f}")
        print(f"private memory  {max(memory) / 1e6:10.1f} MB at most")


if __name__ == "__main__":
    main()
