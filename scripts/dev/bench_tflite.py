#!/usr/bin/env python3
"""Times splits of two TensorFlow Lite models that it makes: one of many bytes, beside cp, and one of many operators.

usage: bench_tflite.py CLEAVE [--megabytes N] [--operators N] [--repeat N] [--folder DIR]

The first is a chain of dense layers, each with 8 MB of weights, cut after each; cp copies the bytes that cleave wrote, into
another folder of the same disk, by turns with cleave. The second is a chain of additions of two values, of which every
fortieth is on the CPU: `inspect` and `preview` are timed. Each number is the least of its repetitions, of whole processes.
Needs ai-edge-litert and flatbuffers, for the classes of the schema.
"""
import argparse
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import make_tflite_sample as samples

WIDTH = 1448  # a square of float32 of 8.4 MB
CPU_EVERY = 40


def write(path, maker, graph, ends):
    graph.made.inputs, graph.made.outputs = ends
    path.write_bytes(maker.bytes())


def make_large(path, megabytes):
    """Layers of their own weights, and a RELU behind each."""
    maker = samples.Maker()
    graph = maker.subgraph("main")
    numbers = np.random.default_rng(1)
    first = value = graph.tensor("x", [1, WIDTH], samples.TYPES.FLOAT32)
    for i in range(max(1, round(megabytes * 1e6 / (4 * WIDTH * WIDTH)))):
        weight = graph.constant(f"layer{i}/weight", numbers.random((WIDTH, WIDTH), np.float32))
        dense = graph.tensor(f"layer{i}/dense", [1, WIDTH], samples.TYPES.FLOAT32)
        graph.add(samples.OPS.FULLY_CONNECTED, [value, weight, -1], [dense], "FullyConnectedOptions")
        value = graph.tensor(f"layer{i}/relu", [1, WIDTH], samples.TYPES.FLOAT32)
        graph.add(samples.OPS.RELU, [dense], [value])
    write(path, maker, graph, ([first], [value]))


def make_long(path, operators):
    maker = samples.Maker()
    graph = maker.subgraph("main")
    first = before = value = graph.tensor("x", [1, 8], samples.TYPES.FLOAT32)
    for i in range(operators):
        made = graph.tensor(f"block{i // 10}/sum{i}", [1, 8], samples.TYPES.FLOAT32)
        code = samples.OPS.SUB if i % CPU_EVERY == CPU_EVERY - 1 else samples.OPS.ADD
        graph.add(code, [value, before], [made], "SubOptions" if code == samples.OPS.SUB else "AddOptions")
        before, value = value, made
    write(path, maker, graph, ([first], [value]))


def seconds(command):
    """(by the clock, of processors)"""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--operators", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the models and the copies are; a new one, removed at the end")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder, cleave = Path(made), options.cleave.resolve()
        large, long, dense, add = (folder / name for name in ("large.tflite", "long.tflite", "dense.txt", "add.txt"))
        make_large(large, options.megabytes)
        make_long(long, options.operators)
        dense.write_text("FULLY_CONNECTED\n", encoding="utf-8")
        add.write_text("ADD\n", encoding="utf-8")
        times, written, out, copy = {}, {}, folder / "out", folder / "copy"

        def add_time(what, command):
            times.setdefault(what, []).append(seconds(command))

        for _ in range(options.repeat):
            for what, extra in (("split", []), ("bundle", ["--bundle"])):
                add_time(what, [cleave, "-q", "split", large, "-s", dense, "-o", out, "--drawings", "none", *extra])
                add_time(f"cp of the {what}", ["cp", "-r", out, copy])
                written[what] = sum(one.stat().st_size for one in copy.iterdir())
                shutil.rmtree(copy)
                shutil.rmtree(out)
            add_time("inspect", [cleave, "-q", "inspect", long])
            add_time("preview", [cleave, "-q", "preview", long, "-s", add])
        split, bundle, given, of_long = (one / 1e6 for one in (written["split"], written["bundle"], large.stat().st_size,
                                                               long.stat().st_size))  # fmt: skip
        print(f"{given:,.0f} MB, split into {split:,.0f} MB, bundled in {bundle:,.0f} MB; {options.operators:,} operators in "
              f"{of_long:,.1f} MB")  # fmt: skip
        for what, took in times.items():
            clock, processors = (min(one) for one in zip(*took))
            print(f"{what:17} {clock:.3f} s, {processors:.3f} s of processors")


if __name__ == "__main__":
    main()
