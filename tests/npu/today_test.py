#!/usr/bin/env python3
"""Asks Qualcomm's compiler of today, and cleave with the list qnn_npu, about random cases of what qnn_today.json adds to the list.

usage: today_test.py CLEAVE [--count 60] [--seed N] [--only OP]... [--list NAME|FILE]

The corpus has no cases of these, or refused them: operators with more inputs, of other ranks, or in company (a GELU); or the
compiler refuses today what it took, such as all of rank 6. For each operator `count` models of one node, or of one pattern,
are drawn: types, ranks, sizes, opsets, constants, and in every third case quantised inputs and outputs; also such as the
rules do not take. The list must accept nothing that the compiler refuses, and the rules at least a third of what it takes.

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
        self.nodes, self.inputs, self.outputs, self.constants, self.values = [], [], [], [], []
        self.kind = numbers.choice(TYPES[:2]) if numbers.random() < 0.5 else numbers.choice(TYPES)
        self.steps = None
        if numbers.random() < 0.33:
            self.kind, self.steps, self.opset = "float32", numbers.choice(STEPS), 21
            self.constant(np.float32(0.02), "scale")
            self.constant(np.array({"uint8": 128, "uint16": 32768}.get(self.steps, 0), self.steps), "zero")

    def draw_opset(self):
        """Of quantised cases too: 8 bits are in all."""
        if self.steps in ("uint8", "int8"):
            self.opset = self.numbers.choice(OPSETS)

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
            self.values.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
            name = self.node("QuantizeLinear", [name, "scale", "zero"], f"{name}_q")
        self.outputs.append(helper.make_tensor_value_info(name, onnx_type(self.steps or self.kind), shape))

    def write(self, path):
        graph = helper.make_graph(self.nodes, "case", self.inputs, self.outputs, self.constants, value_info=self.values)
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
    case.draw_opset()
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


def scatter_nd(case):
    numbers, shape = case.numbers, case.shape(range(1, 7), 3)
    last = numbers.randint(1, len(shape))
    places = [*case.shape(range(6), 2), last]
    if numbers.random() < 0.5:
        case.constant(np.zeros(places, np.int64), "i")
    else:
        case.inputs.append(helper.make_tensor_value_info("i", TensorProto.INT64, places))
    more = {"reduction": numbers.choice(("none", "add", "mul"))} if case.opset >= 16 and numbers.random() < 0.5 else {}
    inputs = [case.input("x", shape), "i", case.input("u", places[:-1] + shape[last:])]
    case.output(case.node("ScatterND", inputs, "y", **more), shape)


def broadcast(op):
    """Two inputs, of which one may have fewer dims, up to rank 6."""
    def draw(case):
        shape, numbers = case.shape(range(7), 3), case.numbers
        if op in ("And", "Or"):
            case.kind, case.steps = "bool", None
            case.constants.clear()
        shapes = [shape, shape[numbers.randint(0, len(shape)):]]
        shapes = [[1 if numbers.random() < 0.2 else size for size in one] for one in shapes]
        if op == "PRelu":
            shapes[0] = shape
        else:
            numbers.shuffle(shapes)
        inputs = [case.input("x0", shapes[0])]
        if numbers.random() < 0.3 and not case.steps:
            inputs.append(case.constant(np.ones(shapes[1], case.kind), "x1"))
        else:
            inputs.append(case.input("x1", shapes[1]))
        y, made = case.node(op, inputs, "y"), list(np.broadcast_shapes(*map(tuple, shapes)))
        if op in ("Equal", "Less", "Greater"):
            case.outputs.append(helper.make_tensor_value_info(y, TensorProto.BOOL, made))
        else:
            case.output(y, made)
    return draw


def where(case):
    """Not quantised: there sizes decide, too, which no rule judges."""
    case.steps = None
    case.constants.clear()
    shape, numbers = case.shape(range(7), 3), case.numbers
    shapes = [shape, shape[numbers.randint(0, len(shape)):], shape[numbers.randint(0, len(shape)):]]
    numbers.shuffle(shapes)
    case.inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, shapes[0]))
    case.output(case.node("Where", ["c", case.input("x", shapes[1]), case.input("z", shapes[2])], "y"), shape)


def split(case):
    numbers, count = case.numbers, case.numbers.randint(2, 5)
    case.draw_opset()
    shape = case.shape(range(1, 7))
    axis = numbers.randrange(len(shape))
    size = numbers.randint(1, 3)
    is_even = numbers.random() < 0.7
    sizes = [size if is_even else numbers.randint(1, 3) for _ in range(count)]
    shape[axis] = sum(sizes)
    inputs, more = [case.input("x", shape)], {"axis": axis}
    if not is_even or numbers.random() < 0.2:
        if case.opset < 13:
            more["split"] = sizes
        else:
            inputs.append(case.constant(np.array(sizes, np.int64), "sizes"))
    elif case.opset >= 18:
        more["num_outputs"] = count
    names = [f"y{i}" for i in range(count)]
    case.nodes.append(helper.make_node("Split", inputs, names, name="split", **more))
    for name, size in zip(names, sizes):
        case.output(name, shape[:axis] + [size] + shape[axis + 1:])


def reshape(case):
    """To a constant shape, or one that is only known as the output's. The compiler takes these alone, and no rule does: inside a
    part nothing states the output, and the compiler "cannot get shape"."""
    numbers = case.numbers
    case.draw_opset()
    shape = case.shape(range(7), 3)
    left, made = math.prod(shape), []
    while left > 1 or numbers.random() < 0.3:
        size = numbers.choice([one for one in range(1, left + 1) if left % one == 0])
        made.append(size)
        left //= size
    made = made[:6] if math.prod(made[:6]) == math.prod(shape) else [math.prod(shape)]
    x = case.input("x", shape)
    if numbers.random() < 0.7:
        case.constant(np.array(made, np.int64), "s")
    else:
        case.inputs.append(helper.make_tensor_value_info("s", TensorProto.INT64, [len(made)]))
    case.output(case.node("Reshape", [x, "s"], "y"), made)


def old_slice(case):
    """Where to slice as attributes, up to opset 9."""
    case.opset, numbers, shape = 9, case.numbers, case.shape(range(1, 7), 6)
    case.steps = None
    case.constants.clear()
    axes = sorted(numbers.sample(range(len(shape)), numbers.randint(1, len(shape))))
    begins, ends, made = [], [], list(shape)
    for axis in axes:
        begin = numbers.randint(0, shape[axis] - 1)
        end = numbers.randint(begin + 1, shape[axis])
        made[axis] = end - begin
        begins.append(begin - shape[axis] if numbers.random() < 0.2 else begin)
        at_end = numbers.choice((shape[axis], 1 << 31, (1 << 63) - 1))
        ends.append(at_end if end == shape[axis] else end - shape[axis] if numbers.random() < 0.2 else end)
    more = {} if axes == list(range(len(shape))) and numbers.random() < 0.5 else {"axes": axes}
    case.output(case.node("Slice", [case.input("x", shape)], "y", starts=begins, ends=ends, **more), made)


def one_concat(case):
    case.draw_opset()
    shape = case.shape(range(1, 7))
    case.output(case.node("Concat", [case.input("x", shape)], "y", axis=case.numbers.randrange(len(shape))), shape)


def max_pool(case):
    numbers = case.numbers
    if not case.steps:
        case.kind, case.opset = numbers.choice(("float32", "float16")), numbers.choice((8, 9, 10, 11, 12, 17, 22))
    axes = numbers.choice((1, 2, 2, 2, 3))
    shape = [numbers.randint(1, 3), numbers.randint(1, 4), *(numbers.randint(4, 9) for _ in range(axes))]
    kernel = [numbers.randint(1, 4) for _ in range(axes)]
    more = {"kernel_shape": kernel, "auto_pad": "VALID"}
    strides, dilations, is_up = [1] * axes, [1] * axes, 0
    if numbers.random() < 0.7:
        strides = more["strides"] = [numbers.randint(1, 3) for _ in range(axes)]
    if case.opset >= 10 and numbers.random() < 0.3:
        dilations = more["dilations"] = [numbers.choice((1, 1, 2)) for _ in range(axes)]
    if case.opset >= 10 and numbers.random() < 0.3:
        is_up = more["ceil_mode"] = numbers.randint(0, 1)
    spans = [(one - 1) * step + 1 for one, step in zip(kernel, dilations)]
    made = [(size - span + (stride - 1 if is_up else 0)) // stride + 1 for size, span, stride in zip(shape[2:], spans, strides)]
    case.output(case.node("MaxPool", [case.input("x", shape)], "y", **more), shape[:2] + made)


def tile(case):
    case.draw_opset()
    shape = case.shape(range(1, 7), 3)
    times = [case.numbers.randint(1, 3) for _ in shape]
    case.constant(np.array(times, np.int64), "times")
    case.output(case.node("Tile", [case.input("x", shape), "times"], "y"), [a * b for a, b in zip(shape, times)])


def mat_mul(case):
    numbers = case.numbers
    ranks = numbers.choice(((2, 5), (5, 2), (1, 5), (5, 1), (3, 5), (5, 3), (4, 5), (5, 4), (5, 5), (2, 6), (6, 2)))
    batch = case.shape((4,), 3)
    rows, inner, columns = (numbers.randint(1, 4) for _ in range(3))
    one, other = (([*batch, *batch][6 - rank:4] if rank < 6 else [2, *batch][-4:]) for rank in ranks)
    one = [inner] if ranks[0] == 1 else [*one, rows, inner]
    other = [inner] if ranks[1] == 1 else [*other, inner, columns]
    second = "float32" if case.steps else case.kind
    is_constant = numbers.random() < 0.4 and not case.steps
    weights = case.constant(np.ones(other, second), "w") if is_constant else case.input("w", other)
    made = list(np.matmul(np.zeros(one, np.int8), np.zeros(other, np.int8)).shape)
    case.output(case.node("MatMul", [case.input("x", one), weights], "y"), made)


def cast(case):
    """Also of what DequantizeLinear gives."""
    to = case.numbers.choice(TYPES)
    case.draw_opset()
    shape = case.shape(range(7))
    y = case.node("Cast", [case.input("x", shape)], "y", to=onnx_type(to))
    case.outputs.append(helper.make_tensor_value_info(y, onnx_type(to), shape))


def recurrent(op):
    gates = {"GRU": 3, "LSTM": 4}[op]

    def draw(case):
        numbers = case.numbers
        if not case.steps:
            case.kind, case.opset = numbers.choice(("float32", "float32", "float16")), numbers.choice((*OPSETS, 22))
        steps, batch, width, hidden = (numbers.randint(1, 4) for _ in range(4))
        direction = numbers.choice(("forward", "forward", "reverse", "bidirectional"))
        ways = 2 if direction == "bidirectional" else 1
        more = {"direction": direction} if direction != "forward" or numbers.random() < 0.3 else {}
        if op == "GRU" and numbers.random() < 0.7:
            more["linear_before_reset"] = 1
        weights = {"w": [ways, gates * hidden, width], "r": [ways, gates * hidden, hidden], "b": [ways, 2 * gates * hidden]}
        given = ["w", "r"] + ["b"] * (numbers.random() < 0.8)
        inputs = [case.input("x", [steps, batch, width]), *[case.constant(np.full(weights[one], 0.1, case.kind), one) for one in given]]
        states = ["h", "c"][:1 if op == "GRU" else 2]
        if numbers.random() < 0.7:
            inputs += [""] * (5 - len(inputs)) + [case.input(one, [ways, batch, hidden]) if numbers.random() < 0.6 else
                                                  case.constant(np.zeros([ways, batch, hidden], case.kind), one) for one in states]
        outputs = numbers.choice((["y"], ["y", "yh"], ["", "yh"]))
        if op == "LSTM" and numbers.random() < 0.5:
            outputs = numbers.choice((["y", "yh", "yc"], ["", "yh", "yc"]))
        case.nodes.append(helper.make_node(op, inputs, outputs, name="y", hidden_size=hidden, **more))
        for name in filter(None, outputs):
            case.output(name, [steps, ways, batch, hidden] if name == "y" else [ways, batch, hidden])
    return draw


DRAWN = {"Concat": concat, "GatherND": gather_nd, "Identity": identity, "Slice": slices, "Erf": gelu, "ScatterND": scatter_nd,
         "Where": where, "Split": split, "Reshape": reshape, "Slice of 9": old_slice, "Concat of 1": one_concat,
         "MaxPool": max_pool, "Tile": tile, "MatMul": mat_mul, "Cast": cast,
         **{op: elementwise(op) for op in ("Max", "Min", "Sum")}, **{op: recurrent(op) for op in ("GRU", "LSTM")},
         **{op: broadcast(op) for op in ("Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Equal", "Less", "Greater", "And", "Or")}}


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
