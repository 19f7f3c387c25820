#!/usr/bin/env python3
"""Times cleave and programs that do the same or a part of it, on the same models, in one run.

usage: bench_peers.py CLEAVE [--nodes N,N...] [--models NAME,NAME...] [--megabytes N,N...]
                      [--repeat N] [--torch-python PYTHON] [--onnx-python PYTHON] [--folder DIR]

Prints a table in Markdown: for each model the time of cleave, the time of the other, and the ratio. The
fastest repetition counts. cleave is timed as a whole process, from reading the file to writing all of its
output with drawings and reports; the others are timed inside their process, without start, imports and,
with torch.fx, tracing of the model. One program runs at a time; each repetition writes into a new folder,
in memory if there is room:

  torch.fx splitter   torch.fx.passes.splitter_base: constructed (which runs the model once) and called
  split_module        torch.fx.passes.split_module by a node -> partition map
  extract_model       onnx.utils: the model loaded, each partition extracted and saved
  load + infer        onnx.load and onnx.shape_inference.infer_shapes
  ORT session         onnxruntime.InferenceSession without optimisations: reads, checks, plans
  cp                  of the bytes that cleave wrote

Synthetic torch.fx graphs are residual blocks of small tensors with an op every 40 nodes that the list
does not name; cleave reads them as export_fx.py writes them. Comparable splits must have the same number
of partitions. Programs that are not installed are skipped and named below the table.
"""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
UNSUPPORTED_EVERY = 40  # nodes of a synthetic graph


def is_in_memory(folder):
    done = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True)
    return done.stdout.strip() == "tmpfs"


class Fresh:
    """Paths in a folder, each used by one repetition, where nothing is yet. On ext4 files are made several
    times as slowly where many have just been removed, so that all stay until the end; in memory, where
    room is short and removing has no such effect, one at a time."""

    def __init__(self, folder, name):
        self.folder, self.name, self.path = Path(folder), name, None
        self.used, self.removes = 0, is_in_memory(folder)

    def next(self):
        if self.removes and self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        self.path = self.folder / f"{self.name}{self.used}"
        self.used += 1
        return self.path


def quickest(repeat, run, prepare=lambda: None):
    """Seconds of the quickest run, and the last run's result."""
    best, result = float("inf"), None
    for _ in range(repeat):
        prepare()
        begin = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - begin)
    return best, result


# ---- in the Python that has torch: one JSON object a line on standard output ----


def own_output():
    """say(object) for a worker, which goes on when it is told to; what libraries print goes nowhere."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def say(said):
        print(json.dumps(said), file=out, flush=True)
        sys.stdin.readline()

    return say


def synthetic_graph(nodes):
    """A traced module of about `nodes` nodes, and its inputs."""
    import torch

    graph = torch.fx.Graph()
    x = first = graph.placeholder("x")
    for i in range(nodes):
        op = [torch.relu, torch.sigmoid, torch.neg, torch.tanh][i % 4]
        if i % UNSUPPORTED_EVERY == UNSUPPORTED_EVERY - 1:
            op = torch.erf
        if i % 5 == 4:
            x = graph.call_function(torch.add, (x, first))
        else:
            x = graph.call_function(op, (x,))
    graph.output(x)
    return torch.fx.GraphModule(torch.nn.Module(), graph), (torch.ones(2, 4),)


def torch_models(asked):
    """Name, traced module, inputs of each model."""
    import export_fx
    import sample_models

    for nodes in filter(None, asked["nodes"]):
        yield (f"synthetic, {nodes:,} nodes", *synthetic_graph(nodes))
    for name in asked["models"]:
        if name in sample_models.MODELS:
            module, inputs = sample_models.MODELS[name]()
        else:
            module, inputs = sample_models.torchvision_model(name, (1, 3, 224, 224))
        yield name, export_fx.trace(module.eval()), inputs


def op_of(node, modules):
    import export_fx

    return export_fx.operator_name(node, modules)


def names_supported(traced):
    """All op types but one of the middle; torch.erf where it is there."""
    modules = dict(traced.named_modules())
    calls = [node for node in traced.graph.nodes if node.op.startswith("call_")]
    ops = sorted({op_of(node, modules) for node in calls})
    left_out = "torch.erf" if "torch.erf" in ops else ops[len(ops) // 2]
    return [op for op in ops if op != left_out], [node.name for node in calls]


def time_splitter(traced, inputs, ops, repeat):
    from torch.fx.passes import operator_support, splitter_base

    class Splitter(splitter_base._SplitterBase):
        """What the base leaves to its users is not asked for by a split."""

    modules = dict(traced.named_modules())

    class Support(operator_support.OperatorSupportBase):
        def is_node_supported(self, submodules, node):
            return op_of(node, modules) in ops

    settings = splitter_base._SplitterSettingBase()

    def run():
        return Splitter(traced, inputs, Support(), settings)()

    def forget():
        """What the split before left on the nodes."""
        for node in traced.graph.nodes:
            vars(node).pop("tag", None)

    seconds, split = quickest(repeat, run, forget)
    return seconds, sum(node.op == "call_module" for node in split.graph.nodes)


def time_split_module(traced, names, parts, repeat):
    from torch.fx.passes.split_module import split_module

    part_of = {name: i * parts // len(names) for i, name in enumerate(names)}
    seconds, _ = quickest(repeat, lambda: split_module(traced, None, lambda node: part_of[node.name]))
    return seconds, part_of


def torch_worker(asked):
    import torch

    say = own_output()
    torch.set_grad_enabled(False)
    sys.path.insert(0, str(SCRIPTS))
    import export_fx

    say({"versions": f"torch {torch.__version__}"})
    for number, (name, traced, inputs) in enumerate(torch_models(asked)):
        inputs = tuple(inputs.values()) if isinstance(inputs, dict) else tuple(inputs)
        ops, names = names_supported(traced)
        stem = Path(asked["folder"]) / f"fx{number}"
        export_fx.write_graph(export_fx.export_graph(traced, inputs, name), f"{stem}.json")
        support = {"format": "cleave.support", "version": 1, "name": "peers", "allow": ops}
        Path(f"{stem}.support.json").write_text(json.dumps(support))
        splitter, parts = time_splitter(traced, inputs, set(ops), asked["repeat"])
        by_map, part_of = time_split_module(traced, names, parts, asked["repeat"])
        Path(f"{stem}.map.json").write_text(json.dumps(part_of))
        row = {"name": name, "stem": str(stem), "splitter": splitter, "parts": parts}
        say({**row, "split_module": by_map})


# ---- in the Python that has onnx ----


def extract(model, manifest, folder):
    import onnx
    from onnx.utils import Extractor

    extractor = Extractor(onnx.shape_inference.infer_shapes(onnx.load(model)))
    for part in json.loads(Path(manifest).read_text())["partitions"]:
        names = [[value["name"] for value in part[side]] for side in ("inputs", "outputs")]
        onnx.save(extractor.extract_model(*names), Path(folder) / f"{part['name']}.onnx")


def onnx_worker(asked):
    import onnx

    say = own_output()
    model, repeat = asked["model"], asked["repeat"]
    versions, row = [f"onnx {onnx.__version__}"], {}
    fresh = Fresh(asked["folder"], "extracted")
    row["extract"], _ = quickest(
        repeat,
        lambda: extract(model, asked["manifest"], fresh.path),
        lambda: fresh.next().mkdir(),
    )
    row["infer"], _ = quickest(
        repeat, lambda: onnx.shape_inference.infer_shapes(onnx.load(model))
    )
    try:
        import onnxruntime as ort

        versions.append(f"onnxruntime {ort.__version__}")
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        providers = ["CPUExecutionProvider"]
        row["session"], _ = quickest(
            repeat, lambda: ort.InferenceSession(model, options, providers=providers)
        )
    except ImportError:
        pass
    say({"versions": ", ".join(versions), **row})


# ---- the bench ----


def has(python, module):
    command = [python, "-c", f"import {module}"]
    return shutil.which(python) and subprocess.run(command, capture_output=True).returncode == 0


def find_python(asked, module):
    """The first Python that has the module, or None."""
    tried = [asked] if asked else [sys.executable, SCRIPTS.parent / "build/venv/bin/python", "/usr/bin/python3"]
    return next((str(python) for python in tried if has(str(python), module)), None)


def worker(python, which, asked):
    """The output of a worker, line by line. The worker waits until a line was used."""
    command = [python, str(Path(__file__).resolve()), "--worker", which, json.dumps(asked)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield json.loads(line)
            process.stdin.write("\n")
            process.stdin.flush()
    if process.returncode != 0:
        sys.exit(f"bench_peers.py: error: the {which} worker exits {process.returncode}")


class Bench:
    def __init__(self, asked, folder):
        self.asked, self.folder = asked, Path(folder)
        self.rows, self.versions, self.missing = [], [], []
        self.out = Fresh(folder, "out")

    def cleave(self, *arguments):
        """Seconds of the quickest run; what the last one wrote is at self.out.path afterwards."""
        writes = arguments[0] != "preview"

        def run():
            command = [self.asked.cleave, *map(str, arguments)]
            command += ["-o", str(self.out.path)] if writes else []
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)} exits {done.returncode}:\n{done.stderr}")

        seconds, _ = quickest(self.asked.repeat, run, self.out.next if writes else lambda: None)
        return seconds

    def row(self, model, own, own_seconds, peer, peer_seconds):
        ratio = peer_seconds / own_seconds
        ratio = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
        times = [seconds_text(own_seconds), seconds_text(peer_seconds)]
        self.rows.append(f"| {model} | `{own}` | {times[0]} | {peer} | {times[1]} | {ratio} |")
        print(self.rows[-1], file=sys.stderr, flush=True)

    def parts(self):
        manifest = json.loads((self.out.path / "manifest.json").read_text())
        return len(manifest["partitions"])

    def torch(self):
        python = find_python(self.asked.torch_python, "torch.fx")
        if python is None:
            self.missing.append("PyTorch (Debian: python3-torch, python3-torchvision)")
            return
        asked = {
            "nodes": self.asked.nodes,
            "models": self.asked.models,
            "repeat": self.asked.repeat,
            "folder": str(self.folder),
        }
        for said in worker(python, "torch", asked):
            if "versions" in said:
                self.versions.append(said["versions"])
                continue
            stem, name = said["stem"], said["name"]
            own = self.cleave("split", f"{stem}.json", "-s", f"{stem}.support.json")
            if self.parts() != said["parts"]:
                sys.exit(f"{name}: cleave makes {self.parts()} parts, the splitter {said['parts']}")
            self.row(name, "split", own, "torch.fx splitter", said["splitter"])
            own = self.cleave("preview", f"{stem}.json", "-s", f"{stem}.support.json")
            self.row(name, "preview", own, "torch.fx splitter", said["splitter"])
            own = self.cleave("partition", f"{stem}.json", "--map", f"{stem}.map.json")
            self.row(name, "partition", own, "split_module", said["split_module"])

    def onnx(self):
        python = find_python(self.asked.onnx_python, "onnx")
        if python is None:
            self.missing.append("onnx (PyPI)")
            return
        for megabytes in self.asked.megabytes:
            self.onnx_model(python, megabytes)

    def onnx_model(self, python, megabytes):
        folder = self.folder / f"onnx{megabytes}"
        folder.mkdir()
        model, support = folder / "model.onnx", folder / "support.json"
        maker = f"import bench_onnx; bench_onnx.make_model({str(model)!r}, 64, {megabytes})"
        subprocess.run([python, "-c", maker], cwd=SCRIPTS.parent / "tests/bench", check=True)
        allow = {"format": "cleave.support", "version": 1, "name": "peers", "allow": ["MatMul", "Add"]}
        support.write_text(json.dumps(allow))
        name = f"ONNX, {megabytes:,} MB of weights"
        preview = self.cleave("preview", model, "-s", support)
        split = self.cleave("split", model, "-s", support)
        out, copy = self.out.path, Fresh(folder, "copy")
        copied, _ = quickest(
            self.asked.repeat,
            lambda: subprocess.run(["cp", "-r", "--reflink=never", out, copy.path], check=True),
            copy.next,
        )
        asked = {
            "model": str(model),
            "manifest": str(out / "manifest.json"),
            "folder": str(folder),
            "repeat": self.asked.repeat,
        }
        (said,) = worker(python, "onnx", asked)
        if said["versions"] not in self.versions:
            self.versions.append(said["versions"])
        self.row(name, "split", split, "extract_model", said["extract"])
        self.row(name, "split", split, "cp of what it wrote", copied)
        self.row(name, "preview", preview, "load + infer", said["infer"])
        if "session" in said:
            self.row(name, "preview", preview, "ORT session", said["session"])
        elif not any("onnxruntime" in one for one in self.missing):
            self.missing.append("onnxruntime (PyPI)")

    def print_table(self):
        version = subprocess.run([self.asked.cleave, "--version"], capture_output=True, text=True)
        versions = [version.stdout.splitlines()[0], *self.versions, f"{platform.system()} {platform.release()}"]
        place = "in memory (tmpfs)" if is_in_memory(self.folder) else "on a disk"
        print(f"{datetime.date.today()}; {', '.join(versions)}; files {place}; `{' '.join(shown_command())}`\n")
        print("| model | cleave | takes | peer | takes | ratio |")
        print("| --- | --- | ---: | --- | ---: | ---: |")
        print("\n".join(self.rows))
        for name in self.missing:
            print(f"\nNot installed, left out: {name}.")


def seconds_text(seconds):
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def working_folder(megabytes):
    """/dev/shm where it has room for a model, its parts, and both again; else None: where temporary files go."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or not is_in_memory(memory):
        return None
    needed = (4 * max(megabytes, default=0) + 1000) * 1_000_000
    free = re.search(r"^MemAvailable: *(\d+) kB$", Path("/proc/meminfo").read_text(), re.M)
    has_room = free is not None and min(int(free[1]) * 1024, shutil.disk_usage(memory).free) >= needed
    return memory if has_room else None


def shown_command():
    return ["scripts/dev/bench_peers.py", *sys.argv[1:]]


def numbers(text):
    return [int(item) for item in text.split(",") if item]


def main():
    if sys.argv[1:2] == ["--worker"]:
        {"torch": torch_worker, "onnx": onnx_worker}[sys.argv[2]](json.loads(sys.argv[3]))
        return
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("cleave", help="the program, from a release build")
    options.add_argument("--nodes", type=numbers, default=numbers("1000,3000,10000,30000"))
    options.add_argument(
        "--models",
        type=lambda text: [item for item in text.split(",") if item],
        default=["resnet18", "transformer_encoder", "dlrm"],
        help="of sample_models.py, or of torchvision",
    )
    options.add_argument("--megabytes", type=numbers, default=numbers("100,1000"), help="of ONNX weights")
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--torch-python", help="a Python that has torch")
    options.add_argument("--onnx-python", help="a Python that has onnx, and onnxruntime")
    options.add_argument("--folder", help="where to work; in memory or a temporary folder when not given")
    asked = options.parse_args()
    asked.cleave = str(Path(asked.cleave).resolve())
    with tempfile.TemporaryDirectory(dir=asked.folder or working_folder(asked.megabytes)) as folder:
        bench = Bench(asked, folder)
        bench.torch()
        bench.onnx()
        bench.print_table()


if __name__ == "__main__":
    main()
