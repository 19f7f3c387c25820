"""Steps of an ONNX model with state: `cleave run DIR --steps N` and `cleave verify MODEL DIR --steps N`.

The manifest's `state` pairs inputs with outputs: what a step makes is what the next one takes. A pair has a kind:

    replaced   the output is the next input
    grows      likewise; it is longer on one axis, on which the state begins empty
    appended   the output is the new entries alone: the caller puts them behind the old ones
    constant   nothing changes it; an output of no elements keeps what there is

A state begins as zeros, a constant is drawn. Where the model or the split has fixed the size of an axis on which a state
grows, the oldest entries go as new ones come. Each of the models that are compared keeps its own state; all are given the same
tokens: ids below the last size of the logits. Masks count the entries that are filled, positions go on, other inputs are drawn
anew for each step. An array of --inputs with one more axis than the input has a value for each step; for a state it is the
first one.
"""

import re
import statistics
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
import onnxruntime as ort

import child
import guard
from chains import tell_outputs
from comparing import chosen, compare
from device_replay import tensor_bytes
from guard import CannotRun, WrongUsage, counted, first_line
from onnx_chain import (
    OF_PROVIDER,
    UNPACKED,
    Verification,
    given_inputs,
    outputs_of_partitions,
    provider_of,
    read_split,
    takes_parameters,
    target_of,
)
from ort_inputs import (
    BIT_TYPES,
    DRAWS,
    Draw,
    as_split,
    check_names,
    dims_by_place,
    draw_value,
    open_original,
    shapes_for,
)
from ort_values import CPU, NUMPY_TYPES, UNOPTIMISED, Value, open_whole, output_names
from ort_values import run as run_session
from reports import DIFFERS, NOT_RUN, Report, Row, size_text, time_text

STATE = {"state": [{"input": str, "output": (str, None), "kind": str, "axis?": (int, None)}]}
KINDS = ("replaced", "grows", "appended", "constant")
ONE_TOKEN = Draw(1, 2, 0, 1, batch=1, picture=224)
POSITIONS = ("position_ids", "position_id", "positions", "cache_position", "input_pos")


# ---- arrays of any type ----


def element_of(kind):
    """The element type of "tensor(float)"."""
    found = re.fullmatch(r"tensor\((\w+)\)", kind)
    if found is None or found[1] not in {**NUMPY_TYPES, **BIT_TYPES}:
        raise CannotRun(f"a state of {kind} cannot be kept here")
    return found[1]


def value_of_bits(array, element):
    if element in BIT_TYPES:
        return Value(kept=ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.ascontiguousarray(array), BIT_TYPES[element][0]))
    return Value.of_array(array)


def bits_of(value, element):
    _, shape, data = value.content()
    return np.frombuffer(data, BIT_TYPES[element][1] if element in BIT_TYPES else NUMPY_TYPES[element]).reshape(shape)


# ---- state ----


class Pair:
    """An entry of the manifest's `state`. `size`: on its axis, where that is fixed; `first`: the Value before the first step."""

    def __init__(self, entry, declared):
        self.input, self.output, self.kind, self.axis = entry["input"], entry["output"], entry["kind"], entry.get("axis")
        self.element, self.size, self.first = element_of(declared.type), None, None
        self.is_long = self.kind in ("grows", "appended")

    def begin(self, shape, dims, declared, given, random):
        """The first state: zeros, but for a constant, which is drawn. `shape`: as an input that is drawn would have it."""
        shape = list(shape)
        if self.is_long:
            dim = declared.shape[self.axis]
            self.size = dim if isinstance(dim, int) else dims.get((self.input, self.axis), dims.get(dim))
            shape[self.axis] = self.size or 0
        guard.size_of_draw(self.input, shape)
        kind = BIT_TYPES[self.element][1] if self.element in BIT_TYPES else NUMPY_TYPES[self.element]
        if self.input in given:
            self.first = given[self.input]
        elif self.kind == "constant":
            self.first = draw_value(declared.type, shape, ONE_TOKEN, random)
        else:
            self.first = value_of_bits(np.zeros(shape, kind), self.element)

    def after(self, old, made):
        """The state after a step which had `old` and made `made`, which may be None."""
        if made is None or (self.kind == "constant" and not bits_of(made, self.element).size):
            return old
        if not self.is_long:
            return made
        entries = bits_of(made, self.element)
        if self.kind == "appended":
            entries = np.concatenate([bits_of(old, self.element), entries], self.axis)
        elif self.size is None:
            return made
        if self.size is not None:
            length = entries.shape[self.axis]
            entries = np.take(entries, range(max(0, length - self.size), length), self.axis)
        return value_of_bits(entries, self.element)


def pairs_of(folder, manifest, declared, outputs):
    """The Pairs of a manifest. Raises BadFile, WrongUsage where the model has no state."""
    path = folder / "manifest.json"
    if not manifest.get("state"):
        raise WrongUsage(f"{path}: names no state, so --steps has nothing to keep: split with --state IN=OUT, or leave --steps out")
    guard.Checked(path)(manifest, STATE)
    guard.check_once(path, "state: the input", [entry["input"] for entry in manifest["state"]])
    for i, entry in enumerate(manifest["state"]):
        here = f"{path}: state[{i}]"
        if entry["input"] not in declared:
            raise guard.BadFile(f'{here}.input: the model has no input "{entry["input"]}"')
        if entry["output"] not in outputs and not (entry["output"] is None and entry["kind"] == "constant"):
            raise guard.BadFile(f'{here}.output: the model has no output "{entry["output"]}"')
        if entry["kind"] not in KINDS:
            raise guard.BadFile(f'{here}.kind: is "{entry["kind"]}", and must be one of {", ".join(KINDS)}')
        rank = len(declared[entry["input"]].shape or [])
        if entry["kind"] in ("grows", "appended") and not (isinstance(entry.get("axis"), int) and 0 <= entry["axis"] < rank):
            raise guard.BadFile(f'{here}.axis: is no axis of the input, which has {rank}')
    return [Pair(entry, declared[entry["input"]]) for entry in manifest["state"]]


# ---- what else a step is given ----


def is_mask(name):
    return name.endswith("attention_mask") and not name.startswith("encoder_")


class Steps:
    """The inputs of each step."""

    def __init__(self, path, session, manifest, options):
        dims, given = as_split(path, manifest, dict(options.dim), given_inputs(options, path))
        self.declared = {one.name: one for one in session.get_inputs()}
        self.outputs = output_names(session)
        self.dims, self.given, self.seed = dims_by_place(session.get_inputs(), dims), given, options.seed
        check_names(session, given, self.dims)
        self.pairs = pairs_of(options.folder, manifest, self.declared, self.outputs)
        self.kept = {pair.input for pair in self.pairs}
        self.vocabulary = self.logits_of(session)
        self.shapes, self.draw, self.seen = {}, ONE_TOKEN, 0

    def logits_of(self, session):
        """The last size of the logits; None where it is not known."""
        states = {pair.output for pair in self.pairs}
        ranked = [one for one in session.get_outputs() if one.name not in states and one.shape and isinstance(one.shape[-1], int)]
        named = [one for one in ranked if "logits" in one.name] or [one for one in ranked if len(one.shape) == 3]
        return named[0].shape[-1] if named else None

    def begin(self, draw):
        """Sizes of the inputs, as this Draw has them, and the first state."""
        self.draw, self.seen = draw, 0
        self.shapes = shapes_for(self.declared.values(), self.dims, draw)
        for pair in self.pairs:
            pair.begin(self.shapes[pair.input], self.dims, self.declared[pair.input], self.given, np.random.default_rng(self.seed))

    @property
    def tokens(self):
        """How many entries a step adds."""
        names = [name for name in self.declared if name not in self.kept and not is_mask(name)]
        shapes = [self.given_shape(name) for name in names if name not in POSITIONS]
        return next((shape[1] for shape in shapes if len(shape) > 1), 1)

    def given_shape(self, name):
        own = self.shapes[name]
        if name not in self.given:
            return own
        shape = self.given[name].content()[1]
        return shape[len(shape) - len(own):]

    def filled(self, name, past):
        """What a mask has: ones for the entries that are filled, which are the last ones of a state that grows."""
        shape, axis = list(self.shapes[name]), len(self.shapes[name]) - 1
        dim = self.declared[name].shape[axis]
        is_fixed = isinstance(dim, int) or (name, axis) in self.dims or dim in self.dims
        length = shape[axis] if is_fixed else past + self.tokens
        shape[axis] = length
        mask = np.zeros(shape, bool)
        count = min(self.seen + self.tokens, length)
        if any(pair.is_long for pair in self.pairs):
            mask[..., length - count:] = True
        else:
            mask[..., :count] = True
        return mask if len(shape) < 4 else np.zeros(shape)  # one of four axes is added to the scores

    def at(self, step, state):
        """The Values of a step by name, without the state."""
        random = np.random.default_rng([self.seed, step])
        past = next((state[pair.input].content()[1][pair.axis] for pair in self.pairs if pair.is_long), self.seen)
        feeds = {}
        for name, declared in self.declared.items():
            if name in self.kept:
                continue
            shape, kind = self.shapes[name], declared.type
            if name in self.given:
                feeds[name] = self.given_at(name, step)
            elif is_mask(name):
                feeds[name] = Value.of_array(self.filled(name, past).astype(NUMPY_TYPES[element_of(kind)]))
            elif name in POSITIONS:
                positions = np.arange(self.seen, self.seen + (shape[-1] if shape else 1)).astype(NUMPY_TYPES[element_of(kind)])
                feeds[name] = Value.of_array(np.broadcast_to(positions if shape else positions[0], shape))
            elif name == "use_cache_branch":
                feeds[name] = Value.of_array(np.full(shape, step > 0))
            elif self.vocabulary and kind in ("tensor(int64)", "tensor(int32)") and len(shape) > 1:
                ids = random.integers(0, self.vocabulary, size=guard.size_of_draw(name, shape))
                feeds[name] = Value.of_array(ids.astype(NUMPY_TYPES[element_of(kind)]))
            else:
                first = np.random.default_rng(self.seed) if name.startswith("encoder_") else random  # the same for all steps
                feeds[name] = draw_value(kind, guard.size_of_draw(name, shape), self.draw, first)
        return feeds

    def given_at(self, name, step):
        value = self.given[name]
        array = value.plain()
        if np.ndim(array) != len(self.shapes[name]) + 1:
            return value
        if step >= len(array):
            raise WrongUsage(f'--inputs: "{name}" has values for {counted(len(array), "step")}, and --steps asks for more')
        return Value.of_array(array[step])


class Loop:
    """A model that is called step by step, with its own state. `call`: of all inputs by name, gives the outputs."""

    def __init__(self, row, call, pairs):
        self.row, self.call, self.pairs = row, call, pairs
        self.state = {pair.input: pair.first for pair in pairs}
        self.seconds = []

    def step(self, feeds):
        child.tell(f"running {self.row.what}")
        begin = time.perf_counter()
        made = self.call({**feeds, **self.state})
        self.seconds.append(time.perf_counter() - begin)
        self.state = {pair.input: pair.after(self.state[pair.input], made.get(pair.output)) for pair in self.pairs}
        return {name: value.content() for name, value in made.items()}

    def compare(self, number, wanted, feeds, tolerance, missing):
        """Makes the step and fills in the row. Returns what the step made, None where nothing is to follow. `missing`: outputs that
        need not be there."""
        try:
            made = self.step(feeds)
        except Exception as error:
            self.row.ran = "no"
            self.row.fault(NOT_RUN, f"step {number}: {first_line(error)}")
            return None
        one = Row("")
        for name in wanted:
            if name not in made and name not in missing:
                one.fault(DIFFERS, f'output "{name}" is missing')
        compare(one, wanted, made, tolerance)
        self.row.ran, self.row.equal, self.row.compared, self.row.how = "yes", one.equal, one.compared, one.how or self.row.how
        self.row.untested, self.row.largest = one.untested, one.largest
        self.row.faults += [(kind, f"step {number}: {text}") for kind, text in one.faults]
        return None if one.faults else made


# ---- the commands ----


def first_step(steps, session):
    """Sizes of the inputs with which the model makes its first step."""
    failure: Exception | None = None
    for number, draw in enumerate((ONE_TOKEN, *DRAWS)):
        if number in child.deadly_draws():
            continue
        try:
            steps.begin(draw)
            state = {pair.input: pair.first for pair in steps.pairs}
            child.tell(f"{child.DRAWING}{number}")
            run_session(session, {**steps.at(0, state), **state}, steps.outputs)
            return
        except Exception as error:
            failure = failure or error
    raise CannotRun(f"makes no step with the sizes that were tried (--dim NAME=SIZE and --inputs FILE.npz give it its own): "
                    f"{first_line(failure)}")  # fmt: skip


def whole_loop(session, steps, row):
    """The Loop of a whole model."""
    return Loop(row, lambda values: run_session(session, values, steps.outputs), steps.pairs)


def root_loop(path, steps, settings):
    session, remark = open_whole(path, UNOPTIMISED, settings)
    return whole_loop(session, steps, Row(path.name, source=path.name, remarks=[remark] if remark else []))


def chain_loop(options, manifest, steps, original, provider):
    """The Loop of the partitions, and a row for each."""
    parts, seconds = manifest["partitions"], {}
    chain = Verification(original, options.folder, manifest, None, provider)
    rows, calls = [Row(part["file"] or part["name"]) for part in parts], []
    for part, row in zip(parts, rows):
        if part["file"] is not None:
            child.tell(f"running {row.what}")
            calls.append((row, chain.opened(part, row)))
        row.on = row.on or (target_of(part) if "residency" in manifest else "")

    def call(values):
        store = {**chain.passed, **values}
        for row, one in calls:
            child.tell(f"running {row.what}")
            begin = time.perf_counter()
            store.update(one(store))
            seconds.setdefault(row.what, []).append(time.perf_counter() - begin)
            row.ran, row.time = "yes", time_text(statistics.median(seconds[row.what]))
        return {name: store[name] for name in steps.outputs if name in store}

    return Loop(Row(f"chain of {counted(len(rows), 'partition')}"), call, steps.pairs), rows


def stepped(options, path, is_root):
    """The Report on --steps. `path`: of the model that all is held against; `is_root`: it is the root of the split."""
    provider, manifest = provider_of(options.ep), read_split(options.folder)
    settings = UNPACKED if takes_parameters(path, manifest["partitions"]) else None
    child.tell(child.ORIGINAL)
    session = open_original(path, settings)
    steps = Steps(path, session, manifest, options)
    first_step(steps, session)
    original = whole_loop(session, steps, Row(""))
    chain, rows = chain_loop(options, manifest, steps, SimpleNamespace(
        path=path, feeds=steps.declared, settings=settings, is_root=True), provider)  # fmt: skip
    chain.row.source = "root.onnx and the chain" if is_root else f"the {chain.row.what}"
    root = options.folder / "root.onnx"
    loops = [chain] if is_root else [root_loop(root, steps, settings), chain]
    exact = chosen(options)
    tolerances = [chosen(options, OF_PROVIDER) if loop is chain and provider not in (None, CPU) else exact for loop in loops]
    missing = set(steps.outputs) - outputs_of_partitions(root)
    report = Report([*(loop.row for loop in loops[:-1]), *rows, chain.row], len(steps.outputs), each="step", calls=options.steps)
    report.ran = f"ran: {counted(len(rows), 'partition')}" if is_root else ""
    made: dict | None = {}
    for number in range(1, options.steps + 1):
        feeds = steps.at(number - 1, original.state)
        child.tell(child.ORIGINAL)
        wanted = original.step(feeds)
        ends = [loop.compare(number, wanted, feeds, tolerance, missing if loop is chain else ())
                for loop, tolerance in zip(loops, tolerances)]  # fmt: skip
        made = ends[-1]
        if None in ends:
            break
        steps.seen += steps.tokens
    report.facts += facts_of(steps, chain)
    if is_root and made:
        tell_outputs(report, options, made)
    return report


def facts_of(steps, chain):
    kinds = Counter(pair.kind for pair in steps.pairs)
    size = sum(tensor_bytes(value) for value in chain.state.values())
    said = ", ".join(f"{kind}: {count}" for kind, count in kinds.items())
    facts = [("state", f"{counted(len(steps.pairs), 'input')} ({said}), {size_text(size)} after {counted(len(chain.seconds), 'step')}")]
    if steps.vocabulary:
        facts.append(("tokens", f"{steps.tokens} a step, ids below {steps.vocabulary}"))
    if chain.seconds:
        facts.append(("a step", f"{time_text(statistics.median(chain.seconds))}, the median of all, on this CPU"))
    return facts


def run(options):
    """The Report of `cleave run --steps`."""
    return stepped(options, options.folder / "root.onnx", True)


def verify(options):
    """The Report of `cleave verify --steps`."""
    return stepped(options, options.model, False)
