#!/usr/bin/env python3
"""Runs a split ONNX model beside the original in ONNX Runtime and compares what they compute.

usage: verify_split.py ORIGINAL DIR [--dim N=8]... [--inputs FILE.npz] [--seed N]

ORIGINAL is the model that was split, DIR the folder that `cleave split -o DIR` wrote. The same
inputs go through ORIGINAL, through DIR/root.onnx, and through the stand-alone parts one after another
as DIR/manifest.json lists them; every output must agree bit for bit (NaN with NaN too). root.onnx must
also agree where ONNX Runtime optimises both; the parts need not, since a cut stops a fusion. The
ONNX checker looks at every file, unless ORIGINAL itself does not pass it; a part with an input or
output of unknown rank is exempt from the checker.

Inputs are drawn at random from the declared types and shapes; where ORIGINAL refuses them, other
sizes and values are tried. --dim fixes a symbolic dimension; --inputs gives some or all inputs.

As a library:  verdict = verify("model.onnx", "out"); verdict.passed, verdict.table()

Exit status: 0 all agree; 1 something does not; 2 wrong usage; 3 ORIGINAL itself cannot run;
77 onnx, onnxruntime or numpy is not there.
"""

import argparse
import ctypes
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as error:
    if __name__ != "__main__":
        raise
    print(
        f"verify_split.py: skipped: needs the Python module {error.name} "
        "(pip install onnx onnxruntime numpy)",
        file=sys.stderr,
    )
    sys.exit(77)

UNOPTIMISED = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
OPTIMISED = ort.GraphOptimizationLevel.ORT_ENABLE_ALL

# ONNX Runtime's names of element types, for the types that numpy has.
NUMPY_TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "bool": np.bool_,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
}
# The others that an input may have: the ONNX number, and the integers that hold their bits. Bits
# below `most` stand for small numbers, in any of these types.
BIT_TYPES = {
    "bfloat16": (onnx.TensorProto.BFLOAT16, np.uint16, 0x4000),
    "float8e4m3fn": (onnx.TensorProto.FLOAT8E4M3FN, np.uint8, 0x40),
    "float8e4m3fnuz": (onnx.TensorProto.FLOAT8E4M3FNUZ, np.uint8, 0x40),
    "float8e5m2": (onnx.TensorProto.FLOAT8E5M2, np.uint8, 0x40),
    "float8e5m2fnuz": (onnx.TensorProto.FLOAT8E5M2FNUZ, np.uint8, 0x40),
}


class CannotRun(Exception):
    """The original neither loads nor runs with any inputs that were tried."""


class WrongUsage(Exception):
    """There is nothing to verify: a file is missing or not what it should be."""


# ---- values: whatever flows between sessions ----


class Value:
    """A tensor, sequence, map or optional: as ONNX Runtime keeps it, or as Python has it."""

    def __init__(self, kept=None, plain=None):
        self.kept = kept if kept is not None and kept.has_value() else None
        self._plain = plain

    def plain(self):
        """As InferenceSession.run takes it; raises where numpy has no such type."""
        if self.kept is None:
            return self._plain
        if self.kept.is_tensor():
            return self.kept.numpy()
        return [item.plain() for item in items_of(self.kept)]

    def content(self):
        """What is compared: types, shapes and bytes, nested as the value is."""
        if self.kept is None:
            return content_of_plain(self._plain)
        if self.kept.is_tensor():
            return content_of_tensor(self.kept)
        return [item.content() for item in items_of(self.kept)]


def content_of_tensor(tensor):
    kind, shape = tensor.data_type(), tuple(tensor.shape())
    if kind == "tensor(string)":
        return kind, shape, tuple(tensor.numpy().ravel().tolist())
    size = tensor.tensor_size_in_bytes()
    return kind, shape, ctypes.string_at(tensor.data_ptr(), size) if size else b""


def content_of_plain(plain):
    if isinstance(plain, np.ndarray):
        if plain.dtype.kind in "OUS":
            return "tensor(string)", plain.shape, tuple(plain.ravel().tolist())
        return content_of_tensor(ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(plain)))
    if isinstance(plain, dict):
        return sorted(plain.items())
    if isinstance(plain, list):
        return [content_of_plain(item) for item in plain]
    return plain


def items_of(sequence):
    """The tensors of a sequence that ONNX Runtime keeps: it has no other way to hand them out."""
    element = re.fullmatch(r"seq\(tensor\((\w+)\)\)", sequence.data_type()).group(1)
    number = getattr(onnx.TensorProto, element.upper())
    make, int64 = onnx.helper, onnx.TensorProto.INT64
    graph = make.make_graph(
        [
            make.make_node("SequenceAt", ["s", "i"], ["item"]),
            make.make_node("SequenceLength", ["s"], ["n"]),
        ],
        "item",
        [
            make.make_tensor_sequence_value_info("s", number, None),
            make.make_tensor_value_info("i", int64, []),
        ],
        [
            make.make_tensor_value_info("item", number, None),
            make.make_tensor_value_info("n", int64, []),
        ],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    session = open_session(model.SerializeToString(), UNOPTIMISED)

    def ask(output, index):
        at = ort.OrtValue.ortvalue_from_numpy(np.array(index, np.int64))
        return session.run_with_ort_values([output], {"s": sequence, "i": at})[0]

    try:
        length = int(ask("n", 0).numpy())
    except ort.capi.onnxruntime_pybind11_state.Fail:  # SequenceAt 0 of an empty sequence
        length = 0
    return [Value(ask("item", i)) for i in range(length)]


# ---- sessions ----


def open_session(model, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(session, feeds, names):
    """The named outputs as Values, from Values."""
    taken = {i.name: feeds[i.name] for i in session.get_inputs() if i.name in feeds}
    if all(value.kept is not None for value in taken.values()):
        kept = session.run_with_ort_values(
            names, {name: value.kept for name, value in taken.items()}
        )
        return {name: Value(kept=value) for name, value in zip(names, kept)}
    plain = session.run(names, {name: value.plain() for name, value in taken.items()})
    return {name: Value(plain=value) for name, value in zip(names, plain)}


def run_model(path, level, feeds, seed=0):
    ort.set_seed(seed)
    session = open_session(str(path), level)
    names = list(dict.fromkeys(output.name for output in session.get_outputs()))
    return run(session, feeds, names)


def counted(number, thing):
    return f"{number} {thing}{'' if number == 1 else 's'}"


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


# ---- inputs ----


@dataclass
class Draw:
    """How inputs are drawn where nobody says: the size of free dims, the rank of inputs that
    declare none, and the least and most of integers."""

    size: int
    rank: int
    least: int
    most: int
    low: float = -1.0


DRAWS = [
    Draw(2, 2, 0, 1),
    Draw(1, 1, 0, 1),
    Draw(4, 3, 0, 1),
    Draw(2, 1, 1, 1),
    Draw(2, 0, 0, 0),
    Draw(8, 4, 0, 1),
    Draw(2, 2, 0, 1, low=0.1),
    Draw(3, 2, 1, 2),
    Draw(16, 2, 0, 1),
]


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
    array = np.asarray(array).astype(NUMPY_TYPES[kind])
    return Value(
        kept=ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    )


def draw_value(kind, shape, draw, random):
    inner = re.fullmatch(r"optional\((.+)\)", kind)
    if inner:
        return draw_value(inner.group(1), shape, draw, random)
    inner = re.fullmatch(r"seq\((.+)\)", kind)
    if inner:
        return Value(
            plain=[
                draw_value(inner.group(1), shape or [2, 3], draw, random).plain() for _ in range(2)
            ]
        )
    inner = re.fullmatch(r"tensor\((\w+)\)", kind)
    if inner:
        return draw_array(inner.group(1), shape, draw, random)
    inner = re.fullmatch(r"map\((\w+),tensor\((\w+)\)\)", kind)
    if inner:
        keys = ["a", "b"] if inner.group(1) == "string" else [0, 1]
        values = draw_array(inner.group(2), [2], draw, random).plain().tolist()
        return Value(plain=dict(zip(keys, values)))
    raise CannotRun(f"its inputs cannot be made here: no value of {kind}")


def draw_inputs(session, given, dims, draw, seed):
    random = np.random.default_rng(seed)
    feeds = {}
    for declared in session.get_inputs():
        if declared.name in given:
            feeds[declared.name] = Value(
                kept=ort.OrtValue.ortvalue_from_numpy(given[declared.name])
            )
            continue
        shape = (
            [draw.size] * draw.rank
            if declared.shape is None
            else [
                dim if isinstance(dim, int) else dims.get(dim, draw.size) for dim in declared.shape
            ]
        )
        feeds[declared.name] = draw_value(declared.type, shape, draw, random)
    return feeds


def find_inputs(original, given, dims, seed):
    """Inputs that the original takes, and what it makes of them."""
    try:
        ort.set_seed(0)
        session = open_session(str(original), UNOPTIMISED)
    except Exception as error:
        raise CannotRun(f"does not load: {first_line(error)}") from error
    names = list(dict.fromkeys(output.name for output in session.get_outputs()))
    failure = None
    for draw in DRAWS:
        feeds = draw_inputs(session, given, dims, draw, seed)
        try:
            return feeds, run(session, feeds, names)
        except Exception as error:
            failure = failure or error
    raise CannotRun(f"runs with none of the inputs tried: {first_line(failure)}")


# ---- comparing ----


def arrays_of(content):
    if isinstance(content, list):
        return [array for item in content for array in arrays_of(item)]
    if isinstance(content, tuple) and len(content) == 3 and isinstance(content[2], bytes):
        name = content[0][len("tensor(") : -1]
        if name in NUMPY_TYPES:
            return [np.frombuffer(content[2], NUMPY_TYPES[name]).reshape(content[1])]
    return []


def is_half(content):
    return isinstance(content, tuple) and content[0] == "tensor(float16)"


def difference(one, other):
    """The largest difference between two contents; None where there is no telling."""
    ours, theirs = arrays_of(one), arrays_of(other)
    if [a.shape for a in ours] != [a.shape for a in theirs] or not ours:
        return None
    most = 0.0
    for a, b in zip(ours, theirs):
        a, b = a.astype(np.float64), b.astype(np.float64)
        gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        most = max(most, float(gap.max(initial=0.0)))
    return most


def largest(content):
    sizes = [np.abs(array[np.isfinite(array)]) for array in arrays_of(content)]
    return max((float(size.max(initial=0.0)) for size in sizes), default=0.0)


@dataclass
class Row:
    what: str
    checker: str = "-"
    loads: str = "-"
    equal: str = "-"
    max_diff: str = "-"
    faults: list = field(default_factory=list)
    remarks: list = field(default_factory=list)


# A CPU kernel without float16 computes in float32; ONNX Runtime then keeps float32 from one such
# node to the next, but for a cut, where the value is rounded. Relative to the output's largest.
HALF_ROUNDING = 2.0**-8


def compare(row, expected, actual, is_random, tolerance=0.0):
    """Fills in the row's last columns; `actual` need not hold every output."""
    compared = [name for name in expected if name in actual]
    equal, gaps, skipped = 0, [], 0
    for name in compared:
        one, other = expected[name].content(), actual[name].content()
        if one == other:
            equal += 1
        elif is_random(name):
            skipped += 1
            row.remarks.append(f'output "{name}" is random: not compared')
        else:
            gaps.append(difference(one, other))
            within = gaps[-1] is not None and gaps[-1] <= tolerance * largest(one)
            text = f'output "{name}" differs'
            if within:
                row.remarks.append(text + ", within the rounding of float16 at cuts")
            else:
                row.faults.append(text)
    row.equal = f"{equal} of {len(compared) - skipped}"
    row.max_diff = "?" if None in gaps else f"{max(gaps, default=0.0):.3g}"


# ---- the checker ----


class FileFacts:
    """What a file says of its inputs and outputs, and which operators the checker cannot know."""

    def __init__(self, path):
        model = onnx.load(str(path), load_external_data=False)
        graph = model.graph
        self.untyped = [i.name for i in graph.input if i.type.WhichOneof("value") is None]
        self.unranked = [
            v.name
            for v in [*graph.input, *graph.output]
            if v.type.WhichOneof("value") is None
            or (v.type.HasField("tensor_type") and not v.type.tensor_type.HasField("shape"))
        ]
        known = {schema.domain for schema in onnx.defs.get_all_schemas()} | {"ai.onnx"}
        known |= {function.domain for function in model.functions}
        self.foreign = sorted({o.domain for o in model.opset_import} - known)


def checker_says(path, full=True):
    try:
        onnx.checker.check_model(str(path), full_check=full)
        return None
    except Exception as error:
        return first_line(error)


def check(row, path, facts, original_passes):
    """Fills in the checker's column. Inference through a function stops at an operator that the
    onnx package does not have; such a file is checked without it."""
    says = checker_says(path)
    if says is not None and facts.foreign:
        row.remarks.append(
            "checked without types: the checker has no operators of " + ", ".join(facts.foreign)
        )
        says = checker_says(path, full=False)
    row.checker = "ok" if says is None else "refuses"
    if says is not None:
        (row.faults if original_passes else row.remarks).append(f"the checker says: {says}")


# ---- the verdict ----


@dataclass
class Verdict:
    rows: list
    outputs: int

    @property
    def passed(self):
        return not any(row.faults for row in self.rows)

    def conclusion(self):
        faulty = [f"{row.what}: {row.faults[0]}" for row in self.rows if row.faults]
        if faulty:
            return "NOT equal, or not sound: " + "; ".join(faulty)
        chain = self.rows[-1]
        how = f"from the {chain.what}"
        if chain.equal == "-":
            how = f"NOT RUN as a {chain.what}"
        elif chain.max_diff != "0":
            how = f"nearly {how}"
        return f"equal: {counted(self.outputs, 'output')}, bit for bit, from root.onnx and {how}"

    def table(self):
        table = [("what", "checker", "loads", "equal", "max diff")]
        table += [(row.what, row.checker, row.loads, row.equal, row.max_diff) for row in self.rows]
        widths = [max(len(cells[i]) for cells in table) for i in range(5)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()
            for cells in table
        ]
        marked = [
            f"{mark}: {row.what}: {text}"
            for row in self.rows
            for mark, texts in (("fault", row.faults), ("note", row.remarks))
            for text in texts
        ]
        return "\n".join([self.conclusion(), "", *lines, *([""] if marked else []), *marked])


class Verification:
    def __init__(self, original, folder, dims, inputs, seed):
        self.original, self.folder, self.seed = Path(original), Path(folder), seed
        if not self.original.is_file():
            raise WrongUsage(f"{original}: there is no such file")
        self.manifest = read_manifest(self.folder)
        self.feeds, self.expected = find_inputs(self.original, inputs, dims, seed)
        self.original_passes = True
        self._other_seed = None

    def is_random(self, name):
        """True when the original's own output depends on ONNX Runtime's seed."""
        if self._other_seed is None:
            self._other_seed = run_model(self.original, UNOPTIMISED, self.feeds, seed=1)
        return self._other_seed[name].content() != self.expected[name].content()

    def rows(self):
        original = Row("original", loads="yes")
        says = checker_says(self.original)
        self.original_passes = says is None
        original.checker = "ok" if says is None else "refuses"
        if says is not None:
            original.remarks.append(f"the checker says: {says}")
        roots = [self.root_row("root.onnx", UNOPTIMISED, self.expected)]
        try:
            optimised = run_model(self.original, OPTIMISED, self.feeds)
            roots.append(self.root_row("root.onnx, optimised", OPTIMISED, optimised))
        except Exception as error:
            original.remarks.append(f"does not run when optimised: {first_line(error)}")
        root = self.folder / "root.onnx"
        if root.exists():
            check(roots[0], root, FileFacts(root), self.original_passes)
        return [original, *roots, *self.chain_rows()]

    def root_row(self, what, level, expected):
        row = Row(what)
        try:
            actual = run_model(self.folder / "root.onnx", level, self.feeds)
        except Exception as error:
            row.loads = "no"
            row.faults.append(first_line(error))
            return row
        row.loads = "yes"
        missing = [name for name in expected if name not in actual]
        row.faults += [f'output "{name}" is missing' for name in missing]
        compare(row, expected, actual, self.is_random)
        return row

    def chain_rows(self):
        values, rows, broken = dict(self.feeds), [], []
        for part in self.manifest["partitions"]:
            row = Row(part["name"] + ".onnx")
            rows.append(row)
            if not self.run_part(part, row, values):
                broken.append(row)
        chain = Row(f"chain of {counted(len(rows), 'part')}")
        if any(row.faults for row in broken):
            chain.faults.append(f"stops at {broken[0].what}")
        elif broken:
            chain.remarks.append(f"not run: {broken[0].what} cannot be loaded")
        else:
            made = {
                output["name"] for part in self.manifest["partitions"] for output in part["outputs"]
            }
            cut = [value.content() for name, value in values.items() if name in made]
            tolerance = HALF_ROUNDING if any(map(is_half, cut)) else 0.0
            actual = {name: values[name] for name in made}
            compare(chain, self.expected, actual, self.is_random, tolerance)
        return [*rows, chain]

    def run_part(self, part, row, values):
        """Adds the part's outputs to `values`; false when it could not be run."""
        path = self.folder / row.what
        if not path.exists():
            row.faults.append("is not there")
            return False
        facts = FileFacts(path)
        if facts.unranked:
            row.checker = "exempt"
            row.remarks.append("of unknown rank: " + ", ".join(facts.unranked))
        else:
            check(row, path, facts, self.original_passes)
        lacking = [i["name"] for i in part["inputs"] if i["name"] not in values]
        if lacking:
            row.remarks.append(
                "not run, since an earlier part was not: lacks " + ", ".join(lacking)
            )
            return False
        try:
            ort.set_seed(0)
            session = open_session(str(path), UNOPTIMISED)
            names = [output["name"] for output in part["outputs"]]
            values.update(run(session, values, names or [o.name for o in session.get_outputs()]))
        except Exception as error:
            row.loads = "no"
            if facts.untyped:
                row.remarks.append("cannot be loaded: of unknown type: " + ", ".join(facts.untyped))
            else:
                row.faults.append(first_line(error))
            return False
        row.loads = "yes"
        return True


def read_manifest(folder):
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUsage(f"{path}: {first_line(error)}") from error
    if not isinstance(manifest, dict) or "partitions" not in manifest:
        raise WrongUsage(f"{path}: no manifest of a split")
    return manifest


def verify(original, folder, dims=None, inputs=None, seed=0):
    """The verdict on a split. `dims`: sizes of symbolic dims; `inputs`: arrays by input name.
    Raises CannotRun when the original does not run, WrongUsage when there is no split there."""
    verification = Verification(original, folder, dims or {}, inputs or {}, seed)
    return Verdict(verification.rows(), len(verification.expected))


def parse_dim(text):
    name, _, size = text.rpartition("=")
    if not name or not size.isdigit():
        raise argparse.ArgumentTypeError(f'"{text}" is not NAME=SIZE')
    return name, int(size)


def main():
    parser = argparse.ArgumentParser(
        usage="verify_split.py ORIGINAL DIR [--dim N=8]... [--inputs FILE.npz] [--seed N]",
        description="Runs a split ONNX model beside the original and compares what they compute.",
    )
    parser.add_argument("original", metavar="ORIGINAL", help="the model that was split")
    parser.add_argument("folder", metavar="DIR", help="the folder that cleave split wrote")
    parser.add_argument(
        "--dim", type=parse_dim, action="append", default=[], help="size of a symbolic dimension"
    )
    parser.add_argument(
        "--inputs", metavar="FILE.npz", help="arrays by input name; the others are drawn"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the inputs that are drawn (0)")
    options = parser.parse_args()
    try:
        given = dict(np.load(options.inputs)) if options.inputs else {}
        verdict = verify(options.original, options.folder, dict(options.dim), given, options.seed)
    except (WrongUsage, OSError, ValueError) as error:
        print(f"verify_split.py: {error}", file=sys.stderr)
        sys.exit(2)
    except CannotRun as error:
        print(f"verify_split.py: {options.original}: {error}", file=sys.stderr)
        sys.exit(3)
    print(verdict.table())
    sys.exit(0 if verdict.passed else 1)


if __name__ == "__main__":
    main()
