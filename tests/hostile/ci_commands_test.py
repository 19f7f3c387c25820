#!/usr/bin/env python3
"""Tests that names cannot run commands of GitHub's runner: with GITHUB_ACTIONS set, no line of output
begins with "::" after blanks or contains "##[", except cleave's annotations. Without it names are
printed as they are, and JSON has the same contents in both cases.

usage: ci_commands_test.py CLEAVE      Exit status 1 when a line is a command.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ["::error::x", "::set-env name=PATH::/tmp", "##[error]x", " ::stop-commands::t", "a ##[debug]",
         "::add-mask::secret", "\u00a0::notice::x", "\u2003::warning::x", "::group::", "##[set-env name=a]b"]
COMMANDS = ["inspect {m} --show nodes", "preview {m} -s {l} --show nodes", "preview {m} -s {l}", "preview {m} -s {l} --json",
            "preview {m} -s {l} --show ops", "preview {m} -s {l} --show ops --json", "explain {m} -s {l}",
            "explain {m} -s {l} --json", "explain {m} -s {l} ::nonesuch", "advise {m} -s {l}",
            "advise {m} -s {l} --json", "convert {m}", "draw {m} -s {l}",
            "diff {m} -s {l} to --min-acc-module-size 3", "diff {m} -s {l} to --min-acc-module-size 3 --json",
            "lists lint {l} {m}", "lists lint {l} {m} --json", "stage {m} --stages 2",
            "stage {m} --stages 2 --json", "check {m} -s {l} --min coverage=99%",
            "check {m} -s {l} --min coverage=99% --json", "check {m} -s {l} --max cpu-nodes=0 --ci github",
            "inspect {broken} --show nodes", "preview {m} -s {broken}", "preview {m} -s ::nonesuch"]
COMMAND = re.compile(r"^\s*\ufeff?\s*::|##\[")
MEANT = re.compile(r"^::error [a-z]+=")


def model(names):
    nodes, last = [], "x"
    for i, name in enumerate(names):
        op = name if i % 2 else "f"
        nodes.append({"name": name, "op": op, "inputs": [last], "outputs": [{"name": name}],
                      "scope": name.replace(".", "")})
        last = name
    return {"format": "cleave.graph", "version": 1, "name": names[0], "inputs": [{"name": "x"}],
            "outputs": [last], "nodes": nodes}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cleave = os.path.abspath(sys.argv[1])
    found, lines = [], 0
    with tempfile.TemporaryDirectory(prefix="cleave-ci-") as folder:
        files = {"m": "::m.json", "l": "::l.txt", "broken": "::broken.json"}
        Path(folder, files["m"]).write_text(json.dumps(model(NAMES)))
        Path(folder, files["l"]).write_text("f\neror\n")
        Path(folder, files["broken"]).write_text('{"format": "cleave.graph",\n   ::error::x ##[error]y\n}')
        for command in COMMANDS:
            words = [word.format(**files) for word in command.split()]
            plain, on_ci = (subprocess.run([cleave, *words], cwd=folder, capture_output=True, timeout=60,
                                           check=False, env=dict(os.environ, **more))
                            for more in ({"GITHUB_ACTIONS": ""}, {"GITHUB_ACTIONS": "true"}))
            if plain.returncode != on_ci.returncode:
                found.append(f"{command}: exit {plain.returncode}, on GitHub {on_ci.returncode}")
            for stream in (on_ci.stdout, on_ci.stderr):
                for line in re.split(r"\r\n|\n|\r", stream.decode()):
                    lines += 1
                    if COMMAND.search(line) and not ("--ci github" in command and MEANT.match(line)):
                        found.append(f"{command}: {line!r}")
            if "--json" in command or command.startswith("convert"):
                if json.loads(plain.stdout) != json.loads(on_ci.stdout):
                    found.append(f"{command}: other JSON on GitHub")
    print(*found, sep="\n")
    print(f"{len(COMMANDS)} commands, {lines} lines, {len(found)} faults")
    sys.exit(1 if found or lines < 100 else 0)


if __name__ == "__main__":
    main()
