"""Commands that write, for tests of failing writes.

A Command runs in a new folder. Its outputs are units, each a file or a folder that must be either as it
was before or as an undisturbed run leaves it.
"""

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent.parent / "samples"
INPUTS = ("resnet18.json", "npu.json", "mobile_block.onnx", "tiny_npu.txt", "resnet18_parts.csv",
          "attention.onnx")


@dataclass
class Command:
    name: str
    arguments: str
    units: tuple  # paths; "*": every file of the folder is a unit of its own
    before: str = ""  # arguments of a command that is run first, undisturbed


JSON = "resnet18.json -s npu.json"
ONNX = "mobile_block.onnx -s tiny_npu.txt --dim N=1"
COMMANDS = (
    Command("split", f"split {ONNX} -o out", ("out",)),
    Command("split --force", f"split {JSON} -o out --force", ("out",),
            f"split {JSON} -o out --min-acc-module-size 2"),
    Command("split --annotate", f"split {ONNX} --weights inline --annotate -o out", ("out",)),
    Command("split --weights shared", f"split {ONNX} --weights shared -o out", ("out",)),
    Command("split --weights reference", f"split {ONNX} --weights reference -o .", ("*",)),
    Command("split --weights reference --force", f"split {ONNX} --weights reference -o . --force",
            ("*",), f"split {ONNX} --weights reference -o . --min-acc-module-size 9"),
    Command("split --map", "split resnet18.json --map resnet18_parts.csv -o out", ("out",)),
    Command("stage", "stage mobile_block.onnx --dim N=1 --stages 2 -o out", ("out",)),
    Command("convert", "convert attention.onnx -o out.json", ("out.json",)),
    Command("draw", f"draw {JSON} -o out.dot --force", ("out.dot",), f"draw {JSON} --show preview -o out.dot"),
    Command("preview, all files",
            f"preview {JSON} --force --html p.html --viewer n.json --viewer explorer",
            ("p.html", "n.json", "explorer")),
    Command("check, all files",
            f"check {JSON} --force --min coverage=10% --ci c.xml --ci c.sarif --ci c.md",
            ("c.xml", "c.sarif", "c.md")),
    Command("check -o --force", f"check {JSON} -o b.json --force",
            ("b.json",), f"check {JSON} -o b.json --min-acc-module-size 2"),
)


def files_of(folder):
    """Path within the folder -> bytes."""
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(Path(folder).rglob("*")) if not path.is_dir()}


def states_of(command, files):
    """Unit -> its files; "*": a unit a file."""
    if command.units == ("*",):
        return {path: {path: data} for path, data in files.items()}
    return {unit: {path: data for path, data in files.items()
                   if path == unit or path.startswith(unit + "/")} for unit in command.units}


def hidden(files):
    return sorted({path for path in files if ".cleave-" in path})


class Scene:
    """A folder with the inputs, and what is in it before and after an undisturbed run."""

    def __init__(self, cleave, command):
        self.cleave, self.command = cleave, command
        self.start = Path(tempfile.mkdtemp(prefix="cleave-faults-"))
        for name in INPUTS:
            shutil.copy(SAMPLES / name, self.start)
        if command.before:
            self.must(command.before, self.start)
        self.before = files_of(self.start)
        with self.copy() as folder:
            self.must(command.arguments, folder)
            self.after = files_of(folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.start, ignore_errors=True)

    def after_change(self, name, data):
        """What an undisturbed run leaves when one input is another; None when that is refused."""
        with self.copy() as folder:
            (Path(folder) / name).write_bytes(data)
            done = subprocess.run([self.cleave, *self.command.arguments.split()], cwd=folder,
                                  capture_output=True, check=False)
            if done.returncode != 0:
                return None
            return dict(files_of(folder), **{name: self.before[name]})

    def must(self, arguments, folder):
        done = subprocess.run([self.cleave, *arguments.split()], cwd=folder, capture_output=True,
                              check=False)
        assert done.returncode == 0, (arguments, done.stderr.decode())

    def copy(self):
        """A folder like the first, to be used with `with`."""
        parent = tempfile.TemporaryDirectory(prefix="cleave-faults-")
        shutil.copytree(self.start, parent.name, dirs_exist_ok=True)
        return parent

    def faults(self, folder, code, is_killed=False):
        """What is wrong with what a disturbed run left in the folder; code: its exit code. One that was
        killed may leave temporaries, and with a journal a set of files that is not whole."""
        have = files_of(folder)
        if is_killed and self.command.units == ("*",) and any(path.endswith("moves.journal") for path in have):
            return []  # the next run must mend it: faults_of_next_run()
        before, after = states_of(self.command, self.before), states_of(self.command, self.after)
        now = states_of(self.command, {k: v for k, v in have.items() if ".cleave-" not in k})
        found = []
        for unit in sorted(set(before) | set(after) | set(now)):
            state = now.get(unit, {})
            if is_killed and unit == "manifest.json" and not state:
                continue
            if state not in (before.get(unit, {}), after.get(unit, {})):
                found.append(f"{unit} is neither what it was nor what it should be: "
                             f"{ {k: len(v) for k, v in state.items()} }")
            elif code == 0 and state != after.get(unit, {}):
                found.append(f"exit code 0, but {unit} is not written")
        if hidden(have) and not is_killed:
            found.append(f"temporaries are left: {hidden(have)}")
        return found + self.manifest_faults(now)

    def faults_of_next_run(self, folder):
        """What is wrong with what the same command leaves in the folder of one that was killed."""
        done = subprocess.run([self.cleave, *self.command.arguments.split()], cwd=folder,
                              capture_output=True, check=False)
        have = {path: data for path, data in files_of(folder).items() if ".cleave-" not in path}
        if done.returncode == 4 and b"exists already" in done.stderr and have == self.after:
            return []  # it was complete when the first run was killed
        if done.returncode != 0:
            return [f"the next run ends with {done.returncode}: {done.stderr.decode()}"]
        if have != self.after:
            return [f"the next run leaves {sorted(set(have) ^ set(self.after))} or other contents"]
        if any(path.endswith("moves.journal") for path in files_of(folder)):
            return ["the next run leaves a journal"]
        return []

    # With files added to a folder, those that are there belong to the manifest that is there.
    def manifest_faults(self, now):
        manifest = now.get("manifest.json", {})
        for state in (self.before, self.after):
            if manifest and manifest == {"manifest.json": state.get("manifest.json")}:
                if any(files != {path: state.get(path)} for path, files in now.items()
                       if path in self.after):
                    continue
                return []
        return ["manifest.json tells of files that are not there"] if manifest else []
