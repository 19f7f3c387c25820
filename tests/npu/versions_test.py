#!/usr/bin/env python3
"""Asks Qualcomm's compiler, and cleave with the list qnn_npu, about one case of each operator in each of its versions.

usage: versions_test.py CLEAVE [--wheel FILE] [--quantised] [--only OP]... [--record FILE]

winml-cli's generators make models of one node for the versions that were measured. A model that the list accepts there is
written in every other version of the operator that ONNX's checker accepts it in: of newer versions first, constants that were
attributes before as these. The list must accept nothing that the compiler refuses, and of each version that the compiler
takes one case at least. `--record` writes which versions it takes, of which scripts/dev/measured_lists.py makes the list;
a case that is refused in the version it was made for says nothing of versions, and is left out.

Exit status: 1 when the list is wrong, 77 when a package cannot be had.
"""
import argparse
import contextlib
import copy
import io
import json
import os
import random
import sys
import tempfile
from itertools import groupby
from pathlib import Path

from random_cases_test import Compiler, Generator, accepts, as_model, measured_versions

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "dev"))

import onnx

from measured_lists import BECAME_INPUTS, OLDEST_OPSET, can_be_float, default_of, ends_of

DRAWN = 40  # models of a version of which the list accepts some
CASES = 2  # of a version that are asked about


def node_of(model, op):
    return next(node for node in model.graph.node if node.op_type == op)


def with_attributes(model, node, names, inputs):
    """Constant inputs as the attributes that they were; None where one is computed."""
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    for name in names:
        position = inputs.index(name)
        given = node.input[position] if position < len(node.input) else ""
        if given and given not in constants:
            return None
        if given:
            node.attribute.append(onnx.helper.make_attribute(name, constants[given].tolist()))
            model.graph.initializer.remove(next(one for one in model.graph.initializer if one.name == given))
    del node.input[min(inputs.index(name) for name in names):]
    return model


def in_version(model, op, of, since, opset):
    """A model of the version `of` of an operator as one of the version `since`; None where it cannot be."""
    model = copy.deepcopy(model)
    for (moved, version), names in BECAME_INPUTS.items():
        if moved == op and since < version <= of:
            inputs = [one.name for one in onnx.defs.get_schema(op, of).inputs]
            if with_attributes(model, node_of(model, op), names, inputs) is None:
                return None
    node, known, wanted = node_of(model, op), onnx.defs.get_schema(op, of).attributes, onnx.defs.get_schema(op, opset).attributes
    for attribute in [one for one in node.attribute if one.name not in wanted]:
        value = onnx.helper.get_attribute_value(attribute)
        if value != default_of(known[attribute.name]) and not (attribute.name == "dilations" and set(value) == {1}):
            return None
        node.attribute.remove(attribute)
    next(one for one in model.opset_import if one.domain in ("", "ai.onnx")).version = opset
    try:
        if len(model.opset_import) == 1:
            onnx.checker.check_model(model, full_check=True)
        else:  # a quantised case has an output without a shape
            schema = onnx.defs.get_schema(op, opset)
            if not can_be_float(schema, schema.inputs[0].type_str):
                return None
            context = onnx.checker.C.CheckerContext()
            context.ir_version, context.opset_imports = model.ir_version, {one.domain: one.version for one in model.opset_import}
            onnx.checker.check_node(node_of(model, op), context)
    except Exception:  # of the checker, of any kind
        return None
    return model


def accepted_models(op, since, options, folder, numbers):
    """Models of a version that was measured, of which the list accepts the node; float32 first."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            drawn = [as_model(one) for one in Generator(op, since, options.quantised).draw(DRAWN, numbers)]
    except Exception:  # of the generators, of any kind
        return []
    found = []
    for model in sorted(drawn, key=lambda one: all(tensor.type.tensor_type.elem_type != 1 for tensor in one.graph.input)):
        onnx.save(model, folder / "drawn.onnx")
        if accepts(options.cleave, folder / "drawn.onnx", options.list):
            found.append(model)
    return found[:CASES + 1]


def cases_of(op, measured, options, folder, numbers):
    """By version of the operator: models of it, each with the one that it was made of."""
    models = {since: accepted_models(op, since, options, folder, numbers) for since in measured}
    cases = {}
    for since, end in ends_of(op).items():
        if end < OLDEST_OPSET:
            continue
        order = [of for of in measured if of > since] + [of for of in measured[::-1] if of < since] + [since] * (since in measured)
        found = [(made, model) for of in order for model in models[of] if (made := in_version(model, op, of, since, end))]
        if found:
            cases[since] = found[:CASES]
    return cases


def ask(compiler, model, path):
    onnx.save(model, path)
    return compiler.ask(path)


def run(options, scratch):
    measured = {op: [since for _, since in versions] for op, versions in
                groupby(measured_versions(options, scratch), key=lambda one: one[0])}
    numbers, compiler = random.Random(1), Compiler(scratch)
    taken, wrong, missed, asked = {}, [], [], 0
    for op, versions in measured.items():
        for since, cases in cases_of(op, versions, options, scratch, numbers).items():
            said, kept, why = [], [], ""
            for model, origin in cases:
                answer, why = ask(compiler, model, scratch / "case.onnx")
                is_kept = accepts(options.cleave, scratch / "case.onnx", options.list)
                asked += 1
                if is_kept and answer == "refused":
                    wrong.append(f"  false yes: {op} {since}: {why[:160]}")
                if answer != "refused" or ask(compiler, origin, scratch / "origin.onnx")[0] != "refused":
                    said.append(answer != "refused")
                    kept.append(is_kept)
            if said:
                taken.setdefault(op, {})[str(since)] = all(said)
            if said and all(said) and not any(kept):
                missed.append(f"{op} {since}")
            if not all(said):
                print(f"  refused: {op} {since}: {why[:160]}", flush=True)
    compiler.close()
    count = sum(len(one) for one in taken.values())
    print(f"{asked} cases of {count} versions of {len(taken)} operators: {sum(sum(one.values()) for one in taken.values())} versions "
          f"taken, {len(wrong)} false yes, {len(missed)} taken and not accepted: {', '.join(missed)}")
    print("\n".join(wrong), end="\n" if wrong else "")
    if options.record:
        known = json.loads(options.record.read_text()) if options.record.exists() else {}
        known.setdefault("quantised" if options.quantised else "plain", {}).update(taken)
        options.record.write_text(as_text(known))
    return 1 if wrong or missed or not asked else 0


def as_text(taken):
    """A line for each operator."""
    parts = []
    for kind, ops in sorted(taken.items()):
        lines = ",\n".join(f"  {json.dumps(op)}: {json.dumps(versions)}" for op, versions in sorted(ops.items()))
        parts.append(f" {json.dumps(kind)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("--wheel", type=Path, help="of winml-cli; default: pip downloads it")
    parser.add_argument("--quantised", action="store_true", help="operators between DequantizeLinear and QuantizeLinear")
    parser.add_argument("--only", action="append", metavar="OP", help="cases of these operators")
    parser.add_argument("--list", default="qnn_npu", help="the list that is held against the compiler")
    parser.add_argument("--record", type=Path, metavar="FILE", help="where the versions that the compiler takes are written")
    options = parser.parse_args()
    options.cleave = options.cleave.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TMPDIR"] = scratch
        return run(options, Path(scratch))


if __name__ == "__main__":
    sys.exit(main())
