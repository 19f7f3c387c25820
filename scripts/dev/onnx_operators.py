"""What ONNX calls its operators, their inputs, outputs and attributes, with the types that these may have: read from
onnx_operators.json, which newer_operators.py writes, so that import_table.py needs no package.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# In the order in which lists name them.
DTYPES = ["float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64",
          "uint32", "uint64", "bfloat16", "float8_e4m3fn", "uint4", "int4"]  # fmt: skip
TYPE_WORDS = {"fp32": "float32", "float": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16",
              "fp64": "float64", "double": "float64", "boolean": "bool", "fp8": "float8_e4m3fn",
              "float8": "float8_e4m3fn", "float8e4m3fn": "float8_e4m3fn", "i64": "int64",
              **{name: name for name in DTYPES}}  # fmt: skip


@dataclass
class Formal:
    """An input or output as the newest version of an operator declares it."""

    name: str  # in small letters
    variable: str  # "T": formals of one variable have one type
    is_variadic: bool
    types: set[str]  # that it may have


@dataclass
class Operator:
    name: str
    since: list[int]  # the opset of each of its versions
    inputs: list[Formal]
    outputs: list[Formal]
    attributes: list[str]  # of all versions
    with_default: set[str]

    def input_named(self, word: str) -> int | None:
        """The input that the word names: as the schema spells it, or as people call it."""
        small = word.lower()
        names = [one.name for one in self.inputs]
        other = {"weight": "w", "weights": "w", "filter": "w", "bias": "b", "splits": "split"}.get(small, small)
        return next((names.index(name) for name in (small, other) if name in names), None)


@cache
def operators() -> dict[str, Operator]:
    """ONNX's operators by name, outside the default domain "ai.onnx.ml:Normalizer"."""
    table = json.loads(Path(__file__).with_name("onnx_operators.json").read_text(encoding="utf-8"))
    types = [{TYPE_WORDS[name] for name in row if name in TYPE_WORDS} for row in table["types"]]

    def formals(rows: list[list[Any]]) -> list[Formal]:
        return [Formal(name.rstrip(".").lower(), of, name.endswith("..."), types[at]) for name, of, at in rows]

    return {
        name: Operator(name, one["since"], formals(one["inputs"]), formals(one["outputs"]),
                       [text.rstrip("=") for text in one["attributes"]],
                       {text[:-1] for text in one["attributes"] if text.endswith("=")})
        for name, one in table["operators"].items()
    }  # fmt: skip


@cache
def names_in_small_letters() -> dict[str, str]:
    return {name.lower(): name for name in operators()}
