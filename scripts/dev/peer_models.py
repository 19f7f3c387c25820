#!/usr/bin/env python3
"""Makes the models that bench_peers.py compares programs on.

usage: peer_models.py residual NODES FOLDER      a torch.fx module and what cleave reads of it
       peer_models.py weights MEGABYTES FOLDER   an ONNX chain of MatMul and Add on that much

The residual graph is a chain of small tensors: every fifth node adds the input, and every fifth is torch.relu, which
the list does not name. Written: model.pt and inputs.pt for torch; model.json (by export_fx.py), support.json and
map.json, forty runs of the model's order, for both. The other: model.onnx, support.json and
inputs.json, the shapes of its inputs.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
UNSUPPORTED = "torch.relu"
PARTS_OF_MAP = 40
LAYERS = 64  # of the chain


def write_json(path, value):
    path.write_text(json.dumps(value))


def support_list(ops):
    return {"format": "cleave.support", "version": 1, "name": "peers", "allow": ops}


def residual_graph(nodes):
    import torch

    graph = torch.fx.Graph()
    x = first = graph.placeholder("x")
    for i in range(nodes):
        if i % 5 == 4:
            x = graph.call_function(torch.add, (x, first))
        else:
            op = [torch.relu, torch.sigmoid, torch.neg, torch.tanh][i % 4]
            x = graph.call_function(op, (x,))
    graph.output(x)
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def make_residual(nodes, folder):
    import torch

    sys.path.insert(0, str(ROOT / "scripts"))
    import export_fx

    torch.set_grad_enabled(False)
    inputs = (torch.ones(2, 4),)
    torch.save(residual_graph(nodes), folder / "model.pt")
    torch.save(inputs, folder / "inputs.pt")
    # As it is read: names of nodes are made anew then.
    traced = torch.load(folder / "model.pt", weights_only=False)
    calls = [node for node in traced.graph.nodes if node.op.startswith("call_")]
    modules = dict(traced.named_modules())
    ops = sorted({export_fx.operator_name(node, modules) for node in calls} - {UNSUPPORTED})
    write_json(folder / "support.json", support_list(ops))
    parts = {node.name: i * PARTS_OF_MAP // len(calls) for i, node in enumerate(calls)}
    write_json(folder / "map.json", parts)
    export_fx.write_graph(export_fx.export_graph(traced, inputs, "residual"), str(folder / "model.json"))


def make_weights(megabytes, folder):
    sys.path.insert(0, str(ROOT / "tests/bench"))
    import bench_onnx

    side = bench_onnx.make_model(folder / "model.onnx", LAYERS, megabytes)
    write_json(folder / "inputs.json", {"x": [1, side]})
    write_json(folder / "support.json", support_list(["MatMul", "Add"]))


def main():
    makers = {"residual": make_residual, "weights": make_weights}
    if len(sys.argv) != 4 or sys.argv[1] not in makers:
        sys.exit(f"usage: peer_models.py {'|'.join(makers)} SIZE FOLDER")
    makers[sys.argv[1]](int(sys.argv[2]), Path(sys.argv[3]))


if __name__ == "__main__":
    main()
