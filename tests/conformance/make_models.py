#!/usr/bin/env python3
"""Makes larger ONNX models of the kinds that exporters make, with random (seeded) weights.

usage: make_models.py FOLDER [--layers N]

transformer.onnx   dynamic batch and time, weights in an external file, a model-local function for each
                   feed-forward block, shapes computed from shapes (Shape, Gather, Concat, Reshape)
decoder.onnx       a Loop over steps whose body holds an If, both reading outer values; weights shared
                   through Identity nodes; a scan output
recurrent.onnx     a Scan whose body reads outer weights, then an LSTM with omitted optional inputs
detector.onnx      convolutions, Resize with constant sizes, NonMaxSuppression, dims that depend on data,
                   a sequence built and taken apart
quantized.onnx     QuantizeLinear and DequantizeLinear around convolutions, per channel

For run_conformance.py, which takes the folder. N layers (12) are those of each model.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
WIDTH = 64


class Maker:
    """A graph in the making: nodes and weights, named as they come."""

    def __init__(self, seed, prefix=""):
        self.nodes, self.weights, self.prefix = [], [], prefix
        self.random, self.count = np.random.default_rng(seed), 0

    def name(self, hint):
        self.count += 1
        return f"{self.prefix}{hint}_{self.count}"

    def weight(self, *dims):
        data = self.random.standard_normal(dims, np.float32) / np.float32(max(dims[-1], 1) ** 0.5)
        return self.array(data)

    def array(self, data, dtype=None):
        name = self.name("w")
        self.weights.append(numpy_helper.from_array(np.asarray(data, dtype), name))
        return name

    def ints(self, *numbers):
        return self.array(numbers, np.int64)

    def op(self, kind, *inputs, out=None, domain="", **attributes):
        out = out or self.name(kind.lower())
        node = helper.make_node(kind, inputs, [out], name=f"{out}_node", domain=domain, **attributes)
        self.nodes.append(node)
        return out

    def graph(self, name, inputs, outputs):
        return helper.make_graph(self.nodes, name, inputs, outputs, self.weights)


def value(name, dtype, *dims):
    return helper.make_tensor_value_info(name, dtype, dims)


def make_model(graph, opset=20, domains=(), functions=()):
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=list(functions))


# ---- transformer ----


def feed_forward_function():
    nodes = [
        helper.make_node("MatMul", ["x", "up"], ["h"]),
        helper.make_node("Gelu", ["h"], ["g"], approximate="tanh"),
        helper.make_node("MatMul", ["g", "down"], ["d"]),
        helper.make_node("Add", ["x", "d"], ["y"]),
    ]
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_function("local", "FeedForward", ["x", "up", "down"], ["y"], nodes, opsets)


def split_heads(m, x, batch, time, heads):
    shape = m.op("Concat", batch, time, m.ints(heads), m.ints(WIDTH // heads), axis=0)
    return m.op("Transpose", m.op("Reshape", x, shape), perm=[0, 2, 1, 3])


def attention(m, x, heads=4):
    shape = m.op("Shape", x)
    batch = m.op("Unsqueeze", m.op("Gather", shape, m.array(0, np.int64)), m.ints(0))
    time = m.op("Slice", shape, m.ints(1), m.ints(2))
    q, k, v = (split_heads(m, m.op("MatMul", x, m.weight(WIDTH, WIDTH)), batch, time, heads) for _ in "qkv")
    scores = m.op("MatMul", q, m.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = m.op("Div", scores, m.array((WIDTH / heads) ** 0.5, np.float32))
    mixed = m.op("MatMul", m.op("Softmax", scores, axis=-1), v)
    flat = m.op("Concat", batch, time, m.ints(-1), axis=0)
    merged = m.op("Reshape", m.op("Transpose", mixed, perm=[0, 2, 1, 3]), flat)
    return m.op("Add", x, m.op("MatMul", merged, m.weight(WIDTH, WIDTH)))


def transformer(layers):
    m = Maker(1)
    x = m.op("Gather", m.weight(100, WIDTH), "tokens")
    for _ in range(layers):
        scale, bias = m.array(np.ones(WIDTH, np.float32)), m.array(np.zeros(WIDTH, np.float32))
        x = attention(m, m.op("LayerNormalization", x, scale, bias))
        x = m.op("FeedForward", x, m.weight(WIDTH, 4 * WIDTH), m.weight(4 * WIDTH, WIDTH), domain="local")
    m.op("MatMul", x, m.weight(WIDTH, 100), out="logits")
    graph = m.graph("transformer", [value("tokens", INT64, "B", "T")], [value("logits", FLOAT, "B", "T", 100)])
    return make_model(graph, domains=["local"], functions=[feed_forward_function()])


# ---- control flow ----


def branch(name, kind, *inputs):
    made = f"{name}_out"
    node = helper.make_node(kind, inputs, [made])
    return helper.make_graph([node], name, [], [value(made, FLOAT, 1, WIDTH)])


def decoder_body(tied, layers):
    m = Maker(3, "body_")
    h = "state"
    for i in range(layers):
        h = m.op("Tanh", m.op("MatMul", h, tied[i % len(tied)]))
    even = m.op("Equal", m.op("Mod", "i", m.array(2, np.int64)), m.array(0, np.int64))
    h = m.op("If", even, then_branch=branch("even", "Add", h, "memory"),
             else_branch=branch("odd", "Sub", h, "memory"))
    m.op("Identity", h, out="next")
    m.op("Identity", h, out="step")
    m.op("Identity", "go", out="go_on")
    inputs = [value("i", INT64), value("go", BOOL), value("state", FLOAT, 1, WIDTH)]
    outputs = [value("go_on", BOOL), value("next", FLOAT, 1, WIDTH), value("step", FLOAT, 1, WIDTH)]
    return m.graph("body", inputs, outputs)


def decoder(layers):
    m = Maker(2)
    shared = m.weight(WIDTH, WIDTH)
    tied = [m.op("Identity", shared) for _ in range(3)]
    m.op("Relu", m.op("MatMul", "x", tied[0]), out="memory")
    steps = m.array(5, np.int64)
    loop = helper.make_node("Loop", [steps, "", "x"], ["last", "all"], name="loop",
                            body=decoder_body(tied, layers))
    m.nodes.append(loop)
    m.op("ReduceMean", "all", m.ints(0), out="mean", keepdims=0)
    m.op("Add", m.op("MatMul", "last", tied[1]), "mean", out="y")
    outputs = [value("y", FLOAT, 1, WIDTH), value("all", FLOAT, "steps", 1, WIDTH)]
    return make_model(m.graph("decoder", [value("x", FLOAT, 1, WIDTH)], outputs))


def recurrent(layers):
    m = Maker(4)
    x = "x"
    weights = [m.weight(WIDTH, WIDTH) for _ in range(layers)]
    for i, weight in enumerate(weights):
        body = Maker(5, f"scan{i}_")
        mixed = body.op("Tanh", body.op("Add", body.op("MatMul", f"h{i}", weight), f"e{i}"))
        body.op("Identity", mixed, out=f"h_next{i}")
        body.op("Relu", mixed, out=f"o{i}")
        inputs = [value(name, FLOAT, "B", WIDTH) for name in (f"h{i}", f"e{i}")]
        outputs = [value(name, FLOAT, "B", WIDTH) for name in (f"h_next{i}", f"o{i}")]
        graph = body.graph(f"scan{i}", inputs, outputs)
        node = helper.make_node("Scan", ["start", x], [f"end{i}", f"seq{i}"], name=f"scan_{i}",
                                body=graph, num_scan_inputs=1)
        m.nodes.append(node)
        x = f"seq{i}"
    w, r = m.weight(1, 4 * 8, WIDTH), m.weight(1, 4 * 8, 8)
    m.nodes.append(helper.make_node("LSTM", [x, w, r, "", "", "", ""], ["", "y"], hidden_size=8))
    inputs = [value("x", FLOAT, "T", "B", WIDTH), value("start", FLOAT, "B", WIDTH)]
    return make_model(m.graph("recurrent", inputs, [value("y", FLOAT, 1, "B", 8)]))


# ---- vision ----


def convolution(m, x, channels_in, channels_out, **attributes):
    weight = m.weight(channels_out, channels_in, 3, 3)
    return m.op("Conv", x, weight, pads=[1, 1, 1, 1], **attributes)


def detector(layers):
    m = Maker(6)
    x = m.op("Relu", convolution(m, "image", 3, 8))
    for _ in range(layers):
        x = m.op("Add", x, m.op("Relu", convolution(m, x, 8, 8)))
    half = m.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    grown = m.op("Resize", half, "", m.array([1, 1, 2, 2], np.float32), mode="nearest")
    both = m.op("SequenceConstruct", x, grown)
    x = m.op("ConcatFromSequence", both, axis=1)
    flat = m.op("Reshape", convolution(m, x, 16, 5), m.ints(1, 5, -1))
    corner = m.op("Slice", flat, m.ints(0), m.ints(2), m.ints(1))
    size = m.op("Exp", m.op("Slice", flat, m.ints(2), m.ints(4), m.ints(1)))
    boxes = m.op("Transpose", m.op("Concat", corner, m.op("Add", corner, size), axis=1), perm=[0, 2, 1])
    scores = m.op("Sigmoid", m.op("Slice", flat, m.ints(4), m.ints(5), m.ints(1)))
    most, overlap = m.ints(20), m.array([0.5], np.float32)
    chosen = m.op("NonMaxSuppression", boxes, scores, most, overlap, m.array([0.4], np.float32))
    places = m.op("Squeeze", m.op("Slice", chosen, m.ints(2), m.ints(3), m.ints(1)), m.ints(1))
    m.op("Gather", m.op("Squeeze", boxes, m.ints(0)), places, out="boxes", axis=0)
    return make_model(m.graph("detector", [value("image", FLOAT, 1, 3, 16, 16)], [value("boxes", FLOAT, "K", 4)]))


def quantized(layers):
    m = Maker(7)
    x = "x"
    scale, zero = m.array(0.05, np.float32), m.array(128, np.uint8)
    for _ in range(layers):
        scales = m.array(m.random.uniform(0.01, 0.02, 8), np.float32)
        zeros, data = m.array(np.zeros(8), np.int8), m.array(m.random.integers(-99, 99, (8, 8, 3, 3)), np.int8)
        weight = m.op("DequantizeLinear", data, scales, zeros, axis=0)
        x = m.op("DequantizeLinear", m.op("QuantizeLinear", x, scale, zero), scale, zero)
        x = m.op("Relu", m.op("Conv", x, weight, pads=[1, 1, 1, 1]))
    m.op("DequantizeLinear", m.op("QuantizeLinear", x, scale, zero), scale, zero, out="y")
    return make_model(m.graph("quantized", [value("x", FLOAT, "N", 8, 8, 8)], [value("y", FLOAT, "N", 8, 8, 8)]))


MODELS = [transformer, decoder, recurrent, detector, quantized]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=12)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for make in MODELS:
        model, path = make(asked.layers), asked.folder / f"{make.__name__}.onnx"
        outside = make is transformer
        (asked.folder / f"{path.name}.data").unlink(missing_ok=True)
        onnx.save(model, path, save_as_external_data=outside, location=f"{path.name}.data", size_threshold=1024)
        print(f"{path.name}: {len(model.graph.node)} nodes, {len(model.graph.initializer)} weights")


if __name__ == "__main__":
    main()
