#!/usr/bin/env python3
"""Compares the files for Netron and Model Explorer with the split that they show.

Both viewers silently ignore unknown names. So every node and value that a file names must be in the
model, every node of the model must be in the file, and the bytes that cross must add up to those of
the report.

usage: check.py PROJECT_FOLDER CLEAVE      exit status 1 if a name is unknown
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = [("resnet18.json", "npu.json"), ("dlrm.json", "npu.json"),
         ("transformer_encoder.json", "npu.json"), ("mobile_block.onnx", "tiny_npu.txt"),
         ("attention.onnx", "ort_ops.config"), ("keyword.tflite", "anything.json")]


def made_by(cleave, model, support, tmp):
    """(report, graph, Netron's attachment, Model Explorer's files by name) of one split."""
    netron, folder = tmp / "attachment.json", tmp / "explorer"
    printed = subprocess.run(
        [cleave, "preview", model, "-s", support, "-q", "--json", "--viewer", netron,
         "--viewer", folder, "--force"], check=True, capture_output=True).stdout
    graph = subprocess.run([cleave, "convert", model, "-q"], check=True, capture_output=True).stdout
    files = {path.name: json.loads(path.read_text()) for path in folder.iterdir()}
    return json.loads(printed), json.loads(graph), json.loads(netron.read_text()), files


def check_netron_by_number(report, graph, attachment):
    """Operators of TensorFlow Lite have no names: Netron finds them by their number, in the order of the file."""
    found = [item for item in attachment["metadata"] if item["kind"] == "node" and item["name"] == "partition"]
    numbers = [int(item["identifier"]) for item in found]
    yield numbers == sorted(set(numbers)), "numbers of operators"
    names = [node["name"] for node in graph["nodes"] if node["name"] in report["node_map"]]
    yield [item["value"] for item in found] == [report["node_map"][name] for name in names], "partitions of operators"


def check_netron(report, graph, attachment):
    if report["model"]["format"] == "tflite":
        yield from check_netron_by_number(report, graph, attachment)
        return
    nodes = {node["name"] for node in graph["nodes"]}
    values = {output["name"] for node in graph["nodes"] for output in node["outputs"]}
    yield attachment["signature"] == "netron:attachment", "signature"
    partitions = {}
    for item in attachment["metadata"] + attachment["metrics"]:
        known = {"model": {""}, "node": nodes, "value": values}[item["kind"]]
        yield item["target"] in known, f"{item['kind']} {item['target']!r} is not in the model"
        if item["name"] == "partition":
            partitions[item["target"]] = item["value"]
    yield partitions == report["node_map"], "partitions of nodes"
    reasons = [item["value"] for item in attachment["metadata"] if item["name"] == "why on the CPU"]
    yield reasons == [reason["detail"] for reason in report["cpu_reasons"]], "reasons"


def check_node_data(report, graph, files):
    tensors = {node["outputs"][0]["name"]: node["name"] for node in graph["nodes"]
               if node["outputs"]}
    for name in ("partition.json", "reason.json", "flops.json"):
        for key in files[name]["results"]:
            yield key in tensors, f"{name}: {key!r} is no first output of a node"
    for tensor, node in tensors.items():
        if node in report["node_map"]:
            yield (files["partition.json"]["results"][tensor]["value"]
                   == report["node_map"][node]), f"partition of {node}"
    codes = sorted(result["value"] for result in files["reason.json"]["results"].values())
    wanted = sorted(reason["code"] for reason in report["cpu_reasons"]
                    if reason["node"] in tensors.values())
    yield codes == wanted, "reasons"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    project, cleave = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    checked = failed = 0
    for model, support in CASES:
        with tempfile.TemporaryDirectory() as tmp:
            report, graph, attachment, files = made_by(
                cleave, project / "samples" / model, project / "samples" / support, Path(tmp))
        checks = [*check_netron(report, graph, attachment),
                  *check_node_data(report, graph, files)]
        checked += len(checks)
        for holds, what in checks:
            if not holds:
                failed += 1
                print(f"{model}: {what}")
    print(f"{checked} checks, {failed} failed")
    sys.exit(1 if failed or not checked else 0)


if __name__ == "__main__":
    main()
