#!/usr/bin/env python3
"""A worker for LiteRT, TensorFlow Lite's runtime (pip install ai-edge-litert numpy): see worker.py.

It is the reference for .tflite models: the kernels without delegates, one thread. "capture" runs a model once and
writes every tensor that the operators of its main subgraph make, or of that of a signature:

    -> {"op": "capture", "model": M, "out": FOLDER, "given": null | PATH.npz, "dims": {"N": 8},
        "shapes": {"x": [1, 3]}, "seed": 0, "signature": "decode"}
    <- {"ok": true, "tensors": [{"name", "dtype", "shape", "file", "values"}]}

"given" is a .npz file with inputs by name; others are random, from "seed". Sizes that a model leaves open are those of
"shapes" and, for the first axis, of "dims", else 1.
"""

import importlib.metadata
from pathlib import Path

from worker import StageError, in_stage, packages, read_inputs, serve, write_outputs, write_tensor

with packages("ai-edge-litert numpy"):
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

FEW = 16


def open_model(path, **options):
    return Interpreter(model_path=path, num_threads=1,
                       experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, **options)


def compile_only(request):
    interpreter = in_stage("compile", open_model, request["model"])
    in_stage("compile", interpreter.allocate_tensors)


def run_with(interpreter, feeds):
    """Runs the model on arrays by name of the input; inputs get the shapes of these."""
    places = {one["name"]: one["index"] for one in interpreter.get_input_details()}
    for name, array in feeds.items():
        if name not in places:
            raise StageError("driver", f'the model has no input "{name}"')
        in_stage("run", interpreter.resize_tensor_input, places[name], list(array.shape))
    in_stage("run", interpreter.allocate_tensors)
    for name, array in feeds.items():
        in_stage("run", interpreter.set_tensor, places[name], array)
    in_stage("run", interpreter.invoke)


def run(request):
    interpreter = in_stage("compile", open_model, request["model"])
    run_with(interpreter, read_inputs(request))
    write_outputs(request, {one["name"]: interpreter.get_tensor(one["index"]) for one in interpreter.get_output_details()})


def size_of(request, name, axis, declared, converted):
    given = request.get("shapes", {}).get(name)
    if given and given[axis] >= 0:
        return given[axis]
    if declared >= 0:
        return declared
    symbol = "N" if axis == 0 else f"{name}:{axis}"
    return request.get("dims", {}).get(symbol, converted)


def random_input(details, shape, rng):
    kind = np.dtype(details["dtype"])
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu":
        # Wide integers are often indices: small ones are in range more often.
        least, most = (0, 2) if kind.itemsize > 2 else (np.iinfo(kind).min, np.iinfo(kind).max + 1)
        return rng.integers(least, most, shape).astype(kind)
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    raise StageError("inputs", f'"{details["name"]}" has a type that is not made at random: give it by --inputs')


def find_inputs(request, details):
    given = {}
    if request.get("given"):
        with in_stage("inputs", np.load, request["given"]) as arrays:
            given = {name: arrays[name] for name in arrays.files}
    rng = np.random.default_rng(request.get("seed", 0))
    feeds = {}
    for one in details:
        declared = one["shape_signature"] if len(one["shape_signature"]) else one["shape"]
        shape = [size_of(request, one["name"], axis, int(size), int(one["shape"][axis]))
                 for axis, size in enumerate(declared)]
        feeds[one["name"]] = given.pop(one["name"], None)
        if feeds[one["name"]] is None:
            feeds[one["name"]] = random_input(one, shape, rng)
    if given:
        raise StageError("inputs", f'the model has no input "{next(iter(given))}"')
    return feeds


def run_signature(request, interpreter):
    """Runs the signature that is asked for. Returns the number of its subgraph."""
    runner = in_stage("compile", interpreter.get_signature_runner, request["signature"])
    details = runner.get_input_details()
    feeds = find_inputs(request, details.values())
    in_stage("run", runner, **{key: feeds[one["name"]] for key, one in details.items()})
    return runner._subgraph_index  # no public name tells it


def capture(request):
    interpreter = in_stage("compile", open_model, request["model"], experimental_preserve_all_tensors=True)
    subgraph = 0
    if request.get("signature"):
        subgraph = run_signature(request, interpreter)
    else:
        run_with(interpreter, find_inputs(request, interpreter.get_input_details()))
    tensors, seen = [], set()
    for one in interpreter.get_tensor_details(subgraph):
        name, kind = one["name"], np.dtype(one["dtype"])
        if not name or name in seen or kind.kind not in "biuf":
            continue
        try:
            array = interpreter.get_tensor(one["index"], subgraph)
        except ValueError:  # it has no data, as a tensor that no operator made
            continue
        seen.add(name)
        path = Path(request["out"]) / f"{len(tensors)}.pb"
        in_stage("driver", write_tensor, path, name, array)
        few = kind in (np.int32, np.int64) and array.size <= FEW
        tensors.append({"name": name, "dtype": str(kind), "shape": list(array.shape), "file": str(path),
                        "values": [int(value) for value in array.ravel()] if few else None})  # fmt: skip
    return {"tensors": tensors}


if __name__ == "__main__":
    serve("litert", importlib.metadata.version("ai-edge-litert"), {"compile": compile_only, "run": run, "capture": capture})
