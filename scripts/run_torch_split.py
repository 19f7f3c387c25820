#!/usr/bin/env python3
"""Runs a split torch.export program: loads each part with torch.export.load, calls them one after
the other as the manifest says, and compares all results with the unsplit program's, bit for bit.

Every value is copied where it leaves a part, as it is between devices. The program is called
several times with the same inputs, so that state which it keeps shows. Also run: root.pt2 (or the
root in bundle.pt2), which must compute the same, and have a submodule for each part when it is
unflattened.

usage: run_torch_split.py DIR [MODEL.pt2] [--calls N] [--no-root]

MODEL is what was split; without it root.pt2 stands for it. Needs torch 2.9 or later. Exit status 1
when anything differs.
"""
import argparse
import copy
import json
import logging
import sys
import time
import warnings
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

try:  # registers the output types that programs of Hugging Face models return
    import transformers.modeling_outputs  # noqa: F401
except ImportError:
    pass


def is_same(left, right):
    if isinstance(left, torch.Tensor) != isinstance(right, torch.Tensor):
        return False
    if not isinstance(left, torch.Tensor):
        return left == right or (left != left and right != right)
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    left, right = left.detach().contiguous(), right.detach().contiguous()
    if left.numel() == 0:
        return True
    return torch.equal(left.reshape(-1).view(torch.uint8), right.reshape(-1).view(torch.uint8))


def copied(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def load_archive(path):
    """All programs of an archive, by name."""
    try:
        from torch.export.pt2_archive._package import load_pt2
        return dict(load_pt2(str(path)).exported_programs)
    except ImportError:
        return {"model": torch.export.load(str(path))}


class Chain:
    """The parts, called in order; holds the state that several of them touch."""

    def __init__(self, folder, chain, program):
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
        sys.exit("the program has no example inputs: save it with torch.export.save")
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
                faults.append(f"{name}: {what} of call {call} differ: {which} of {len(left)}")


def check_root(folder, chain, inputs, wanted, faults):
    is_bundle = any("model" in part for part in chain["order"])
    path = folder / ("bundle.pt2" if is_bundle else "root.pt2")
    module = load_archive(path)["model"].module()
    compare("root", wanted, [run(module, inputs, False) for _ in wanted], faults)
    unflattened = torch.export.unflatten(load_archive(path)["model"])
    children = dict(unflattened.named_children())
    if len(children) < len(chain["order"]):
        faults.append(f"root: unflattened it has {len(children)} submodules for "
                      f"{len(chain['order'])} parts")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--no-root", action="store_true", help="do not run the root")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    manifest = json.loads((args.folder / "manifest.json").read_text(encoding="utf-8"))
    chain_json = manifest["chain"]
    reference = args.model or args.folder / "root.pt2"
    if not reference.exists():
        reference = args.folder / "bundle.pt2"
    begin = time.perf_counter()
    program = load_archive(reference)["model"]
    whole = program.module()
    loaded_whole = time.perf_counter() - begin
    inputs = example_inputs(program)
    begin = time.perf_counter()
    chain = Chain(args.folder, chain_json, program)
    loaded_parts = time.perf_counter() - begin
    faults = []
    wanted = [run(whole, inputs, False) for _ in range(args.calls)]
    got = [run(chain, inputs, True) for _ in range(args.calls)]
    compare("parts", wanted, got, faults)
    if not args.no_root and args.model:
        check_root(args.folder, chain_json, inputs, wanted, faults)
    for fault in faults:
        print(fault)
    word = "differ" if faults else "equal, bit for bit"
    print(f"{args.folder}: {len(chain_json['order'])} parts, {args.calls} calls: {word}")
    print(f"  loading  {loaded_whole * 1e3:9.1f} ms whole, {loaded_parts * 1e3:9.1f} ms in parts")
    print(f"  a call   {wanted[-1][2] * 1e3:9.2f} ms whole, {got[-1][2] * 1e3:9.2f} ms in parts")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
