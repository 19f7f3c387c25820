#!/usr/bin/env python3
"""Splits TensorFlow Lite models by several lists, runs the partitions and the root in LiteRT, and compares them with
the model, bit for bit, without and with XNNPACK, three calls each.

usage: chains_test.py CLEAVE FOLDER...      every .tflite of the folders

Models that LiteRT does not run unsplit are split all the same. Exit status 1 if one differs or is refused; 77 when
ai-edge-litert is not there.
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))
import tflite_chain

DENSE = ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "RELU", "RELU6", "PRELU", "MAX_POOL_2D", "AVERAGE_POOL_2D",
         "LOGISTIC", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"]
MORE = [*DENSE, "ADD", "MUL", "PAD", "CONCATENATION", "RESHAPE", "QUANTIZE", "STRIDED_SLICE", "MEAN", "SOFTMAX"]


def split(cleave, model, which, folder):
    """Splits by one of three maps. Returns the finished process."""
    listed = {"dense": DENSE, "more": MORE, "random": ["NOTHING"]}[which]
    (folder / "list.txt").write_text("\n".join(listed) + "\n", encoding="utf-8")
    command = [cleave, "-q", "split", model, "-s", folder / "list.txt", "-o", folder / "out", "--force"]
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
    return subprocess.run(command, capture_output=True, text=True, check=False)


def sizes(model, out):
    parts = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["chain"]["order"]
    return len(parts), sum((out / part["file"]).stat().st_size for part in parts) / model.stat().st_size


def main():
    if tflite_chain.missing_module():
        print(f"skipped: needs {tflite_chain.missing_module()}")
        sys.exit(77)
    cleave = Path(sys.argv[1]).resolve()
    models = [model for folder in sys.argv[2:] for model in sorted(Path(folder).glob("*.tflite"))]
    equal, not_run, faults, growth, parts_in_all = 0, 0, [], [], 0
    for model in models:
        for which in ("dense", "more", "random"):
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                done = split(cleave, model, which, folder)
                if done.returncode != 0:
                    faults.append(f"{model.name} {which}: {done.stderr.strip()}")
                    continue
                parts, ratio = sizes(model, folder / "out")
                parts_in_all += parts
                growth.append(ratio)
                checked = subprocess.run(
                    [sys.executable, PROJECT / "scripts" / "verify_split.py", model, folder / "out"],
                    capture_output=True, text=True, check=False)
                if checked.returncode == 0:
                    equal += 1
                elif checked.returncode == 3:
                    not_run += 1
                else:
                    faults.append(f"{model.name} {which}: {checked.stdout}{checked.stderr}".strip())
    print(f"{equal} splits equal, bit for bit, {parts_in_all} partitions; {not_run} of models that LiteRT does not "
          f"run; all partitions together {sum(growth) / max(len(growth), 1):.2f} times the model on average")
    print("\n".join(faults))
    sys.exit(1 if faults or equal == 0 else 0)


if __name__ == "__main__":
    main()
