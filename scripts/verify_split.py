#!/usr/bin/env python3
"""Runs a split ONNX model and the original in ONNX Runtime and compares their outputs.

usage: verify_split.py ORIGINAL DIR [--dim N=8]... [--inputs FILE.npz|FOLDER] [--seed N]
                       [--rtol R] [--atol A]

ORIGINAL is the model that was split, DIR the folder that `cleave split` or `stage` wrote
(-o DIR). It runs the same inputs through ORIGINAL, through DIR/root.onnx, and through the stand-alone
partitions in the order of DIR/manifest.json, with those of ORIGINAL's weights that they take as inputs. Every
output must agree bit for bit (NaN with NaN, too), also those of DIR/annotated.onnx, if it exists, placed by
its annotations. When ONNX Runtime optimises both, root.onnx must agree to a relative and absolute tolerance
of 1e-5: a cut prevents a fusion, which rounds differently. --rtol and --atol set the tolerances for all
comparisons. If the chain of partitions differs, the first partition whose outputs differ from ORIGINAL's
values is named. The ONNX checker checks every file, unless ORIGINAL does not pass it; a partition with an
input or output of unknown rank is exempt.

Inputs are random by the declared types and shapes; if ORIGINAL refuses them, other sizes and values are
tried. --dim fixes a symbolic dimension; inputs that the split set (--set-input) have that value; --inputs gives some or all
inputs, as arrays by name or as a folder with input_0.pb, input_1.pb, ... (ONNX's test_data_set_0). ONNX Runtime
runs in a child process: if it crashes, the signal is named and other inputs are tried.

As a library:  verdict = verify("model.onnx", "out"); verdict.passed, verdict.table()

A TensorFlow Lite model and its split run in LiteRT (pip install ai-edge-litert), without and with XNNPACK,
three times one after the other so that state shows; the chain and root.tflite must agree bit for bit. Of the
options it takes --dim and --seed.

What is not compared, as outputs that are random, is said before what is equal.

Exit status: 0 all that is compared agrees; 1 something differs; 2 wrong usage; 3 ORIGINAL itself cannot run, or the
manifest is wrong; 77 onnx, onnxruntime or numpy is missing.
"""

import argparse
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import BadZipFile

import guard
import tflite_chain
from guard import WrongUsage, counted, equal_words, first_line, listed, parse_dim

if __name__ == "__main__" and any(
    argument.endswith(".tflite") or tflite_chain.is_split(argument) for argument in sys.argv[1:]
):
    tflite_chain.verify_main(__file__)
if __name__ == "__main__":
    tflite_chain.refuse_torch_split(__file__)

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

    import ort_child
    from ort_inputs import bound_dims, find_inputs, read_data_set, set_inputs
    from ort_values import (
        NUMPY_TYPES,
        OPTIMISED,
        UNOPTIMISED,
        Value,
        open_session,
        output_names,
        run,
        run_model,
        value_of_tensor,
    )
except ImportError as error:
    guard.missing(__name__, "verify_split.py", error, "onnx onnxruntime numpy", __doc__)


# ---- comparing ----


def arrays_of(content):
    if isinstance(content, list):
        return [array for item in content for array in arrays_of(item)]
    if isinstance(content, tuple) and len(content) == 3 and isinstance(content[2], bytes):
        name = content[0][len("tensor(") : -1]
        if name in NUMPY_TYPES:
            return [np.frombuffer(content[2], NUMPY_TYPES[name]).reshape(content[1])]
    return []


def exact_outputs(row):
    return not any("agrees to" in remark for remark in row.remarks)


def is_half(content):
    return isinstance(content, tuple) and content[0] == "tensor(float16)"


def difference(one, other):
    """The largest difference between two contents; None if it is not a number."""
    ours, theirs = arrays_of(one), arrays_of(other)
    if [a.shape for a in ours] != [a.shape for a in theirs] or not ours:
        return None
    most = 0.0
    for a, b in zip(ours, theirs):
        a, b = a.astype(np.float64), b.astype(np.float64)
        gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        most = max(most, float(gap.max(initial=0.0)))
    return most


@dataclass
class Tolerance:
    """How far two numbers may be apart: at most atol + rtol * |the original's|."""

    rtol: float = 0.0
    atol: float = 0.0

    def allows(self, one, other):
        ours, theirs = arrays_of(one), arrays_of(other)
        if not (self.rtol or self.atol) or not ours or len(ours) != len(theirs):
            return False
        return all(
            a.shape == b.shape
            and np.allclose(
                b.astype(np.float64),
                a.astype(np.float64),
                rtol=self.rtol,
                atol=self.atol,
                equal_nan=True,
            )
            for a, b in zip(ours, theirs)
        )

    def text(self):
        return f"rtol {self.rtol:g}, atol {self.atol:g}"


EXACT = Tolerance()
OF_OPTIMISED = Tolerance(1e-5, 1e-5)


@dataclass
class Row:
    what: str
    checker: str = "-"
    loads: str = "-"
    equal: str = "-"
    max_diff: str = "-"
    compared: int = 0
    is_rounded: bool = False  # equal but for the rounding of float16 at cuts
    random: list = field(default_factory=list)  # outputs that are not compared
    faults: list = field(default_factory=list)
    remarks: list = field(default_factory=list)


def compare(row, expected, actual, is_random, tolerance=EXACT):
    """Fills in the row's last columns; `actual` need not hold every output."""
    compared = [name for name in expected if name in actual]
    equal, gaps, row.random = 0, [], []
    for name in compared:
        one, other = expected[name].content(), actual[name].content()
        if one == other:
            equal += 1
        elif is_random(name):
            row.random.append(name)
            row.remarks.append(f'output "{name}" is random: not compared')
        else:
            gaps.append(difference(one, other))
            if tolerance.allows(one, other):
                equal += 1
                row.remarks.append(f'output "{name}" agrees to {tolerance.text()}')
            else:
                row.faults.append(f'output "{name}" differs')
    row.compared = len(compared) - len(row.random)
    row.equal = f"{equal} of {row.compared}"
    row.max_diff = "-" if not row.compared else "?" if None in gaps else f"{max(gaps, default=0.0):.3g}"


# ---- the checker ----


class FileFacts:
    """The declared inputs and outputs of a file, the operators that the checker does not know, and those
    whose shape it infers wrong: STFT, for one half of the spectrum, once the frame's length is a constant."""

    MISINFERRED = {"STFT"}

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
        nodes = [*graph.node, *(node for function in model.functions for node in function.node)]
        self.misinferred = sorted({node.op_type for node in nodes} & self.MISINFERRED)


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
    elif says is not None and facts.misinferred:
        row.remarks.append(
            "checked without types: the checker infers wrong shapes of " + ", ".join(facts.misinferred)
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
            return "NOT equal, or not valid: " + "; ".join(faulty)
        chain = self.rows[-1]
        random = {name for row in self.rows for name in row.random}
        left_out = [f"not compared: {counted(len(random), 'output')} of {self.outputs}, random: {listed(sorted(random))}"]
        how = f"from the {chain.what}"
        if chain.equal == "-":
            left_out.append(f"NOT RUN: the {chain.what}")
            how = ""
        elif chain.is_rounded:
            how = f"but for float16 at cuts {how}"
        exact = all(exact_outputs(row) for row in self.rows if "optimised" not in row.what)
        equal = "bit for bit," if exact else "within the tolerance,"
        how = " and ".join(one for one in (f"{equal} from root.onnx", how) if one)
        return equal_words(self.outputs - len(random), how, left_out if random else left_out[1:])

    def table(self):
        return "\n".join(self.lines())

    def lines(self):
        table = [("what", "checker", "loads", "equal", "max diff")]
        table += [(guard.shown(row.what), row.checker, row.loads, row.equal, row.max_diff) for row in self.rows]
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
        return [guard.shown(one) for one in [self.conclusion(), "", *lines, *([""] if marked else []), *marked]]


class Original:
    """The model that was split: its inputs, and its outputs with and without optimisation. Serves any
    number of splits."""

    def __init__(self, path, dims=None, inputs=None, seed=0):
        """`inputs`: Values by name. Raises CannotRun, WrongUsage."""
        self.path = Path(path)
        if not self.path.is_file():
            raise WrongUsage(f"{path}: there is no such file")
        ort_child.tell("running the original")
        self.feeds, self.expected = find_inputs(self.path, inputs or {}, dims or {}, seed)
        self.optimised, self.why_not_optimised = None, None
        ort_child.tell("running the original, optimised")
        try:
            self.optimised = run_model(self.path, OPTIMISED, self.feeds)
        except Exception as error:
            self.why_not_optimised = first_line(error)
        self.checker_says = checker_says(self.path)
        self._other_seed = None

    def is_random(self, name):
        """True when the output depends on ONNX Runtime's seed."""
        if self._other_seed is None:
            self._other_seed = run_model(self.path, UNOPTIMISED, self.feeds, seed=1)
        return self._other_seed[name].content() != self.expected[name].content()

    def values_inside(self, names):
        """These values of the model's graph, computed without optimisation."""
        model = onnx.load(str(self.path), load_external_data=False)
        known = {output.name for output in model.graph.output}
        made = {name for node in model.graph.node for name in node.output}
        inside = [name for name in dict.fromkeys(names) if name in made and name not in known]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inside)
        session = open_session(model.SerializeToString(), UNOPTIMISED, self.path.parent)
        return run(session, self.feeds, output_names(session))

    def row(self):
        row = Row("original", loads="yes", checker="refuses" if self.checker_says else "ok")
        if self.checker_says:
            row.remarks.append(f"the checker says: {self.checker_says}")
        if self.why_not_optimised:
            row.remarks.append(f"does not run when optimised: {self.why_not_optimised}")
        return row


class Verification:
    def __init__(self, original, folder, manifest, tolerance=None):
        self.original, self.folder, self.manifest = original, Path(folder), manifest
        self.tolerance = tolerance  # None: exact, but for what is optimised

    def tolerance_of(self, level):
        return self.tolerance or (OF_OPTIMISED if level == OPTIMISED else EXACT)

    def rows(self):
        roots = [self.root_row("root.onnx", UNOPTIMISED, self.original.expected)]
        if self.original.optimised is not None:
            what = "root.onnx, optimised"
            roots.append(self.root_row(what, OPTIMISED, self.original.optimised))
        root = self.folder / "root.onnx"
        if root.exists():
            check(roots[0], root, FileFacts(root), self.original.checker_says is None)
        return [self.original.row(), *roots, *self.annotated_rows(), *self.chain_rows()]

    def annotated_rows(self):
        """annotated.onnx, if it exists, placed by its annotations: all partitions on the CPU."""
        path = self.folder / "annotated.onnx"
        if not path.exists():
            return []
        names = ",".join(f"={part['name']}" for part in self.manifest["partitions"])
        settings = {"session.layer_assignment_settings": f"cpu({names})"} if names else {}
        row = self.file_row(Row(path.name), UNOPTIMISED, self.original.expected, settings)
        check(row, path, FileFacts(path), self.original.checker_says is None)
        return [row]

    def root_row(self, what, level, expected):
        return self.file_row(Row(what), level, expected)

    def file_row(self, row, level, expected, settings=None):
        """Fills in the row about the file that its first word names."""
        ort_child.tell(f"running {row.what}")
        try:
            path = self.folder / row.what.split(",")[0]
            actual = run_model(path, level, self.original.feeds, settings=settings)
        except Exception as error:
            row.loads = "no"
            row.faults.append(first_line(error))
            return row
        row.loads = "yes"
        missing = [name for name in expected if name not in actual]
        row.faults += [f'output "{name}" is missing' for name in missing]
        compare(row, expected, actual, self.original.is_random, self.tolerance_of(level))
        return row

    def chain_rows(self):
        values, rows, broken = dict(self.original.feeds), [], []
        parts = self.manifest["partitions"]
        values.update(passed_parameters(self.original.path, parts, values))
        for part in parts:
            row = Row(part["file"] or part["name"])
            rows.append(row)
            if not self.run_part(part, row, values):
                broken.append(row)
        chain = Row(f"chain of {counted(len(rows), 'partition')}")
        if any(row.faults for row in broken):
            chain.faults.append(f"stops at {broken[0].what}")
        elif broken:
            chain.remarks.append(f"not run: {broken[0].what} cannot be loaded")
        else:
            self.compare_chain(chain, values)
        return [*rows, chain]

    def compare_chain(self, chain, values):
        made = {output["name"] for part in self.manifest["partitions"] for output in part["outputs"]}
        actual = {name: values[name] for name in made}
        tolerance = self.tolerance_of(UNOPTIMISED)
        compare(chain, self.original.expected, actual, self.original.is_random, tolerance)
        halves = {name for name in made if is_half(values[name].content())}
        if chain.faults and not halves:
            chain.remarks += self.first_drift(values, tolerance)
        if not chain.faults or not halves:
            return
        held, exact = self.run_held(halves), Row("chain")
        compare(exact, held, actual, self.original.is_random)
        if not exact.faults:
            chain.faults.clear()
            chain.is_rounded = True
            chain.remarks.append(
                "differs by the rounding of float16 at cuts: same bits as root.onnx makes where its "
                "float16 values are held between calls"
            )

    def first_drift(self, values, tolerance):
        """Names the first partition whose outputs differ from the original's values, as a remark."""
        parts = self.manifest["partitions"]
        made = [output["name"] for part in parts for output in part["outputs"]]
        try:
            inside = self.original.values_inside(made)
        except Exception as error:
            return [f"where it begins is not known: {first_line(error)}"]
        for part in parts:
            for name in [output["name"] for output in part["outputs"]]:
                if name not in inside or name not in values:
                    continue
                one, other = inside[name].content(), values[name].content()
                if one != other and not tolerance.allows(one, other):
                    gap = difference(one, other)
                    by = "" if gap is None else f" by {gap:.3g}"
                    return [f'{part["name"]} is the first to differ: its "{name}"{by}']
        return ["no value between the partitions differs from the original's"]

    def run_held(self, halves):
        """Outputs of root.onnx where each of these values is a float16 between calls.

        A CPU kernel without float16 computes in float32, and ONNX Runtime then keeps float32 from
        one such node to the next, except at the end of a partition or in a sequence."""
        root = onnx.load(str(self.folder / "root.onnx"), load_external_data=False)
        graph, nodes = root.graph, []
        taken = "".join(name for node in graph.node for name in [*node.input, *node.output])
        mark = "held"
        while mark in taken:
            mark += "_"
        graph.initializer.append(onnx.helper.make_tensor(mark, onnx.TensorProto.INT64, [], [0]))
        for node in graph.node:
            nodes.append(node)
            for i, name in enumerate(node.output):
                if name in halves:
                    own, sequence = f"{name}_{mark}", f"{name}_{mark}_sequence"
                    node.output[i] = own
                    nodes.append(onnx.helper.make_node("SequenceConstruct", [own], [sequence]))
                    nodes.append(onnx.helper.make_node("SequenceAt", [sequence, mark], [name]))
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(nodes)
        session = open_session(root.SerializeToString(), UNOPTIMISED, self.folder)
        return run(session, self.original.feeds, output_names(session))

    def run_part(self, part, row, values):
        """Adds the partition's outputs to `values`; false if it could not run."""
        if part["file"] is None:
            row.remarks.append("makes no value: not written")
            return True
        path = self.folder / part["file"]
        facts = FileFacts(path)
        if facts.unranked:
            row.checker = "exempt"
            unranked = ", ".join(facts.unranked)
            row.remarks.append(f"of unknown rank, which onnx.checker refuses in a file: {unranked}")
        else:
            check(row, path, facts, self.original.checker_says is None)
        lacking = [i["name"] for i in part["inputs"] if i["name"] not in values]
        if lacking:
            row.remarks.append(
                "not run, since an earlier partition was not: lacks " + ", ".join(lacking)
            )
            return False
        ort_child.tell(f"running {row.what}")
        try:
            values.update(run_part(path, part, values))
        except Exception as error:
            row.loads = "no"
            if facts.untyped:
                row.remarks.append("cannot be loaded: of unknown type: " + ", ".join(facts.untyped))
            else:
                row.faults.append(first_line(error))
            return False
        row.loads = "yes"
        row.remarks += [shape_remark(name, values[name]) for name in facts.unranked if name in values]
        return True


def shape_remark(name, value):
    shapes = ["x".join(map(str, array.shape)) or "()" for array in arrays_of(value.content())]
    return f'"{name}" had the shape {", ".join(shapes) or "of no tensor"} in this run'


def run_part(path, part, values):
    """The outputs of a stand-alone partition, as its manifest entry lists them, from `values`."""
    ort.set_seed(0)
    session = open_session(path, UNOPTIMISED)
    names = [output["name"] for output in part["outputs"]]
    return run(session, values, names or output_names(session))


def initializers_of(path):
    """The initializers of the model's graph, and of the bodies of its nodes: a split may have put a
    branch of an If in the place of the If."""
    graphs = [onnx.load(str(path), load_external_data=False).graph]
    for graph in graphs:
        yield from graph.initializer
        for node in graph.node:
            for attribute in node.attribute:
                graphs += [attribute.g] if attribute.HasField("g") else []
                graphs += attribute.graphs


def passed_parameters(path, parts, known):
    """The initializers of the model at `path` that partitions take as inputs, as Values by name: inputs
    that are neither `known` nor made by a partition."""
    made = {value["name"] for part in parts for value in part["outputs"]} | set(known)
    wanted = {value["name"] for part in parts for value in part["inputs"]} - made
    found = {}
    for tensor in initializers_of(path) if wanted else []:
        if tensor.name in wanted:
            if uses_external_data(tensor):
                load_external_data_for_tensor(tensor, str(Path(path).parent))
                tensor.data_location = onnx.TensorProto.DEFAULT  # its elements are inside now
            found[tensor.name] = value_of_tensor(tensor)
    return found


def verify(original, folder, dims=None, inputs=None, seed=0, tolerance=None):
    """The verdict on a split. `dims`: sizes of symbolic dims that the split did not bind; `inputs`:
    Values by input name; `tolerance`: None for exact, but for what is optimised.
    Raises CannotRun when the original does not run, WrongUsage when there is no split there."""
    manifest = guard.read_manifest(folder, guard.PARTS)
    if not Path(original).is_file():
        raise WrongUsage(f"{original}: there is no such file")
    dims = {**bound_dims(original, manifest["partitions"]), **(dims or {})}
    inputs = {**set_inputs(original, manifest), **(inputs or {})}
    one = Original(original, dims, inputs, seed)
    rows = Verification(one, folder, manifest, tolerance).rows()
    return Verdict(rows, len(one.expected))


def read_inputs(where, model):
    """The Values by name that --inputs names: in a .npz file, or in a folder of .pb files."""
    try:
        if Path(where).is_dir():
            return read_data_set(Path(where), model)
        return {name: Value.of_array(array) for name, array in np.load(guard.regular(where)).items()}
    except (OSError, ValueError, EOFError, BadZipFile, guard.BadFile) as error:
        text = first_line(error)
        raise WrongUsage(text if isinstance(error, guard.BadFile) else f"{where}: {text}") from error


def supervise(original):
    """Runs the script in a child process; 1 if ONNX Runtime crashed on a partition, 3 on the original."""
    status, death = ort_child.run_in_child(__file__)
    if death is None:
        return status
    guard.say(f"verify_split.py: {original}: {death}", to_errors=True)
    return 3 if "original" in death else 1


def main():
    parser = argparse.ArgumentParser(
        prog=os.environ.get("CLEAVE_SCRIPT"),  # python -m cleave.verify
        usage="%(prog)s ORIGINAL DIR [--dim N=8]... [--inputs WHERE] [--seed N] "
        "[--rtol R] [--atol A]",
        description="Runs a split ONNX model beside the original and compares what they compute.",
    )
    parser.add_argument("original", metavar="ORIGINAL", help="the model that was split")
    parser.add_argument("folder", metavar="DIR", help="the folder that cleave split wrote")
    parser.add_argument(
        "--dim", type=parse_dim, action="append", default=[], help="size of a symbolic dimension"
    )
    parser.add_argument(
        "--inputs",
        metavar="WHERE",
        help="a .npz file of arrays by input name, or a folder with input_0.pb, ...; other inputs "
        "are drawn",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the inputs that are drawn (0)")
    for name in ["--rtol", "--atol"]:
        parser.add_argument(name, type=float, help="tolerance of all comparisons (exact; 1e-5 optimised)")
    options = parser.parse_args()
    if not ort_child.is_child():
        sys.exit(supervise(options.original))
    tolerance = None
    if options.rtol is not None or options.atol is not None:
        tolerance = Tolerance(options.rtol or 0.0, options.atol or 0.0)
    with guard.told("verify_split.py", options.original):
        given = read_inputs(options.inputs, options.original) if options.inputs else {}
        dims = dict(options.dim)
        verdict = verify(options.original, options.folder, dims, given, options.seed, tolerance)
        guard.say(*verdict.lines())
        sys.exit(0 if verdict.passed else 1)


if __name__ == "__main__":
    main()
