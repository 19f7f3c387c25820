#!/usr/bin/env python3
"""`--map` of what other tools write: ONNX models whose nodes name a stage, and what Olive splits by.

usage: map_test.py PROJECT CLEAVE      exit status 1 if a test fails
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
from onnx import TensorProto, helper

PROJECT, CLEAVE = (Path(argument).resolve() for argument in sys.argv[1:3])
NAMES = ["/embed/Neg", "/layers.0/a/Relu", "/layers.0/b/Abs", "/Between", "/layers.1/a/Relu", "/layers.10/a/Abs", "/head/Neg"]
OLIVE = "layers.0=0;layers.1=1;layers.10=1"


def model():
    ops = [name.rsplit("/", 1)[1].replace("Between", "Exp") for name in NAMES]
    nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name=name) for i, (op, name) in enumerate(zip(ops, NAMES))]
    ends = [helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, [4]) for i in (0, len(NAMES))]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    return helper.make_model(graph, ir_version=11, opset_imports=[helper.make_opsetid("", 17)])


def parts(folder, carrier, *more):
    """The partition of each node by a map."""
    onnx.save(model(), folder / "m.onnx")
    words = ["preview", folder / "m.onnx", "--map", carrier, "--json", "-q", *more]
    done = subprocess.run([CLEAVE, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.returncode, done.stderr
    made = json.loads(done.stdout)["node_map"]
    return " ".join(made[name].removeprefix("submod_") for name in NAMES)


def stages_of_nodes(folder):
    of_metadata, of_devices = model(), model()
    for i, node in enumerate(of_metadata.graph.node):
        entry = node.metadata_props.add()
        entry.key, entry.value = "pipeline_stage", str(i // 3)
    for i, node in enumerate(of_devices.graph.node):
        node.device_configurations.add(configuration_id="c", pipeline_stage=i // 4)
    for carrier, wanted in ((of_metadata, "0 0 0 1 1 1 2"), (of_devices, "0 0 0 0 1 1 1")):
        onnx.save(carrier, folder / "carrier.onnx")
        made = parts(folder, folder / "carrier.onnx")
        assert made == wanted, made
    status, error = parts(folder, folder / "m.onnx")
    assert status == 3 and "nodes name no stage" in error and "pipeline_stage" in error, (status, error)


def assignments_of_olive(folder):
    """A module is what names begin with, so layers.10 is not in layers.1; a node between two goes with the first, and the
    ends with theirs."""
    carrier = model()
    helper.set_model_props(carrier, {"split_assignments": OLIVE})
    onnx.save(carrier, folder / "olive.onnx")
    (folder / "text.json").write_text(json.dumps({"split_assignments": OLIVE}))
    (folder / "map.json").write_text(json.dumps({"split_assignments": {"layers.0": 0, "layers.1": 1, "layers.10": 1}}))
    for name in ("olive.onnx", "text.json", "map.json"):
        made = parts(folder, folder / name)
        assert made == "0 0 0 0 1 1 1", made
    (folder / "wrong.json").write_text(json.dumps({"split_assignments": {"layers.0": 0, "layer.1": 1}}))
    status, error = parts(folder, folder / "wrong.json")
    assert status == 3 and '"layer.1"' in error, error


def main():
    for test in (stages_of_nodes, assignments_of_olive):
        with tempfile.TemporaryDirectory() as folder:
            test(Path(folder))
    print("maps of other tools: nodes' stages and Olive's assignments are read")


if __name__ == "__main__":
    main()
