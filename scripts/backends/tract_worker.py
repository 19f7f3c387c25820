#!/usr/bin/env python3
"""A worker for tract (pip install tract onnx numpy): see worker.py for the protocol."""

from worker import in_stage, packages, read_inputs, serve, write_outputs

with packages("tract onnx numpy"):
    import numpy as np
    import onnx
    import tract


def compile_model(path):
    """(the runnable, its input names)"""
    model = in_stage("convert", lambda: tract.onnx().load(path))
    names = [model.input_name(i) for i in range(model.input_count())]
    typed = in_stage("compile", model.into_model)
    return in_stage("compile", typed.into_runnable), names


def run(request):
    runnable, names = compile_model(request["model"])
    given = read_inputs(request)
    feeds = in_stage("driver", lambda: [np.array(given[name], order="C") for name in names])
    results = in_stage("run", runnable.run, feeds)
    made = onnx.load(request["model"], load_external_data=False).graph.output
    arrays = {value.name: result.to_numpy() for value, result in zip(made, results)}
    write_outputs(request, arrays)


def compile_only(request):
    compile_model(request["model"])


if __name__ == "__main__":
    serve("tract", tract.version(), {"compile": compile_only, "run": run})
