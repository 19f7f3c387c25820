#!/usr/bin/env python3
"""Prints what archives of torch.export hold, in a few lines each: what goes in and out, nodes, types, ranges and weights.

usage: programs.py FILE.pt2...
"""
import json
import pathlib
import re
import sys
import zipfile


def short(value):
    """A value of the document in few characters: {"as_int": 3} is 3."""
    if isinstance(value, dict):
        if "expr_str" in value:
            return re.sub(r"(?:Symbol|Integer)\('?([-\w]+)[^)]*\)", r"\1", value["expr_str"]) + f"={short(value['hint'])}"
        if len(value) == 1 or set(value) == {"arg", "name", "kind"}:
            inner = short(value["arg"] if "arg" in value else next(iter(value.values())))
            return f"{value['name']}={inner}" if value.get("kind") == 2 else inner
        return " ".join(f"{key}={short(held)}" for key, held in value.items() if held is not None)
    if isinstance(value, list):
        return "[" + ", ".join(map(short, value)) + "]"
    return str(value)


def kind_of(spec):
    """"parameter l.weight" of the specification of an input or an output."""
    (kind, held), = spec.items()
    names = [held[key] for key in sorted(held) if key.endswith("_name") and isinstance(held[key], str)]
    return " ".join([kind, *names])


def write_program(program):
    module = program["graph_module"]
    graph, signature = module["graph"], module["signature"]
    for side in ("input", "output"):
        for argument, spec in zip(graph[side + "s"], signature[side + "_specs"], strict=True):
            print(f"  {side} {short(argument)}: {kind_of(spec)}")
    for node in graph["nodes"]:
        print(f"  {', '.join(map(short, node['outputs']))} = {node['target'].removeprefix('torch.ops.')}"
              f"({', '.join(map(short, node['inputs']))})")
    for name, held in graph["tensor_values"].items():
        strides = "" if name.startswith("p_") else " strides " + short(held["strides"])
        print(f"  {name}: dtype {held['dtype']} {short(held['sizes'])}{strides}")
    for key in ("sym_int_values", "sym_bool_values"):
        for name, held in graph[key].items():
            print(f"  {name}: {short(held)}")
    for symbol, span in program["range_constraints"].items():
        print(f"  {symbol} is {span['min_val']} to {span['max_val']}")


for path in map(pathlib.Path, sys.argv[1:]):
    with zipfile.ZipFile(path) as archive:
        print(path.stem)
        for name in archive.namelist():
            if name.endswith("_config.json"):
                for weight, held in json.loads(archive.read(name))["config"].items():
                    print(f"  {weight} is {held['path_name']}, {short(held['tensor_meta']['sizes'])}")
            if "/models/" in name:
                write_program(json.loads(archive.read(name)))
