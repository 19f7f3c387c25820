#!/usr/bin/env python3
"""A worker for Vela, Arm's compiler for Ethos-U NPUs (pip install ethos-u-vela): see worker.py for the protocol.

usage: vela_worker.py [OPTION...]      options of vela, such as --accelerator-config ethos-u85-256

It takes pieces of .tflite models. Vela exits with 0 although it leaves operators to the CPU, so the piece counts as
compiled only when nothing but `ethos-u` operators is in what Vela writes. Else the answer names each operator that
stays, by its output as cleave does, with Vela's reason.
"""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from worker import StageError, in_stage, kept, packages, serve

with packages("ethos-u-vela"):
    from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator
    from ethosu.vela.tflite.Model import Model

OPERATORS = {number: name for name, number in vars(BuiltinOperator).items() if isinstance(number, int)}
REASON = re.compile(r"Warning \(supported operators\) operator: \S+, ofm: '([^']*)'\nReason: (.*(?:\n(?!\n|Warning).+)*)")
NPU = "ethos-u"


def operator_name(code):
    if code.BuiltinCode() == BuiltinOperator.CUSTOM:
        return (code.CustomCode() or b"").decode(errors="replace")
    number = max(code.DeprecatedBuiltinCode(), code.BuiltinCode())
    return OPERATORS.get(number, str(number))


def compiled_model(path):
    """(the operators as (op, name of the first output), names of inputs, names of outputs)"""
    graph_of = Model.GetRootAs(path.read_bytes(), 0)
    graph = graph_of.Subgraphs(0)

    def name(tensor):
        return graph.Tensors(tensor).Name().decode(errors="replace")

    operators = []
    for i in range(graph.OperatorsLength()):
        one = graph.Operators(i)
        first = name(one.Outputs(0)) if one.OutputsLength() else ""
        operators.append((operator_name(graph_of.OperatorCodes(one.OpcodeIndex())), first))
    inputs = [name(graph.Inputs(i)) for i in range(graph.InputsLength())]
    return operators, inputs, [name(graph.Outputs(i)) for i in range(graph.OutputsLength())]


def reasons_in(text):
    """{name: reason}. A fused activation has the name of its operator and "_act"."""
    found = {}
    for name, reason in REASON.findall(text):
        found.setdefault(name.removesuffix("_act"), " ".join(reason.split()))
    return found


def message_of(text):
    """What Vela says when it ends with an error, without the traceback and what it always says."""
    last = text[text.rfind("RuntimeError: ") :] if "RuntimeError: " in text else text
    lines = [line for line in last.splitlines() if line.strip() and not line.startswith("Warning: No ")]
    return "\n".join(lines[-12:])


def compile_model(request):
    with tempfile.TemporaryDirectory() as folder:
        model = Path(request["model"])
        command = [sys.executable, "-m", "ethosu.vela", str(model), "--output-dir", folder, *OPTIONS]
        done = in_stage("driver", subprocess.run, command, capture_output=True, text=True, check=False)
        text = done.stdout + done.stderr
        made = Path(folder) / f"{model.stem}_vela.tflite"
        if done.returncode != 0 or not made.exists():
            raise StageError("compile", message_of(text))
        operators, inputs, outputs = compiled_model(made)
        left = [(op, name) for op, name in operators if op != NPU]
        if left:
            reasons = reasons_in(text)
            lines = [f'"{name}" ({op}) stays on the CPU: {reasons.get(name, "no reason given")}' for op, name in left]
            raise StageError("compile", "\n".join(lines))
        if not request.get("keep"):
            return None
        out = Path(request["out"] + "_vela.tflite")
        shutil.copyfile(made, out)
        return kept(str(out), inputs, outputs, {"options": " ".join(OPTIONS)})


OPTIONS = sys.argv[1:] or ["--accelerator-config", "ethos-u55-128"]

if __name__ == "__main__":
    serve("vela", f"{importlib.metadata.version('ethos-u-vela')} {' '.join(OPTIONS)}", {"compile": compile_model})
