#!/usr/bin/env python3
"""A worker for Qualcomm's QNN: its compiler for the Hexagon NPU and the emulator of the NPU on x86 (pip install
onnxruntime-qnn onnx numpy): see worker.py.

usage: qnn_worker.py [KEY=VALUE...]

KEY=VALUE are options of ONNX Runtime's QNN provider; "KEY=" takes one away. soc_model says which chip it compiles
for: 57 without the option. A model is compiled when QNN takes every node. The libraries are Qualcomm's, under its
own licence; the files that they make belong to the user.
"""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from worker import StageError, in_stage, kept, match_values, packages, read_inputs, serve, take_stdout, write_outputs

with packages("onnxruntime-qnn onnx numpy"):
    import onnx
    import onnxruntime as ort
    import onnxruntime_qnn as qnn
    from onnx import TensorProto, helper

# Another name for the provider is accepted, and then every node is silently run by the CPU.
PROVIDER = "QNNExecutionProvider"
MOST_REASONS = 6
MOST_NAMES = 8
MOST_NAMED = 256
QDQ = ("DequantizeLinear", "QuantizeLinear")
REASON = re.compile(
    r"Validation FAILED for \d+ nodes in OrtNodeUnit \((.*?)\) *:\s*((?:Operator type: .*\n\s*)*)REASON : (.*)"
)
NODE = re.compile(r"Operator type: (\S*) Node name: (.*?) Node index:")


def options_of(words):
    """The provider's options. Without offload_graph_io_quantization=0 it leaves the quantised inputs and outputs
    of a model to the CPU."""
    options = {
        "backend_path": qnn.get_qnn_htp_path(),
        "soc_model": "57",
        "enable_htp_fp16_precision": "1",
        "offload_graph_io_quantization": "0",
    }
    for word in words:
        key, _, value = word.partition("=")
        options[key] = value
    return {key: value for key, value in options.items() if value}


class Log:
    """What ONNX Runtime logs while it is taken, everything. QNN's reasons are in its log only."""

    def __init__(self):
        self.text = ""

    @contextlib.contextmanager
    def taken(self):
        with tempfile.TemporaryFile() as file:
            kept = [(fd, os.dup(fd)) for fd in (1, 2)]
            for fd, _ in kept:
                os.dup2(file.fileno(), fd)
            ort.set_default_logger_severity(0)
            try:
                yield self
            finally:
                ort.set_default_logger_severity(4)
                for fd, copy in kept:
                    os.dup2(copy, fd)
                    os.close(copy)
                file.seek(0)
                self.text = re.sub(r"\x1b\[[0-9;]*m", "", file.read().decode("utf-8", "replace"))

    def reasons(self):
        """Why QNN does not take nodes, each once: "Erf: Operators of type 'Erf' are not supported by QNN EP"."""
        found = [f"{unit}: {why.strip()}" for unit, _, why in REASON.findall(self.text)]
        return list(dict.fromkeys(found))

    def left(self):
        """Nodes that QNN does not take, in the model's order: one of each op and reason, then the others."""
        found, others, seen = {}, [], set()
        for _, nodes, why in REASON.findall(self.text):
            named = NODE.findall(nodes)
            # The DequantizeLinear and QuantizeLinear of a quantised node are left with it, whatever they are.
            for op, node in [one for one in named if one[0] not in QDQ] or named:
                if node in seen:
                    continue
                seen.add(node)
                plain = re.sub("`.*?`", "", why)  # names in it
                entry = {"node": node, "op": op, "why": why.strip()}
                if found.setdefault((op, plain), entry) is not entry:
                    others.append(entry)
        return [*found.values(), *others][:MOST_NAMED]

    def errors(self):
        lines = [line for line in self.text.splitlines() if re.search(r"\[[EF]:onnxruntime", line)]
        return [re.sub(r"^.*?\] ", "", line) for line in dict.fromkeys(lines)]


class Qnn:
    """Sessions of ONNX Runtime with QNN."""

    def __init__(self, options):
        self.options = options
        ort.set_default_logger_severity(4)
        ort.register_execution_provider_library(PROVIDER, qnn.get_library_path())
        self.devices = [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER][:1]
        self.sdk = "unknown"
        self.errors = []  # of the log of the last session

    def session_options(self, entries):
        options = ort.SessionOptions()
        options.log_severity_level = 0
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        for key, value in entries.items():
            options.add_session_config_entry(key, value)
        options.add_provider_for_devices(self.devices, self.options)
        return options

    def open(self, model, entries=None):
        """(a session that QNN has all nodes of, the number of nodes)"""
        log = Log()
        try:
            with log.taken():
                options = self.session_options(entries or {})
                session = in_stage("compile", ort.InferenceSession, model, options)
                assigned = session.get_provider_graph_assignment_info()
        finally:
            self.errors = log.errors()
        sdk = re.search(r"Backend build version: v?([\d.]+)", log.text)
        self.sdk = sdk.group(1) if sdk else self.sdk
        left = [node for part in assigned if part.ep_name != PROVIDER for node in part.get_nodes()]
        if left:
            words = [*log.reasons()[:MOST_REASONS], self.names_of(left)]
            raise StageError("compile", "; ".join(words), left=log.left())
        nodes = sum(len(part.get_nodes()) for part in assigned)
        return session, nodes

    @staticmethod
    def names_of(nodes):
        words = [f'{node.op_type} "{node.name}"' for node in nodes[:MOST_NAMES]]
        more = f" and {len(nodes) - MOST_NAMES} more" if len(nodes) > MOST_NAMES else ""
        count = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
        return f"QNN leaves {count} to the CPU: {', '.join(words)}{more}"

    def compile(self, model, context):
        """Writes the context, the compiled model, as an ONNX model of EPContext nodes, and the weights beside it.
        Returns False when all of the model is constant: then there is nothing to write."""
        for path in (context, context_data(context)):
            Path(path).unlink(missing_ok=True)  # ONNX Runtime writes over no file
        entries = {
            "ep.context_enable": "1", "ep.context_file_path": context, "ep.context_embed_mode": "0",
        }
        _, nodes = self.open(model, entries)
        if nodes > 0 and not os.path.exists(context):
            raise StageError("driver", f"QNN takes all {nodes} nodes, and writes no context")
        return nodes > 0

    def target(self):
        """What the artefacts are made for."""
        is_float16 = self.options.get("enable_htp_fp16_precision") == "1"
        return {
            "soc_model": self.options.get("soc_model"), "precision": "float16" if is_float16 else "as the model",
            "sdk": self.sdk,
        }


def context_data(context):
    return os.path.splitext(context)[0] + "_qnn.bin"


def one_relu(path):
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "relu", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def version_of(compiler):
    """The version and all that decides what is compiled, after one Relu: where QNN does not know the chip or cannot
    start, all is silently left to the CPU."""
    chip = compiler.options.get("soc_model", "")
    if not compiler.devices:
        raise StageError("start", "ONNX Runtime finds no device of the QNN provider")
    with tempfile.TemporaryDirectory() as folder:
        one_relu(f"{folder}/relu.onnx")
        try:
            compiler.compile(f"{folder}/relu.onnx", f"{folder}/context.onnx")
        except StageError as error:
            why = "; ".join([str(error), *compiler.errors[:1]])
            raise StageError("start", f"QNN does not take one Relu with soc_model={chip}: {why}") from error
    stated = [f"{key}={value}" for key, value in compiler.options.items() if key != "backend_path"]
    return f"{qnn.__version__}, QNN {compiler.sdk}, onnxruntime {ort.__version__}, {' '.join(stated)}"


def keep_in_place(words):
    """The child of `keep`: QNN names a graph by the path of the model and by the number of graphs that the process
    made before. A fresh process, in its own folder, with a name made of the content, writes the same bytes again."""
    model, name = words[:2]
    answers = take_stdout()
    try:
        made = Qnn(options_of(words[2:])).compile(model, name)
    except StageError as fault:
        os.write(answers, json.dumps({"stage": fault.stage, "error": str(fault.error)}).encode())
        return 1
    return 0 if made else 3


def feeds_of(model, original, values):
    """Inputs for the deployed model that the original takes, as random as those of `cleave run`; None when it takes none."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from ort_inputs import CannotRun, find_inputs, values_of_texts

    graph = onnx.load(model, load_external_data=False).graph
    shapes = {one.name: [dim.dim_value or -1 for dim in one.type.tensor_type.shape.dim] for one in graph.input}
    try:
        return find_inputs(Path(original), values_of_texts(Path(original), values), {}, 0, shapes)[0]
    except CannotRun:
        return None


LOADED, DRAWN = "the deployed model is loaded", "inputs are drawn"  # what the child of `load` says


def load_in_place(words):
    """The child of `load`: opens the deployed model as a program would, and runs it."""
    model, original, values = words[:3]
    answers = take_stdout()
    try:
        compiler = Qnn(options_of(words[3:]))
        options = compiler.session_options({})
        options.log_severity_level = 3
        session = in_stage("load", ort.InferenceSession, model, options)
        session.disable_fallback()  # else a fault of the provider is hidden by one of the CPU
        taken = sum(node.op_type == "EPContext" for part in session.get_provider_graph_assignment_info()
                    if part.ep_name == PROVIDER for node in part.get_nodes())
        nodes = onnx.load(model, load_external_data=False).graph.node
        compiled = sum(node.op_type == "EPContext" for node in nodes)  # of a partition there may be several
        if taken != compiled:
            raise StageError("load", f"QNN takes {taken} of {compiled} EPContext nodes")
        print(LOADED, file=sys.stderr, flush=True)
        feeds = feeds_of(model, original, json.loads(values))
        print(DRAWN, file=sys.stderr, flush=True)
        if feeds is None:
            note = "it loads; it was not run, as the model takes none of the inputs that were tried"
        else:
            plain = {one.name: feeds[one.name].plain() for one in session.get_inputs()}
            in_stage("run", session.run, None, plain)
            note = "it loads and runs in ONNX Runtime"
    except StageError as fault:
        os.write(answers, json.dumps({"stage": fault.stage, "error": str(fault.error)}).encode())
        return 1
    except Exception as fault:  # the worker's own, which says nothing of the file
        os.write(answers, json.dumps({"stage": "driver", "error": f"{type(fault).__name__}: {fault}"}).encode())
        return 1
    os.write(answers, json.dumps({"note": note}).encode())
    return 0


def end_of(code):
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


class Handlers:
    def __init__(self, compiler, words):
        self.compiler, self.words = compiler, words

    def compile(self, request):
        context = request["out"] + ".onnx"
        if request.get("keep"):
            return self.keep(request["model"], context)
        if not self.compiler.compile(request["model"], context):
            return {"nothing": True, "note": "folded away"}
        return None

    def keep(self, model, context):
        digest = hashlib.sha256(Path(model).read_bytes()).hexdigest()[:16]
        folder, name = os.path.split(context)
        link = f"{digest}.onnx"
        os.symlink(os.path.abspath(model), os.path.join(folder, link))
        command = [sys.executable, os.path.abspath(__file__), "--keep", link, name, *self.words]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
        os.unlink(os.path.join(folder, link))
        if done.returncode == 3:
            return {"note": "folded away"}
        if done.returncode != 0:
            fault = json.loads(done.stdout or "{}")
            error = fault.get("error", f"the process that compiles it ended with {done.returncode}")
            raise StageError(fault.get("stage", "compile"), error)
        return self.artefacts(context)

    def load(self, request):
        """A session may end its process, so it has one of its own."""
        words = [request["model"], request["original"], json.dumps(request["values"])]
        command = [sys.executable, os.path.abspath(__file__), "--load", *words, *self.words]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            fault = json.loads(done.stdout or "{}")
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            if done.returncode < 0 and LOADED in lines and DRAWN not in lines and not fault:
                return {"note": "it loads; it was not run, as the model itself ends the process"}
            error = fault.get("error", f"the process was ended by {end_of(done.returncode)}: {' '.join(lines[-2:])}")
            raise StageError(fault.get("stage", "load"), error)
        return json.loads(done.stdout)

    def artefacts(self, context):
        graph = onnx.load(context, load_external_data=False).graph
        inputs, outputs = ([value.name for value in values] for values in (graph.input, graph.output))
        return kept(context, inputs, outputs, self.compiler.target(), context_data(context))

    def run(self, request):
        session, _ = self.compiler.open(request["model"])
        given = read_inputs(request)
        names = [value.name for value in session.get_inputs()]
        taken = match_values([one["name"] for one in request["inputs"]], [{name} for name in names])
        feeds = {names[at]: given[name] for name, at in taken.items()}
        outputs = [value.name for value in session.get_outputs()]
        log = Log()
        with log.taken():
            made = in_stage("run", session.run, outputs, feeds)
        write_outputs(request, dict(zip(outputs, made)))


def main():
    words = sys.argv[1:]
    if words[:1] == ["--keep"]:
        return keep_in_place(words[1:])
    if words[:1] == ["--load"]:
        return load_in_place(words[1:])
    compiler = Qnn(options_of(words))
    handlers = Handlers(compiler, words)
    does = {"compile": handlers.compile, "run": handlers.run, "load": handlers.load}
    serve("qnn", lambda: version_of(compiler), does)
    return 0


if __name__ == "__main__":
    sys.exit(main())
