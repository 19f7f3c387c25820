#!/usr/bin/env python3
"""Makes random programs that write memory and view it, splits each by two maps and by two support lists, and runs the
partitions in torch: the results must be those of the whole, bit for bit, or the split refused with a node's name.

usage: memory_test.py CLEAVE [--programs N] [--seed N]
  --programs      how many (200)
  --seed          of the first program (1)

Programs view their inputs, buffers and what they compute, also by operators whose schema does not say so, write them in place and
as `out=`, and read them before and after. Exit status 1 if a split computes something else, or a support list is refused.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "scripts"), str(Path(__file__).parent)]
import torch

import torch_chain
from chains_test import graph_of, is_loadable, part_count, targets_of

VIEWS = {  # of two dims; each gives a tensor or several
    "t": lambda v: v.t(),
    "rows": lambda v: v[1:],
    "flat": lambda v: v.reshape(-1)[:6].view(2, 3),
    "select": lambda v: v[0].unsqueeze(0),
    "unbind": lambda v: v.unbind(0)[1].view(1, -1),
    "chunk": lambda v: v.chunk(2, 0)[0],
    "split": lambda v: v.split(1, 0)[1],
    "unsafe_chunk": lambda v: v.unsafe_chunk(2, 0)[0],
    "unsafe_split": lambda v: v.unsafe_split(1, 0)[1],
    "unsafe_view": lambda v: torch.ops.aten._unsafe_view.default(v, list(v.shape)),
    "lift": torch.ops.aten.lift.default,
    "atleast_2d": torch.atleast_2d,
    "broadcast": lambda v: torch.broadcast_tensors(v, v)[1],
    "conj_physical": torch.conj_physical,
    "sum_to_size": lambda v: v.sum_to_size(v.shape),
    "contiguous": lambda v: v.contiguous(),
    "to": lambda v: v.to(torch.float32),
    "type_as": lambda v: v.type_as(v),
    "dropout": lambda v: torch.dropout(v, 0.5, False),
    "einsum": lambda v: torch.einsum("ij->ji", v),
    "diagonal": lambda v: v.diagonal().unsqueeze(0),
}  # fmt: skip
PURE = {
    "sin": torch.sin,
    "neg": torch.neg,
    "tanh": torch.tanh,
    "clone": torch.clone,
    "double": lambda v: v + v,
    "zeros": torch.zeros_like,
}
WRITES = {
    "add_": lambda v: v.add_(0.5),
    "mul_": lambda v: v.mul_(0.75),
    "relu_": lambda v: v.relu_(),
    "zero_": lambda v: v.zero_(),
    "sin_": lambda v: v.sin_(),
}
# Of two tensors of one size.
PAIRS = {
    "add": torch.add,
    "copy_": lambda a, b: a.copy_(b),
    "add_": lambda a, b: a.add_(b),
    "cos.out": lambda a, b: torch.cos(b, out=a),
    "neg.out": lambda a, b: torch.neg(b, out=a),
    "mul.out": lambda a, b: torch.mul(b, 0.5, out=a),
    "maximum.out": lambda a, b: torch.maximum(b, b, out=a),
    "sort.out": lambda a, b: torch.sort(b, out=(a, torch.zeros(0, dtype=torch.int64)))[0],
    "frexp.out": lambda a, b: torch.frexp(b, out=(a, torch.zeros(b.shape, dtype=torch.int32)))[1].float(),
}
STEPS = {"view": VIEWS, "pure": PURE, "write": WRITES, "pair": PAIRS}


class Memory(torch.nn.Module):
    """Steps on two inputs, two buffers and what the steps make."""

    def __init__(self, chosen):
        super().__init__()
        self.register_buffer("held", torch.linspace(-1, 1, 12).view(3, 4))
        self.register_buffer("kept", torch.linspace(1, 2, 12).view(3, 4))
        self.chosen = chosen
        self.count = chosen.randint(5, 12)

    def forward(self, x, y):
        chosen = random.Random(str(self.chosen.getstate()))  # the same steps in every call
        values = [x, y, self.held, self.kept, x.clone()]
        for _ in range(self.count):
            kind = chosen.choices(list(STEPS), (4, 3, 2, 3))[0]
            act = STEPS[kind][chosen.choice(list(STEPS[kind]))]
            at = chosen.randrange(len(values))
            if kind == "pair":
                others = [v for v in values if v.shape == values[at].shape]
                values.append(act(values[at], chosen.choice(others)))
            elif kind == "pure" or min(values[at].shape) > 1:
                values.append(act(values[at]))
        results = chosen.sample(values[4:], min(3, len(values) - 4))
        return *results, values[4].sum(), values[chosen.randrange(4)] + 1


def made_program(seed, path):
    """Saves the program of the seed; False where torch does not export it, or not run it."""
    try:
        torch.manual_seed(seed)
        program = torch.export.export(Memory(random.Random(seed)), (torch.randn(3, 4), torch.randn(3, 4)))
        torch.export.save(program, path)
        return is_loadable(path)
    except Exception:
        return False


def node_names(model):
    return [node["name"] for node in graph_of(model)["nodes"]]


def splits(model, chosen, folder):
    """The kind of each split, and its arguments."""
    names, targets = node_names(model), targets_of(model)
    for count in (2, 3):
        cuts = sorted(chosen.choices(range(1, max(len(names), 2)), k=count - 1))
        parts = {name: sum(cut <= i for cut in cuts) for i, name in enumerate(names)}
        path = folder / f"map{count}.json"
        path.write_text(json.dumps(parts), encoding="utf-8")
        yield "map", ["split", model, "--map", path]
    for share in (0.3, 0.6):
        path = folder / f"list{share}.txt"
        listed = [target for target in targets if chosen.random() < share] or targets[:1]
        path.write_text("\n".join(listed) + "\n", encoding="utf-8")
        yield "list", ["split", model, "-s", path]


def check(cleave, seed, model, folder, tally, faults):
    for number, (kind, arguments) in enumerate(splits(model, random.Random(seed), folder)):
        out = folder / "out"
        done = subprocess.run([cleave, "-q", *arguments, "-o", out, "--force"], capture_output=True, text=True)
        label = f"program {seed}, {kind} {number}"
        if done.returncode != 0:
            tally[f"{kind}s refused"] += 1
            if kind == "list" or done.returncode != 3 or not any(name in done.stderr for name in node_names(model)):
                faults.append(f"{label}: {done.stderr.strip()[:300]}")
            continue
        try:
            outcome = torch_chain.check_split(out, model, with_root=number == 0)
            faults += [f"{label}: {fault}" for fault in outcome.all_faults()]
            tally[f"{kind}s equal"] += outcome.passed
            tally["of several parts"] += outcome.passed and part_count(out) > 1
        except Exception as cause:  # torch's own failures, too: each is said
            faults.append(f"{label}: {type(cause).__name__}: {str(cause).strip().splitlines()[-1:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch_chain.be_quiet()
    tally, faults = Counter(), []
    seed = args.seed * 1_000_000
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch) / "model.pt2"
        while tally["programs"] < args.programs:
            seed += 1
            if not made_program(seed, model):
                tally["that torch does not export or run"] += 1
                continue
            tally["programs"] += 1
            before = len(faults)
            check(args.cleave, seed, model, Path(scratch), tally, faults)
            for fault in faults[before:]:
                print(fault, flush=True)
    print(f"{dict(tally)}, {len(faults)} faults")
    sys.exit(1 if faults or not tally["of several parts"] else 0)


if __name__ == "__main__":
    main()
