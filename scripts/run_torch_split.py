#!/usr/bin/env python3
"""Runs a split torch.export program in torch and compares it with the unsplit one, bit for bit.

Loads each partition with torch.export.load and calls them in the manifest's order.
Every value is copied when it leaves a partition, as between devices. The program is called several
times with the same inputs, to test the state that it keeps. root.pt2 (or the root in bundle.pt2) runs,
too; it must compute the same, and have a submodule for each partition when it is unflattened.

usage: run_torch_split.py DIR [MODEL.pt2] [--calls N] [--no-root] [--sizes N] [--import MODULE]

MODEL is the unsplit program; without it root.pt2 is used instead. A root that was written with
--weights external gets its weights from the partitions. --import names a Python module that
registers what the program uses: operators of your own, classes of its inputs and outputs. Needs torch
2.9 or later.

Exit status: 0 all that is compared agrees; 1 something differs; 2 wrong usage; 3 it cannot run, or the manifest is wrong; 77
torch is not there.
"""
import argparse
import contextlib
import copy
import importlib
import json
import logging
import shutil
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import guard

try:
    import torch
    from torch.utils import _pytree as pytree
except ImportError as error:
    guard.missing(__name__, "run_torch_split.py", error, "torch numpy", __doc__)


def import_known():
    """Imports what registers types of the outputs of Hugging Face's programs, and markers of stages."""
    for known in ("transformers.modeling_outputs", "torch.distributed.pipelining"):
        with contextlib.suppress(ImportError):
            importlib.import_module(known)


def is_same(left, right):
    if isinstance(left, torch.Tensor) != isinstance(right, torch.Tensor):
        return False
    if not isinstance(left, torch.Tensor):
        return left == right or (left != left and right != right)
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    left, right = left.detach().cpu().contiguous(), right.detach().cpu().contiguous()
    if left.numel() == 0:
        return True
    return torch.equal(left.reshape(-1).view(torch.uint8), right.reshape(-1).view(torch.uint8))


def difference(left, right):
    """How far two results are apart, as a text."""
    if not (isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor)):
        return f"{left!r} and {right!r}"
    if left.dtype != right.dtype or left.shape != right.shape:
        return f"{left.dtype} {list(left.shape)} and {right.dtype} {list(right.shape)}"
    kind = torch.complex128 if left.is_complex() else torch.float64
    apart = (left.detach().to(kind) - right.detach().to(kind)).abs()
    count = int((apart != 0).sum())  # NaN differs from itself, and so counts
    return f"{count} of {apart.numel()} values, by {apart.max().item():.3g} at most"


def copied(value):
    """A copy with the same strides: kernels are chosen by them."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    if value.layout != torch.strided or any(
            stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride())):
        return value.clone()
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype,
                               device=value.device).copy_(value)


def load_archive(path):
    """All programs of an archive, by name; archives of torch 2.7 and before have one."""
    import_known()
    with zipfile.ZipFile(path) as archive:
        is_old = "serialized_exported_program.json" in archive.namelist()
    if not is_old:
        with contextlib.suppress(ImportError):
            from torch.export.pt2_archive._package import load_pt2
            return dict(load_pt2(str(path)).exported_programs)
    return {"model": torch.export.load(str(path))}


def program_of(path, folder):
    """The unsplit program of an archive: of several the one that the split in `folder` is of."""
    programs = load_archive(path)
    settings = guard.read_manifest(folder, guard.CHAIN).get("settings", {})
    wanted = settings.get("signature", "model")
    return programs[wanted] if wanted in programs else next(iter(programs.values()))


def lacking_records(archive):
    """Paths below the archive's folder of records that its tables name and that it does not have."""
    names = set(archive.namelist())
    top = archive.namelist()[0].partition("/")[0]
    for kind in ("weights", "constants"):
        config = f"{top}/data/{kind}/model_{kind}_config.json"
        if config not in names:
            continue
        for entry in json.loads(archive.read(config))["config"].values():
            path = f"data/{kind}/{entry['path_name']}"
            if f"{top}/{path}" not in names:
                yield path


def load_root(folder):
    """The programs of root.pt2 or bundle.pt2, by name: the root is "model". Records that a root of --weights external
    lacks come from the partitions."""
    folder = Path(folder)
    path = folder / "root.pt2"
    if not path.exists():
        return load_archive(folder / "bundle.pt2")
    with zipfile.ZipFile(path) as root:
        lacking = set(lacking_records(root))
        if not lacking:
            return load_archive(path)
        with tempfile.TemporaryDirectory() as scratch:
            whole = Path(scratch) / "root.pt2"
            with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as out:
                for name in root.namelist():
                    copy_record(root, name, out, name)
                top = root.namelist()[0].partition("/")[0]
                for part in sorted(folder.glob("*.pt2")):
                    if part != path and part.is_file():
                        take_records(part, lacking, out, top)
            if lacking:
                raise ValueError(f"{path}: no partition has the record {min(lacking)}")
            return load_archive(whole)


def copy_record(source, name, out, wanted):
    with source.open(name) as taken, out.open(wanted, "w", force_zip64=True) as given:
        shutil.copyfileobj(taken, given, 1 << 20)


def take_records(part, lacking, out, top):
    """Copies the records that a partition has of those that are lacking, and removes them from these."""
    with zipfile.ZipFile(part) as archive:
        for name in archive.namelist():
            path = name.partition("/")[2]
            if path in lacking:
                copy_record(archive, name, out, f"{top}/{path}")
                lacking.discard(path)


class Chain:
    """The partitions, called in order, with the state that several of them use."""

    def __init__(self, folder, chain, program):
        """`chain`: of guard.read_chain()."""
        import_known()
        self.chain = chain
        bundles = {}
        self.modules = []
        for part in chain["order"]:
            path = folder / part["file"]
            if "model" in part:
                if path not in bundles:
                    bundles[path] = load_archive(path)
                loaded = bundles[path][part["model"]]
            else:
                loaded = torch.export.load(str(path))
            self.modules.append(loaded.module())
        self.state = {}
        for held in chain["state"]:
            target = held["target"]
            held_tensors = program.state_dict if target in program.state_dict else program.constants
            self.state[held["name"]] = copied(held_tensors[target])

    def __call__(self, flat_inputs):
        values = dict(self.state)
        given = {}
        for name, value in zip(self.chain["inputs"], flat_inputs):
            if name is not None:
                values[name] = given[name] = value
        for part, module in zip(self.chain["order"], self.modules):
            own = set(part["writes_inputs"])
            arguments = [values[name] if name in own else copied(values[name])
                         for name in part["inputs"]]
            results = module(*arguments)
            if len(results) != len(part["outputs"]):
                raise guard.BadFile(f'{part["name"]} makes {guard.counted(len(results), "value")}, and the manifest says '
                                    f'{len(part["outputs"])}')
            for name, value in zip(part["outputs"], results):
                values[name] = copied(value)
        self.write_back(values, given)
        return [self.result(output, values) for output in self.chain["outputs"]]

    def write_back(self, values, given):
        names = {held["target"]: held["name"] for held in self.chain["state"]}
        for mutation in self.chain["mutations"]:
            value = values[mutation["value"]] if mutation["value"] in values else None
            if mutation["kind"] in ("buffer", "parameter"):
                self.state[names[mutation["target"]]] = copied(value)
            elif mutation["kind"] == "user_input":
                given[mutation["target"]].copy_(value)

    @staticmethod
    def result(output, values):
        if isinstance(output, str):
            return values[output]
        [(kind, constant)] = output.items()
        return None if kind == "as_none" else constant


def example_inputs(program):
    if program.example_inputs is None:
        raise ValueError("the program has no example inputs: save it with torch.export.save")
    return copy.deepcopy(program.example_inputs)


def run(function, inputs, flat):
    """Results, the inputs afterwards, and the seconds it took."""
    arguments, keywords = copy.deepcopy(inputs)
    torch.manual_seed(1)
    begin = time.perf_counter()
    with torch.no_grad():  # kernels are chosen by it: copies between parts carry no gradients
        results = function(pytree.tree_leaves((arguments, keywords))) if flat else function(
            *arguments, **keywords)
    seconds = time.perf_counter() - begin
    kept = [copied(value) for value in pytree.tree_flatten(results)[0]]
    return kept, pytree.tree_leaves((arguments, keywords)), seconds


def compare(name, wanted, got, faults):
    for call, (want, have) in enumerate(zip(wanted, got)):
        for what, left, right in (("results", want[0], have[0]), ("inputs", want[1], have[1])):
            same = len(left) == len(right) and all(map(is_same, left, right))
            if not same:
                which = [i for i, pair in enumerate(zip(left, right)) if not is_same(*pair)]
                first = f"; {which[0]}: {difference(left[which[0]], right[which[0]])}" if which else ""
                faults.append(f"{name}: {what} of call {call} differ: {which} of {len(left)}{first}")


def check_root(folder, chain, inputs, wanted, faults):
    module = load_root(folder)["model"].module()
    compare("root", wanted, [run(module, inputs, False) for _ in wanted], faults)
    unflattened = torch.export.unflatten(load_root(folder)["model"])
    children = dict(unflattened.named_children())
    if len(children) < len(chain["order"]):
        faults.append(f"root: unflattened it has {len(children)} submodules for "
                      f"{len(chain['order'])} partitions")


def plain_symbol(dim):
    """The name of a dim that is a symbol; None for numbers and composed sizes."""
    expression = getattr(getattr(dim, "node", None), "expr", None)
    return str(expression) if expression is not None and expression.is_Symbol else None


def with_other_sizes(program, inputs, factor):
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


class Outcome:
    """The result of running a split: faults as text, and times in seconds."""

    def __init__(self):
        self.faults = []
        self.parts = 0
        self.compared = 0  # results of a call
        self.sizes = 0  # runs with other sizes than the traced ones
        self.loading = (0.0, 0.0)  # whole, parts
        self.a_call = (0.0, 0.0)


def check_split(folder, model=None, calls=2, with_root=True, sizes=0):
    """Runs a split as the head of this file says; `sizes`: with so many other sizes of symbolic dims."""
    outcome = Outcome()
    chain_json = guard.read_chain(folder, guard.TORCH)
    outcome.parts = len(chain_json["order"])
    begin = time.perf_counter()
    program = program_of(model, folder) if model else load_root(folder)["model"]
    whole = program.module()
    loaded_whole = time.perf_counter() - begin
    inputs = example_inputs(program)
    begin = time.perf_counter()
    chain = Chain(folder, chain_json, program)
    outcome.loading = (loaded_whole, time.perf_counter() - begin)
    outcome.compared = len(chain_json["outputs"])
    wanted = [run(whole, inputs, False) for _ in range(calls)]
    got = [run(chain, inputs, True) for _ in range(calls)]
    outcome.a_call = (wanted[-1][2], got[-1][2])
    compare("parts", wanted, got, outcome.faults)
    if with_root and model:
        check_root(folder, chain_json, inputs, wanted, outcome.faults)
    for factor in range(1, sizes + 1):
        other = with_other_sizes(program, inputs, factor)
        if other is not None:
            outcome.sizes += 1
            compare(f"sizes {factor}", [run(whole, other, False)], [run(chain, other, True)], outcome.faults)
    return outcome


def be_quiet():
    """One thread, so that the same kernels compute, and no warnings."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--no-root", action="store_true", help="do not run the root")
    parser.add_argument("--sizes", type=int, default=0,
                        help="also run with so many other sizes of symbolic dims")
    parser.add_argument("--import", action="append", default=[], dest="modules", metavar="MODULE",
                        help="a Python module that registers operators or classes of the program")
    args = parser.parse_args()
    if args.calls < 1:
        parser.error("--calls is 1 or more: without a call nothing is compared")
    sys.path.insert(0, "")  # modules of the folder that one works in
    with guard.told("run_torch_split.py", args.folder):
        for module in args.modules:
            importlib.import_module(module)
        be_quiet()
        outcome = check_split(args.folder, args.model, args.calls, not args.no_root, args.sizes)
        word = "differ" if outcome.faults else "equal, bit for bit" if outcome.compared else "nothing was compared: no results"
        sizes = f", {outcome.sizes} other sizes" if args.sizes else ""
        loading, a_call = ([seconds * 1e3 for seconds in pair] for pair in (outcome.loading, outcome.a_call))
        guard.say(
            *outcome.faults,
            f"{args.folder}: {outcome.parts} partitions, {args.calls} calls{sizes}: {word}",
            "  loading  {:9.1f} ms whole, {:9.1f} ms split".format(*loading),
            "  a call   {:9.2f} ms whole, {:9.2f} ms split".format(*a_call),
        )
        sys.exit(1 if outcome.faults else 0)


if __name__ == "__main__":
    main()
