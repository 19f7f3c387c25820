#!/usr/bin/env python3
"""How even four stages of real models are when they are judged by measured times.

usage: stages_measured.py PROJECT_FOLDER CLEAVE MODEL.onnx... [--stages K]

Each model is profiled twice in ONNX Runtime, unoptimised and on one thread. The first profile is what
`cleave stage --costs` gets; the second one, of a process of its own, judges: a node takes the median of
its runs there. Printed is the slowest stage over a perfect K-th of the time, 1.00 at best, of

    costs     cleave stage --costs PROFILE
    possible  the same with the second profile: what nodes as large as these allow
    default   cleave stage with its default rates
    METIS     pymetis on the first profile's times and the bytes between nodes; it knows no order: where
              its parts cannot run one after the other, a * says so

--comm none throughout, since neither profiles nor METIS know a link. Last line: geometric means. Needs
onnx, onnxruntime, numpy and, for its column, pymetis. Exit status 1 when the mean with costs is above
1.06, 77 when a module is missing.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import onnx
    import onnxruntime as ort
except ImportError as error:
    print(f"stages_measured.py: skipped: needs the Python module {error.name}", file=sys.stderr)
    sys.exit(77)
try:
    import pymetis
except ImportError:
    pymetis = None

WORST_MEAN = 1.06
RUNS = 15


def name_nodes(source, target):
    """A copy of the model in which every node has a name of its own."""
    model = onnx.load(str(source))
    seen = set()
    for i, node in enumerate(model.graph.node):
        if not node.name or node.name in seen:
            node.name = f"{node.op_type}_{i}"
        seen.add(node.name)
    onnx.save(model, str(target))
    return model


def profile(model, folder, name):
    """The path of a profile of some runs."""
    from ort_inputs import find_inputs
    from ort_values import output_names, run

    feeds, _ = find_inputs(model, {}, {}, 0)
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / name)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    for _ in range(RUNS):
        run(session, feeds, output_names(session))
    return Path(session.end_profiling())


def node_times(path, names):
    """Microseconds by node: the median of its runs but the first."""
    times = {}
    for event in json.loads(path.read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            times.setdefault(event["name"][: -len("_kernel_time")], []).append(event["dur"])
    return {name: statistics.median(times[name][1:] or [0]) for name in names if name in times}


def stages_of(cleave, model, stages, *options):
    """Stage by node name, as the files of the stages have them."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [cleave, "stage", model, "--stages", str(stages), "--comm", "none", "-q"]
        subprocess.run([*command, *options, "-o", out], check=True, capture_output=True)
        manifest = json.loads((out / "manifest.json").read_text())
        return {
            node.name: i
            for i, stage in enumerate(manifest["stages"])
            for node in onnx.load(str(out / stage["file"]), load_external_data=False).graph.node
        }


def edges_of(model):
    makers = {output: node.name for node in model.graph.node for output in node.output}
    return {
        (makers[value], node.name)
        for node in model.graph.node
        for value in node.input
        if value in makers
    }


def metis_stages(model, times, stages):
    """Stage by node name, and whether the stages can run one after the other."""
    names = [node.name for node in model.graph.node]
    number = {name: i for i, name in enumerate(names)}
    edges = edges_of(model)
    neighbours = [set() for _ in names]
    for a, b in edges:
        neighbours[number[a]].add(number[b])
        neighbours[number[b]].add(number[a])
    weights = [max(1, round(times.get(name, 0) * 10)) for name in names]
    _, parts = pymetis.part_graph(
        stages, adjacency=[sorted(others) for others in neighbours], vweights=weights
    )
    after = {i: set() for i in range(stages)}
    for a, b in edges:
        if parts[number[a]] != parts[number[b]]:
            after[parts[number[a]]].add(parts[number[b]])
    done = set()
    while True:
        ready = [i for i in after if i not in done and not any(i in after[j] for j in after if j not in done)]
        if not ready:
            break
        done.update(ready)
    return dict(zip(names, parts)), len(done) == stages


def unevenness(stage_of, times, stages):
    loads = [0] * stages
    for name, us in times.items():
        if name in stage_of:
            loads[stage_of[name]] += us
    return max(loads) * stages / sum(loads)


def measure(model_path, options, folder):
    """Name of the column: (unevenness, mark)."""
    named = folder / model_path.name
    model = name_nodes(model_path, named)
    names = {node.name for node in model.graph.node}
    script = [sys.executable, __file__, options.project, options.cleave, named, "--profile", folder]
    paths = [
        Path(subprocess.run([*script, f"run{i}"], check=True, capture_output=True, text=True).stdout.strip())
        for i in range(2)
    ]
    given, judge = (node_times(path, names) for path in paths)
    k = options.stages
    found = {
        "costs": (unevenness(stages_of(options.cleave, named, k, "--costs", paths[0]), judge, k), ""),
        "possible": (unevenness(stages_of(options.cleave, named, k, "--costs", paths[1]), judge, k), ""),
        "default": (unevenness(stages_of(options.cleave, named, k), judge, k), ""),
    }
    if pymetis:
        stages, can_run = metis_stages(model, given, k)
        found["METIS"] = (unevenness(stages, judge, k), "" if can_run else "*")
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("project", type=Path)
    parser.add_argument("cleave", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument("--profile", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(options.project.resolve() / "scripts"))
    if options.profile:
        print(profile(options.models[0], Path(options.profile[0]), options.profile[1]))
        return
    columns = ["costs", "possible", "default"] + (["METIS"] if pymetis else [])
    print(f"{'':26}" + "".join(f"{column:>10}" for column in columns))
    ratios = {column: [] for column in columns}
    for path in options.models:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(path, options, Path(folder))
        cells = "".join(f"{found[column][0]:>9.2f}{found[column][1]:1}" for column in columns)
        print(f"{path.stem:26}{cells}", flush=True)
        for column in columns:
            ratios[column].append(found[column][0])
    means = {column: math.exp(statistics.fmean(map(math.log, ratios[column]))) for column in columns}
    print(f"{'geometric mean':26}" + "".join(f"{means[column]:>9.2f} " for column in columns))
    sys.exit(1 if means["costs"] > WORST_MEAN else 0)


if __name__ == "__main__":
    main()
