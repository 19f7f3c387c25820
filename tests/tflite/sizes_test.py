#!/usr/bin/env python3
"""Compares the sizes that cleave finds in TensorFlow Lite models with those of LiteRT's tensors, after it ran the model.

usage: sizes_test.py CLEAVE [MODEL...]      without models: one that computes its sizes, as BirdNET does, at three sizes

Inputs are bound as the file has them, their first axis also to 3. A size that cleave does not know counts as such, a known
one that differs as wrong. Exit status 1 where one is wrong, or where the made model has an unknown one; 77 when
ai-edge-litert is not there.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import flatbuffers
    import numpy
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

INT32, FLOAT32 = 2, 0


class Maker:
    """A model as converters write it: open sizes are 1 in the shape, and -1 in its signature."""

    def __init__(self):
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.subgraphs = 3, [self.graph]
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.graph.tensors, self.graph.operators = [], []

    def tensor(self, name, dims, dtype=FLOAT32, data=None):
        tensor = schema.TensorT()
        tensor.name, tensor.type, tensor.buffer = name, dtype, 0
        tensor.shape = [1 if size < 0 else size for size in dims]
        if any(size < 0 for size in dims):
            tensor.shapeSignature = list(dims)
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = list(numpy.asarray(data, "<f4" if dtype == FLOAT32 else "<i4").tobytes())
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def ints(self, *values):
        return self.tensor(f"const{len(self.graph.tensors)}", [len(values)], INT32, values)

    def scalar(self, value):
        return self.tensor(f"const{len(self.graph.tensors)}", [], INT32, [value])

    def op(self, name, inputs, dims, dtype=FLOAT32, options=None, **fields):
        """Adds an operator with one output, and returns that."""
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, name)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
        self.model.operatorCodes.append(code)
        op = schema.OperatorT()
        op.opcodeIndex, op.inputs = len(self.model.operatorCodes) - 1, list(inputs)
        op.outputs = [self.tensor(f"{name.lower()}{len(self.graph.tensors)}", dims, dtype)]
        if options:
            op.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            op.builtinOptions = getattr(schema, options + "T")()
            for field, value in fields.items():
                setattr(op.builtinOptions, field, value)
        self.graph.operators.append(op)
        return op.outputs[0]

    def bytes(self, inputs, outputs):
        self.graph.inputs, self.graph.outputs = inputs, outputs
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def computed_sizes():
    """Frames of a signal as tf.signal.frame makes them, a spectrum, a picture of it, convolutions."""
    make = Maker()
    audio = make.tensor("audio", [-1, 640])
    slice_options = {"options": "StridedSliceOptions", "shrinkAxisMask": 1}
    shape = make.op("SHAPE", [audio], [2], INT32, "ShapeOptions", outType=INT32)
    batch = make.op("STRIDED_SLICE", [shape, make.ints(0), make.ints(1), make.ints(1)], [], INT32, **slice_options)
    length = make.op("STRIDED_SLICE", [shape, make.ints(1), make.ints(2), make.ints(1)], [], INT32, **slice_options)
    blocks = make.op("FLOOR_DIV", [length, make.scalar(32)], [], INT32)
    to = make.op("PACK", [batch, blocks, make.scalar(32)], [3], INT32, "PackOptions", valuesCount=3)
    cut = make.op("RESHAPE", [audio, to], [-1, -1, 32])
    last = make.op("SUB", [blocks, make.scalar(1)], [], INT32, "SubOptions")
    frames = make.op("RANGE", [make.scalar(0), last, make.scalar(1)], [-1], INT32)
    column = make.op("EXPAND_DIMS", [frames, make.scalar(1)], [-1, 1], INT32)
    pairs = make.op("ADD", [column, make.tensor("pair", [1, 2], INT32, [0, 1])], [-1, 2], INT32, "AddOptions")
    both = make.op("GATHER", [cut, pairs], [-1, -1, 2, 32], FLOAT32, "GatherOptions", axis=1)
    count = make.op("SHAPE", [frames], [1], INT32, "ShapeOptions", outType=INT32)
    one = make.op("EXPAND_DIMS", [batch, make.scalar(0)], [1], INT32)
    framed = make.op("CONCATENATION", [one, count, make.ints(64)], [3], INT32, "ConcatenationOptions")
    signal = make.op("RESHAPE", [both, framed], [-1, -1, 64])
    window = make.op("MUL", [signal, make.tensor("window", [64], FLOAT32, [0.5] * 64)], [-1, -1, 64], FLOAT32, "MulOptions")
    mel = make.tensor("mel", [16, 64], FLOAT32, numpy.arange(1024) / 1024)
    dense = make.op("FULLY_CONNECTED", [window, mel, -1], [-1, -1, 16], FLOAT32, "FullyConnectedOptions", keepNumDims=True)
    turned = make.op("TRANSPOSE", [dense, make.ints(0, 2, 1)], [-1, 16, -1], FLOAT32, "TransposeOptions")
    picture = make.op("EXPAND_DIMS", [turned, make.scalar(3)], [-1, 16, -1, 1])
    kernel = make.tensor("kernel", [8, 3, 3, 1], FLOAT32, numpy.arange(72) / 72)
    bias = make.tensor("bias", [8], FLOAT32, [0.0] * 8)
    conv = make.op("CONV_2D", [picture, kernel, bias], [-1, -1, -1, 8], FLOAT32, "Conv2DOptions",
                   padding=0, strideW=2, strideH=1, dilationWFactor=1, dilationHFactor=1)
    pool = make.op("MAX_POOL_2D", [conv], [-1, -1, -1, 8], FLOAT32, "Pool2DOptions",
                   padding=1, strideW=2, strideH=2, filterWidth=3, filterHeight=2)
    mean = make.op("MEAN", [pool, make.ints(1, 2)], [-1, 8], FLOAT32, "ReducerOptions")
    return make.bytes([audio], [make.op("SOFTMAX", [mean], [-1, 8], FLOAT32, "SoftmaxOptions", beta=1.0)])


def shapes_of_cleave(cleave, model, options, folder):
    """Dims by name: a number, or None where it is not known."""
    done = subprocess.run([cleave, "-q", "convert", model, *options, "--force", "-o", folder / "graph.json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr
    graph = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    values = [*graph["inputs"], *(value for node in graph["nodes"] for value in node["outputs"])]
    return {value["name"]: [size if isinstance(size, int) else None for size in value.get("shape", [])]
            for value in values}


def shapes_of_litert(model, batch):
    interpreter = Interpreter(str(model), experimental_preserve_all_tensors=True,
                              experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    for detail in interpreter.get_input_details():
        dims = list(detail["shape"])
        if batch and detail["shape_signature"].size == len(dims) and dims and detail["shape_signature"][0] < 0:
            interpreter.resize_tensor_input(detail["index"], [batch, *dims[1:]])
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], numpy.zeros(detail["shape"], detail["dtype"]))
    interpreter.invoke()
    return {detail["name"]: [int(size) for size in detail["shape"]] for detail in interpreter.get_tensor_details()}


def compare(cleave, model, batch, folder):
    """(right, unknown, wrong ones as text), in tensors."""
    opens = {}
    for detail in Interpreter(str(model)).get_input_details():
        for axis, size in enumerate(detail["shape_signature"]):
            if size < 0:
                opens["N" if axis == 0 else f"{detail['name']}:{axis}"] = int(detail["shape"][axis])
    if batch and "N" in opens:
        opens["N"] = batch
    ours = shapes_of_cleave(cleave, model, [text for one in opens.items() for text in ("--dim", f"{one[0]}={one[1]}")], folder)
    if isinstance(ours, str):
        return 0, 0, [ours]
    theirs = shapes_of_litert(model, batch)
    right, unknown, wrong = 0, 0, []
    for name, dims in ours.items():
        if name not in theirs:
            continue
        fits = len(dims) == len(theirs[name]) and all(a in (None, b) for a, b in zip(dims, theirs[name]))
        if not fits:
            wrong.append(f"{name}: {dims}, not {theirs[name]}")
        elif None in dims:
            unknown += 1
        else:
            right += 1
    return right, unknown, wrong


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "computed.tflite"
        made.write_bytes(computed_sizes())
        for model in [Path(text) for text in sys.argv[2:]] or [made]:
            for batch in (0, 3):
                try:
                    right, unknown, wrong = compare(sys.argv[1], model, batch, Path(scratch))
                except (RuntimeError, ValueError) as error:
                    print(f"{model.name}, batch {batch or 'as it is'}: LiteRT does not run it: {str(error).splitlines()[0]}")
                    continue
                print(f"{model.name}, batch {batch or 'as it is'}: {right} tensors as LiteRT has them, {unknown} unknown, "
                      f"{len(wrong)} wrong")
                print("".join(f"  {text}\n" for text in wrong[:5]), end="")
                failed = failed or bool(wrong) or (model == made and unknown > 0) or right == 0
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
