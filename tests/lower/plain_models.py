#!/usr/bin/env python3
"""Writes small ONNX models of operators that plain_values.py computes, with the standard library alone.

usage: plain_models.py FOLDER
"""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hostile"))
import protobuf as pb

FLOAT, UINT8, INT64 = 1, 2, 7


def chain(ops, dims=(2, 3), opset=17, last=None):
    """One-input operators, one after the other: nodes n0, n1, ... from v0."""
    nodes = [pb.node(op, [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i, op in enumerate(ops)]
    graph = pb.graph(nodes, [pb.value("v0", dims)], [pb.value(f"v{len(ops)}", dims if last is None else last)])
    return pb.model(graph, versions={"": opset})


def floats(name, numbers):
    return pb.tensor(name, [len(numbers)], struct.pack(f"<{len(numbers)}f", *numbers))


def integers(name, numbers):
    return pb.tensor(name, [len(numbers)], struct.pack(f"<{len(numbers)}q", *numbers), INT64)


def scalar(name, number, dtype=FLOAT):
    return pb.tensor(name, [], struct.pack("<f" if dtype == FLOAT else "<B", number), dtype)


def quantised():
    """Between quantised values, a Relu and a Neg that stand each between a DequantizeLinear and a QuantizeLinear."""
    with_scale = ["scale", "zero"]
    nodes = [
        pb.node("QuantizeLinear", ["x", *with_scale], ["q0"], "q0"),
        pb.node("DequantizeLinear", ["q0", *with_scale], ["d0"], "d0"),
        pb.node("Relu", ["d0"], ["r"], "relu"),
        pb.node("QuantizeLinear", ["r", *with_scale], ["q1"], "q1"),
        pb.node("DequantizeLinear", ["q1", *with_scale], ["d1"], "d1"),
        pb.node("Neg", ["d1"], ["n"], "neg"),
        pb.node("QuantizeLinear", ["n", *with_scale], ["q2"], "q2"),
        pb.node("DequantizeLinear", ["q2", *with_scale], ["y"], "d2"),
    ]
    tensors = [scalar("scale", 0.25), scalar("zero", 128, UINT8)]
    return pb.model(pb.graph(nodes, [pb.value("x", (4, 5))], [pb.value("y", (4, 5))], tensors))


def ties():
    """The indices of the largest of each row, in which some are equal."""
    nodes = [pb.node("Floor", ["x"], ["r"], "floor"),
             pb.node("ArgMax", ["r"], ["y"], "argmax", pb.int_attribute("axis", 1) + pb.int_attribute("keepdims", 0))]
    return pb.model(pb.graph(nodes, [pb.value("x", (4, 6))], [pb.value("y", (4,), INT64)]))


def branches(width):
    """Several chains of one input: every output has another name, and other values."""
    nodes = []
    for i in range(width):
        nodes += [pb.node("Add", ["x", f"by{i}"], [f"a{i}"], f"add{i}"), pb.node("Abs", [f"a{i}"], [f"y{i}"], f"abs{i}")]
    tensors = [floats(f"by{i}", [float(i + 1)]) for i in range(width)]
    return pb.model(pb.graph(nodes, [pb.value("x", (2, 3))], [pb.value(f"y{i}", (2, 3)) for i in range(width)], tensors))


def infinite():
    """A reciprocal of 0, then operators that read it."""
    nodes = [pb.node("Relu", ["x"], ["r"], "relu"), pb.node("Reciprocal", ["r"], ["i"], "reciprocal"),
             pb.node("Neg", ["i"], ["n"], "neg"), pb.node("Abs", ["n"], ["y"], "abs")]
    return pb.model(pb.graph(nodes, [pb.value("x", (2, 3)), pb.value("level", (1,))],
                             [pb.value("y", (2, 3))]))


def known(first):
    """Beside two other operators, a Shape and its copy, which are known before the model runs."""
    nodes = [pb.node("Shape", ["z"], ["s"], "shape"), pb.node("Identity", ["s"], ["t"], "copy"),
             pb.node("Sqrt", ["x"], ["q"], "sqrt"), pb.node("Reshape", ["q", "t"], ["y"], "reshape")]
    return pb.model(pb.graph(nodes, [pb.value("x", (first, 3)), pb.value("z")], [pb.value("y")]))


MODELS = {
    "chain": lambda: chain(["Relu", "Neg", "Abs", "Sqrt", "Neg", "Relu", "Abs"]),
    "twice": lambda: chain(["Relu", "Sqrt", "Neg", "Sqrt", "Abs"]),
    "ends": lambda: chain(["Floor", "Relu", "Neg", "Abs", "Sqrt"]),
    "short": lambda: chain(["Relu", "Neg", "Abs"]),
    "long": lambda: chain(["Relu"] * 20 + ["Sqrt"] + ["Neg", "Abs"] * 10),
    "open": lambda: chain(["Relu", "Neg", "Abs", "Sqrt", "Floor"], dims=("n", 3)),
    "old": lambda: chain(["Relu", "Neg", "Abs"], opset=12),
    "quantised": quantised,
    "ties": ties,
    "branches": lambda: branches(3),
    "wide": lambda: branches(10),
    "infinite": infinite,
    "known": lambda: known(2),
    "open_known": lambda: known("n"),
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        (folder / f"{name}.onnx").write_bytes(make())


if __name__ == "__main__":
    main()
