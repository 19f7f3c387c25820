#!/usr/bin/env python3
"""Writes samples/keyword.tflite, a small model that listens for four words: quantised, streaming, with state.

Each call takes 16 features of 10 ms of sound. A variable keeps those of the three calls before; a convolution over
the four, a dense layer and a softmax follow. Weights are random numbers of a fixed seed, so that the file is always
the same. Needs ai-edge-litert and flatbuffers, for the classes of the schema.

usage: make_tflite_sample.py [FILE]      default: samples/keyword.tflite
"""
import sys
from pathlib import Path

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

FEATURES, CALLS, FILTERS, WORDS = 16, 4, 8, 4
OPS, TYPES = schema.BuiltinOperator, schema.TensorType
NUMPY = {np.dtype(np.int8): TYPES.INT8, np.dtype(np.int32): TYPES.INT32, np.dtype(np.float32): TYPES.FLOAT32}


class Graph:
    """A subgraph that is being written."""

    def __init__(self, maker, name):
        self.maker, self.made = maker, schema.SubGraphT()
        self.made.name, self.made.tensors, self.made.operators = name.encode(), [], []
        self.made.inputs, self.made.outputs = [], []

    def tensor(self, name, shape, kind, scale=None, zero=0, data=None):
        one = schema.TensorT()
        one.name, one.shape, one.type, one.hasRank = name.encode(), list(shape), kind, True
        one.buffer = self.maker.buffer(data)
        if scale is not None:
            one.quantization = schema.QuantizationParametersT()
            one.quantization.scale = np.atleast_1d(np.array(scale, np.float32)).tolist()
            one.quantization.zeroPoint = [zero] * len(one.quantization.scale)
        self.made.tensors.append(one)
        return len(self.made.tensors) - 1

    def constant(self, name, values, scale=None):
        values = np.asarray(values)
        return self.tensor(name, values.shape, NUMPY[values.dtype], scale, data=values)

    def add(self, code, inputs, outputs, options=None, version=1, **fields):
        one = schema.OperatorT()
        one.opcodeIndex, one.inputs, one.outputs = self.maker.code(code, version), inputs, outputs
        if options:
            one.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            one.builtinOptions = getattr(schema, options + "T")()
            for name, value in fields.items():
                setattr(one.builtinOptions, name, value)
        self.made.operators.append(one)


class Maker:
    def __init__(self):
        self.model = schema.ModelT()
        self.model.version, self.model.description = 3, b"a sample of cleave"
        self.model.buffers, self.model.operatorCodes, self.codes = [schema.BufferT()], [], {}
        self.model.subgraphs, self.model.signatureDefs = [], []

    def buffer(self, data):
        if data is None:
            return 0
        one = schema.BufferT()
        one.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
        self.model.buffers.append(one)
        return len(self.model.buffers) - 1

    def code(self, number, version):
        if (number, version) not in self.codes:
            one = schema.OperatorCodeT()
            one.builtinCode, one.deprecatedBuiltinCode, one.version = number, min(number, 127), version
            self.codes[number, version] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(one)
        return self.codes[number, version]

    def subgraph(self, name):
        graph = Graph(self, name)
        self.model.subgraphs.append(graph.made)
        return graph

    def sign(self, inputs, outputs):
        one = schema.SignatureDefT()
        one.signatureKey, one.subgraphIndex, one.inputs, one.outputs = b"serving_default", 0, [], []
        for listed, pairs in ((one.inputs, inputs), (one.outputs, outputs)):
            for name, tensor in pairs:
                row = schema.TensorMapT()
                row.name, row.tensorIndex = name, tensor
                listed.append(row)
        self.model.signatureDefs.append(one)

    def bytes(self):
        builder = flatbuffers.Builder(4096)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def add_handle(graph):
    handle = graph.tensor("frames", [], TYPES.RESOURCE)
    graph.add(OPS.VAR_HANDLE, [], [handle], "VarHandleOptions", container=b"", sharedName=b"frames")
    return handle


def fill_main(graph, numbers):
    scale = 1 / 127
    sound = graph.tensor("sound", [1, FEATURES], TYPES.FLOAT32)
    graph.add(OPS.CALL_ONCE, [], [], "CallOnceOptions", initSubgraphIndex=1)
    handle = add_handle(graph)
    before = graph.tensor("stream/before", [1, CALLS - 1, FEATURES, 1], TYPES.INT8, scale)
    graph.add(OPS.READ_VARIABLE, [handle], [before])
    quantised = graph.tensor("quantize", [1, FEATURES], TYPES.INT8, scale)
    graph.add(OPS.QUANTIZE, [sound], [quantised])
    frame = graph.tensor("stream/frame", [1, 1, FEATURES, 1], TYPES.INT8, scale)
    shape = graph.constant("stream/shape", np.array([1, 1, FEATURES, 1], np.int32))
    graph.add(OPS.RESHAPE, [quantised, shape], [frame], "ReshapeOptions", newShape=[1, 1, FEATURES, 1])
    frames = graph.tensor("stream/frames", [1, CALLS, FEATURES, 1], TYPES.INT8, scale)
    graph.add(OPS.CONCATENATION, [before, frame], [frames], "ConcatenationOptions", axis=1)
    newest = graph.tensor("stream/newest", [1, CALLS - 1, FEATURES, 1], TYPES.INT8, scale)
    corners = [graph.constant(f"stream/{name}", np.array(values, np.int32)) for name, values in
               (("begin", [0, 1, 0, 0]), ("end", [1, CALLS, FEATURES, 1]), ("strides", [1, 1, 1, 1]))]
    graph.add(OPS.STRIDED_SLICE, [frames, *corners], [newest], "StridedSliceOptions")
    graph.add(OPS.ASSIGN_VARIABLE, [handle, newest], [])
    scales = [0.01 + 0.001 * i for i in range(FILTERS)]
    weight = graph.constant("net/conv/weight", numbers.integers(-127, 128, (FILTERS, CALLS, 3, 1)).astype(np.int8),
                            scales)
    bias = graph.constant("net/conv/bias", numbers.integers(-99, 99, FILTERS).astype(np.int32),
                          [scale * s for s in scales])
    conv = graph.tensor("net/conv/Relu", [1, 1, FEATURES - 2, FILTERS], TYPES.INT8, 0.05, -128)
    graph.add(OPS.CONV_2D, [frames, weight, bias], [conv], "Conv2DOptions", version=3,
              padding=schema.Padding.VALID, strideW=1, strideH=1,
              fusedActivationFunction=schema.ActivationFunctionType.RELU)
    pooled = graph.tensor("net/pool", [1, 1, 7, FILTERS], TYPES.INT8, 0.05, -128)
    graph.add(OPS.MAX_POOL_2D, [conv], [pooled], "Pool2DOptions", version=2, padding=schema.Padding.VALID,
              strideW=2, strideH=1, filterWidth=2, filterHeight=1)
    dense_weight = graph.constant("net/dense/weight",
                                  numbers.integers(-127, 128, (WORDS, 7 * FILTERS)).astype(np.int8), 0.01)
    dense_bias = graph.constant("net/dense/bias", numbers.integers(-99, 99, WORDS).astype(np.int32), 0.05 * 0.01)
    scores = graph.tensor("net/dense", [1, WORDS], TYPES.INT8, 0.1)
    graph.add(OPS.FULLY_CONNECTED, [pooled, dense_weight, dense_bias], [scores], "FullyConnectedOptions", version=4)
    real = graph.tensor("dequantize", [1, WORDS], TYPES.FLOAT32)
    graph.add(OPS.DEQUANTIZE, [scores], [real], version=2)
    words = graph.tensor("words", [1, WORDS], TYPES.FLOAT32)
    graph.add(OPS.SOFTMAX, [real], [words], "SoftmaxOptions", beta=1.0)
    graph.made.inputs, graph.made.outputs = [sound], [words]
    return sound, words


def fill_init(graph):
    handle = add_handle(graph)
    silence = graph.constant("silence", np.zeros((1, CALLS - 1, FEATURES, 1), np.int8), 1 / 127)
    graph.add(OPS.ASSIGN_VARIABLE, [handle, silence], [])


def main():
    default = Path(__file__).resolve().parent.parent.parent / "samples" / "keyword.tflite"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    maker = Maker()
    sound, words = fill_main(maker.subgraph("main"), np.random.default_rng(7))
    fill_init(maker.subgraph("init"))
    maker.sign([(b"sound", sound)], [(b"words", words)])
    path.write_bytes(maker.bytes())
    print(f"{path.stat().st_size} bytes in {path}")


if __name__ == "__main__":
    main()
