#!/usr/bin/env python3
"""`cleave run` and `cleave verify` say why they fail on TensorFlow Lite models, whatever happens in the runtime, and what they do
before they need one.

usage: words_test.py

The runtime is a fake: a module ai_edge_litert whose models do what a test asks for.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
FAKE = '''
import numpy
class OpResolverType:
    AUTO = BUILTIN_WITHOUT_DEFAULT_DELEGATES = 0
class Interpreter:
    def __init__(self, model_path, **options):
        self.what = open(model_path).read()
        if self.what == "raises":
            raise KeyError("an unexpected key")
        if self.what == "custom":
            raise RuntimeError("Encountered unresolved custom op: Mystery.")
        if self.what in ("aborts", "leaves"):
            import os
            os.abort() if self.what == "aborts" else os._exit(9)
    def get_signature_list(self):
        return {}
    def get_input_details(self):
        names = {"two inputs": ["x", "z"], "other input": ["z"]}.get(self.what, ["x"])
        return [{"name": name, "index": i, "shape": [2], "shape_signature": [2], "dtype": numpy.float32}
                for i, name in enumerate(names)]
    def get_output_details(self):
        return [{"name": "y", "index": 9}]
    def allocate_tensors(self): pass
    def set_tensor(self, index, value): self.value = value
    def invoke(self): pass
    def get_tensor(self, index): return self.value
'''
PART = {"name": "part", "file": "part.tflite", "inputs": ["x"], "outputs": ["y"]}


class Place:
    """A folder with a model, its split, and the fake runtime."""

    def __init__(self, folder):
        self.folder, self.out = folder, folder / "out"
        (folder / "modules" / "ai_edge_litert").mkdir(parents=True)
        (folder / "modules" / "ai_edge_litert" / "__init__.py").touch()
        (folder / "modules" / "ai_edge_litert" / "interpreter.py").write_text(FAKE, encoding="utf-8")
        self.out.mkdir()

    def lay(self, model="copies", part="copies", root="copies", order=(PART,), manifest=None):
        chain = {"order": list(order), "inputs": ["x"], "outputs": ["y"], "state": [], "mutations": []}
        (self.folder / "m.tflite").write_text(model, encoding="utf-8")
        (self.out / "part.tflite").write_text(part, encoding="utf-8")
        (self.out / "root.tflite").write_text(root, encoding="utf-8")
        text = json.dumps({"chain": chain}) if manifest is None else manifest
        (self.out / "manifest.json").write_text(text, encoding="utf-8")

    def run(self, command):
        """The status, and what is printed."""
        arguments = [self.folder / "m.tflite", self.out] if command == "verify" else [self.out]
        done = subprocess.run(
            [sys.executable, SCRIPTS / "runner.py", command, *arguments], capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(self.folder / "modules")})  # fmt: skip
        return done.returncode, done.stdout + done.stderr


def expect(faults, what, got, status, words):
    if got[0] != status or words not in got[1]:
        faults.append(f"{what}: status {got[0]} and {got[1]!r}, not {status} and {words!r}")


def check_runs(place, faults):
    cases = [
        ({}, (0, "equal: 1 output, bit for bit, from the chain of 1 partition and root.tflite, 3 calls"),
         (0, "equal: 1 output, bit for bit, from root.tflite and the chain")),
        ({"order": []}, (1, 'no partition makes "y"'), (1, 'no partition makes "y"')),
        ({"model": "two inputs"}, (3, "has 2 inputs, and the model that was split has 1"), (0, "equal")),
        ({"model": "other input"}, (3, 'its input is "z", and that of the model that was split is "x"'), (0, "equal")),
        ({"part": "raises"}, (1, "fault: chain, XNNPACK off: KeyError: 'an unexpected key'"), (1, "KeyError")),
        ({"model": "custom"}, (3, "unresolved custom op: Mystery.; what is before and behind"), (0, "equal")),
        ({"root": "custom"}, (1, "fault: root.tflite, XNNPACK off: LiteRT refuses it: "), (3, "what is before and behind")),
        ({"part": "aborts"}, (1, "fault: chain, XNNPACK off: the runtime crashed: SIGABRT"), (1, "the runtime crashed: SIGABRT")),
        ({"model": "aborts"}, (3, "running the original, XNNPACK off: crashed: SIGABRT"), (0, "equal")),
        ({"part": "leaves"}, (1, "ended with status 9: without a word"), (1, "ended with status 9")),
        ({"manifest": "{"}, (3, "manifest.json: "), (3, "manifest.json: ")),
        ({"manifest": "[]"}, (3, "must be an object"), (3, "must be an object")),
        ({"manifest": "{}"}, (3, "manifest.json: chain: is not there"), (3, "manifest.json: chain: is not there")),
    ]
    for given, verified, replayed in cases:
        place.lay(**given)
        expect(faults, f"verify {given}", place.run("verify"), *verified)
        expect(faults, f"run {given}", place.run("run"), *replayed)


def check_help(place, faults):
    """Help is there before any module is."""
    for name in ("onnx", "onnxruntime", "ai_edge_litert", "numpy"):
        (place.folder / "none" / name).mkdir(parents=True)
        (place.folder / "none" / name / "__init__.py").write_text(f"raise ImportError(name={name!r})", encoding="utf-8")
    for command in ("verify", "run"):
        for arguments in (["--help"], [place.out, "m.tflite", "--help"]):
            done = subprocess.run([sys.executable, SCRIPTS / "runner.py", command, *arguments], capture_output=True, text=True,
                                  env=os.environ | {"PYTHONPATH": str(place.folder / "none")}, check=False)  # fmt: skip
            expect(faults, f"{command} {arguments}", (done.returncode, done.stdout + done.stderr), 0, "usage: ")


def main():
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        check_runs(place, faults)
        check_help(place, faults)
    print("\n".join(faults) if faults else "every end has its words")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
