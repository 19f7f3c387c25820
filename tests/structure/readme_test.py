#!/usr/bin/env python3
"""Runs the commands of a README or a guide, and compares what they print with what it shows.

Blocks are fenced by ```:

    sh            each line is a command; a line that ends in a backslash continues in the next
    bash          commands that need other programs: not run
    json FILE     written to FILE before the next commands; the same with any other language
    (none)        right after a block of commands: what they print. Lines `...` are any lines; a table or a
                  report may end early only at one of these
    text, ...     anything else: not compared

Commands run on a terminal of 100 columns, as documents show it, in order in one scratch folder, which has the samples
and scripts, with `cleave` and this Python on the path. Each must exit 0, or with the code of a comment at its end:
`# exits 1`. A command that ends in `# needs onnx, onnxruntime` is skipped, by name, where this Python has no such
module. Commands that install or build are not run; the scripts that they name must exist.

usage: readme_test.py PROJECT_FOLDER CLEAVE [DOCUMENT]     DOCUMENT: README.md, or another in the project
exit status 1 when a command goes wrong
"""

import fcntl
import importlib.util
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.M | re.S)
EXIT = re.compile(r"#\s*exits (\d+)")
NEEDS = re.compile(r"#\s*needs ([\w, ]+)$")
NOT_RUN = re.compile(r"^(?:scripts/\S+\.sh|cmake|cpack|ctest|pip)\b")


def on_terminal(command, folder, environment):
    """(all that the command prints on a terminal of 100 columns and endless lines, its exit code)"""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 10000, 100, 0, 0))
    printed = b""
    with subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            printed += piece
        os.close(ours)
    return printed.decode(errors="replace").replace("\r\n", "\n"), process.returncode


class Document:
    def __init__(self, project, cleave, name, scratch):
        self.project, self.scratch, self.faults, self.shown = project, scratch, 0, 0
        self.text = (project / name).read_text(encoding="utf-8")
        path = os.pathsep.join([str(cleave.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("CLEAVE_LISTS", "GITHUB_ACTIONS", "COLUMNS")}
        self.environment |= {"PATH": path, "TERM": "dumb", "NO_COLOR": "1", "XDG_CACHE_HOME": str(scratch / "cache")}
        for link in ("samples", "scripts", "formats", "tests"):
            os.symlink(project / link, scratch / link)

    def fault(self, what):
        self.faults += 1
        print(f"FAILED  {what}")

    def run_all(self):
        printed, end = None, 0
        for block in BLOCK.finditer(self.text):
            kind, _, file = block[1].partition(" ")
            follows = printed is not None and not self.text[end:block.start()].strip()
            if file:
                (self.scratch / file).write_text(block[2], encoding="utf-8")
            elif kind == "sh":
                printed = self.run_block(block[2])
            elif kind == "" and follows:
                self.compare(block[2], printed)
            if kind != "sh" or file:
                printed = None
            end = block.end()

    def run_block(self, block):
        """All that the commands print; None when one is skipped."""
        outputs = []
        for line in block.replace("\\\n", " ").splitlines():
            command = line.strip().removeprefix("$ ")
            if command and not command.startswith("#"):
                outputs.append(self.run(command))
        return None if None in outputs else "".join(outputs)

    def run(self, command):
        if NOT_RUN.search(command):
            for script in re.findall(r"(?<!\S)(?:\./)?(scripts/\S+)", command):
                if not os.access(self.project / script, os.X_OK):
                    self.fault(f"{command}\n  {script} is not there or cannot be run")
            return None
        needs = NEEDS.search(command)
        missing = [name for name in re.findall(r"\w+", needs[1]) if not importlib.util.find_spec(name)] if needs else []
        if missing:
            print(f"skipped {command}: {sys.executable} has no {', '.join(missing)}")
            return None
        wanted = int(EXIT.search(command)[1]) if EXIT.search(command) else 0
        printed, code = on_terminal(command, self.scratch, self.environment)
        if code != wanted:
            self.fault(f"{command}\n  exits {code}, not {wanted}\n{printed[-2000:]}")
        else:
            print(f"ok      {command}")
        return printed

    def compare(self, shown, printed):
        """Each run of shown lines must be in what was printed, in order; the first begins it, the last ends it."""
        self.shown += 1
        lines = [line.rstrip() for line in printed.splitlines()]
        parts = [part.strip("\n") for part in re.split(r"^\.\.\.$", shown, flags=re.M)]
        at = 0
        for number, part in enumerate(parts):
            wanted = [line.rstrip() for line in part.splitlines()]
            starts = range(at, len(lines) - len(wanted) + 1)
            if number == 0 and wanted:
                starts = range(1)
            if number == len(parts) - 1 and wanted:
                starts = range(max(at, len(lines) - len(wanted)), len(lines) - len(wanted) + 1)
            found = next((start for start in starts if lines[start:start + len(wanted)] == wanted), None)
            if found is None:
                self.fault("shown, but not printed:\n" + part + "\nprinted:\n" + "\n".join(lines[:60]))
                return
            at = found + len(wanted)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    project, cleave = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        document = Document(project, cleave, sys.argv[3] if len(sys.argv) > 3 else "README.md", Path(scratch))
        document.run_all()
    print(f"{document.shown} outputs compared, {document.faults} faults")
    sys.exit(1 if document.faults else 0)


if __name__ == "__main__":
    main()
