#!/usr/bin/env python3
"""Splits TensorFlow Lite models by several lists, runs the partitions and the root in LiteRT, and compares them with
the model, bit for bit, without and with XNNPACK, three calls each; then the same as a bundle. Where tflite-micro is
installed, the partitions also run there.

usage: chains_test.py CLEAVE [--fetch] [--budget SECONDS] [-v] FOLDER...      every .tflite of the folders, the smallest first

--fetch downloads the models of package_models.py into the first folder. Models that LiteRT does not run unsplit are split all
the same. A comparison that takes longer than the budget is ended, and told. Exit status 1 if one differs, is refused or
is not ended; 77 when ai-edge-litert is not there.
"""
import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
import package_models

DENSE = ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "RELU", "RELU6", "PRELU", "MAX_POOL_2D", "AVERAGE_POOL_2D",
         "LOGISTIC", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"]
MICRO_EQUAL = re.compile(r"^chain, tflite-micro +yes +(\d+) of \1 ", re.M)
MORE = [*DENSE, "ADD", "MUL", "PAD", "CONCATENATION", "RESHAPE", "QUANTIZE", "STRIDED_SLICE", "MEAN", "SOFTMAX"]


def split(cleave, model, which, folder):
    """Splits by one of three maps, and into stages, whose manifests differ. Returns the finished process."""
    listed = {"dense": DENSE, "more": MORE, "random": ["NOTHING"]}[which]
    (folder / "list.txt").write_text("\n".join(listed) + "\n", encoding="utf-8")
    command = [cleave, "-q", "split", model, "-s", folder / "list.txt", "--drawings", "none"]
    if which == "random":
        shown = subprocess.run([cleave, "-q", "convert", model, "-o", folder / "m.json"],
                               capture_output=True, text=True, check=False)
        if shown.returncode != 0:
            return shown
        numbers = random.Random(str(model.name))
        nodes = json.loads((folder / "m.json").read_text(encoding="utf-8"))["nodes"]
        verdicts = {node["name"]: numbers.random() < 0.6 for node in nodes}
        (folder / "verdicts.json").write_text(json.dumps(verdicts), encoding="utf-8")
        command += ["--verdicts", folder / "verdicts.json"]
    done = subprocess.run([*command, "-o", folder / "out"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done
    stage = [cleave, "-q", "stage", model, "--stages", "2", "-o", folder / "stages"]
    done = subprocess.run(stage, capture_output=True, text=True, check=False) if which == "dense" else done
    if done.returncode != 0:
        return done
    return subprocess.run([*command, "-o", folder / "bundle", "--bundle"], capture_output=True, text=True, check=False)


def sizes(model, out):
    """The number of partitions, and the bytes of their files, the root's and the bundle's, as multiples of the model's."""
    parts = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["chain"]["order"]
    whole = model.stat().st_size
    bundle = out.parent / "bundle" / "bundle.tflite"
    return (len(parts), sum((out / part["file"]).stat().st_size for part in parts) / whole,
            (out / "root.tflite").stat().st_size / whole, bundle.stat().st_size / whole)


class Count:
    """What came of the comparisons of all splits."""

    def __init__(self):
        self.splits, self.parts, self.not_run, self.equal, self.micro = 0, 0, 0, 0, 0
        self.faults, self.ratios, self.models = [], [], set()

    def add(self, model, which, what, checked):
        """Counts one run of `cleave verify`; None: it was ended."""
        place = f"{model.name} {which} {what}"
        if checked is None:
            self.faults.append(f"{place}: not ended within the budget")
        elif checked.returncode == 3:
            self.not_run += 1
        elif checked.returncode == 0:
            self.equal += 1
            self.models.add(model)
            self.micro += bool(MICRO_EQUAL.search(checked.stdout))
        else:
            self.faults.append(f"{place}: {checked.stdout}{checked.stderr}".strip())

    def text(self):
        parts, roots, bundles = (f"{sum(one) / max(len(one), 1):.2f}" for one in zip(*self.ratios))
        return (f"{self.splits} splits into {self.parts} partitions: {self.equal} comparisons equal, bit for bit, of "
                f"{len(self.models)} models (chains with roots, and bundles); {self.micro} chains equal in tflite-micro; "
                f"{self.not_run} of models that LiteRT does not run; {len(self.faults)} faults\n"
                f"bytes as multiples of the model's, on average: all partitions {parts}, root {roots}, bundle {bundles}")


def verify(model, folder, budget):
    command = [sys.executable, PROJECT / "scripts" / "runner.py", "verify", model, folder,
               *package_models.SIZES.get(model.name, [])]
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=budget, check=False)
    except subprocess.TimeoutExpired:
        return None


def main():
    if not find_spec("ai_edge_litert"):
        print("skipped: needs ai_edge_litert")
        sys.exit(77)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--budget", type=float, default=600)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    if options.fetch:
        missing = package_models.fetch(options.folders[0])
        if missing:
            print(f"cannot be had: {', '.join(missing)}")
    cleave, count = options.cleave.resolve(), Count()
    models = [model for folder in options.folders for model in folder.glob("*.tflite")]
    for model in sorted(models, key=lambda model: (model.stat().st_size, model.name)):
        for which in ("dense", "more", "random"):
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                done = split(cleave, model, which, folder)
                if done.returncode != 0:
                    count.faults.append(f"{model.name} {which}: {done.stderr.strip()}")
                    continue
                parts, *ratios = sizes(model, folder / "out")
                count.splits += 1
                count.parts += parts
                count.ratios.append(ratios)
                for what in ("out", "bundle", *(["stages"] if which == "dense" else [])):
                    count.add(model, which, what, verify(model, folder / what, options.budget))
                if options.verbose:
                    ratio = " ".join(f"{one:.2f}" for one in ratios)
                    print(f"{model.name} {which}: {parts} partitions, {ratio}; equal {count.equal}, tflite-micro "
                          f"{count.micro}, faults {len(count.faults)}", flush=True)
    print(count.text() if count.ratios else "no split")
    print("\n".join(count.faults))
    sys.exit(1 if count.faults or count.equal == 0 else 0)


if __name__ == "__main__":
    main()
