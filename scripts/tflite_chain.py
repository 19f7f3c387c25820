"""Runs split TensorFlow Lite models in LiteRT (pip install ai-edge-litert) and compares them with the model that
was split, bit for bit. run_split.py and verify_split.py call this for folders of .tflite files.

The chain is run as manifest.json describes it ("chain"):

    1. the state begins with what init.tflite gives; variables that a partition keeps itself begin there
    2. each partition of `order` gets the values named in its `inputs`, and gives those named in its `outputs`
    3. after the last one, each variable of `state` becomes the value that `mutations` names

run_chain() below is all that a driver needs. A crash of LiteRT ends only the child process in which it happens.
"""
import argparse
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

CHILD = "CLEAVE_TFLITE_CHILD"
CALLS = 3  # so that state shows


def missing_module():
    """The name of a module that is not there, else None."""
    try:
        import ai_edge_litert.interpreter  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        return error.name
    return None


class CannotRun(Exception):
    """LiteRT refuses the model that was split."""


class Model:
    """A model in LiteRT, with its inputs and outputs in the order of the file."""

    def __init__(self, path, xnnpack):
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
        resolver = OpResolverType.AUTO if xnnpack else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        self.interpreter = Interpreter(model_path=str(path), num_threads=1,
                                       experimental_op_resolver_type=resolver)
        self.is_ready = False

    def inputs(self):
        return self.interpreter.get_input_details()

    def __call__(self, values):
        for detail, value in zip(self.inputs(), values):
            if list(detail["shape"]) != list(value.shape):
                self.interpreter.resize_tensor_input(detail["index"], value.shape)
                self.is_ready = False
        if not self.is_ready:
            self.interpreter.allocate_tensors()
            self.is_ready = True
        for detail, value in zip(self.inputs(), values):
            self.interpreter.set_tensor(detail["index"], value)
        self.interpreter.invoke()
        return [self.interpreter.get_tensor(detail["index"])
                for detail in self.interpreter.get_output_details()]


class Chain:
    """The partitions of a split, called in order, with the state that the caller keeps."""

    def __init__(self, folder, xnnpack):
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if "chain" not in manifest:
            raise ValueError(f"{folder}: its manifest has no chain")
        self.chain = manifest["chain"]
        self.parts = [Model(folder / part["file"], xnnpack) for part in self.chain["order"]]
        self.state = {}
        if "init" in self.chain:
            init = self.chain["init"]
            self.state = dict(zip(init["outputs"], Model(folder / init["file"], xnnpack)([])))

    def __call__(self, inputs):
        results, self.state = run_chain(self.chain, self.parts, inputs, self.state)
        return results


def run_chain(chain, parts, inputs, state):
    """Calls `parts`, one for each entry of the chain's order. Returns the model's outputs and the new state."""
    values = dict(state)
    values.update(zip(chain["inputs"], inputs))
    for entry, part in zip(chain["order"], parts):
        made = part([values[name] for name in entry["inputs"]])
        values.update(zip(entry["outputs"], made))
    kept = {held["target"]: held["name"] for held in chain["state"]}
    after = dict(state)
    for mutation in chain["mutations"]:
        if mutation["target"] in kept:
            after[kept[mutation["target"]]] = values[mutation["value"]]
    return [values[name] for name in chain["outputs"]], after


def first_line(error):
    """What LiteRT says, without the rest."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def shape_of(detail, dims):
    """The input's shape with open dims set: "N" is every first one, "NAME:AXIS" another."""
    shape = [int(size) for size in detail["shape"]]
    for axis, size in enumerate(detail["shape_signature"]):
        name = "N" if axis == 0 else f"{detail['name']}:{axis}"
        if size < 0 and name in dims:
            shape[axis] = dims[name]
    return shape


def drawn(detail, dims, generator):
    import numpy as np
    shape, kind = shape_of(detail, dims), detail["dtype"]
    if kind == np.bool_:
        return generator.integers(0, 2, shape).astype(kind)
    if np.issubdtype(kind, np.integer):
        limits = np.iinfo(kind)
        return generator.integers(max(limits.min, -1000), min(limits.max, 1000), shape, endpoint=True).astype(kind)
    if np.issubdtype(kind, np.complexfloating):
        return (generator.random(shape) + 1j * generator.random(shape)).astype(kind)
    return generator.random(shape).astype(kind)


def is_same(left, right):
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def compare(whole, other, calls):
    """"equal", or which outputs of which call differ."""
    for number, (inputs, wanted) in enumerate(zip(calls, whole)):
        got = other(inputs)
        wrong = [i for i, (a, b) in enumerate(zip(wanted, got)) if not is_same(a, b)]
        if wrong or len(wanted) != len(got):
            return f"call {number}: outputs {wrong} of {len(wanted)} differ"
    return "equal"


def verify(original, folder, dims, seed, tell=lambda doing: None):
    """Rows (what, XNNPACK "off" or "on", verdict). Raises CannotRun when LiteRT refuses the original."""
    import numpy as np
    rows = []
    for xnnpack in (False, True):
        mode = "on" if xnnpack else "off"
        tell(f"running the original, XNNPACK {mode}")
        try:
            model = Model(original, xnnpack)
            generator = np.random.default_rng(seed)
            calls = [[drawn(detail, dims, generator) for detail in model.inputs()] for _ in range(CALLS)]
            whole = [model(inputs) for inputs in calls]
        except (RuntimeError, ValueError) as error:
            raise CannotRun(first_line(error)) from error
        for what, load in (("chain", partial(Chain, folder, xnnpack)),
                           ("root.tflite", partial(Model, folder / "root.tflite", xnnpack))):
            tell(f"running {what}, XNNPACK {mode}")
            try:
                verdict = compare(whole, load(), calls)
            except (RuntimeError, ValueError) as error:
                verdict = first_line(error)
            rows.append((what, mode, verdict))
    return rows


def parse_dim(text):
    name, _, size = text.rpartition("=")
    if not name or not size.isdigit():
        raise argparse.ArgumentTypeError(f'"{text}" is not NAME=SIZE')
    return name, int(size)


def supervised(script):
    """Runs the script in a child process. Returns its status, or says at which step LiteRT crashed."""
    child = subprocess.run([sys.executable, script, *sys.argv[1:]], env=os.environ | {CHILD: "1"},
                           stderr=subprocess.PIPE, text=True, check=False)
    steps = [line[len(CHILD):].strip() for line in child.stderr.splitlines() if line.startswith(CHILD)]
    if child.returncode >= 0:
        sys.stderr.write("".join(line + "\n" for line in child.stderr.splitlines()
                                 if line.startswith(Path(script).name)))
        return child.returncode
    step = steps[-1] if steps else "starting"
    print(f"{Path(script).name}: {step}: LiteRT crashed (signal {-child.returncode})", file=sys.stderr)
    return 3 if "original" in step else 1


def begin(script):
    """Ends the process when a module is missing; in the parent, runs the child and ends, too."""
    module = missing_module()
    name = Path(script).name
    if module:
        print(f"{name}: skipped: needs the Python module {module} (pip install ai-edge-litert numpy)", file=sys.stderr)
        sys.exit(77)
    if CHILD not in os.environ:
        sys.exit(supervised(script))
    return name


def tell_parent(doing):
    print(CHILD, doing, file=sys.stderr, flush=True)


def verify_main(script):
    """verify_split.py MODEL.tflite DIR [--dim N=8]... [--seed N]"""
    name = begin(script)
    parser = argparse.ArgumentParser(prog=name, description="Runs a split .tflite model beside the original.")
    parser.add_argument("original", metavar="ORIGINAL", type=Path)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--dim", type=parse_dim, action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    try:
        rows = verify(options.original, options.folder, dict(options.dim), options.seed, tell_parent)
    except CannotRun as error:
        print(f"{name}: {options.original}: LiteRT cannot run it: {error}", file=sys.stderr)
        sys.exit(3)
    except (OSError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(2)
    for what, mode, verdict in rows:
        print(f"{what:12} XNNPACK {mode:3}  {verdict}")
    sys.exit(0 if all(verdict == "equal" for _, _, verdict in rows) else 1)


def run_main(script):
    """run_split.py DIR [--dim N=8]... [--seed N]"""
    import_name = begin(script)
    import numpy as np
    parser = argparse.ArgumentParser(prog=import_name, description="Runs the chain of a split .tflite model.")
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--dim", type=parse_dim, action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    try:
        root = Model(options.folder / "root.tflite", False)
        chain = Chain(options.folder, False)
        generator = np.random.default_rng(options.seed)
        calls = [[drawn(detail, dict(options.dim), generator) for detail in root.inputs()] for _ in range(CALLS)]
        wanted = [root(inputs) for inputs in calls]
        verdict = compare(wanted, chain, calls)
    except (RuntimeError, ValueError, OSError) as error:
        print(f"{import_name}: {options.folder}: {first_line(error)}", file=sys.stderr)
        sys.exit(3)
    parts = len(chain.parts)
    print(f"{'replayed' if verdict == 'equal' else 'differs'}: {parts} partition{'' if parts == 1 else 's'}, "
          f"{CALLS} calls, against root.tflite: {verdict}")
    for name, value in zip(chain.chain["outputs"], wanted[-1]):
        print(f"{name}  {value.dtype}{list(value.shape)}")
    sys.exit(0 if verdict == "equal" else 1)
