#!/usr/bin/env python3
"""Solves the placement of real models again, as minimum cuts of networkx in exact integers.

usage: real_cut_test.py CLEAVE MODEL.onnx...

Each model is converted to native JSON with a size for each symbolic dim. Its nodes get times drawn at
random, given to cleave as CSV, and a third of its op types are not supported. With launches free and
residency on, `preview --place cost` must find the least time of all placements: the minimum cut of a
network that is built here, from the JSON alone. Exit status 1 when one differs by more than 1e-9, or
fewer than 10 models could be placed where as many were given; 77 when there is no model.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import networkx

CLEAVE = Path(sys.argv[1]).resolve()
SIZES = {"float32": 4, "int64": 8, "bool": 1, "float16": 2, "int32": 4, "uint8": 1, "int8": 1,
         "float64": 8, "bfloat16": 2}
BANDWIDTH = "1GB/s"  # 1,000 bytes a microsecond: times are whole nanoseconds
DIM = 64
ACC, CPU = "acc", "cpu"


def run(*arguments):
    return subprocess.run([CLEAVE, *arguments], capture_output=True, text=True)


def converted(model, folder):
    """The model as native JSON, all its dims bound, or why not."""
    target = folder / "model.json"
    target.unlink(missing_ok=True)
    result = run("convert", model, "-q", "-o", target)
    if result.returncode:
        return None, result.stderr
    graph = json.loads(target.read_text())
    named = {dim for value in graph["inputs"] for dim in value.get("shape") or [] if isinstance(dim, str)}
    dims = [f"--dim={name}={1 if name in ('N', 'batch') else DIM}" for name in sorted(named)]
    target.unlink()
    result = run("convert", model, "-q", "-o", target, *dims)
    return (target, "") if result.returncode == 0 else (None, result.stderr)


def bytes_of(value):
    """None where a size is not known, or the value is no tensor."""
    if value["type"] != "tensor" or value.get("dtype") not in SIZES or value.get("shape") is None:
        return None
    if any(not isinstance(dim, int) for dim in value["shape"]):
        return None
    size = SIZES[value["dtype"]]
    for dim in value["shape"]:
        size *= dim
    return size


def read_values(node):
    values = [one for one in node["inputs"] if isinstance(one, str)]
    return values + [one for one in node.get("kwargs", {}).values() if isinstance(one, str)]


def network_of(graph, nodes, times, supported):
    """A node on the side of ACC is on the accelerator; the cut is nanoseconds."""
    network = networkx.DiGraph()
    values = {value["name"]: (None, value) for value in graph["inputs"]}
    for name in nodes:
        node = nodes[name]
        network.add_edge(ACC, name, capacity=times[name][0])
        if node["op"] in supported:
            network.add_edge(name, CPU, capacity=times[name][1])
        else:
            network.add_edge(name, CPU)
        values.update({value["name"]: (name, value) for value in node["outputs"]})
    readers = {}
    for name in nodes:
        for value in read_values(nodes[name]):
            if value in values:
                readers.setdefault(value, []).append(name)
    for name, (maker, value) in values.items():
        size = bytes_of(value)
        reading = list(readers.get(name, []))
        if maker is None:
            maker = CPU
        elif name in graph["outputs"]:
            reading.append(CPU)
        if not reading:
            continue
        if size is None:
            return None
        out, back = ("out", name), ("in", name)
        if maker != CPU:
            network.add_edge(maker, out, capacity=size)
        network.add_edge(back, maker, capacity=size)
        for reader in reading:
            if maker != CPU:
                network.add_edge(out, reader)
            if reader != CPU:
                network.add_edge(reader, back)
    return network


def check(model, folder, seed):
    """What went wrong; nothing where the least time was found. Raises LookupError where the model
    cannot be placed here."""
    draw = random.Random(seed)
    path, why = converted(model, folder)
    if path is None:
        raise LookupError(why.splitlines()[0])
    graph = json.loads(path.read_text())
    constants = set(json.loads(run("preview", path, "-s", write_list(folder, []), "--json", "-q").stdout)["constants"])
    nodes = {node["name"]: node for node in graph["nodes"] if node["name"] not in constants}
    ops = sorted({node["op"] for node in nodes.values()})
    supported = set(draw.sample(ops, max(1, len(ops) * 2 // 3)))
    times = {name: (draw.randrange(1, 2_000_000), draw.randrange(1, 400_000)) for name in nodes}
    for i, target in enumerate((CPU, ACC)):
        lines = ['"{}",{:.3f}'.format(name.replace('"', '""'), both[i] / 1000) for name, both in times.items()]
        (folder / f"{target}.csv").write_text("\n".join(["node,time_us", *lines]) + "\n")
    network = network_of(graph, nodes, times, supported)
    if network is None:
        raise LookupError("sizes are not known, or data is no tensor")
    least = networkx.minimum_cut_value(network, ACC, CPU) / 1000
    result = run(
        "preview", path, "-s", write_list(folder, supported), "--json", "-q", "--place", "cost",
        "--state", "off",  # the network has no state
        "--residency", "on", "--pcie-bw", BANDWIDTH, "--target", "acc:launch=0us",
        "--costs", folder / "cpu.csv", "--costs", f"acc={folder / 'acc.csv'}",
    )  # fmt: skip
    if result.returncode:
        return f"exits {result.returncode}: {result.stderr}"
    latency = json.loads(result.stdout)["latency"]
    found, bound = latency["total_us"], latency["bound_us"]
    all_cpu = sum(both[0] for both in times.values()) / 1000
    print(f"{model.stem:24} {len(nodes):5} nodes  {least:12.3f} us, all on the CPU {all_cpu:12.3f} us")
    if abs(found - least) > 1e-9 * least or abs(bound - least) > 1e-9 * least:
        return f"takes {found} us with a bound of {bound} us; the minimum cut is {least} us"
    return None


def write_list(folder, ops):
    path = folder / "list.txt"
    path.write_text("\n".join(sorted(ops)) + "\n" if ops else "NoSuchOp\n")
    return path


def main():
    models = [Path(argument) for argument in sys.argv[2:] if Path(argument).is_file()]
    if not models:
        print("skipped: there is no model")
        sys.exit(77)
    placed, faults = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for seed, model in enumerate(models):
            try:
                fault = check(model, Path(folder), seed)
            except LookupError as error:
                print(f"{model.stem:24} is left out: {error}")
                continue
            placed += 1
            if fault:
                faults.append(f"{model.stem}: {fault}")
    print("\n".join([f"{placed} models placed", *faults]))
    sys.exit(1 if faults or placed < min(10, len(models)) else 0)


if __name__ == "__main__":
    main()
