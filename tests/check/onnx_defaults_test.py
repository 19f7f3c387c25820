#!/usr/bin/env python3
"""Compares the table of implied attributes with the schemas of the installed `onnx` package.

1. A constant of the table is the default of the newest schema that has the attribute.
2. An attribute with a default that an earlier version of its operator lacks, or that came after
   opset 17 (the newest that the ONNX library of Debian 12 knows), is in the table.
3. An optional attribute without a default is in the table, or below as one that has none.

usage: onnx_defaults_test.py PROJECT_FOLDER      exit status 1 when the table is wrong or lacks a row
"""

import re
import struct
import sys
from pathlib import Path

from onnx import defs, helper

NEWEST_OF_LIBRARY = 17
EPSILON = struct.unpack("f", struct.pack("f", 1e-5))[0]
ROW = re.compile(r'Row\{"(\w+)",\s*"(\w+)",\s*Kind::(\w+)(?:,\s*([-\w.]+))?(?:,\s*"(\w*)")?\}')

# Left out means something of its own (no limit, no seed, all of it), or the value follows from data.
WITHOUT_VALUE = {
    "activation_alpha", "activation_beta", "activations", "clip", "hidden_size",  # RNN, GRU, LSTM
    "seed", "dtype", "consumed_inputs", "output_shape", "type", "ignore_index", "locale",
    "stopwords", "delimiter", "maxsplit", "pattern", "pool_int64s", "pool_strings", "weights",
    "sparse_value", "value", "value_float", "value_floats", "value_int", "value_ints",
    "value_string", "value_strings", "num_outputs", "num_heads", "q_num_heads", "kv_num_heads",
    "scale", "softmax_precision", "end", "directions", "scan_input_axes",
    "scan_input_directions", "scan_output_axes", "scan_output_directions",
}
WITHOUT_VALUE_OF = {
    ("Compress", "axis"), ("Unique", "axis"), ("Concat", "axis"), ("Split", "axis"),
    ("Clip", "min"), ("Clip", "max"), ("Reshape", "shape"), ("Slice", "axes"),
    ("LpPool", "kernel_shape"), ("Col2Im", "dilations"), ("Col2Im", "pads"), ("Col2Im", "strides"),
}
# The newest default is not the earlier behaviour, or the library knows both.
EARLIER_DIFFERS = {
    ("Resize", "coordinate_transformation_mode"), ("Resize", "nearest_mode"),
    ("Resize", "cubic_coeff_a"), ("Resize", "extrapolation_value"),
    ("RoiAlign", "coordinate_transformation_mode"),
}


def has_default(attribute):
    return attribute.default_value is not None and attribute.default_value.type != 0


def versions_by_op():
    versions = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions.setdefault(schema.name, {})[schema.since_version] = schema
    return {op: found for op, found in versions.items() if not found[max(found)].deprecated}


def read_table(folder):
    text = (Path(folder) / "core/lists/condition.cc").read_text(encoding="utf-8")
    rows = {}
    for op, attribute, kind, number, word in ROW.findall(text):
        value = None
        if kind in ("integer", "real"):
            value = EPSILON if number == "kEpsilon" else float(number)
        elif kind == "text":
            value = word
        rows[op, attribute] = value
    return rows


def newest_default(versions, name):
    for version in sorted(versions, reverse=True):
        attribute = versions[version].attributes.get(name)
        if attribute is not None and has_default(attribute):
            value = helper.get_attribute_value(attribute.default_value)
            return value.decode() if isinstance(value, bytes) else value
    return None


def needs_row(versions, name):
    known = [version for version in versions if version <= NEWEST_OF_LIBRARY]
    in_library = known and name in versions[max(known)].attributes
    return not in_library or any(name not in schema.attributes for schema in versions.values())


def faults_of(op, versions, rows):
    names = {name for schema in versions.values() for name in schema.attributes}
    for name in sorted(names):
        row = (op, name)
        default = newest_default(versions, name)
        if row in rows and rows[row] is not None and rows[row] != default:
            yield f"{op}.{name} is {rows[row]!r}, the schema has {default!r}"
        if row in rows or row in EARLIER_DIFFERS:
            continue
        newest = versions[max(versions)].attributes.get(name)
        if default is not None:
            if newest is not None and has_default(newest) and needs_row(versions, name):
                yield f"{op}.{name} = {default!r} is not in the table"
        elif newest is not None and not newest.required:
            if name not in WITHOUT_VALUE and row not in WITHOUT_VALUE_OF:
                yield f"{op}.{name} has neither a default nor a row"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = read_table(sys.argv[1])
    versions = versions_by_op()
    faults = [f"{op}.{name}: ONNX has no such operator" for op, name in rows if op not in versions]
    for op, found in sorted(versions.items()):
        faults.extend(faults_of(op, found, rows))
    print("\n".join(faults))
    print(f"{len(rows)} rows, {len(versions)} operators, {len(faults)} faults")
    sys.exit(1 if faults or not rows else 0)


if __name__ == "__main__":
    main()
