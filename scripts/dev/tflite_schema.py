#!/usr/bin/env python3
"""Writes formats/tflite/schema.inc, the tables of TensorFlow Lite's schema, from tflite_schema.fbs beside it.

The schema is that of tensorflow/compiler/mlir/lite/schema/schema.fbs, unchanged. To take a newer one, replace the
file and run this script.

usage: tflite_schema.py [FILE]      default: formats/tflite/schema.inc
"""
import re
import sys
from pathlib import Path

HEAD = "// TensorFlow Lite's schema, made by scripts/dev/tflite_schema.py: do not edit.\n"

# Scalar types of the language: kind, bytes, sign.
SCALARS = {
    "bool": ("boolean", 1, False),
    "byte": ("integer", 1, True), "int8": ("integer", 1, True),
    "ubyte": ("integer", 1, False), "uint8": ("integer", 1, False),
    "short": ("integer", 2, True), "int16": ("integer", 2, True),
    "ushort": ("integer", 2, False), "uint16": ("integer", 2, False),
    "int": ("integer", 4, True), "int32": ("integer", 4, True),
    "uint": ("integer", 4, False), "uint32": ("integer", 4, False),
    "long": ("integer", 8, True), "int64": ("integer", 8, True),
    "ulong": ("integer", 8, False), "uint64": ("integer", 8, False),
    "float": ("real", 4, True), "float32": ("real", 4, True),
    "double": ("real", 8, True), "float64": ("real", 8, True),
}

# Operators whose options are not called as they are. The others have <Name>Options or none.
SHARED_OPTIONS = {
    "AVERAGE_POOL_2D": "Pool2DOptions", "MAX_POOL_2D": "Pool2DOptions", "L2_POOL_2D": "Pool2DOptions",
    "L2_NORMALIZATION": "L2NormOptions", "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "SUM": "ReducerOptions", "MEAN": "ReducerOptions", "REDUCE_PROD": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions", "REDUCE_MIN": "ReducerOptions", "REDUCE_ANY": "ReducerOptions",
    "REDUCE_ALL": "ReducerOptions", "MAXIMUM": "MaximumMinimumOptions", "MINIMUM": "MaximumMinimumOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions", "EMBEDDING_LOOKUP_SPARSE": "EmbeddingLookupSparseOptions",
    "BATCH_MATMUL": "BatchMatMulOptions", "RANDOM_UNIFORM": "RandomOptions",
    "RANDOM_STANDARD_NORMAL": "RandomOptions", "MULTINOMIAL": "RandomOptions",
}


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


class Schema:
    """The declarations of a schema, each in the order of the file."""

    def __init__(self, text):
        self.enums, self.unions, self.tables = {}, {}, {}
        for kind, name, base, body in re.findall(
                r"\b(enum|union|table)\s+(\w+)\s*(?::\s*(\w+))?\s*\{(.*?)\}",
                without_comments(text).replace("(deprecated)", ""), re.S):
            if kind == "enum":
                self.enums[name] = (base, self.enumerators(body))
            elif kind == "union":
                self.unions[name] = re.findall(r"(\w+)[^,]*", body)
            else:
                self.tables[name] = body
        self.tables = {name: self.fields(body) for name, body in self.tables.items()}

    @staticmethod
    def enumerators(body):
        found, value = [], 0
        for item in body.split(","):
            name, _, number = re.sub(r"\(.*?\)", "", item).partition("=")
            if not name.strip():
                continue
            value = int(number, 0) if number.strip() else value
            found.append((name.strip(), value))
            value += 1
        return found

    def fields(self, body):
        """Rows (name, slot, kind, is_vector, bytes, is_signed, type, default)."""
        rows, slot = [], 0
        names = list(self.tables)
        for declaration in body.split(";"):
            if not declaration.strip():
                continue
            name, vector, kind, default = re.fullmatch(
                r"\s*(\w+)\s*:\s*(\[?)\s*(\w+)\s*\]?\s*(?:=\s*([\w.+-]+))?\s*(?:\([^)]*\))?\s*", declaration).groups()
            row = None
            if kind in SCALARS:
                row = (*SCALARS[kind], 0, self.number(default))
            elif kind in self.enums:
                base, values = self.enums[kind]
                _, width, is_signed = SCALARS[base]
                value = dict(values)[default] if default else 0
                row = ("enumeration", width, is_signed, list(self.enums).index(kind), value)
            elif kind == "string":
                row = ("string", 4, False, 0, 0)
            elif kind in self.unions:
                slot += 1  # the hidden field with the member's number comes before
                row = ("variant", 4, False, list(self.unions).index(kind), 0)
            else:
                row = ("table", 4, False, names.index(kind), 0)
            rows.append((name, slot, row[0], bool(vector), *row[1:]))
            slot += 1
        return rows

    @staticmethod
    def number(text):
        return {None: 0, "true": 1, "false": 0}.get(text) if text in (None, "true", "false") else float(text)

    def options_of(self, operator):
        wanted = SHARED_OPTIONS.get(operator, operator.replace("_", "") + "Options").lower()
        return next((i for i, name in enumerate(self.tables) if name.lower() == wanted), None)


def rows_of(kind, name, rows):
    return f"inline constexpr {kind} {name}[] = {{\n" + "".join(f"    {row},\n" for row in rows) + "};\n"


def flag(value):
    return "true" if value else "false"


def text_of(schema):
    fields, tables, members, unions, enumerators, enums = [], [], [], [], [], []
    for name, rows in schema.tables.items():
        tables.append(f'{{"{name}", {len(fields)}, {len(rows)}}}')
        for field, slot, kind, vector, width, is_signed, number, default in rows:
            fields.append(f'{{"{field}", {slot}, SchemaKind::{kind}, {flag(vector)}, {width}, '
                          f"{flag(is_signed)}, {number}, {default:g}}}")
    names = list(schema.tables)
    for name, tagged in schema.unions.items():
        unions.append(f'{{"{name}", {len(members)}, {len(tagged)}}}')
        members += [f"{names.index(member)}" for member in tagged]
    for name, (_, values) in schema.enums.items():
        if name == "BuiltinOperator":
            enums.append(f'{{"{name}", {len(enumerators)}, 0}}')  # see kSchemaOperators
            continue
        enums.append(f'{{"{name}", {len(enumerators)}, {len(values)}}}')
        enumerators += [f'{{"{value}", {number}}}' for value, number in values]
    operators = schema.enums["BuiltinOperator"][1]
    if [number for _, number in operators] != list(range(len(operators))):
        raise SystemExit("the numbers of the operators have a gap")
    rows = []
    for operator, _ in operators:
        options = schema.options_of(operator)
        rows.append(f'{{"{operator}", {"kNoSchema" if options is None else options}}}')
    return HEAD + "".join((
        rows_of("SchemaField", "kSchemaFields", fields),
        rows_of("SchemaTable", "kSchemaTables", tables),
        rows_of("std::uint16_t", "kSchemaMembers", members),
        rows_of("SchemaUnion", "kSchemaUnions", unions),
        rows_of("SchemaEnumerator", "kSchemaEnumerators", enumerators),
        rows_of("SchemaEnum", "kSchemaEnums", enums),
        rows_of("SchemaOperator", "kSchemaOperators", rows),
    ))


def main():
    here = Path(__file__).resolve().parent
    default = here.parent.parent / "formats" / "tflite" / "schema.inc"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    schema = Schema((here / "tflite_schema.fbs").read_text(encoding="utf-8"))
    path.write_text(text_of(schema), encoding="utf-8")
    print(f"{len(schema.tables)} tables in {path}")


if __name__ == "__main__":
    main()
