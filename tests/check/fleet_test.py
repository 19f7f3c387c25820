#!/usr/bin/env python3
"""Tests `cleave check` on a folder of many models: all are checked in one run, in the order of their names;
one that cannot be read is an error of every form of the report, and ends none of it.

usage: fleet_test.py PROJECT_FOLDER CLEAVE [COUNT]      exit status 1 when something is missing; COUNT models, 40
"""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

SAMPLES = ["mobile_block.onnx", "attention.onnx", "recurrent.onnx", "keyword.tflite"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    samples, cleave = Path(sys.argv[1]).resolve() / "samples", sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i in range(count):
            source = samples / SAMPLES[i % len(SAMPLES)]
            inside = folder / "models" / f"team{i % 3}"
            inside.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, inside / f"m{i:04}{source.suffix}")
        broken = folder / "models" / "team1" / "broken.onnx"
        broken.write_bytes(b"no model")
        (folder / "models" / "notes.txt").write_text("no model either")

        def run(*arguments):
            lists = ("-s", samples / "tiny_npu.txt", "-s", samples / "npu.json")
            return subprocess.run([cleave, "check", "models", *lists, *arguments], cwd=folder, capture_output=True,
                                  check=False)

        done = run("--min", "coverage=50%", "--json", "--ci", "junit.xml", "--ci", "fleet.md")
        assert done.returncode == 3, done.returncode
        report = json.loads(done.stdout)
        models = [run["model"] for run in report["runs"]]
        assert len(models) == 2 * count and models == sorted(models), len(models)
        assert not report["passed"]
        assert [error["model"] for error in report["errors"]] == ["models/team1/broken.onnx"], report["errors"]
        suites = ElementTree.parse(folder / "junit.xml").getroot()
        assert suites.get("errors") == "1" and len(suites) == 2 * count + 1, suites.attrib
        assert "broken.onnx" in (folder / "fleet.md").read_text()
        text = run("--min", "coverage=50%").stdout.decode()
        assert text.startswith("FAILED: 1 model not checked; "), text[:200]
        marks = [line.split()[0] for line in text.splitlines() if line.startswith(("  FAIL  models", "  ok    models"))]
        assert marks == sorted(marks) and marks[0] == "FAIL", marks[:5]  # FAIL before ok
        assert "the list does not have op" in text
        table = run("--show", "table").stdout.decode().splitlines()
        assert table[0].split()[0] == "model" and len(table) >= count + 1, table[:3]
        assert sum(line.startswith("models/") for line in table) == count, table[:3]
        assert run("--min", "coverage=50%", "--json").stdout == done.stdout  # the same bytes again
        broken.unlink()
        assert run("--min", "coverage=0%").returncode == 0
    print(f"{count} models with 2 lists are checked in one run")


if __name__ == "__main__":
    main()
