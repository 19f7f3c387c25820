#!/usr/bin/env python3
"""A worker for TVM's Relax and LLVM (pip install apache-tvm onnx numpy; torch for pieces of .pt2 models): see worker.py."""

from worker import in_stage, kept, packages, programs, read_inputs, serve, write_outputs

with packages("apache-tvm onnx numpy"):
    import numpy as np
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx


def compile_model(path):
    """(the model, the executable)"""
    model = in_stage("convert", onnx.load, path)
    module = in_stage("convert", from_onnx, model, keep_params_in_input=False)
    return model, in_stage("compile", tvm.compile, module, target="llvm")


def compile_program(program):
    """A piece of a torch.export program."""
    import torch
    from tvm.relax.frontend.torch import from_exported_program

    from torch_programs import Compiled

    module = in_stage("convert", from_exported_program, program, keep_params_as_input=False)
    executable = in_stage("compile", tvm.compile, module, target="llvm")

    def run_program(values):
        machine = relax.VirtualMachine(executable, tvm.cpu())
        result = machine["main"](*[tvm.runtime.tensor(one.contiguous().numpy()) for one in values])
        results = [result] if hasattr(result, "numpy") else list(result)
        return [torch.from_numpy(np.array(one.numpy())) for one in results]

    return Compiled(run_program)


def run(request):
    if request["model"].endswith(".pt2"):
        return programs().run_piece(request, compile_program)
    model, executable = compile_model(request["model"])
    given = read_inputs(request)
    weights = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in weights]
    arguments = in_stage(
        "driver", lambda: [tvm.runtime.tensor(np.array(given[name], order="C")) for name in names]
    )
    machine = in_stage("run", relax.VirtualMachine, executable, tvm.cpu())
    result = in_stage("run", machine["main"], *arguments)
    results = [result] if hasattr(result, "numpy") else list(result)
    made = [value.name for value in model.graph.output]
    arrays = in_stage(
        "driver", lambda: {name: one.numpy() for name, one in zip(made, results)}
    )
    write_outputs(request, arrays)
    return None


def compile_only(request):
    if request["model"].endswith(".pt2"):
        return programs().compile_piece(request, compile_program)
    model, executable = compile_model(request["model"])
    if not request.get("keep"):
        return None
    path = request["out"] + ".so"
    in_stage("driver", executable.export_library, path)
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value.name for value in model.graph.input if value.name not in weights]
    outputs = [value.name for value in model.graph.output]
    return kept(path, inputs, outputs, {"tvm": tvm.__version__, "target": "llvm"})


if __name__ == "__main__":
    serve("tvm", tvm.__version__, {"compile": compile_only, "run": run})
