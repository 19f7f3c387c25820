"""Runs root_ep.onnx, which `cleave lower --bundle ep -o DIR` wrote, and compares it with the original model: `cleave run` and
`cleave verify`.

First each artefact that lowering.json lists is held against its size and SHA-256: a file of another build, or a damaged one, is
refused by the provider in words that nobody understands, and a wrong chip not at all. Then ONNX Runtime opens root_ep.onnx with
the provider that its nodes name, without asking it to compile anything. verify() also runs the original, on the CPU as it is
written, not optimised. A Hexagon NPU computes floats in float16, whatever its options are, so a deep model may be beyond the
tolerances: an op that must be exact stays on the CPU with `cleave lower --deny OP`. open_deployed() is all that a program needs.

An input that was set when the model was lowered (--set-input) has that value here, too, unless another is given: what was
compiled holds for no other.
"""

import hashlib
import statistics
import time
from pathlib import Path

import onnx
import onnxruntime as ort

import child
import guard
from chains import tell_outputs
from comparing import Tolerance, chosen, compare, gap
from guard import WrongUsage, counted
from onnx_chain import contents, given_inputs
from ort_inputs import DRAWS, dims_of_given, draw_inputs, find_inputs
from ort_values import OPTIMISED, Value, run_model
from reports import NOT_RUN, Report, Row, time_text

PROVIDER = "QNNExecutionProvider"
LOWERING = {
    "parts": [{
        "target?": {"soc_model?": (str, int), "precision?": str},
        "artefacts?": [{"file": guard.FileName, "bytes": int, "sha256": str}],
    }],
    "bound?": {"values?": {"*": str}},
}


def open_deployed(path):
    """A session of root_ep.onnx on Qualcomm's provider (pip install onnxruntime-qnn)."""
    import onnxruntime_qnn as qnn

    ort.register_execution_provider_library(PROVIDER, qnn.get_library_path())
    devices = [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER]
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.add_provider_for_devices(devices[:1], {"backend_path": qnn.get_qnn_htp_path(), "soc_model": soc_of(path)})
    session = ort.InferenceSession(str(path), options)
    session.disable_fallback()  # else a fault of the provider is hidden by one of the CPU
    return session


def soc_of(path):
    """The chip that the artefacts were made for."""
    for part in guard.read_json(Path(path).parent / "lowering.json", LOWERING)["parts"]:
        if "soc_model" in part.get("target", {}):
            return part["target"]["soc_model"]
    return "57"


def check_artefacts(folder, lowering):
    """Raises BadFile for one that is not as it was."""
    for part in lowering["parts"]:
        for one in part.get("artefacts", []):
            path = folder / one["file"]
            is_same = path.stat().st_size == one["bytes"] and hashlib.sha256(path.read_bytes()).hexdigest() == one["sha256"]
            if not is_same:
                raise guard.BadFile(f"{one['file']} is not the file that lowering.json lists")


def declared_shapes(path):
    """The sizes of root_ep.onnx's inputs."""
    graph = onnx.load(path, load_external_data=False).graph
    return {one.name: [dim.dim_value or -1 for dim in one.type.tensor_type.shape.dim] for one in graph.input}


def precisions_of(lowering):
    """What the compiled parts compute floats in, as the backends say."""
    targets = [part.get("target", {}) for part in lowering["parts"]]
    return sorted({target["precision"] for target in targets if "precision" in target})


def rounding_of(precisions):
    """Of numbers near 1, on the device; of float32, of sums of them."""
    return 2**-10 if "float16" in precisions else 2**-17


class Deployed:
    """root_ep.onnx in a session, and what is compared of it."""

    def __init__(self, options):
        if options.ep:
            raise WrongUsage("--ep: the nodes of root_ep.onnx name their provider")
        self.path = options.folder / "root_ep.onnx"
        lowering = guard.read_json(options.folder / "lowering.json", LOWERING)
        check_artefacts(options.folder, lowering)
        self.texts = lowering.get("bound", {}).get("values", {})  # of inputs that were set for `lower`
        ort.set_default_logger_severity(4)
        child.tell("running root_ep.onnx")
        self.session = open_deployed(self.path)
        self.names = [value.name for value in self.session.get_outputs()]
        self.row = Row("root_ep.onnx", source="root_ep.onnx", ran="yes")
        self.precisions = precisions_of(lowering)

    def __call__(self, feeds, times):
        """Contents by name, of the first of several runs."""
        plain = {value.name: feeds[value.name].plain() for value in self.session.get_inputs()}
        taken, first = [], None
        for _ in range(times):
            begin = time.perf_counter()
            made = self.session.run(self.names, plain)
            taken.append(time.perf_counter() - begin)
            first = first or made
        self.row.time = time_text(statistics.median(taken))
        return contents({name: Value(plain=value) for name, value in zip(self.names, first)})

    def parts_text(self):
        """How many compiled parts the provider runs; a fault of the row where it does not run all."""
        parts = sum(node.op_type == "EPContext" for node in onnx.load(self.path, load_external_data=False).graph.node)
        taken = sum(node.op_type == "EPContext" for part in self.session.get_provider_graph_assignment_info()
                    if part.ep_name == PROVIDER for node in part.get_nodes())
        if taken != parts:
            self.row.fault(NOT_RUN, f"{PROVIDER} runs {taken} of {counted(parts, 'compiled part')}")
        return (f"{taken} of {counted(parts, 'compiled part')} on {PROVIDER}, which computes floats in "
                f"{' and '.join(self.precisions) or 'a precision that it does not state'}")  # fmt: skip


def run(options):
    """The Report of `cleave run`."""
    deployed = Deployed(options)
    given = given_inputs(options, deployed.path, deployed.texts)
    dims = {**dims_of_given(deployed.session.get_inputs(), given), **dict(options.dim)}
    feeds = draw_inputs(deployed.session, given, dims, DRAWS[0], options.seed)
    made = deployed(feeds, options.times or 1)
    text = deployed.parts_text()
    deployed.row.source = ""
    report = Report([deployed.row], len(made), f"ran: {text}", options.times or 1, "`cleave verify MODEL DIR` does that")
    tell_outputs(report, options, made)
    return report


def verify(options):
    """The Report of `cleave verify`."""
    deployed = Deployed(options)
    child.tell(child.ORIGINAL)
    shapes = declared_shapes(deployed.path)
    given = given_inputs(options, options.model, deployed.texts)
    feeds, expected = find_inputs(options.model, given, dict(options.dim), options.seed, shapes)
    child.tell("running root_ep.onnx")
    wanted, made = contents(expected), deployed(feeds, options.times or 1)
    tolerance = chosen(options, Tolerance(1e-2, 1e-2, rounding=rounding_of(deployed.precisions)))
    row = deployed.row
    compare(row, wanted, made, tolerance)
    if row.faults:
        explain(row, options, feeds, wanted, tolerance, deployed.precisions)
    text = deployed.parts_text()
    return Report([Row("original", ran="yes"), row], len(wanted), notes=[text], calls=options.times or 1)


def explain(row, options, feeds, wanted, tolerance, precisions):
    """Says what may be behind a difference, and what finds the nodes."""
    graph = onnx.load(options.model, load_external_data=False).graph
    if any(node.op_type == "QuantizeLinear" for node in graph.node):
        for name, other in contents(run_model(options.model, OPTIMISED, feeds)).items():
            text = "the same" if other == wanted[name] else gap(wanted[name], other, tolerance).text
            row.remarks.append(f'for comparison, ONNX Runtime\'s own optimised run of this quantised model: "{name}": {text}')
    if "float16" in precisions:
        row.remarks.append("the device computes floats in float16")
    row.remarks.append("`cleave lower --compare --inputs FILE` finds nodes that compute something else, and leaves them to the CPU; "
                       "--tolerance says what is near enough for you")  # fmt: skip
