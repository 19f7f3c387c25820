#!/usr/bin/env python3
"""Holds the lists of scripts/dev/measured_lists.py against every case that they were made of.

usage: measured_lists_test.py LIST... [--wheel FILE]    the lists' file names say which device

Reads the rules as they are written, and each row of the corpus, and shares no code with the program that made the
lists. A condition that the row's columns cannot settle is taken to hold, so a false yes cannot hide. A no that the device said
of one version of an operator only, where Qualcomm's compiler of today takes that version (qnn_versions.json), is counted apart,
and so are the cases that this file lists.
Prints the false yes and the false no. Exit status 1 when there is a false yes or too few cases are kept, 77 when the corpus or a
module cannot be had.
"""
import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

try:
    import numpy as np
    import onnx
    import pyarrow.parquet as parquet
except ImportError as error:
    print(f"measured_lists_test.py: skipped: needs the Python module {error.name}")
    sys.exit(77)

# By list: the device, and the shares of the plain and of the quantised yes that must be kept.
DEVICES = {"qnn_npu": ("QNNExecutionProvider_NPU", 0.90, 0.95), "openvino_npu": ("OpenVINOExecutionProvider_NPU", 0.85, None)}
NAMES = {"FLOAT": "float32", "DOUBLE": "float64"}
NO, MAYBE, YES = 0, 1, 2
TODAY = {"qnn_npu": Path(__file__).resolve().parents[2] / "scripts" / "dev" / "qnn_versions.json"}
# What the compiler of today takes beyond the corpus, which today_test.py measures.
BEYOND = {"qnn_npu": Path(__file__).resolve().parents[2] / "scripts" / "dev" / "qnn_today.json"}
# Operators that mean something else from this version on: what is said of one side says nothing of the other.
OTHERWISE = {"AveragePool": 19, "Hardmax": 13, "LogSoftmax": 13, "Softmax": 13}

# What the corpus says of a relation: the column, whether it says the opposite, and its value when it has none.
SAID = {
    "in[0].dim == in[1].dim": None,  # two columns: see same_dims()
    "in[1].elements == 1": ("single_axis", False, None),
    "in[1].elements == in[0].rank": ("full_reduction", False, None),
    "attr.axis == -1 or attr.axis == in[0].rank - 1": ("axis_is_last|last_axis", False, None),
    "attr.axis == -1 or attr.axis == in[0].rank": ("is_last_axis", False, None),
    "attr.axis == 0 or attr.axis == 0 - in[0].rank": ("first_axis|is_first_axis", False, None),
    "attr.axis == 1": ("axis_eq_one|attr_axis_is_one", False, None),
    "attr.axis == 0": ("axis_eq_zero|attr_axis_is_zero|axis_is_zero", False, True),
    "attr.axis < 0": ("axis_is_negative", False, False),
    "attr.group == 1": ("attr_group_is_one", False, True),
    "attr.batch_dims == 0": ("attr_batch_dims_is_zero", False, True),
    "max(attr.pads) > 0": ("has_padding", False, False),
    "max(attr.strides) > 1": ("has_stride_gt1", False, False),
    "attr.kernel_shape == attr.strides": ("kernel_equals_stride", False, None),
    "in[0].elements == 1": ("data_single_entry", False, None),
    "in[1].rank == 1": ("q_is_one", False, None),
    "in[1].dim[-1] == 1": ("k_is_one", False, None),
    "in[1].dim[-1] == 2": ("k_is_two", False, None),
    "in[1].dim[-1] == in[0].rank": ("k_is_dim", False, None),
    "in[1].dim[-1] == in[0].rank - 1": ("k_is_dim_minus_one", False, None),
}
for one in ("pads", "strides", "dilations"):
    for number, word in ((0, "zeros"), (1, "ones")):
        SAID[f"min(attr.{one}) == {number} and max(attr.{one}) == {number}"] = (
            f"{one}_all_{word}|attr_{one}_all_{word}", False, True)
    SAID[f"min(attr.{one}) == max(attr.{one})"] = (f"is_{one}_uniform", False, True)


def plain(text):
    """The value of a cell."""
    cell = json.loads(text)
    if cell["t"] == "none":
        return None
    if cell["t"] == "tuple":
        return tuple(plain(json.dumps(part)) for part in cell["v"])
    return cell["v"]


class Cases:
    """The rows of one file."""

    def __init__(self, op, version, content):
        self.op, self.version = op, version
        table = parquet.read_table(io.BytesIO(content))
        self.cells = {}
        for name in table.column_names:
            texts = table.column(name).to_pylist()
            if name == "compile_run_success":
                self.yes = np.array([one[0] and one[1] for one in texts], bool)
            elif all(isinstance(one, str) for one in texts):
                values = {text: plain(text) for text in set(texts)}
                self.cells[name] = [values[text] for text in texts]
        self.schema = onnx.defs.get_schema(op, version)

    def all(self, value):
        return np.full(len(self.yes), value, np.int8)

    def column(self, name):
        return next((self.cells[one] for one in name.split("|") if one in self.cells), None)

    def where(self, values, holds):
        """NO or YES by value; MAYBE for None."""
        return np.array([MAYBE if one is None else YES if holds(one) else NO for one in values], np.int8)

    def parameter(self, position):
        inputs = self.schema.inputs
        return inputs[min(position, len(inputs) - 1)] if inputs else None

    def is_absent(self, position):
        values = self.column(self.parameter(position).name + "_is_none")
        return np.array([bool(one) for one in values], bool) if values else np.zeros(len(self.yes), bool)


def also(*truths):
    return np.minimum.reduce(truths)


def either(*truths):
    return np.maximum.reduce(truths)


def types_hold(cases, letter, types):
    values = cases.column(f"{letter}_{cases.op}")
    if types is None or values is None:
        return cases.all(YES if types is None else MAYBE)
    return cases.where(values, lambda one: NAMES.get(one, one.lower()) in types)


def inputs_hold(cases, inputs):
    if isinstance(inputs, dict):
        return types_hold(cases, cases.schema.inputs[0].type_str, inputs["all"])
    found = [cases.all(YES)]
    for position, types in enumerate(inputs):
        letter = cases.parameter(position).type_str
        if "(" in letter or types is None:
            continue
        found.append(either(types_hold(cases, letter, types), np.where(cases.is_absent(position), YES, NO)))
    return also(*found)


def at_input(cases, key, holds):
    """`holds` of an input that is there; with "?", or else a failure, where it is not."""
    position = int(key.rstrip("?"))
    absent = cases.is_absent(position)
    return np.where(absent, YES if key.endswith("?") else NO, holds(cases.parameter(position).name))


def constant_holds(cases, key, wanted):
    def holds(name):
        values = cases.column(name + "_is_constant")
        if not values:
            return cases.all(MAYBE)
        # Of quantised inputs the corpus does not say it.
        quantized = cases.column("QDQ_" + name) or [None] * len(values)
        return np.where([one is not None for one in quantized], MAYBE, cases.where(values, lambda one: one == wanted))

    return at_input(cases, key, holds)


def shape_holds(cases, key, shape):
    ranks = shape["rank"] if isinstance(shape["rank"], list) else [shape["rank"]]

    def holds(name):
        values = cases.column(name + "_dim")
        return cases.where(values, lambda one: one in ranks) if values else cases.all(MAYBE)

    return at_input(cases, key, holds)


def attribute_holds(cases, name, wanted):
    values, gone = cases.column("attr_" + name), cases.column(f"attr_{name}_is_none")
    if wanted == {"absent": True}:
        if gone:
            return cases.where(gone, bool)
        return cases.all(MAYBE) if values is None else np.array([YES if one is None else NO for one in values], np.int8)
    if values is None:
        return cases.all(MAYBE)
    default = cases.schema.attributes[name].default_value
    if default.name:
        by_default = onnx.helper.get_attribute_value(default)
        by_default = by_default.decode() if isinstance(by_default, bytes) else by_default
        values = [by_default if one is None else one for one in values]
    options = wanted if isinstance(wanted, list) else [wanted]
    options = [tuple(one) if isinstance(one, list) else one for one in options]
    return np.array([YES if one in options else NO for one in values], np.int8)


def same_dims(cases):
    one, other = cases.column("x_broadcasting_to_y"), cases.column("y_broadcasting_to_x")
    if one is None or other is None:
        return cases.all(MAYBE)
    return np.array([MAYBE if a is None or b is None else YES if not (a or b) else NO for a, b in zip(one, other)], np.int8)


AXES = {"len(attr.axes) == 1": "single_axis", "len(attr.axes) == in[0].rank": "full_reduction"}


def axes_hold(cases, text):
    """Axes that are not stated are all axes."""
    values, ranks = cases.column(AXES[text]), cases.column("data_dim")
    all_hold = [AXES[text] == "full_reduction" or rank == 1 for rank in ranks]
    return np.array([YES if (held if one is None else one) else NO for one, held in zip(values, all_hold)], np.int8)


def number_holds(cases, text):
    """Relations that compare a number of the row with one: len(in) == 3."""
    found = re.fullmatch(r"(.+?) (==|!=) (-?\d+)", text)
    if not found:
        return None
    subject, sign, number = found[1], found[2], int(found[3])
    column = None
    if subject == "len(in)":
        column = cases.column("num_inputs")
    elif at := re.fullmatch(r"in\[(\d)\]\.elements", subject):
        name = cases.parameter(int(at[1])).name
        column = cases.column(name + "_len")
        if column is None and int(at[1]) == 1:
            column = cases.column("num_axes")
        single = cases.column(name + "_is_single_element")
        if column is None and single is not None and number == 1:
            return cases.where(single, lambda one: one == (sign == "=="))
    elif at := re.fullmatch(r"out\[(\d)\]\.rank", subject):
        column = cases.column(cases.schema.outputs[int(at[1])].name + "_dim")
    elif subject == "in[1].dim[-1]":
        column = cases.column("last_index_dimension")
    if column is None:
        return None
    return cases.where(column, lambda one: (one == number) == (sign == "=="))


def relation_holds(cases, node, source):
    text = source[node.col_offset : node.end_col_offset]
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    found = number_holds(cases, text)
    if found is not None:
        return found
    if text == "in[0].dim == in[1].dim":
        return same_dims(cases)
    if found := re.fullmatch(r"not \(in\[(\d)\]\.quantized and out\[0\]\.quantized\)", text):
        nothing, tensors = [None] * len(cases.yes), (cases.schema.inputs[int(found[1])], cases.schema.outputs[0])
        first, output = (cases.column("QDQ_" + of.name) or nothing for of in tensors)
        return np.array([NO if one and other else YES for one, other in zip(first, output)], np.int8)
    if text == "in[0].dim != in[1].dim":
        return YES - same_dims(cases)
    if text in AXES and cases.column("has_last_axis") is not None:
        return axes_hold(cases, text)
    if text in SAID:
        column, opposite, by_default = SAID[text]
        values = cases.column(column)
        if values is not None:
            values = [by_default if one is None else one for one in values]
            return cases.where(values, lambda one: bool(one) != opposite)
        return cases.all(MAYBE)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return YES - relation_holds(cases, node.operand, source)
    if isinstance(node, ast.BoolOp):
        join = also if isinstance(node.op, ast.And) else either
        return join(*[relation_holds(cases, one, source) for one in node.values])
    raise ValueError(f"{cases.op}: no column of the corpus speaks of: {text}")


def where_holds(cases, relations):
    found = [cases.all(YES)]
    for relation in [relations] if isinstance(relations, str) else relations:
        # "in" is a keyword of Python.
        tree = ast.parse(re.sub(r"\bin\b(?=[\[)])", "iN", relation), mode="eval").body
        found.append(relation_holds(cases, tree, relation))
        for position in {int(one) for one in re.findall(r"in\[(\d)\]", relation)}:
            found.append(np.where(cases.is_absent(position), NO, YES))  # what is unknown does not hold
    return also(*found)


def fixed_holds(cases):
    def is_fixed(value):
        return all(is_fixed(one) for one in value) if isinstance(value, tuple) else value is not False

    flags = [values for name, values in cases.cells.items() if name.endswith("_is_fixed_shape")]
    return np.array([YES if all(is_fixed(values[i]) for values in flags) else NO for i in range(len(cases.yes))], np.int8)


def quantized_as(cases, values, said):
    """Of a tensor that is quantised to the types `values`, None where it is not."""
    said = [said] if isinstance(said, str) else said
    first = cases.column("QDQ_" + cases.schema.inputs[0].name)
    types = {one for one in said if one not in ("none", "tensor", "same")}

    def holds(row, value):
        if value is None:
            return "none" in said
        return "tensor" in said and (not types or value.lower() in types) and ("same" not in said or value == first[row])

    return np.array([YES if holds(*one) else NO for one in enumerate(values)], np.int8)


def quantized_holds(cases, wanted):
    nothing = [None] * len(cases.yes)
    found = [cases.all(YES)]
    for key, said in wanted.items():
        if key == "all":
            columns = [values for name, values in cases.cells.items() if name.startswith("QDQ_")]
            found += [quantized_as(cases, values, said) for values in columns]
        elif key.startswith("out"):
            outputs, at = cases.schema.outputs, int(key[3:])
            if at < len(outputs):
                found.append(quantized_as(cases, cases.column("QDQ_" + outputs[at].name) or nothing, said))
        else:
            found.append(at_input(cases, key, lambda name, said=said: quantized_as(
                cases, cases.column("QDQ_" + name) or nothing, said)))
    return also(*found)


FIELDS = {
    "inputs": lambda cases, said: inputs_hold(cases, said),
    "outputs": lambda cases, said: also(cases.all(YES), *[
        types_hold(cases, cases.schema.outputs[i].type_str, types) for i, types in enumerate(said)]),
    "constant": lambda cases, said: also(*[constant_holds(cases, *one) for one in said.items()]),
    "shapes": lambda cases, said: also(*[shape_holds(cases, *one) for one in said.items()]),
    "given": lambda cases, said: also(*[
        np.where(cases.is_absent(int(position)) != wanted, YES, NO) for position, wanted in said.items()]),
    "attributes": lambda cases, said: also(*[attribute_holds(cases, *one) for one in said.items()]),
    "quantized": quantized_holds,
    "where": where_holds,
}


def accepted(cases, rules):
    """The rows that some rule accepts, or may accept."""
    found = np.zeros(len(cases.yes), bool)
    for rule in rules:
        lowest, highest = rule["opset"]
        if lowest <= max(cases.version, 7) <= highest:
            holds = [read(cases, rule[field]) for field, read in FIELDS.items() if field in rule]
            found |= also(cases.all(YES), *holds) > NO
    return found & (fixed_holds(cases) > NO)


def said_of_the_version_only(cases, others, is_taken):
    """The rows with a no that is none today: the same case has a yes in another version, or the version has no yes at all."""
    if not is_taken or not cases.yes.any():
        return ~cases.yes & is_taken
    taken = set()
    for other in others:
        since = OTHERWISE.get(cases.op, 0)
        if other is not cases and set(cases.cells) <= set(other.cells) and (other.version < since) == (cases.version < since):
            rows = list(zip(*(other.cells[name] for name in cases.cells)))
            taken |= {rows[row] for row in np.flatnonzero(other.yes)}
    return ~cases.yes & np.array([row in taken for row in zip(*cases.cells.values())], bool)


def check(path, wheel):
    device, *least = DEVICES[path.stem]
    content = json.loads(path.read_text())
    rules = defaultdict(list)
    # What today's compiler takes beyond the corpus is measured by today_test.py.
    beyond = json.loads(BEYOND[path.stem].read_text())["allow"] if path.stem in BEYOND else []
    for rule in content["allow"]:
        if rule in beyond:
            continue
        assert not set(rule) - {"op", "domain", "opset", "unchecked", *FIELDS}, rule
        rules[rule["op"]].append(rule)
    assert content["defaults"] == {"input_shape": "static"}
    counts, wrong, lost = (Counter(), Counter()), Counter(), (Counter(), Counter())
    name = re.compile(rf".*/{device}/(\w+?)_{device}_ai\.onnx_opset(\d+)(_qdq)?\.parquet")
    today = json.loads(TODAY[path.stem].read_text()) if path.stem in TODAY else {}
    members = defaultdict(list)
    for member in sorted(wheel.namelist()):
        if (found := name.fullmatch(member)) and not found[1].endswith("Pattern"):
            members[found[1], found[3] is not None].append((int(found[2]), member))
    overruled = 0
    for (op, is_quantized), found in members.items():
        files = [Cases(op, version, wheel.read(member)) for version, member in sorted(found)]
        taken = today.get("quantised" if is_quantized else "plain", {}).get(op, {})
        for cases in files:
            said = accepted(cases, rules[op])
            counts[is_quantized].update(rows=len(said), yes=int(cases.yes.sum()), kept=int((said & cases.yes).sum()))
            of_version = said & said_of_the_version_only(cases, files, taken.get(str(cases.version), False))
            cells = {} if is_quantized else today.get("cases", {}).get(op, {})
            of_version |= said & ~cases.yes & np.logical_and.reduce(
                [[value in values for value in cases.cells[name]] for name, values in cells.items()] or [[False] * len(said)])
            overruled += int(of_version.sum())
            wrong[f"{op} {cases.version}{' quantised' * is_quantized}"] += int((said & ~cases.yes & ~of_version).sum())
            lost[is_quantized][op] += int((cases.yes & ~said).sum())
    is_right = sum(wrong.values()) == 0
    for kind, count, enough, of_op in zip(("plain", "quantised"), counts, least, lost):
        if not count["rows"]:
            continue
        share = count["kept"] / count["yes"]
        is_right = is_right and share >= enough
        print(f"{path.stem}: {count['rows']} {kind} rows, {count['yes']} yes, {count['kept']} kept ({100 * share:.1f}%); "
              f"lost: {of_op.most_common(4)}")
    print(f"{path.stem}: {sum(wrong.values())} false yes; {overruled} accepted that the device refused, and today's compiler takes")
    for op, count in wrong.most_common(8):
        if count:
            print(f"  false yes: {op}: {count}")
    return is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="+", type=Path)
    parser.add_argument("--wheel", type=Path, help="of winml-cli; default: pip downloads it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.wheel
        if wheel is None:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "winml-cli==0.4.0"],
                           capture_output=True, check=False)
            wheel = next(Path(folder).glob("*.whl"), None)
        if wheel is None:
            print("measured_lists_test.py: skipped: winml-cli cannot be had from PyPI")
            return 77
        with zipfile.ZipFile(wheel) as archive:
            return 0 if all([check(path, archive) for path in options.lists]) else 1  # noqa: C419 (each says what it finds)


if __name__ == "__main__":
    sys.exit(main())
