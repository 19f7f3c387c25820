#!/usr/bin/env python3
"""What is shown on a pseudo-terminal, and what goes into a pipe: on a terminal lines are as long as it is wide, verdicts
have colour, and a conclusion that has left the screen stands at the end as well; in a pipe and in a file no line is
broken, whatever COLUMNS says.

usage: terminal_test.py CLEAVE      exit status 1 when something is not as it should be
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent.parent / "samples"
ESCAPE = re.compile(r"\x1b\[\d*m")
MODEL = ["mobile_block.onnx", "-s", "tiny_npu.txt", "--dim", "N=1"]


def environment(changes):
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    return known | {"TERM": "xterm", "LC_ALL": "C.UTF-8"} | changes


def on_terminal(words, columns, rows=24, **changes):
    """What the command prints on a terminal of that size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=SAMPLES,
                          env=environment(changes)):
        os.close(theirs)
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
    return sent.decode().replace("\r\n", "\n")


def piped(words, **changes):
    return subprocess.run(words, capture_output=True, text=True, cwd=SAMPLES, env=environment(changes),
                          check=False).stdout


def joined(text):
    """A text without blanks, which is the same however its lines are broken."""
    return "".join(ESCAPE.sub("", text).split())


def are_same_words(shown, plain):
    """Whether all words of each are in the other: a table wider than the terminal comes in parts, of which each has the first
    column again; nothing else is in another order."""
    if joined(shown) == joined(plain):
        return True
    is_within = lambda one, other: all(word in joined(other) for word in ESCAPE.sub("", one).split())
    return is_within(plain, shown) and is_within(shown, plain)


def widest(text):
    return max(len(line) for line in ESCAPE.sub("", text).splitlines())


def faults_of(cleave):
    preview = [cleave, "preview", *MODEL]
    check = [cleave, "check", *MODEL, "--min", "coverage=95%", "--max", "cpu-nodes=2"]
    for words in ([cleave, "mobile_block.onnx"], preview, check, [cleave, "--help"], [cleave, "split", "--help"],
                  [cleave, "help", "split"], [cleave, "advise", *MODEL]):
        plain = piped(words)
        name = " ".join(words[1:])
        if piped(words, COLUMNS="40") != plain or "\x1b" in plain:
            yield f"{name}: a pipe is shown something else with COLUMNS, or colours"
        for columns in (60, 80, 160):
            shown = on_terminal(words, columns, rows=1000)
            if widest(shown) > columns:
                yield f"{name}: a line of {widest(shown)} columns on a terminal of {columns}"
            is_same = joined(shown) == joined(plain) if columns == 160 else are_same_words(shown, plain)
            if words[1] != "help" and not is_same:
                yield f"{name}: other words on a terminal of {columns} columns than in a pipe"
        if on_terminal(words, 80, rows=1000, COLUMNS="50") != on_terminal(words, 50, rows=1000):
            yield f"{name}: COLUMNS is not obeyed"
    if widest(piped(preview)) <= 100:
        yield "preview breaks lines in a pipe"

    for words, verdict in ((preview, "worth it: \x1b[31mNO\x1b[0m"), (check, "\x1b[31mFAILED\x1b[0m: 2 of 2 gates fail")):
        for rows, times in ((8, 2), (500, 1)):
            count = on_terminal(words, 100, rows).count(verdict)
            if count != times:
                yield f"{words[1]}: the verdict stands {count} times on a terminal of {rows} lines"
        for changes, more, is_coloured in (({"NO_COLOR": "1"}, (), False), ({}, ("--color", "never"), False),
                                           ({"NO_COLOR": "1"}, ("--color", "always"), True)):
            if ("\x1b[31m" in on_terminal([*words, *more], 100, **changes)) != is_coloured:
                yield f"{words[1]} {more} {changes}: {'no ' if is_coloured else ''}colour"
        if verdict not in piped([*words, "--color", "always"]):
            yield f"{words[1]} --color always has no colour in a pipe"
    if "\x1b" in on_terminal([*preview, "--json", "--color", "always"], 80) or \
            on_terminal([*preview, "--json"], 80) != piped([*preview, "--json"]):
        yield "JSON is shown in another way on a terminal"
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for place, run in (("a", lambda words: on_terminal(words, 50)), ("b", piped)):
            run([cleave, "split", *MODEL, "-o", f"{folder}/{place}", "--color", "always"])
            files.append(Path(folder, place, "report.txt").read_bytes())
        if files[0] != files[1] or b"\x1b" in files[0]:
            yield "split writes another report.txt on a terminal"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = list(faults_of(os.path.abspath(sys.argv[1])))
    print("\n".join(faults) or "all is shown as it should be")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
