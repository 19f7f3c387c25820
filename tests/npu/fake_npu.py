#!/usr/bin/env python3
"""A worker that compiles like a provider of ONNX Runtime that writes EPContext models, for tests. It takes every piece.

usage: fake_npu.py [RULE...]

    stray       keeps its file elsewhere than it is asked to
    nothing     ignores "keep"
    two         writes two nodes, with a value between them
    refuse=X    refuses a piece with an op X
    dies=X      ends the session of a deployed model whose nodes read values X together, as ONNX Runtime makes them one
    load=WORDS  says so when it loads a deployed model
"""
import json
import os
import sys

import onnx
from onnx import TensorProto, helper


def context_node(name, inputs, outputs, data):
    return helper.make_node(
        "EPContext", inputs, outputs, name=name, domain="com.microsoft", main_context=1, embed_mode=0,
        ep_cache_context=data, source="FakeExecutionProvider", partition_name=name,
    )


def write_context(model, out, rules):
    graph = model.graph
    data = os.path.basename(out) + "_fake.bin"
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    names, outputs = [value.name for value in inputs], [value.name for value in graph.output]
    infos = []
    if "two" in rules:
        nodes = [context_node("context_0", names, ["inner"], data), context_node("context_1", ["inner"], outputs, data)]
        infos.append(helper.make_tensor_value_info("inner", TensorProto.FLOAT, [2, 3]))
    else:
        nodes = [context_node("context_0", names, outputs, data)]
    made = helper.make_graph(nodes, "context", inputs, list(graph.output), value_info=infos)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = out + ".onnx"
    if "stray" in rules:
        path = os.path.join(os.path.dirname(out), "elsewhere.onnx")
    onnx.save(helper.make_model(made, opset_imports=opsets, ir_version=8), path)
    with open(os.path.join(os.path.dirname(out), data), "wb") as file:
        file.write(b"compiled " + ",".join(node.op_type for node in graph.node).encode())
    return {
        "artefacts": [{"file": os.path.basename(path), "role": "main"}, {"file": data, "role": "data"}],
        "inputs": names, "outputs": outputs, "target": {"soc_model": "57"},
    }


def load(request, rules):
    nodes = [node for node in onnx.load(request["model"]).graph.node if node.op_type == "EPContext"]
    said = next((rule[5:] for rule in rules if rule.startswith("load=")), "")
    if said:
        return {"ok": False, "stage": "load", "error": said}
    merged = next((set(rule[5:].split("+")) for rule in rules if rule.startswith("dies=")), set())
    if merged and any(merged <= set(node.input) for node in nodes):
        os.abort()
    return {"ok": True, "note": f"it loads with {len(nodes)} of {request['compiled']}"}


def answer(request, rules):
    if request["op"] == "load":
        return load(request, rules)
    model = onnx.load(request["model"])
    ops = [node.op_type for node in model.graph.node]
    for rule in rules:
        if rule.startswith("refuse=") and rule[7:] in ops:
            return {"ok": False, "stage": "compile", "error": f"op {rule[7:]} is not supported"}
    if not request.get("keep") or "nothing" in rules:
        return {"ok": True}
    return {"ok": True, **write_context(model, request["out"], rules)}


def main():
    print(json.dumps({"ready": "fake npu", "version": "1"}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), sys.argv[1:])), flush=True)


if __name__ == "__main__":
    main()
