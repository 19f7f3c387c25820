#!/usr/bin/env python3
"""Prints a list of pairs of rules, a line each, for covers.golden: of each pair the first may cover the second.

usage: covers.py [swapped]      swapped: the second rule of each pair comes first
"""
import json
import sys
from typing import Any

PAIRS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    # The first asks for less, so that the second is never needed.
    ({}, {"max_rank": 3}), ({"max_rank": 4}, {"max_rank": 4, "constant": {"1": True}}),
    ({"max_rank": 4}, {"max_rank": 3}), ({"attributes": {"a": [1, 2]}}, {"attributes": {"a": [2]}}),
    ({"attributes": {"a": {"min": 1, "max": 5}}}, {"attributes": {"a": {"min": 2, "max": 5}}}),
    ({"attributes": {"a": {"max": 5}}}, {"attributes": {"a": [1, 5]}}),
    ({"inputs": [["float32", "int8"]]}, {"inputs": [["int8"]]}), ({"inputs": [None]}, {"inputs": [["int8"], ["int8"]]}),
    ({"outputs": [["float32"]]}, {"outputs": [["float32"], ["int8"]]}),
    ({"kwargs": {"k": ["float32", "scalar"]}}, {"kwargs": {"k": ["scalar"], "l": ["scalar"]}}),
    ({"opset": [6, 13]}, {"opset": [7, 13]}), ({"opset": [6, 13]}, {"opset": [6, 12]}),
    ({"shapes": {"0": {"rank": [2, 4]}}}, {"shapes": {"0": {"rank": [4]}}}),
    ({"shapes": {"0": {"dims": {"1": {"multiple_of": 4}}}}}, {"shapes": {"0": {"dims": {"1": {"multiple_of": 8}}}}}),
    ({"shapes": {"0": {"dims": {"1": {"max": 9}}}}}, {"shapes": {"0": {"dims": {"1": {"min": 2, "max": 9}}}}}),
    ({"shapes": {"1?": {"rank": 2}}}, {"shapes": {"1": {"rank": 2}}}), ({"name": "a*"}, {"name": "ab*"}),
    ({"where": "attr.a == 1"}, {"where": ["attr.a == 1", "attr.b == 1"]}),
    ({"given": {"2": True}}, {"given": {"2": True}}),
    # The second takes nodes that the first does not.
    ({"max_rank": 3}, {}), ({"max_rank": 3}, {"max_rank": 4}),
    ({"attributes": {"a": [1]}}, {"attributes": {"a": [1, 2]}}),
    ({"attributes": {"a": {"min": 2, "max": 5}}}, {"attributes": {"a": {"min": 1, "max": 5}}}),
    ({"attributes": {"a": {"min": 1, "max": 4}}}, {"attributes": {"a": {"min": 1, "max": 5}}}),
    ({"attributes": {"a": [1]}}, {"attributes": {"b": [1]}}),
    ({"inputs": [["int8"]]}, {"inputs": [["float32", "int8"]]}),
    ({"inputs": [["int8"], ["int8"]]}, {"inputs": [["int8"]]}), ({"outputs": [["int8"]]}, {"inputs": [["int8"]]}),
    ({"kwargs": {"k": ["scalar"]}}, {"kwargs": {"l": ["scalar"]}}), ({"opset": [7, 13]}, {"opset": [6, 13]}),
    ({"opset": [6, 12]}, {"opset": [6, 13]}), ({"opset": [6, 12]}, {}),
    ({"shapes": {"0": {"dims": {"1": {"multiple_of": 8}}}}}, {"shapes": {"0": {"dims": {"1": {"multiple_of": 4}}}}}),
    ({"shapes": {"0": {"dims": {"1": {"max": 8}}}}}, {"shapes": {"0": {"dims": {"2": {"max": 8}}}}}),
    ({"shapes": {"1": {"rank": 2}}}, {"shapes": {"1?": {"rank": 2}}}), ({"name": "ab*"}, {"name": "a*"}),
    ({"constant": {"1": True}}, {"constant": {"1": False}}), ({"constant": {"1": True}}, {"constant": {"2": True}}),
    ({"given": {"2": True}}, {"given": {"2": False}}), ({"outputs_used": [0]}, {"outputs_used": [0, 1]}),
    ({"input_shape": "static"}, {"input_shape": "batched"}), ({"where": "attr.a == 1"}, {"where": "attr.a == 2"}),
    # No node meets the second.
    ({"max_rank": 0}, {"inputs": [["float32"], []]}), ({"max_rank": 0}, {"outputs": [[]]}),
    ({"max_rank": 0}, {"shapes": {"1": {"rank": 2, "multiple_of": {"2": 4}}}}),
    ({"max_rank": 0}, {"shapes": {"1": {"rank": 2, "multiple_of": {"-2": 4}}, "1?": {"rank": 3}}}),
]

lines = []
for number, pair in enumerate(PAIRS):
    rules = [json.dumps({"op": f"op{number:02}", **rule}) for rule in pair]
    lines += reversed(rules) if sys.argv[1:] == ["swapped"] else rules
print('{"format": "cleave.support", "version": 1, "name": "covers", "allow": [\n' + ",\n".join(lines) + "]}")
