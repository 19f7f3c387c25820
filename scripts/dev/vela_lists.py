#!/usr/bin/env python3
"""Makes samples/lists/ethos_u55.json and ethos_u85.json of what Vela, Arm's compiler for Ethos-U, says it supports.

usage: vela_lists.py [-o samples/lists] [--report SUPPORTED_OPS.md] [--date YYYY-MM-DD]

Vela (ethos-u-vela on PyPI, Apache-2.0) writes what it can place on the NPU as sentences, by operator of TensorFlow
Lite. Each sentence becomes conditions of a rule, or stays in the rule's `unchecked`. Two rules are made of an operator:
one for `.tflite` files, and, where ONNX has the operator, one for ONNX models with Q/DQ nodes around it. Prints how many
sentences were turned into conditions; a sentence that this script does not know ends it.

Without --report the script installs Vela in a temporary folder and runs `vela --supported-ops-report`.

Exit status: 0 the lists are made; 1 Vela cannot be had, or its report has a sentence that is new.
"""

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LISTS = {
    "ethos_u55": "Ethos-U55 and Ethos-U65 TFLite",
    "ethos_u85": "Ethos-U85 TFLite",
}

# ---- operators: where their tensors are ----

PAIRS = {
    "ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU", "BATCH_MATMUL", "EQUAL", "NOT_EQUAL",
    "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "LOGICAL_AND", "LOGICAL_OR",
}  # fmt: skip
ALL_INPUTS = {"CONCATENATION", "PACK"}
FEATURE_MAPS = {"TRANSPOSE_CONV": [2], "SPLIT": [1], "SCATTER_ND": [1], "PADV2": [0, 2], "SELECT": [1, 2],
                "SELECT_V2": [1, 2]}  # fmt: skip
WEIGHTS = {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "FULLY_CONNECTED": 1, "TRANSPOSE_CONV": 1}
BIASES = {"CONV_2D": 2, "DEPTHWISE_CONV_2D": 2, "FULLY_CONNECTED": 2, "TRANSPOSE_CONV": 3}
PARAMETERS = {"MEAN": [1], "MIRROR_PAD": [1], "PAD": [1], "PADV2": [1], "SLICE": [1, 2], "STRIDED_SLICE": [1, 2, 3],
              "TRANSPOSE": [1]}  # fmt: skip
SPELLED_OTHERWISE = {"ARGMAX": "ARG_MAX"}  # in the report's lists of exceptions
MOST_RANK = 8  # that relations spell out
# Vela asks for quantisation parameters, but its compiler (5.2.0) does not where these operators compute with int32, for
# Ethos-U85 also bool: seen in models for Ethos-U55, tried operator by operator for Ethos-U85.
PLAIN = {
    "ethos_u55": {"ADD", "MUL", "RESHAPE", "SUB"},
    "ethos_u85": {
        "CONCATENATION", "EXPAND_DIMS", "GATHER", "MIRROR_PAD", "PACK", "PAD", "PADV2", "RESHAPE", "REVERSE_V2",
        "SCATTER_ND", "SLICE", "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE", "TILE", "TRANSPOSE", "UNPACK",
        "ABS", "ADD", "CAST", "DIV", "EQUAL", "GREATER", "GREATER_EQUAL", "LEAKY_RELU", "LESS", "LESS_EQUAL",
        "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "MAXIMUM", "MINIMUM", "MUL", "NEG", "NOT_EQUAL", "REDUCE_ALL",
        "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "SELECT_V2", "SUB", "SUM",
    },
}  # fmt: skip
SEEN = {  # what the lists say of this
    "ethos_u55": "; int32 without quantisation as its compiler takes it",
    "ethos_u85": "; int32 and bool without quantisation, and resizes of one pixel, as its compiler takes them",
}


def feature_maps(op):
    """Positions of the inputs that Vela calls IFM; None: all inputs."""
    if op in ALL_INPUTS:
        return None
    return FEATURE_MAPS.get(op, [0, 1] if op in PAIRS else [0])


def first_map(op):
    return f"in[{(feature_maps(op) or [0])[0]}]"


# ---- what a sentence asks ----


class Rule:
    """The conditions of an operator's rule that the sentences add up to."""

    def __init__(self, op, is_plain):
        self.op = op
        self.is_plain = is_plain  # int32 and bool need no quantisation: see PLAIN
        self.types = None  # of feature maps
        self.weight_types = None
        self.is_quantized = self.is_per_tensor = self.is_positive = False
        self.where, self.constant, self.fields = [], {}, {}
        self.late = []  # what is asked once all types are known

    def ask(self, *relations):
        self.where += [relation for relation in relations if relation not in self.where]

    def needs_quantization(self):
        return self.is_quantized and not self.is_plain

    def drop_types(self, *names):
        self.types = [name for name in self.types if name not in names]


def of_types(rule, match):
    rule.types = sorted(name.lower() for name in re.findall(r'"(\w+)"', match[1]))


def quantized(rule, _):
    rule.is_quantized = True


def positive_scales(rule, _):
    rule.is_positive = True


def per_tensor(rule, _):
    rule.is_per_tensor = True


def first_dim_open(rule, _):
    rule.fields["input_shape"] = "batched"
    rule.ask("all(out[0].dim[1:] >= 0)")


def known_rank(rule, _):
    """Vela takes a scalar that is no constant as a tensor without a shape."""
    maps = feature_maps(rule.op)
    rule.ask("all(in.rank >= 0)", "all(out.rank >= 1)")
    rule.ask(*(["all(in.rank >= 1)"] if maps is None else [f"in[{i}].constant or in[{i}].rank >= 1" for i in maps]))


def has_input(rule, _):
    rule.ask("len(in) >= 1")


def has_output(rule, _):
    rule.ask("len(out) >= 1")


def no_64_bit(rule, _):
    rule.drop_types("int64")


def no_32_bit(rule, _):
    rule.drop_types("int32", "int64")


def tensors_of(rule):
    """The feature maps and outputs as relations name them."""
    inputs = feature_maps(rule.op)
    return ["in", "out"] if inputs is None else [*(f"in[{i}]" for i in inputs), "out"]


def when_quantized(rule, name, relation):
    """Tensors without quantisation have no zero point to ask for."""
    rule.ask(relation if rule.needs_quantization() else f"max({name}.scales) == 0 or {relation}")


def zero_points_55(rule, _):
    rule.late.append(zero_points_55_of_types)


def zero_points_55_of_types(rule):
    for name in tensors_of(rule):
        for kind, relation in (("int32", "== 0"), ("uint8", ">= 0")):
            if kind in rule.types:
                when_quantized(rule, name, f'not any({name}.dtype == "{kind}") or all({name}.zero_point {relation})')


def zero_points_85_in(rule, _):
    rule.late.append(zero_points_85_in_of_types)


def zero_points_85_in_of_types(rule):
    for name in tensors_of(rule)[:-1]:
        allowed = [
            f'any({name}.dtype == "{kind}") and min({name}.zero_point) >= {least} and max({name}.zero_point) <= {most}'
            for kind, least, most in (("int8", -128, 127), ("uint8", 0, 255))
            if kind in rule.types
        ]
        when_quantized(rule, name, " or ".join([*allowed, f"all({name}.zero_point == 0)"]))


def zero_points_85_out(rule, _):
    signed = "min(out.zero_point) >= -128 and max(out.zero_point) <= 127"
    unsigned = "min(out.zero_point) >= 0 and max(out.zero_point) <= 255"
    is_unsigned = 'any(out.dtype == "uint8")'
    rule.late.append(
        lambda rule: when_quantized(rule, "out", f"not {is_unsigned} and {signed} or {is_unsigned} and {unsigned}")
    )


def strides_1_to_3(rule, _):
    # Operators without strides are run as convolutions or pools of stride 1.
    if rule.op in ("DEPTHWISE_CONV_2D",):
        rule.ask("attr.stride_w >= 1 and attr.stride_w <= 3 and attr.stride_h >= 1 and attr.stride_h <= 3")


def long_strides(rule, _):
    dilation = "attr.dilation_w_factor == 1 and attr.dilation_h_factor == 1 and " if rule.op == "CONV_2D" else ""
    rule.ask(f'attr.stride_w <= 3 and attr.stride_h <= 3 or {dilation}attr.padding == "VALID"')


def pool_kernel(rule, _):
    valid = "attr.filter_height * attr.filter_width <= 65536 and attr.filter_height <= 256"
    same = "attr.filter_height <= 8 and attr.filter_width <= 8"
    rule.ask(f'attr.padding == "VALID" and {valid} or attr.padding != "VALID" and {same}')


def max_pool_kernel(rule, _):
    rule.ask("attr.filter_height * attr.filter_width <= 65536", "attr.filter_height <= 256")


def arg_max_depth(rule, _):
    rule.ask("in[0].dim[-1] <= 127")


def last_axis(rule, _):
    rule.constant["1"] = True
    rule.ask("all(in[1].values == -1) or all(in[1].values == in[0].rank - 1)")


def matmul_int8(rule, _):
    rule.ask('in[1].constant or in[0].dtype == "int8"' if rule.op == "FULLY_CONNECTED" else 'in[0].dtype == "int8"')


def if_dynamic(rule, relation):
    rule.ask(f"in[1].constant or {relation}" if rule.op == "FULLY_CONNECTED" else relation)


def matmul_depth(rule, _):
    if_dynamic(rule, "out[0].dim[-1] <= 65536")


def matmul_reduced(rule, _):
    if_dynamic(rule, "in[0].dim[-1] <= 65536 and in[0].dim[-2] <= 65536" if rule.op == "BATCH_MATMUL" else
               "in[0].dim[-1] <= 65536")


def bias_constant(rule, _):
    rule.constant[f"{BIASES[rule.op]}?"] = True


def bias_types(rule, _):
    bias = f"in[{BIASES[rule.op]}]"
    rule.ask(f'not {bias}.given or {bias}.dtype == "int32" or {bias}.dtype == "int64"')


def bias_axis(rule, _):
    bias = f"in[{BIASES[rule.op]}]"
    rule.ask(f"not {bias}.given or {bias}.elements == {bias}.dim[-1]")


def bias_values(rule, match):
    # The values are read only where they are needed: those of 32 bits are smaller.
    bias = f"in[{BIASES[rule.op]}]"
    rule.ask(f'not {bias}.given or {bias}.dtype != "int64" or max({bias}.values) < {match[1]} and '
             f"min({bias}.values) > -{match[1]}")  # fmt: skip


def weight_types(rule, _):
    rule.weight_types = ["int8", "uint8"]


def weight_sums(rule, match):
    """The sum for one output. A weight is 128 at most, 255 if it is unsigned and its zero point is not 128: where even
    that many fit the sums need not be known."""
    weight = f"in[{WEIGHTS[rule.op]}]"
    of_8, of_16 = (int(number) for number in re.findall(r"cannot exceed (\d+)", match[0]))
    if rule.op == "DEPTHWISE_CONV_2D":
        count = f"{weight}.dim[1] * {weight}.dim[2]"
    elif rule.op == "FULLY_CONNECTED":
        count = f"{weight}.dim[-1]"
    else:
        count = f"{weight}.dim[1] * {weight}.dim[2] * {weight}.dim[3]"
    most = f'{count} <= {{}} or {weight}.dtype == "int8" and {count} <= {{}}'
    narrow, wide = most.format(of_8 // 255, of_8 // 128), most.format(of_16 // 255, of_16 // 128)
    rule.ask(narrow if of_8 == of_16 else f'{first_map(rule.op)}.dtype != "int16" and ({narrow}) or '
             f'{first_map(rule.op)}.dtype == "int16" and ({wide})')  # fmt: skip


def same_types(*names):
    def decide(rule, _):
        rule.types = [name for name in rule.types if name in names]
        rule.ask("in[0].dtype == out[0].dtype")
    return decide


def only_types(*names):
    def decide(rule, _):
        rule.types = [name for name in rule.types if name in names]
    return decide


def same_shapes(rule, _):
    rule.ask("in[0].dim == out[0].dim")


def flat_weights(rule, _):
    rule.ask("in[1].rank == 2 or in[1].rank > 2 and in[1].elements == in[1].dim[0] * in[1].dim[-1]")


def same_quantization(rule, _):
    for i in (0, 1):
        neither = f"max(in[{i}].scales) == 0 and max(out[0].scales) == 0 or " if rule.is_plain else ""
        rule.ask(*(f"{neither}in[{i}].{what} == out[0].{what}" for what in ("scale", "zero_point")))


def mean_elements(rule, _):
    limits = {"int8": 16777216, "uint8": 8388608, "int16": 65536}
    rule.ask(" or ".join(f'in[0].dtype == "{kind}" and in[0].elements <= {most} * out[0].elements'
                         for kind, most in limits.items()))


def batch_of_1(rule, _):
    rule.ask("in[0].rank < 4 or in[0].dim[0] == 1")


def mean_axis(rule, _):
    # An axis that is reduced is not longer than the longest one.
    rule.ask("in[0].elements < 4096 * out[0].elements or max(in[0].dim) < 4096")


def mean_depth(rule, _):
    rule.constant["1"] = True
    axes = "any(in[1].values == -1) or any(in[1].values == in[0].rank - 1)"
    rule.ask(f"in[0].rank < 2 or not ({axes}) or any(in[0].dim[-3:] == 1)")


def parameters_constant(rule, _):
    for i in PARAMETERS[rule.op]:
        rule.constant[str(i)] = True


def parameter_types(rule, _):
    rule.ask(*(f'in[{i}].dtype == "int32" or in[{i}].dtype == "int64"' for i in PARAMETERS[rule.op]))


def resize_55(rule, match):
    """Both axes by the same factor, or one by 1; between the corners with align_corners, which is 0 or 1."""
    same = "in[0].dim[1] == 1 and in[0].dim[2] == 1 or in[0].dim == out[0].dim"
    made = {axis: f"(out[0].dim[{axis}] - attr.align_corners)" for axis in (1, 2)}
    given = {axis: f"max(in[0].dim[{axis}] - attr.align_corners, 1)" for axis in (1, 2)}
    factor = {axis: f"{made[axis]} / {given[axis]}" for axis in (1, 2)}
    rule.ask(f"{same} or " + " and ".join(f"{made[axis]} % {given[axis]} == 0" for axis in (1, 2)),
             f"{same} or {factor[1]} == {factor[2]} or "
             + " or ".join(f"in[0].dim[{axis}] == 1 and out[0].dim[{axis}] == 1" for axis in (1, 2)))  # fmt: skip
    larger = f"max({factor[1]}, {factor[2]})"
    wide = f"{larger} == 4 or {larger} == 8"
    if "half pixel" in match[0]:
        wide = f"not attr.half_pixel_centers and ({wide})"
    rule.ask(f"{same} or {larger} == 2 or {wide}")


def of_one_pixel(rule):
    """Its compiler takes what has one pixel to any size, which is no resize but copies."""
    return "in[0].dim[1] == 1 and in[0].dim[2] == 1 or " if rule.op == "RESIZE_BILINEAR" else ""


def resize_most(rule, _):
    most = "out[0].dim[{0}] <= {1} * in[0].dim[{0}]"
    corner = "out[0].dim[{0}] - 1 <= 2048 * (in[0].dim[{0}] - 1)"
    for axis in (1, 2):
        rule.ask(f"{of_one_pixel(rule)}attr.align_corners and ({corner.format(axis)}) or not attr.align_corners and "
                 f"{most.format(axis, 1024)}")  # fmt: skip


def resize_power(rule, _):
    powers = [2**i for i in range(11)]
    for axis in (1, 2):
        plain = " or ".join(f"out[0].dim[{axis}] == {power} * in[0].dim[{axis}]" for power in powers)
        corners = " or ".join(f"out[0].dim[{axis}] - 1 == {power} * (in[0].dim[{axis}] - 1)" for power in powers)
        one = of_one_pixel(rule)
        rule.ask(f"{one}attr.align_corners or {plain}", f"{one}not attr.align_corners or {corners}")


def resize_exclusive(rule, _):
    rule.ask("not attr.align_corners or not attr.half_pixel_centers")


def softmax_size(rule, _):
    rule.ask("in[0].elements < 65536 * in[0].dim[-1]")


def num_splits(rule, _):
    rule.ask("attr.num_splits == len(out)")


def slice_volume(rule, _):
    rule.constant["3"] = True
    rule.ask("all(in[3].values >= 1)", "attr.ellipsis_mask == 0 and attr.new_axis_mask == 0",
             "min(out[0].dim) >= 1")  # fmt: skip


def rank_8(rule, _):
    rule.ask(f"in[0].rank <= {MOST_RANK}")


def transpose_32(rule, _):
    """The permutations of four axes, and the sizes that they allow; fewer axes count as if those in front were 1."""
    nhwc, nwhc, nhcw = [0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 3, 2]
    rule.constant["1"] = True
    rule.ask('in[0].dtype != "int32" or in[0].rank <= 4')
    for rank in range(2, 5):
        lead = 4 - rank
        n, h, w, c = ("1" if axis < lead else f"in[0].dim[{axis - lead}]" for axis in range(4))
        allowed = []
        for order, bounds in (
            (nhwc, f"{c} <= 65536"),
            (nwhc, f"{n} == 1 and {h} <= 65536 and {w} <= 65536 and {c} <= 16384"),
            (nhcw, f"{n} * {h} <= 65536 and {w} <= 65536 and {c} <= 65536"),
        ):
            if order[:lead] == list(range(lead)):
                axes = [f"in[1].values[{i - lead}] == {order[i] - lead}" for i in range(lead, 4)]
                allowed.append(" and ".join([*axes, bounds]))
        rule.ask(f'in[0].dtype != "int32" or in[0].rank != {rank} or ' + " or ".join(allowed))


def transpose_8(rule, _):
    """Small tensors meet each bound; larger ones where no product of all axes but two is beyond it."""
    rule.ask('in[0].dtype == "int32" or in[0].elements <= 65536 or in[0].rank <= 3 and max(in[0].dim) <= 65536 or '
             "in[0].rank == 4 and max(in[0].dim[1] * in[0].dim[0], in[0].dim[2] * in[0].dim[0], "
             "in[0].dim[3] * in[0].dim[0], in[0].dim[1] * in[0].dim[2], in[0].dim[1] * in[0].dim[3], "
             "in[0].dim[2] * in[0].dim[3]) <= 65536 or in[0].rank == 4 and in[0].dim[0] == 1 and "
             "in[1].values[0] == 0 and max(in[0].dim) <= 65536")  # fmt: skip


def transpose_conv_shape(rule, _):
    for axis, name in ((1, "h"), (2, "w")):
        out, image, kernel, stride = f"out[0].dim[{axis}]", f"in[2].dim[{axis}]", f"in[1].dim[{axis}]", f"attr.stride_{name}"
        rule.ask(f'attr.padding == "SAME" and {out} == {image} * {stride} or attr.padding != "SAME" and '
                 f"{out} == {image} * {stride} + max({kernel} - {stride}, 0)")  # fmt: skip


def transpose_conv_strides(rule, _):
    rule.ask("attr.stride_w == 1 and attr.stride_h == 1 or attr.stride_w == 2 and attr.stride_h == 2 or "
             "attr.stride_w == 2 and attr.stride_h == 1 and in[2].dim[1] == 1 and in[1].dim[1] == 1 or "
             "attr.stride_w == 1 and attr.stride_h == 2 and in[2].dim[2] == 1 and in[1].dim[2] == 1")  # fmt: skip


def inputs_given(positions, wanted):
    def decide(rule, _):
        rule.fields.setdefault("given", {}).update({str(i): wanted for i in positions})
    return decide


def gather_axis(rule, _):
    rule.ask("attr.axis == attr.batch_dims")


def constant_input(*positions):
    def decide(rule, _):
        rule.constant.update({str(i): True for i in positions})
    return decide


def channel_of_1(rule, _):
    rule.ask("in[0].dim[-1] == 1")


# What is not easily seen from the relation itself: reports say these in Vela's words.
TOLD = {
    mean_depth, mean_axis, mean_elements, batch_of_1, slice_volume, strides_1_to_3, long_strides, pool_kernel, max_pool_kernel,
    arg_max_depth, last_axis, matmul_int8, matmul_depth, matmul_reduced, bias_types, bias_axis, bias_values, weight_sums,
    flat_weights, resize_55, resize_most, resize_power, softmax_size, num_splits, transpose_32, transpose_8,
    transpose_conv_shape, transpose_conv_strides, gather_axis, channel_of_1,
}  # fmt: skip
NOT_DECIDED = object()  # no condition of a rule can say it
NO_NODES = object()  # the operators are values of the model, never nodes

SENTENCES = [
    (r"Only the first dimension of tensors can be dynamic", first_dim_open),
    (r"Feature-map dataTypes must be one of \{(.*?)\}", of_types),
    (r"Tensors must have constant shape", known_rank),
    (r"Operations must have at least one IFM", has_input),
    (r"Operations must have at least one OFM", has_output),
    (r"Input\(s\), Output and Weight tensors must have quantization parameters", quantized),
    (r"Quantization scale of any tensor must be positive", positive_scales),
    (r"Per-axis quantization is not supported", per_tensor),
    (r"64-bit feature-maps are not supported", no_64_bit),
    (r"32-bit feature-maps are not supported", no_32_bit),
    (r"Zero-points must be 0 for Int32", zero_points_55),
    (r"IFM Zero-points must be in the range", zero_points_85_in),
    (r"OFM Zero-points must be in the range", zero_points_85_out),
    (r"IFM depth must be less than or equal to 127", arg_max_depth),
    (r"Kernel stride must be in the range \(1,3\)", strides_1_to_3),
    (r"Operation must be performed along the depth axis", last_axis),
    (r"Kernel constraints", pool_kernel),
    (r"Stride>3 is only supported IF", long_strides),
    (r"IF Matmul or .*: IFM precision must be Int8", matmul_int8),
    (r"IF Matmul or .*: OFM depth", matmul_depth),
    (r"IF Matmul or .*: Reduced axis", matmul_reduced),
    (r"Bias tensors must be constant", bias_constant),
    (r"Bias tensors precision must be Int32 or Int64", bias_types),
    (r"Bias values must be stored in the channel axis", bias_axis),
    (r"Int64 bias must be smaller than (\d+)", bias_values),
    (r"Weight tensors must be 8-bit precision", weight_types),
    (r"Weigth sum constraints.*", weight_sums),
    (r"IFM and OFM datatypes must match, and must be Int8 or UInt8", same_types("int8", "uint8")),
    (r"IFM and OFM datatypes must match, and must be Int8 or Int16", same_types("int8", "int16")),
    (r"IFM and OFM datatypes must match, and must be Int8", same_types("int8")),
    (r"IFM and OFM shapes must match", same_shapes),
    (r"FullyConnected weights must be on the form", flat_weights),
    (r"Both Input quantization parameters must match OFM", same_quantization),
    (r"kernel product must be less than", max_pool_kernel),
    (r"Amount of reduced elements cannot exceed", mean_elements),
    (r"Batch must be 1", batch_of_1),
    (r"IFM precision must be one of: \(Int8, UInt8, Int16\)", only_types("int8", "uint8", "int16")),
    (r"Parameter tensors must be constant", parameters_constant),
    (r"Reduced axis must be less than 4096", mean_axis),
    (r"Reduction over depth is only supported if", mean_depth),
    (r"Params tensor must be Int32 or Int64", parameter_types),
    (r"IF not \(IFM H == IFM W == 1\).*", resize_55),
    (r"IF NOT \(IFM H == IFM W == 1\).*", resize_55),
    (r"Axis attribute is not supported", NOT_DECIDED),
    (r"IFM must be Int8 or Int16", only_types("int8", "int16")),
    (r"The product of IFM width and height must be less than 65536", softmax_size),
    (r"num_splits must match the number of outputs", num_splits),
    (r"Slice must represent a volume", slice_volume),
    (r"IF IFM is Int32", transpose_32),
    (r"IF IFM is Int8 or Int16", transpose_8),
    (r"Tensor dimension must be <= 8", rank_8),
    (r"Shape constraints", transpose_conv_shape),
    (r"Stride values WxH must be", transpose_conv_strides),
    (r"Gate normalization is not supported", inputs_given((20, 21, 22, 23), False)),
    (r"Implicit gate calculation is not supported", inputs_given((1, 5), True)),
    (r"Peephole variant is not supported", inputs_given((9, 10, 11), False)),
    (r"Projection is not supported", inputs_given((16, 17), False)),
    (r"Variable handle tensors must be Resource", NO_NODES),
    (r"axis must be equal to batch_dims", gather_axis),
    (r"Scale-factor must be an integer power of two", resize_power),
    (r"Scale-factor:", resize_most),
    (r"align_corners and half_pixel_centers are mutually exclusive", resize_exclusive),
    (r"Index tensor elements must be unique", NOT_DECIDED),
    (r"Index tensor must be constant", constant_input(0)),
    (r"Index tensor must have channel=1", channel_of_1),
    (r"Shape tensor must be constant", constant_input(2)),
]


def reader_of(sentence):
    for pattern, decide in SENTENCES:
        if match := re.match(pattern, sentence):
            return decide, match
    raise ValueError(f"Vela has a sentence that this script does not know: {sentence!r}")


# ---- the report ----


def sentences_below(text, heading):
    """The sentences of a section, each with the lines indented below it."""
    start = text.index(f"# {heading}\n")
    section = re.split(r"\n#", text[start + 1 :], maxsplit=1)[0]
    found = []
    for line in section.splitlines():
        if line.startswith("- "):
            found.append(line[2:].strip())
        elif line.strip().startswith("- "):
            found[-1] += " " + line.strip()
    return found


def without_exceptions(sentence):
    """The sentence, and the operators that it is not about."""
    match = re.search(r"\s*- Exceptions: \[(.*?)\]", sentence)
    if not match:
        return sentence, set()
    names = {SPELLED_OTHERWISE.get(name.strip(), name.strip()) for name in match[1].split(",")}
    return (sentence[: match.start()] + sentence[match.end() :]).strip(), names


def operators_of(text, kind):
    """{operator: its sentences, the generic ones first}"""
    table = text[text.index(f"## {kind} Summary Table") :]
    table = table[: table.index("\n## ", 5)]
    generic = [without_exceptions(one) for one in sentences_below(text, f"{kind} Generic Constraints")]
    operators = {}
    for op, links in re.findall(r"^\| (\w+) \| (.*) \|$", table, re.MULTILINE):
        if op == "Operator":
            continue
        operators[op] = [one for one, exceptions in generic if op not in exceptions]
        if "[Specific]" in links:
            operators[op] += sentences_below(text, f"{kind} {op} Constraints")
    return operators


# ---- rules ----


def rule_of(op, sentences, counts, is_plain):
    """The rule for .tflite files. `counts`: {sentence: [decided, not]} over all operators."""
    rule, unchecked = Rule(op, is_plain), []
    for sentence in sentences:
        decide, match = reader_of(sentence)
        is_decided = decide is not NOT_DECIDED
        counts.setdefault(sentence, [0, 0])[0 if is_decided else 1] += 1
        if decide is NO_NODES:
            return None
        if is_decided:
            before = len(rule.where)
            decide(rule, match)
            if decide in TOLD:
                words = sentence.rstrip(".")
                rule.where[before:] = [{"relation": one, "why": words} for one in rule.where[before:]]
        else:
            unchecked.append(sentence)
    return written(rule, unchecked)


def written(rule, unchecked):
    for ask in rule.late:
        ask(rule)
    made = {"op": rule.op}
    maps = feature_maps(rule.op)
    types = rule.types
    if maps is None:
        made["inputs"] = {"all": types}
    else:
        positions = dict.fromkeys(maps, types)
        if rule.weight_types:
            positions[WEIGHTS[rule.op]] = rule.weight_types
        made["inputs"] = [positions.get(i) for i in range(max(positions) + 1)]
    made["outputs"] = [types]
    quantization(rule, maps, made)
    if rule.constant:
        made["constant"] = rule.constant
    made.update(rule.fields)
    made["where"] = rule.where
    if unchecked:
        made["unchecked"] = "; ".join(unchecked)
    return made


def quantization(rule, maps, made):
    """The field "quantized", and relations on scales."""
    way = ["tensor"] if rule.is_per_tensor else ["tensor", "axis"]
    tensors = {}
    if rule.is_quantized or rule.is_per_tensor:
        ways = way if rule.needs_quantization() else ["none", *way]
        if maps is None:
            tensors["all"] = ways
        else:
            tensors.update({str(i): ways for i in maps})
            tensors["out0"] = ways
        if rule.op in WEIGHTS and rule.is_quantized:
            tensors[str(WEIGHTS[rule.op])] = ["tensor", "axis"]
        made["quantized"] = tensors
    if rule.is_quantized and rule.is_plain:
        names = tensors_of(rule)
        every = " and ".join(f"min({name}.scales) >= 1" for name in names)
        others = [f'not any({name}.dtype == "{kind}")' for name in names for kind in ("int8", "uint8", "int16", "int64")]
        rule.ask(f"{every} or " + " and ".join([*(f"max({name}.scales) == 0" for name in names), *others]))
    if rule.is_positive:
        names = ["in" if maps is None else f"in[{i}]" for i in (maps or [0])] + ["out"]
        if rule.op in WEIGHTS:
            names.append(f"in[{WEIGHTS[rule.op]}]")
        for name in names:
            relation = f"all({name}.scale > 0)"
            rule.ask(f"max({name}.scales) == 0 or {relation}" if rule.is_plain else relation)


# ONNX operators that do the same as one of TensorFlow Lite, and where they do.
ONNX = {
    "ABS": "Abs", "ADD": "Add", "ADD_N": "Sum", "ARG_MAX": "ArgMax", "ARG_MIN": "ArgMin",
    "AVERAGE_POOL_2D": "AveragePool", "BATCH_MATMUL": "MatMul", "CAST": "Cast", "CEIL": "Ceil",
    "CONCATENATION": "Concat", "COS": "Cos", "CUMSUM": "CumSum", "DEPTH_TO_SPACE": "DepthToSpace",
    "DEQUANTIZE": "DequantizeLinear", "DIV": "Div", "ELU": "Elu", "EQUAL": "Equal", "EXP": "Exp",
    "EXPAND_DIMS": "Unsqueeze", "FLOOR": "Floor", "FULLY_CONNECTED": "Gemm", "GATHER": "Gather",
    "GATHER_ND": "GatherND", "GELU": "Gelu", "GREATER": "Greater", "GREATER_EQUAL": "GreaterOrEqual",
    "HARD_SWISH": "HardSwish", "LEAKY_RELU": "LeakyRelu", "LESS": "Less", "LESS_EQUAL": "LessOrEqual", "LOG": "Log",
    "LOGICAL_AND": "And", "LOGICAL_NOT": "Not", "LOGICAL_OR": "Or", "LOGISTIC": "Sigmoid",
    "LOG_SOFTMAX": "LogSoftmax", "MAXIMUM": "Max", "MAX_POOL_2D": "MaxPool", "MEAN": "ReduceMean", "MINIMUM": "Min",
    "MUL": "Mul", "NEG": "Neg", "POW": "Pow", "PRELU": "PRelu", "QUANTIZE": "QuantizeLinear",
    "REDUCE_MAX": "ReduceMax", "REDUCE_MIN": "ReduceMin", "REDUCE_PROD": "ReduceProd", "RELU": "Relu",
    "RESHAPE": "Reshape", "ROUND": "Round", "SCATTER_ND": "ScatterND", "SELECT": "Where", "SELECT_V2": "Where",
    "SHAPE": "Shape", "SIGN": "Sign", "SIN": "Sin", "SLICE": "Slice", "SOFTMAX": "Softmax",
    "SPACE_TO_DEPTH": "SpaceToDepth", "SPLIT": "Split", "SPLIT_V": "Split", "SQRT": "Sqrt", "SQUEEZE": "Squeeze",
    "STRIDED_SLICE": "Slice", "SUB": "Sub", "SUM": "ReduceSum", "TANH": "Tanh", "TILE": "Tile", "TOPK_V2": "TopK",
    "TRANSPOSE": "Transpose", "TRANSPOSE_CONV": "ConvTranspose",
    "CONV_2D": "Conv", "DEPTHWISE_CONV_2D": "Conv", "MIRROR_PAD": "Pad", "PAD": "Pad", "PADV2": "Pad",
    "RESIZE_BILINEAR": "Resize", "RESIZE_NEAREST_NEIGHBOR": "Resize", "UNIDIRECTIONAL_SEQUENCE_LSTM": "LSTM",
}  # fmt: skip
ONNX_WHERE = {
    "CONV_2D": "attr.group == 1",
    "DEPTHWISE_CONV_2D": "attr.group > 1 and attr.group == in[0].dim[1]",
    "MIRROR_PAD": 'attr.mode == "reflect"',
    "PAD": 'attr.mode == "constant"',
    "PADV2": 'attr.mode == "constant"',
    "RESIZE_BILINEAR": 'attr.mode == "linear"',
    "RESIZE_NEAREST_NEIGHBOR": 'attr.mode == "nearest"',
    "UNIDIRECTIONAL_SEQUENCE_LSTM": 'attr.direction != "bidirectional"',
}


def onnx_rules(operators, native):
    """The rules for ONNX's operators between DequantizeLinear and QuantizeLinear, with the generic sentences decided."""
    rules = []
    for op, sentences in operators.items():
        if op not in native or op not in ONNX or op == "QUANTIZE":  # what QuantizeLinear reads is float32
            continue
        rule: dict = {"op": ONNX[op]}
        if op in ONNX_WHERE:
            rule["where"] = [ONNX_WHERE[op]]
        rule |= {"why": op, "quantized": {"activations": ["tensor", *native[op].types]}, "input_shape": "batched"}
        if op in WEIGHTS:
            rule["quantized"]["1"] = ["tensor", "axis", "int8", "uint8"]
        if left := [one.rstrip(".") for one in sentences if not is_generic(one)]:
            rule["unchecked"] = "; ".join(left)
        rules.append(rule)
    return rules


def is_generic(sentence):
    """Whether the conditions of onnx_rules() decide it."""
    return reader_of(sentence)[0] in (first_dim_open, of_types, known_rank, has_input, has_output, quantized,
                                      positive_scales, per_tensor, no_64_bit, no_32_bit, weight_types)  # fmt: skip


class Native:
    """What the ONNX rule of an operator takes from the one for .tflite."""

    def __init__(self, made):
        inputs = made["inputs"]
        self.types = inputs["all"] if isinstance(inputs, dict) else next(one for one in inputs if one)


# ---- files ----


def list_text(name, source, rules):
    lines = [json.dumps(rule) for rule in rules]
    head = f'{{\n "format": "cleave.support",\n "version": 1,\n "name": {json.dumps(name)},\n "source": {json.dumps(source)},\n'
    head += ' "link": {"bandwidth": "none"},\n'
    return head + ' "allow": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"


def vela_report(folder):
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    subprocess.run([programs / "pip", "install", "-q", "ethos-u-vela"], check=True)
    subprocess.run([programs / "vela", "--supported-ops-report"], check=True, cwd=folder, capture_output=True)
    return folder / "SUPPORTED_OPS.md"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("samples/lists"))
    parser.add_argument("--report", type=Path, help="what vela --supported-ops-report wrote")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="that the lists state")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            report = options.report or vela_report(Path(scratch))
            text = report.read_text(encoding="utf-8")
            version = re.search(r"Vela version: `(.*?)`", text)[1]
            for name, kind in LISTS.items():
                counts, rules, native = {}, [], {}
                operators = operators_of(text, kind)
                for op, sentences in operators.items():
                    made = rule_of(op, sentences, counts, op in PLAIN[name])
                    if made is None:
                        continue
                    rules.append(made)
                    native[op] = Native(made)
                rules += onnx_rules(operators, native)
                source = (f"what vela --supported-ops-report of ethos-u-vela {version} (PyPI) writes, {options.date} "
                          f"(Apache-2.0){SEEN[name]}")  # fmt: skip
                (options.output / f"{name}.json").write_text(list_text(name, source, rules), encoding="utf-8")
                decided, left = (sum(count[i] for count in counts.values()) for i in (0, 1))
                print(f"{name}: {len(rules)} rules; of {decided + left} sentences ({len(counts)} different) {decided} "
                      f"are decided, {left} unchecked")  # fmt: skip
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            print(error, file=sys.stderr)
            sys.exit(1)


if __name__ == "__main__":
    main()
