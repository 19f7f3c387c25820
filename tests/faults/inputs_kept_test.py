#!/usr/bin/env python3
"""Every pair of an output option and an input: no output may change, replace or remove an input.

Each pair is tried with --force, and with the output's path being the input's own, a hard link to it and a
symbolic link; with folders, the folder holds the input under a name that the command writes, and a manifest
lists it. The input kinds are the model, its external data, lists, the configuration file, maps, tables of
costs and devices, workloads, baselines, files of folders, and programs that commands name. Every option whose
help names a FILE or DIR must be in a table below, so that none is forgotten.

Without --force no output may replace a file that was made by hand. What cannot be looked through is left.

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
GATE = "--min coverage=1%"
SPLIT = {"model": "m.onnx", "data": "w.bin", "list": "l.txt", "config": "c.toml"}
STAGES = {"model": "m.onnx", "data": "w.bin", "config": "c.toml"}
CHECK = dict(SPLIT, **{"second list": "l2.txt"})

# command -> (arguments, its inputs)
COMMANDS = {
    "split": ("--config c.toml split m.onnx -s l.txt", SPLIT),
    "preview": ("--config c.toml preview m.onnx -s l.txt --verdicts v.csv", dict(SPLIT, verdicts="v.csv")),
    "draw": ("--config c.toml draw m.onnx -s l.txt --op-schemas o.txt", dict(SPLIT, schemas="o.txt")),
    "convert": ("--config c.toml convert m.onnx", STAGES),
    "split by a map": ("--config c.toml split m.onnx --map map.csv", dict(STAGES, map="map.csv")),
    "preview by a map": ("preview m.onnx --map map.csv", {"model": "m.onnx", "map": "map.csv"}),
    "stage": ("--config c.toml stage m.onnx --stages 2 --costs t.csv --devices d.csv",
              dict(STAGES, costs="t.csv", devices="d.csv")),
    "stage on targets": ("--config c.toml stage m.onnx -s l.txt --costs t.csv --devices e.csv",
                         dict(SPLIT, costs="t.csv", devices="e.csv")),
    "stage of a workload": (
        "--config c.toml stage work.json", {"config": "c.toml", "workload": "work.json"}),
    "check": (f"check --config c.toml m.onnx -s l.txt -s l2.txt {GATE} --baseline b.json",
              dict(CHECK, baseline="b.json")),
    "cut": ("--config c.toml cut m.onnx --nodes n.txt", dict(STAGES, nodes="n.txt")),
    "convert to ONNX": ("--config c.toml convert m.onnx -s l.txt", SPLIT),
    "advise": ("--config c.toml advise m.onnx -s l.txt", SPLIT),
    "diff": ("--config c.toml diff m.onnx -s l.txt to -s l2.txt", CHECK),
    "lower": ("--config c.toml lower m.onnx -s l.txt --backend x=false --inputs i.npz",
              dict(SPLIT, inputs="i.npz")),
    "check to write": (f"check --config c.toml m.onnx -s l.txt -s l2.txt {GATE}", CHECK),
    "split of inputs": ("split m.onnx -s l.txt --capture --inputs inp",
                        {"file of inputs": "inp/input_0.pb", "deep file of inputs": "inp/deep/input_1.pb"}),
    "lower of inputs": ("lower m.onnx -s l.txt --backend x=false --inputs inp",
                        {"file of inputs": "inp/input_0.pb", "deep file of inputs": "inp/deep/input_1.pb"}),
    "lower by programs": ("lower m.onnx -s l.txt --backend back.json --launcher launch.sh",
                          {"backend": "back.json", "program": "run.sh", "launcher": "launch.sh"}),
    "reduce": ("reduce m.onnx --backend back.json --nodes n.txt --inputs inp",
               {"model": "m.onnx", "file of inputs": "inp/input_0.pb", "backend": "back.json", "nodes": "n.txt"}),
    "probe": ("probe m.onnx --backend back.json --inputs inp",
              {"model": "m.onnx", "file of inputs": "inp/input_0.pb", "backend": "back.json"}),
    "tune": ("tune m.onnx -s l.txt --run run.sh", {"model": "m.onnx", "list": "l.txt", "program": "run.sh"}),
    "tune to learn": ("tune m.onnx --learn v.csv", {"model": "m.onnx", "profile": "v.csv"}),
    "lists new": ("lists new m.onnx", {"model": "m.onnx", "data": "w.bin"}),
}
FILES = {
    "split": ["--html", "--viewer"],
    "preview": ["--html", "--viewer"],
    "draw": ["-o"],
    "convert": ["-o"],
    "cut": ["-o"],
    "convert to ONNX": ["-o"],
    "lower": ["--deny-out", "--ci"],
    "advise": ["--html"],
    "diff": ["--html"],
    "check": ["--ci", "--html"],
    "preview by a map": ["--html"],
    "stage": ["--html"],
    "stage of a workload": ["--html"],
    "check to write": ["-o"],
    "split of inputs": ["--html", "--viewer"],
    "lower of inputs": ["--deny-out", "--ci"],
    "lower by programs": ["--deny-out", "--ci"],
    "probe": ["-o"],
    "tune": ["-o", "-o x.json --plan"],
    "tune to learn": ["-o"],
    "lists new": ["-o"],
}
# option -> names that are written into the folder
PARTS = ["root.onnx", "report.txt", "manifest.json"]
FOLDERS = {
    "split": {"-o": PARTS + ["preview.dot", "node_support.dot"],
              "--weights reference -o": PARTS + ["preview.dot", "_run_on_acc_0.onnx"],
              "--viewer": ["partition.json", "flops.json"]},
    "preview": {"--viewer": ["reason.json", "partition.json"]},
    "split by a map": {"-o": PARTS + ["stages.dot"], "--weights reference -o": PARTS},
    "stage": {"-o": PARTS + ["stages.dot"], "--weights reference -o": PARTS},
    "stage on targets": {"-o": PARTS + ["stages.dot"]},
    "lower": {"-o": ["lowering.json", "lowering.txt", "learned.json"]},
    "stage of a workload": {"-o": ["report.txt", "manifest.json", "stages.dot"]},
    "split of inputs": {"-o": ["root.onnx", "deep/report.txt"]},
    "lower of inputs": {"-o": ["lowering.json", "findings/1/test_data_set_0/input_0.pb"]},
    "lower by programs": {"-o": ["lowering.json"]},
    "reduce": {"-o": ["model.onnx"]},
}
# Options that name files or folders and only read them: each is in the arguments of a command above. Those of
# --cache are cleave's own, and made again.
READ = {"--nodes", "--config", "--support", "--map", "--costs", "--devices", "--inputs",
        "--verdicts", "--op-schemas", "--learn", "--baseline"}
MADE_AGAIN = {"--cache"}


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
    (folder / "inp" / "deep").mkdir(parents=True)
    for name in ("inp/input_0.pb", "inp/deep/input_1.pb"):
        (folder / name).write_bytes(b"values")
    for name in ("run.sh", "launch.sh"):
        (folder / name).write_text("exit 1\n")
    (folder / "back.json").write_text(json.dumps(
        {"format": "cleave.backend", "version": 1, "name": "x", "compile": {"argv": ["sh", "{here}/run.sh"]}}))
    command = f"check m.onnx -s l.txt -s l2.txt {GATE} -o b.json".split()
    made = subprocess.run([cleave, *command], cwd=folder, capture_output=True, check=False)
    assert made.returncode in (0, 1) and (folder / "b.json").exists(), made.stderr


class Matrix:
    def __init__(self, cleave, start):
        self.cleave, self.start, self.runs, self.found = cleave, start, 0, []

    def run(self, folder, arguments):
        self.runs += 1
        return subprocess.run([self.cleave, *arguments.split()], cwd=folder, capture_output=True,
                              timeout=60, check=False)

    def expect_kept(self, folder, arguments, before, refusals=(2, 3, 4)):
        done = self.run(folder, arguments)
        now = {path: path.read_bytes() if path.exists() else None for path in before}
        lost = [path.name for path in before if before[path] != now[path]]
        if lost:
            self.found.append(f"cleave {arguments}: exit {done.returncode}, changed {lost}")
        elif done.returncode not in refusals:
            self.found.append(f"cleave {arguments}: exit {done.returncode}, not refused")
        left = [path.name for path in folder.rglob(".cleave-*")]
        if left:
            self.found.append(f"cleave {arguments}: leaves {left}")

    def copy(self):
        parent = tempfile.TemporaryDirectory(prefix="cleave-inputs-")
        shutil.copytree(self.start, parent.name, dirs_exist_ok=True)
        return parent

    # What else a command needs to get as far as the option.
    @staticmethod
    def more(command, option):
        needs_folder = command.startswith("split") and not option.endswith("-o")
        return " -o elsewhere" if needs_folder else ""

    # A name for an output; what it ends in may say what is written.
    @staticmethod
    def named(name, command, option):
        return name + (".onnx" if command == "convert to ONNX" else ".md" if option == "--ci" else ".json")

    # ---- files ----

    def try_file(self, command, option, kind):
        arguments, inputs = COMMANDS[command]
        with self.copy() as name:
            folder = Path(name)
            path = folder / inputs[kind]
            aliases = [inputs[kind]]
            hard, soft = self.named("hard", command, option), self.named("soft", command, option)
            os.link(path, folder / hard)
            os.symlink(inputs[kind], folder / soft)
            (folder / "sub").mkdir()
            aliases += [hard, soft, f"sub/../{inputs[kind]}"]
            before = {folder / file: (folder / file).read_bytes() for file in inputs.values()}
            for alias in aliases:
                if option in ("--viewer", "--ci") and not alias.endswith(self.named("", command, option)):
                    continue
                more = self.more(command, option)
                self.expect_kept(folder, f"{arguments}{more} {option} {alias} --force", before)

    # Without --force not a byte that was made by hand is lost.
    def try_mine(self, command, option):
        with self.copy() as name:
            folder = Path(name)
            mine, soft = self.named("mine", command, option), self.named("soft", command, option)
            (folder / mine).write_text("made by hand")
            os.symlink(mine, folder / soft)
            arguments = COMMANDS[command][0] + self.more(command, option)
            for path in (mine, soft):
                self.expect_kept(folder, f"{arguments} {option} {path}",
                                 {folder / mine: b"made by hand"}, (4,))

    # ---- folders ----

    def try_folder(self, command, option, names, kind):
        arguments, inputs = COMMANDS[command]
        extra = self.more(command, option)
        for name in names:
            if name == "manifest.json" and kind != "list":
                continue
            with self.copy() as parent:
                folder = Path(parent)
                self.fill(folder, name, inputs[kind])
                kept = [folder / file for file in inputs.values() if file != inputs[kind]]
                kept.append(folder / "out" / name)
                before = {path: path.read_bytes() for path in kept}
                self.expect_kept(folder, f"{arguments}{extra} {option} out --force", before)

    # `out` holds the input under that name, and a manifest that lists it; where the input was, there is
    # a link to it. With the model moves what it refers to.
    @staticmethod
    def fill(folder, name, source):
        out = folder / "out"
        out.mkdir()
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if source == "m.onnx":
            shutil.copy(folder / "w.bin", out / "w.bin")
        os.rename(folder / source, path)
        os.symlink(path, folder / source)
        if source == "w.bin":  # the location must not lead out of the model's folder
            os.unlink(folder / source)
            os.link(path, folder / source)
        if name != "manifest.json":
            files = [{"name": str(file.relative_to(out)), "bytes": file.stat().st_size}
                     for file in out.rglob("*") if file.is_file()]
            text = json.dumps({"format": "cleave.report", "version": 1, "files": files})
            (out / "manifest.json").write_text(text)

    def try_hand_made_folder(self, command, option, names):
        with self.copy() as parent:
            folder = Path(parent)
            mine = folder / "out" / names[0]
            mine.parent.mkdir(parents=True)
            mine.write_text("made by hand")
            arguments = COMMANDS[command][0] + self.more(command, option)
            self.expect_kept(folder, f"{arguments} {option} out", {mine: b"made by hand"}, (4, 5))

    # A folder within that may not be read hides what comes after it.
    def try_unreadable(self):
        with self.copy() as parent:
            folder = Path(parent)
            self.fill(folder, "root.onnx", "m.onnx")
            (folder / "out" / "a").mkdir()
            (folder / "inp" / "a").mkdir()
            before = {folder / "out" / "root.onnx": (folder / "out" / "root.onnx").read_bytes()}
            who = {}
            if os.geteuid() == 0:  # who may read anything
                for path in [folder, *folder.rglob("*")]:
                    os.chown(path, 65534, 65534, follow_symlinks=False)
                who = {"user": 65534, "group": 65534}
            for locked, code in (("out/a", 4), ("inp/a", 3)):
                (folder / locked).chmod(0)
                arguments = ["split", "m.onnx", "-s", "l.txt", "-o", "out", "--force"]
                arguments += ["--capture", "--inputs", "inp"] if code == 3 else []
                done = subprocess.run([self.cleave, *arguments], cwd=folder, capture_output=True, check=False,
                                      **who)
                (folder / locked).chmod(0o700)
                self.runs += 1
                if done.returncode != code or b"cannot be looked at" not in done.stderr:
                    self.found.append(f"{locked} cannot be read: {done}")
                lost = [path for path, content in before.items() if path.read_bytes() != content]
                if lost:
                    self.found.append(f"{locked} cannot be read: lost {lost}")

    # What another run is making in a folder of models or inputs is none of these, and a repository's own
    # scripts and backends are not run.
    def try_others(self):
        with self.copy() as parent:
            folder = Path(parent)
            for name in ("models/.cleave-1-0", "inp/.cleave-1-0", "samples/backends", "scripts"):
                (folder / name).mkdir(parents=True)
            (folder / "models/.cleave-1-0/m.onnx").write_bytes(b"half")
            done = self.run(folder, "check models -s l.txt --show table")
            if b"has no .onnx" not in done.stderr:
                self.found.append(f"a temporary is taken for a model: {done}")
            bad = "import pathlib\npathlib.Path('ran').touch()\n"
            (folder / "scripts/capture_inputs.py").write_text(bad)
            (folder / "samples/backends/mine.json").write_text((folder / "back.json").read_text())
            self.run(folder, "split m.onnx -s l.txt --capture -o made")
            done = self.run(folder, "lower m.onnx -s l.txt --backend mine")
            if (folder / "ran").exists() or b"no backend of that name" not in done.stderr:
                self.found.append(f"what the working folder holds is run: {done}")

    def run_all(self):
        self.try_unreadable()
        self.try_others()
        for command, options in FILES.items():
            for option in options:
                self.try_mine(command, option)
                for kind in COMMANDS[command][1]:
                    self.try_file(command, option, kind)
        for command, options in FOLDERS.items():
            for option, names in options.items():
                self.try_hand_made_folder(command, option, names)
                for kind in COMMANDS[command][1]:
                    self.try_folder(command, option, names, kind)

    # ---- the table ----

    def check_table(self):
        commands = sorted({command.split()[0] for command in COMMANDS} |
                          {"advise", "diff", "explain"})
        arguments = " ".join(text for text, _ in COMMANDS.values()).replace("-s ", "--support ")
        self.found += [f"{option}: no command of this test reads by it" for option in READ
                       if option not in arguments]
        for command in commands:
            text = self.run(self.start, f"{command} --help").stdout.decode()
            named = re.findall(r"^\s+(?:-\w,)?(--[-\w]+) (?:FILE|DIR|LIST)\b", text, re.M)
            tried = " ".join(option for table in (FILES, FOLDERS) for key, options in table.items()
                             if key.split()[0] == command for option in options)
            for option in named:
                if option in READ | MADE_AGAIN and option not in tried:
                    continue
                if "--force" not in text and option not in READ:
                    self.found.append(f"cleave {command} {option}: without --force")
                if option in tried or option == "--output" and "-o" in tried:
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
                        same = "same.md" if "--ci" in (first, second) else "same.json"
                        done = self.run(name, f"{arguments} {first} {same} {second} ./{same}" +
                                        (" -o out" if command == "split" else ""))
                        if done.returncode != 2:
                            self.found.append(f"{command} {first} {second}, one file: {done}")
        with self.copy() as name:
            done = self.run(name, "preview m.onnx -s l.txt --viewer d --html d/partition.json")
            if done.returncode != 2:
                self.found.append(f"--html into --viewer: {done}")


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
