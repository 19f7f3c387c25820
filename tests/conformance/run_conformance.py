#!/usr/bin/env python3
"""Splits every model of a folder and compares each split with its original.

usage: run_conformance.py CLEAVE [FOLDER] [--every N] [--least N] [--jobs N] [--only TEXT] [--details]

FOLDER has models anywhere below it: `model.onnx` with a test_data_set_0 next to it, as ONNX's backend
tests, or any other .onnx file, for which inputs are random (seeded). Default: the backend tests of the
Python package onnx: node, simple, pytorch-converted, pytorch-operator, light.

Each model is split twice: by a support list of every other op type, so that partitions alternate, and by
one that denies each node with a chance of one half (seeded by the model's name). Then
  - every node of the model is in the partitions, byte for byte: once, or any number of times if it only
    computes on constants;
  - if ONNX's checker accepts the original, it accepts root.onnx and each partition (except inputs or
    outputs of unknown rank);
  - if ONNX Runtime runs the original, it runs root.onnx and the chain of partitions, with the same bits
    in every output, and also root.onnx with both optimised.

Models with random operators without a seed are skipped by name. Prints a table, and a line for each
model that fails; exit status 1 when one does, or when there are fewer models than --least.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import guard
import onnx_chain
from ort_inputs import CannotRun, read_data_set

RANDOM_WITHOUT_SEED = {
    "test_bernoulli",
    "test_bernoulli_expanded",
    "test_bernoulli_double",
    "test_bernoulli_double_expanded",
}
SUITES = ["node", "simple", "pytorch-converted", "pytorch-operator", "light"]
FEWEST = 1500  # of the backend tests that came with onnx 1.22; newer packages bring almost none


@dataclass
class Outcome:
    suite: str
    name: str
    status: str = "passed"  # or "not run", "skipped", "failed"
    parts: int = 0
    is_rounded: bool = False
    why: str = ""
    remarks: list = field(default_factory=list)


class Failed(Exception):
    """What is wrong with a split, in words."""


# ---- support lists ----


def nodes_of(graph):
    """The nodes of a graph and of the bodies in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs]:
                yield from nodes_of(body)


def spelled(op):
    domain, op_type = op
    return op_type if domain in ("", "ai.onnx") else f"{domain}::{op_type}"


def alternating_list(model):
    """Every other op type, in the order in which the model meets them; as plain text."""
    ops = dict.fromkeys((node.domain, node.op_type) for node in nodes_of(model.graph))
    return "".join(f"{spelled(op)}\n" for op in list(ops)[::2])


def random_list(model, names, seed):
    """Takes every op, but not the nodes that a coin denies; as JSON."""
    coin = random.Random(seed)
    ops = dict.fromkeys((node.domain, node.op_type) for node in nodes_of(model.graph))
    return json.dumps(
        {
            "format": "cleave.support",
            "version": 1,
            "name": "coins",
            "allow": [{"op": op, "domain": domain} for domain, op in ops],
            "deny": [{"name": name} for name in names if coin.random() < 0.5],
        }
    )


# ---- one model ----


def split(cleave, path, support, folder, *options):
    """Runs `cleave split`; raises Failed with what it says where it does not exit 0."""
    command = [cleave, "split", path, "-s", support, "-o", folder, "-q", *options]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if result.returncode == 0:
        return
    says = guard.first_line(result.stderr or "nothing")
    what = "crashes" if result.returncode < 0 or result.returncode >= 70 else "refuses it"
    raise Failed(f"cleave split {what} (exits {result.returncode}): {says}")


def own_bytes(node):
    """The node but for what a writer may give it: its name, its metadata."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    if copy.domain in ("", "ai.onnx"):  # the default domain's other name, which functions do not know
        copy.ClearField("domain")
    copy.ClearField("name")
    copy.ClearField("metadata_props")
    return copy.SerializeToString(deterministic=True)


def check_nodes(model, folder, manifest):
    """Raises Failed where the parts together are not the model's nodes."""
    found = Counter()
    for part in manifest["partitions"]:
        graph = onnx.load(folder / f"{part['name']}.onnx", load_external_data=False).graph
        found.update(own_bytes(node) for node in graph.node)
    constant = {tensor.name for tensor in model.graph.initializer}
    constant |= {sparse.values.name for sparse in model.graph.sparse_initializer} | {""}
    wanted = Counter(own_bytes(node) for node in model.graph.node)
    for node in model.graph.node:
        if constant.issuperset(node.input):
            constant.update(node.output)
            wanted.pop(own_bytes(node), None)
            found.pop(own_bytes(node), None)
    if wanted != found:
        odd = onnx.NodeProto.FromString(next(iter((wanted - found) + (found - wanted))))
        where = "lack" if found[own_bytes(odd)] < wanted[own_bytes(odd)] else "have too often"
        raise Failed(f"the parts {where} the {odd.op_type} that makes {list(odd.output)}")


def faults_of(rows):
    return [f"{row.what}: {fault}" for row in rows for _, fault in row.faults]


def check_files(original_path, folder, manifest):
    """The checker's say on each file, where the original cannot be run."""
    takes_original = onnx_chain.checker_says(original_path) is None
    rows = []
    for name in ["root", *(part["name"] for part in manifest["partitions"])]:
        path = folder / f"{name}.onnx"
        if name == "root" and not path.exists():
            continue
        facts = onnx_chain.FileFacts(path)
        rows.append(onnx_chain.Row(path.name))
        if name == "root" or not facts.unranked:
            onnx_chain.check(rows[-1], path, facts, takes_original)
    return rows


class Model:
    """One model under test: the original is run once, for both of its splits."""

    def __init__(self, cleave, suite, path):
        name = path.parent.name if path.name == "model.onnx" else path.stem
        self.cleave, self.path, self.outcome = cleave, path, Outcome(suite, name)
        self.model = onnx.load(path, load_external_data=False)
        self.original = None

    def test(self, scratch):
        outcome = self.outcome
        if outcome.name in RANDOM_WITHOUT_SEED:
            outcome.status, outcome.why = "skipped", "random without a seed"
            return outcome
        try:
            self.run_original()
        except CannotRun as error:
            outcome.status, outcome.why = "not run", str(error)
        try:
            names = self.test_split("alternating", alternating_list(self.model), scratch)
            seed = zlib.crc32(outcome.name.encode())
            self.test_split("random", random_list(self.model, names, seed), scratch)
        except Failed as error:
            outcome.status, outcome.why = "failed", str(error)
        return outcome

    def run_original(self):
        data = self.path.parent / "test_data_set_0"
        inputs = read_data_set(data, self.path) if data.is_dir() else {}
        self.original = onnx_chain.Original(self.path, inputs=inputs)

    def test_split(self, kind, support_text, scratch):
        """The names of the nodes; raises Failed."""
        support, folder = scratch / f"{kind}.list", scratch / kind
        support.write_text(support_text, encoding="utf-8")
        split(self.cleave, self.path, support, folder)
        manifest = guard.read_manifest(folder, guard.PARTS)
        self.outcome.parts += len(manifest["partitions"])
        self.check_nodes(support, folder, manifest)
        if self.original is None:
            rows = check_files(self.path, folder, manifest)
        else:
            rows = onnx_chain.Verification(self.original, folder, manifest).rows()
        if faults_of(rows):
            raise Failed(f"{kind} split: {'; '.join(faults_of(rows)[:3])}")
        self.outcome.is_rounded |= any("rounding" in row.how for row in rows)
        self.outcome.remarks += [f"{kind}: {row.what}: {text}" for row in rows for text in row.remarks]
        return [name for part in manifest["partitions"] for name in part["nodes"]]

    def check_nodes(self, support, folder, manifest):
        """Where the condition of an If is known, its branch takes its place: --fold off keeps it."""
        if any(node.op_type == "If" for node in nodes_of(self.model.graph)):
            folder = folder.with_suffix(".whole")
            split(self.cleave, self.path, support, folder, "--fold", "off")
            manifest = guard.read_manifest(folder, guard.PARTS)
        check_nodes(self.model, folder, manifest)


def test_model(job):
    cleave, suite, path = job
    with tempfile.TemporaryDirectory() as scratch:
        try:
            return Model(cleave, suite, path).test(Path(scratch))
        except Exception as error:  # of this script or of a library: told with the model's name
            name = path.parent.name if path.name == "model.onnx" else path.stem
            why = f"the test itself: {type(error).__name__}: {guard.first_line(error)}"
            return Outcome(suite, name, "failed", why=why)


# ---- all models, and the table ----


def find_models(folder):
    """(suite, path) of each model, in the order of their paths; the suite is the folder that the
    model lies in, or for a model in a folder of its own the one around it."""
    paths = sorted(path for path in folder.resolve().rglob("*.onnx") if path.is_file())
    return [(path.parents[path.name == "model.onnx"].name, path) for path in paths]


def backend_tests():
    data = Path(onnx.__file__).parent / "backend" / "test" / "data"
    found = []
    for suite in SUITES:
        if (data / suite).is_dir():
            found += [(suite, path) for _, path in find_models(data / suite)]
    return found


def table(outcomes):
    suites = dict.fromkeys(outcome.suite for outcome in outcomes)
    rows = [("suite", "models", "splits", "parts", "passed", "cannot run original", "skipped", "failed")]
    for suite in [*suites, "all"]:
        those = [o for o in outcomes if suite in (o.suite, "all")]
        count = Counter(o.status for o in those)
        splits = 2 * (len(those) - count["skipped"])
        numbers = [len(those), splits, sum(o.parts for o in those), count["passed"],
                   count["not run"], count["skipped"], count["failed"]]
        rows.append((suite, *(f"{number:,}" for number in numbers)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        row[0].ljust(widths[0]) + "".join("  " + c.rjust(w) for c, w in zip(row[1:], widths[1:]))
        for row in rows
    )


def shortened(why):
    """What an engine says, without its own name, paths and the node's name."""
    why = re.sub(r"\[ONNXRuntimeError\] : \d+ : (\w+) : ", r"\1: ", why)
    why = re.sub(r"Load model from \S+ failed:", "", why)
    why = re.sub(r"(on Node with name '[^']*'| node with name '[^']*'|\(node:.*)", "", why)
    if "model_load_utils" in why:
        return "does not load: its opset is newer than those that ONNX Runtime takes"
    why = re.sub(r"/onnxruntime_src/onnxruntime/core/\S+ ", "", why)
    return why if len(why) <= 80 else why[:77] + "..."


def reasons(outcomes, status):
    """Why models of a status are what they are: each reason once, most frequent first."""
    those = {}
    for outcome in outcomes:
        if outcome.status == status:
            those.setdefault(shortened(outcome.why), []).append(outcome.name)
    ordered = sorted(those.items(), key=lambda item: -len(item[1]))
    return [f"{len(names):5}  {why} ({names[0]}{', ...' if names[1:] else ''})" for why, names in ordered]


def report(outcomes, details):
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    rounded = [outcome.name for outcome in outcomes if outcome.is_rounded]
    print(f"{len(outcomes):,} models: {len(failed)} failed\n")
    print(table(outcomes))
    if rounded:
        print(f"\n{len(rounded)} of those that passed: {', '.join(rounded)}")
        print("  root.onnx agrees bit for bit; the chain of partitions except for the rounding of float16 at cuts,")
        print("  where ONNX Runtime keeps float32 between nodes of one model: shown by its agreeing with")
        print("  root.onnx bit for bit where that holds float16 between its calls")
    if details:
        print("\nwhy originals cannot be run", *reasons(outcomes, "not run"), sep="\n")
    for outcome in failed:
        print(f"\nfailed: {outcome.suite}/{outcome.name}: {outcome.why}")
    return not failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cleave", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--every", type=int, default=1, help="take every Nth model only")
    parser.add_argument("--least", type=int, help=f"fewest models found ({FEWEST} without FOLDER)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--only", default="", help="models with this text in their path")
    parser.add_argument("--details", action="store_true", help="also why originals cannot be run")
    asked = parser.parse_args()
    models = find_models(asked.folder) if asked.folder else backend_tests()
    least = asked.least if asked.least is not None else (1 if asked.folder else FEWEST)
    if len(models) < least:
        sys.exit(f"run_conformance.py: {len(models)} models found, {least} wanted")
    jobs = [
        (asked.cleave.resolve(), suite, path)
        for suite, path in models
        if asked.only in str(path)
    ][:: asked.every]
    with ProcessPoolExecutor(max_workers=asked.jobs) as pool:
        outcomes = list(pool.map(test_model, jobs, chunksize=8))
    sys.exit(0 if report(outcomes, asked.details) else 1)


if __name__ == "__main__":
    main()
