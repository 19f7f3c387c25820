#!/usr/bin/env python3
"""Writes the table of ONNX's operators that are newer than the library that cleave is built with.

The library of the oldest systems that cleave is built on knows opset 17 and ai.onnx.ml 3. This script takes from
the newest `onnx` of PyPI every version of an operator after those, and the bodies of operators that ONNX Runtime
expands since it has no kernel for them. For import_table.py it writes the names that each operator's inputs, outputs
and attributes have, with the types that they may have, as scripts/dev/onnx_operators.json.

usage: newer_operators.py [PROJECT_FOLDER]     needs: pip install onnx
"""

import json
import sys
from pathlib import Path

import numpy
import onnx
from onnx import defs

KNOWN = {"": 17, "ai.onnx.ml": 3, "ai.onnx.preview": 0}  # what the library knows, by domain
VARIADIC = 2**31 - 1
# Operators that ONNX defines by others and ONNX Runtime 1.32 has no CPU kernel for: see expanded_ops() in
# function_bodies.h. Those whose body depends on the types of their inputs are not in the table.
EXPANDED = ["HardSwish", "Mish", "SwiGLU", "Swish"]
# All nodes of their bodies are of these, so that their values have the type and the shape of the first input.
ELEMENTWISE = {"CastLike", "Constant", "HardSigmoid", "Mul", "Sigmoid", "Softplus", "Swish", "Tanh"}


def quoted(text):
    assert "\\" not in text and '"' not in text, text
    return f'"{text}"'


def wrapped(words, indent, width=98):
    """A string literal of the words, over as many lines as it takes."""
    lines, line = [], ""
    for i, word in enumerate(words):
        piece = word + (" " if i + 1 < len(words) else "")
        if line and len(line) + len(piece) + indent + 5 > width:
            lines.append(line)
            line = ""
        line += piece
    lines.append(line)
    return ("\n" + " " * indent).join(quoted(line) for line in lines)


def default_of(attribute):
    """`i0`, `f0.5`, `sNOTSET`; "" when there is none, or a list."""
    value = attribute.default_value
    if value.type == onnx.AttributeProto.INT:
        return f"i{value.i}"
    if value.type == onnx.AttributeProto.FLOAT:
        return f"f{numpy.float32(value.f)!s}"
    if value.type == onnx.AttributeProto.STRING:
        text = value.s.decode()
        assert " " not in text, text
        return f"s{text}"
    return ""


def row(schema):
    names = sorted(schema.attributes)
    defaults = [f"{name}={text}" for name in names if (text := default_of(schema.attributes[name]))]
    inputs = "kVariadic" if schema.max_input == VARIADIC else str(schema.max_input)
    head = f'    {{{quoted(schema.domain)}, {quoted(schema.name)}, {schema.since_version}, {schema.min_input}, {inputs},'
    return f"{head}\n     {wrapped(names, 5)},\n     {wrapped(defaults, 5)}}},"


def attribute_text(attribute):
    """`alpha=f0.2`; `value_float=@alpha` is the calling node's attribute."""
    if attribute.ref_attr_name:
        return f"{attribute.name}=@{attribute.ref_attr_name}"
    assert attribute.type == onnx.AttributeProto.FLOAT, attribute
    return f"{attribute.name}=f{numpy.float32(attribute.f)!s}"


def body_row(schema):
    """The nodes of the body: `HX = HardSigmoid X alpha=f0.16666667`, separated by semicolons."""
    function = schema.function_body
    nodes = []
    for node in function.node:
        assert node.op_type in ELEMENTWISE, node.op_type
        words = [*node.output, "=", node.op_type, *node.input, *(attribute_text(a) for a in node.attribute)]
        nodes.append(" ".join(words))
    return (
        f"    {{{quoted(schema.name)}, {schema.since_version}, {quoted(' '.join(function.input))}, "
        f"{quoted(' '.join(function.output))},\n     {wrapped('; '.join(nodes).split(' '), 5)}}},"
    )


def formals(parameters, types):
    """[name, type variable, place of its types in `types`] of each; a variadic one's name ends in dots."""
    made = []
    for one in parameters:
        allowed = sorted(name[7:-1] for name in one.types if name.startswith("tensor("))
        if allowed not in types:
            types.append(allowed)
        dots = "..." if one.option == defs.OpSchema.FormalParameterOption.Variadic else ""
        made.append([one.name + dots, one.type_str, types.index(allowed)])
    return made


def operator_names(schemas):
    """The newest version of each operator, with the attributes of all versions: `name=` where it has a default."""
    types, operators = [], {}
    for schema in schemas:
        name = f"{schema.domain}:{schema.name}" if schema.domain else schema.name
        operator = operators.setdefault(name, {"since": [], "inputs": [], "outputs": [], "attributes": []})
        operator["since"].append(schema.since_version)
        if schema.deprecated:
            continue
        operator["inputs"], operator["outputs"] = formals(schema.inputs, types), formals(schema.outputs, types)
        old = {one.rstrip("=") for one in operator["attributes"]}
        with_default = {one for one, it in schema.attributes.items() if it.default_value.type}
        operator["attributes"] = [
            one + ("=" if one in with_default else "") for one in sorted(old | set(schema.attributes))
        ]
    rows = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in operators.items())
    head = f'"made_of": "onnx {onnx.__version__}, opset {defs.onnx_opset_version()}"'
    sets = ",\n  ".join(map(json.dumps, types))
    return f'{{\n {head},\n "types": [\n  {sets}\n ],\n "operators": {{\n  {rows}\n }}\n}}\n'


def main():
    project = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    schemas = sorted(
        defs.get_all_schemas_with_history(), key=lambda one: (one.domain, one.name, one.since_version)
    )
    project.joinpath("scripts/dev/onnx_operators.json").write_text(operator_names(schemas), encoding="utf-8")
    newer = [one for one in schemas if one.since_version > KNOWN.get(one.domain, VARIADIC)]
    made = f"// Made by scripts/dev/newer_operators.py from onnx {onnx.__version__}, opset {defs.onnx_opset_version()}.\n"
    project.joinpath("formats/onnx/infer/newer_operators.inc").write_text(
        made + "\n".join(map(row, newer)) + "\n", encoding="utf-8"
    )
    bodies = [one for one in schemas if one.domain == "" and one.name in EXPANDED and one.has_function]  # type: ignore[attr-defined]  # not in the types of onnx
    project.joinpath("formats/onnx/read/function_texts.inc").write_text(
        made + "\n".join(map(body_row, bodies)) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
