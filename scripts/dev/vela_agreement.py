#!/usr/bin/env python3
"""Compares the verdicts of a list for Ethos-U with Vela's own, operator by operator.

usage: vela_agreement.py CLEAVE LIST MODEL.tflite... [-- OPTION...]      options of vela; default --accelerator-config ethos-u55-128

Vela compiles cleave's own writing of each model, in which every tensor has a name of its own. Models on which Vela ends
with an error are told and not counted, nor are operators that were compiled before. Needs ethos-u-vela.

Exit status: 0 the list accepts nothing that Vela leaves to the CPU; 1 it does; 2 a model cannot be split.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts" / "backends"))
import vela_worker


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{' '.join(map(str, command))}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    return done.stdout


def parts_of(cleave, model, folder):
    """The model as cleave writes it: one file, or several where state ties it up."""
    run(cleave, "-q", "split", model, "-s", PROJECT / "samples" / "anything.json", "-o", folder, "--drawings", "none")
    return sorted(folder.glob("_run_on_*.tflite"))


def accepted(cleave, part, support):
    """{node: (op, accepted)}"""
    report = json.loads(run(cleave, "-q", "preview", part, "-s", support, "--json"))
    on_acc = {node for one in report["partitions"] if one["is_acc"] for node in one["nodes"]}
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.json"
        run(cleave, "-q", "convert", part, "-o", graph)
        nodes = json.loads(graph.read_text(encoding="utf-8"))["nodes"]
    return {node["name"]: (node["op"], node["name"] in on_acc) for node in nodes if node["op"] != vela_worker.NPU}


def left_by_vela(part, options):
    """Names of the operators that Vela leaves to the CPU, with reasons; None when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ethosu.vela", str(part), "--output-dir", folder, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        made = Path(folder) / f"{part.stem}_vela.tflite"
        if done.returncode != 0 or not made.exists():
            return None, vela_worker.message_of(done.stdout + done.stderr)
        operators, _, _ = vela_worker.compiled_model(made)
        reasons = vela_worker.reasons_in(done.stdout + done.stderr)
        return {name: reasons.get(name, "") for op, name in operators if op != vela_worker.NPU}, ""


def main():
    words = sys.argv[1:]
    options = ["--accelerator-config", "ethos-u55-128"]
    if "--" in words:
        words, options = words[: words.index("--")], words[words.index("--") + 1 :]
    cleave, support, models = Path(words[0]).resolve(), words[1], [Path(one) for one in words[2:]]
    counts, wrong = Counter(), []
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            for part in parts_of(cleave, model, Path(folder) / "whole"):
                left, why = left_by_vela(part, options)
                if left is None:
                    print(f"{model.name}: Vela fails: {why.splitlines()[0] if why else ''}")
                    continue
                for name, (op, is_yes) in accepted(cleave, part, support).items():
                    is_right = is_yes == (name not in left)
                    counts["yes" if is_yes else "no", is_right] += 1
                    if not is_right:
                        wrong.append((model.name, op, name, "yes" if is_yes else "no", left.get(name, "")))
    for model_name, op, name, verdict, reason in wrong:
        print(f"{model_name}: {op} {name!r}: the list says {verdict}, Vela the opposite{': ' if reason else ''}{reason}")
    total = sum(counts.values())
    right = counts["yes", True] + counts["no", True]
    print(f"{right} of {total} operators alike: yes {counts['yes', True]}, no {counts['no', True]}; "
          f"false yes {counts['yes', False]}, false no {counts['no', False]}")  # fmt: skip
    sys.exit(1 if counts["yes", False] else 0)


if __name__ == "__main__":
    main()
