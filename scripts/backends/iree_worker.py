#!/usr/bin/env python3
"""A worker for IREE on the CPU (pip install 'iree-base-compiler[onnx]' iree-base-runtime; iree-turbine torch for pieces of
.pt2 models): see worker.py.

The importer stays loaded. The compiler runs as a separate process, as its users start it: it writes its
errors to standard error, and a crash does not end the worker.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from worker import StageError, in_stage, kept, packages, programs, read_inputs, serve, write_outputs

with packages("'iree-base-compiler[onnx]' iree-base-runtime"):
    import numpy as np
    import onnx
    from iree.compiler.tools.import_onnx import __main__ as importer

TARGET = [
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    # By default IREE computes float64 in float32, and then takes no tensors of float64.
    "--iree-input-demote-f64-to-f32=false",
]
TOOLS = Path(sys.executable).parent


def call(stage, *command):
    """Runs a tool. What it says of a temporary file has the file's name only: lists keep these words."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        how = f"exit {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
        said = done.stderr or done.stdout or how
        for path in command:
            if os.path.isabs(path) and path.startswith(tempfile.gettempdir()):
                said = said.replace(path, os.path.basename(path))
        raise StageError(stage, said)


def import_model(path, out):
    arguments = importer.parse_arguments([path, "-o", out])
    try:
        code = importer.main(arguments)
    except SystemExit as stop:
        code = stop.code
    if code:
        raise StageError("convert", f"the importer exits with {code}")


def compile_to(request, folder, suffix, *options):
    mlir, out = os.path.join(folder, "model.mlir"), os.path.join(folder, "model" + suffix)
    in_stage("convert", import_model, request["model"], mlir)
    call("compile", str(TOOLS / "iree-compile"), mlir, *TARGET, *options, "-o", out)
    return mlir, out


# Operators that IREE takes only as others of core ATen; torch's own decompositions leave them.
DECOMPOSED = ("_native_batch_norm_legit_no_training", "_native_batch_norm_legit", "native_layer_norm", "addmm", "t", "embedding")
ENTRY = "main"


def imported(program, path):
    """Writes a piece of a torch.export program as MLIR."""
    with packages("iree-turbine torch"):
        import torch
        from iree.turbine import aot
        from torch._decomp import get_decompositions

    table = torch.export.default_decompositions()
    table.update(get_decompositions([getattr(torch.ops.aten, name) for name in DECOMPOSED]))
    core = in_stage("convert", program.run_decompositions, table)
    in_stage("convert", lambda: aot.export(core, function_name=ENTRY).save_mlir(path))


def compile_program_to(program, suffix, *options):
    """The path of a temporary file."""
    with tempfile.TemporaryDirectory() as folder:
        mlir = os.path.join(folder, "model.mlir")
        imported(program, mlir)
        with tempfile.NamedTemporaryFile(suffix=suffix, delete=False) as file:
            made = file.name
        call("compile", str(TOOLS / "iree-compile"), mlir, *TARGET, *options, "-o", made)
    return made


def given_as(value, path):
    """An argument of iree-run-module: a file, or a number."""
    if not hasattr(value, "numpy"):
        return str(int(value))
    np.save(path, value.contiguous().numpy())
    return f"@{path}"


def compile_program(program):
    """A piece of a torch.export program."""
    import torch

    from torch_programs import Compiled

    module = compile_program_to(program, ".vmfb")
    count = sum(one.kind.name == "USER_OUTPUT" for one in program.graph_signature.output_specs)

    def run_program(values):
        with tempfile.TemporaryDirectory() as folder:
            command = [str(TOOLS / "iree-run-module"), "--device=local-sync", f"--module={module}", f"--function={ENTRY}"]
            for i, one in enumerate(values):
                command.append("--input=" + given_as(one, os.path.join(folder, f"input_{i}.npy")))
            made = [os.path.join(folder, f"output_{i}.npy") for i in range(count)]
            call("run", *command, *[f"--output=@{path}" for path in made])
            return [torch.from_numpy(np.load(path)) for path in made]

    return Compiled(run_program, content=module)


def is_program(request):
    return request["model"].endswith(".pt2")


def check_program(program):
    from torch_programs import Compiled

    return Compiled(None, content=compile_program_to(program, ".in.mlir", "--compile-to=input"))


def check(request):
    if is_program(request):
        return programs().compile_piece(request, check_program)
    with tempfile.TemporaryDirectory() as folder:
        compile_to(request, folder, ".in.mlir", "--compile-to=input")
    return None


def compile_only(request):
    if is_program(request):
        return programs().compile_piece(request, compile_program, ".vmfb", target_of(ENTRY))
    with tempfile.TemporaryDirectory() as folder:
        mlir, module = compile_to(request, folder, ".vmfb")
        if not request.get("keep"):
            return None
        path = request["out"] + ".vmfb"
        shutil.copyfile(module, path)
        graph = onnx.load(request["model"], load_external_data=False).graph
        weights = {tensor.name for tensor in graph.initializer}
        inputs = [value.name for value in graph.input if value.name not in weights]
        return kept(path, inputs, [value.name for value in graph.output], target_of(function_of(mlir)))


def target_of(function):
    return {"iree": version("iree-base-compiler"), "device": "llvm-cpu", "function": function}


def function_of(mlir):
    with open(mlir, encoding="utf-8", errors="replace") as file:
        line = next(line for line in file if "func.func @" in line)
    return line.split("func.func @")[1].split("(")[0].strip('"')


def run(request):
    if is_program(request):
        return programs().run_piece(request, compile_program)
    given = read_inputs(request)
    with tempfile.TemporaryDirectory() as folder:
        mlir, module = compile_to(request, folder, ".vmfb")
        command = [str(TOOLS / "iree-run-module"), "--device=local-sync", f"--module={module}"]
        command.append(f"--function={function_of(mlir)}")
        for i, one in enumerate(request["inputs"]):
            path = os.path.join(folder, f"input_{i}.npy")
            np.save(path, given[one["name"]])
            command.append(f"--input=@{path}")
        made = [os.path.join(folder, f"output_{i}.npy") for i in range(len(request["outputs"]))]
        call("run", *command, *[f"--output=@{path}" for path in made])
        names = [one["name"] for one in request["outputs"]]
        write_outputs(request, {name: np.load(path) for name, path in zip(names, made)})
    return None


if __name__ == "__main__":
    serve(
        "iree",
        version("iree-base-compiler"),
        {"check": check, "compile": compile_only, "run": run},
    )
