"""Runs split ONNX models in ONNX Runtime, and compares them with the model that was split: `cleave run` and `cleave verify`.

verify() runs the same inputs through the original, through root.onnx, and through the stand-alone partitions in the order of
manifest.json, with those of the original's weights that they take as inputs. Every output must agree bit for bit (NaN with NaN,
too), also those of annotated.onnx, if it exists, placed by its annotations. When ONNX Runtime optimises both, root.onnx must
agree to a relative and absolute tolerance of 1e-5: a cut prevents a fusion, which rounds differently. If the chain of partitions
differs, the first partition whose outputs differ from the original's values is named. The ONNX checker checks every file, unless
the original does not pass it; a partition with an input or output of unknown rank is exempt.

run() holds the partitions against root.onnx, and replays them as a runtime with residency would, to check the lists of the
manifest. Two stores say where a value is:

    host     what the CPU holds: the model's inputs, what CPU partitions make, what was sent back
    device   what the accelerator holds

For each accelerator partition

    1. an input in `resident` is on the device; every other input is sent there from the host
    2. the partition runs on what the device holds
    3. an output that a CPU partition reads, or the model gives out, is sent back to the host
    4. values in `free` leave the device; those in `keep` are there still

Without residency every input is sent, and the device is empty after each partition. A state of the model is where it is
written. Of several targets each has a store of its own; a value for which the manifest has a direct link does not go through
the host. Then the peak of each target is replayed, too: weights, and values while they are used; it must not exceed what the
manifest says. replay() is all that a runtime needs.

As a library:  report = check_split("model.onnx", "out"); report.passed, report.lines()
"""

import os
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import inliner
from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

import child
import guard
from chains import overlap_row, tell_outputs
from comparing import EXACT, Tolerance, arrays_of, chosen, compare, gap
from device_replay import names_read, peaks_by_target, tensor_bytes
from guard import WrongUsage, counted, first_line
from ort_inputs import find_inputs, read_data_set, values_of_texts
from ort_state import as_split
from ort_values import (
    CPU,
    OPTIMISED,
    UNOPTIMISED,
    Value,
    open_session,
    open_whole,
    output_names,
    run_model,
    value_of_tensor,
)
from ort_values import run as run_session
from reports import DIFFERS, INVALID, MANIFEST, NOT_RUN, Report, Row, size_text, time_text

OF_OPTIMISED = Tolerance(1e-5, 1e-5)
HELD = "but for float16's rounding at cuts"
# On an accelerator, which may compute floats in float16.
OF_PROVIDER = Tolerance(1e-2, 1e-2, rounding=2**-10)
SECOND = ".read"  # a state that other parts of a decoder-pipeline read has a second name, of which the manifest says nothing
# Sums of constants that a session packs are rounded otherwise than those of inputs, which some partitions take in their place.
UNPACKED = {"session.disable_prepacking": "1"}


def contents(values):
    return {name: value.content() for name, value in values.items()}


def tolerance_of_parts(provider):
    """Of what partitions make of which this provider may run some; None: ONNX Runtime's CPU."""
    return OF_PROVIDER if provider not in (None, CPU) else EXACT


def is_half(content):
    return isinstance(content, tuple) and content[0] == "tensor(float16)"


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
    if says is not None and original_passes:
        row.fault(INVALID, f"the checker says: {says}")
    elif says is not None:
        row.remarks.append(f"the checker says: {says}")


# ---- the verdict ----


class Original:
    """The model that was split: its inputs, and its outputs with and without optimisation. Serves any
    number of splits."""

    def __init__(self, path, dims=None, inputs=None, seed=0, settings=None, is_root=False):
        """`inputs`: Values by name; `settings`: of sessions; `is_root`: it is only held against the chain. Raises CannotRun,
        WrongUsage."""
        self.path = Path(path)
        if not self.path.is_file():
            raise WrongUsage(f"{path}: there is no such file")
        self.settings, self.is_root = settings, is_root
        child.tell(child.ORIGINAL)
        self.feeds, self.expected = find_inputs(self.path, inputs or {}, dims or {}, seed, settings=settings)
        self.wanted = contents(self.expected)
        self.optimised, self.why_not_optimised, self.checker_says, self._other_seed = None, None, None, None
        if is_root:
            return
        child.tell(f"{child.ORIGINAL}, optimised")
        try:
            self.optimised = contents(run_model(self.path, OPTIMISED, self.feeds, settings=settings))
        except Exception as error:
            self.why_not_optimised = first_line(error)
        self.checker_says = checker_says(self.path)

    def is_random(self, name):
        """True when the output depends on ONNX Runtime's seed."""
        if self._other_seed is None:
            # Not 1: its generator takes 0 for 1, and the first node has the seed itself.
            self._other_seed = contents(run_model(self.path, UNOPTIMISED, self.feeds, seed=2, settings=self.settings))
        return self._other_seed[name] != self.wanted[name]

    def values_inside(self, names):
        """These values of the model's graph, computed without optimisation."""
        model = onnx.load(str(self.path), load_external_data=False)
        known = {output.name for output in model.graph.output}
        made = {name for node in model.graph.node for name in node.output}
        inside = [name for name in dict.fromkeys(names) if name in made and name not in known]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inside)
        session = open_session(model.SerializeToString(), UNOPTIMISED, self.path.parent, self.settings)
        return run_session(session, self.feeds, output_names(session))

    def row(self):
        row = Row("original", ran="yes", checker="refuses" if self.checker_says else "ok")
        if self.checker_says:
            row.remarks.append(f"the checker says: {self.checker_says}")
        if self.why_not_optimised:
            row.remarks.append(f"does not run when optimised: {self.why_not_optimised}")
        return row


class Verification:
    """The rows of one split, held against an Original."""

    def __init__(self, original, folder, manifest, tolerance=None, provider=None, root="root.onnx"):
        """`root`: the file of the root, which phases call otherwise. `tolerance`: None: exact, but for what is optimised, and what
        a `provider` makes of accelerator partitions."""
        self.original, self.folder, self.manifest = original, Path(folder), manifest
        self.root = self.folder / root
        self.tolerance, self.provider = tolerance, provider
        self.passed = passed_parameters(original.path, manifest["partitions"], original.feeds)
        self.values = {}  # that the chain has
        self.sessions = None  # of the partitions by name, where they are kept

    def tolerance_of(self, level):
        return self.tolerance or (OF_OPTIMISED if level == OPTIMISED else EXACT)

    def is_accelerator(self, part):
        return part.get("is_acc", True)  # stages are each on a device

    def rows(self):
        roots = [self.file_row(self.root.name, UNOPTIMISED, self.original.wanted)]
        if self.original.optimised is not None:
            row = self.file_row(f"{self.root.name}, optimised", OPTIMISED, self.original.optimised)
            row.source = ""  # so that the conclusion says how exact the others are
            roots.append(row)
        if self.root.exists():
            check(roots[0], self.root, FileFacts(self.root), self.original.checker_says is None)
        return [self.original.row(), *roots, *self.annotated_rows(), *self.chain_rows()]

    def annotated_rows(self):
        """annotated.onnx, if it exists, placed by its annotations: all partitions on the CPU."""
        path = self.folder / "annotated.onnx"
        if not os.path.lexists(path):
            return []
        guard.regular(path)
        names = ",".join(f"={part['name']}" for part in self.manifest["partitions"])
        settings = {"session.layer_assignment_settings": f"cpu({names})"} if names else {}
        row = self.file_row(path.name, UNOPTIMISED, self.original.wanted, settings)
        check(row, path, FileFacts(path), self.original.checker_says is None)
        return [row]

    def file_row(self, what, level, expected, settings=None):
        """The row about the file that the first word of `what` names."""
        row = Row(what, source=what)
        child.tell(f"running {what}")
        try:
            ort.set_seed(0)
            session, remark = open_whole(self.folder / what.split(",")[0], level, {**(self.original.settings or {}), **(settings or {})})
            actual = contents(run_session(session, self.original.feeds, output_names(session)))
        except Exception as error:
            row.ran = "no"
            row.fault(NOT_RUN, f"ONNX Runtime refuses it: {first_line(error)}")
            return row
        row.ran = "yes"
        row.remarks += [remark] if remark else []
        for name in expected:
            if name not in actual:
                row.fault(DIFFERS, f'output "{name}" is missing')
        compare(row, expected, actual, self.tolerance_of(level), self.original.is_random)
        return row

    def chain_rows(self):
        self.values = {**self.original.feeds, **self.passed}
        rows, broken = [], []
        for part in self.manifest["partitions"]:
            row = Row(part["file"] or part["name"])
            rows.append(row)
            if not self.run_part(part, row):
                broken.append(row)
        chain = Row(f"chain of {counted(len(rows), 'partition')}")
        chain.source = "root.onnx and the chain" if self.original.is_root else f"the {chain.what}"
        if broken:
            chain.ran = "no"
            if any(row.faults for row in broken):
                chain.fault(NOT_RUN, f"stops at {broken[0].what}")
            else:
                chain.remarks.append(f"not run: {broken[0].what} cannot be loaded")
        else:
            chain.ran = "yes"
            self.compare_chain(chain)
        return [*rows, chain]

    def compare_chain(self, chain):
        made = {output["name"] for part in self.manifest["partitions"] for output in part["outputs"]}
        values = {name: self.values[name].content() for name in made}
        tolerance = self.tolerance or tolerance_of_parts(self.provider)
        compare(chain, self.original.wanted, values, tolerance, self.original.is_random)
        left_out = [name for name in self.original.wanted if name not in made]
        for name in sorted(outputs_of_partitions(self.root).intersection(left_out)) if left_out else []:
            chain.fault(DIFFERS, f'output "{name}" is made by no partition')
        halves = {name for name in made if is_half(values[name])}
        if not chain.faults:
            return
        exact = Row("chain")
        if halves and self.provider is None:
            try:
                compare(exact, contents(self.run_held(halves)), values, is_random=self.original.is_random)
            except Exception as error:
                exact.fault(NOT_RUN, first_line(error))
        if halves and self.provider is None and not exact.faults:
            chain.faults.clear()
            chain.how = HELD
            chain.remarks.append(
                "differs by the rounding of float16 at cuts: same bits as root.onnx makes where its "
                "float16 values are held between calls"
            )
        else:
            chain.remarks += self.first_drift(tolerance)

    def first_drift(self, tolerance):
        """Names the first partition whose outputs differ from the original's values, as a remark."""
        parts = self.manifest["partitions"]
        names = [(part["name"], output["name"]) for part in parts for output in part["outputs"]]
        try:
            inside = self.original.values_inside([name for _, name in names])
        except Exception as error:
            return [f"where it begins is not known: {first_line(error)}"]
        for part, name in names:
            if name in inside and name in self.values:
                one, other = inside[name].content(), self.values[name].content()
                found = gap(one, other, tolerance) if one != other else None
                if found and not found.is_allowed:
                    return [f'{part} is the first to differ: its "{name}": {found.text}']
        return ["no value between the partitions differs from the original's"]

    def run_held(self, halves):
        """Outputs of root.onnx where each of these values is a float16 between calls."""
        session = self.held_session(self.root, halves)
        return run_session(session, self.original.feeds, output_names(session))

    def held_session(self, path, halves):
        """A session of the root at `path` where each of these values is a float16 between calls.

        A CPU kernel without float16 computes in float32, and ONNX Runtime then keeps float32 from
        one such node to the next, except at the end of a partition, and around two nodes in a row that
        have kernels of float16, as Identity."""
        root = onnx.load(str(path), load_external_data=False)
        root = inliner.inline_local_functions(root) if root.functions else root
        graph, nodes = root.graph, []
        taken = "".join(name for node in graph.node for name in [*node.input, *node.output])
        mark = "held"
        while mark in taken:
            mark += "_"
        for node in graph.node:
            nodes.append(node)
            for i, name in enumerate(node.output):
                if name in halves:
                    own, held = f"{name}_{mark}", f"{name}_{mark}_twice"
                    node.output[i] = own
                    nodes.append(onnx.helper.make_node("Identity", [own], [held]))
                    nodes.append(onnx.helper.make_node("Identity", [held], [name]))
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(nodes)
        return open_session(root.SerializeToString(), UNOPTIMISED, self.folder, self.original.settings)

    def run_part(self, part, row):
        """Adds the partition's outputs to the values; false if it could not run."""
        if part["file"] is None:
            row.remarks.append("makes no value: not written")
            return True
        path = self.folder / part["file"]
        facts = FileFacts(path)
        if self.original.is_root:
            pass  # what ONNX's checker says is for `verify`
        elif facts.unranked:
            row.checker = "exempt"
            unranked = ", ".join(facts.unranked)
            row.remarks.append(f"of unknown rank, which onnx.checker refuses in a file: {unranked}")
        else:
            check(row, path, facts, self.original.checker_says is None)
        lacking = [i["name"] for i in part["inputs"] if i["name"] not in self.values]
        if lacking:
            row.remarks.append("not run, since an earlier partition was not: lacks " + ", ".join(lacking))
            return False
        child.tell(f"running {row.what}")
        try:
            self.values.update(self.opened(part, row)(self.values))
        except Exception as error:
            row.ran = "no"
            if facts.untyped:
                row.remarks.append("cannot be loaded: of unknown type: " + ", ".join(facts.untyped))
            else:
                row.fault(NOT_RUN, f"ONNX Runtime refuses it: {first_line(error)}")
            return False
        row.ran = "yes"
        row.remarks += [shape_remark(name, self.values[name]) for name in facts.unranked if name in self.values]
        return True

    def opened(self, part, row):
        """The partition as a function of all values that gives its outputs, as its manifest entry lists them."""
        path, names, remark = self.folder / part["file"], [output["name"] for output in part["outputs"]], ""
        ort.set_seed(0)
        if self.provider and self.is_accelerator(part):
            settings = {"session.record_ep_graph_assignment_info": "1"}
            session = open_session(path, UNOPTIMISED, settings=settings, provider=self.provider)
            row.on, remark = nodes_taken(session, self.provider)
        else:
            session, remark = open_whole(path, UNOPTIMISED, self.original.settings)
        row.remarks += [remark] if remark else []
        made = output_names(session)
        names = [*names, *(name + SECOND for name in names if name + SECOND in made)] if names else made

        def call(values):
            return run_session(session, values, names)

        if self.sessions is not None:
            self.sessions[part["name"]] = call
        return call


def nodes_taken(session, provider):
    """How many nodes the provider runs, as text, and what to say where it runs none."""
    taken = {one.ep_name: len(one.get_nodes()) for one in session.get_provider_graph_assignment_info()}
    own, short = taken.get(provider, 0), provider.removesuffix("ExecutionProvider")
    remark = "" if own else f"{short} takes none of its nodes: they run on ONNX Runtime's CPU"
    return f"{short}: {own} of {sum(taken.values())} nodes", remark


def outputs_of_partitions(root):
    """What calls of partitions make in root.onnx; other outputs are inputs and constants."""
    model = onnx.load(str(root), load_external_data=False)
    called = {(function.domain, function.name) for function in model.functions}
    return {name for node in model.graph.node if (node.domain, node.op_type) in called for name in node.output}


def shape_remark(name, value):
    shapes = ["x".join(map(str, array.shape)) or "()" for array in arrays_of(value.content())]
    return f'"{name}" had the shape {", ".join(shapes) or "of no tensor"} in this run'


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


def inputs_from_elsewhere(parts, known):
    """Names of inputs of partitions that are neither `known` nor made by a partition."""
    made = {value["name"] for part in parts for value in part["outputs"]}
    return {value["name"] for part in parts for value in part["inputs"]} - made - set(known)


def settings_of(path, parts):
    """The settings of sessions of the model at `path`: others where partitions take initializers of it as inputs."""
    graph = onnx.load(str(path), load_external_data=False).graph
    held = {one.name for one in graph.initializer}
    return UNPACKED if inputs_from_elsewhere(parts, (one.name for one in graph.input if one.name not in held)) else None


def passed_parameters(path, parts, known):
    """The initializers of the model at `path` that partitions take as inputs, as Values by name; `known`: its inputs."""
    wanted, found = inputs_from_elsewhere(parts, known), {}
    for tensor in initializers_of(path) if wanted else []:
        if tensor.name in wanted:
            if uses_external_data(tensor):
                load_external_data_for_tensor(tensor, str(Path(path).parent))
                tensor.data_location = onnx.TensorProto.DEFAULT  # its elements are inside now
            found[tensor.name] = value_of_tensor(tensor)
    return found


def read_inputs(where, model):
    """The Values by name that --inputs names: in a .npz file, or in a folder of .pb files."""
    try:
        if Path(where).is_dir():
            return read_data_set(Path(where), model)
        return {name: Value.of_array(array) for name, array in np.load(guard.npz_file(where)).items()}
    except (OSError, ValueError, EOFError, BadZipFile, guard.BadFile) as error:
        text = first_line(error)
        raise WrongUsage(text if isinstance(error, guard.BadFile) else f"{where}: {text}") from error


def provider_of(name):
    """The execution provider of ONNX Runtime that --ep names: openvino, OpenVINOExecutionProvider."""
    if not name:
        return None
    known = ort.get_available_providers()
    for one in known:
        if name.lower() in (one.lower(), one.lower().removesuffix("executionprovider")):
            return one
    has = ", ".join(one.removesuffix("ExecutionProvider").lower() for one in known)
    raise WrongUsage(f'--ep: this ONNX Runtime has no provider "{name}" (it has: {has}); a package such as onnxruntime-openvino or '
                     "onnxruntime-gpu brings others")  # fmt: skip


def interface_of(path):
    """The inputs of the model without those that are constants, and its outputs: by name the element type and the dims, of which
    open ones are texts; none where the rank is open."""
    graph = onnx.load(str(path), load_external_data=False).graph
    held = {one.name for one in graph.initializer}

    def described(values):
        return {one.name: (one.type.tensor_type.elem_type, [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
                                                            for dim in one.type.tensor_type.shape.dim])
                for one in values if one.name not in held}  # fmt: skip

    return described(graph.input), described(graph.output)


def clash_of(ours, theirs, sizes):
    """What of a root, whose interface is `theirs`, the model with `ours` has not; "" where it may be its root. `sizes`: names of dims
    that a phase was split with."""
    for what, own, other in zip(("input", "output"), ours, theirs):
        lacking = [name for name in other if name not in own]
        if lacking:
            return f"which has the {what}{'s' * (len(lacking) > 1)} {guard.listed(lacking)}; yours has {guard.listed(list(own)) or 'none'}"
    open_dims = [{dim for _, dims in one[0].values() for dim in dims if isinstance(dim, str)} for one in (ours, theirs)]
    lacking = [name for name in sizes if name in open_dims[1] - open_dims[0]]
    if lacking:
        own = guard.listed(sorted(open_dims[0])) or "none"
        return f"which has the open dim{'s' * (len(lacking) > 1)} {guard.listed(lacking)}; yours has {own}"
    for name, (kind, dims) in theirs[0].items():
        own_kind, own_dims = ours[0][name]
        is_size = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(dims, own_dims))
        is_size |= len(dims) != len(own_dims) and bool(dims and own_dims)
        if kind != own_kind or is_size:
            texts = [f"{onnx.TensorProto.DataType.Name(one).lower()}[{', '.join(map(str, own))}]"
                     for one, own in ((kind, dims), (own_kind, own_dims))]  # fmt: skip
            return f'whose input "{name}" is {texts[0]}; that of yours is {texts[1]}'
    return ""


def foreign_nodes(path, manifest):
    """Nodes of the manifest that the model at `path` has not. The manifest's fingerprint is of the graph as cleave read it, with
    sizes bound, and only cleave makes one; names of nodes tell as well whether a graph is another. An unnamed node is called by
    its operator and place, one of several of a name by name and place. Bodies and functions, which cleave may put in the place of
    nodes under names of its own, tell nothing."""
    model = onnx.load(str(path), load_external_data=False)
    if model.functions or any(one.HasField("g") or one.graphs for node in model.graph.node for one in node.attribute):
        return []
    known = {name for i, node in enumerate(model.graph.node) for name in (node.name, f"{node.name or node.op_type}_{i}")}
    return [name for part in manifest["partitions"] for name in part.get("nodes", []) if name not in known]


def check_model(path, folder, root, manifest):
    """Raises BadFile where the folder's root is not that of the model at `path`."""
    try:
        clash = clash_of(interface_of(path), interface_of(Path(folder) / root), manifest.get("dims", {}))
        if not clash and (lacking := foreign_nodes(path, manifest)):
            clash = f"which has the node{'s' * (len(lacking) > 1)} {guard.listed(lacking)}; yours has none of that name"
    except Exception:
        return  # what does not load is told where it is run
    if clash:
        raise guard.BadFile(f"{folder}: is of another model than {path}: of {guard.model_text(manifest)}, {clash}")


def check_split(original, folder, dims=None, inputs=None, seed=0, tolerance=None, provider=None):
    """The Report on a split. `dims`: sizes of symbolic dims that the split did not bind; `inputs`: Values by input name;
    `tolerance`: None for exact, but for what is optimised. Raises CannotRun when the original does not run, WrongUsage when
    there is no split there."""
    manifest = guard.read_manifest(folder, guard.PARTS)
    check_model(original, folder, "root.onnx", manifest)
    one = original_of(original, manifest, dims or {}, inputs or {}, seed)
    rows = Verification(one, folder, manifest, tolerance, provider).rows()
    return Report(rows, len(one.wanted))


def original_of(path, manifest, dims, inputs, seed, is_root=False):
    if not Path(path).is_file():
        raise WrongUsage(f"{path}: there is no such file")
    dims, inputs = as_split(path, manifest, dims, inputs, seed)
    return Original(path, dims, inputs, seed, settings_of(path, manifest["partitions"]), is_root)


def read_split(folder):
    """The manifest of the split of an ONNX model."""
    root = Path(folder) / "root.onnx"
    if not root.is_file():
        raise WrongUsage(f"{root}: there is no such file: DIR is not a split of an ONNX model")
    return guard.read_manifest(folder, guard.PARTS)


def given_inputs(options, model, texts=None):
    """Values by name of --inputs and --set-input; `texts`: of inputs that were set before, by name."""
    given = read_inputs(options.inputs, model) if options.inputs else {}
    return {**values_of_texts(model, {**(texts or {}), **dict(options.set_input)}), **given}


def verify(options):
    """The Report of `cleave verify`."""
    provider, tolerance = provider_of(options.ep), chosen(options, None)
    given, dims = given_inputs(options, options.model), dict(options.dim)
    report = None
    for call in range(options.times or 1):
        report = check_split(options.model, options.folder, dims, given, options.seed + call, tolerance, provider)
        report.calls = call + 1
        if not report.passed:
            break
    return report


# ---- a runtime with residency ----


class Absent(guard.Fault):
    """A value is read where it is not."""

    status = 1


@dataclass
class Replay:
    host: dict = field(default_factory=dict)
    devices: dict = field(default_factory=dict)  # by target: what it holds
    direct: dict = field(default_factory=dict)  # what targets give to others without the host
    links: set = field(default_factory=set)  # pairs of targets that do
    kept: "StateOnDevices | None" = None
    values: dict = field(default_factory=dict)  # all, for what a state takes
    bytes_in: int = 0
    bytes_out: int = 0
    bytes_direct: int = 0
    peak: int = 0
    peak_part: str = ""


def take(store, name, part, where):
    if name not in store:
        raise Absent(f'{part} reads "{name}", which is not on the {where}')
    return store[name]


def target_of(part):
    """The device of a partition; where there is one accelerator its name is "acc"."""
    return part.get("target", "acc" if part["is_acc"] else "cpu")


class StateOnDevices:
    """What the manifest's `state` says of devices: a state stays where it is written, from step to step. It crosses to readers on
    other devices, as the output of the step before; a reader of its shape needs no byte of it."""

    SHAPE_ALONE = ("Shape", "Size")

    def __init__(self, folder, manifest):
        self.parts, self.folder = manifest["partitions"], folder
        self.pairs = {pair["input"]: pair for pair in manifest.get("state", [])}
        self.outputs = {pair["output"] for pair in self.pairs.values()} - {None}
        makers = {value["name"]: target_of(part) for part in self.parts for value in part["outputs"]} if self.pairs else {}
        self.homes = {name: makers[pair["output"]] for name, pair in self.pairs.items() if pair["output"] in makers}
        self.readers = {part["name"]: self.names_used(part) for part in self.parts} if self.pairs else {}

    def names_used(self, part):
        """The values of which a node of the partition reads more than the shape."""
        graph = onnx.load(str(self.folder / part["file"]), load_external_data=False).graph if part["file"] else onnx.GraphProto()
        return {name for node in graph.node if node.op_type not in self.SHAPE_ALONE for name in names_read(node)}

    def is_there(self, part, name):
        """Whether an input of the partition is not sent to it."""
        if name not in self.pairs and name not in self.outputs:
            return False
        is_kept = name in self.pairs and self.homes.get(name, target_of(part)) == target_of(part)
        used = self.readers[part["name"]]
        return is_kept or name not in used or (name in self.pairs and self.moved(name) != name and self.moved(name) in used)

    def moved(self, name):
        """What is sent in place of an input."""
        return self.pairs[name]["output"] if name in self.homes else name


def run_accelerator_part(state, part, run_part, sent_back, makers, keeps):
    """Steps 1 to 4 of the text above."""
    resident = set(part["resident"]) if keeps else set()
    device = state.devices.setdefault(target_of(part), {})
    for value in part["inputs"]:
        name = value["name"]
        if state.kept.is_there(part, name):
            device[name] = state.values[name]
        elif name in resident:
            take(device, name, part["name"], "accelerator")
        elif (makers.get(name), target_of(part)) in state.links:
            device[name] = state.values[name] if name in state.kept.pairs else take(state.direct, name, part["name"], "other target")
            state.bytes_direct += tensor_bytes(state.values[state.kept.moved(name)])
        else:
            device[name] = take(state.host, name, part["name"], "host")
            state.bytes_in += tensor_bytes(state.values[state.kept.moved(name)])
    for name, value in run_part(device).items():
        device[name] = state.direct[name] = value
        if name in sent_back:
            state.host[name] = value
            state.bytes_out += tensor_bytes(value)
    held = sum(tensor_bytes(value) for value in device.values())
    if held > state.peak:
        state.peak, state.peak_part = held, part["name"]
    for name in part["free"] if keeps else list(device):
        take(device, name, part["name"], "accelerator")
        del device[name]
    for name in part["keep"] if keeps else []:
        take(device, name, part["name"], "accelerator")


def sent_back(parts, outputs, links, keeps, makers, kept):
    """The values that accelerator partitions send to the host: what it reads, and what another partition reads that
    does not have it, or gets it directly."""
    names = set(outputs) - kept.outputs
    for part in parts:
        for value in part["inputs"]:
            maker, reader = makers.get(value["name"]), target_of(part)
            is_beside = (maker, reader) in links or (keeps and maker == reader)
            if not is_beside and not kept.is_there(part, value["name"]):
                names.add(kept.moved(value["name"]))
    return names


def replay(parts, values, outputs, runner, kept, made, keeps=True, links=frozenset()):
    """Runs the partitions of a manifest. `values`: the model's inputs by name; `outputs`: names of
    those that the model gives out; `runner(part, store)`: runs one partition on the values in `store`
    and returns what it makes, by name; `kept`: StateOnDevices; `made`: all values, for what a state takes; `links`: pairs of
    targets with a direct link. Raises Absent."""
    state = Replay(host=dict(values), links=set(links), kept=kept, values={**values, **made})
    makers = {value["name"]: target_of(part) for part in parts for value in part["outputs"]} | kept.homes
    back = sent_back(parts, outputs, links, keeps, makers, kept)
    for part in parts:
        if part["is_acc"]:
            run_accelerator_part(
                state, part, lambda store, part=part: runner(part, store), back, makers, keeps
            )
        else:
            for value in part["inputs"]:
                take(state.host, value["name"], part["name"], "host")
            state.host.update(runner(part, state.host))
    return state


# Of a split, beside guard.PARTS: what is replayed, and for several targets.
REPLAYED = {
    "partitions": [{"is_acc": bool, "target?": str, "resident": [str], "keep": [str], "free": [str]}],
    "residency": {"off": {"link_bytes": (int, None)}, "on": {"link_bytes": (int, None)}, "peak_bytes": (int, None)},
    "targets?": [{"name": str}],
    "direct_links?": [{"from": str, "to": str, "is_used": bool}],
}
TARGETS = {
    "partitions": [{"target": str, "nodes": [str], "after": [str]}],
    "targets": [{"name": str, "peak_bytes": (int, None), "machine": {"acc": {"memory": (int, float, None)}}}],
    "residency": {"is_on": bool},
}


def has_state_in_place(manifest):
    """Whether a state may take no memory of its own."""
    return any(pair["kind"] == "replaced" for pair in manifest.get("state", []))


def replay_row(folder, manifest, values, given, outputs, facts):
    """The row about what crosses and what the accelerators hold, with residency and without. `values`: of the chain."""
    row, parts, residency = Row("residency"), manifest["partitions"], manifest["residency"]
    links = {(link["from"], link["to"]) for link in manifest.get("direct_links", []) if link["is_used"]}
    kept = StateOnDevices(folder, manifest)

    def runner(part, store):
        return {output["name"]: values[output["name"]] for output in part["outputs"] if output["name"] in values}

    for keeps, how in ((False, "off"), (True, "on")):
        try:
            state = replay(parts, given, outputs, runner, kept, values, keeps, links)
        except Absent as error:
            row.fault(MANIFEST, f"with residency {how}: {error}")
            continue
        moved, said = state.bytes_in + state.bytes_out + state.bytes_direct, residency[how]["link_bytes"]
        facts.append(("over the link" + (", with residency" if keeps else ""), held_text(moved, said)))
        if said not in (None, moved):
            row.fault(MANIFEST, f"{moved} bytes crossed the link with residency {how}, and the manifest says {said}")
        if keeps:
            said = residency["peak_bytes"]
            facts.append(("held at most", held_text(state.peak, said)))
            if said not in (None, state.peak) and not has_state_in_place(manifest):
                row.fault(MANIFEST, f"the accelerator held {state.peak} bytes, and the manifest says {said}")
            left = sorted({name for device in state.devices.values() for name in device} - kept.outputs - set(kept.pairs))
            if left:
                row.fault(MANIFEST, f"at the end the accelerator holds {', '.join(left)}")
    return row


def held_text(size, said):
    if said is None:
        return f"{size_text(size)}; the manifest says nothing of it"
    return f"{size_text(size)}, as the manifest says" if said == size else f"{size_text(size)}; the manifest says {size_text(said)}"


def target_row(folder, manifest, given, facts):
    """The row about what each of several targets holds."""
    row = Row("memory of targets")
    guard.Checked(folder / "manifest.json")({**manifest, "targets": manifest["targets"][:-1]}, TARGETS)
    peaks = peaks_by_target(folder, manifest, given, manifest["residency"]["is_on"])
    for target in manifest["targets"][:-1]:
        name, said, memory = target["name"], target["peak_bytes"], target["machine"]["acc"]["memory"]
        held = peaks.get(name, 0)
        facts.append((f"{name} held at most", f"{size_text(held)} with weights, the manifest says "
                      f"{'nothing of it' if said is None else size_text(said)}"))  # fmt: skip
        if said is not None and held > said and not has_state_in_place(manifest):
            row.fault(MANIFEST, f"{name} held {held} bytes, and the manifest says {said}")
        if memory is not None and held > memory:
            row.fault(MANIFEST, f"{name} held {held} bytes, and its memory is {memory}")
    return row


def timed(parts, calls, values, rows, times):
    """Calls the partitions `times` times, and notes the medians."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(times):
        store = dict(values)
        for part in parts:
            if part["name"] in calls:
                begin = time.perf_counter()
                store.update(calls[part["name"]](store))
                taken[part["name"]].append(time.perf_counter() - begin)
    for part, row in zip(parts, rows):
        if part["name"] in taken:
            row.time = time_text(statistics.median(taken[part["name"]]))
    return statistics.median(map(sum, zip(*taken.values()))) if taken else 0.0


def run(options):
    """The Report of `cleave run`."""
    folder, provider = options.folder, provider_of(options.ep)
    manifest = read_split(folder)
    parts, is_replayed, has_targets = manifest["partitions"], "residency" in manifest, "targets" in manifest
    if is_replayed:
        guard.Checked(folder / "manifest.json")(manifest, REPLAYED)
    if options.overlap and not has_targets:
        raise WrongUsage(f"{folder}: --overlap is for a split for several targets")
    root = folder / "root.onnx"
    original = original_of(root, manifest, dict(options.dim), given_inputs(options, root), options.seed, is_root=True)
    chain = Verification(original, folder, manifest, chosen(options, None), provider)
    chain.sessions = {}
    rows = chain.chain_rows()
    accelerated = sum(part["is_acc"] for part in parts) if is_replayed else 0
    ran = f"ran: {counted(len(parts), 'partition')}" + (f", {accelerated} on the accelerator" if is_replayed else "")
    report = Report(rows, len(original.wanted), ran, options.times or 1)
    if rows[-1].ran == "no":
        return report
    rows[-1].time = time_text(timed(parts, chain.sessions, {**original.feeds, **chain.passed}, rows, report.calls))
    for part, row in zip(parts, rows):
        row.on = row.on or (target_of(part) if is_replayed else "")
    given = {**original.feeds, **chain.passed}
    if is_replayed:
        rows.append(replay_row(folder, manifest, chain.values, given, original.wanted, report.facts))
    if has_targets:
        rows.append(target_row(folder, manifest, given, report.facts))
    made = {name: chain.values[name].content() for name in original.wanted if name in chain.values}
    if options.overlap:
        rows.append(overlap_row(parts, chain.sessions, given, made, Value.content, report.facts))
    tell_outputs(report, options, made)
    report.rows = [row for row in rows if row.ran or row.faults or row.remarks]
    return report
