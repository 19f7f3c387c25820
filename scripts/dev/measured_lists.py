#!/usr/bin/env python3
"""Makes support lists of what was measured on devices: samples/lists/qnn_npu.json and openvino_npu.json.

usage: measured_lists.py [-o samples/lists] [--wheel FILE] [--only NAME]... [--most-boxes N]

winml-cli (PyPI, MIT licence) has the verdicts that Microsoft measured on devices, one row for each case: a model of one
node with certain types, ranks, constant inputs and attributes, whether the provider compiled it without the CPU's help,
and whether it ran. Yes means both. A rule of the list is a box: for each column that cleave's rules can speak about, a
set of measured values. A box holds at least one yes and not a single no; rows that differ only in columns that no rule
can speak about count as one, and as a no if one of them is. So what a list accepts was measured, as far as its words go.

The corpus also has cases of an operator between DequantizeLinear and QuantizeLinear. They make rules of their own, which ask
how the tensors are quantised ("quantized"); a plain rule of such an operator then asks that they are not. The list keeps
these operators whole ("keep_qdq").

Versions of an operator whose schemas say the same of a node are one (rows_of_version()). So a version that was not measured has the
rows of one that was, and its rules say that they are taken on trust ("unchecked"), unless today's compiler takes it: qnn_versions.json
has what Qualcomm's said, recorded by tests/npu/versions_test.py. Where the corpus says no of a version, yes of the same case in
another, and that compiler takes the version, the no was the version's alone, and does not count. Nor does the no of cases that
the file lists by their cells ("cases"), all of which that compiler takes today: tests/npu/qnn_test.py tries them.

What the corpus has no case of, or refused, and that compiler takes today, stands in qnn_today.json as rules and patterns:
operators with more inputs, of higher ranks, or only in company of others. So does what it refuses today of what was taken, or
of what the columns cannot tell ("deny"): the rank that two inputs are broadcast to. tests/npu/today_test.py measured them, and
asks the compiler again about random cases of each.

The same corpus gives the same bytes. Needs: pip install pyarrow numpy 'onnx>=1.23'

Exit status: 0 all is made; 1 the corpus cannot be had.
"""

import argparse
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import onnx
import pyarrow.parquet as parquet

PACKAGE = "winml-cli"
VERSION = "0.4.0"
RULES = "winml/modelkit/analyze/rules/runtime_check_rules/"
OLDEST_OPSET = 7  # what ONNX Runtime takes, which is before both devices
HIGHEST_OPSET = 28  # of onnx 1.23, and the newest that ONNX Runtime 1.32 takes
TODAY = Path(__file__).parent / "qnn_versions.json"
TODAY_ALSO = Path(__file__).parent / "qnn_today.json"
MOST_INPUTS = 8
DEVICES = {"qnn_npu": "QNNExecutionProvider_NPU", "openvino_npu": "OpenVINOExecutionProvider_NPU"}
# Devices without float64. The corpus says yes of it in a few rows; they were none of the device's verdicts.
WITHOUT_FLOAT64 = {"qnn_npu"}
# Versions that mean something else than the one before, although the schemas look the same: with which attributes they still
# mean the same, or never.
CHANGED: dict[tuple[str, int], dict[str, set] | None] = {
    ("AveragePool", 11): {"auto_pad": {"NOTSET", "VALID"}},  # how SAME_UPPER and SAME_LOWER round is only said since
    ("AveragePool", 19): None,  # what counts of windows in the padding changed
    ("ConvTranspose", 11): {"auto_pad": {"NOTSET", "VALID"}},  # SAME_UPPER and SAME_LOWER changed places
    ("Hardmax", 13): None,  # before, the input was made a matrix at `axis`
    ("LogSoftmax", 13): None,
    ("Softmax", 13): None,
}
# In these versions attributes became inputs of the same names. As a constant the input is the attribute.
BECAME_INPUTS = {("Clip", 11): ("min", "max"), ("Split", 13): ("split",), ("Unsqueeze", 13): ("axes",)}
# Cases with these values that the corpus has as taken, and that the compiler of today refuses whatever their rank and opset:
# found by tests/npu/random_cases_test.py with onnxruntime-qnn 2.7.0.
REFUSED_TODAY: dict[tuple[str, str], dict[str, object]] = {
    ("qnn_npu", "Cast"): {"T1_Cast": "FLOAT16", "attr_to": 9},  # to bool
    ("qnn_npu", "TopK"): {"T_TopK": "UINT32"},
}
ON_TRUST = "this version of the operator was not measured; ONNX's schemas say the same of it as of one that was"
# Of quantised cases, by input 0: the weights, as constants, that today's compiler takes of any bias. It also takes all others
# of int8 inputs without a bias.
WEIGHTS_TODAY = {"INT8": {"INT8", "INT4"}, "INT16": {"INT8", "INT4"}, "UINT8": {"INT8", "INT4", "UINT8"},
                 "UINT16": {"INT8", "INT4", "UINT8", "INT16"}}
NAMES_OF_OPERANDS = {"Conv": ("X", "W", "B"), "ConvTranspose": ("X", "W", "B"), "Gemm": ("A", "B", "C"), "MatMul": ("A", "B", "")}
# The input of quantised cases that is a constant: winml-cli's generators make it so, and no column says it.
WEIGHTS = {"Conv": 1, "ConvTranspose": 1, "Gemm": 1, "InstanceNormalization": 1}
# Where today's compiler also takes these weights per axis, of int8: tried with onnxruntime-qnn 2.7.0, by tests/npu.
PER_AXIS = " per axis"
ALSO_PER_AXIS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
ONNX_TYPES = {
    "FLOAT": "float32", "DOUBLE": "float64", "FLOAT8E4M3FN": "float8_e4m3fn", "FLOAT8E4M3FNUZ": "float8_e4m3fnuz",
    "FLOAT8E5M2": "float8_e5m2", "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
PLAIN_TYPES = {
    *ONNX_TYPES, "FLOAT16", "BFLOAT16", "BOOL", "STRING", "INT4", "UINT4", "INT8", "UINT8", "INT16", "UINT16", "INT32",
    "UINT32", "INT64", "UINT64", "COMPLEX64", "COMPLEX128",
}  # fmt: skip
ABSENT = "absent"  # the state of an input or attribute that a node does not have
STATED = "stated"
UNKNOWN = None

# What a derived column of the corpus says of a node, as a relation: winml-cli computes it so.
RELATIONS = {
    "axis_is_last": "attr.axis == -1 or attr.axis == in[0].rank - 1",
    "axis_eq_one": "attr.axis == 1",
    "axis_eq_zero": "attr.axis == 0",
    "axis_is_zero": "attr.axis == 0",
    "axis_is_negative": "attr.axis < 0",
    "first_axis": "attr.axis == 0 or attr.axis == 0 - in[0].rank",
    "last_axis": "attr.axis == -1 or attr.axis == in[0].rank - 1",
    "is_first_axis": "attr.axis == 0 or attr.axis == 0 - in[0].rank",
    "is_last_axis": "attr.axis == -1 or attr.axis == in[0].rank",  # of Flatten
    "has_padding": "max(attr.pads) > 0",
    "has_stride_gt1": "max(attr.strides) > 1",
    "kernel_equals_stride": "attr.kernel_shape == attr.strides",
    "q_is_one": "in[1].rank == 1",
    "k_is_one": "in[1].dim[-1] == 1",
    "k_is_two": "in[1].dim[-1] == 2",
    "k_is_dim": "in[1].dim[-1] == in[0].rank",
    "k_is_dim_minus_one": "in[1].dim[-1] == in[0].rank - 1",
    "data_single_entry": "in[0].elements == 1",
}
# Of operators whose axes are an attribute, and of those where they are input 1.
AXES_RELATIONS = {"single_axis": ("len(attr.axes) == 1", "in[1].elements == 1"),
                  "full_reduction": ("len(attr.axes) == in[0].rank", "in[1].elements == in[0].rank")}
NUMBERS = {"last_index_dimension": "in[1].dim[-1]", "num_axes": "in[1].elements"}
# Where the corpus has no value since the attribute is not stated, its default decides.
BY_DEFAULT = {"has_padding": False, "has_stride_gt1": False, "axis_is_zero": True, "axis_is_negative": False}
ATTRIBUTES_OF_RELATIONS = re.compile(r"attr\.(\w+)")


# ---- what a column says ----


class Column:
    """The values of one property of the rows. `say(values)`: fields of a rule that hold for exactly these of the
    measured values; None when no rule can say it. `values` is a set, never all of the domain."""

    def __init__(self, values):
        self.values = values
        self.domain = sorted(set(values), key=lambda one: (str(type(one)), str(one)))

    def say(self, values):
        raise NotImplementedError


class TypeColumn(Column):
    def __init__(self, values, field, positions, is_variadic):
        super().__init__(values)
        self.field, self.positions, self.is_variadic = field, positions, is_variadic

    def say(self, values):
        if not values <= PLAIN_TYPES:
            return None
        return self.say_all(values)

    def say_all(self, values):
        names = sorted(ONNX_TYPES.get(one, one.lower()) for one in values if one in PLAIN_TYPES)
        if self.is_variadic:
            return {self.field: {"all": names}}
        return {self.field: dict.fromkeys(self.positions, names)}


class InputColumn(Column):
    """Whether an input is absent, "constant" or "computed"."""

    def __init__(self, values, position):
        super().__init__(values)
        self.position = position

    def say(self, values):
        at = str(self.position)
        words = {
            frozenset({ABSENT}): {"given": {at: False}},
            frozenset({"constant"}): {"constant": {at: True}},
            frozenset({"computed"}): {"constant": {at: False}},
            frozenset({"constant", "computed"}): {"given": {at: True}},
            frozenset({"constant", ABSENT}): {"constant": {at + "?": True}},
            frozenset({"computed", ABSENT}): {"constant": {at + "?": False}},
        }
        return words.get(frozenset(values))


class RankColumn(Column):
    """The rank of an input; ABSENT."""

    def __init__(self, values, position):
        super().__init__(values)
        self.position = position

    def say(self, values):
        return self.say_all(values)

    def say_all(self, values):
        ranks = sorted(one for one in values if isinstance(one, int))
        if not ranks:
            return {"given": {str(self.position): False}}
        key = str(self.position) + ("?" if ABSENT in values else "")
        return {"shapes": {key: {"rank": ranks if len(ranks) > 1 else ranks[0]}}}


class AttributeColumn(Column):
    """The value of an attribute; ABSENT when it is not stated and has no default."""

    def __init__(self, values, name):
        super().__init__(values)
        self.name = name

    def say(self, values):
        if values == {ABSENT}:
            return {"attributes": {self.name: {"absent": True}}}
        if ABSENT in values or STATED in values:
            return None
        return self.say_each(values)

    def say_all(self, values):
        if ABSENT in values or STATED in values or all(isinstance(one, str) for one in values) or values == {0, 1}:
            return {}  # every value that there can be
        return self.say_each(values)

    def say_each(self, values):
        said = sorted(values)
        said = [list(one) if isinstance(one, tuple) else one for one in said]
        return {"attributes": {self.name: said if len(said) > 1 else said[0]}}


class NumberColumn(Column):
    """A number, as a relation: "len(in) == 3"."""

    def __init__(self, values, relation):
        super().__init__(values)
        self.relation = relation

    def say(self, values):
        return self.say_all(values)

    def say_all(self, values):
        if UNKNOWN in values:
            return {} if len(values) == len(self.domain) else None
        return {"where": [" or ".join(f"{self.relation} == {one}" for one in sorted(values))]}


class TruthColumn(Column):
    """Whether a relation holds."""

    def __init__(self, values, relation, opposite=None):
        super().__init__(values)
        self.relation, self.opposite = relation, opposite or f"not ({relation})"

    def say(self, values):
        if values == {True}:
            return {"where": [self.relation]}
        if values == {False}:
            return {"where": [self.opposite]}
        return None


class QuantizedColumn(Column):
    """The type that a tensor is quantised to: of DequantizeLinear's input, or QuantizeLinear's output; None: it is not.
    `keys`: of "quantized", of one tensor or of all those of a variadic input, which have the type of its first."""

    def __init__(self, values, keys):
        super().__init__(values)
        self.keys = keys

    def say(self, values):
        return self.say_all(values)

    def say_all(self, values):
        words = words_of_types({one for one in values if one is not None}, None in values)
        return words and {"quantized": {self.keys[0]: words} | dict.fromkeys(self.keys[1:], ["tensor", "same"])}


class QuantizedInputColumn(Column):
    """An input in quantised cases: the type that it is quantised to, or else its state: "constant", "computed" or absent. The
    corpus does not say which quantised inputs are constants: `is_weights` are."""

    def __init__(self, values, position, is_weights):
        super().__init__(values)
        self.position, self.is_weights = position, is_weights

    def say(self, values):
        return self.say_all(values)

    def say_all(self, values):
        states, types = values & {"constant", "computed"}, values - {"constant", "computed", ABSENT}
        if not states and not types:
            return {"given": {str(self.position): False}}
        words = words_of_types(types, bool(states))
        if words is None or (types and len(states) == 1):
            return None
        key = str(self.position) + ("?" if ABSENT in values else "")
        said = {"quantized": {key: words}}
        if len(states) == 1 or (types and self.is_weights):
            said["constant"] = {key: "computed" not in states}
        return said


def words_of_types(types, may_be_none):
    """Of tensors that are quantised to one of these types, per tensor or per axis. None: no rule can say it."""
    of_tensors = {one for one in types if not one.endswith(PER_AXIS)}
    of_axes = {one.removesuffix(PER_AXIS) for one in types - of_tensors}
    if of_tensors and of_axes and of_tensors != of_axes:
        return None
    words = ["none"] * may_be_none + ["tensor"] * bool(of_tensors) + ["axis"] * bool(of_axes)
    words += sorted(one.lower() for one in of_tensors | of_axes)
    return words if len(words) > 1 else words[0]


class AsInput0Column(QuantizedColumn):
    """Whether tensors are quantised, to the type of input 0 in every row that has them so."""

    def __init__(self, values, keys):
        super().__init__([one is not None for one in values], keys)

    def say_all(self, values):
        words = ["none"] * (False in values) + (["tensor", "same"] if True in values else [])
        return {"quantized": dict.fromkeys(self.keys, words if len(words) > 1 else words[0])}


class VersionColumn(Column):
    """The opset in which the operator's version begins. `ends`: by version, the last opset that has it."""

    def __init__(self, values, versions, ends):
        super().__init__(values)
        self.versions, self.ends = versions, ends

    def say(self, values):
        return self.say_all(values)

    def say_all(self, values):
        places = sorted(self.versions.index(one) for one in values)
        if places[-1] - places[0] + 1 != len(places):
            return None
        return {"opset": [max(min(values), OLDEST_OPSET), self.ends[max(values)]]}


def words_of(column, values):
    if len(values) < len(column.domain):
        return column.say(values)
    return column.say_all(values) if hasattr(column, "say_all") else {}


# ---- the columns of a file ----


def decoded(text):
    if text is None:
        return None
    one = json.loads(text)
    kind, value = one["t"], one.get("v")
    if kind == "none":
        return None
    if kind == "tuple":
        return tuple(decoded(json.dumps(part)) for part in value)
    return float(value) if kind == "float" else value


@dataclass
class File:
    """The cases of one version of one operator."""

    op: str
    since: int
    columns: dict  # name -> a value for each row
    yes: list
    like: int = 0  # the version whose rows these are; 0: its own
    is_proved: bool = True  # measured, or taken by today's compiler

    def take(self, name):
        return self.columns.get(name)

    def schema(self):
        return onnx.defs.get_schema(self.op, self.like or self.since)

    def of_rows(self, rows, **changes):
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        return replace(self, columns=columns, yes=[self.yes[row] for row in rows], **changes)


def read_file(op, since, content):
    table = parquet.read_table(io.BytesIO(content))
    columns = {}
    for name in table.column_names:
        if name == "compile_run_success":
            continue
        texts = table.column(name).to_pylist()
        known = {text: decoded(text) for text in set(texts) if text is None or isinstance(text, str)}
        if all(text is None or isinstance(text, str) for text in texts):
            columns[name] = [known[text] for text in texts]
    yes = [bool(one[0]) and bool(one[1]) for one in table.column("compile_run_success").to_pylist()]
    return File(op, since, columns, yes)


def with_cases(file, rows, is_taken, changed):
    """A file, and the cases of `rows` again: `is_taken(row)` is the verdict, `changed(name, value)` the value in a column."""
    columns, yes = {name: list(values) for name, values in file.columns.items()}, list(file.yes)
    for row in rows:
        yes.append(is_taken(row))
        for name, values in file.columns.items():
            columns[name].append(changed(name, values[row]))
    return replace(file, columns=columns, yes=yes)


def also_per_axis(file):
    """A file with quantised cases, and those with weights of int8 again, quantised per axis."""
    weights, bias = ("QDQ_" + name for name in NAMES_OF_OPERANDS[file.op][1:])
    rows = [row for row, one in enumerate(file.columns[weights]) if one == "INT8"]
    return with_cases(file, rows, lambda row: file.yes[row], lambda name, value: (
        value + PER_AXIS if name == weights or (name == bias and value == "INT32") else value))


def by_quantized_tensors(file, schema):
    """The rows of a file with quantised cases, as files of their own: of those with the same tensors quantised, where rows
    differ in whether input 0 is. Without those in which nothing is: plain rows speak of these."""
    if None not in (file.take("QDQ_" + schema.inputs[0].name) or ()):
        return [file]
    names = [name for name in file.columns if name.startswith("QDQ_")]
    rows = defaultdict(list)
    for row, of_row in enumerate(zip(*[file.take(name) for name in names])):
        rows[tuple(one is not None for one in of_row)].append(row)
    return [file.of_rows(kept) for which, kept in sorted(rows.items()) if any(which)]


def is_refused_today(file, row):
    """Quantised cases that the compiler of today refuses: found by tests/npu/random_cases_test.py with onnxruntime-qnn 2.7.0."""
    def cell(name):
        return file.columns[name][row] if name in file.columns else None

    first, weights, bias = NAMES_OF_OPERANDS.get(file.op, ("", "", ""))
    has_bias = cell(bias + "_is_none") is False
    has_other_weights = cell("QDQ_" + weights) and cell("QDQ_" + weights) not in WEIGHTS_TODAY[cell("QDQ_" + first)]
    if cell("QDQ_Y"):  # without a QuantizeLinear the operator is none of integers
        if has_other_weights and (has_bias or cell("QDQ_" + first) != "INT8"):
            return True
        if file.op.startswith("Conv") and has_bias and not cell("QDQ_B") and not cell("B_is_constant"):
            return True
    if file.op == "Cast":
        return True  # to bool, and of what it folds a lone QuantizeLinear is left
    return file.op == "Resize" and file.since > 13 or file.op == "InstanceNormalization" and cell("input_dim") == 3


def reductions_of_nothing(file):
    """A file with quantised cases of a reduction, and those without axes again as such that reduce nothing, which the corpus
    does not have. The compiler of today refuses them."""
    rows = [row for row, one in enumerate(file.columns["axes_is_none"]) if one]
    return with_cases(file, rows, lambda row: False, lambda name, value: 1 if name == "attr_noop_with_empty_axes" else value)


def doubted(name, files, schema):
    """By file of an operator, oldest first: the rows whose yes is not believed. Where a file says yes of float64, which the
    device does not have, and no older one says yes at all, the whole file is wrong: so is Acos of opset 22, of which the
    compiler says that there is no such operator."""
    output = f"{schema.outputs[0].type_str}_{files[0].op}"
    refused = REFUSED_TODAY.get((name, files[0].op))
    found, has_older = [], False
    for file in files:
        rows = [False] * len(file.yes)
        if name in WITHOUT_FLOAT64 and file.take(output):
            rows = [kind == "DOUBLE" for kind in file.take(output)]
            if not has_older and any(doubt and yes for doubt, yes in zip(rows, file.yes)):
                rows = [True] * len(file.yes)
        if "QDQ_" + schema.inputs[0].name in file.columns:
            rows = [doubt or is_refused_today(file, row) for row, doubt in enumerate(rows)]
        elif refused:
            cells = [file.take(column) for column in refused]
            rows = [doubt or one == tuple(refused.values()) for doubt, one in zip(rows, zip(*cells))]
        found.append(rows)
        has_older = has_older or any(file.yes)
    return found


# ---- versions of an operator ----


@cache
def versions_of(op):
    versions = {one.since_version for one in onnx.defs.get_all_schemas_with_history() if one.name == op and one.domain == ""}
    return sorted(one for one in versions if one <= HIGHEST_OPSET)


def ends_of(op):
    """By version, the last opset that has it."""
    versions = versions_of(op)
    return {one: (versions[i + 1] - 1 if i + 1 < len(versions) else HIGHEST_OPSET) for i, one in enumerate(versions)}


def is_same_schema(of, like):
    """Whether each node of the schema `of` is one of `like`, too, and means the same: inputs, outputs, attributes, and their
    defaults. Types are those of the node; rules name them."""
    option = onnx.defs.OpSchema.FormalParameterOption
    if len(of.inputs) > len(like.inputs) or len(of.outputs) > len(like.outputs):
        return False
    inputs = zip(of.inputs, like.inputs)
    if not all(one.option == other.option or (one.option, other.option) == (option.Single, option.Optional) for one, other in inputs):
        return False
    if any(one.option == option.Single for one in like.inputs[len(of.inputs):]):
        return False
    for name, attribute in of.attributes.items():
        other = like.attributes.get(name)
        if other is None and of.since_version > like.since_version and not attribute.required:
            continue  # rules ask that it is not stated
        if other is None or attribute.type != other.type or default_of(attribute) != default_of(other):
            return False
        if other.required and not attribute.required:
            return False
    return not any(one.required for name, one in like.attributes.items() if name not in of.attributes)


def has_value(file, row, name, wanted, default):
    """Whether an attribute has one of the values in a row, as far as the corpus says it; not stated it has its default."""
    value = file.columns[f"attr_{name}"][row] if f"attr_{name}" in file.columns else None
    if value is not None:
        return value in wanted
    for word, number in (("one", 1), ("zero", 0), ("ones", 1), ("zeros", 0)):
        for column in (f"attr_{name}_is_{word}", f"{name}_all_{word}", f"attr_{name}_all_{word}"):
            if column in file.columns and file.columns[column][row] is not None:
                return bool(file.columns[column][row]) and (default in (ABSENT, number))
    return default == ABSENT or default in wanted


def types_of(schema, type_text):
    """The types that an input or output with this type text may have: "tensor(float)"."""
    found = [one.allowed_type_strs for one in schema.type_constraints if one.type_param_str == type_text]
    return set(found[0]) if found else {type_text}


def has_types(file, row, of, like):
    """Whether a version has the types of a row's inputs; of quantised cases they are float32."""
    for one, other in zip(of.inputs, like.inputs):
        column, quantized = file.take(f"{other.type_str}_{file.op}"), file.take("QDQ_" + other.name)
        kind = column[row].lower() if column else "float" if quantized and quantized[row] else ""
        if kind and f"tensor({kind})" not in types_of(of, one.type_str):
            return False
    return True


def rows_of_version(file, since):
    """The rows of a file that are also cases of the version `since` of the operator: those that mean the same there, and those
    that mean something else."""
    of, like = onnx.defs.get_schema(file.op, since), file.schema()
    if not is_same_schema(of, like):
        return [], []

    def hold(row, asked):
        return all(has_value(file, row, name, wanted, default_of(like.attributes[name])) for name, wanted in asked.items())

    missing = {name: {default_of(one)} for name, one in like.attributes.items() if name not in of.attributes}
    steps = [CHANGED[file.op, version] for version in versions_of(file.op)
             if min(since, file.since) < version <= max(since, file.since) and (file.op, version) in CHANGED]
    rows = [row for row in range(len(file.yes)) if has_types(file, row, of, like) and hold(row, missing)]
    same = [row for row in rows if all(asked is not None and hold(row, asked) for asked in steps)]
    return same, sorted({*rows} - {*same})


def as_attributes(file, since, names):
    """A file of a version with inputs that were attributes before: the cases of the version `since`."""
    absent = {name: file.take(name + "_is_none") or [False] * len(file.yes) for name in names}
    rows = [row for row in range(len(file.yes))
            if all(absent[name][row] or file.columns[name + "_is_constant"][row] for name in names)]
    made = file.of_rows(rows, since=since)
    made.columns = {name: values for name, values in made.columns.items() if not name.startswith(tuple(f"{one}_" for one in names))}
    made.columns |= {f"attr_{name}_is_none": [absent[name][row] for row in rows] for name in names}
    return made


def copied(files, since):
    """The cases of a version of the operator as other versions have them: of the next one that was measured, or else of
    the newest before it; None where none means the same."""
    for file in [one for one in files if one.since > since] + [one for one in files[::-1] if one.since < since]:
        same, other = rows_of_version(file, since)
        if same:
            made = file.of_rows([*same, *other], since=since, like=file.like or file.since)
            made.yes[len(same):] = [False] * len(other)
            return made
        for (op, version), names in BECAME_INPUTS.items():
            if op == file.op and since < version <= file.since and is_same_schema(
                    onnx.defs.get_schema(op, version), onnx.defs.get_schema(op, file.since)):
                return as_attributes(file, since, names)
    return None


def without_contradicted(file, files):
    """Without the cases that the device refused in this version of the operator only."""
    taken = set()
    for other in files:
        if other is not file and set(file.columns) <= set(other.columns):
            cells = [other.columns[name] for name in file.columns]
            taken |= {tuple(column[row] for column in cells) for row in rows_of_version(other, file.since)[0] if other.yes[row]}
    cells = list(file.columns.values())
    return file.of_rows([row for row, yes in enumerate(file.yes) if yes or tuple(column[row] for column in cells) not in taken])


def is_among(file, row, cells):
    """Whether a row has one of the values in each of the columns."""
    return all(file.columns[name][row] in values for name, values in cells.items())


def in_all_versions(files, today):
    """The files of an operator, and those of all its versions that mean the same as a measured one. `today`: by version,
    whether the compiler of today takes the operator."""
    op, measured = files[0].op, {file.since: file for file in files}
    made = []
    for since, end in ends_of(op).items():
        file, is_taken = measured.get(since), today.get(str(since))
        if file is not None and is_taken:
            file = without_contradicted(file, files) if any(file.yes) else copied(
                [one for one in files if one is not file], since) or file
        elif file is None and end >= OLDEST_OPSET and is_taken is not False:
            # Of a version that is taken, one that the device refused altogether says nothing.
            file = copied([one for one in files if any(one.yes) or not is_taken], since)
            if file is not None:
                file.is_proved = is_taken is True
        if file is not None:
            made.append(file)
    return made


def is_fixed(value):
    if isinstance(value, tuple):
        return all(is_fixed(one) for one in value)
    return value is None or value is True


def default_of(attribute):
    """The attribute's default; ABSENT when there is none."""
    if not attribute.default_value.name:
        return ABSENT
    value = onnx.helper.get_attribute_value(attribute.default_value)
    value = value.decode() if isinstance(value, bytes) else value
    return tuple(value) if isinstance(value, list) else value


def input_columns(file, schema):
    """Columns about inputs, by name."""
    found: dict[str, object] = {}
    option = onnx.defs.OpSchema.FormalParameterOption
    for position, parameter in enumerate(schema.inputs):
        name = parameter.name
        if parameter.option == option.Variadic:
            counts = file.take("num_inputs")
            if counts:
                found["num_inputs"] = NumberColumn(counts, "len(in)")
            ranks = file.take(name + "_dim")
            if ranks:
                found[name + "_dim"] = RankColumn([ABSENT if one is None else one for one in ranks], position)
            continue
        none = file.take(name + "_is_none") or [False] * len(file.yes)
        constant = file.take(name + "_is_constant")
        if constant:
            states = [ABSENT if gone else "constant" if is_it else "computed" for gone, is_it in zip(none, constant)]
            found[name + "_state"] = InputColumn(states, position)
        ranks = file.take(name + "_dim")
        if ranks:
            said = [ABSENT if gone or one is None else one for gone, one in zip(none, ranks)]
            found[name + "_dim"] = RankColumn(said, position)
        lengths = file.take(name + "_len")
        if lengths:
            found[name + "_len"] = NumberColumn(lengths, f"in[{position}].elements")
        single = file.take(name + "_is_single_element")
        if single:
            found[name + "_single"] = TruthColumn(single, f"in[{position}].elements == 1", f"in[{position}].elements != 1")
    for position, parameter in enumerate(schema.outputs):
        ranks = file.take(parameter.name + "_dim")
        if ranks and parameter.name + "_dim" not in found:
            found["out_" + parameter.name] = NumberColumn(ranks, f"out[{position}].rank")
    return found


def type_columns(file, schema):
    found: dict[str, object] = {}
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
    for constraint in schema.type_constraints:
        values = file.take(f"{constraint.type_param_str}_{file.op}")
        if not values:
            continue
        name = constraint.type_param_str
        inputs = [i for i, one in enumerate(schema.inputs) if one.type_str == name]
        outputs = [i for i, one in enumerate(schema.outputs) if one.type_str == name]
        is_variadic = any(schema.inputs[i].option == variadic for i in inputs)
        if is_variadic and len(schema.inputs) > 1:
            continue
        field, positions = ("inputs", inputs) if inputs else ("outputs", outputs)
        found["type_" + name] = TypeColumn(values, field, positions, is_variadic)
    return found


def attribute_columns(file, schema):
    found: dict[str, object] = {}
    for name, attribute in schema.attributes.items():
        values, none = file.take("attr_" + name), file.take(f"attr_{name}_is_none")
        default = default_of(attribute)
        if values and not all(one is None or isinstance(one, float) for one in values):
            if all(one is None or isinstance(one, (int, str, tuple)) for one in values):
                plain = [default if one is None else one for one in values]
                if all(not isinstance(one, tuple) or all(isinstance(k, int) for k in one) for one in plain):
                    found["attr_" + name] = AttributeColumn(plain, name)
        elif none and not values and default == ABSENT and len(set(none)) > 1:
            states = [ABSENT if one else STATED for one in none]
            found["attr_" + name] = AttributeColumn(states, name)
        for word, number in (("one", 1), ("zero", 0)):
            flags = file.take(f"attr_{name}_is_{word}")
            if flags:
                found[f"attr_{name}_{word}"] = TruthColumn(truths(flags), f"attr.{name} == {number}")
        for word in (f"{name}_all_", f"attr_{name}_all_"):
            for end, number in (("zeros", 0), ("ones", 1)):
                flags = file.take(word + end)
                if flags:
                    relation = f"min(attr.{name}) == {number} and max(attr.{name}) == {number}"
                    found[f"{name}_all_{end}"] = TruthColumn(truths(flags, True), relation)
        flags = file.take(f"is_{name}_uniform")
        if flags:
            found[f"{name}_uniform"] = TruthColumn(truths(flags, True), f"min(attr.{name}) == max(attr.{name})")
    return found


def can_be_float(schema, type_text):
    return "tensor(float)" in types_of(schema, type_text)


def keys_of(position, is_variadic, prefix=""):
    """Of "quantized"."""
    if not is_variadic:
        return [f"{prefix}{position}"]
    return [f"{prefix}{i}{'?' if i > position and not prefix else ''}" for i in range(position, MOST_INPUTS)]


def quantized_columns(file, schema):
    """Columns about how tensors are quantised. A name that input_columns() uses, too, takes the place of its column."""
    found: dict[str, object] = {}
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
    first = file.take("QDQ_" + schema.inputs[0].name)
    if first is None:
        return found

    def is_as_first(values):
        return values is not first and None not in first and all(one in (None, of) for one, of in zip(values, first))

    for position, parameter in enumerate(schema.inputs):
        name, is_variadic = parameter.name, parameter.option == variadic
        values = file.take("QDQ_" + name)
        if values is None or not can_be_float(schema, parameter.type_str):
            continue
        if is_variadic:
            found["QDQ_" + name] = QuantizedColumn(values, keys_of(position, True))
        elif None not in values and is_as_first(values):
            found[name + "_state"] = AsInput0Column(values, keys_of(position, False))
        else:
            none, constant = (file.take(name + end) or [False] * len(values) for end in ("_is_none", "_is_constant"))
            states = [ABSENT if gone else one or ("constant" if is_it else "computed")
                      for one, gone, is_it in zip(values, none, constant)]
            found[name + "_state"] = QuantizedInputColumn(states, position, WEIGHTS.get(file.op) == position)
    for position, parameter in enumerate(schema.outputs):
        values = file.take("QDQ_" + parameter.name)
        if values is not None and can_be_float(schema, parameter.type_str):
            keys = keys_of(position, parameter.option == variadic, "out")
            found["QDQ_" + parameter.name] = (AsInput0Column if is_as_first(values) else QuantizedColumn)(values, keys)
    return found


def truths(flags, by_default=UNKNOWN):
    return [by_default if one is None else bool(one) for one in flags]


def of_all_axes(name, flags, ranks):
    """Without axes a reduction is over all of them."""
    return [(name == "full_reduction" or rank == 1) if one is None else one for one, rank in zip(flags, ranks)]


def relation_columns(file, schema):
    found: dict[str, object] = {}
    relations = dict(RELATIONS)
    inputs = [one.name for one in schema.inputs]
    for name, (of_attribute, of_input) in AXES_RELATIONS.items():
        relations[name] = of_input if inputs[1:2] == ["axes"] else of_attribute
    for name, relation in relations.items():
        flags = file.take(name)
        if flags and all(one in schema.attributes for one in ATTRIBUTES_OF_RELATIONS.findall(relation)):
            if "attr.axes" in relation:
                flags = of_all_axes(name, flags, file.take(schema.inputs[0].name + "_dim"))
            found[name] = TruthColumn(truths(flags, BY_DEFAULT.get(name)), relation)
    for name, relation in NUMBERS.items():
        numbers = file.take(name)
        if numbers and len(inputs) > 1:
            found[name] = NumberColumn(numbers, relation)
    one, other = file.take("x_broadcasting_to_y"), file.take("y_broadcasting_to_x")
    if one and other:
        equal = [UNKNOWN if a is None or b is None else not a and not b for a, b in zip(one, other)]
        found["equal_dims"] = TruthColumn(equal, "in[0].dim == in[1].dim", "in[0].dim != in[1].dim")
    return found


def columns_of(file, schema):
    """The columns that rules can speak about; of the rows whose shapes are all fixed."""
    found = {
        **input_columns(file, schema), **type_columns(file, schema), **attribute_columns(file, schema),
        **relation_columns(file, schema), **quantized_columns(file, schema),
    }
    return {name: column for name, column in found.items() if len(column.domain) > 1 or hasattr(column, "say_all")}


def fixed_rows(file):
    flags = [values for name, values in file.columns.items() if name.endswith("_is_fixed_shape")]
    return [all(is_fixed(values[row]) for values in flags) for row in range(len(file.yes))]


# ---- boxes ----


class Cover:
    """Boxes that hold all yes vectors that can be held, and no other vector. A vector has a code for each column."""

    def __init__(self, columns, vectors):
        self.columns = columns
        self.yes = np.array([one for one, (yes, _) in vectors.items() if yes], np.int16)
        self.weight = np.array([count for yes, count in vectors.values() if yes])
        no = [one for one, (yes, _) in vectors.items() if not yes]
        self.no = np.array(no, np.int16).reshape(len(no), len(columns))
        self.sizes = [len(column.domain) for column in columns]
        self.can_say = {}

    def is_said(self, at, mask):
        key = (at, mask.tobytes())
        if key not in self.can_say:
            domain = self.columns[at].domain
            values = {one for one, is_in in zip(domain, mask) if is_in}
            self.can_say[key] = words_of(self.columns[at], values) is not None
        return self.can_say[key]

    def least(self, at, code):
        mask = np.zeros(self.sizes[at], bool)
        mask[code] = True
        return mask if self.is_said(at, mask) else np.ones(self.sizes[at], bool)

    def grow(self, seed, order):
        """A box around the vector, or None when each that can be said has a no in it."""
        box = [self.least(at, code) for at, code in enumerate(seed)]
        if not all(self.is_said(at, mask) for at, mask in enumerate(box)):
            return None
        outside = np.array([~mask[self.no[:, at]] for at, mask in enumerate(box)]).T.reshape(self.no.shape)
        misses = outside.sum(1)
        if (misses == 0).any():
            return None
        for is_whole in (True, False):
            for at in order:
                self.widen(box, outside, misses, at, is_whole)
        return box

    def widen(self, box, outside, misses, at, is_whole):
        missing = np.flatnonzero(~box[at])
        if not len(missing):
            return
        blocking = set(self.no[(misses == 1) & outside[:, at], at].tolist())
        for codes in [missing] if is_whole else [[one] for one in missing]:
            if blocking & {int(one) for one in codes}:
                continue
            mask = box[at].copy()
            mask[codes] = True
            if not self.is_said(at, mask):
                continue
            box[at] = mask
            inside = mask[self.no[:, at]] & outside[:, at]
            outside[inside, at] = False
            misses -= inside

    def holds(self, box, vectors):
        inside = np.ones(len(vectors), bool)
        for at, mask in enumerate(box):
            inside &= mask[vectors[:, at]]
        return inside

    def boxes(self, most, least_gain):
        chosen, left = [], np.ones(len(self.yes), bool)
        numbers = np.random.default_rng(1)
        orders = [list(range(len(self.columns))), list(range(len(self.columns)))[::-1]]
        orders += [numbers.permutation(len(self.columns)).tolist() for _ in range(2)]
        while left.any() and len(chosen) < most:
            open_ones = np.flatnonzero(left)
            seeds = open_ones[np.linspace(0, len(open_ones) - 1, min(8, len(open_ones))).astype(int)]
            best, best_gain = None, 0
            for seed in seeds:
                for order in orders:
                    box = self.grow(self.yes[seed], order)
                    if box is None:
                        left[seed] = False
                        break
                    gain = int(self.weight[self.holds(box, self.yes) & left].sum())
                    if gain > best_gain:
                        best, best_gain = box, gain
            if best is None:
                continue
            if best_gain < least_gain:
                break
            chosen.append(best)
            left &= ~self.holds(best, self.yes)
        return self.needed(chosen)

    def needed(self, boxes):
        """Without those whose vectors are in others."""
        held = [self.holds(box, self.yes) for box in boxes]
        counts = np.sum(held, axis=0) if held else np.zeros(0)
        kept = []
        for box, inside in sorted(zip(boxes, held), key=lambda one: int(self.weight[one[1]].sum())):
            if len(inside) and (counts[inside] > 1).all():
                counts = counts - inside
            else:
                kept.append(box)
        return kept[::-1]


# ---- rules ----


def merged(rule, words):
    for key, value in words.items():
        if key in ("inputs", "outputs", "given", "constant", "attributes", "quantized") and isinstance(value, dict) and "all" not in value:
            field = rule.setdefault(key, {})
            for one, said in value.items():
                assert field.get(one, said) == said, (rule, words)  # two columns may not speak of one thing
                field[one] = said
        elif key == "shapes":
            rule.setdefault("shapes", {}).update(value)
        elif key == "where":
            rule.setdefault("where", []).extend(value)
        else:
            rule[key] = value
    return rule


def by_position(entries):
    return [entries.get(position) for position in range(max(entries) + 1)]


def rule_of(op, columns, box, also):
    rule = merged({"op": op}, json.loads(json.dumps(also)))
    for column, mask in zip(columns, box):
        values = {one for one, is_in in zip(column.domain, mask) if is_in}
        merged(rule, words_of(column, values))
    for key in ("inputs", "outputs"):
        if key in rule and "all" not in rule[key]:
            rule[key] = by_position(rule[key])
    if len(rule.get("where", ())) == 1:
        rule["where"] = rule["where"][0]
    order = ("op", "opset", "inputs", "outputs", "given", "constant", "shapes", "attributes", "quantized", "where", "unchecked")
    return {key: rule[key] for key in order if key in rule}


def words_of_versions(op, group):
    """By version that was not measured as such: what its rules also say."""
    said = {}
    for file, _ in group:
        more = set(onnx.defs.get_schema(op, file.since).attributes) - set(file.schema().attributes)
        words = {"attributes": {name: {"absent": True} for name in sorted(more)}} if more else {}
        said[file.since] = words | ({} if file.is_proved else {"unchecked": ON_TRUST})
    return said


def by_words(box, versions, said):
    """A box whose last column is the version, in parts: [(part, words)], one for each run of versions with the same words."""
    within = sorted(one for one, is_in in zip(versions, box[-1]) if is_in)
    runs = [(words, set(run)) for words, run in groupby(within, key=said.get)]
    return [([*box[:-1], np.array([one in run for one in versions])], words) for words, run in runs]


def not_in_others(parts):
    """Without the parts that lie within another one."""
    kept = []
    for at, (box, _) in enumerate(parts):
        others = [other for i, (other, _) in enumerate(parts) if i != at and (i < at or not is_within(other, box))]
        if not any(is_within(box, other) for other in others):
            kept.append(parts[at])
    return kept


def is_within(box, other):
    return all((mask <= wide).all() for mask, wide in zip(box, other))


def signature(schema, columns):
    """Files with the same one can be learned from together."""
    words = [(name, type(column).__name__, getattr(column, "relation", "")) for name, column in sorted(columns.items())]
    inputs = [(one.name, one.type_str, str(one.option)) for one in schema.inputs]
    outputs = [(one.name, one.type_str) for one in schema.outputs]
    quantized = [(name, sorted({one in (None, False) for one in column.values})) for name, column in sorted(columns.items())
                 if isinstance(column, QuantizedColumn)]
    defaults = [(name, str(default_of(one))) for name, one in sorted(schema.attributes.items()) if "attr_" + name in columns]
    return json.dumps([words, inputs, outputs, quantized, defaults])


def unquantized(op, files):
    """What plain rules of an operator ask of quantisation, of which the corpus has `files` with quantised cases: that it is
    no quantised operator. With only a DequantizeLinear before it, or only a QuantizeLinear behind it, it is one in floating
    point, unless the corpus has cases of just that."""
    if not files:
        return {}
    schema = onnx.defs.get_schema(op, files[-1].since)

    def types_of(parameter):
        return {one for file in files for one in file.take("QDQ_" + parameter.name) or ()}

    first = next(i for i, one in enumerate(schema.inputs) if types_of(one) - {None})
    may_be_first, may_be_last = (None in types_of(one) for one in (schema.inputs[first], schema.outputs[0]))
    if may_be_last:
        return {"quantized": {"all" if may_be_first else str(first): "none"}}
    if may_be_first:
        return {"quantized": {"out0": "none"}}
    return {"where": [f"not (in[{first}].quantized and out[0].quantized)"]}


@dataclass
class Made:
    rules: list
    rows: int = 0
    yes: int = 0
    kept: int = 0


def rules_of_group(op, group, options, also):
    """`group`: [(file, its columns)], of one signature, by version. `also`: words that each rule has, too."""
    versions, ends = versions_of(op), ends_of(op)
    names = sorted(group[0][1])
    joined, yes = {name: [] for name in names}, []
    since = []
    for file, columns in group:
        fixed = fixed_rows(file)
        for name in names:
            joined[name] += [value for value, is_it in zip(columns[name].values, fixed) if is_it]
        yes += [one for one, is_it in zip(file.yes, fixed) if is_it]
        since += [file.since] * sum(fixed)
    columns = []
    for name in names:
        column = group[0][1][name]
        Column.__init__(column, joined[name])
        columns.append(column)
    columns.append(VersionColumn(since, versions, ends))
    codes = [np.array([column.domain.index(one) for one in column.values]) for column in columns]
    vectors = {}
    for row, vector in enumerate(zip(*[one.tolist() for one in codes])):
        is_yes, count = vectors.get(vector, (True, 0))
        vectors[vector] = (is_yes and yes[row], count + 1)
    made = Made([], len(yes), sum(yes))
    if not any(is_yes for is_yes, _ in vectors.values()):
        return made
    cover = Cover(columns, vectors)
    boxes = cover.boxes(options.most_boxes, max(1, options.least_share * made.yes))
    inside = np.zeros(len(cover.yes), bool)
    said, parts = words_of_versions(op, group), []
    for box in boxes:
        inside |= cover.holds(box, cover.yes)
        parts += by_words(box, columns[-1].domain, said)
    for box, words in not_in_others(parts):
        made.rules.append(rule_of(op, columns, box, also | words))
    made.kept = int(cover.weight[inside].sum())
    made.rules.sort(key=lambda rule: json.dumps(rule))
    return made


def files_of(archive, device):
    """(operator, whether its cases are quantised) -> its files, oldest version first."""
    name = re.compile(re.escape(RULES + device) + r"/(\w+?)_" + re.escape(device) + r"_ai\.onnx_opset(\d+)(_qdq)?\.parquet$")
    members = defaultdict(list)
    for member in archive.namelist():
        found = name.match(member)
        if found and not found[1].endswith("Pattern"):
            members[found[1], found[3] is not None].append((int(found[2]), member))
    return {(op, is_quantized): [read_file(op, since, archive.read(member)) for since, member in sorted(found)]
            for (op, is_quantized), found in sorted(members.items())}


def make(name, device, wheel, options):
    with zipfile.ZipFile(wheel) as archive:
        files_by_op = files_of(archive, device)
    taken = json.loads(TODAY.read_text()) if name == "qnn_npu" else {}
    rules = []
    counts = {False: Counter(), True: Counter()}
    for (op, is_quantized), files in files_by_op.items():
        today = taken.get("quantised" if is_quantized else "plain", {})
        if (cells := taken.get("cases", {}).get(op)) and not is_quantized:
            files = [one.of_rows([row for row, yes in enumerate(one.yes) if yes or not is_among(one, row, cells)]) for one in files]
        also = {} if is_quantized else unquantized(op, files_by_op.get((op, True)))
        groups = defaultdict(list)
        doubts = doubted(name, files, onnx.defs.get_schema(op, files[-1].since))
        for file, rows_in_doubt in zip(files, doubts):
            counts[is_quantized].update(rows=len(file.yes), yes=sum(file.yes))
            file.yes = [yes and not doubt for yes, doubt in zip(file.yes, rows_in_doubt)]
        for file in in_all_versions(files, today.get(op, {})):
            schema = file.schema()
            if is_quantized and op in ALSO_PER_AXIS:
                file = also_per_axis(file)
            if is_quantized and "axes_is_none" in file.columns and "attr_noop_with_empty_axes" in file.columns:
                file = reductions_of_nothing(file)
            for part in by_quantized_tensors(file, schema) if is_quantized else [file]:
                columns = columns_of(part, schema)
                groups[signature(schema, columns)].append((part, columns))
        for group in groups.values():
            made = rules_of_group(op, group, options, also)
            rules += made.rules
            counts[is_quantized].update(all_yes=made.yes, kept=made.kept, rules=len(made.rules))
            if options.verbose:
                print(f"  {op}{' quantised' * is_quantized} {[file.since for file, _ in group]}: {made.rows} rows, "
                      f"{made.yes} yes, {made.kept} kept, {len(made.rules)} rules")
    more = json.loads(TODAY_ALSO.read_text()) if name == "qnn_npu" else {"allow": [], "deny": [], "patterns": []}
    rules += more["allow"]
    text = list_text(name, device, wheel, sum(one["rows"] for one in counts.values()), rules, counts[True]["yes"] > 0,
                     more)
    (options.output / f"{name}.json").write_text(text)
    for is_quantized, count in counts.items():
        if not count["yes"]:
            continue
        print(f"{name}{', quantised' * is_quantized}: {count['rows']} rows, {count['yes']} yes; in all versions {count['all_yes']} "
              f"yes, {count['kept']} kept ({100 * count['kept'] / count['all_yes']:.1f}%), {count['rules']} rules")
    print(f"{name}: {len(rules)} rules, {len(text)} bytes")


def rules_of_quantizers(types):
    """QuantizeLinear and DequantizeLinear were in each quantised case, of both domains that have them."""
    rules = []
    for op, inputs in (("DequantizeLinear", [types, ["float32"]]), ("QuantizeLinear", [["float32"], ["float32"], types])):
        for domain in ("", "com.microsoft"):
            versions = {"domain": domain, "opset": [1, 1]} if domain else {"opset": [10, HIGHEST_OPSET]}
            rules.append({"op": op, **versions, "inputs": inputs, "shapes": {"0": {"rank": [0, 1, 2, 3, 4, 5]}},
                          "quantized": {"out0": "tensor"}})
    return rules


def list_text(name, device, wheel, rows, rules, is_quantized, more):
    """`more`: what today's compiler takes and refuses beyond the corpus."""
    patterns = more["patterns"]
    version = Path(wheel).name.split("-")[1]
    with zipfile.ZipFile(wheel) as archive:
        date = "{:04}-{:02}-{:02}".format(*archive.infolist()[0].date_time[:3])
    source = (f"{PACKAGE} {version} of {date} (PyPI), Copyright (c) Microsoft Corporation, MIT License; "
              f"runtime_check_rules of {device}: {rows} measured cases of one node each, with small tensors of fixed shapes"
              f"{', also between DequantizeLinear and QuantizeLinear' * is_quantized}. "
              "Many operators of older opsets were refused then and are taken by newer compilers; sizes are not judged")
    if patterns:
        source += ". Patterns, and some rules: measured with onnxruntime-qnn 2.7.0"
    why = "no case with an empty tensor was measured"
    # A Reshape to a scalar, and optional inputs that mean nothing, are empty and were measured.
    places = [("*::*", "in[0]"), ("*::*", "out[0]"), ("Concat", "in[1]"), ("Scatter*", "in[1]")]
    places += [("Concat", f"in[{i}]") for i in range(2, MOST_INPUTS)]
    denied = [{"op": op, "where": f"{value}.elements == 0", "why": why} for op, value in places]
    denied.append({"op": "Pad", "where": "min(in[1].values) < 0", "why": "no case with negative pads was measured"})
    denied += more["deny"]
    lines = ["{", ' "format": "cleave.support",', ' "version": 1,', f' "name": {json.dumps(name)},',
             f' "source": {json.dumps(source)},', ' "link": {"bandwidth": "none"},', ' "defaults": {"input_shape": "static"},']
    if is_quantized:
        quantizers = rules_of_quantizers(["int16", "int8", "uint16", "uint8"])
        rules = rules + quantizers
        names = json.dumps(sorted({one["op"] for one in quantizers}))
        lines += [' "keep_qdq": true,', f' "part": {{"not_only": {names}}},']
    parts = [(key, entries) for key, entries in (("allow", rules), ("deny", denied), ("patterns", patterns)) if entries]
    for key, entries in parts:
        lines.append(f' "{key}": [')
        lines += [f"  {json.dumps(one, separators=(',', ':'))}{'' if one is entries[-1] else ','}" for one in entries]
        lines.append(" ]" if key == parts[-1][0] else " ],")
    return "\n".join([*lines, "}", ""])


def download(folder):
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, f"{PACKAGE}=={VERSION}"]
    subprocess.run(command, capture_output=True, check=False)
    found = sorted(Path(folder).glob("*.whl"))
    if not found:
        raise OSError(f"package {PACKAGE} cannot be had")
    return found[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("samples/lists"))
    parser.add_argument("--wheel", type=Path, help="of winml-cli; default: pip downloads it")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", choices=sorted(DEVICES))
    parser.add_argument("--most-boxes", type=int, default=60, help="for one operator")
    parser.add_argument("--least-share", type=float, default=0.0, help="of an operator's yes rows that a box adds")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            wheel = options.wheel or download(folder)
        except OSError as error:
            print(f"measured_lists.py: {error}", file=sys.stderr)
            return 1
        for name, device in DEVICES.items():
            if not options.only or name in options.only:
                make(name, device, wheel, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
