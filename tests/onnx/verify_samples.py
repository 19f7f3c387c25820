#!/usr/bin/env python3
"""Splits the ONNX samples and holds each split against its original in ONNX Runtime.

Each sample is split by its own support list and by one that takes every other op type, so that
parts alternate as often as they can. What verify_split.py finds decides.

usage: verify_samples.py PROJECT_FOLDER CLEAVE      exit status 1 when a split differs
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = {"mobile_block.onnx": "tiny_npu.txt", "attention.onnx": "ort_ops.config"}


def alternating_list(cleave, model, path):
    """Writes a support list of every other op type of the model."""
    nothing = path.with_name("nothing.txt")
    nothing.write_text("")
    report = subprocess.run([cleave, "support", model, "-s", nothing, "--json"], check=True,
                            capture_output=True)
    ops = sorted((op["domain"], op["op"]) for op in json.loads(report.stdout)["unsupported"])
    lines = [(f"{domain}::" if domain else "") + op for domain, op in ops[::2]]
    path.write_text("\n".join(lines) + "\n")
    return path


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    project, cleave = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    verify = project / "scripts" / "verify_split.py"
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        tmp = Path(tmp)
        for name, own_list in SAMPLES.items():
            model = project / "samples" / name
            lists = [project / "samples" / own_list,
                     alternating_list(cleave, model, tmp / f"{model.stem}.txt")]
            for weights in ("external", "inline"):
                for support in lists:
                    folder = tmp / f"{model.stem}_{support.stem}_{weights}"
                    subprocess.run([cleave, "split", model, "-s", support, "-o", folder, "-q",
                                    "--weights", weights], check=True, capture_output=True)
                    result = subprocess.run([sys.executable, verify, model, folder],
                                            capture_output=True, text=True)
                    good = result.returncode == 0
                    passed += good
                    failed += not good
                    print(f"{name} by {support.name}, weights {weights}: "
                          f"{result.stdout.splitlines()[0] if result.stdout else 'no output'}")
                    if not good:
                        print(result.stdout + result.stderr)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
