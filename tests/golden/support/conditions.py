#!/usr/bin/env python3
"""Prints a native graph (model) or a list (list), for conditions.golden: an op of its own for each condition that fails.

usage: conditions.py model|list
"""
import json
import sys

# The condition, and of what the node has more than inputs x (float32[2, N, 4, 8]), i (int64[3]) and weight w.
RULES = [
    {"attributes": {"a": [1, 2]}}, {"attributes": {"a": [[3, 3]]}}, {"attributes": {"a": {"min": 1.5, "max": 2}}},
    {"attributes": {"b": {"max": 2}}}, {"attributes": {"b": {"min": 7}}}, {"attributes": {"none": [1]}},
    {"attributes": {"c": {"absent": True}}}, {"attributes": {"none": {"stated": True}}},
    {"attributes": {"c": ["x", 2.5]}}, {"attributes": {"axis": [2]}}, {"attributes": {"axis": [3, 1], "a": [1]}},
    {"given": {"2": False}}, {"given": {"7": True}}, {"given": {"3": True}},
    {"constant": {"0": True}}, {"constant": {"2": False}}, {"constant": {"7": True}}, {"constant": {"7": False}},
    {"values": {"2": 0}}, {"values": {"0": {"each": {"max": 6, "finite": True, "power_of_two": True}}}},
    {"values": {"2": [1, 2]}}, {"values": {"2": {"list": [1], "each": {"min": 0, "one_of": [1, 2]}}}},
    {"layout": {"0": ["contiguous", "channels_last"]}}, {"layout": {"1": "sparse"}},
    {"quantized": {"0": ["tensor", "axis", "int8"]}}, {"quantized": {"1": []}}, {"quantized": {"0": ["symmetric", "same"]}},
    {"outputs_used": []}, {"outputs_used": [1]}, {"outputs_used": [1, 2]},
    {"input_shape": "static"}, {"input_shape": "batched"}, {"max_rank": 3}, {"max_rank": 0},
    {"shapes": {"0": {"rank": 3}}}, {"shapes": {"0": {"rank": [1, 2]}}}, {"shapes": {"0": {"rank": {"min": 5}}}},
    {"shapes": {"0": {"static": True}}}, {"shapes": {"0": {"max_dim": 7}}}, {"shapes": {"7": {"rank": 4}}},
    {"shapes": {"0": {"multiple_of": {"-1": 3, "0": 2}}}}, {"shapes": {"0": {"dims": {"-1": {"max": 7}}}}},
    {"shapes": {"0": {"dims": {"1": {"static": True}}}}}, {"shapes": {"0": {"dims": {"0": {"equals": [1, 3]}}}}},
    {"shapes": {"0": {"dims": {"9": 1}}}}, {"shapes": {"0": {"dims": {"2": {"min": 5, "multiple_of": 4}}}}},
    {"shapes": {"1?": {"dims": {"0": {"max": 3, "multiple_of": 2}}}, "7?": {"rank": 1}}},
    {"inputs": "same"}, {"inputs": {"all": ["float32", "int64"], "same": True}}, {"inputs": {"all": ["int64", "scalar"]}},
    {"inputs": [["float16", "bool"], None, ["float32"]]}, {"outputs": [["int8"], ["float32"]]},
    {"kwargs": {"k": ["float32", "list"]}}, {"opset": [1, 5]},
    {"where": "in[0].dim[0] == in[0].dim[3] / 2"}, {"where": ["in[0].rank == 4", "in[0].dim[1] == 1"]},
    {"where": [{"relation": "attr.a[1] != 5 and len(in) == 4", "why": "five is too many"}]},
    {"where": [{"relation": "attr.b > 6 or attr.none == 1", "why": "small b"}]}, {"where": "not attr.b"},
    {"attributes": {"a": [1], "b": {"min": 9}}, "max_rank": 3, "constant": {"0": True}, "inputs": [["int8"]]},
]


def model():
    tensor = {"type": "tensor", "dtype": "float32", "shape": [2, "N", 4, 8]}
    inputs = [{"name": "x", **tensor}, {"name": "i", "dtype": "int64", "shape": [3]}, {"name": "s", "type": "scalar"}]
    nodes = [{"name": f"n{at:02}", "op": f"c{at:02}", "inputs": ["x", "i", "w"], "kwargs": {"k": "s"},
              "attributes": {"a": [3, 5], "b": 6, "c": "it", "axis": -2},
              "outputs": [{"name": f"n{at:02}", **tensor}, {"name": f"m{at:02}", "dtype": "int8", "shape": [1]}]}
             for at in range(len(RULES))]
    return {"format": "cleave.graph", "version": 1, "name": "conditions", "inputs": inputs, "nodes": nodes,
            "parameters": [{"name": "w", "dtype": "float32", "shape": [5, 1]}],
            "outputs": [node["name"] for node in nodes]}


def support():
    return {"format": "cleave.support", "version": 1, "name": "conditions",
            "allow": [{"op": f"c{at:02}", **rule} for at, rule in enumerate(RULES)]}


print(json.dumps(model() if sys.argv[1] == "model" else support()))
