#!/usr/bin/env python3
"""Runs the partitions of a split torch.export program and writes what each takes and makes.

usage: capture_torch.py DIR [-o OUT] [--inputs FILE.npz] [--seed N] [--import MODULE]... [--force]

DIR is the folder that `cleave split` wrote for a .pt2 model. Inputs of the program come from --inputs, as arrays by
name, or are those that the archive was saved with, or random where it has none, the same for the same --seed. The
partitions run in call order in torch, and every value is copied when it leaves one. For each partition it writes

    OUT/<part>/model.pt2                      the partition, with its inputs as example_inputs: compilers such as
                                              AOTInductor ask for them
    OUT/<part>/test_data_set_0/input_0.pb     its inputs, in the order of its arguments
    OUT/<part>/test_data_set_0/output_0.pb    its outputs

Then each partition is loaded again, runs alone on these inputs, and must make the same bits.

OUT appears when all are done. OUT/captured.json lists the files that were written: --force replaces a folder that holds
these and nothing else, and no input of the run.

Exit status: 0 all partitions captured; 1 one makes other bits when run again; 2 wrong usage; 3 the program cannot run, or
its manifest is wrong; 4 OUT cannot be written, or is not replaced; 77 torch is missing.
"""
import argparse
import importlib
import os
import sys
from pathlib import Path

import guard

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "backends"))
try:
    import torch

    import torch_programs
    from torch_chain import Chain, be_quiet, copied, is_same, load_archive, load_root
except ImportError as error:
    guard.missing(__name__, "capture_torch.py", error, "torch numpy", __doc__)


class Capture(Chain):
    """Partitions that note what they are called with and what they return, the first time."""

    def __init__(self, folder, chain, program):
        super().__init__(folder, chain, program)
        self.seen = {}
        self.modules = [self.noting(part["name"], module) for part, module in zip(chain["order"], self.modules)]

    def noting(self, name, module):
        def call(*arguments):
            before = [copied(one) for one in arguments]
            results = module(*arguments)
            self.seen.setdefault(name, (before, [copied(one) for one in results]))
            return results

        return call


def root_of(folder):
    """The whole program."""
    if not any((folder / name).is_file() for name in ("root.pt2", "bundle.pt2")):
        raise guard.WrongUsage(f"{folder} has no root.pt2: DIR is not a split of a .pt2 model")
    return load_root(folder)["model"]


def write_tensors(folder, begin, names, values):
    folder.mkdir(parents=True, exist_ok=True)
    for i, (name, value) in enumerate(zip(names, values)):
        torch_programs.write_tensor(folder / f"{begin}_{i}.pb", name, value)


def capture_part(folder, out, part, seen):
    """Writes one partition. Returns the outputs that differ when it runs again."""
    inputs, outputs = seen
    path = folder / part["file"]
    program = load_archive(path)[part.get("model", "model")]
    program.example_inputs = (tuple(copied(one) for one in inputs), {})
    place = out / part["name"]
    place.mkdir(parents=True)
    torch.export.save(program, place / "model.pt2")
    write_tensors(place / "test_data_set_0", "input", part["inputs"], inputs)
    write_tensors(place / "test_data_set_0", "output", part["outputs"], outputs)
    again = torch.export.load(str(place / "model.pt2"))
    results = again.module()(*[copied(one) for one in again.example_inputs[0]])
    return [name for name, left, right in zip(part["outputs"], outputs, results) if not is_same(left, right)]


def run_chain(options, chain, program):
    """By partition the values that it took and made. `program`: the whole."""
    request = {"given": str(options.inputs) if options.inputs else None, "seed": options.seed}
    values, _ = torch_programs.find_inputs(request, program)
    given = iter(values)
    runner = Capture(options.folder, chain, program)
    torch.manual_seed(options.seed)
    runner([copied(next(given)) if name is not None else None for name in chain["inputs"]])
    return runner.seen


def inputs_of_run(options, chain):
    """All that the run reads."""
    names = ("manifest.json", "root.pt2", "bundle.pt2", *(part["file"] for part in chain["order"]))
    read = [options.folder / name for name in names]
    if options.inputs:
        read += [options.inputs, *(options.inputs.glob("input_*.pb") if options.inputs.is_dir() else [])]
    return read


def main():
    what, _, details = __doc__.split("\n\n", 2)
    parser = argparse.ArgumentParser(prog=os.environ.get("CLEAVE_SCRIPT"), description=f"{what}\n\n{details}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("-o", "--out", metavar="OUT", type=Path, help="DIR/captured if not given")
    parser.add_argument("--inputs", type=Path, help="a .npz file")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs that are drawn (0)")
    parser.add_argument("--import", action="append", default=[], dest="modules", metavar="MODULE")
    parser.add_argument("--force", action="store_true", help="replace OUT")
    options = parser.parse_args()
    sys.path.insert(0, "")
    out = options.out or options.folder / "captured"
    with guard.told("capture_torch.py", options.folder):
        torch_programs.import_known()
        for module in options.modules:
            importlib.import_module(module)
        be_quiet()
        program = root_of(options.folder)
        chain = guard.read_chain(options.folder, guard.TORCH)
        with guard.new_folder(out, options.force, inputs_of_run(options, chain)) as made, torch.no_grad():
            seen = run_chain(options, chain, program)
            faults = {part["name"]: capture_part(options.folder, made, part, seen[part["name"]]) for part in chain["order"]}
        different = {name: names for name, names in faults.items() if names}
        guard.say(
            f"captured: {len(faults) - len(different)} of {len(faults)} partitions, in {out}",
            *(f"fault: {name}: {', '.join(names)} {'is' if len(names) == 1 else 'are'} other when run alone"
              for name, names in different.items()),
        )  # fmt: skip
        sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
