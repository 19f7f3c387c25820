#!/usr/bin/env python3
"""Asks Qualcomm's compiler of today, and cleave with the list qnn_npu, about random cases of what qnn_today.json adds to the list.

usage: today_test.py CLEAVE [--count 60] [--seed N] [--only OP]... [--list NAME|FILE]

The corpus has no cases of these, or refused them: operators with more inputs, of other ranks, or in company (a GELU). For each
operator `count` models of one node, or of one pattern, are drawn: types, ranks, sizes, opsets, constants, and in every third
case quantised inputs and outputs; also such as the rules do not take. The list must accept nothing that the compiler refuses,
and the rules at least a third of what it takes.

Exit status: 1 when the list is wrong, 77 when a package is not there.
"""
import argparse
import math
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from random_cases_test import Compiler, accepts

TYPES = ["float32", "float16", "int32", "int64", "uint8", "int8", "bool", "uint32", "float64"]
STEPS = ["uint8", "int8", "uint16", "int16"]
OPSETS = (11, 12, 13, 17, 18, 21)


def onnx_type(name):
    return helper.np_dtype_to_tensor_dtype(np.dtype(name))


class Case:
    """A model of a few nodes; its inputs and outputs are quantised where `steps` says a type."""

    def __init__(self, numbers):
        self.numbers, self.opset = numbers, numbers.choice(OPSETS)
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], []
        self.kind = numbers.choice(TYPES[:2]) if numbers.random() < 0.5 else numbers.choice(TYPES)
        self.steps = None
        if numbers.random() < 0.33:
            self.kind, self.steps, self.opset = "float32", numbers.choice(STEPS), 21
            self.constant(np.float32(0.02), "scale")
            self.constant(np.array({"uint8": 128, "uint16": 32768}.get(self.steps, 0), self.steps), "zero")

    def shape(self, ranks, largest=4):
        return [self.numbers.randint(1, largest) for _ in range(self.numbers.choice(ranks))]

    def constant(self, value, name):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def input(self, name, shape):
        if not self.steps:
            self.inputs.append(helper.make_tensor_value_info(name, onnx_type(self.kind), shape))
            return name
        self.inputs.append(helper.make_tensor_value_info(f"{name}_q", onnx_type(self.steps), shape))
        return self.node("DequantizeLinear", [f"{name}_q", "scale", "zero"], name)

    def output(self, name, shape):
        if self.steps:
            name = self.node("QuantizeLinear", [name, "scale", "zero"], f"{name}_q")
        self.outputs.append(helper.make_tensor_value_info(name, onnx_type(self.steps or self.kind), shape))

    def write(self, path):
        graph = helper.make_graph(self.nodes, "case", self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8 if self.opset < 21 else 10)
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
            return False
        onnx.save(model, path)
        return True


def elementwise(op):
    def draw(case):
        shape, numbers = case.shape(range(6)), case.numbers
        case.opset = max(case.opset, 12 if case.kind not in ("float32", "float16", "float64") else 8)
        inputs, shapes = [], []
        for i in range(numbers.choice((2, 2, 2, 3, 5, 8))):
            first = numbers.randint(0, len(shape)) if numbers.random() < 0.3 else 0
            own = [1 if numbers.random() < 0.3 else size for size in shape[first:]]
            shapes.append(tuple(own))
            if i and numbers.random() < 0.3 and not case.steps:
                inputs.append(case.constant(np.ones(own, case.kind), f"x{i}"))
            else:
                inputs.append(case.input(f"x{i}", own))
        case.output(case.node(op, inputs, "y"), list(np.broadcast_shapes(*shapes)))
    return draw


def concat(case):
    shape = case.shape(range(1, 7))
    axis = case.numbers.randrange(len(shape))
    count = case.numbers.choice((6, 7, 9, 16, 40) if case.steps else (6, 7, 8, 9, 12, 33, 100, 200))
    sizes = [case.numbers.randint(1, 3) for _ in range(count)]
    inputs = [case.input(f"x{i}", shape[:axis] + [size] + shape[axis + 1:]) for i, size in enumerate(sizes)]
    case.output(case.node("Concat", inputs, "y", axis=axis), shape[:axis] + [sum(sizes)] + shape[axis + 1:])


def gather_nd(case):
    shape, numbers = case.shape(range(1, 7)), case.numbers
    case.steps, case.opset = None if case.steps and len(shape) > 4 else case.steps, case.opset
    batch = numbers.choice((0, 0, 0, 1)) if case.opset >= 12 and len(shape) > 1 else 0
    last = numbers.randint(1, len(shape) - batch)
    places = shape[:batch] + [numbers.randint(1, 3) for _ in range(numbers.choice((0, 1, 2, 3)))] + [last]
    where = np.zeros(places, np.int64)
    if numbers.random() < 0.5:
        case.constant(where, "i")
    else:
        case.inputs.append(helper.make_tensor_value_info("i", TensorProto.INT64, places))
    more = {"batch_dims": batch} if batch else {}
    case.output(case.node("GatherND", [case.input("x", shape), "i"], "y", **more), places[:-1] + shape[batch + last:])


def slices(case):
    shape, numbers = case.shape((1, 5, 5, 6), 6), case.numbers
    axes = sorted(numbers.sample(range(len(shape)), numbers.randint(1, len(shape))))
    begins, ends, steps, made = [], [], [], list(shape)
    for axis in axes:
        step = numbers.choice((1, 1, 2, 3, -1, -2))
        begin, end = sorted((numbers.randint(0, shape[axis] - 1), numbers.randint(1, shape[axis])))
        begin, end = (begin, max(end, begin + 1)) if step > 0 else (max(end, begin + 1) - 1, begin - 1 if begin else -(1 << 31))
        begins.append(begin)
        ends.append(end)
        steps.append(step)
        made[axis] = len(range(shape[axis])[begin:end if end >= 0 else None:step])
    names = [case.constant(np.array(one, np.int64), name) for one, name in ((begins, "b"), (ends, "e"), (axes, "a"), (steps, "s"))]
    case.output(case.node("Slice", [case.input("x", shape), *names[:3 if set(steps) == {1} and numbers.random() < 0.5 else 4]], "y"), made)


def identity(case):
    shape = case.shape(range(7))
    case.output(case.node("Identity", [case.input("x", shape)], "y"), shape)


def gelu(case):
    """Also with other factors, another input at its end, and its inner values read elsewhere."""
    case.kind, numbers, shape = case.numbers.choice(("float32", "float16")), case.numbers, case.shape(range(7))
    case.steps = None
    case.constants.clear()
    x, end = case.input("x", shape), ""
    end = case.input("other", shape) if numbers.random() < 0.15 else x
    def number(name, value):
        return case.constant(np.full([1] * numbers.choice((0, 0, 1)) if shape else [], value, case.kind), name)

    def commuted(op, one, other, name):
        return case.node(op, [one, other] if numbers.random() < 0.5 else [other, one], name)

    first = numbers.choice(("Div", "Mul"))
    root = number("root", math.sqrt(2) if first == "Div" else 1 / math.sqrt(2))
    d = case.node(first, [x, root], "d") if first == "Div" or numbers.random() < 0.7 else case.node(first, [root, x], "d")
    a = commuted("Add", case.node("Erf", [d], "e"), number("one", 1), "a")
    half, form = number("half", 0.5), numbers.randrange(3)
    if form == 0:
        y = commuted("Mul", commuted("Mul", end, a, "m"), half, "y")
    elif form == 1:
        y = commuted("Mul", commuted("Mul", end, half, "m"), a, "y")
    else:
        y = commuted("Mul", end, commuted("Mul", a, half, "m"), "y")
    case.output(y, shape)
    if numbers.random() < 0.1:
        case.output(numbers.choice(("e", "a", "m")), shape)


DRAWN = {"Concat": concat, "GatherND": gather_nd, "Identity": identity, "Slice": slices, "Erf": gelu,
         **{op: elementwise(op) for op in ("Max", "Min", "Sum")}}


def run(options, folder):
    compiler, wrong = Compiler(folder), []
    for op in options.only or DRAWN:
        numbers, table, missed = random.Random(options.seed), Counter(), Counter()
        while sum(table.values()) < options.count:
            case = Case(numbers)
            DRAWN[op](case)
            path = folder / f"{op}.onnx"
            if not case.write(path):
                continue
            answer, why = compiler.ask(path)
            is_kept = accepts(options.cleave, path, options.list, whole=True)
            table["accepted" if is_kept else "not accepted", answer] += 1
            if is_kept and answer == "refused":
                wrong.append(f"  false yes: {op} {case.kind} {case.steps} opset {case.opset} "
                             f"{[[d.dim_value for d in one.type.tensor_type.shape.dim] for one in case.inputs[:3]]}: {why[:160]}")
            if not is_kept and answer == "taken":
                missed[f"{case.kind}{' quantised' if case.steps else ''}"] += 1
        kept, lost = table["accepted", "taken"], table["not accepted", "taken"]
        print(f"{op}: {kept} of {kept + lost} taken are accepted, {table['not accepted', 'refused']} refused are not"
              f"{', left out: ' + str(dict(missed.most_common(3))) if missed else ''}", flush=True)
        if 2 * kept < lost:
            wrong.append(f"  {op}: {lost} of {kept + lost} cases that the compiler takes are not accepted")
    compiler.close()
    print("\n".join([f"{len(wrong)} faults", *wrong]))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("--count", type=int, default=60, help="cases of each operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=sorted(DRAWN), metavar="OP")
    parser.add_argument("--list", default="qnn_npu")
    options = parser.parse_args()
    options.cleave = options.cleave.resolve()
    with tempfile.TemporaryDirectory() as folder:
        return run(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
