#!/usr/bin/env python3
"""Measures reading and splitting of torch.export archives: a large one, one of many nodes, and real ones beside
torch's own loading and splitting, where this Python has torch.

usage: measure.py CLEAVE [--folder FOLDER] [--scratch DIR] [--gigabytes N] [--nodes N]

Prints a line a figure. Exit status 1 when one is beyond its bound.
"""

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # for made_archive.py

LEAST = 1e-4  # seconds beyond the start of a program that are measured at all

failed = []


def figure(text, value, unit, bound):
    is_good = bound is None or value <= bound
    wanted = "" if bound is None else f"  (at most {bound:g})"
    print(f"{'ok  ' if is_good else 'MISS'}  {text:<66} {value:10.3f} {unit}{wanted}", flush=True)
    if not is_good:
        failed.append(text)


def run(*command):
    """Wall seconds, processor seconds and the peak of memory in MB of a program that must succeed."""
    begin = time.perf_counter()
    with open(os.devnull, "wb") as nowhere:
        child = subprocess.Popen([str(word) for word in command], stdout=nowhere, stderr=subprocess.PIPE)
        message = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command}: exit code {child.returncode}: {message.decode()}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def make(model, layers, width, weights):
    """In a process of its own: what a child's peak of memory is counts from what its parent holds."""
    code = "import sys, made_archive as made; made.write_archive(sys.argv[1], *map(int, sys.argv[2:]))"
    run(sys.executable, "-c", code, model, layers, width, weights)


def write_list(folder, ops):
    path = folder / "list.txt"
    path.write_text("\n".join(ops) + "\n", encoding="utf-8")
    return path


def written_bytes(folder):
    return sum(entry.stat().st_size for entry in folder.iterdir())


def measure_large(cleave, scratch, gigabytes):
    width = 8192
    count = max(2, round(gigabytes * 1e9 / (width * width * 4)))
    model = scratch / "large.pt2"
    make(model, count, width, count)
    support = write_list(scratch, ["aten.linear"])
    listing, _, memory = run(cleave, "-q", "preview", model, "-s", support)
    size = model.stat().st_size / 1e9
    figure(f"listing {size:.1f} GB", listing, "s", 0.1)
    split, copied = [], []
    for _ in range(3):
        shutil.rmtree(scratch / "out", ignore_errors=True)
        shutil.rmtree(scratch / "copy", ignore_errors=True)
        os.sync()
        seconds, _, memory = run(cleave, "split", "-q", model, "-s", support, "-o", scratch / "out")
        split.append(seconds)
        written = written_bytes(scratch / "out")
        os.sync()
        seconds, _, _ = run("cp", "-r", "--reflink=never", scratch / "out", scratch / "copy")
        copied.append(seconds)
    figure(f"splitting it, {written / 1e9:.1f} GB written", min(split), "s", None)
    figure("the same, times cp of these bytes", min(split) / min(copied), "x", 1.2)
    figure("memory at the peak", memory, "MB", 50)
    shutil.rmtree(scratch / "copy")
    model.unlink()


def measure_many(cleave, scratch, nodes):
    model = scratch / "many.pt2"
    make(model, nodes // 2, 16, 16)
    wall, processor, memory = run(cleave, "-q", "inspect", "--show", "nodes", model)
    figure(f"inspect --show nodes of {nodes:,} nodes, {model.stat().st_size / 1e6:.0f} MB: processor time", processor, "s", None)
    best = min(run(cleave, "-q", "preview", model, "-s", write_list(scratch, ["torch.ops.aten.*"]))[1] for _ in range(3))
    figure(f"preview of {nodes:,} nodes: processor time", best, "s", 1.0)
    model.unlink()


def torch_seconds(model):
    """Processor time of torch's own loading, and splitting of the loaded graph by its own splitter, once warm."""
    import contextlib
    import io
    import logging
    import warnings

    import torch
    from torch.fx.passes.operator_support import OperatorSupportBase
    from torch.fx.passes.splitter_base import _SplitterBase, _SplitterSettingBase

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    try:
        import transformers.modeling_outputs  # noqa: F401
    except ImportError:
        pass

    class HalfOfThem(OperatorSupportBase):
        def is_node_supported(self, submodules, node):
            return node.op == "call_function" and len(str(node.target)) % 2 == 0

    seconds = []
    for _ in range(3):
        begin = time.process_time()
        program = torch.export.load(str(model))
        signature = program.graph_signature
        held = {**program.state_dict, **program.constants}
        lifted = [held[spec.target] for spec in signature.input_specs if spec.target is not None]
        args, kwargs = program.example_inputs
        inputs = [*lifted, *torch.utils._pytree.tree_leaves((args, kwargs))]
        with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
            settings = _SplitterSettingBase(allow_non_tensor=True)
            _SplitterBase(program.graph_module, inputs, HalfOfThem(), settings)()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def fresh_folder(scratch):
    """A path where nothing is: replacing an earlier split takes longer."""
    shutil.rmtree(scratch / "out", ignore_errors=True)
    return scratch / "out"


def measure_beside_torch(cleave, folder, scratch):
    """Processor times. Torch's is that of a program that has imported torch, so the start of cleave does not count."""
    support = write_list(scratch, ["aten.linear", "aten.conv2d", "aten.convolution", "aten.addmm", "aten.relu"])

    def quickest(*command):
        return min(run(cleave, *command)[1] for _ in range(15))

    start = quickest("preview", "--help")
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch.export, torch.fx.passes.splitter_base"], check=True)
    print(f"      a program starts: cleave {start * 1e3:.1f} ms, Python with torch {time.perf_counter() - begin:.1f} s")
    plain, started, written = [], [], []
    for model in sorted(folder.glob("*.train.t215.pt2")):
        try:
            theirs = torch_seconds(model)
        except Exception as cause:  # torch's splitter does not take every program
            print(f"      {model.name}: torch's own fails: {type(cause).__name__}")
            continue
        whole = quickest("preview", "-q", model, "-s", support)
        ours = whole - start if whole - start >= LEAST else None
        writing = min(run(cleave, "split", "-q", model, "-s", support, "-o", fresh_folder(scratch))[1] for _ in range(15))
        if ours is not None:
            plain.append(theirs / ours)
        started.append(theirs / whole)
        written.append(theirs / writing)
        alone = f"{ours * 1e3:6.2f} ms   {theirs / ours:6.0f} x" if ours else "below 0.10 ms          "
        print(
            f"      {model.name:<36} torch {theirs * 1e3:8.1f} ms   cleave {alone}"
            f"   (with its start {whole * 1e3:5.1f} ms, and writing {writing * 1e3:5.1f} ms)"
        )
    if started:
        print(
            f"      times as fast as torch, median of {len(started)}: {statistics.median(started):.1f} with cleave's start,"
            f" {statistics.median(written):.1f} with its writing, too"
        )
    if plain:
        figure("1 / (times as fast as torch without cleave's start, median)", 1 / statistics.median(plain), "", 0.01)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "models")
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--gigabytes", type=float, default=4.4)
    parser.add_argument("--nodes", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        if args.nodes:
            measure_many(args.cleave, Path(scratch), args.nodes)
        if args.gigabytes:
            measure_large(args.cleave, Path(scratch), args.gigabytes)
        if importlib.util.find_spec("torch"):
            measure_beside_torch(args.cleave, args.folder, Path(scratch))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
