#!/usr/bin/env python3
"""Any command may be stopped at any moment: nothing is left behind, and a pipeline that it is in ends.

Every command runs once to its end, and then is stopped at random moments, by turns as `timeout` does it (two
signals) and by two interrupts of the whole group, as a terminal sends them. After each: no process of the run is
there, its folder for temporary files is empty, its inputs are as before, and each output is whole or not there.

usage: stopped_anywhere_test.py CLEAVE PROJECT_FOLDER [--count STOPS] [--seed N] [--only WORD]
Exit status 1 when something is left, lost, or does not end.
"""
import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INPUTS = ("resnet18.json", "npu.json", "mobile_block.onnx", "tiny_npu.txt", "resnet18_parts.csv", "pipeline.json",
          "devices.csv")
SCRIPTS = {
    # Takes a while, with a child of its own; refuses pooling.
    "slow": '#!/bin/sh\nsleep 0.03 &\nwait\nif grep -q GlobalAveragePool "$1"; then echo no kernel >&2; exit 1; fi\n'
            'cp "$1" "$2"\n',
    "timed": '#!/bin/sh\nsleep 0.02 &\nwait\necho 0.5 ms\n',
}
FILES = {
    "slow.json": '{"format": "cleave.backend", "version": 1, "name": "slow", "compile": {"argv": '
                 '["{here}/slow", "{model}", "{out}"], "produces": ["{out}"]}}',
    "profile.csv": "node,time_us\nconv1,10\n",
    "names.txt": "/head/Flatten\n",
    "all.txt": "*\n",
}
JSON, ONNX = "resnet18.json -s npu.json", "mobile_block.onnx -s tiny_npu.txt --dim N=1"
COMPILER = "--backend ./slow.json --cache off"
TIMES = "--target cpu:flops=5GFLOP/s,bandwidth=2GB/s --target acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s"
# Arguments of each command, and the files and folders that it writes; "*": files that are one set.
RUNS = [
    ("inspect resnet18.json", ()),
    ("help ci", ()),
    (f"preview {JSON} --html page.html --viewer explorer", ("page.html", "explorer")),
    (f"preview {ONNX} --place cost {TIMES}", ()),
    (f"preview {JSON} --show ops", ()),
    (f"explain {JSON}", ()),
    (f"draw {ONNX} -o m.svg", ("m.svg",)),
    (f"preview {JSON} --show nodes", ()),
    (f"split {ONNX} -o out", ("out",)),
    (f"split {ONNX} --html page.html -o out", ("out", "page.html")),
    (f"split {ONNX} --weights reference -o .", ("*",)),
    ("split resnet18.json --map resnet18_parts.csv -o out", ("out",)),
    ("stage mobile_block.onnx --dim N=1 --stages 4 -o out", ("out",)),
    ("convert mobile_block.onnx -o m.json", ("m.json",)),
    (f"check {JSON} --min coverage=1% --ci c.xml --ci c.sarif -o b.json",
     ("c.xml", "c.sarif", "b.json")),
    (f"diff {JSON} to --deny Conv", ()),
    (f"advise {JSON}", ()),
    ("tune resnet18.json --learn profile.csv -o k.json", ("k.json",)),
    ("lists new resnet18.json -o l.json", ("l.json",)),
    ("lists lint npu.json resnet18.json", ()),
    (f"probe mobile_block.onnx --dim N=1 {COMPILER} -o l.json", ("l.json", "l.json.evidence.jsonl")),
    (f"tune {ONNX} {TIMES} --run ./timed --run ./timed||{{split}} -o t.json", ("t.json", "t.json.journal")),
    (f"lower {ONNX} {COMPILER} --until-clean -o out --deny-out l.json", ("out", "l.json", "out.journal.jsonl")),
    (f"lower mobile_block.onnx -s all.txt --dim N=1 {COMPILER} --until-clean -o out -j 3", ("out", "out.journal.jsonl")),
    (f"reduce mobile_block.onnx --dim N=1 {COMPILER} -o out", ("out",)),
    (f"convert {ONNX} -o fixed.onnx", ("fixed.onnx",)),
    ("cut mobile_block.onnx --nodes names.txt -o c.onnx", ("c.onnx",)),
    ("backend check ./slow.json", ()),
]
JOURNALS = ("t.json.journal", "out.journal.jsonl")  # kept on purpose: the next run goes on
MARK = "CLEAVE_TEST_OF_STOPS"
SECONDS = 60  # in which every run, and what follows it in a pipeline, must end


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def processes(mark):
    """Those that have the mark in their environment: the run's, whatever started them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


class Stops:
    def __init__(self, cleave, project, folder):
        self.cleave, self.folder, self.faults, self.stopped = cleave, Path(folder), [], 0
        self.start, self.tmp = self.folder / "start", self.folder / "tmp"
        self.start.mkdir()
        self.tmp.mkdir()
        for name in INPUTS:
            shutil.copy(project / "samples" / name, self.start)
        for name, text in (SCRIPTS | FILES).items():
            (self.start / name).write_text(text)
        for name in SCRIPTS:
            (self.start / name).chmod(0o755)
        self.inputs = files_of(self.start)

    def begin(self, place, words, mark):
        """The words, before `| cat`, in a group of their own."""
        shutil.copytree(self.start, place)
        env = dict(os.environ, TMPDIR=str(self.tmp), XDG_CACHE_HOME=str(self.tmp), **{MARK: mark})
        return subprocess.Popen(["bash", "-c", '"$@" | cat > /dev/null; exit ${PIPESTATUS[0]}', "pipe", *words],
                                cwd=place, env=env, stderr=subprocess.DEVNULL, start_new_session=True)

    def whole(self, arguments):
        """(seconds, names of the files) of a run that nobody stops."""
        place = self.folder / "whole"
        begin = time.monotonic()
        code = self.begin(place, [self.cleave, *arguments.split()], "whole").wait(10 * SECONDS)
        took = time.monotonic() - begin
        made = sorted(set(files_of(place)) - set(self.inputs))
        shutil.rmtree(place)
        if code not in (0, 1, 5):
            self.faults.append(f"cleave {arguments}: exit {code}")
        return took, made

    def stop(self, number, arguments, units, took, made):
        place, mark = self.folder / f"run{number}", f"{MARK}={os.getpid()}.{number}"
        after = max(0.002, self.random.random() * took)
        words = [self.cleave, *arguments.split()]
        if number % 2 == 0:
            what = f"timeout {after:.4f} cleave {arguments}"
            run = self.begin(place, ["timeout", f"{after:.4f}", *words], mark.split("=")[1])
        else:
            what = f"two interrupts after {after:.4f} s: cleave {arguments}"
            run = self.begin(place, words, mark.split("=")[1])
            time.sleep(after)
            for pause in (self.random.choice((0, 0.0005, 0.003, 0.02)), 0):
                try:
                    os.killpg(run.pid, signal.SIGINT)
                except ProcessLookupError:
                    break
                time.sleep(pause)
        try:
            run.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.faults.append(f"{what}: the pipeline does not end: {processes(mark)}")
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        self.look(what, place, mark, units, made)
        self.stopped += run.returncode not in (0, 1)
        shutil.rmtree(place)

    def look(self, what, place, mark, units, made):
        end = time.monotonic() + 10
        while processes(mark) and time.monotonic() < end:
            time.sleep(0.02)
        left = processes(mark)
        if left:
            self.faults.append(f"{what}: leaves processes {left}")
        if temporaries := sorted(path.name for path in self.tmp.iterdir() if path.name != "cleave"):
            self.faults.append(f"{what}: leaves {temporaries} in TMPDIR")
            for name in temporaries:
                shutil.rmtree(self.tmp / name, ignore_errors=True)
        now = files_of(place)
        if changed := [name for name, data in self.inputs.items() if now.get(name) != data]:
            self.faults.append(f"{what}: changes {changed}")
        new = set(now) - set(self.inputs) - set(JOURNALS)
        for unit in units:
            wants = {name for name in made if unit in ("*", name) or name.startswith(unit + "/")} - set(JOURNALS)
            has = {name for name in new if unit in ("*", name) or name.startswith(unit + "/")}
            if has not in (set(), wants):
                self.faults.append(f"{what}: {unit} is not whole: lacks {sorted(wants - has)}, has {sorted(has - wants)}")
            new -= has
        if new:
            self.faults.append(f"{what}: leaves {sorted(new)}")

    def run(self, options):
        self.random = random.Random(options.seed)
        runs = [one for one in RUNS if options.only in one[0]]
        known = [self.whole(arguments) for arguments, _ in runs]
        # Some end before they are stopped: these do not count.
        self.runs = 0
        while self.stopped < options.count and self.runs < 5 * options.count:
            i = self.runs // 2 % len(runs)
            self.stop(self.runs, *runs[i], *known[i])
            self.runs += 1

    def check_table(self):
        """Every command is here."""
        text = subprocess.run([self.cleave, "--help"], capture_output=True, text=True, check=True).stdout
        has = {arguments.split()[0] for arguments, _ in RUNS}
        names = set(re.findall(r"^  ([a-z][-a-z]+)  ", text, re.M))
        # These become a program of Python at once, and write nothing of their own.
        names -= {"run", "verify"}
        if names != has:
            self.faults.append(f"cleave {' '.join(sorted(names ^ has))}: not in this test's table, or no command")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave", type=os.path.abspath)
    parser.add_argument("project", type=Path)
    parser.add_argument("--count", type=int, default=2 * len(RUNS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    # Who starts this in the background of a shell lets it ignore interrupts, and its children would, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="cleave-stops-") as folder:
        test = Stops(options.cleave, options.project, folder)
        test.check_table()
        test.run(options)
        print("\n".join(test.faults) or f"{test.stopped} of {test.runs} runs were stopped: nothing is left")
        sys.exit(1 if test.faults else 0)


if __name__ == "__main__":
    main()
