#!/usr/bin/env python3
"""Prints a native graph with odd properties, for golden tests of whole reports.

usage: models.py sizes|names
  sizes   tensors of sizes around the bounds of units, of no elements, of open and unknown sizes; costs stated
  names   names that each format must escape, wide and long ones, and names that differ only in case
"""
import json
import sys


def tensor(name, shape, dtype="float32", **more):
    return {"name": name, "type": "tensor", "dtype": dtype, "shape": shape, **more}


def node(name, op, inputs, *outputs, **more):
    return {"name": name, "op": op, "inputs": inputs, "outputs": list(outputs), **more}


def graph(name, inputs, parameters, nodes, outputs):
    return {"format": "cleave.graph", "version": 1, "name": name, "inputs": inputs, "parameters": parameters,
            "nodes": nodes, "outputs": outputs}


def sizes():
    """A chain of f, and after each step a g that reads it: each value goes over the link."""
    shapes = [[262118], [249], [0, 4], [255999], [], ["N", 256], [268435456]]
    nodes, last = [], "x"
    for i, shape in enumerate(shapes):
        nodes.append(node(f"f{i}", "f", [last, f"w{i % 3}"], tensor(f"f{i}", shape), cost={"flops": 999500 * 100**i}))
        nodes.append(node(f"g{i}", "g", [f"f{i}"], tensor(f"g{i}", shape, "bool" if i % 2 else "int8")))
        last = f"g{i}"
    nodes.append(node("h0", "h", [last, "f5"], {"name": "h0", "type": "tensor", "dtype": "float16"},
                      {"name": "h1", "type": "scalar"}, {"name": "h2", "type": "tensor"}))
    nodes.append(node("f_last", "f", ["h0", "h1", "h2"], tensor("f_last", [3, "N"])))
    return graph("sizes", [tensor("x", [1023])],
                 [tensor("w0", [255]), tensor("w1", [255974]), tensor("w2", [0, 7], buffer=True)], nodes,
                 ["f_last", "g3", "f5"])


def names():
    written = ["a b", 'q"uote', "back\\slash", "tab\there", "<b>&amp;</b>", "漢字", "new\nline", "x" * 70 + "|end",
               "_run_on_acc_1", "node:1", "Node", "case", "Case", "input:0", "-"]
    nodes, last = [], 'in "put"'
    for i, name in enumerate(written):
        op = ["my<op>::f&", "g|h", "Relu", "Relu"][i % 4]
        more = {"kwargs": {"k": 'in "put"'}} if i % 5 == 1 else {}
        domain = {"domain": "dom&ain"} if i % 4 == 3 else {}
        nodes.append(node(name, op, [last], tensor(name, [2, 3]), scope=f"enc.{i // 6}.<layer>", **domain, **more))
        last = name
    return graph('odd "name" <&> 漢', [tensor('in "put"', [2, 3])], [], nodes, [last, "case", "new\nline"])


print(json.dumps({"sizes": sizes, "names": names}[sys.argv[1]]()))
