#!/usr/bin/env python3
"""Compares `--as onnxruntime` with ONNX Runtime's own checker of models for NNAPI and Core ML.

usage: usability_test.py CLEAVE MODEL... [--at-least COUNT]

The checker (onnxruntime.tools.mobile_helpers.usability_checker) optimises a model as the runtime does, and counts the
nodes whose operators a provider's table has, and the partitions of these. It looks at names alone; so the lists given
to cleave here have the names of the same tables, and the most dims that the checker allows. Of each model all three
tables must give the checker's verdict (YES, MAYBE or NO, by the checker's own limits) and partitions within 1. What cleave
says of the runtime's graph is compared ("runtime" of its report), the main graph alone: the checker adds the partitions
of bodies (of If, Loop and Scan), which cleave does not split.

The lists that come with cleave ask for more than names. Each is held against the checker with the model as it is, where
sizes are open, and with every open size 8; NNAPI's table is then asked as the checker asks it, for fixed inputs. A
list must accept no more nodes than the checker, and of a small network of floats as many. A model of which ONNX Runtime fuses
nodes cannot be compared so.

Prints a row for each model and table. Exit status 1 when fewer than COUNT models agree (default: all) or a list accepts more,
77 when there is no onnxruntime with its checker.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper
    from onnxruntime.tools.mobile_helpers import usability_checker as checker
    from onnxruntime.tools.onnx_model_utils import (
        ModelProtoWithShapeInfo,
        get_producer_consumer_maps,
        make_dim_param_fixed,
        optimize_model,
    )
except ImportError as error:
    print(f"usability_test.py: skipped: needs the Python module {error.name}")
    sys.exit(77)

TABLES = {
    "nnapi": ("nnapi_supported_ops.md", None),
    "coreml_neuralnetwork": ("coreml_supported_neuralnetwork_ops.md", 5),
    "coreml": ("coreml_supported_mlprogram_ops.md", 5),
}
FOLDER = Path(checker.__file__).parent
LISTS = Path(__file__).resolve().parents[2] / "samples" / "lists"
ANY_RANK = 999
SIZE = 8  # of what is open


def rule(name, most_rank):
    domain, op = name.split(":")
    made = {"op": op, "domain": "" if domain == "ai.onnx" else domain}
    return made if most_rank is None else {**made, "max_rank": most_rank}


def write_list(folder, name):
    table, most_rank = TABLES[name]
    ops = sorted(checker._SupportedOpsChecker(str(FOLDER / table))._ops)
    path = folder / f"{name}.json"
    document = {"format": "cleave.support", "version": 1, "name": name, "allow": [rule(op, most_rank) for op in ops]}
    path.write_text(json.dumps(document))
    return path


def verdict(nodes, accepted, partitions):
    """The checker's, of these numbers."""
    info = checker.PartitioningInfo(nodes, accepted, partitions, None, [], set(), 0, 0, 0, set())
    return info.suitability().name


def by_runtime(model, name):
    table, most_rank = TABLES[name]
    producers, consumers = get_producer_consumer_maps(model.graph)
    known = checker._SupportedOpsChecker(str(FOLDER / table))
    info = checker._check_partitioning_for_graph(
        model.graph, producers, consumers, known, set(), False, {}, most_rank or ANY_RANK
    )
    return info.suitability().name, info.num_partitions, f"{info.num_supported_nodes}/{info.num_nodes}"


def runtime_of(cleave, path, support):
    command = [cleave, "preview", path, "-s", support, "--as", "onnxruntime", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["support"]["runtime"]


def by_cleave(cleave, path, support):
    made = runtime_of(cleave, path, support)
    said = verdict(made["nodes"], made["accepted"], made["partitions"])
    return said, made["partitions"], f"{made['accepted']}/{made['nodes']}"


def optimised(path, folder):
    """The model as the runtime makes it; None where the runtime cannot read it."""
    made = folder / path.name
    try:
        optimize_model(path, made, use_external_initializers=True)
        return ModelProtoWithShapeInfo(made).model_with_shape_info
    except Exception as error:  # of the runtime, of any kind
        print(f"{path.name}: left out, ONNX Runtime cannot: {str(error).splitlines()[0][:100]}")
        return None


def small_network(folder):
    """Conv, Relu and Add, of an image of open size."""
    image, made = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size, "H", "W"]) for name, size in (("x", 3), ("y", 8)))
    weight = helper.make_tensor("w", TensorProto.FLOAT, [8, 3, 3, 3], [0.1] * 216)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Add", ["c", "r"], ["y"])]  # fmt: skip
    path = folder / "small_network.onnx"
    graph = helper.make_graph(nodes, "small_network", [image], [made], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def fixed(path, folder):
    """The model with every open size SIZE; None where it has none."""
    model = onnx.load(path)
    names = {dim.dim_param for one in model.graph.input for dim in one.type.tensor_type.shape.dim if dim.dim_param}
    for name in names:
        make_dim_param_fixed(model.graph, name, SIZE)
    made = folder / f"fixed_{path.name}"
    onnx.save(model, made)
    return made if names else None


def shipped_lists_hold(cleave, path, folder, is_exact):
    """Whether each list accepts no more nodes than the checker says, with open sizes and with fixed ones."""
    holds = True
    for model in filter(None, (path, fixed(path, folder))):
        (folder / "optimised").mkdir(exist_ok=True)
        made = optimised(model, folder / "optimised")
        for name, (table, _) in TABLES.items():
            if made is None:
                continue
            if name == "nnapi":
                runtime = checker.check_nnapi_partitions(made, True)
            else:
                runtime = checker.check_coreml_partitions(made, False, table)
            said, theirs = runtime_of(cleave, model, LISTS / f"{name}.json"), runtime.num_supported_nodes
            if said["nodes"] != runtime.num_nodes:
                print(f"{model.name} with {name}.json: not compared, ONNX Runtime fuses nodes or counts those of bodies")
                continue
            is_held = said["accepted"] == theirs if is_exact else said["accepted"] <= theirs
            holds &= is_held
            words = f"checker {theirs} of {runtime.num_nodes} nodes; cleave {said['accepted']}"
            print(f"{model.name} with {name}.json: {words}{'' if is_held else '  DIFFERS'}", flush=True)
    return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    parser.add_argument("--at-least", type=int, metavar="COUNT")
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    agreed = judged = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        holds = shipped_lists_hold(options.cleave.resolve(), small_network(folder), folder, True)
        lists = {table: write_list(folder, table) for table in TABLES}
        for path in options.models:
            model = optimised(path, folder)
            if model is None:
                continue
            judged += 1
            is_equal = True
            for table, support in lists.items():
                runtime, ours = by_runtime(model, table), by_cleave(options.cleave.resolve(), path, support)
                is_same = runtime[0] == ours[0] and abs(runtime[1] - ours[1]) <= 1
                is_equal &= is_same
                words = [f"{one[0]} in {one[1]}, {one[2]} nodes" for one in (runtime, ours)]
                print(f"{path.name} {table}: checker {words[0]}; cleave {words[1]}{'' if is_same else '  DIFFERS'}", flush=True)
            agreed += is_equal
            holds &= shipped_lists_hold(options.cleave.resolve(), path, folder, False)
    print(f"{agreed} of {judged} models agree")
    return 0 if agreed >= (options.at_least or judged) and judged and holds else 1


if __name__ == "__main__":
    sys.exit(main())
