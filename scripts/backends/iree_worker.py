#!/usr/bin/env python3
"""A worker for IREE on the CPU (pip install 'iree-base-compiler[onnx]' iree-base-runtime): see worker.py.

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

from worker import StageError, in_stage, kept, packages, read_inputs, serve, write_outputs

with packages("'iree-base-compiler[onnx]' iree-base-runtime"):
    import numpy as np
    import onnx
    from iree.compiler.tools.import_onnx import __main__ as importer

TARGET = [
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
]
TOOLS = Path(sys.executable).parent


def call(stage, *command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        how = f"exit {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
        raise StageError(stage, done.stderr or done.stdout or how)


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


def check(request):
    with tempfile.TemporaryDirectory() as folder:
        compile_to(request, folder, ".in.mlir", "--compile-to=input")


def compile_only(request):
    with tempfile.TemporaryDirectory() as folder:
        mlir, module = compile_to(request, folder, ".vmfb")
        if not request.get("keep"):
            return None
        path = request["out"] + ".vmfb"
        shutil.copyfile(module, path)
        graph = onnx.load(request["model"], load_external_data=False).graph
        weights = {tensor.name for tensor in graph.initializer}
        inputs = [value.name for value in graph.input if value.name not in weights]
        target = {"iree": version("iree-base-compiler"), "device": "llvm-cpu", "function": function_of(mlir)}
        return kept(path, inputs, [value.name for value in graph.output], target)


def function_of(mlir):
    with open(mlir, encoding="utf-8", errors="replace") as file:
        line = next(line for line in file if "func.func @" in line)
    return line.split("func.func @")[1].split("(")[0].strip('"')


def run(request):
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


if __name__ == "__main__":
    serve(
        "iree",
        version("iree-base-compiler"),
        {"check": check, "compile": compile_only, "run": run},
    )
