#!/usr/bin/env python3
"""A worker for OpenVINO on the CPU (pip install openvino onnx numpy; torch for pieces of .pt2 models): see worker.py.

usage: openvino_worker.py [f32|bf16|f16]    the precision to compute in; default: the CPU's choice
"""

import sys

from worker import StageError, in_stage, kept, match_values, packages, programs, read_inputs, serve, write_outputs

with packages("openvino onnx numpy"):
    import numpy as np
    import openvino as ov

core = ov.Core()


def compile_model(path):
    model = in_stage("convert", core.read_model, path)
    return in_stage("compile", core.compile_model, model, "CPU")


def names_of(ports):
    return [set(port.get_names()) for port in ports]


def compile_program(program):
    """A piece of a torch.export program."""
    import torch

    from torch_programs import Compiled

    model = in_stage("convert", ov.convert_model, program)
    compiled = in_stage("compile", core.compile_model, model, "CPU")

    def run_program(values):
        results = compiled([one.numpy() if isinstance(one, torch.Tensor) else one for one in values])
        return [torch.from_numpy(np.array(one)) for one in results.values()]

    return Compiled(run_program)


def run(request):
    if request["model"].endswith(".pt2"):
        return programs().run_piece(request, compile_program)
    compiled = compile_model(request["model"])
    given = read_inputs(request)
    taken = match_values([one["name"] for one in request["inputs"]], names_of(compiled.inputs))
    lacking = [i for i in range(len(compiled.inputs)) if i not in taken.values()]
    if lacking:
        raise StageError("driver", f"inputs {lacking} of the compiled model have no values")
    feeds = {at: given[name] for name, at in taken.items()}
    results = in_stage("run", compiled, feeds)
    outputs = match_values([one["name"] for one in request["outputs"]], names_of(compiled.outputs))
    arrays = {name: np.array(results[compiled.outputs[at]]) for name, at in outputs.items()}
    write_outputs(request, arrays)
    return None


def compile_only(request):
    if request["model"].endswith(".pt2"):
        return programs().compile_piece(request, compile_program)
    compiled = compile_model(request["model"])
    if not request.get("keep"):
        return None
    path = request["out"] + ".blob"
    with open(path, "wb") as file:
        file.write(in_stage("driver", compiled.export_model).getvalue())
    inputs, outputs = ([port.get_any_name() for port in ports] for ports in (compiled.inputs, compiled.outputs))
    return kept(path, inputs, outputs, {"device": "CPU", "openvino": ov.__version__})


if __name__ == "__main__":
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": 1})
    if len(sys.argv) > 1:
        core.set_property("CPU", {"INFERENCE_PRECISION_HINT": sys.argv[1]})
    serve("openvino", ov.__version__, {"compile": compile_only, "run": run})
