"""What the tests of `cleave lower` share: a folder to run cleave in, models, fakes of compilers, and a main()."""
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"skipped: needs the Python module {error.name}")
    sys.exit(77)

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
FAKE = HERE / "fake_backend.py"
PYTHON = [sys.executable, "-S", "-E"]  # the fake needs no packages
ALL = {"format": "cleave.support", "version": 1, "name": "all", "allow": ["*"]}


class Skip(Exception):
    pass


def chain(path, ops, shape=(2, 3), last=None, opset=17):
    """A model of one-input ops, one after the other; nodes are n0, n1, ... `last`: the output's shape."""
    nodes = [
        helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i, op in enumerate(ops)
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("v0", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(f"v{len(ops)}", TensorProto.FLOAT, last)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, path)
    return path


def gelu(path, halves, known=False):
    """Relu, then a GELU for each factor at its end. `known`: and a Slice by sizes, which are known before the model runs."""
    nodes, last = [helper.make_node("Relu", ["x"], ["r"], name="relu")], "r"
    weights = {"root2": 1.4142135381698608, "one": 1.0, **{f"half{i}": half for i, half in enumerate(halves)}}
    for i in range(len(halves)):
        for op, reads, makes in (("Div", [last, "root2"], "d"), ("Erf", [f"d{i}"], "e"), ("Add", [f"e{i}", "one"], "a"),
                                 ("Mul", [last, f"a{i}"], "m"), ("Mul", [f"m{i}", f"half{i}"], "y")):
            nodes.append(helper.make_node(op, reads, [f"{makes}{i}"], name=f"{makes}{i}"))
        last = f"y{i}"
    integers = {}
    if known:
        nodes += [helper.make_node("Shape", [last], ["s"], name="s"),
                  helper.make_node("Slice", ["s", "zero", "two"], ["e_s"], name="e_s"),
                  helper.make_node("Slice", [last, "zeros", "e_s"], ["out"], name="out")]
        integers, last = {"zero": [0], "two": [2], "zeros": [0, 0]}, "out"
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("x", last)]
    tensors = [helper.make_tensor(name, TensorProto.FLOAT, [], [number]) for name, number in weights.items()]
    tensors += [helper.make_tensor(name, TensorProto.INT64, [len(of)], of) for name, of in integers.items()]
    graph = helper.make_graph(nodes, "gelu", value[:1], value[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


class Place:
    """A folder with a support list, and runs of cleave in it."""

    def __init__(self, cleave, folder):
        self.cleave, self.folder = cleave, Path(folder)
        (self.folder / "all.json").write_text(json.dumps(ALL))

    def command(self, *arguments):
        return [self.cleave, *[str(one) for one in arguments]]

    def run(self, *arguments, env=None):
        all_env = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), NO_COLOR="1", **(env or {}))
        return subprocess.run(
            self.command(*arguments), cwd=self.folder, env=all_env, capture_output=True, text=True,
            errors="replace", timeout=300, check=False,
        )

    def backend(self, rules=(), serve=False, **fields):
        """Writes a backend file of the fake."""
        words = [*PYTHON, str(FAKE)]
        if serve:
            body = {"serve": {"argv": [*words, "--serve", *rules], "ops": ["compile"]}}
        else:
            argv = [*words, "--log", str(self.folder / "log"), *rules, "{model}", "{out}"]
            body = {"compile": {"argv": argv, "produces": ["{out}"], "timeout": "60s"}}
        for key, value in fields.items():
            if key in ("timeout", "memory"):
                body["compile"][key] = value
            else:
                body[key] = value
        content = {"format": "cleave.backend", "version": 1, "name": "fake", **body}
        path = self.folder / "fake.json"
        path.write_text(json.dumps(content))
        return path

    def lower(self, model, backend, *more, env=None):
        done = self.run("lower", model, "-s", "all.json", "--backend", backend, "--json", "-q", *more, env=env)
        try:
            return done, json.loads(done.stdout)
        except ValueError:
            raise AssertionError(f"exit {done.returncode}: {done.stderr}") from None

    def calls(self):
        log = self.folder / "log"
        return len(log.read_text().splitlines()) if log.exists() else 0


def equal(has, wants):
    assert has == wants, f"{has!r}, not {wants!r}"


def running(words):
    """Processes whose command line is these words."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")[:-1]
        except OSError:
            continue
        if line == [word.encode() for word in words]:
            found.append(int(entry.name))
    return found


def is_of(entry, words):
    try:
        line = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return line[: len(words)] == [word.encode() for word in words]


def without_times(result):
    if isinstance(result, dict):
        return {key: without_times(value) for key, value in result.items() if key not in ("seconds", "backend_seconds")}
    if isinstance(result, list):
        return [without_times(one) for one in result]
    return result



def run_tests(tests, cleave, words=()):
    """Runs the functions whose names hold one of the words; all without words. Returns the exit status."""
    failed = 0
    for test in tests:
        name = test.__name__
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory(prefix="lower") as folder:
            try:
                said = test(Place(os.path.abspath(cleave), folder))
                print(f"passed   {name[5:].replace('_', ' ')}{': ' + said if said else ''}", flush=True)
            except Skip as skip:
                print(f"skipped  {name[5:].replace('_', ' ')}: {skip}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED   {name[5:].replace('_', ' ')}\n{traceback.format_exc()}", flush=True)
    return 1 if failed else 0


def tests_in(names):
    """The functions of a module that are tests, in the order in which they are defined."""
    return [test for name, test in names.items() if name.startswith("test_")]
