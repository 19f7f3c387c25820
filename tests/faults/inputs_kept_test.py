#!/usr/bin/env python3
"""Every pair of an output option and an input: no output may change, replace or remove an input.

Each pair is tried with the output's path being the input's own, a hard link to it and a symbolic link;
with folders, the folder holds the input under a name that the command writes, and a manifest lists it.
The input kinds are the model, its external data, lists, the configuration file, maps, tables of costs
and devices, workloads and baselines. Every option whose help names a FILE or DIR must be in the table
below, so that a new output is not forgotten.

usage: inputs_kept_test.py CLEAVE      Exit status 1 when an input was changed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "hostile"))
import protobuf as pb

WORKLOAD = ROOT.parent / "samples" / "workloads" / "residual_training.json"
GATE = "--min-coverage 1%"
SPLIT = {"model": "m.onnx", "data": "w.bin", "list": "l.txt", "config": "c.toml"}
STAGES = {"model": "m.onnx", "data": "w.bin", "config": "c.toml"}
CHECK = dict(SPLIT, **{"second list": "l2.txt"})

# command -> (arguments, its inputs)
COMMANDS = {
    "split": ("--config c.toml split m.onnx -s l.txt", SPLIT),
    "preview": ("--config c.toml preview m.onnx -s l.txt --verdicts v.csv", dict(SPLIT, verdicts="v.csv")),
    "draw": ("--config c.toml draw m.onnx -s l.txt --op-schemas o.txt", dict(SPLIT, schemas="o.txt")),
    "convert": ("--config c.toml convert m.onnx", STAGES),
    "partition": ("--config c.toml partition m.onnx --map map.csv", dict(STAGES, map="map.csv")),
    "stage": ("--config c.toml stage m.onnx --stages 2 --costs t.csv --devices d.csv",
              dict(STAGES, costs="t.csv", devices="d.csv")),
    "stage on targets": ("--config c.toml stage m.onnx -s l.txt --costs t.csv --devices e.csv",
                         dict(SPLIT, costs="t.csv", devices="e.csv")),
    "stage --workload": (
        "--config c.toml stage --workload work.json", {"config": "c.toml", "workload": "work.json"}),
    "check": (f"check --config c.toml m.onnx -s l.txt -s l2.txt {GATE} --baseline b.json",
              dict(CHECK, baseline="b.json")),
    "cut": ("--config c.toml cut m.onnx --nodes n.txt", dict(STAGES, nodes="n.txt")),
    "fix": ("--config c.toml fix m.onnx -s l.txt", SPLIT),
    "advise": ("--config c.toml advise m.onnx -s l.txt", SPLIT),
    "diff": ("--config c.toml diff m.onnx -s l.txt to -s l2.txt", CHECK),
    "lower": ("--config c.toml lower m.onnx -s l.txt --backend x=false --inputs i.npz",
              dict(SPLIT, inputs="i.npz")),
    "check to update": (f"check --config c.toml m.onnx -s l.txt -s l2.txt {GATE} --update-baseline",
                        CHECK),
}
FILES = {
    "split": ["--html", "--netron"],
    "preview": ["--html", "--netron"],
    "draw": ["-o", "--svg -o"],
    "convert": ["-o"],
    "cut": ["-o"],
    "fix": ["-o"],
    "lower": ["--deny-out", "--junit", "--sarif", "--markdown"],
    "advise": ["--html"],
    "diff": ["--html"],
    "check": ["--junit", "--sarif", "--markdown", "--html"],
    "partition": ["--html"],
    "stage": ["--html"],
    "stage --workload": ["--html"],
    "check to update": ["--baseline"],
}
# option -> names that are written into the folder
PARTS = ["root.onnx", "report.txt", "manifest.json"]
FOLDERS = {
    "split": {"-o": PARTS + ["preview.dot", "node_support.dot"],
              "--weights reference -o": PARTS + ["preview.dot", "_run_on_acc_0.onnx"],
              "--model-explorer": ["partition.json", "flops.json"]},
    "preview": {"--model-explorer": ["reason.json", "partition.json"]},
    "partition": {"-o": PARTS + ["stages.dot"], "--weights reference -o": PARTS},
    "stage": {"-o": PARTS + ["stages.dot"], "--weights reference -o": PARTS},
    "stage on targets": {"-o": PARTS + ["stages.dot"]},
    "lower": {"-o": ["lowering.json", "lowering.txt", "learned.json"]},
    "stage --workload": {"-o": ["report.txt", "manifest.json", "stages.dot"]},
}
# Options that name files and only read them.
READ = {"--nodes", "--config", "--support", "--map", "--costs", "--devices", "--workload",
        "--cache", "--inputs", "--verdicts", "--op-schemas"}


def make_inputs(folder, cleave):
    nodes = [pb.node("Add", ["x", "w"], ["t"], name="add"), pb.node("Neg", ["t"], ["y"], name="neg")]
    weight = pb.tensor("w", [2, 3], external=[("location", "w.bin")])
    (folder / "m.onnx").write_bytes(pb.simple(nodes, [weight]))
    (folder / "w.bin").write_bytes(b"W" * 24)
    for name, text in {"l.txt": "Add\n", "l2.txt": "Neg\n", "c.toml": "[check]\n",
                       "map.csv": "node,partition\nadd,0\nneg,1\n", "n.txt": "add\n", "i.npz": "inputs",
                       "o.txt": "mine::op(Tensor x) -> Tensor\n",
                       "v.csv": "node,supported\nadd,true\n", "t.csv": "node,time_us\nadd,1\nneg,2\n",
                       "d.csv": "name,memory,speed,link\na,1GiB,1,gen4x16\nb,1GiB,1,gen4x8\n",
                       "e.csv": "name,target\na,acc\nb,cpu\n"}.items():
        (folder / name).write_text(text)
    shutil.copy(WORKLOAD, folder / "work.json")
    made = subprocess.run([cleave, *f"check m.onnx -s l.txt -s l2.txt {GATE}".split(), "--baseline",
                           "b.json", "--update-baseline"], cwd=folder, capture_output=True, check=False)
    assert made.returncode in (0, 1) and (folder / "b.json").exists(), made.stderr


class Matrix:
    def __init__(self, cleave, start):
        self.cleave, self.start, self.runs, self.found = cleave, start, 0, []

    def run(self, folder, arguments):
        self.runs += 1
        return subprocess.run([self.cleave, *arguments.split()], cwd=folder, capture_output=True,
                              timeout=60, check=False)

    def expect_kept(self, folder, arguments, before):
        done = self.run(folder, arguments)
        now = {path: path.read_bytes() if path.exists() else None for path in before}
        lost = [path.name for path in before if before[path] != now[path]]
        if lost:
            self.found.append(f"cleave {arguments}: exit {done.returncode}, changed {lost}")
        elif done.returncode not in (2, 3, 4):
            self.found.append(f"cleave {arguments}: exit {done.returncode}, not refused")
        left = [path.name for path in folder.rglob(".cleave-*")]
        if left:
            self.found.append(f"cleave {arguments}: leaves {left}")

    def copy(self):
        parent = tempfile.TemporaryDirectory(prefix="cleave-inputs-")
        shutil.copytree(self.start, parent.name, dirs_exist_ok=True)
        return parent

    # ---- files ----

    def try_file(self, command, option, kind):
        arguments, inputs = COMMANDS[command]
        with self.copy() as name:
            folder = Path(name)
            path = folder / inputs[kind]
            aliases = [inputs[kind]]
            os.link(path, folder / "hard.json")
            os.symlink(path.name, folder / "soft.json")
            (folder / "sub").mkdir()
            aliases += ["hard.json", "soft.json", f"sub/../{inputs[kind]}"]
            before = {folder / file: (folder / file).read_bytes() for file in inputs.values()}
            for alias in aliases:
                if option == "--netron" and not alias.endswith(".json"):
                    continue
                self.expect_kept(folder, f"{arguments} {option} {alias}", before)

    # ---- folders ----

    def try_folder(self, command, option, names, kind):
        arguments, inputs = COMMANDS[command]
        force = "" if "explorer" in option else " --force"
        extra = " -o elsewhere" if command == "split" and "explorer" in option else ""
        for name in names:
            if name == "manifest.json" and kind != "list":
                continue
            with self.copy() as parent:
                folder = Path(parent)
                self.fill(folder, name, inputs[kind])
                kept = [folder / file for file in inputs.values() if file != inputs[kind]]
                kept.append(folder / "out" / name)
                before = {path: path.read_bytes() for path in kept}
                self.expect_kept(folder, f"{arguments}{extra} {option} out{force}", before)

    # `out` holds the input under that name, and a manifest that lists it; where the input was, there is
    # a link to it. With the model moves what it refers to.
    @staticmethod
    def fill(folder, name, source):
        out = folder / "out"
        out.mkdir()
        path = out / name
        if source == "m.onnx":
            shutil.copy(folder / "w.bin", out / "w.bin")
        os.rename(folder / source, path)
        os.symlink(f"out/{name}", folder / source)
        if source == "w.bin":  # the location must not lead out of the model's folder
            os.unlink(folder / source)
            os.link(path, folder / source)
        if name != "manifest.json":
            files = [{"name": file.name, "bytes": file.stat().st_size} for file in out.iterdir()]
            text = json.dumps({"format": "cleave.report", "version": 1, "files": files})
            (out / "manifest.json").write_text(text)

    def run_all(self):
        for command, options in FILES.items():
            for option in options:
                for kind in COMMANDS[command][1]:
                    self.try_file(command, option, kind)
        for command, options in FOLDERS.items():
            for option, names in options.items():
                for kind in COMMANDS[command][1]:
                    self.try_folder(command, option, names, kind)

    # ---- the table ----

    def check_table(self):
        commands = sorted({command.split()[0] for command in COMMANDS} |
                          {"advise", "diff", "explain", "lint-support", "print", "support"})
        for command in commands:
            text = self.run(self.start, f"{command} --help").stdout.decode()
            named = re.findall(r"^\s+(?:-\w,)?(--[-\w]+) (?:FILE|DIR|LIST)\b", text, re.M)
            tried = " ".join(option for table in (FILES, FOLDERS) for key, options in table.items()
                             if key.split()[0] == command for option in options)
            for option in named:
                if option in READ or option in tried or option == "--output" and "-o" in tried:
                    continue
                self.found.append(f"cleave {command} {option}: not in this test's table")

    def check_pairs_of_outputs(self):
        for command, options in FILES.items():
            with self.copy() as name:
                arguments = COMMANDS[command][0]
                for first in options:
                    for second in options:
                        if first == second or "-o" in first:
                            continue
                        done = self.run(name, f"{arguments} {first} same.json {second} ./same.json" +
                                        (" -o out" if command == "split" else ""))
                        if done.returncode != 2:
                            self.found.append(f"{command} {first} {second}, one file: {done}")
        with self.copy() as name:
            done = self.run(name, "preview m.onnx -s l.txt --model-explorer d --html d/partition.json")
            if done.returncode != 2:
                self.found.append(f"--html into --model-explorer: {done}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cleave = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="cleave-inputs-") as start:
        make_inputs(Path(start), cleave)
        matrix = Matrix(cleave, start)
        matrix.check_table()
        matrix.check_pairs_of_outputs()
        matrix.run_all()
    print(*matrix.found, sep="\n")
    print(f"{matrix.runs} runs, {len(matrix.found)} faults")
    sys.exit(1 if matrix.found or not matrix.runs else 0)


if __name__ == "__main__":
    main()
