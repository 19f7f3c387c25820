#!/usr/bin/env python3
"""The lists ethos_u55 and ethos_u85 hold each sentence of Vela that a file can decide: a node that meets all sentences is
accepted, and one that breaks a single one is refused. A sentence without a case fails the test.

usage: vela_lists_test.py CLEAVE

Exit status 1 when a case fails; 77 without ai-edge-litert and flatbuffers, whose classes write the models.
"""
import copy
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts" / "dev"))
try:
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema

    import make_tflite_sample as samples
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import vela_lists

TYPES = schema.TensorType
NUMPY = {"int8": np.int8, "uint8": np.uint8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
         "float32": np.float32, "bool": np.bool_}  # fmt: skip


class Tensor:
    def __init__(self, *shape, kind="int8", scale=0.5, zero=0, data=None, open_axis=None):
        self.shape, self.kind, self.scale, self.zero, self.data, self.open_axis = list(shape), kind, scale, zero, data, open_axis


def activation(*shape, **fields):
    return Tensor(*shape, **fields)


def weight(*shape, fill=1, kind="int8"):
    return Tensor(*shape, kind=kind, data=np.full(shape, fill, NUMPY[kind]))


def numbers(*values, kind="int32"):
    """A constant that is not quantised: axes, paddings, shapes."""
    data = np.array(values, NUMPY[kind])
    return Tensor(*data.shape, kind=kind, scale=None, data=data)


def scalar(value):
    made = numbers(value)
    made.shape, made.data = [], made.data.reshape(())
    return made


class Case:
    """A node that all sentences allow."""

    def __init__(self, op, inputs, outputs, options=None, **fields):
        self.op, self.inputs, self.outputs, self.options, self.fields = op, inputs, outputs, options, fields


def conv(op="CONV_2D", **fields):
    filters = weight(1, 3, 3, 4) if op == "DEPTHWISE_CONV_2D" else weight(8, 3, 3, 4)
    out = 4 if op == "DEPTHWISE_CONV_2D" else 8
    options = "DepthwiseConv2DOptions" if op == "DEPTHWISE_CONV_2D" else "Conv2DOptions"
    return Case(op, [activation(1, 8, 8, 4), filters, Tensor(out, kind="int32", data=np.ones(out, np.int32))],
                [activation(1, 8, 8, out)], options, padding=schema.Padding.SAME, strideW=1, strideH=1, **fields)  # fmt: skip


def dense():
    return Case("FULLY_CONNECTED", [activation(1, 16), weight(4, 16), Tensor(4, kind="int32", data=np.ones(4, np.int32))],
                [activation(1, 4)], "FullyConnectedOptions")  # fmt: skip


def transpose_conv():
    return Case("TRANSPOSE_CONV", [numbers(1, 16, 16, 8), weight(8, 2, 2, 4), activation(1, 8, 8, 4)],
                [activation(1, 16, 16, 8)], "TransposeConvOptions", padding=schema.Padding.SAME, strideW=2, strideH=2)  # fmt: skip


def pool(op="AVERAGE_POOL_2D"):
    return Case(op, [activation(1, 16, 16, 4)], [activation(1, 8, 8, 4)], "Pool2DOptions", padding=schema.Padding.SAME,
                strideW=2, strideH=2, filterWidth=2, filterHeight=2)  # fmt: skip


def resize(op="RESIZE_BILINEAR"):
    return Case(op, [activation(1, 8, 8, 4), numbers(16, 16)], [activation(1, 16, 16, 4)],
                "ResizeBilinearOptions" if op == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions")  # fmt: skip


def transpose(order, shape, kind="int8"):
    made = [shape[axis] for axis in order]
    return Case("TRANSPOSE", [activation(*shape, kind=kind), numbers(*order)], [activation(*made, kind=kind)],
                "TransposeOptions")  # fmt: skip


def lstm():
    weights = [weight(4, 4) for _ in range(8)]
    inputs = [activation(2, 1, 4), *weights, None, None, None, *(Tensor(4, kind="int32", data=np.ones(4, np.int32)) for _ in range(4)),
              None, None, activation(1, 4), activation(1, 4, kind="int16")]
    return Case("UNIDIRECTIONAL_SEQUENCE_LSTM", [*inputs, None, None, None, None], [activation(2, 1, 4)],
                "UnidirectionalSequenceLSTMOptions")  # fmt: skip


def base_cases():
    """{op: a case}"""
    pair = {op: Case(op, [activation(1, 8, 8, 4), activation(1, 8, 8, 4)], [activation(1, 8, 8, 4)], f"{name}Options")
            for op, name in (("ADD", "Add"), ("MAXIMUM", "MaximumMinimum"))}  # fmt: skip
    single = {op: Case(op, [activation(1, 8, 8, 4)], [activation(1, 8, 8, 4)])
              for op in ("ELU", "GELU", "LOG", "RSQRT", "ABS")}  # fmt: skip
    return {
        **pair, **single,
        "CONV_2D": conv(), "DEPTHWISE_CONV_2D": conv("DEPTHWISE_CONV_2D"), "FULLY_CONNECTED": dense(),
        "TRANSPOSE_CONV": transpose_conv(), "AVERAGE_POOL_2D": pool(), "MAX_POOL_2D": pool("MAX_POOL_2D"),
        "RESIZE_BILINEAR": resize(), "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR"),
        "BATCH_MATMUL": Case("BATCH_MATMUL", [activation(1, 8, 16), activation(1, 16, 4)], [activation(1, 8, 4)], "BatchMatMulOptions"),
        "SOFTMAX": Case("SOFTMAX", [activation(1, 10)], [activation(1, 10)], "SoftmaxOptions"),
        "ARG_MAX": Case("ARG_MAX", [activation(1, 8, 8, 4), scalar(-1)], [Tensor(1, 8, 8, kind="int32", scale=None)], "ArgMaxOptions"),
        "MEAN": Case("MEAN", [activation(1, 8, 8, 4), numbers(1, 2)], [activation(1, 4)], "ReducerOptions"),
        "PAD": Case("PAD", [activation(1, 8, 8, 4), numbers([0, 0], [1, 1], [1, 1], [0, 0])], [activation(1, 10, 10, 4)], "PadOptions"),
        "SPLIT": Case("SPLIT", [scalar(3), activation(1, 8, 8, 4)], [activation(1, 8, 8, 2), activation(1, 8, 8, 2)],
                      "SplitOptions", numSplits=2),
        "STRIDED_SLICE": Case("STRIDED_SLICE", [activation(1, 8, 8, 4), numbers(0, 0, 0, 0), numbers(1, 4, 4, 4), numbers(1, 1, 1, 1)],
                              [activation(1, 4, 4, 4)], "StridedSliceOptions"),
        "TRANSPOSE": transpose((0, 2, 1, 3), (1, 8, 8, 4)),
        "CONCATENATION": Case("CONCATENATION", [activation(1, 8, 4), activation(1, 8, 4)], [activation(1, 8, 8)],
                              "ConcatenationOptions", axis=2),
        "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm(),
        "GATHER": Case("GATHER", [activation(1, 8, 4), Tensor(1, 2, kind="int32", scale=None)], [activation(1, 2, 4)],
                       "GatherOptions", axis=1, batchDims=1),
        "SCATTER_ND": Case("SCATTER_ND", [numbers([0], [2]), activation(2, 4), numbers(4, 4)], [activation(4, 4)], "ScatterNdOptions"),
    }  # fmt: skip


def tensor(which, **fields):
    """Changes fields of tensors: 0, 1 inputs, -1 the output."""
    def change(case):
        for one in [which] if isinstance(which, int) else which:
            target = case.outputs[0] if one == -1 else case.inputs[one]
            for name, value in fields.items():
                setattr(target, name, value)
    return change


def options(**fields):
    return lambda case: case.fields.update(fields)


def shaped(**shapes):
    """Changes shapes: in0=(...), out0=(...)."""
    def change(case):
        for name, shape in shapes.items():
            target = (case.outputs if name.startswith("out") else case.inputs)[int(name[-1])]
            target.shape = list(shape)
            if target.data is not None:
                target.data = np.ones(shape, target.data.dtype)
    return change


def not_constant(which):
    return tensor(which, data=None)


def given(which, *shape):
    def change(case):
        case.inputs[which] = weight(*shape)
    return change


def left_out(which):
    def change(case):
        case.inputs[which] = None
    return change


def instead(case_of):
    def change(case):
        case.__dict__.update(case_of.__dict__)
    return change


U55, U85 = "ethos_u55", "ethos_u85"
# (lists, the beginning of the sentence, op, what breaks it)
CASES = [
    ((U55, U85), "Only the first dimension", "ADD", tensor(0, open_axis=2)),
    ((U55, U85), "Tensors must have constant shape", "ADD", shaped(in0=())),
    ((U55, U85), "Tensors must have constant shape", "CONCATENATION", shaped(in0=(), in1=(), out0=(2,))),
    ((U55, U85), "Feature-map dataTypes", "ADD", tensor((0, 1, -1), kind="float32")),
    ((U55, U85), "Feature-map dataTypes", "CONV_2D", tensor((0, -1), kind="float32", scale=None)),
    ((U55,), "Input(s), Output and Weight tensors", "ADD", tensor(-1, scale=None)),
    ((U85,), "Input(s), Output and Weight tensors", "CONV_2D", tensor(1, scale=None)),
    ((U55, U85), "Quantization scale of any tensor", "ADD", tensor(1, scale=-0.5)),
    ((U55, U85), "Per-axis quantization", "ADD", tensor(0, scale=[0.5, 0.5, 0.5, 0.5])),
    ((U55,), "64-bit feature-maps", "ADD", tensor((0, 1, -1), kind="int64")),
    ((U55,), "32-bit feature-maps", "ABS", tensor((0, -1), kind="int32")),
    ((U55,), "Zero-points must be 0", "ADD", tensor((0, 1, -1), kind="int32", zero=3)),
    ((U85,), "IFM Zero-points", "ADD", tensor(0, kind="int16", zero=3)),
    ((U85,), "OFM Zero-points", "ADD", tensor(-1, zero=300)),
    ((U55,), "IFM depth", "ARG_MAX", shaped(in0=(1, 8, 8, 128))),
    ((U55,), "Kernel stride must be", "DEPTHWISE_CONV_2D", options(strideW=4)),
    ((U55,), "Operation must be performed along", "ARG_MAX", tensor(1, data=np.array(1, np.int32))),
    ((U55, U85), "Kernel constraints", "AVERAGE_POOL_2D", options(filterWidth=9)),
    ((U55,), "Stride>3", "CONV_2D", options(strideH=4)),
    ((U55,), "IF Matmul or (FC with dynamic weights): IFM", "BATCH_MATMUL", tensor(0, kind="int16")),
    ((U55,), "IF Matmul or (FC with dynamic weights): OFM", "BATCH_MATMUL", shaped(in1=(1, 16, 65537), out0=(1, 8, 65537))),
    ((U55,), "IF Matmul or (FC with dynamic weights): Reduced", "BATCH_MATMUL", shaped(in0=(1, 1, 65537), in1=(1, 65537, 4))),
    ((U55, U85), "Bias tensors must be constant", "CONV_2D", not_constant(2)),
    ((U55, U85), "Bias tensors precision", "CONV_2D", given(2, 8)),
    ((U55, U85), "Bias values must be stored", "CONV_2D", shaped(in2=(8, 1))),
    ((U55,), "Int64 bias", "CONV_2D", tensor(2, kind="int64", data=np.full(8, 2**40))),
    ((U85,), "Int64 bias", "CONV_2D", tensor(2, kind="int64", data=np.full(8, 2**48))),
    ((U55, U85), "Weight tensors must be 8-bit", "CONV_2D", tensor(1, kind="int16", data=np.ones((8, 3, 3, 4), np.int16))),
    ((U55, U85), "Weigth sum", "FULLY_CONNECTED", shaped(in0=(1, 70000), in1=(1, 70000))),
    ((U55, U85), "IFM and OFM datatypes must match, and must be Int8", "ELU", tensor((0, -1), kind="int16")),
    ((U55, U85), "IFM and OFM datatypes must match, and must be Int8 or UInt8", "GELU", tensor(-1, kind="uint8")),
    ((U55, U85), "IFM and OFM datatypes must match, and must be Int8 or Int16", "LOG", tensor((0, -1), kind="uint8")),
    ((U55, U85), "IFM and OFM shapes", "ELU", shaped(out0=(8, 8, 4))),
    ((U55, U85), "FullyConnected weights", "FULLY_CONNECTED", shaped(in1=(4, 2, 8))),
    ((U55, U85), "Both Input quantization", "MAXIMUM", tensor(1, scale=0.25)),
    ((U55, U85), "kernel product", "MAX_POOL_2D", options(filterHeight=257, filterWidth=1)),
    ((U55, U85), "Amount of reduced", "MEAN", lambda case: (tensor((0, -1), kind="int16")(case), shaped(in0=(1, 300, 300, 4))(case))),
    ((U55, U85), "Batch must be 1", "MEAN", shaped(in0=(2, 8, 8, 4), out0=(2, 4))),
    ((U55, U85), "IFM precision must be one of", "MEAN", tensor((0, -1), kind="int32")),
    ((U55, U85), "Parameter tensors", "PAD", not_constant(1)),
    ((U55, U85), "Reduced axis must be less", "MEAN", shaped(in0=(1, 4096, 8, 4))),
    ((U55, U85), "Reduction over depth", "MEAN",
     lambda case: (tensor(1, data=np.array([2, 3], np.int32))(case), shaped(out0=(1, 8))(case))),
    ((U55, U85), "Params tensor", "PAD", tensor(1, kind="int16", data=np.zeros((4, 2), np.int16))),
    ((U55,), "IF not (IFM H", "RESIZE_BILINEAR", shaped(out0=(1, 24, 24, 4))),
    ((U55,), "IF NOT (IFM H", "RESIZE_NEAREST_NEIGHBOR", shaped(out0=(1, 16, 32, 4))),
    ((U55, U85), "IFM must be Int8 or Int16", "RSQRT", tensor((0, -1), kind="uint8")),
    ((U55, U85), "The product of IFM", "SOFTMAX", shaped(in0=(65536, 10), out0=(65536, 10))),
    ((U55, U85), "num_splits", "SPLIT", options(numSplits=3)),
    ((U55, U85), "Slice must represent", "STRIDED_SLICE", tensor(3, data=np.array([1, -1, 1, 1], np.int32))),
    ((U55,), "IF IFM is Int32", "TRANSPOSE", instead(transpose((3, 1, 2, 0), (1, 8, 8, 4), "int32"))),
    ((U55,), "IF IFM is Int8", "TRANSPOSE", instead(transpose((3, 1, 2, 0), (2, 70000, 2, 4)))),
    ((U55, U85), "Tensor dimension", "TRANSPOSE", instead(transpose((0, 1, 2, 3, 4, 5, 6, 8, 7), (1,) * 9))),
    ((U55, U85), "Shape constraints", "TRANSPOSE_CONV", shaped(out0=(1, 17, 16, 8))),
    ((U55,), "Stride values", "TRANSPOSE_CONV", options(strideW=3, strideH=3)),
    ((U55, U85), "Gate normalization", "UNIDIRECTIONAL_SEQUENCE_LSTM", given(20, 4)),
    ((U55, U85), "Implicit gate", "UNIDIRECTIONAL_SEQUENCE_LSTM", left_out(1)),
    ((U55, U85), "Peephole", "UNIDIRECTIONAL_SEQUENCE_LSTM", given(9, 4)),
    ((U55, U85), "Projection", "UNIDIRECTIONAL_SEQUENCE_LSTM", given(16, 4, 4)),
    ((U85,), "axis must be equal", "GATHER", options(axis=2)),
    ((U85,), "Scale-factor must be", "RESIZE_BILINEAR", shaped(out0=(1, 24, 24, 4))),
    ((U85,), "Scale-factor:", "RESIZE_NEAREST_NEIGHBOR", shaped(in0=(1, 1, 8, 4), out0=(1, 1025, 16, 4))),
    ((U85,), "align_corners and half", "RESIZE_BILINEAR",
     lambda case: (options(alignCorners=True, halfPixelCenters=True)(case), shaped(out0=(1, 15, 15, 4))(case))),
    ((U85,), "Index tensor must be constant", "SCATTER_ND", not_constant(0)),
    ((U85,), "Index tensor must have", "SCATTER_ND", tensor(0, shape=[1, 2], data=np.array([[0, 2]], np.int32))),
    ((U85,), "Shape tensor must be", "SCATTER_ND", not_constant(2)),
]  # fmt: skip
# (lists, op, what changes, whether it is taken): what the compiler was seen to do where its sentences say otherwise.
SEEN = [
    ((U55, U85), "ADD", tensor((0, 1, -1), kind="int32", scale=None), True),
    ((U85,), "MAXIMUM", tensor((0, 1, -1), kind="int32", scale=None), True),
    ((U55,), "MAXIMUM", tensor((0, 1, -1), kind="int32", scale=None), False),
    ((U85,), "CONCATENATION", tensor((0, 1, -1), kind="bool", scale=None), True),
    ((U55, U85), "ADD", tensor((0, 1, -1), kind="int16", scale=None), False),
    ((U55, U85), "ADD", tensor((0, 1), kind="int32", scale=None), False),
    ((U55, U85), "ABS", tensor((0, -1), kind="int64", scale=None), False),
    ((U85,), "RESIZE_BILINEAR", shaped(in0=(1, 1, 1, 4), out0=(1, 33, 33, 4)), True),
]  # fmt: skip
# These hold of every operator that the table has and that cleave reads, so that no model breaks them.
ALWAYS = ("Operations must have at least one",)


# ---- the model: all cases in one ----


def add_tensor(graph, one, name):
    made = graph.tensor(name, one.shape, getattr(TYPES, one.kind.upper()), one.scale, one.zero,
                        None if one.data is None else one.data.astype(NUMPY[one.kind]))  # fmt: skip
    if one.open_axis is not None:
        graph.made.tensors[made].shapeSignature = [-1 if i == one.open_axis else size for i, size in enumerate(one.shape)]
    return made


def add_case(graph, case, name, ends):
    inputs = []
    for i, one in enumerate(case.inputs):
        inputs.append(-1 if one is None else add_tensor(graph, one, f"{name}/in{i}"))
        if one is not None and one.data is None:
            ends[0].append(inputs[-1])
    outputs = [add_tensor(graph, one, name if i == 0 else f"{name}/out{i}") for i, one in enumerate(case.outputs)]
    ends[1].extend(outputs)
    graph.add(getattr(samples.OPS, case.op), inputs, outputs, case.options, **case.fields)


def model_of(cases):
    maker = samples.Maker()
    maker.model.version = 3
    graph = maker.subgraph("main")
    ends = ([], [])
    for name, case in cases.items():
        add_case(graph, case, name, ends)
    graph.made.inputs, graph.made.outputs = ends
    return maker.bytes()


def accepted(cleave, path, name):
    command = [cleave, "-q", "preview", path, "-s", PROJECT / "samples" / "lists" / f"{name}.json", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    parts = json.loads(done.stdout)["partitions"]
    return {node for part in parts if part["is_acc"] for node in part["nodes"]}


def has_open(case):
    return any(one and one.open_axis is not None for one in [*case.inputs, *case.outputs])


def main():
    cleave = Path(sys.argv[1]).resolve()
    base = base_cases()
    faults, checked = [], 0
    for name in (U55, U85):
        mine = [(sentence, op, change) for lists, sentence, op, change in CASES if name in lists]
        used = {op for _, op, _ in mine}
        cases = {f"good/{op}": base[op] for op in sorted(used)}
        for i, (_, op, change) in enumerate(mine):
            cases[f"bad/{i}"] = copy.deepcopy(base[op])
            change(cases[f"bad/{i}"])
        seen = [(op, change, is_taken) for lists, op, change, is_taken in SEEN if name in lists]
        for i, (op, change, _) in enumerate(seen):
            cases[f"seen/{i}"] = copy.deepcopy(base[op])
            change(cases[f"seen/{i}"])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cases.tflite"
            taken = set()
            # Beside an open size cleave computes all sizes, as the runtime does; Vela's sentences are of sizes as stated.
            for is_open in (False, True):
                part = {key: case for key, case in cases.items() if has_open(case) == is_open}
                if part:
                    path.write_bytes(model_of(part))
                    taken |= set(accepted(cleave, path, name))
        faults += [f"{name}: refuses {op}, which meets all sentences" for op in used if f"good/{op}" not in taken]
        faults += [f"{name}: accepts {op} against {sentence!r}" for i, (sentence, op, _) in enumerate(mine) if f"bad/{i}" in taken]
        faults += [f"{name}: {op}, case {i} of SEEN, is {'refused' if is_taken else 'accepted'}"
                   for i, (op, _, is_taken) in enumerate(seen) if (f"seen/{i}" in taken) != is_taken]
        checked += len(mine) + len(seen)
    missing = []
    for pattern, decide in vela_lists.SENTENCES:
        if decide in (vela_lists.NOT_DECIDED, vela_lists.NO_NODES):
            continue
        words = re.split(r"\.\*|\(\.|\(\\d", pattern)[0].replace("\\", "")
        has_case = any(sentence.startswith(words) or words.startswith(sentence) for _, sentence, _, _ in CASES)
        if not has_case and not pattern.startswith(ALWAYS):
            missing.append(pattern)
    faults += [f"no case for the sentence {one!r}" for one in missing]
    for fault in faults:
        print(fault)
    print(f"{checked} cases: {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
