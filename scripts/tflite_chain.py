"""Runs split TensorFlow Lite models in LiteRT (pip install ai-edge-litert), and compares them with the model that was split, bit
for bit: `cleave run` and `cleave verify`.

The chain is run as manifest.json describes it ("chain"):

    1. the state begins with what init.tflite gives; variables that a partition keeps itself begin there
    2. each partition of `order` gets the values named in its `inputs`, and gives those named in its `outputs`;
       one with "model" is that signature of its file, a bundle
    3. after the last one, each variable of `state` becomes the value that `mutations` names

Chain below is all that a driver needs. verify() calls all without and with XNNPACK, three times one after the other, so that
state shows. Where LiteRT for Microcontrollers is installed (tflite-micro on PyPI), it is a second judge, in a process of its own:
of models that it runs at all, the chain must give what the whole gives there.
"""

import os
import statistics
from collections.abc import Callable
from functools import partial

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import child
import guard
from chains import CallChain, compare_calls, named, overlap_row, parts_of_targets, tell_outputs
from comparing import chosen, content_of_array
from guard import BadFile, CannotRun, WrongUsage, counted, read_chain
from reports import NOT_RUN, Report, Row, time_text

LITERT, MICRO = "LiteRT", "tflite-micro"
CALLS = 3  # so that state shows


def interpreter_of(path, xnnpack):
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


def unmade_outputs(chain):
    """Outputs of the model that no partition makes, and that are no inputs and no state: constants of the file."""
    made = {name for part in chain["order"] for name in part["outputs"]} | set(chain["inputs"])
    made |= {held["name"] for held in chain["state"]}
    return [name for name in chain["outputs"] if name not in made]


class Chain(CallChain):
    """The partitions of a split in LiteRT."""

    def __init__(self, folder, xnnpack):
        super().__init__(read_chain(folder))
        self.folder, self.xnnpack, self.bundles = folder, xnnpack, {}
        self.parts = [self.open(part) for part in self.chain["order"]]
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

    def call(self, i, values):
        entry = self.chain["order"][i]
        return dict(zip(entry["outputs"], self.parts[i]([values[name] for name in entry["inputs"]])))


def check_same(path, what, details, names):
    """Raises BadFile when the model's values are not those of the chain, so that it is another model. Empty and
    repeated names are made unique in a chain, and an output may be a variable under another name."""
    if len(details) != len(names):
        raise BadFile(f"{path}: has {counted(len(details), what)}, and the model that was split has {len(names)}: "
                         "it is another model")
    for detail, name in zip(details, names if what == "input" else []):
        own = detail["name"]
        if own and own != name and not name.startswith(own + "#"):
            raise BadFile(f'{path}: its {what} is "{own}", and that of the model that was split is "{name}": '
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
        raise BadFile(f"{path}: has no signature that was split: it is another model")
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

    def inputs(self, names):
        return [self.interpreter.get_input_details(i) | {"name": name, "shape_signature": []} for i, name in enumerate(names)]

    def __call__(self, values):
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


def bound_dims(settings):
    """The sizes that a split was made for, as shape_of() takes them. `settings`: of its manifest."""
    shapes = settings.get("input_shapes", {})
    return settings.get("dims", {}) | {
        f"{name}:{axis}": size for name, shape in shapes.items() for axis, size in enumerate(shape)
        if isinstance(size, int)}


def drawn(detail, dims, generator):
    shape, kind = guard.size_of_draw(detail["name"], shape_of(detail, dims)), detail["dtype"]
    if kind == np.bool_:
        return generator.integers(0, 2, shape).astype(kind)
    if np.issubdtype(kind, np.integer):
        limits = np.iinfo(kind)
        return generator.integers(max(limits.min, -1000), min(limits.max, 1000), shape, endpoint=True).astype(kind)
    if np.issubdtype(kind, np.complexfloating):
        return (generator.random(shape) + 1j * generator.random(shape)).astype(kind)
    return generator.random(shape).astype(kind)


class Inputs:
    """The inputs of calls: the given ones in each, others drawn, anew for each call."""

    def __init__(self, options, times):
        # Folders of `cleave split --map` and `stage` have no settings.
        settings = guard.read_manifest(options.folder, guard.CHAIN).get("settings", {})
        guard.check_dims(dict(options.dim), bound_dims(settings))
        self.dims = bound_dims(settings) | dict(options.dim)
        self.texts = settings.get("set_inputs", {}) | dict(options.set_input)
        self.seed, self.times = options.seed, times
        self.given = {}
        if options.inputs and options.inputs.is_dir():
            raise WrongUsage(f"{options.inputs}: a folder of .pb files is for ONNX: give a .npz file")
        if options.inputs:
            with np.load(guard.npz_file(options.inputs)) as arrays:
                self.given = {name: arrays[name] for name in arrays.files}

    def of(self, names, details):
        """For each call the inputs with these names and details, those of a file; None: nothing reads it."""
        for name in self.given:
            if name not in names:
                raise WrongUsage(f'the model has no input "{name}" (it has: {", ".join(names)})')
        generator = np.random.default_rng(self.seed)
        return [[self.one(name, detail, generator) for name, detail in zip(names, details)] for _ in range(self.times)]

    def one(self, name, detail, generator):
        if name in self.given:
            value = self.given[name]
            if detail is not None and value.dtype != detail["dtype"]:
                raise WrongUsage(f'input "{name}" is {value.dtype.name}, and must be {np.dtype(detail["dtype"]).name}')
            return value
        if detail is None:
            return None
        if name in self.texts:
            number = float(guard.number_in(self.texts[name]))
            return np.full(shape_of(detail, self.dims), number).astype(detail["dtype"])
        return drawn(detail, self.dims, generator)


def run_original(load, calls):
    """What the whole gives, and the whole's calls. `calls` makes them of the model that was loaded."""
    try:
        model = load()
        inputs = calls(model)
        return inputs, [model(one) for one in inputs]
    except (RuntimeError, ValueError) as error:
        raise CannotRun(first_line(error)) from error


def refusal(error):
    return f"{LITERT} refuses it: {first_line(error)}" if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"


def row_of(what, where, source, load, names, wanted, calls, tolerance):
    row = Row(f"{what}, {where}", source=source)
    child.tell(f"running {row.what}")
    try:
        model = load()
        compare_calls(row, names, wanted, [model(inputs) for inputs in calls], content_of_array, tolerance)
    except Exception as error:  # whatever a runtime raises
        row.ran = "no"
        row.fault(NOT_RUN, refusal(error))
    return row


def verify(options):
    """The Report of `cleave verify`. Raises CannotRun when LiteRT refuses the original."""
    refuse_provider(options)
    if os.environ.get(child.JUDGE) == MICRO:
        return verify_micro(options)
    chain, folder, tolerance = read_chain(options.folder), options.folder, chosen(options)
    unmade, rows = unmade_outputs(chain), []
    made = Inputs(options, options.times or CALLS)
    parts = counted(len(chain["order"]), "partition")
    for xnnpack in (False, True):
        where = f"XNNPACK {'on' if xnnpack else 'off'}"
        child.tell(f"{child.ORIGINAL}, {where}")
        calls, whole = run_original(partial(open_original, options.model, chain, xnnpack),
                                    lambda model: made.of(chain["inputs"], model.inputs()))
        others: list[tuple[str, str, Callable]] = [("chain", f"the chain of {parts}", partial(Chain, folder, xnnpack))]
        if unmade:
            rows.append(Row(f"chain, {where}", faults=[(NOT_RUN, unmade_text(unmade))]))
            others = []
        if (folder / "root.tflite").exists():  # a bundle has no root
            others.append(("root.tflite", "root.tflite", partial(Model, folder / "root.tflite", xnnpack)))
        for what, source, load in others:
            rows.append(row_of(what, where, source, load, chain["outputs"], whole, calls, tolerance))
    return Report(rows, len(chain["outputs"]), calls=made.times)


def unmade_text(names):
    return f'no partition makes "{names[0]}", a constant of the model: root.tflite gives it'


def refuse_provider(options):
    if options.ep:
        raise WrongUsage("--ep is for ONNX Runtime, and this is a TensorFlow Lite model")
    if options.modules:
        raise WrongUsage("--import is for torch.export archives, and this is a TensorFlow Lite model")


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


def verify_micro(options):
    """The row of LiteRT for Microcontrollers. Raises CannotRun when it refuses the original."""
    chain = read_chain(options.folder)
    if has_outside_weights(options.model):
        raise CannotRun("its weights are not inside the flatbuffer, so it would compute with zeros")
    if any("model" in part for part in chain["order"]):
        raise CannotRun("it sees only the first partition of a bundle")
    if signature_count(options.model) > 1:
        raise CannotRun("it runs the first subgraph, and no signature by its key")
    if unmade := unmade_outputs(chain):
        raise CannotRun(unmade_text(unmade))
    child.tell(child.ORIGINAL)
    made = Inputs(options, options.times or CALLS)
    calls, whole = run_original(partial(MicroModel, options.model, chain["outputs"]),
                                lambda model: made.of(chain["inputs"], model.inputs(chain["inputs"])))
    load = partial(MicroChain, options.folder, False)
    row = row_of("chain", MICRO, f"the chain in {MICRO}", load, chain["outputs"], whole, calls, chosen(options))
    return Report([row], len(chain["outputs"]), calls=made.times)


def run(options):
    """The Report of `cleave run`: the chain against root.tflite; a bundle has none, and is run only."""
    refuse_provider(options)
    folder, root, times = options.folder, options.folder / "root.tflite", options.times or 1
    chain_json, targets = read_chain(folder), parts_of_targets(folder) if options.overlap else []
    names, made, whole = chain_json["outputs"], Inputs(options, times), []
    if root.exists():
        child.tell(f"{child.ORIGINAL}, root.tflite")
        calls, whole = run_original(lambda: Model(root, False), lambda model: made.of(chain_json["inputs"], model.inputs()))
    child.tell("running the chain")
    parts = counted(len(chain_json["order"]), "partition")
    row = Row(f"chain of {parts}", ran="no")
    report = Report([row], len(names), f"ran: {parts}", times)
    if unmade := unmade_outputs(chain_json):
        row.fault(NOT_RUN, unmade_text(unmade))
        return report
    try:
        chain = Chain(folder, False)
        calls = calls if whole else made.of(chain_json["inputs"], chain.inputs())
        results = [chain(inputs) for inputs in calls]
    except guard.Fault:
        raise
    except Exception as error:  # whatever a runtime raises
        row.fault(NOT_RUN, refusal(error))
        return report
    row.ran, row.time = "yes", time_text(statistics.median(map(sum, chain.seconds)))
    report.rows[:0] = chain.rows()
    first = named(names, results[0], content_of_array)
    if whole:
        row.source = "root.tflite and the chain"
        compare_calls(row, names, whole, results, content_of_array, chosen(options))
    else:
        report.why_alone = "a bundle has no root"
    if options.overlap:
        new = Chain(folder, False)
        given = new.given(calls[0])
        report.rows.append(overlap_row(targets, new.steps(), given, first, content_of_array, report.facts))
    tell_outputs(report, options, first)
    return report
