#!/usr/bin/env python3
"""Watches progress bars on a pseudo-terminal: they show the share, the rate and the time left, are erased
at the end, and do not change standard output. Without a terminal, with --quiet, and when standard output
is a pipe there is no bar.

usage: progress_test.py CLEAVE      exit status 1 when something is not as it should be
"""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

COLUMNS = 100
LINE = re.compile(r"reading \S+ (\[[#.]{8,20}\] )?\d+%, [\d.,]+ [KMG]?i?B of [\d.,]+ [KMG]iB, "
                  r"[\d.,]+ [KMG]?i?B/s, [\dhmins ]+ left")


def write_chain(path, count):
    """A model that takes some time to read."""
    with path.open("w") as out:
        out.write('{"format": "cleave.graph", "version": 1, "name": "chain", "inputs": [{"name": "x", '
                  '"dtype": "float32", "shape": [1, 64]}], "outputs": ["v0"], "parameters": [], "nodes": [')
        for i in range(count):
            read = "x" if i == 0 else f"v{i - 1}"
            out.write(f'{"," if i else ""}\n{{"name": "n{i}", "op": "Relu", "inputs": ["{read}"], '
                      f'"attributes": {{"axes": [1, 2, 3], "mode": "linear"}}, "scope": "block{i // 9}", '
                      f'"outputs": [{{"name": "v{i}", "dtype": "float32", "shape": [1, 64]}}]}}')
        out.write("]}\n")


def slow_down(process):
    """Lets it run a sixth of the time, so that small models take as long as large ones."""
    while process.poll() is None:
        time.sleep(0.02)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        process.send_signal(signal.SIGCONT)


def on_terminal(command, out, terminal="xterm", slowly=False):
    """(what a terminal at standard error was sent, the exit code); `out`: a file, or PIPE."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    process = subprocess.Popen(command, stdout=out, stderr=theirs, stdin=subprocess.DEVNULL,
                               env=os.environ | {"TERM": terminal, "NO_COLOR": "1"})
    os.close(theirs)
    if out == subprocess.PIPE:
        threading.Thread(target=process.stdout.read, daemon=True).start()
    if slowly:
        threading.Thread(target=slow_down, args=(process,), daemon=True).start()
    sent = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        sent += chunk
    os.close(ours)
    return sent.decode(), process.wait()


class Test:
    def __init__(self):
        self.faults = self.checks = 0

    def expect(self, holds, what):
        self.checks += 1
        if not holds:
            self.faults += 1
            print(f"wrong: {what}")

    def watch(self, command, expected_output, folder, is_last):
        """False where the command ended before a bar was due, and a larger model is at hand."""
        path = folder / "out.txt"
        with path.open("wb") as out:
            sent, code = on_terminal(command, out, slowly=True)
        if sent.count("reading") < 6 and not is_last:
            return False
        self.expect(code == 0, f"exit code {code}")
        self.expect(path.read_bytes() == expected_output, "standard output is as without a terminal")
        shown = [line for line in re.split(r"\r|\x1b\[K", sent) if line]
        bars = [line for line in shown if line.startswith("reading ")]
        self.expect(len(bars) >= 2, f"a bar is shown and moves: {shown}")
        told = [LINE.fullmatch(bar) for bar in bars]
        self.expect(all(told), f"what a bar tells: {bars}")
        self.expect(all(len(bar) < COLUMNS for bar in bars), "bars fit into a line")
        shares = [int(re.search(r"(\d+)%", bar)[1]) for bar in bars]
        self.expect(shares == sorted(shares) and shares[-1] > shares[0], f"shares rise: {shares}")
        self.expect(sent.rstrip("\n").endswith("\r\x1b[K"), f"erased in the end: {sent[-60:]!r}")
        self.expect(sent.count("\n") == 0, "nothing stays on the terminal")
        return True

    def expect_none(self, what, sent):
        self.expect("%" not in sent and "\x1b[K" not in sent, f"{what}: {sent[:200]!r}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cleave = Path(sys.argv[1]).resolve()
    test = Test()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model, support = folder / "chain.json", folder / "ops.txt"
        support.write_text("Relu\n")
        preview = [cleave, "preview", model, "-s", support]
        sizes = (100_000, 400_000, 800_000, 1_600_000)  # until one takes long enough on this machine
        for count in sizes:
            write_chain(model, count)
            plain = subprocess.run(preview, check=True, capture_output=True)
            if test.watch(preview, plain.stdout, folder, is_last=count == sizes[-1]):
                break
        test.expect(plain.stderr == b"", f"without a terminal: {plain.stderr[:200]!r}")
        with open(os.devnull, "wb") as nowhere:
            test.expect_none("--quiet", on_terminal([*preview, "--quiet"], nowhere, slowly=True)[0])
            test.expect_none("dumb terminal", on_terminal(preview, nowhere, "dumb", slowly=True)[0])
        sent, _ = on_terminal([*preview, "--json"], subprocess.PIPE, slowly=True)
        test.expect_none("--json piped", sent)
        write_chain(model, 10)
        with open(os.devnull, "wb") as nowhere:
            test.expect_none("a moment's work", on_terminal(preview, nowhere)[0])
    print(f"{test.checks} checks, {test.faults} faults")
    sys.exit(1 if test.faults or not test.checks else 0)


if __name__ == "__main__":
    main()
