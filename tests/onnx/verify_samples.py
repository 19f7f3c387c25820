#!/usr/bin/env python3
"""Splits the ONNX samples and compares each split with its original in ONNX Runtime.

Each sample is split by its own support list and by one of every other op type, so that partitions
alternate often, with each kind of `--weights`, and annotated; by a partition map, with parameters from
the root and copied; and in stages. `cleave verify` checks each split.

usage: verify_samples.py PROJECT_FOLDER CLEAVE      exit status 1 when a split differs
"""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = {"mobile_block.onnx": "tiny_npu.txt", "attention.onnx": "ort_ops.config"}


def alternating_list(cleave, model, path):
    """Writes a support list of every other op type of the model."""
    nothing = path.with_name("nothing.txt")
    nothing.write_text("")
    report = subprocess.run([cleave, "preview", model, "-s", nothing, "--show", "ops", "--json"], check=True,
                            capture_output=True)
    ops = sorted((op["domain"], op["op"]) for op in json.loads(report.stdout)["unsupported"])
    lines = [(f"{domain}::" if domain else "") + op for domain, op in ops[::2]]
    path.write_text("\n".join(lines) + "\n")
    return path


def map_of_thirds(cleave, model, path):
    """Writes a partition map that cuts the model's nodes into three runs."""
    converted = subprocess.run([cleave, "convert", model], check=True, capture_output=True)
    nodes = json.loads(converted.stdout)["nodes"]
    path.write_text(json.dumps({node["name"]: i * 3 // len(nodes) for i, node in enumerate(nodes)}))
    return path


def cuts(project, cleave, tmp):
    """(what it is, the model, the command that cuts it) of every cut that is tried."""
    for name, own_list in SAMPLES.items():
        model = project / "samples" / name
        lists = [project / "samples" / own_list,
                 alternating_list(cleave, model, tmp / f"{model.stem}.txt")]
        for weights in ("external", "inline", "shared", "reference"):
            for support in lists:
                yield (f"{name} by {support.name}, weights {weights}", model,
                       ["split", model, "-s", support, "--weights", weights, "--annotate"])
        parts = map_of_thirds(cleave, model, tmp / f"{model.stem}_map.json")
        for way in ("root", "copy"):
            yield (f"{name} by a map, parameters {way}", model,
                   ["split", model, "--map", parts, "--map-option", f"parameters={way}"])
        for options in ([], ["--relay", "--shared-params", "transmit"]):
            yield (f"{name} in stages" + "".join(f" {o}" for o in options), model,
                   ["stage", model, "--split-at", ".=each", *options])


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    project, cleave = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    runner = project / "scripts" / "runner.py"
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        for number, (what, model, command) in enumerate(cuts(project, cleave, Path(tmp))):
            folder = Path(tmp) / str(number)
            if "reference" in command:  # is written beside the model
                folder.mkdir()
                command[1] = shutil.copy(model, folder)
            subprocess.run([cleave, *command, "-o", folder, "-q"], check=True, capture_output=True)
            result = subprocess.run([sys.executable, runner, "verify", model, folder], capture_output=True,
                                    text=True)
            good = result.returncode == 0
            passed += good
            failed += not good
            print(f"{what}: {result.stdout.splitlines()[0] if result.stdout else 'no output'}")
            if not good:
                print(result.stdout + result.stderr)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
