#!/usr/bin/env python3
"""Times cleave on ONNX models with large weights, and says which targets are met.

usage: bench_onnx.py CLEAVE [--megabytes N,N...] [--layers N] [--repeat N] [--folder DIR] [--no-peers]

For each size of weights it makes a model in one file: a chain of MatMul and Add, cut by a Relu after
every 8 layers. Then it times, with caches written back before each run, the fastest of the repetitions:

  preview       reads the file, infers types, runs all passes, prints the report; the file's pages are
                dropped from the cache before. Peak memory: with the pages of the file that were touched.
  split         writes the partitions and root.onnx; compared with `cp` of the bytes that were written.
  reference     `--weights reference`: refers to the model's weights; compared with `cp` of the model.
  extract_model makes the same partitions with onnx.utils.Extractor, which reads the model once.
  run           ONNX Runtime runs root.onnx and the chain of partitions, which must agree bit for bit.
                --no-peers skips both peers.

Private memory does not include pages of mapped files. The targets are in README.md in this folder.
Exit status 1 if one is missed. Needs the Python packages of
tests/requirements.txt: build/venv has them after scripts/test.sh.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

SUPPORT = {
    "format": "cleave.support",
    "version": 1,
    "name": "bench-npu",
    "allow": ["MatMul", "Add"],
}
LAYERS_A_PART = 8  # then a Relu, which the list does not name
LARGEST_MESSAGE = 2**31  # bytes that protobuf libraries read

RATIOS_FROM = 1e9  # bytes: below, it is the start of the program that is timed
INDEX_SECONDS, INDEX_BYTES = 0.1, 30e6
SPLIT_RATIO, REFERENCE_RATIO, REFERENCE_SPREAD = 1.2, 0.25, 1.2
PRIVATE_BYTES = 40e6


# ---- the models ----


def field(number, payload_size):
    """The bytes before a field of `payload_size` bytes."""
    head = bytearray()
    for value in (number << 3 | 2, payload_size):
        while value > 0x7F:
            head.append(value & 0x7F | 0x80)
            value >>= 7
        head.append(value)
    return bytes(head)


def make_model(path, layers, megabytes):
    """A chain of MatMul and Add on square weights, all different. Written piece by piece, since
    no protobuf library makes a model of more than 2 GB."""
    side = max(int((megabytes * 1e6 / layers / 4) ** 0.5), 1)
    random = np.random.default_rng(1)
    noise = (random.standard_normal(side * side, np.float32) * (0.2 / side**0.5)).tobytes()
    nodes, tensors, last = [], [], "x"
    for i in range(layers):
        head = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[side, side])
        head = head.SerializeToString() + field(9, len(noise))  # 9: raw_data
        tensors.append(field(5, len(head) + len(noise)) + head)  # 5: initializer
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], name=f"matmul{i}"))
        nodes.append(helper.make_node("Add", [f"m{i}", last], [f"a{i}"], name=f"add{i}"))
        last = f"a{i}"
        if i % LAYERS_A_PART == LAYERS_A_PART - 1:
            nodes.append(helper.make_node("Relu", [last], [f"r{i}"], name=f"relu{i}"))
            last = f"r{i}"
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, side])
    graph = helper.make_graph(nodes, "bench", [value("x")], [value(last)]).SerializeToString()
    model = helper.make_model(
        helper.make_graph([], "", [], []), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    model.ClearField("graph")
    size = len(graph) + sum(len(head) + len(noise) for head in tensors)
    with open(path, "wb") as file:
        file.write(model.SerializeToString() + field(7, size) + graph)  # 7: graph
        for i, head in enumerate(tensors):
            file.write(head + noise[4 * i :] + noise[: 4 * i])
    return side


# ---- timing ----


@dataclass
class Timed:
    seconds: float
    cpu_seconds: float
    private_bytes: int  # most seen
    peak_bytes: int  # most resident, mapped files included


def memory_of(pid):
    """Anonymous bytes that are resident, and the most that ever were with those of files; None when
    the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.endswith(" kB")}
    return (sizes["RssAnon"], sizes["VmHWM"]) if "VmHWM" in sizes else None


def run_once(command):
    os.sync()
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    most, peak = 0, 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        seen = memory_of(process.pid)
        if seen is not None:
            # The peak begins anew where the program does: before it, it is that of this script.
            most, peak = max(most, seen[0]), seen[1]
        time.sleep(0.0005)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        words = " ".join(map(str, command))
        sys.exit(f"{words} exits {process.returncode}:\n{process.stderr.read().decode()}")
    return Timed(seconds, usage.ru_utime + usage.ru_stime, most, peak)


def quickest(timed):
    return Timed(
        min(one.seconds for one in timed),
        min(one.cpu_seconds for one in timed),
        max(one.private_bytes for one in timed),
        max(one.peak_bytes for one in timed),
    )


def drop_from_cache(path):
    """Takes the file's pages out of the cache; needs no rights where the file is one's own."""
    os.sync()
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# ---- what is timed ----


class Bench:
    def __init__(self, asked, folder, megabytes):
        self.cleave, self.repeat, self.megabytes = asked.cleave, asked.repeat, megabytes
        self.home, self.out, self.copy = (Path(folder) / name for name in ("home", "out", "copy"))
        self.support = Path(folder) / "support.json"
        self.support.write_text(json.dumps(SUPPORT))
        self.home.mkdir()
        self.model = self.home / "model.onnx"
        self.side = make_model(self.model, asked.layers, megabytes)

    def command(self, name, *more):
        return [self.cleave, name, str(self.model), "-s", str(self.support), *more]

    def preview(self):
        timed = []
        for _ in range(self.repeat):
            drop_from_cache(self.model)
            timed.append(run_once(self.command("preview")))
        return quickest(timed)

    def copied(self, source):
        shutil.rmtree(self.copy, ignore_errors=True)
        self.copy.mkdir()
        return run_once(["cp", "-r", "--reflink=never", str(source), str(self.copy)])

    def split(self):
        split, copied = [], []
        for _ in range(self.repeat):
            shutil.rmtree(self.out, ignore_errors=True)
            split.append(run_once(self.command("split", "-o", str(self.out))))
            copied.append(self.copied(self.out))
        return quickest(split), quickest(copied)

    def reference(self):
        split, copied = [], []
        for _ in range(4 * self.repeat):  # it is short, and compared between sizes
            for path in self.home.iterdir():
                if path != self.model:
                    path.unlink()
            more = ["-o", str(self.home), "--weights", "reference"]
            split.append(run_once(self.command("split", *more)))
        for _ in range(self.repeat):
            copied.append(self.copied(self.model))
        return quickest(split), quickest(copied)

    def extract(self):
        """onnx.utils on the parts that the last split() wrote; None where it cannot read the model."""
        if self.model.stat().st_size >= LARGEST_MESSAGE:
            return None
        shutil.rmtree(self.copy, ignore_errors=True)
        self.copy.mkdir()
        own = Path(__file__).resolve()
        manifest = self.out / "manifest.json"
        return run_once([sys.executable, own, "--extract", self.model, manifest, self.copy])

    def runs(self):
        """True if root.onnx and the chain of partitions make the same bits."""
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        x = np.random.default_rng(2).standard_normal((1, self.side), np.float32)
        manifest = json.loads((self.out / "manifest.json").read_text())
        values = {"x": x}
        for part in manifest["partitions"]:
            session = ort.InferenceSession(self.out / f"{part['name']}.onnx", options)
            names = [value.name for value in session.get_outputs()]
            feeds = {value.name: values[value.name] for value in session.get_inputs()}
            values.update(zip(names, session.run(names, feeds)))
        session = ort.InferenceSession(self.out / "root.onnx", options)
        name = session.get_outputs()[0].name
        (whole,) = session.run([name], {"x": x})
        is_sound = bool(np.isfinite(whole).all() and np.abs(whole).max() > 0)
        return is_sound and whole.tobytes() == values[name].tobytes()


def extract(model, manifest, folder):
    """Run as a process of its own: the parts of a manifest by onnx.utils."""
    import onnx
    from onnx.utils import Extractor

    extractor = Extractor(onnx.shape_inference.infer_shapes(onnx.load(model)))
    for part in json.loads(Path(manifest).read_text())["partitions"]:
        names = [[value["name"] for value in part[side]] for side in ("inputs", "outputs")]
        onnx.save(extractor.extract_model(*names), Path(folder) / f"{part['name']}.onnx")


# ---- the report ----


class Report:
    def __init__(self):
        self.missed = 0

    def line(self, what, text, is_met=None):
        verdict = {None: "", True: "met", False: "MISSED"}[is_met]
        self.missed += is_met is False
        print(f"{what:<24}{text:<62}{verdict}".rstrip(), flush=True)


def megabytes(size):
    return f"{size / 1e6:,.1f} MB"


def bench_size(report, bench, with_peers):
    size = bench.model.stat().st_size
    report.line(f"model of {megabytes(size)}", "")
    seen = bench.preview()
    is_met = seen.seconds <= INDEX_SECONDS and seen.peak_bytes <= INDEX_BYTES
    text = f"{seen.seconds:.3f} s, {megabytes(seen.peak_bytes)} at the peak"
    report.line("  preview, cold", text, is_met)
    split, copied = bench.split()
    written = sum(path.stat().st_size for path in bench.out.iterdir())
    ratio = split.seconds / copied.seconds
    text = f"{split.seconds:.3f} s, {ratio:.2f} x cp of {megabytes(written)} ({copied.seconds:.3f} s)"
    report.line("  split", text, ratio <= SPLIT_RATIO if size >= RATIOS_FROM else None)
    is_met = split.private_bytes < PRIVATE_BYTES
    report.line("    private memory", megabytes(split.private_bytes), is_met)
    if with_peers:
        bench_peers(report, bench, split)
    kept, copied = bench.reference()
    ratio = kept.seconds / copied.seconds
    text = f"{kept.seconds:.3f} s, {ratio:.2f} x cp of the model ({copied.seconds:.3f} s)"
    report.line("  --weights reference", text, ratio <= REFERENCE_RATIO if size >= RATIOS_FROM else None)
    return kept.cpu_seconds


def bench_peers(report, bench, split):
    theirs = bench.extract()
    if theirs is None:
        report.line("  extract_model", "cannot: protobuf reads no message of 2 GB")
    else:
        ratio = theirs.seconds / split.seconds
        text = f"{theirs.seconds:.3f} s, {ratio:.1f} x cleave; {megabytes(theirs.peak_bytes)} at the peak"
        report.line("  extract_model", text)
    equal = bench.runs()
    text = "root.onnx and the partitions agree" if equal else "root.onnx and the partitions differ"
    report.line("  run", text + ", bit for bit", equal)


def main():
    if sys.argv[1:2] == ["--extract"]:
        extract(*sys.argv[2:])
        return
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("cleave", type=lambda text: str(Path(text).resolve()))
    options.add_argument("--megabytes", default="100,1200,2900", help="of weights, by model")
    options.add_argument("--layers", type=int, default=64)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--folder", help="where to work; a temporary folder when not given")
    options.add_argument("--no-peers", action="store_true", help="only cleave and cp")
    asked = options.parse_args()
    report, referenced = Report(), []
    for size in map(int, asked.megabytes.split(",")):
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            bench = Bench(asked, folder, size)
            referenced.append(bench_size(report, bench, not asked.no_peers))
    if len(referenced) > 1:
        spread = max(referenced) / min(referenced)
        text = f"{max(referenced):.3f} s of CPU at the slowest size, {spread:.2f} x the quickest"
        report.line("--weights reference", text, spread <= REFERENCE_SPREAD)
    sys.exit(1 if report.missed else 0)


if __name__ == "__main__":
    main()
