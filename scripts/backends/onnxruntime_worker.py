#!/usr/bin/env python3
"""A worker for ONNX Runtime (pip install onnxruntime onnx numpy): see worker.py.

It is the reference that other backends are compared with: unoptimised, one thread. "capture" runs a model
once with every tensor of its main graph as an output:

    -> {"op": "capture", "model": M, "out": FOLDER, "inputs": [{"name", "file"}], "given": null | PATH,
        "dims": {"N": 8}, "shapes": {"x": [1, 3, -1, -1]}, "values": {"sr": "16000"}, "seed": 0}
    <- {"ok": true, "tensors": [{"name", "dtype", "shape", "file", "values", "infinite_by_constants"}],
        "sizes": [{"input", "axis", "size", "why"}]}    of open dims of the inputs
    -> {"op": "convert", "model": M, "out": FILE, "opset": 17}    the model in a later opset
    -> {"op": "float", "model": M, "inputs": [{"name", "file"}], "outputs": [{"name", "file"}], "moved": 0,
        "rounded": [{"name", "file"}]}    "outputs": values of the main graph as the model has them without its
       QuantizeLinear and DequantizeLinear; "rounded": as it is. "moved": 1, 2, ...: each time on other inputs near these;
       with "drawn" on others as likely, for inputs that were random anyway

"given" is a .npz file or a folder of input_0.pb, ...; "values" are inputs of one element; other inputs are
random, from "seed", in sizes that "dims" and "shapes" give. The answer's "values" are the elements of an integer tensor of
at most 16, else null. "infinite_by_constants": it holds infinities that constants of the model bring in, as a mask of
attention does, and no NaN. Only tensors are listed.
"""

import os
import sys
from pathlib import Path

from worker import StageError, in_stage, packages, serve

with packages("onnxruntime onnx numpy"):
    import numpy as np
    import onnx
    import onnxruntime as ort

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ort_inputs import CannotRun, WrongUsage, find_inputs, read_data_set, sizes_taken, values_of_texts
from ort_values import UNOPTIMISED, Value, open_session, output_names, tensor_proto
from ort_values import run as run_session

FEW = 16
FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")


def compile_only(request):
    in_stage("compile", open_session, request["model"], UNOPTIMISED)


def read_proto(path):
    from ort_values import value_of_tensor

    with open(path, "rb") as file:
        return value_of_tensor(onnx.TensorProto.FromString(file.read()))


def write_value(path, name, value):
    content = value.content()
    with open(path, "wb") as file:
        file.write(tensor_proto(content, name).SerializeToString())
    return content


def run(request):
    session = in_stage("compile", open_session, request["model"], UNOPTIMISED)
    feeds = {one["name"]: in_stage("driver", read_proto, one["file"]) for one in request["inputs"]}
    ort.set_seed(request.get("seed", 0))
    made = in_stage("run", run_session, session, feeds, output_names(session))
    for one in request["outputs"]:
        in_stage("driver", write_value, one["file"], one["name"], made[one["name"]])


def with_all_outputs(path):
    """The model's bytes with every value of the main graph as an output."""
    model = onnx.load(path, load_external_data=False)
    known = {value.name for value in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                known.add(name)
                model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    return model.SerializeToString()


def bounds_of(quantizer, weights):
    """What a QuantizeLinear clips to, which may stand for a Relu; None where it has a range for each channel."""
    if len(quantizer.input) < 3 or any(name not in weights for name in quantizer.input[1:3]):
        return None
    scale, zero = (onnx.numpy_helper.to_array(weights[name]) for name in quantizer.input[1:3])
    if scale.size != 1 or zero.dtype.kind not in "iu":
        return None
    ends = np.iinfo(zero.dtype)
    return [scale.reshape(()) * np.array(end - int(zero), scale.dtype) for end in (ends.min, ends.max)]


def without_rounding(path, wanted):
    """The model's bytes, in which what is quantised and made a float again is only clipped; `wanted` are its outputs."""
    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    makers = {name: node for node in graph.node for name in node.output}
    weights = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        maker = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if maker is None or maker.op_type != "QuantizeLinear":
            continue
        bounds = bounds_of(maker, weights)
        names = [f"{node.output[0]}__{end}" for end in ("low", "high")] if bounds else []
        graph.initializer.extend(
            onnx.numpy_helper.from_array(bound.astype(bound.dtype), name) for bound, name in zip(bounds or [], names))
        node.CopyFrom(onnx.helper.make_node("Clip" if bounds else "Identity", [maker.input[0], *names], node.output,
                                            name=node.name))
    return with_outputs(model, wanted)


def with_outputs(model, wanted):
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in wanted)
    return model.SerializeToString()


def moved(feeds, seed, are_drawn):
    """The inputs, each float of them up to 2% larger or smaller: less than the noise of what is measured, and about a step of
    8 bits, so that other values are near a tie. Inputs that were drawn also have their floats in another order: near one
    input runs say much the same."""
    random, made = np.random.default_rng(seed), dict(feeds)
    for name, value in feeds.items():
        if is_tensor(value) and value.kept.data_type() in FLOATS:
            array = value.plain()
            if are_drawn:
                array = random.permutation(array.ravel()).reshape(array.shape)
            made[name] = Value.of_array((array * random.uniform(0.98, 1.02, array.shape)).astype(array.dtype))
    if all(made[name] is value for name, value in feeds.items()):
        raise StageError("inputs", "no input is of floats")
    return made


def run_in_floats(request):
    path = request["model"]
    feeds = {one["name"]: in_stage("driver", read_proto, one["file"]) for one in request["inputs"]}
    if request.get("moved"):
        feeds = moved(feeds, request["moved"], request.get("drawn", False))
    for key in ("outputs", "rounded"):
        files = {one["name"]: one["file"] for one in request.get(key, [])}
        wanted = [name for name in files if name not in feeds]
        made = {name: value for name, value in feeds.items() if name in files}
        if wanted:
            model = (without_rounding(path, wanted) if key == "outputs" else
                     with_outputs(onnx.load(path, load_external_data=False), wanted))
            session = in_stage("compile", open_session, model, UNOPTIMISED, Path(path).resolve().parent)
            made |= in_stage("run", run_session, session, feeds, wanted)
        for name, file in files.items():
            in_stage("driver", write_value, file, name, made[name])


def given_inputs(request):
    given = request.get("given")
    if not given:
        return {}
    if os.path.isdir(given):
        return read_data_set(Path(given), request["model"])
    with np.load(given) as arrays:
        return {name: Value.of_array(arrays[name]) for name in arrays.files}


def describe(value, name, path, is_by_constants):
    kind, shape, _ = write_value(path, name, value)
    entry = {"name": name, "dtype": kind, "shape": list(shape), "file": str(path), "values": None,
             "infinite_by_constants": is_by_constants}
    if kind in ("tensor(int32)", "tensor(int64)") and int(np.prod(shape)) <= FEW:
        entry["values"] = [int(one) for one in value.plain().ravel()]
    return entry


def is_tensor(value):
    return value.kept is not None and value.kept.is_tensor()


def inputs_for(request, given, is_positive=False):
    try:
        return find_inputs(
            request["model"], given, request.get("dims", {}), request.get("seed", 0), request.get("shapes", {}),
            is_positive=is_positive,
        )[0]
    except WrongUsage as error:
        raise StageError("inputs", error) from error
    except CannotRun as error:
        raise StageError("run", error) from error


def not_finite(made):
    """Names of tensors of numpy's floats of which some element is NaN or infinite: with NaN, and with infinities only."""
    with_nan, infinite = set(), set()
    for name, value in made.items():
        if not is_tensor(value) or value.kept.data_type() not in FLOATS:
            continue
        array = value.kept.numpy()
        if not np.isfinite(array).all():
            (with_nan if np.isnan(array).any() else infinite).add(name)
    return with_nan, infinite


def infinite_by_constants(path, infinite):
    """Of the tensors that hold infinities those that have them from constants of the model, as from a mask of -inf."""
    if not infinite:
        return set()
    model = onnx.load(path)
    weights = {one.name: one for one in model.graph.initializer}
    constants, found = set(weights), set()

    def is_infinite_weight(name):
        weight = weights.get(name)
        return weight is not None and bool(np.isinf(onnx.numpy_helper.to_array(weight)).any())

    for node in model.graph.node:  # in the order of the runs
        given = [name for name in node.input if name]
        is_constant = node.op_type in ("Constant", "ConstantOfShape") or (given and all(name in constants for name in given))
        if is_constant and not any(attribute.type == onnx.AttributeProto.GRAPH for attribute in node.attribute):
            constants.update(node.output)
            found.update(name for name in node.output if name in infinite)
        elif any(name in infinite for name in node.output):
            is_brought = any(name in found for name in given) or any(is_infinite_weight(name) for name in given)
            found.update(name for name in node.output if is_brought and name in infinite)
    return found


def capture(request):
    try:
        given = {**values_of_texts(request["model"], request.get("values", {})), **given_inputs(request)}
    except WrongUsage as error:
        raise StageError("inputs", error) from error
    except CannotRun as error:
        raise StageError("run", error) from error
    feeds = inputs_for(request, given)
    folder = Path(request["out"])
    session = in_stage(
        "compile", open_session, with_all_outputs(request["model"]), UNOPTIMISED,
        Path(request["model"]).resolve().parent,
    )

    def run_all(inputs):
        ort.set_seed(request.get("seed", 0))
        return in_stage("run", run_session, session, inputs, output_names(session))

    def odd_ones(values):
        """How many tensors hold what the inputs brought in, and those whose infinities are right."""
        with_nan, infinite = not_finite(values)
        right = infinite_by_constants(request["model"], infinite)
        return len(with_nan) + len(infinite - right), right

    made = run_all(feeds)
    odd, right = odd_ones(made)
    # Where the drawn numbers make NaN, as the logarithm of a negative one is, those above 0 may make none.
    if odd > 0 and not all(name in given for name in feeds):
        try:
            others = inputs_for(request, given, is_positive=True)
            made_of_others = run_all(others)
        except StageError:
            made_of_others = None
        if made_of_others is not None:
            less, right_there = odd_ones(made_of_others)
            if less < odd:
                feeds, made, right = others, made_of_others, right_there
    tensors = []
    for name, value in {**feeds, **made}.items():
        if is_tensor(value):
            tensors.append(describe(value, name, folder / f"{len(tensors)}.pb", name in right))
    shapes = {tensor["name"]: tensor["shape"] for tensor in tensors if tensor["name"] in feeds}
    sizes = sizes_taken(request["model"], shapes, given, request.get("dims", {}), request.get("shapes", {}))
    return {"tensors": tensors, "sizes": sizes}


def convert(request):
    from onnx import shape_inference, version_converter

    model = in_stage("driver", onnx.load, request["model"])
    converted = in_stage("convert", version_converter.convert_version, model, request["opset"])
    inferred = in_stage("convert", shape_inference.infer_shapes, converted)
    in_stage("driver", onnx.save, inferred, request["out"])


if __name__ == "__main__":
    ort.set_default_logger_severity(4)
    serve(
        "onnxruntime",
        ort.__version__,
        {"compile": compile_only, "run": run, "capture": capture, "convert": convert, "float": run_in_floats},
    )
