#!/usr/bin/env python3
"""Runs the commands of a README.

Every line of a fenced `sh` block is a command; a line that ends in a backslash continues in the next.
The commands that run cleave run in order in one scratch folder, which has the samples, and with `cleave`
on the path. Each must exit 0, or with the code of a comment at its end: `# exits 1`. For other commands
(installing, building) the scripts that they name must exist.

usage: readme_test.py PROJECT_FOLDER CLEAVE      exit status 1 when a command goes wrong, 77: no README
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.M | re.S)
EXIT = re.compile(r"#\s*exits (\d+)")


def commands_of(readme):
    for block in BLOCK.findall(readme):
        for line in block.replace("\\\n", " ").splitlines():
            line = line.strip().removeprefix("$ ")
            if line and not line.startswith("#"):
                yield line


def run(command, scratch, environment):
    wanted = int(EXIT.search(command)[1]) if EXIT.search(command) else 0
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=scratch, env=environment,
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    if result.returncode == wanted:
        print(f"ok      {command}")
        return True
    print(f"FAILED  {command}\n  exits {result.returncode}, not {wanted}")
    print((result.stdout + result.stderr).decode(errors="replace")[-2000:])
    return False


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, cleave = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    if not (root / "README.md").exists():
        print("skipped: there is no README.md yet")
        sys.exit(77)
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("samples", "scripts"):
            os.symlink(root / name, Path(scratch) / name)
        environment = dict(os.environ, PATH=f"{cleave.parent}:{os.environ['PATH']}")
        for command in commands_of((root / "README.md").read_text(encoding="utf-8")):
            if re.search(r"(^|[|&;]\s*|/)cleave ", command) and "cmake" not in command:
                command = re.sub(r"(?<!\S)\S*/cleave ", "cleave ", command)
                good = run(command, scratch, environment) and good
                continue
            for script in re.findall(r"(?<!\S)(?:\./)?(scripts/\S+)", command):
                if not os.access(root / script, os.X_OK):
                    print(f"FAILED  {command}\n  {script} is not there or cannot be run")
                    good = False
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
