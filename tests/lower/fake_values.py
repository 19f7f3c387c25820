#!/usr/bin/env python3
"""A backend that computes what it is told to compute wrong, for tests of `cleave lower --compare`.

usage: fake_values.py [RULE...]      a worker that computes by ONNX Runtime

    wrong=X    adds 1 to what an op X makes
    zero=X     makes zeros of what an op X makes
    below=X    adds 1 to what an op X makes below 0
    stated=X   refuses an op X whose body takes or gives a value without a known shape
    bf16       rounds what each op makes to bfloat16
    above=N    makes all of what a piece of more than N nodes gives 5% too large
    with=X:Y   adds 1 to what an op X makes in a piece that has an op Y, too
    bare       refuses a piece of QuantizeLinear and DequantizeLinear alone
    step=AxB   one value of what each QuantizeLinear makes, of the shape AxB, is one step off
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "backends"))
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from worker import StageError, in_stage, read_inputs, serve, write_outputs


def one_step_off(node, shape):
    name = node.output[0]
    node.output[0] = name + "__raw"
    one = np.zeros(shape, np.int32)
    one.flat[1] = 1
    return [node, helper.make_node("Cast", [name + "__raw"], [name + "__int"], to=TensorProto.INT32),
            helper.make_node("Constant", [], [name + "__one"], value=numpy_helper.from_array(one)),
            helper.make_node("Add", [name + "__int", name + "__one"], [name + "__sum"]),
            helper.make_node("Cast", [name + "__sum"], [name], to=TensorProto.UINT8)]


def wrong_below_zero(node):
    name = node.output[0]
    raw, zero, is_below, added = (name + end for end in ("__raw", "__zero", "__below", "__added"))
    node.output[0] = raw
    return [node, helper.make_node("Constant", [], [zero], value_float=0.0),
            helper.make_node("Less", [raw, zero], [is_below]),
            helper.make_node("Cast", [is_below], [added], to=TensorProto.FLOAT),
            helper.make_node("Add", [raw, added], [name])]


def check_stated(node, rules):
    if f"stated={node.op_type}" not in rules:
        return
    for attribute in node.attribute:
        for value in (*attribute.g.input, *attribute.g.output):
            kind = value.type.tensor_type
            if not kind.HasField("shape") or any(not dim.HasField("dim_value") for dim in kind.shape.dim):
                raise ValueError(f"op {node.op_type}: the shape of {value.name} is not known")


def spoilt(node, rules):
    """The nodes in its place."""
    op = node.op_type
    steps = [rule[5:] for rule in rules if rule.startswith("step=")]
    if steps and op == "QuantizeLinear":
        return one_step_off(node, [int(size) for size in steps[0].split("x")])
    if f"zero={op}" in rules:
        name = node.output[0]
        node.output[0] = name + "__raw"
        zero = helper.make_node("Constant", [], [name + "__zero"], value_float=0.0)
        return [node, zero, helper.make_node("Mul", [name + "__raw", name + "__zero"], [name])]
    is_wrong = f"wrong={op}" in rules
    if f"below={op}" in rules:
        return wrong_below_zero(node)
    if not is_wrong and "bf16" not in rules:
        return [node]
    name = node.output[0]
    raw = name + "__raw"
    node.output[0] = raw
    if is_wrong:
        one = helper.make_node("Constant", [], [name + "__one"], value_float=1.0)
        return [node, one, helper.make_node("Add", [raw, name + "__one"], [name])]
    rounded = name + "__rounded"
    return [node, helper.make_node("Cast", [raw], [rounded], to=TensorProto.BFLOAT16),
            helper.make_node("Cast", [rounded], [name], to=TensorProto.FLOAT)]


def compile_model(path, rules):
    model = in_stage("convert", onnx.load, path)
    for node in model.graph.node:
        in_stage("convert", check_stated, node, rules)
    ops = {node.op_type for node in model.graph.node}
    if "bare" in rules and ops <= {"QuantizeLinear", "DequantizeLinear"}:
        raise StageError("compile", "error: no operator")
    pairs = [rule[5:].split(":") for rule in rules if rule.startswith("with=")]
    rules = [*rules, *(f"wrong={op}" for op, other in pairs if other in ops)]
    nodes = [one for node in model.graph.node for one in spoilt(node, rules)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return in_stage("compile", lambda: ort.InferenceSession(model.SerializeToString()))


def main():
    rules = sys.argv[1:]
    most = [int(rule[6:]) for rule in rules if rule.startswith("above=")]

    def run(request):
        session = compile_model(request["model"], rules)
        names = [value.name for value in session.get_outputs()]
        made = in_stage("run", session.run, names, read_inputs(request))
        if most and len(onnx.load(request["model"]).graph.node) > most[0]:
            made = [one * np.float32(1.05) for one in made]
        write_outputs(request, dict(zip(names, made)))

    def compile_only(request):
        compile_model(request["model"], rules)

    serve("fake", "1", {"compile": compile_only, "run": run})


if __name__ == "__main__":
    ort.set_default_logger_severity(4)
    main()
