#!/usr/bin/env python3
"""Calls every ONNX operator with mostly unfit inputs and attributes: cleave must read or refuse them.

The library behind cleave's inference crashes on some calls, which these tests found
(formats/onnx/infer/schema.cc refuses them). Each call is a random model of one to three nodes, the
same for the same seed.

usage: odd_calls.py DUMP_TYPES [--models N] [--seed S] [--op OP] [--keep DIR]

DUMP_TYPES is the test tool of that name; it reads all models in one process. If that crashes or takes
more than a minute, the models are read one by one, and those at fault are named (with --keep they
stay in DIR). Exit status 1 if there is one.
"""

import argparse
import functools
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
from onnx import AttributeProto, TensorProto, defs, helper

OPSETS = [17, 16, 13, 12, 11, 10, 9, 8, 7, 6, 5, 1]  # the library at hand knows those up to 17
ML_OPSETS = [3, 2, 1]
SIZES = [0, 1, 1, 2, 2, 3, 4, 5, 8, 16]
ODD_SIZES = [None, "N", 0, 1, 2**31, 2**40, 2**62]
INTEGERS = [0, 1, 2, 3, 4, -1, -2]
ODD_INTEGERS = [7, 64, -3, 2**31 - 1, 2**31, 2**62, -(2**63), 2**63 - 1]
REALS = [0.0, 1.0, -1.0, 0.5, 1e30, float("nan"), float("inf")]
TEXTS = ["", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "linear", "nearest", "reverse", "bidirectional",
         "NCHW", "ij,jk->ik", "...ij,jk", "i->", "->", "i,i->...", "output_half_pixel"]
DTYPES = [TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT64, TensorProto.INT32,
          TensorProto.BOOL, TensorProto.UINT8, TensorProto.INT8, TensorProto.STRING, TensorProto.DOUBLE]
MOST_INPUTS = 8


def operators(opset, ml_opset):
    """The newest schema of each operator in these opsets, in the order of names."""
    newest = {}
    for schema in defs.get_all_schemas_with_history():
        top = {"": opset, "ai.onnx.ml": ml_opset}.get(schema.domain, 0)
        if schema.since_version > top:
            continue
        key = schema.domain, schema.name
        if key not in newest or newest[key].since_version < schema.since_version:
            newest[key] = schema
    return [newest[key] for key in sorted(newest)]


class OddCall:
    """One model of a few nodes."""

    def __init__(self, seed, only):
        self.random = random.Random(seed)
        self.inputs, self.constants, self.made = [], [], []
        opset, ml_opset = self.random.choice(OPSETS), self.random.choice(ML_OPSETS)
        schemas = [s for s in operators_of(opset, ml_opset) if only in (None, s.name)]
        count = self.random.choice([1, 1, 2, 3]) if schemas else 0
        nodes = [self.node(self.random.choice(schemas)) for _ in range(count)]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
                   for node in nodes for name in node.output[:1]]
        graph = helper.make_graph(nodes, "odd", self.inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", ml_opset)]
        self.model = helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def chance(self, share):
        return self.random.random() < share

    def rank(self):
        return self.random.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6])

    def integer(self):
        return self.random.choice(ODD_INTEGERS if self.chance(0.25) else INTEGERS)

    def dims(self):
        return [self.random.choice(ODD_SIZES if self.chance(0.2) else SIZES) for _ in range(self.rank())]

    def node(self, schema):
        fewest, most = schema.min_input, max(schema.min_input, min(schema.max_input, MOST_INPUTS))
        count = self.random.randint(fewest, most) if self.chance(0.9) else self.random.randint(0, 6)
        most = max(schema.min_output, min(schema.max_output, 4))
        outputs = self.random.randint(schema.min_output, most) if self.chance(0.9) else self.random.randint(1, 4)
        node = helper.make_node(schema.name, [self.value() for _ in range(count)],
                                [f"o{len(self.made) + i}" for i in range(outputs)], domain=schema.domain)
        self.made += node.output
        for name, attribute in schema.attributes.items():
            if attribute.required or self.chance(0.55):
                self.add_attribute(node, name, attribute.type)
        return node

    def value(self):
        """The name of an input, of a constant, of what a node before made, or none."""
        if self.made and self.chance(0.4):
            return self.random.choice(self.made)
        name = f"v{len(self.inputs) + len(self.constants)}"
        kind = self.random.random()
        dtype = self.random.choice(DTYPES)
        if kind < 0.07:
            return ""
        if kind < 0.4:
            self.constants.append(self.tensor(name))
            return name
        if kind < 0.9:
            info = helper.make_tensor_value_info(name, dtype, self.dims())
        elif kind < 0.94:
            info = helper.make_tensor_value_info(name, dtype, None)
        elif kind < 0.97:
            info = helper.make_tensor_sequence_value_info(name, dtype, [1, 2])
        else:
            held = helper.make_tensor_type_proto(dtype, [2])
            info = helper.make_value_info(name, helper.make_optional_type_proto(held))
        self.inputs.append(info)
        return name

    def tensor(self, name):
        """A small tensor, now and then with bytes or dims that are not its own."""
        tensor = TensorProto(name=name, data_type=self.random.choice([TensorProto.INT64, TensorProto.INT64,
                                                                      TensorProto.FLOAT, TensorProto.INT32]))
        tensor.dims.extend(self.random.choice([0, 1, 1, 2, 3, 4]) for _ in range(self.random.choice([0, 1, 1, 1, 2, 3])))
        count = 1
        for dim in tensor.dims:
            count *= dim
        if self.chance(0.15):
            tensor.raw_data = self.random.randbytes(self.random.choice([0, 1, 3, 7, 8, 9, 16, 40]))
        elif tensor.data_type == TensorProto.INT64:
            tensor.int64_data.extend(self.integer() for _ in range(count))
        elif tensor.data_type == TensorProto.INT32:
            tensor.int32_data.extend(self.random.choice(INTEGERS) for _ in range(count))
        else:
            tensor.float_data.extend(self.random.choice(REALS) for _ in range(count))
        if self.chance(0.1):
            tensor.dims.append(self.random.choice([0, 5, 2**40]))
        return tensor

    def body(self):
        count = self.random.choice([0, 1, 2, 3])
        dtype = self.random.choice([TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT])
        nodes = [helper.make_node("Identity", [f"bi{i}"], [f"bo{i}"]) for i in range(count)]
        inputs = [helper.make_tensor_value_info(f"bi{i}", dtype, [1] * self.random.choice([0, 1, 2]))
                  for i in range(count)]
        outputs = [helper.make_tensor_value_info(f"bo{i}", TensorProto.FLOAT, None) for i in range(count)]
        return helper.make_graph(nodes, "body", inputs, outputs)

    def add_attribute(self, node, name, kind):
        attribute = AttributeProto(name=name, type=int(kind.value))
        some = range(self.rank())
        if attribute.type == AttributeProto.INT:
            attribute.i = self.integer()
        elif attribute.type == AttributeProto.FLOAT:
            attribute.f = self.random.choice(REALS)
        elif attribute.type == AttributeProto.STRING:
            attribute.s = self.random.choice(TEXTS).encode()
        elif attribute.type == AttributeProto.INTS:
            attribute.ints.extend(self.integer() for _ in some)
        elif attribute.type == AttributeProto.FLOATS:
            attribute.floats.extend(self.random.choice(REALS) for _ in some)
        elif attribute.type == AttributeProto.STRINGS:
            attribute.strings.extend(self.random.choice(TEXTS).encode() for _ in some)
        elif attribute.type == AttributeProto.TENSOR:
            attribute.t.CopyFrom(self.tensor("t"))
        elif attribute.type == AttributeProto.GRAPH:
            attribute.g.CopyFrom(self.body())
        else:
            return
        node.attribute.append(attribute)


@functools.cache
def operators_of(opset, ml_opset):
    return operators(opset, ml_opset)


def fault(dump_types, paths, seconds):
    """What is wrong with reading these; empty: nothing."""
    try:
        done = subprocess.run([dump_types], input="".join(f"{path}\n" for path in paths), text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"not read in {seconds} s"
    return "" if done.returncode in (0, 1) else f"exit status {done.returncode} {done.stderr[-500:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump_types")
    parser.add_argument("--models", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--op", help="this operator alone")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    faults = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        paths = []
        for seed in range(options.seed, options.seed + options.models):
            paths.append(folder / f"{seed}.onnx")
            paths[-1].write_bytes(OddCall(seed, options.op).model.SerializeToString())
        if fault(options.dump_types, paths, 60):
            for path in paths:
                why = fault(options.dump_types, [path], 20)
                if not why:
                    continue
                faults += 1
                print(f"{path.name}: {why}\n{onnx.load(path).graph.node}")
    print(f"{options.models} odd calls: {faults} that cleave does not bear")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
