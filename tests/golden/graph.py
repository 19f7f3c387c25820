#!/usr/bin/env python3
"""Prints a native graph from short lines, for golden tests.

usage: graph.py NAME LINE...
  x                       an input
  w param 1024            a parameter of so many elements
  a, s:scalar = f(x, w)   a node, and what it makes: float32[8], or of another type, :tensor[2,N] of another shape
  -> a, s                 the outputs
"""
import json
import re
import sys
from typing import Any


def value(text):
    name, _, kind = text.strip().partition(":")
    if kind and not kind.startswith("tensor"):
        return {"name": name, "type": kind}
    dims = [int(dim) if dim.isdigit() else dim for dim in re.findall(r"\w+", kind[6:])] if kind else [8]
    return {"name": name, "type": "tensor", "dtype": "float32", "shape": dims}


def split(text):
    return [part for part in re.split(r",\s+", text.strip()) if part]


graph: dict[str, Any] = {"format": "cleave.graph", "version": 1, "name": sys.argv[1], "inputs": [], "parameters": [],
                         "nodes": [], "outputs": []}
for line in sys.argv[2:]:
    if line.startswith("->"):
        graph["outputs"] = split(line[2:])
    elif " param " in line:
        name, _, size = line.split()
        graph["parameters"].append({"name": name, "dtype": "float32", "shape": [int(size)]})
    elif "=" in line:
        made, op, read = re.fullmatch(r"(.*?) = ([^(]+)\((.*)\)", line).groups()
        outputs = [value(part) for part in split(made)]
        graph["nodes"].append({"name": outputs[0]["name"], "op": op, "inputs": split(read), "outputs": outputs})
    else:
        graph["inputs"].append(value(line))
print(json.dumps(graph))
