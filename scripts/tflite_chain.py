"""Runs split TensorFlow Lite models in LiteRT (pip install ai-edge-litert) and compares them with the model that
was split, bit for bit. run_split.py and verify_split.py call this for folders of .tflite files.

The chain is run as manifest.json describes it ("chain"):

    1. the state begins with what init.tflite gives; variables that a partition keeps itself begin there
    2. each partition of `order` gets the values named in its `inputs`, and gives those named in its `outputs`;
       one with "model" is that signature of its file, a bundle
    3. after the last one, each variable of `state` becomes the value that `mutations` names

run_chain() below is all that a driver needs. Where LiteRT for Microcontrollers is installed (tflite-micro on PyPI), it
is a second judge: of models that it runs at all, the chain must give what the whole gives there. A crash of a runtime
ends only the child process in which it happens.
"""
import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import guard
from guard import CannotRun, WrongUsage, counted, parse_dim, read_chain

CHILD = "CLEAVE_TFLITE_CHILD"
LITERT, MICRO = "LiteRT", "tflite-micro"
CALLS = 3  # so that state shows
NOTHING = "nothing was compared: the model has no output"


def missing_module():
    """The name of a module that is not there, else None."""
    try:
        import ai_edge_litert.interpreter  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        return error.name
    return None


def interpreter_of(path, xnnpack):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    resolver = OpResolverType.AUTO if xnnpack else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return Interpreter(model_path=str(path), num_threads=1, experimental_op_resolver_type=resolver)


class Model:
    """A model in LiteRT, with its inputs and outputs in the order of the file."""

    def __init__(self, path, xnnpack):
        self.interpreter = interpreter_of(path, xnnpack)
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


class Signature:
    """A signature of a file in LiteRT. `inputs` and `outputs` are its names for these, in the order of calls."""

    def __init__(self, interpreter, key, inputs, outputs):
        self.runner = interpreter.get_signature_runner(key)
        self.names, self.outputs = inputs, outputs

    def inputs(self):
        details = self.runner.get_input_details()
        return [details[name] for name in self.names]

    def __call__(self, values):
        made = self.runner(**dict(zip(self.names, values)))
        return [made[name] for name in self.outputs]


def is_split(folder):
    """Whether it is the folder of a split TensorFlow Lite model."""
    return any((Path(folder) / name).is_file() for name in ("root.tflite", "bundle.tflite"))


def refuse_torch_split(script):
    """Ends a script that was given the split of a torch program, or the program: another one runs these."""
    for argument in sys.argv[1:]:
        if argument.endswith(".pt2") or any((Path(argument) / name).is_file() for name in ("root.pt2", "bundle.pt2")):
            guard.stop(Path(script).name, f"{argument}: is of torch: run_torch_split.py DIR [MODEL.pt2] runs the partitions and "
                       "compares them", 2)


def unmade_outputs(chain):
    """Outputs of the model that no partition makes, and that are no inputs and no state: constants of the file."""
    made = {name for part in chain["order"] for name in part["outputs"]} | set(chain["inputs"])
    made |= {held["name"] for held in chain["state"]}
    return [name for name in chain["outputs"] if name not in made]


class Chain:
    """The partitions of a split, called in order, with the state that the caller keeps."""

    def __init__(self, folder, xnnpack):
        self.chain, self.folder, self.xnnpack = read_chain(folder), folder, xnnpack
        self.bundles = {}
        self.parts = [self.open(part) for part in self.chain["order"]]
        self.state = {}
        if "init" in self.chain:
            init = self.chain["init"] | {"inputs": []}
            self.state = dict(zip(init["outputs"], self.open(init)([])))

    def open(self, part):
        path = self.folder / part["file"]
        if "model" not in part:
            return Model(path, self.xnnpack)
        if path not in self.bundles:
            self.bundles[path] = interpreter_of(path, self.xnnpack)
        return Signature(self.bundles[path], part["model"], part["inputs"], part["outputs"])

    def inputs(self):
        """Details of the model's inputs, as the partitions that read them have them; None for one that none reads."""
        found = {}
        for entry, part in zip(self.chain["order"], self.parts):
            found.update(zip(entry["inputs"], part.inputs()))
        return [found.get(name) for name in self.chain["inputs"]]

    def __call__(self, inputs):
        results, self.state = run_chain(self.chain, self.parts, inputs, self.state)
        return results


def check_same(path, what, details, names):
    """Raises WrongUsage when the model's values are not those of the chain, so that it is another model. Empty and
    repeated names are made unique in a chain, and an output may be a variable under another name."""
    if len(details) != len(names):
        raise WrongUsage(f"{path}: has {counted(len(details), what)}, and the model that was split has {len(names)}: "
                         "it is another model")
    for detail, name in zip(details, names if what == "input" else []):
        own = detail["name"]
        if own and own != name and not name.startswith(own + "#"):
            raise WrongUsage(f'{path}: its {what} is "{own}", and that of the model that was split is "{name}": '
                             "it is another model")


def open_original(path, chain, xnnpack):
    """The model that was split: of several signatures the one that the split is of."""
    interpreter = interpreter_of(path, xnnpack)
    if len(interpreter.get_signature_list()) < 2:
        model = Model(path, xnnpack)
        check_same(path, "input", model.inputs(), chain["inputs"])
        check_same(path, "output", interpreter.get_output_details(), chain["outputs"])
        return model
    one = chain.get("signature")
    if one is None or one["key"] not in interpreter.get_signature_list():
        raise WrongUsage(f"{path}: has no signature that was split: it is another model")
    names = {side: {tensor["value"]: tensor["name"] for tensor in one[side]} for side in ("inputs", "outputs")}
    return Signature(interpreter, one["key"], [names["inputs"][name] for name in chain["inputs"]],
                     [names["outputs"][name] for name in chain["outputs"]])


class MicroModel:
    """A model in LiteRT for Microcontrollers."""

    def __init__(self, path, outputs):
        from tflite_micro import runtime
        self.outputs = len(outputs)
        # The default is ten times the file, too little for a partition without weights.
        arena = max(64 << 20, 10 * path.stat().st_size)
        self.interpreter = runtime.Interpreter.from_file(str(path), arena_size=arena)

    def inputs(self, count):
        return [self.interpreter.get_input_details(i) | {"shape_signature": []} for i in range(count)]

    def __call__(self, values):
        import numpy as np
        for i, value in enumerate(values):
            self.interpreter.set_input(np.asarray(value, order="C"), i)
        self.interpreter.invoke()
        return [self.interpreter.get_output(i) for i in range(self.outputs)]


class MicroChain(Chain):
    """The same partitions there. LiteRT makes the first state."""

    def open(self, part):
        if part["file"] == self.chain.get("init", {}).get("file"):
            return super().open(part)
        return MicroModel(self.folder / part["file"], part["outputs"])


def run_chain(chain, parts, inputs, state):
    """Calls `parts`, one for each entry of the chain's order. Returns the model's outputs and the new state. The chain
    must make them all: see unmade_outputs()."""
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
    """What LiteRT says, without the rest, and a way round operators that it does not have."""
    text = guard.first_line(error)[:200]
    if "unresolved custom op" in str(error):
        text += "; what is before and behind that operator can be cut out and run: cleave cut --to NODE, --from NODE"
    return text


def shape_of(detail, dims):
    """The input's shape with open dims set: "N" is every first one, "NAME:AXIS" another."""
    shape = [int(size) for size in detail["shape"]]
    for axis, size in enumerate(detail["shape_signature"]):
        own = f"{detail['name']}:{axis}"
        name = "N" if axis == 0 and own not in dims else own
        if size < 0 and name in dims:
            shape[axis] = dims[name]
    return shape


def bound_dims(folder):
    """The sizes that a split was made for, as shape_of() takes them; none of a folder whose manifest has no
    settings: those of `cleave split --map` and `stage`."""
    settings = guard.read_manifest(folder, guard.CHAIN).get("settings", {})
    shapes = settings.get("input_shapes", {})
    return settings.get("dims", {}) | {
        f"{name}:{axis}": size for name, shape in shapes.items() for axis, size in enumerate(shape)
        if isinstance(size, int)}


def drawn(detail, dims, generator):
    import numpy as np
    shape, kind = guard.size_of_draw(detail["name"], shape_of(detail, dims)), detail["dtype"]
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
    """"equal", or which outputs of which call differ; what says so where the model has no output."""
    for number, (inputs, wanted) in enumerate(zip(calls, whole)):
        got = other(inputs)
        wrong = [i for i, (a, b) in enumerate(zip(wanted, got)) if not is_same(a, b)]
        if wrong or len(wanted) != len(got):
            return f"call {number}: outputs {wrong} of {len(wanted)} differ"
    return "equal" if whole and whole[0] else NOTHING


def draw_calls(details, dims, seed):
    """Inputs of CALLS calls."""
    import numpy as np
    generator = np.random.default_rng(seed)
    return [[drawn(detail, dims, generator) for detail in details] for _ in range(CALLS)]


def run_original(load, calls):
    """What the whole gives, and the whole's calls. `calls` makes them of the model that was loaded."""
    try:
        model = load()
        inputs = calls(model)
        return inputs, [model(one) for one in inputs]
    except (RuntimeError, ValueError) as error:
        raise CannotRun(first_line(error)) from error


def verdict_on(load, calls, whole):
    try:
        return compare(whole, load(), calls)
    except (RuntimeError, ValueError) as error:
        return first_line(error)


def verify(original, folder, dims, seed, tell=lambda doing: None):
    """Rows (what, where, verdict) of LiteRT, without and with XNNPACK. Raises CannotRun when it refuses the original."""
    chain = read_chain(folder)
    unmade = unmade_outputs(chain)
    for xnnpack in (False, True):
        where = f"XNNPACK {'on' if xnnpack else 'off'}"
        tell(f"running the original, {where}")
        calls, whole = run_original(partial(open_original, original, chain, xnnpack),
                                    lambda model: draw_calls(model.inputs(), dims, seed))
        others: list[tuple[str, Callable]] = [("chain", partial(Chain, folder, xnnpack))]
        if unmade:
            yield "chain", where, unmade_text(unmade)
            others = []
        if (folder / "root.tflite").exists():  # a bundle has no root
            others.append(("root.tflite", partial(Model, folder / "root.tflite", xnnpack)))
        for what, load in others:
            tell(f"running {what}, {where}")
            yield what, where, verdict_on(load, calls, whole)


def unmade_text(names):
    return f'no partition makes "{names[0]}", a constant of the model: root.tflite gives it'


def signature_count(path):
    try:
        return len(interpreter_of(path, False).get_signature_list())
    except (RuntimeError, ValueError):  # LiteRT refuses the model; LiteRT for Microcontrollers may take it
        return 0


def has_outside_weights(path):
    """Whether weights are behind the flatbuffer or in other files: LiteRT for Microcontrollers takes them as zeros."""
    import mmap

    from ai_edge_litert import schema_py_generated as schema
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        model = schema.Model.GetRootAs(data, 0)
        is_elsewhere = model._tab.Offset(4 + 2 * 9) != 0  # external_buffers, a field that is newer than these classes
        return is_elsewhere or any(model.Buffers(i).Offset() > 1 for i in range(model.BuffersLength()))


def verify_micro(original, folder, seed, tell=lambda doing: None):
    """The row of LiteRT for Microcontrollers. Raises CannotRun when it refuses the original."""
    chain = read_chain(folder)
    if has_outside_weights(original):
        raise CannotRun("its weights are not inside the flatbuffer, so it would compute with zeros")
    if any("model" in part for part in chain["order"]):
        raise CannotRun("it sees only the first partition of a bundle")
    if signature_count(original) > 1:
        raise CannotRun("it runs the first subgraph, and no signature by its key")
    if unmade := unmade_outputs(chain):
        raise CannotRun(unmade_text(unmade))
    tell("running the original")
    calls, whole = run_original(partial(MicroModel, original, chain["outputs"]),
                                lambda model: draw_calls(model.inputs(len(chain["inputs"])), {}, seed))
    tell("running chain")
    yield "chain", MICRO, verdict_on(partial(MicroChain, folder, False), calls, whole)


def supervised(script, judge):
    """Runs the script in a child process. Returns its status, 3 also where the judge crashed on the original."""
    child = subprocess.run([sys.executable, script, *sys.argv[1:]], env=os.environ | {CHILD: judge},
                           stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    steps = [line[len(CHILD):].strip() for line in child.stderr.splitlines() if line.startswith(CHILD)]
    name = Path(script).name
    step = steps[-1] if steps else "starting"
    if child.returncode >= 0:
        told = [line for line in child.stderr.splitlines() if line.startswith(name)]
        if child.returncode != 0 and not told and "Traceback" in child.stderr:
            told = [f"{name}: {step}: {child.stderr.strip().splitlines()[-1]}"]
        guard.say(*told, to_errors=True)
        return child.returncode
    guard.say(f"{name}: {step}: {judge} crashed (signal {-child.returncode})", to_errors=True)
    return 3 if "original" in step else 1


def begin(script, judges=(LITERT,)):
    """Ends the process when a module is missing; in the parent, runs a child for each judge and ends, too: with 1 if
    one of them finds a difference, with 3 if none runs the original."""
    module = missing_module()
    name = Path(script).name
    if module:
        guard.without_module(name, ImportError(name=module), "ai-edge-litert numpy")
    if CHILD in os.environ:
        return
    statuses = []
    for judge in judges:
        statuses.append(supervised(script, judge))
        if statuses[-1] not in (0, 1, 3):
            sys.exit(statuses[-1])
    sys.exit(next(status for status in (1, 0, 3) if status in statuses))


def has_micro():
    from importlib.util import find_spec
    return find_spec("tflite_micro") is not None


def tell_parent(doing):
    guard.say(f"{CHILD} {doing}", to_errors=True)


def verify_main(script):
    """verify_split.py MODEL.tflite DIR [--dim N=8]... [--seed N]"""
    name = Path(script).name
    parser = argparse.ArgumentParser(prog=name, description="Runs a split .tflite model beside the original.")
    parser.add_argument("original", metavar="ORIGINAL", type=Path)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--dim", type=parse_dim, action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begin(script, (LITERT, MICRO) if has_micro() else (LITERT,))
    judge = os.environ[CHILD]
    verdicts = []
    try:
        rows = (verify(options.original, options.folder, bound_dims(options.folder) | dict(options.dim), options.seed,
                       tell_parent)
                if judge == LITERT else verify_micro(options.original, options.folder, options.seed, tell_parent))
        for what, where, verdict in rows:
            guard.say(f"{what:12} {where:12}  {verdict}")
            verdicts.append(verdict)
    except CannotRun as error:
        guard.stop(name, f"{options.original}: {judge} cannot run it: {error}", 3)
    except guard.Fault as error:
        guard.stop(name, error, error.status)
    except (OSError, ValueError) as error:
        guard.stop(name, error, 2)
    sys.exit(0 if all(verdict in ("equal", NOTHING) for verdict in verdicts) else 1)


def run_main(script):
    """run_split.py DIR [--dim N=8]... [--seed N]"""
    name = Path(script).name
    parser = argparse.ArgumentParser(prog=name, description="Runs the chain of a split .tflite model.")
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--dim", type=parse_dim, action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begin(script)
    import numpy as np
    folder, root = options.folder, options.folder / "root.tflite"
    try:
        dims = bound_dims(folder) | dict(options.dim)
        if unmade := unmade_outputs(read_chain(folder)):
            raise CannotRun(f"{folder}: {unmade_text(unmade)}")
        chain = Chain(folder, False)
        if root.exists():
            whole = Model(root, False)
            calls = draw_calls(whole.inputs(), dims, options.seed)
            wanted = [whole(inputs) for inputs in calls]
            verdict = compare(wanted, chain, calls)
        else:  # a bundle
            generator = np.random.default_rng(options.seed)
            calls = [[None if detail is None else drawn(detail, dims, generator) for detail in chain.inputs()]
                     for _ in range(CALLS)]
            wanted, verdict = [chain(inputs) for inputs in calls], None
    except guard.Fault as error:
        guard.stop(name, error, error.status)
    except (RuntimeError, ValueError, OSError) as error:
        guard.stop(name, f"{folder}: {first_line(error)}", 3)
    parts = f"{counted(len(chain.parts), 'partition')}, {CALLS} calls"
    if verdict is None:
        guard.say(f"ran: {parts}; a bundle has no root to compare with")
    else:
        agrees = verdict in ("equal", NOTHING)
        guard.say(f"{'replayed' if agrees else 'differs'}: {parts}, against root.tflite: {verdict}")
    for output, value in zip(chain.chain["outputs"], wanted[-1]):
        guard.say(f"{output}  {value.dtype}{list(value.shape)}")
    sys.exit(0 if verdict in ("equal", NOTHING, None) else 1)
