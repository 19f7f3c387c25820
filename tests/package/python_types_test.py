#!/usr/bin/env python3
"""Checks the types of the Python package with mypy, strictly, and those that a caller sees.

usage: python_types_test.py PROJECT_FOLDER      exit status 1 when types are wrong
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CALLER = """
import cleave
report = cleave.split("model.onnx", ["a.json", "b.json"], "parts", dim={"N": 1}, keep_qdq=True, force=True)
reveal_type(report.partitions[0].inputs[0].shape)
reveal_type(report.partitions[0].file)
reveal_type(cleave.check("model.onnx", "a.json").passed)
report.no_such_field
"""
SEEN = ['"list[int | str | None] | None"', '"str | None"', '"bool"']


def mypy(packages, folder, *arguments):
    """What mypy prints of the package and of files that use it."""
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir", folder, *arguments]
    done = subprocess.run(command, cwd=folder, env={"MYPYPATH": str(packages)}, capture_output=True, text=True)
    return done.stdout + done.stderr


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    packages = Path(sys.argv[1]).resolve() / "scripts/python"
    with tempfile.TemporaryDirectory() as folder:
        own = mypy(packages, folder, "--package", "cleave")
        Path(folder, "caller.py").write_text(CALLER, encoding="utf-8")
        caller = mypy(packages, folder, "caller.py")
    seen = re.findall(r"Revealed type is (\".*\")", caller)
    errors = re.findall(r"error: (.*)", caller)
    if "Success" not in own or seen != SEEN or len(errors) != 1 or "no_such_field" not in errors[0]:
        sys.exit(own + caller)
    print(own, end="")


if __name__ == "__main__":
    main()
