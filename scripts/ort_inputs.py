"""Inputs for a model: read from ONNX's test data, given as arrays, or random.

One place for everyone who runs a model: what the user said of sizes (by the name of a dim, or by input
and axis) and of values holds, and what was not said is chosen. Random inputs follow the declared types
and shapes. Free sizes are first those that models of their kind are made for: pictures of 224 (then 320,
640, 256), sequences of 128, batches of one. If the model refuses them, other sizes and other values are
tried, small ones last: a picture of 2x2 passes through most models, but its results say little.
"""

import math
import re
from dataclasses import dataclass, replace

import numpy as np
import onnxruntime as ort
from onnx import TensorProto

import child
from guard import CannotRun, WrongUsage, check_dims, first_line, number_in, size_of_draw
from ort_values import NUMPY_TYPES, UNOPTIMISED, Value, open_whole, output_names, read_value, run

# Types that numpy does not have: the ONNX number, and the integers that hold their bits. Bits below
# `most` stand for small numbers, in any of these types.
BIT_TYPES = {
    "bfloat16": (TensorProto.BFLOAT16, np.uint16, 0x4000),
    "float8e4m3fn": (TensorProto.FLOAT8E4M3FN, np.uint8, 0x40),
    "float8e4m3fnuz": (TensorProto.FLOAT8E4M3FNUZ, np.uint8, 0x40),
    "float8e5m2": (TensorProto.FLOAT8E5M2, np.uint8, 0x40),
    "float8e5m2fnuz": (TensorProto.FLOAT8E5M2FNUZ, np.uint8, 0x40),
}


@dataclass
class Draw:
    """How random inputs are made: the size of free dims, the rank of inputs that declare none, and
    the range of integers."""

    size: int
    rank: int
    least: int
    most: int
    low: float = -1.0
    batch: int = 0  # size of a free first dim of two or more; 0: as any other
    picture: int = 0  # height and width of a picture; 0: as any other


DRAWS = [
    Draw(128, 2, 0, 1, batch=1, picture=224),
    Draw(128, 2, 0, 1, batch=1, picture=320),
    Draw(128, 2, 0, 1, batch=1, picture=640),
    Draw(128, 2, 0, 1, batch=1, picture=256),
    Draw(32, 2, 0, 1, batch=1),
    Draw(64, 4, 0, 1, batch=1),
    Draw(224, 4, 0, 1, batch=1),
    Draw(320, 4, 0, 1, batch=1),
    Draw(512, 2, 16000, 16000, batch=1),
    Draw(256, 2, 8000, 8000, batch=1),
    Draw(512, 2, 0, 1, batch=1),
    Draw(1024, 2, 0, 1, batch=1),
    Draw(16000, 2, 0, 1, batch=1),
    Draw(16000, 2, 16000, 16000, batch=1),
    Draw(16, 2, 0, 1),
    Draw(8, 4, 0, 1),
    Draw(4, 3, 0, 1),
    Draw(2, 2, 0, 1),
    Draw(3, 2, 1, 2),
    Draw(2, 2, 0, 1, low=0.1),
    Draw(2, 1, 1, 1),
    Draw(2, 0, 0, 0),
    Draw(1, 1, 0, 1),
]
POSITIVE = 0.1  # the least float of inputs that are drawn above 0
MOST_ELEMENTS = 16_000_000  # of one input that is drawn where its sizes are free


def draw_array(kind, shape, draw, random):
    if kind == "string":
        return Value(plain=random.choice(np.array(["a", "b", "1.5"], dtype=object), size=shape))
    if kind in BIT_TYPES:
        number, bits, most = BIT_TYPES[kind]
        array = random.integers(0, most, size=shape).astype(bits)
        return Value(kept=ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, number))
    if kind not in NUMPY_TYPES:
        raise CannotRun(f"its inputs cannot be made here: no array of {kind}")
    if kind.startswith(("float", "double")):
        array = random.uniform(draw.low, 1, size=shape)
    elif kind == "bool":
        array = random.integers(0, 1, size=shape, endpoint=True)
    else:
        array = random.integers(draw.least, draw.most, size=shape, endpoint=True)
    return Value.of_array(np.asarray(array).astype(NUMPY_TYPES[kind]))


def draw_value(kind, shape, draw, random):
    inner = re.fullmatch(r"optional\((.+)\)", kind)
    if inner:
        return draw_value(inner.group(1), shape, draw, random)
    inner = re.fullmatch(r"seq\((.+)\)", kind)
    if inner:
        items = [draw_value(inner.group(1), shape or [2, 3], draw, random) for _ in range(2)]
        return Value(plain=[item.plain() for item in items])
    inner = re.fullmatch(r"tensor\((\w+)\)", kind)
    if inner:
        return draw_array(inner.group(1), shape, draw, random)
    inner = re.fullmatch(r"map\((\w+),tensor\((\w+)\)\)", kind)
    if inner:
        keys = ["a", "b"] if inner.group(1) == "string" else [0, 1]
        values = draw_array(inner.group(2), [2], draw, random).plain().tolist()
        return Value(plain=dict(zip(keys, values)))
    raise CannotRun(f"its inputs cannot be made here: no value of {kind}")


def is_picture(shape):
    """Four dims, of which the second or the last counts 1 or 3 channels."""
    return len(shape) == 4 and (shape[1] in (1, 3) or shape[3] in (1, 3))


def free_sizes(shape, draw):
    """A size for each dim of an input, where it is free."""
    sizes = [draw.picture if draw.picture and is_picture(shape) else draw.size] * len(shape)
    if draw.batch and len(sizes) > 1:
        sizes[0] = draw.batch
    return sizes


def shapes_for(inputs, dims, draw):
    """The shape of each input, by name. What one name of a dim stands for is one size, in all inputs: that
    of the input with the most dims that has it. "?" is no name: some exporters call every unknown dim so."""
    named = {}
    for declared in sorted(inputs, key=lambda one: -len(one.shape or [])):
        for dim, size in zip(declared.shape or [], free_sizes(declared.shape or [], draw)):
            if isinstance(dim, str) and dim != "?":
                named.setdefault(dim, size)
    shapes = {}
    for declared in inputs:
        if declared.shape is None:
            shapes[declared.name] = [draw.size] * draw.rank
            continue
        shapes[declared.name] = [
            dim if isinstance(dim, int) else dims.get((declared.name, axis), dims.get(dim, named.get(dim, size)))
            for axis, (dim, size) in enumerate(zip(declared.shape, free_sizes(declared.shape, draw)))
        ]
    return shapes


def draw_inputs(session, given, dims, draw, seed):
    """A Value for each input of the session; `given` ones as they are."""
    random = np.random.default_rng(seed)
    shapes = shapes_for(session.get_inputs(), dims, draw)
    feeds = {}
    for declared in session.get_inputs():
        if declared.name in given:
            feeds[declared.name] = given[declared.name]
        else:
            shape = shapes[declared.name]
            if draw.batch and math.prod(shape) > MOST_ELEMENTS:
                raise CannotRun(f"input {declared.name} would be too large: {shape}")
            feeds[declared.name] = draw_value(declared.type, size_of_draw(declared.name, shape), draw, random)
    return feeds


def dims_of_shapes(inputs, shapes):
    """The sizes that `shapes` (by input name; None or below 0: open) give to free dims of the inputs: by
    (input, axis), and by the dim's name where it has one."""
    dims: dict[str | tuple[str, int], int] = {}
    for declared in inputs:
        for axis, (dim, size) in enumerate(zip(declared.shape or [], shapes.get(declared.name) or [])):
            if isinstance(size, int) and size >= 0 and not isinstance(dim, int):
                dims[declared.name, axis] = size
                if isinstance(dim, str) and dim != "?":
                    dims.setdefault(dim, size)
    return dims


def dims_of_given(inputs, given, open_axes=()):
    """The sizes that given Values have, of free dims of the inputs, which other inputs may share. A value with one more axis than
    its input is one for each step. `open_axes`: (input, axis) that bind nothing."""
    shapes = {}
    for declared in inputs:
        shape = given[declared.name].shape() if declared.name in given else None
        if shape is not None:
            own = shape[max(0, len(shape) - len(declared.shape or [])):]
            shapes[declared.name] = [None if (declared.name, axis) in open_axes else size for axis, size in enumerate(own)]
    return dims_of_shapes(inputs, shapes)


def bound_dims(inputs, manifest):
    """The sizes that a split was made for, of the free dims of the model's inputs: the parts of the manifest
    state their inputs with them, and its settings have those that no part reads any more."""
    settings = manifest.get("settings", {})
    shapes = {value["name"]: value["shape"] for part in manifest["partitions"] for value in part["inputs"]}
    symbols = {dim for one in inputs for dim in one.shape or []}
    named = dims_by_place(inputs, settings.get("dims", {}))
    return {
        **dims_of_shapes(inputs, {**shapes, **settings.get("input_shapes", {})}),
        **{name: size for name, size in named.items() if isinstance(name, tuple) or name in symbols},
    }


def values_of_texts(path, texts):
    """Inputs of one element as Values by name; `texts` by name, as --set-input has them."""
    return values_of(open_original(path).get_inputs(), texts) if texts else {}


def values_of(inputs, texts):
    values = {}
    for declared in inputs:
        if declared.name not in texts:
            continue
        kind = re.fullmatch(r"tensor\((\w+)\)", declared.type).group(1)
        text = number_in(texts[declared.name])
        number = float(text) if kind.startswith(("float", "double")) else int(text)
        array = np.full([1] * len(declared.shape or []), number, dtype=NUMPY_TYPES[kind])
        values[declared.name] = Value.of_array(array)
    return values


def of_split(session, manifest, dims, given):
    """The sizes and the Values by name of a run of the model: those of the split (--dim, --set-input), with `dims` and `given`.
    Raises WrongUsage where `dims` has another size than the split."""
    inputs, texts = session.get_inputs(), manifest.get("settings", {}).get("set_inputs", {})
    bound = bound_dims(inputs, manifest)
    check_dims(dims_by_place(inputs, dims), bound)
    return {**bound, **dims}, {**values_of(inputs, texts), **given}


def open_original(path, settings=None):
    try:
        ort.set_seed(0)
        return open_whole(path, UNOPTIMISED, settings)[0]
    except Exception as error:
        raise CannotRun(f"does not load: {first_line(error)}") from error


def check_names(session, given, dims):
    """Raises WrongUsage for inputs and symbolic dims that the model does not have."""
    declared = session.get_inputs()
    inputs = {one.name for one in declared}
    symbols = {dim for one in declared for dim in one.shape or [] if isinstance(dim, str)}
    for what, asked, known in [("input", given, inputs), ("symbolic dim", dims, symbols)]:
        for name in asked:
            if isinstance(name, str) and name not in known:
                has = ", ".join(sorted(known)) or "none"
                raise WrongUsage(f'the model has no {what} "{name}" (it has: {has})')


def dims_by_place(inputs, dims):
    """The sizes of `dims`, in which "x:1" stands for axis 1 of the input x, as on cleave's command line. Such
    a place within the model says nothing of its inputs, and is left out."""
    symbols = {dim for one in inputs for dim in one.shape or [] if isinstance(dim, str)}
    names = {one.name for one in inputs}
    placed = {}
    for name, size in dims.items():
        place = re.fullmatch(r"(.+):([0-9]+)", name) if isinstance(name, str) and name not in symbols else None
        if place is None:
            placed[name] = size
        elif place[1] in names:
            placed[place[1], int(place[2])] = size
    return placed


def find_inputs(path, given, dims, seed, shapes=None, *, is_positive=False, settings=None):
    """Inputs that the model takes, and what it makes of them. `given`: Values by input name.
    `dims`: sizes by a dim's name or by (input, axis); `shapes`: by input name, below 0: open; `is_positive`:
    floats are drawn above 0, for models that take a root or a logarithm of them; `settings`: of the session.
    Raises CannotRun, WrongUsage."""
    session = open_original(path, settings)
    inputs = session.get_inputs()
    dims = {**dims_of_given(inputs, given), **dims_of_shapes(inputs, shapes or {}), **dims_by_place(inputs, dims)}
    check_names(session, given, dims)
    names = output_names(session)
    failure: Exception | None = None
    is_all_given = all(declared.name in given for declared in inputs)
    deadly = child.deadly_draws()
    tried = set()
    for number, draw in enumerate(DRAWS[:1] if is_all_given else DRAWS):
        if number in deadly:
            failure = failure or CannotRun("ONNX Runtime crashes on the inputs that were tried")
            continue
        if is_positive:
            draw = replace(draw, low=POSITIVE)
        try:
            sizes = (tuple(shape) for shape in shapes_for(inputs, dims, draw).values())
            key = (*sizes, draw.least, draw.most, draw.low)
            if key in tried:
                continue
            tried.add(key)
            feeds = draw_inputs(session, given, dims, draw, seed)
            child.tell(f"{child.DRAWING}{number}")
            return feeds, run(session, feeds, names)
        except Exception as error:
            failure = failure or error
    if is_all_given:
        raise CannotRun(f"does not run: {first_line(failure)}")
    raise CannotRun(f"runs with none of the inputs tried (--inputs FILE.npz gives it its own): {first_line(failure)}")


def why_of_size(declared, axis, size, draw):
    """Why a free dim of an input that was drawn has this size."""
    shape = declared.shape
    if size == draw.batch and axis == 0 and len(shape) > 1:
        return "one inference"
    if draw is not DRAWS[0] and size not in (DRAWS[0].picture, DRAWS[0].size):
        return "the model takes none of the sizes tried before"
    if size == draw.picture and is_picture(shape):
        return "a picture"
    return "a sequence" if size == DRAWS[0].size else "the size of an input that shares its name"


def sizes_taken(path, shapes, given, dims, bound):
    """The free dims of the model's inputs with the sizes that a run has: dicts of input, axis, size and why.
    `shapes`: of that run, by input; `given`, `dims`, `bound`: what find_inputs() was given."""
    inputs = open_original(path).get_inputs()
    known = {**dims_of_given(inputs, given), **dims_of_shapes(inputs, bound), **dims_by_place(inputs, dims)}
    draws = [draw for draw in DRAWS if all(shapes.get(name) == shape for name, shape in
             shapes_for([one for one in inputs if one.name not in given], known, draw).items())]
    taken = []
    for declared in inputs:
        for axis, dim in enumerate(declared.shape or []):
            if isinstance(dim, int) or declared.name not in shapes:
                continue
            size = shapes[declared.name][axis]
            if declared.name in given:
                why = "as in the inputs given"
            elif (declared.name, axis) in known or dim in known:
                why = "as given"
            else:
                why = why_of_size(declared, axis, size, draws[0]) if draws else "drawn"
            taken.append({"input": declared.name, "axis": axis, "size": size, "why": why})
    return taken


def read_data_set(folder, path):
    """The inputs in a test_data_set folder, for the model at `path`: Values by name."""
    session = open_original(path)
    found = {}
    for i, declared in enumerate(session.get_inputs()):
        file = folder / f"input_{i}.pb"
        if file.exists():
            try:
                found[declared.name] = read_value(file, declared.type)
            except Exception as error:
                raise CannotRun(f"its input {i} cannot be made here: {first_line(error)}") from error
    return found
