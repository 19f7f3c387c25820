#!/usr/bin/env python3
"""Completes command lines in an interactive zsh, with the tab key, on a pseudo-terminal.

usage: zsh_test.py CLEAVE      exit status 1 when something else is offered; 77 without zsh
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READY = "ready>"
# What is typed, and what the terminal must show then.
CASES = [
    ("cleave prev\t", "cleave preview "),
    ("cleave advise --go\t", "cleave advise --goal "),
    ("cleave preview m.onnx --start f\t", "--start fewest "),
    ("cleave check m.onnx --min-acc\t", "--min-acc-module-size "),
    ("cleave check m.onnx --max cpu\t", "--max cpu-nodes="),
    ("cleave \t\t", "show, begin or lint support lists"),
    ("cleave preview mod\t", "cleave preview model.onnx "),
]


class Zsh:
    def __init__(self, folder):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", ZDOTDIR=str(folder), COLUMNS="200")
            os.chdir(folder)
            os.execvp("zsh", ["zsh", "-i"])
        self.wait_for(READY)

    def wait_for(self, text):
        """What is on the terminal when the text is there, or after 60 seconds."""
        sent, end = b"", time.monotonic() + 60
        while time.monotonic() < end:
            if not select.select([self.terminal], [], [], 0.2)[0]:
                continue
            try:
                sent += os.read(self.terminal, 65536)
            except OSError:
                break
            shown = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", sent).decode(errors="replace")
            # A character that a backspace follows is typed over.
            shown = re.sub(r"[^\x08]\x08", "", shown)
            if text in shown:
                return shown
        return sent.decode(errors="replace")

    def stop(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if shutil.which("zsh") is None:
        print("skipped: there is no zsh; scripts/setup.sh --all installs it")
        sys.exit(77)
    cleave = Path(sys.argv[1]).resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        functions = folder / "functions"
        functions.mkdir()
        script = subprocess.run([cleave, "help", "zsh"], check=True, capture_output=True)
        (functions / "_cleave").write_bytes(script.stdout)
        (folder / "model.onnx").touch()
        (folder / ".zshrc").write_text(
            f"fpath=({functions} $fpath)\nautoload -Uz compinit\ncompinit -u -d {folder}/dump\n"
            f"setopt no_beep\nunsetopt zle_bracketed_paste prompt_sp\nPS1='{READY}'\n")
        for typed, wanted in CASES:
            zsh = Zsh(folder)
            os.write(zsh.terminal, typed.encode())
            shown = zsh.wait_for(wanted)
            zsh.stop()
            if wanted not in shown:
                failed += 1
                print(f"after {typed!r}: {shown!r}, without {wanted!r}")
    print(f"{len(CASES)} lines completed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
