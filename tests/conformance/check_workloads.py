#!/usr/bin/env python3
"""Compares `cleave stage` with the known optima of public workloads, and checks every answer
by the definition of the problem, computed here from the file alone: loads, order, colour classes,
memory.

usage: check_workloads.py WORKLOADS CLEAVE      exit status 1 when something is wrong, 77: no folder
"""
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TIGHT = 1e-5     # published optima have six digits
WORST = 1.001    # of further optima


def answer(cleave, path, options):
    command = [cleave, "stage", path, "--json", *options]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return json.loads(done.stdout)


def loads_of(workload, stages):
    """The load of each stage, by the definition: compute, and every value once that crosses."""
    stage_of = {int(node): i for i, stage in enumerate(stages) for node in stage["nodes"]}
    is_host = [stage["device"] == "cpu" for stage in stages]
    loads = [0.0] * len(stages)
    for node in workload["nodes"]:
        stage = stage_of[node["id"]]
        loads[stage] += node["cpuLatency" if is_host[stage] else "fpgaLatency"]
    cost, readers = {}, defaultdict(set)
    for edge in workload["edges"]:
        cost[edge["sourceId"]] = edge["cost"]
        readers[edge["sourceId"]].add(stage_of[edge["destId"]])
    for source, stages_that_read in readers.items():
        others = stages_that_read - {stage_of[source]}
        for stage in others | ({stage_of[source]} if others else set()):
            loads[stage] += 0 if is_host[stage] else cost[source]
    return loads


def faults(workload, report, memory):
    """What an answer has wrong."""
    stages = report["stages"]
    stage_of = {int(node): i for i, stage in enumerate(stages) for node in stage["nodes"]}
    nodes = {node["id"]: node for node in workload["nodes"]}
    if set(stage_of) != set(nodes) or sum(len(stage["nodes"]) for stage in stages) != len(nodes):
        yield "not every node is in one stage"
        return
    for edge in workload["edges"]:
        source, target = nodes[edge["sourceId"]], nodes[edge["destId"]]
        forward = not source["isBackwardNode"] and not target["isBackwardNode"]
        if forward and stage_of[source["id"]] > stage_of[target["id"]]:
            yield f"edge {source['id']} -> {target['id']} goes to an earlier stage"
    stages_of_colour = defaultdict(set)
    for node in workload["nodes"]:
        if "colorClass" in node:
            stages_of_colour[node["colorClass"]].add(stage_of[node["id"]])
    if any(len(colour) > 1 for colour in stages_of_colour.values()):
        yield "a colour class is in several stages"
    for i, stage in enumerate(stages):
        held = sum(nodes[int(node)].get("size", 0) for node in stage["nodes"])
        supported = all(nodes[int(node)]["supportedOnFpga"] for node in stage["nodes"])
        if stage["device"] != "cpu" and (held > memory or not supported):
            yield f"stage {i} does not fit its device"
    loads = loads_of(workload, stages)
    if abs(max(loads) - report["objective"]) > 1e-9 * max(loads):
        yield f"the objective is {report['objective']}, the slowest stage takes {max(loads)}"


def cases(folder):
    for entry in json.loads((folder / "published_setting.json").read_text()):
        yield entry, [], True
    for entry in json.loads((folder / "optima.json").read_text()):
        options = ["--stages", str(entry["k"])]
        if entry["memory_cap"] != "file":
            options += ["--memory", "none"]
        yield entry, options, entry["memory_cap"] == "file"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, cleave = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    if not (folder / "optima.json").exists():
        print(f"skipped: {folder} is not there")
        sys.exit(77)
    count = wrong = 0
    for entry, options, is_capped in cases(folder):
        path = folder / entry["input"]
        workload = json.loads(path.read_text())
        report = answer(cleave, path, options)
        memory = workload["maxSizePerFPGA"] if is_capped else float("inf")
        found = list(faults(workload, report, memory))
        ratio = report["objective"] / entry["optimum"]
        if abs(ratio - 1) > TIGHT and not (options and 1 <= ratio <= WORST):
            found.append(f"the objective is {ratio} of the optimum")
        if report["bound"] > entry["optimum"] * (1 + TIGHT):
            found.append("the bound is above the optimum")
        count += 1
        wrong += bool(found)
        for fault in found[:3]:
            print(f"{entry['input']} {' '.join(options)}: {fault}")
    print(f"{count} answers, {wrong} wrong")
    sys.exit(1 if wrong or not count else 0)


if __name__ == "__main__":
    main()
