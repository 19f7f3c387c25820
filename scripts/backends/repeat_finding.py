#!/usr/bin/env python3
"""Passes the model to the compiler that backend.json describes, and says what comes of it. Both, and this file,
are in a folder that cleave wrote for a finding; cleave is not needed here.

usage: repeat.py [--compare] [--pin] [--rtol R] [--atol A] [--rounding R] [--integers N]

    --compare      also run it on test_data_set_0/input_*.pb and compare with output_*.pb (needs onnx and numpy)
    --pin          a worker exports the model, a program of torch, anew on test_data_set_0/input_*.pb
    --rtol --atol  floats may differ by atol + rtol * |wanted|; where all are below 1, atol is that share of the largest
    --rounding R   which is then at least this
    --integers N   8-bit integers may differ by N

Exit status: 0 the compiler takes the model (and computes what is wanted), 1 it does not, 2 it cannot be tried here.
"""
import argparse
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODEL = next(HERE.glob("model.*"), HERE / "model.onnx")
STAGES = ("check", "compile", "run")
SECONDS = {"": 1, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
BYTES = {"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
MOST_LINES = 30


class Fails(Exception):
    """The compiler does not take the model, or computes something else."""


class CannotTry(Exception):
    """Something is missing here; it says nothing about the compiler."""


def amount(value, units, default):
    """The number in "60s" or "8GiB"."""
    if value is None:
        return default
    found = re.fullmatch(r"\s*([0-9.eE+]+?)\s*([A-Za-z]*)\s*", str(value))
    if not found or found[2] not in units:
        raise CannotTry(f'backend.json: "{value}" is not understood')
    return float(found[1]) * units[found[2]]


def expand(words, values):
    """The words with {placeholders} replaced; a list repeats its word."""
    out = []
    for word in words:
        names = [name for name in re.findall(r"\{([a-z_]+)\}", word) if name in values]
        count = next((len(values[name]) for name in names if isinstance(values[name], list)), 1)
        for i in range(count):
            text = word
            for name in names:
                value = values[name][i] if isinstance(values[name], list) else values[name]
                text = text.replace("{" + name + "}", str(value))
            out.append(text)
    return out


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def end_text(code):
    return f"crashed ({signal_name(-code)})" if code < 0 else f"exit status {code}"


class Compiler:
    """The commands of backend.json."""

    def __init__(self, backend, folder):
        self.backend, self.folder = backend, folder
        self.values = {"model": MODEL, "out": folder / "out", "workdir": folder, "here": HERE, "seed": 0}
        self.worker = None

    def does(self, stage):
        return stage in self.backend or stage in self.served()

    def served(self):
        serve = self.backend.get("serve")
        return serve.get("ops", ["compile", "run"]) if serve else []

    def start(self, command, values, **pipes):
        words = expand(command["argv"], values)
        if words[0] in ("python3", "python"):
            words[0] = sys.executable
        env = dict(os.environ, **self.backend.get("env", {}).get("set", {}))
        limit = int(amount(command.get("memory"), BYTES, 0))

        def limit_memory():
            if limit > 0:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        try:
            return subprocess.Popen(words, cwd=self.folder, env=env, start_new_session=True,
                                    preexec_fn=limit_memory, **pipes)  # noqa: PLW1509 (it has one thread)
        except OSError as error:
            raise CannotTry(f"{words[0]}: {error.strerror}") from error

    @staticmethod
    def end(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def run(self, stage, files):
        if stage in self.backend:
            self.run_command(stage, {**self.values, **files.values(self.backend.get("tensors", "pb"))})
        else:
            self.ask_worker(stage, files)

    def run_command(self, stage, values):
        command = self.backend[stage]
        seconds = amount(command.get("timeout"), SECONDS, 600)
        log = self.folder / f"{stage}.log"
        with open(log, "wb") as output:
            process = self.start(command, values, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise Fails(f"{stage}: timed out after {seconds:g} s") from None
            finally:
                self.end(process)
        words = log.read_text(encoding="utf-8", errors="replace")
        if code != 0:
            raise Fails(f"{stage}: {end_text(code)}\n{words}")
        for pattern in self.backend.get("failed_if", []):
            if re.search(pattern, words, re.MULTILINE):
                raise Fails(f"{stage}: exit status 0, but it says so\n{words}")
        self.look_for_output(stage, command, values, words)

    def look_for_output(self, stage, command, values, words):
        for path in expand(command.get("produces", []), values):
            if not os.path.isfile(path) or os.path.getsize(path) == 0:
                raise Fails(f"{stage}: exit status 0, but it does not write {path}\n{words}")
        if stage != "compile" or "produces" in command or not any("{out}" in word for word in command["argv"]):
            return
        made = [path for path in self.folder.glob("out*") if path.is_dir() or path.stat().st_size > 0]
        if not made:
            raise Fails(f"{stage}: exit status 0, but it does not write its output\n{words}")

    # ---- a worker: a JSON object per line, see backend/worker.py ----

    def ask_worker(self, stage, files):
        serve = self.backend["serve"]
        if self.worker is None:
            self.worker = self.start(serve, self.values, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            started = self.answer(amount(serve.get("start_timeout"), SECONDS, 60))
            if not isinstance(started, dict) or "ready" not in started:
                raise CannotTry("the compiler's worker does not start")
        request = {"op": stage, "model": str(self.values["model"]), "out": str(self.values["out"]), "seed": 0,
                   "inputs": files.inputs if stage == "run" or files.pins else [],
                   "outputs": files.outputs if stage == "run" else []}
        if files.pins:
            request["pin"] = True
        self.worker.stdin.write((json.dumps(request) + "\n").encode())
        self.worker.stdin.flush()
        seconds = amount(serve.get("timeout"), SECONDS, 600)
        answer = self.answer(seconds)
        if answer == "late":
            raise Fails(f"{stage}: timed out after {seconds:g} s")
        if answer == "died":
            raise Fails(f"{stage}: {end_text(self.worker.wait())}")
        if not answer.get("ok"):
            words = f"{answer.get('stage', stage)}: {answer.get('error', '')}"
            raise (CannotTry if answer.get("stage") == "driver" else Fails)(words)
        if answer.get("left"):
            lines = [f"{one['node']} ({one['op']}): {one['why'] or 'no reason given'}" for one in answer["left"]]
            raise Fails(f"{stage}: these nodes are left out\n" + "\n".join(lines))

    def answer(self, seconds):
        """The next line of the worker; "late" or "died" without one."""
        line, deadline = b"", time.monotonic() + seconds
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.worker.stdout], [], [], left)[0]:
                return "late"
            read = os.read(self.worker.stdout.fileno(), 1 << 16)
            if not read:
                return "died"
            line += read
        return json.loads(line)

    def close(self):
        if self.worker is not None:
            self.end(self.worker)


# ---- values ----


class Files:
    """The tensors of test_data_set_0, and where the compiler's go."""

    def __init__(self, folder, pins):
        self.folder, self.inputs, self.outputs, self.pins = folder, [], [], pins

    def load(self):
        import onnx

        if MODEL.suffix == ".pt2":
            return self.load_named()
        graph = onnx.load(str(MODEL), load_external_data=False).graph
        data = HERE / "test_data_set_0"
        made = {one.name for one in graph.initializer}
        taken = [one.name for one in graph.input if one.name not in made]
        for i, name in enumerate(taken):
            if not (data / f"input_{i}.pb").exists():
                raise CannotTry(f'test_data_set_0 has no value of the input "{name}"')
            self.inputs.append({"name": name, "file": str(data / f"input_{i}.pb")})
        for i, one in enumerate(graph.output):
            self.outputs.append({"name": one.name, "file": str(self.folder / f"made_{i}.pb")})
        return self

    def load_named(self):
        """For a program of torch: its values are those that have files."""
        import onnx

        for begin, files in (("input", self.inputs), ("output", self.outputs)):
            for i in range(len(list((HERE / "test_data_set_0").glob(f"{begin}_*.pb")))):
                path = HERE / "test_data_set_0" / f"{begin}_{i}.pb"
                name = onnx.TensorProto.FromString(path.read_bytes()).name
                files.append({"name": name, "file": str(path if begin == "input" else self.folder / f"made_{i}.pb")})
        return self

    def values(self, tensors):
        """The placeholders of a command; writes the inputs in the format that it reads."""
        self.tensors = tensors
        given, shapes = [], []
        for i, one in enumerate(self.inputs):
            array = tensor(one["file"])
            shapes.append("x".join(str(dim) for dim in array.shape))
            given.append(one["file"])
            if tensors != "pb":
                given[i] = str(self.folder / f"in_{i}.{tensors}")
                self.write(given[i], array)
        return {"inputs": given, "shapes": shapes, "input_names": [one["name"] for one in self.inputs],
                "outputs": [self.made(i) for i in range(len(self.outputs))],
                "output_names": [one["name"] for one in self.outputs]}

    def write(self, path, array):
        import numpy as np

        if self.tensors == "npy":
            np.save(path, array)
        else:
            Path(path).write_bytes(array.tobytes())

    def made(self, i):
        return str(self.folder / f"made_{i}.{self.tensors}")

    def result(self, i, wants, is_command):
        import numpy as np

        path = self.made(i) if is_command else self.outputs[i]["file"]
        if not os.path.exists(path):
            raise Fails(f'run: it does not write the output "{self.outputs[i]["name"]}"')
        if path.endswith(".pb"):
            return tensor(path)
        if path.endswith(".npy"):
            return np.load(path)
        return np.frombuffer(Path(path).read_bytes(), wants.dtype).reshape(wants.shape)


def tensor(path):
    import onnx
    from onnx import numpy_helper

    return numpy_helper.to_array(onnx.TensorProto.FromString(Path(path).read_bytes()))


def difference(wants, made, options):
    """What is wrong, in words; "" when nothing is."""
    import numpy as np

    if wants.dtype != made.dtype:
        return f"dtype {wants.dtype} is {made.dtype}"
    if wants.shape != made.shape:
        return f"shape {wants.shape} is {made.shape}"
    if wants.dtype.kind in "OSUT":
        return ""
    a, b = wants.astype(np.float64).ravel(), made.astype(np.float64).ravel()
    with np.errstate(invalid="ignore"):
        distance = np.abs(a - b)
    distance[(a == b) | (np.isnan(a) & np.isnan(b))] = 0
    distance[np.isnan(distance)] = np.inf
    most = np.zeros_like(distance)
    if wants.dtype.kind not in "iub":
        largest = np.max(np.abs(a[np.isfinite(a)]), initial=0)
        atol = min(options.atol, max(options.atol * largest, options.rounding))
        most = atol + options.rtol * np.where(np.isfinite(a), np.abs(a), 0)
    elif wants.dtype.itemsize == 1 and wants.dtype.kind in "iu":
        most += options.integers
    wrong = distance > most
    if not wrong.any():
        return ""
    at = int(np.argmax(np.where(wrong, distance, -1)))
    return f"{int(wrong.sum())} of {wrong.size} differ: wants {a[at]:g} is {b[at]:g}, a difference of {distance[at]:g}"


def compare(files, is_command, options):
    faults = []
    for i, one in enumerate(files.outputs):
        path = HERE / "test_data_set_0" / f"output_{i}.pb"
        if not path.exists():
            continue
        wants = tensor(path)
        text = difference(wants, files.result(i, wants, is_command), options)
        if text:
            faults.append(f'output "{one["name"]}": {text}')
    if faults:
        raise Fails("wrong values\n" + "\n".join(faults))


def load(files):
    try:
        files.load()
    except ImportError as error:
        raise CannotTry(f"pip install onnx numpy: {error}") from error


def repeat(options, folder):
    backend = json.loads((HERE / "backend.json").read_text(encoding="utf-8"))
    compiler, files = Compiler(backend, folder), Files(folder, options.pin)
    if options.compare and not compiler.does("run"):
        raise CannotTry('backend.json has no "run": values cannot be compared')
    try:
        for stage in STAGES:
            if not compiler.does(stage) or (stage == "run" and not (options.run or options.compare)):
                continue
            if stage == "run" or (options.pin and not files.inputs):
                load(files)
            compiler.run(stage, files)
    finally:
        compiler.close()
    if options.compare:
        compare(files, "run" in backend, options)


def shortened(text):
    lines = text.rstrip().splitlines()
    return "\n".join(lines if len(lines) <= MOST_LINES else lines[:MOST_LINES] + ["..."])


def main():
    import tempfile

    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0])
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, default=1e-4)
    parser.add_argument("--rounding", type=float, default=2**-23)
    parser.add_argument("--integers", type=float, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="finding") as folder:
        try:
            repeat(options, Path(folder))
        except Fails as fault:
            print(shortened(f"fails: {fault}"))
            return 1
        except CannotTry as fault:
            print(shortened(f"cannot be tried here: {fault}"), file=sys.stderr)
            return 2
    print("passes: the compiler takes the model" + (" and its values are right" if options.compare else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
