#!/usr/bin/env python3
"""Splits torch.export archives, runs the partitions in torch one after the other, and compares the results
with those of the unsplit program, bit for bit: two calls each, and other sizes of symbolic dims. Of a program with such dims each
node is a partition, too, so that torch takes each as a program of its own.

usage: chains_test.py CLEAVE [--architectures] [--only NAME,...] [--ir train,decomp] [FOLDER...]
  FOLDER           every archive of it, split by the lists next to it
  --architectures  those of architectures.py, exported here; each by three random support lists

Exit status 1 if one differs, or is refused without a reason. Refusals are counted and reported.
"""

import argparse
import copy
import json
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "scripts"), str(Path(__file__).parent)]
import torch
from torch.utils import _pytree as pytree

import guard
import torch_chain


class Tally:
    def __init__(self):
        self.equal = self.refused = self.sizes = self.left_out = 0
        self.parts = []
        self.faults = []

    def line(self):
        most = max(self.parts, default=0)
        return (
            f"{self.equal} chains equal, bit for bit (up to {most} parts), {self.sizes} runs at other sizes; "
            f"{self.refused} refused, {self.left_out} left out, {len(self.faults)} faults"
        )


def by_list(model, targets, least, folder):
    """The arguments that split by a list of targets."""
    (folder / "list.txt").write_text("\n".join(targets) + "\n", encoding="utf-8")
    return ["split", model, "-s", folder / "list.txt", "--min-acc-module-size", str(least)]


def by_node(cleave, model, folder):
    """The arguments that make each node a partition. Checks are no nodes."""
    done = subprocess.run(
        [cleave, "preview", *by_list(model, ["torch.ops.aten.relu.default"], 1, folder)[1:], "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    parts = {name: i for i, name in enumerate(json.loads(done.stdout)["node_map"])}
    (folder / "map.json").write_text(json.dumps(parts), encoding="utf-8")
    return ["split", model, "--map", folder / "map.json"]


def split(cleave, arguments, folder):
    """The split's folder, or the refusal as text."""
    out = folder / "out"
    done = subprocess.run([cleave, "-q", *arguments, "-o", out, "--force"], capture_output=True, text=True)
    if done.returncode == 3 and ": error: " in done.stderr:
        return done.stderr
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr}")
    return out


def part_count(out):
    return len(guard.read_chain(out)["order"])


def plain_symbol(dim):
    """The name of a dim that is a symbol; None for numbers and composed sizes."""
    expression = getattr(getattr(dim, "node", None), "expr", None)
    return str(expression) if expression is not None and expression.is_Symbol else None


def with_other_sizes(factor, program, inputs):
    """Inputs of other sizes in their symbolic dims; None where the program has no such dim.

    The sizes of equal symbols stay equal, and within the program's range.
    """
    leaves, tree = pytree.tree_flatten(copy.deepcopy(inputs))
    recorded = {node.name: node.meta.get("val") for node in program.graph.nodes}
    ranges = {str(symbol): limits for symbol, limits in program.range_constraints.items()}
    specs = [spec for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    is_changed = False
    generator = torch.Generator().manual_seed(factor)
    for i, (leaf, spec) in enumerate(zip(leaves, specs)):
        value = recorded.get(getattr(spec.arg, "name", None))
        if not isinstance(leaf, torch.Tensor) or value is None:
            continue
        shape = list(leaf.shape)
        for axis, dim in enumerate(value.shape):
            symbol = plain_symbol(dim)
            if symbol is None or symbol not in ranges:
                continue
            highest = min(int(ranges[symbol].upper), 64) if ranges[symbol].upper < 10**6 else 64
            shape[axis] = max(int(ranges[symbol].lower), min(highest, shape[axis] + factor))
        if shape != list(leaf.shape):
            is_changed = True
            picked = torch.randint(0, max(leaf.numel(), 1), shape, generator=generator)
            leaves[i] = leaf.reshape(-1)[picked]
    return pytree.tree_unflatten(leaves, tree) if is_changed else None


def check(cleave, label, arguments, reference, tally, folder):
    try:
        out = split(cleave, arguments, folder)
        if isinstance(out, str):
            tally.refused += 1
            print(f"  {label}: refused: {out.splitlines()[0][:150]}")
            return
        outcome = torch_chain.check_split(out, reference, others=[partial(with_other_sizes, factor) for factor in (1, 2)])
        tally.parts.append(part_count(out))
        tally.sizes += sum(row.what.startswith("chain, other inputs") for row in outcome.rows)
        tally.faults += [f"{label}: {fault}" for fault in outcome.all_faults()]
        tally.equal += outcome.passed
    except Exception as cause:  # torch's own failures, too: each is said
        tally.faults.append(f"{label}: {type(cause).__name__}: {str(cause).strip().splitlines()[-1:]}")
    if tally.faults and tally.faults[-1].startswith(label):
        print("  " + tally.faults[-1])


def is_loadable(model):
    """False for what torch itself does not load again, or not run."""
    try:
        program = torch_chain.load_archive(model)["model"]
        torch_chain.run_once(program.module(), torch_chain.inputs_of(program), False)
        return True
    except Exception:
        return False


def check_folder(cleave, folder, only, tally, scratch):
    for record in sorted(folder.glob("*.json")):
        if only and record.stem.split(".")[0] not in only:
            continue
        model = record.with_suffix(".pt2")
        reference = model if is_loadable(model) else None  # else the root stands for it
        for name, recorded in json.loads(record.read_text(encoding="utf-8"))["splits"].items():
            if "supported" not in recorded:
                tally.left_out += 1
                continue
            least = recorded["settings"]["min_acc_module_size"]
            label = f"{record.stem}, {name}"
            check(cleave, label, by_list(model, recorded["supported"], least, scratch), reference, tally, scratch)
        if reference and graph_of(model)["is_open"]:
            check(cleave, f"{record.stem}, each node", by_node(cleave, model, scratch), reference, tally, scratch)


def graph_of(model):
    """The graph in an archive of torch 2.8 or later, and whether it has open sizes; of an older one without nodes."""
    with zipfile.ZipFile(model) as archive:
        names = [name for name in archive.namelist() if name.endswith("models/model.json")]
        program = json.loads(archive.read(names[0])) if names else {"graph_module": {"graph": {"nodes": []}}}
    return {**program["graph_module"]["graph"], "is_open": bool(program.get("range_constraints"))}


def targets_of(model):
    """The targets of an archive's nodes, as the file has them."""
    return sorted({node["target"] for node in graph_of(model)["nodes"]})


def random_lists(model, seed):
    """Three lists: few targets, half of them, most of them; each with the least nodes of a partition."""
    targets = targets_of(model)
    chosen = random.Random(seed)
    for share in (0.25, 0.5, 0.8):
        some = [target for target in targets if chosen.random() < share]
        yield some or targets[:1], chosen.choice([1, 1, 2, 3])


def check_architectures(cleave, only, irs, tally, scratch):
    from architectures import ARCHITECTURES

    for name, make in ARCHITECTURES.items():
        if only and name not in only:
            continue
        torch.manual_seed(0)
        module, args, kwargs, shapes = make()
        exported = torch.export.export(module, args, kwargs, dynamic_shapes=shapes)
        for ir in irs:
            try:
                program = exported if ir == "train" else exported.run_decompositions()
            except Exception as cause:  # torch's own fault
                tally.left_out += 3
                print(f"  {name}.{ir}: torch does not decompose it: {type(cause).__name__}")
                continue
            model = scratch / "model.pt2"
            torch.export.save(program, model)
            if not is_loadable(model):
                tally.left_out += 3
                print(f"  {name}.{ir}: torch does not load its own file")
                continue
            begin = time.perf_counter()
            for i, (targets, least) in enumerate(random_lists(model, name)):
                check(cleave, f"{name}.{ir}, list {i}", by_list(model, targets, least, scratch), model, tally, scratch)
            if graph_of(model)["is_open"]:
                check(cleave, f"{name}.{ir}, each node", by_node(cleave, model, scratch), model, tally, scratch)
            print(f"{name}.{ir}: {len(program.graph.nodes)} nodes, {time.perf_counter() - begin:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--architectures", action="store_true")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--ir", type=lambda text: text.split(","), default=["train"])
    args = parser.parse_intermixed_args()
    torch_chain.be_quiet()
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        for folder in args.folders:
            check_folder(args.cleave, folder, args.only, tally, Path(scratch))
        if args.architectures:
            check_architectures(args.cleave, args.only, args.ir, tally, Path(scratch))
    print("\n".join(tally.faults))
    print(tally.line())
    sys.exit(1 if tally.faults or not tally.equal else 0)


if __name__ == "__main__":
    main()
