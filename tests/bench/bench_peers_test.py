#!/usr/bin/env python3
"""Tests that scripts/dev/bench_peers.py runs the installed programs and names the missing ones.

usage: bench_peers_test.py ROOT CLEAVE
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, CLEAVE = Path(sys.argv[1]), sys.argv[2]
NO_SUCH_PYTHON = "/there/is/no/python"


def run(*options):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, ROOT / "scripts/dev/bench_peers.py", CLEAVE, "--folder", folder]
        done = subprocess.run([*command, *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench_peers.py {' '.join(options)} exits {done.returncode}:\n{done.stderr}")
    return done.stdout


def check(is_so, what, text):
    if not is_so:
        sys.exit(f"{what}:\n{text}")


text = run("--torch-python", NO_SUCH_PYTHON, "--onnx-python", NO_SUCH_PYTHON)
check("Not installed, left out: PyTorch" in text, "torch is not named", text)
check("Not installed, left out: onnx" in text, "onnx is not named", text)
check("| model | cleave | takes | peer | takes | ratio |" in text, "there is no table", text)
check("| `" not in text, "there are rows", text)

text = run("--nodes", "90", "--models", "", "--megabytes", "1", "--repeat", "1")
lines = [line for line in text.splitlines() if "| `" in line]
peers = {line.split("|")[4].strip() for line in lines}
if "PyTorch" not in text:
    check({"torch.fx splitter", "split_module"} <= peers, "torch.fx is not timed", text)
if "onnx (PyPI)" not in text:
    check({"extract_model", "load + infer", "cp of what it wrote"} <= peers, "onnx is not timed", text)
check(all(float(line.split("|")[6].replace(",", "")) > 0 for line in lines), "a ratio is wrong", text)
