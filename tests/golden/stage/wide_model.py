#!/usr/bin/env python3
"""Prints a native graph of four stages, as wide.golden reads it."""
import json


def tensor(name, *shape):
    return {"name": name, "type": "tensor", "dtype": "float32", "shape": list(shape)}


def call(name, op, inputs, *outputs, **more):
    return {"name": name, "op": op, "kind": "call_function", "inputs": inputs, "outputs": list(outputs), **more}


def module(name, target, inputs, parameters, output):
    return call(name, "torch.nn.modules.linear.Linear", inputs, output, kind="call_module", target=target,
                module_parameters=parameters, scope=target)


def marker(name):
    return call(name, "torch.ops.pippy._pipe_split.default", [], {"name": name, "type": "none"})


print(json.dumps({
    "format": "cleave.graph", "version": 1, "name": "wide",
    "inputs": [tensor("x", "B", 32), tensor("labels", "B", 32)],
    "outputs": ["logits", "loss"], "output_tree": {"logits": "logits", "loss": "loss"},
    "parameters": [
        {"name": "scale", "dtype": "float32", "shape": [32]},
        {"name": "tied_a", "dtype": "float32", "shape": [32, 32], "get_attr": True, "target": "tied.weight"},
        {"name": "tied_b", "dtype": "float32", "shape": [32, 32], "get_attr": True, "target": "tied.weight"},
        {"name": "enc.w", "dtype": "float32", "shape": [32, 32]},
        {"name": "enc.b", "dtype": "float32", "shape": [32]},
        {"name": "mid.w", "dtype": "float32", "shape": [32, 32]},
        {"name": "shift", "dtype": "float32", "shape": [1, 32]},
        {"name": "unread", "dtype": "float32", "shape": [7]}],
    "nodes": [
        module("enc_lin", "enc.lin", ["x"], ["enc.w", "enc.b"], tensor("enc_lin", "B", 32)),
        call("scaled", "torch.mul", ["enc_lin", "scale"], tensor("scaled", "B", 32)),
        call("tied_first", "torch.nn.functional.linear", ["scaled", "tied_a"], tensor("tied_first", "B", 32)),
        call("pair", "torch.split", ["tied_first"], {"name": "pair", "type": "tuple"}),
        marker("pipe_split"),
        module("mid_lin", "mid.lin", ["scaled"], ["mid.w"], tensor("mid_lin", "B", 32)),
        call("moved", "torch.add", ["mid_lin", "shift"], tensor("moved", "B", 32)),
        call("again", "torch.mul", ["moved", "scale"], tensor("again", "B", 32)),
        marker("pipe_split_1"),
        module("mid_lin_1", "mid.lin", ["again"], ["mid.w"], tensor("mid_lin_1", "B", 32)),
        call("item", "operator.getitem", ["pair", "mid_lin_1"], tensor("item", "B", 32)),
        marker("pipe_split_2"),
        call("third", "torch.mul", ["item", "scale"], tensor("third", "B", 32)),
        call("logits", "torch.nn.functional.linear", ["third", "tied_b"], tensor("logits", "B", 32)),
        call("sum", "torch.add", ["logits", "enc_lin"], tensor("sum", "B", 32)),
        call("loss", "torch.nn.functional.mse_loss", ["sum", "labels"], tensor("loss"))],
}))
