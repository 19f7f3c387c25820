#!/usr/bin/env python3
"""A worker of a compiler that takes pieces up to a size, for tests of `cleave lower`.

usage: limited_backend.py KIND LIMIT [mute] [op=X]

    KIND    weights, acts, tensor (bytes), axis (elements), nodes, inputs, outputs
    mute    its message has no numbers
    op=X    it refuses each op X, with the same message when it is mute

Activations are what a run holds at once: inputs and outputs of the piece, and other values from the node that makes
them to the last that reads them.
"""
import sys
from pathlib import Path

import onnx
from onnx import shape_inference

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts" / "backends"))
from worker import StageError, serve

SIZES = {onnx.TensorProto.FLOAT: 4, onnx.TensorProto.INT64: 8, onnx.TensorProto.INT32: 4, onnx.TensorProto.DOUBLE: 8}


def with_weights(model):
    """Constant nodes are weights, too."""
    nodes = list(model.graph.node)
    del model.graph.node[:]
    for node in nodes:
        if node.op_type != "Constant":
            model.graph.node.append(node)
            continue
        tensor = model.graph.initializer.add()
        tensor.CopyFrom(node.attribute[0].t)
        tensor.name = node.output[0]
    return model


def dims_and_bytes(model):
    """By value: its dims, and its bytes."""
    graph = shape_inference.infer_shapes(model).graph
    known = {}
    for value in [*graph.value_info, *graph.input, *graph.output]:
        kind = value.type.tensor_type
        known[value.name] = ([dim.dim_value for dim in kind.shape.dim], SIZES.get(kind.elem_type, 1))
    for tensor in graph.initializer:
        known[tensor.name] = (list(tensor.dims), SIZES.get(tensor.data_type, 1))
    result = {}
    for name, (dims, size) in known.items():
        for dim in dims:
            size *= dim
        result[name] = (dims, size)
    return result


def held_at_once(graph, weights, known):
    border = {value.name for value in [*graph.input, *graph.output]} - weights
    always = sum(known[name][1] for name in border)
    last = {name: i for i, node in enumerate(graph.node) for name in node.input}
    most, held = 0, {}
    for i, node in enumerate(graph.node):
        for name in node.output:
            if name and name not in border:
                held[name] = known[name][1]
        most = max(most, sum(held.values()))
        held = {name: size for name, size in held.items() if last.get(name, i) > i}
    return always + most


def size_of(kind, model):
    graph, known = model.graph, dims_and_bytes(model)
    weights = {tensor.name for tensor in graph.initializer}
    return {
        "nodes": lambda: len(graph.node),
        "inputs": lambda: len({value.name for value in graph.input} - weights),
        "outputs": lambda: len(graph.output),
        "weights": lambda: sum(known[name][1] for name in weights),
        "acts": lambda: held_at_once(graph, weights, known),
        "tensor": lambda: max(size for _, size in known.values()),
        "axis": lambda: max(max(dims, default=0) for dims, _ in known.values()),
    }[kind]()


def main():
    kind, limit, *more = sys.argv[1:]
    is_mute = "mute" in more
    refused = {word[3:] for word in more if word.startswith("op=")}

    def compile_piece(request):
        model = with_weights(onnx.load(request["model"]))
        size = size_of(kind, model)
        bad = next((node for node in model.graph.node if node.op_type in refused), None)
        if bad is None and size <= int(limit):
            return
        said = f"unsupported op {bad.op_type}" if bad else f"error: allocation of {size} for {kind} exceeds {limit}"
        raise StageError("compile", "error: finalize failed" if is_mute else said)

    serve("limited", "1", {"compile": compile_piece})


if __name__ == "__main__":
    main()
