#!/usr/bin/env python3
"""Runs that are stopped, and runs that meet each other, leave no half-done work.

1. Two signals in a row, as `timeout` and an impatient user send: no temporary folder, no process is left.
2. A command whose input lies in the folder that it would replace, at any depth, is refused.
3. Several runs that write one folder at once: in the end the files are one set.
4. A device that is read without end is no input.

usage: stopped_test.py CLEAVE PROJECT_FOLDER      Exit status 1 when something is left or lost.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SLOW = "#!/bin/sh\nsleep 100 &\nwait\n"
REFUSES = '#!/bin/sh\nif grep -q Conv "$1"; then echo no such kernel >&2; exit 1; fi\ncp "$1" "$2"\n'


class Stopped:
    def __init__(self, cleave, project, folder):
        self.cleave, self.folder, self.faults = cleave, Path(folder), []
        self.model = self.folder / "m.onnx"
        shutil.copy(project / "samples/mobile_block.onnx", self.model)
        self.list = project / "samples/tiny_npu.txt"
        for name, text in (("slow", SLOW), ("refuses", REFUSES)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def lower(self, model, script, out, *more):
        more = [*more, "--dim", "N=1"] if model == self.model else more
        return [self.cleave, "lower", str(model), "-s", str(self.list), "--backend",
                f"x={self.folder / script} {{model}} {{out}}", "-o", str(out), *more]

    def left(self):
        names = {path.name for path in self.folder.iterdir()}
        return sorted(names - {"m.onnx", "slow", "refuses", "out.journal.jsonl"})  # the journal is kept on purpose

    def running(self, but=None):
        """Commands of processes that name this test's compiler, but for the run of cleave itself."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.folder / "slow") in text and int(path.parent.name) not in (os.getpid(), but):
                found.append(text)
        return found

    def two_signals(self):
        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT),
                              (signal.SIGTERM, signal.SIGCONT), (signal.SIGINT, signal.SIGTERM)):
            for delay in (0.0, 0.0005, 0.003):
                run = subprocess.Popen(self.lower(self.model, "slow", self.folder / "out"), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
                end = time.monotonic() + 30
                while not self.running(run.pid) and run.poll() is None and time.monotonic() < end:
                    time.sleep(0.005)
                run.send_signal(first)
                time.sleep(delay)
                run.send_signal(second)
                run.wait(30)
                # The shell between is killed; its `sleep` too. The system may take a moment after cleave has ended.
                end = time.monotonic() + 10
                while self.running() and time.monotonic() < end:
                    time.sleep(0.005)
                self.check(run.returncode == -first, f"ended with {run.returncode} after {first!r}")
                self.check(not self.left(), f"{first!r}, {second!r} after {delay} s leave {self.left()}")
                self.check(not self.running(), f"{first!r} leaves processes: {self.running()}")

    def input_inside(self):
        out = self.folder / "out"
        done = subprocess.run(self.lower(self.model, "refuses", out), capture_output=True, text=True, timeout=60)
        found = sorted(out.glob("findings/*/model.onnx"))
        self.check(bool(found), f"the compiler that refuses all gave no finding: {done.stderr}")
        for model in found[:1]:
            again = subprocess.run(self.lower(model, "refuses", out, "--force"), capture_output=True, text=True,
                                   timeout=60)
            self.check(again.returncode == 4 and "input" in again.stderr, f"exit {again.returncode}: {again.stderr}")
            self.check(model.exists(), "the model in the folder that was to be replaced is gone")
        shutil.rmtree(out)

    def one_writer(self):
        other = self.folder / "other.txt"
        other.write_text("Conv\nClip\n")
        command = [self.cleave, "split", str(self.model), "--weights", "reference", "--force", "-o", str(self.folder),
                   "--drawings", "none", "-s"]
        for _ in range(8):
            runs = [subprocess.Popen([*command, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    for path in (self.list, other, self.list, other)]
            for run in runs:
                run.wait(60)
            manifest = json.loads((self.folder / "manifest.json").read_text())
            for entry in manifest["files"]:
                path = self.folder / entry["name"]
                size = path.stat().st_size if path.exists() else None
                self.check(size == entry["bytes"], f"{entry['name']} has {size} bytes, listed are {entry['bytes']}")
            last = subprocess.run([*command, str(self.list)], capture_output=True, text=True, timeout=60)
            self.check(last.returncode == 0, f"the next run is refused: {last.stderr}")

    def devices(self):
        for words in ((["preview", "/dev/zero", "-s", str(self.list)]), (["preview", str(self.model), "-s", "/dev/zero"]),
                      (["preview", str(self.model), "-s", str(self.list), "--verdicts", "/dev/urandom"])):
            done = subprocess.run([self.cleave, *words], capture_output=True, text=True, timeout=20)
            self.check(done.returncode == 3 and "without end" in done.stderr, f"{words}: exit {done.returncode}")

    def check(self, holds, fault):
        if not holds:
            self.faults.append(fault)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        test = Stopped(sys.argv[1], Path(sys.argv[2]), folder)
        test.two_signals()
        test.input_inside()
        test.devices()
        test.one_writer()
        print("\n".join(test.faults) or "nothing is left, and nothing is lost")
        sys.exit(1 if test.faults else 0)


if __name__ == "__main__":
    main()
