#!/usr/bin/env python3
"""Random calls of operators: types and elements that cleave infers are those that ONNX Runtime computes.

Each call is a small model, the same for the same seed: one node, mostly, whose inputs fit its operator.
Sizes of inputs are fixed or open, and small inputs are constants, shapes of other inputs, or not known.
ONNX Runtime runs the model; dtypes, dims and elements that cleave infers must be what comes out. An
open size is named after the size that is fed, so that a name in the wrong place is seen. Elements show
as the dims of tensors made from them, which are not run.

What is known must not become less, either: random_calls.json records how much it is by operator.

usage: random_calls.py DUMP_TYPES [--update] [--op OP] [--rounds N] [--verbose]

DUMP_TYPES is the test tool of that name. Exit status 1 if something inferred is wrong, if less is known
than is recorded, or if ONNX Runtime runs too few of an operator's calls.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx

import random_operators  # noqa: F401  # fills CALLS
from random_model import CALLS, Model

RECORD = Path(__file__).with_suffix(".json")
DTYPES = {"float": "float32", "double": "float64"}


class Inferred:
    """A type as dump_types prints it."""

    def __init__(self, text):
        self.dtype, self.dims = None, None
        found = re.fullmatch(r"(\w+)(?:\[(.*)\]| of unknown rank)", text)
        if found and found[1] != "unknown":
            self.dtype = found[1]
        if found and found[2] is not None:
            self.dims = [part.strip() for part in found[2].split(",")] if found[2] else []

    def faults(self, kind, shape):
        """What is wrong with it, where that is the type."""
        if self.dtype and self.dtype != DTYPES.get(kind, kind):
            yield f"dtype {self.dtype}, not {kind}"
        yield from dim_faults(self.dims, list(shape))

    def known(self):
        """How much it tells."""
        return bool(self.dtype) + (0 if self.dims is None else 1 + sum(size_of(dim) is not None for dim in self.dims))


def size_of(text):
    """A dim's size, also from its name; None when it is not known."""
    found = re.fullmatch(r"(\d+)|S(\d+)[ab]", text)
    return int(found[1] or found[2]) if found else None


def dim_faults(dims, truth):
    if dims is None:
        return
    if len(dims) != len(truth):
        yield f"dims {dims}, not {truth}"
    elif any(size_of(dim) is not None and size_of(dim) != size for dim, size in zip(dims, truth)):
        yield f"dims {dims}, not {truth}"


def sizes_made(value, sign, is_real):
    """The dims of the tensor that is made from the elements, below 0 where they are none."""
    elements = np.asarray(value).flatten()
    if is_real:
        elements = np.where(np.isfinite(elements), np.trunc(sign * 8 * elements), -1)
        return [int(element) for element in elements]
    return [sign * int(element) for element in elements]


def dumped(tool, paths):
    """path -> {value: type's text}."""
    done = subprocess.run([tool], input="\n".join(map(str, paths)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{tool} ended with {done.returncode}: {done.stderr[-500:]}{done.stdout[-300:]}")
    types = {str(path): {} for path in paths}
    for line in done.stdout.splitlines():
        path, name, text = line.split("\t")
        types[path][name] = text
    return types


def drawn(op, seed):
    model = Model(f"{op} {seed}")
    CALLS[op][1](model, op)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump_types")
    parser.add_argument("--update", action="store_true", help="records how much is known")
    parser.add_argument("--op", help="this operator alone")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    failed, known, ran, drew = False, Counter(), Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        models = []
        for op, (count, _) in CALLS.items():
            for seed in range(count * options.rounds if options.op in (None, op) else 0):
                models.append((op, drawn(op, seed), Path(folder) / f"{len(models)}.onnx"))
        truths = {}
        for op, model, path in models:
            try:
                truths[path] = model.run()
            except Exception as error:
                if options.verbose:
                    print(f"{op}: does not run: {str(error).splitlines()[0][:200]}")
            path.write_bytes(model.watched_model().SerializeToString())
        types = dumped(options.dump_types, [path for _, _, path in models])
        for op, model, path in models:
            drew[op] += 1
            mine = {name: Inferred(text) for name, text in types[str(path)].items()}
            shown = [*model.outputs, *(f"{name}{sign}" for name in model.watched for sign in "+-")]
            known[op] += sum(mine[name].known() for name in shown)
            ran[op] += path in truths
            faults = []
            for name, (kind, value) in truths.get(path, {}).items():
                faults += mine[name].faults(kind, value.shape)
                if name in model.watched:
                    for sign, text in ((1, "+"), (-1, "-")):
                        faults += dim_faults(mine[name + text].dims, sizes_made(value, sign, name in model.reals))
            for fault in faults:
                failed = True
                print(f"{op}: WRONG: {fault}\n{onnx.printer.to_text(model.model(model.nodes, model.outputs))}")
    for op in drew:
        if ran[op] < 0.6 * drew[op]:
            failed = True
            print(f"{op}: ONNX Runtime runs {ran[op]} of {drew[op]} calls")
        if options.rounds == 1 and not options.update and known[op] < record.get(op, 0):
            failed = True
            print(f"{op}: {known[op]} facts are inferred; {record[op]} are recorded")
    print(
        f"{sum(drew.values()):,} calls of {len(drew)} kinds, {sum(ran.values()):,} run: {sum(known.values()):,} facts inferred"
    )
    if options.update:
        RECORD.write_text(json.dumps({**record, **known}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())
