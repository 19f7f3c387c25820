"""Inputs of a split ONNX model: sizes and values that the split was made with, and the state that a step takes from another.

The manifest's `state` pairs inputs with outputs: what a step makes is what the next one takes. A pair has a kind:

    replaced   the output is the next input
    grows      likewise; it is longer on one axis, on which the state begins empty
    appended   the output is the new entries alone: the caller puts them behind the old ones
    constant   nothing changes it; an output of no elements keeps what there is

A state begins as zeros, a constant is drawn. Where the model or the split has fixed the size of an axis on which a state
grows, the oldest entries go as new ones come. Tokens are ids below the last size of the logits. Masks count the entries that
are filled, positions go on, other inputs are drawn anew for each step. An array of --inputs with one more axis than the input
has a value for each step; for a state it is the first one.
"""

import re
from pathlib import Path

import numpy as np
import onnxruntime as ort

import child
import guard
from guard import CannotRun, WrongUsage, counted, first_line
from ort_inputs import (
    BIT_TYPES,
    DRAWS,
    Draw,
    check_names,
    dims_by_place,
    dims_of_given,
    draw_value,
    of_split,
    open_original,
    shapes_for,
)
from ort_values import NUMPY_TYPES, Value, output_names
from ort_values import run as run_session

STATE = {"state": [{"input": str, "output": (str, None), "kind": str, "axis?": (int, None)}]}
LONG = ("grows", "appended")  # on an axis
KINDS = ("replaced", *LONG, "constant")
ONE_TOKEN = Draw(1, 2, 0, 1, batch=1, picture=224)
FIRST_DRAW = 1000  # the number of the first draw of a step, which find_inputs() gives to none of its own
POSITIONS = ("position_ids", "position_id", "positions", "cache_position", "input_pos")


# ---- arrays of any type ----


def element_of(kind):
    """The element type of "tensor(float)"."""
    found = re.fullmatch(r"tensor\((\w+)\)", kind)
    if found is None or found[1] not in {**NUMPY_TYPES, **BIT_TYPES}:
        raise CannotRun(f"a state of {kind} cannot be kept here")
    return found[1]


def value_of(array, kind):
    """The array as a Value of "tensor(int64)"."""
    return Value.of_array(array.astype(NUMPY_TYPES[element_of(kind)]))


def numpy_type(element):
    """Of its bits, where numpy does not have the type."""
    return BIT_TYPES[element][1] if element in BIT_TYPES else NUMPY_TYPES[element]


def value_of_bits(array, element):
    if element in BIT_TYPES:
        return Value(kept=ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.ascontiguousarray(array), BIT_TYPES[element][0]))
    return Value.of_array(array)


def bits_of(value, element):
    _, shape, data = value.content()
    return np.frombuffer(data, numpy_type(element)).reshape(shape)


# ---- state ----


class Pair:
    """An entry of the manifest's `state`. `size`: on its axis, where that is fixed; `first`: the Value before the first step."""

    def __init__(self, entry, declared):
        self.input, self.output, self.kind, self.axis = entry["input"], entry["output"], entry["kind"], entry.get("axis")
        self.element, self.size, self.first = element_of(declared.type), None, None
        self.is_long = self.kind in LONG

    def begin(self, shape, dims, declared, given, random, has_entries):
        """The first state. `shape`: as an input that is drawn would have it; `has_entries`: it is drawn, as of a later step."""
        shape = list(shape)
        if self.is_long:
            dim = declared.shape[self.axis]
            self.size = dim if isinstance(dim, int) else dims.get((self.input, self.axis), dims.get(dim))
            if self.size is not None or not has_entries:
                shape[self.axis] = self.size or 0
        guard.size_of_draw(self.input, shape)
        if self.input in given:
            self.first = given[self.input]
        elif self.kind == "constant" or has_entries:
            self.first = draw_value(declared.type, shape, ONE_TOKEN, random)
        else:
            self.first = value_of_bits(np.zeros(shape, numpy_type(self.element)), self.element)

    def after(self, old, made):
        """What is kept of a step which had `old` and made `made`, which may be None: on a long axis all entries."""
        if made is None or (self.kind == "constant" and not bits_of(made, self.element).size):
            return old
        if self.kind != "appended":
            return made
        return value_of_bits(np.concatenate([bits_of(old, self.element), bits_of(made, self.element)], self.axis), self.element)

    def given_to(self, kept, seen):
        """What a step is given of what is kept: the last entries, as many as it takes, with zeros before them where there are
        fewer. `seen`: how many entries are no padding."""
        length = kept.content()[1][self.axis] if self.is_long else 0
        size = min(seen, length) if self.size is None else self.size
        if length == size:
            return kept
        entries = bits_of(kept, self.element)
        entries = np.take(entries, range(max(0, length - size), length), self.axis)
        lacking = [size - entries.shape[self.axis] if axis == self.axis else 0 for axis in range(entries.ndim)]
        return value_of_bits(np.pad(entries, [(count, 0) for count in lacking]), self.element)


def pairs_of(manifest, declared, outputs):
    """The Pairs of a manifest. Raises BadFile."""
    path = Path("manifest.json")
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
        if entry["kind"] in LONG and not (isinstance(entry.get("axis"), int) and 0 <= entry["axis"] < rank):
            raise guard.BadFile(f'{here}.axis: is no axis of the input, which has {rank}')
    return [Pair(entry, declared[entry["input"]]) for entry in manifest["state"]]


# ---- what else a step is given ----


def is_mask(name):
    return name.endswith("attention_mask") and not name.startswith("encoder_")


class Steps:
    """The inputs of each step."""

    def __init__(self, session, manifest, dims, given, seed):
        """`dims` and `given`: of of_split()."""
        self.declared = {one.name: one for one in session.get_inputs()}
        self.outputs = output_names(session)
        self.dims, self.given, self.seed = dims_by_place(session.get_inputs(), dims), given, seed
        check_names(session, given, self.dims)
        self.pairs = pairs_of(manifest, self.declared, self.outputs)
        longer = {(pair.input, pair.axis) for pair in self.pairs if pair.is_long}
        self.dims = {**dims_of_given(session.get_inputs(), given, longer), **self.dims}
        self.kept = {pair.input for pair in self.pairs}
        self.logits, self.vocabulary = self.logits_of(session)
        self.shapes, self.draw, self.seen = {}, ONE_TOKEN, 0

    def logits_of(self, session):
        """The name of the logits, and their last size; None where they are not known."""
        states = {pair.output for pair in self.pairs}
        ranked = [one for one in session.get_outputs() if one.name not in states and one.shape and isinstance(one.shape[-1], int)]
        named = [one for one in ranked if "logits" in one.name] or [one for one in ranked if len(one.shape) == 3]
        return (named[0].name, named[0].shape[-1]) if named else (None, None)

    def begin(self, draw, has_entries):
        """Sizes of the inputs, as this Draw has them, and the first state."""
        self.draw, random = draw, np.random.default_rng(self.seed)
        self.shapes = shapes_for(self.declared.values(), self.dims, draw)
        for pair in self.pairs:
            pair.begin(self.shapes[pair.input], self.dims, self.declared[pair.input], self.given, random, has_entries)
        long = next((pair for pair in self.pairs if pair.is_long), None)
        is_filled = has_entries or (long is not None and long.input in self.given)
        self.seen = (1 if long is None else long.first.content()[1][long.axis]) if is_filled else 0

    def first(self):
        return {pair.input: pair.first for pair in self.pairs}

    @property
    def past(self):
        """How many entries a step is given of a state that grows."""
        return next((pair.size for pair in self.pairs if pair.is_long and pair.size is not None), self.seen)

    @property
    def ids(self):
        """The name of the input of tokens; None where the model has none."""
        names = [name for name, one in self.declared.items() if one.type in ("tensor(int64)", "tensor(int32)") and
                 len(one.shape or []) > 1 and name not in self.kept and name not in POSITIONS and not is_mask(name)]  # fmt: skip
        return names[0] if names and self.vocabulary else None

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

    def tells_padding(self):
        """Whether the inputs tell padding from tokens, which takes a mask and positions."""
        return any(map(is_mask, self.declared)) and any(name in POSITIONS for name in self.declared)

    def filled(self, name, pads):
        """What a mask has: ones for the entries that are filled, which are the last ones of a state that grows."""
        shape, axis = list(self.shapes[name]), len(self.shapes[name]) - 1
        dim = self.declared[name].shape[axis]
        is_fixed = isinstance(dim, int) or (name, axis) in self.dims or dim in self.dims
        length = shape[axis] if is_fixed else self.past + self.tokens
        shape[axis] = length
        mask = np.zeros(shape, bool)
        count = min(self.seen + self.tokens - pads, length)
        if any(pair.is_long for pair in self.pairs):
            mask[..., length - count:] = True
        else:
            mask[..., :count] = True
        return mask if len(shape) < 4 else np.zeros(shape)  # one of four axes is added to the scores

    def at(self, step, pads=0):
        """The Values of a step by name, without the state. `pads`: how many of its tokens, the first, are padding."""
        random = np.random.default_rng([self.seed, step])
        feeds = {}
        for name, declared in self.declared.items():
            if name in self.kept:
                continue
            shape, kind = self.shapes[name], declared.type
            if name in self.given:
                feeds[name] = self.given_at(name, step)
            elif is_mask(name):
                feeds[name] = value_of(self.filled(name, pads), kind)
            elif name in POSITIONS:
                first = self.seen - pads
                positions = np.maximum(np.arange(first, first + (shape[-1] if shape else 1)), 0)
                feeds[name] = value_of(np.broadcast_to(positions if shape else positions[0], shape), kind)
            elif name == "use_cache_branch":
                feeds[name] = Value.of_array(np.full(shape, self.seen > 0))
            elif name == self.ids:
                feeds[name] = value_of(random.integers(0, self.vocabulary, size=guard.size_of_draw(name, shape)), kind)
            else:
                own = np.random.default_rng(self.seed) if name.startswith("encoder_") else random  # the same for all steps
                feeds[name] = draw_value(kind, guard.size_of_draw(name, shape), self.draw, own)
        return feeds

    def given_at(self, name, step):
        value = self.given[name]
        array = value.plain()
        if np.ndim(array) != len(self.shapes[name]) + 1:
            return value
        if step >= len(array):
            raise WrongUsage(f'--inputs: "{name}" has values for {counted(len(array), "step")}, and --steps asks for more')
        return Value.of_array(array[step])


def first_step(steps, session, has_entries=False):
    """Sizes of the inputs with which the model makes its first step: all Values of that by name. Raises CannotRun."""
    failure: Exception | None = None
    for number, draw in enumerate((ONE_TOKEN, *DRAWS), FIRST_DRAW):
        if number in child.deadly_draws():
            continue
        try:
            steps.begin(draw, has_entries)
            feeds = {**steps.at(0), **steps.first()}
            child.tell(f"{child.DRAWING}{number}")
            run_session(session, feeds, steps.outputs)
            return feeds
        except Exception as error:
            failure = failure or error
    raise CannotRun(f"makes no step with the sizes that were tried (--dim NAME=SIZE and --inputs FILE.npz give it its own): "
                    f"{first_line(failure)}")  # fmt: skip


def as_split(path, manifest, dims, given, seed):
    """The sizes and the Values by name of a run of the model: those of the split, but for those that are `dims` and `given`; of a
    model with state all inputs of a step, of which mask, positions and state fit together."""
    session = open_original(path)
    dims, given = of_split(session, manifest, dims, given)
    if not manifest.get("state"):
        return dims, given
    steps = Steps(session, manifest, dims, given, seed)
    try:
        return dims, first_step(steps, session, has_entries=True)
    except CannotRun:
        return dims, given  # as any other model
