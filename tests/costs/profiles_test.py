#!/usr/bin/env python3
"""Profiles models in ONNX Runtime and gives the profiles to `cleave preview --costs`.

usage: profiles_test.py PROJECT_FOLDER CLEAVE MADE_MODELS [EXPORTED_MODELS]

Profiles each model of MADE_MODELS, and of EXPORTED_MODELS where that is a folder, unoptimised and
optimised, on one thread, and prints which share of the time was matched, and by which rule. Exit
status 1 when

  - less than 95% of an unoptimised profile or 75% of an optimised one is matched,
  - a profile makes FLOPs unknown, or an unoptimised one of ssdlite leaves FLOPs unknown but for `If`,
  - the time of all nodes on the CPU is not known with an unoptimised profile,
  - the profile of one model is accepted for another.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
import onnxruntime as ort

PROJECT = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(PROJECT / "scripts"))
from ort_inputs import CannotRun, find_inputs
from ort_values import output_names, run

CLEAVE = Path(sys.argv[2]).resolve()
LEAST = {"unoptimised": 0.95, "optimised": 0.75}
# ONNX Runtime inlines functions of a model and names their nodes anew: not all of these are found.
LEAST_WITH_FUNCTIONS = {"unoptimised": 0.85, "optimised": 0.75}
WITH_FUNCTIONS = {"transformer"}
LEVELS = {
    "unoptimised": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "optimised": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
RUNS = 5
# An `If`: which of its branches runs depends on the data, so that its work has no formula.
SSDLITE_UNKNOWN = 1


def profile(model, level, feeds, folder):
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / f"{model.stem}.{level}")
    options.graph_optimization_level = LEVELS[level]
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    for _ in range(RUNS):
        run(session, feeds, output_names(session))
    return Path(session.end_profiling())


def small_inputs(model):
    """Inputs with 2 for each free dim, where the model takes them: what a node costs beside its work counts
    then, so that a profile in which few nodes are found is noticed."""
    graph = onnx.load(str(model), load_external_data=False).graph
    dims = {dim.dim_param: 2 for value in graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    try:
        return find_inputs(model, {}, dims, 0)
    except CannotRun:
        return find_inputs(model, {}, {}, 0)


def preview(model, support, *options):
    command = [CLEAVE, "preview", model, "-s", support, "--json", "-q", *options]
    return subprocess.run(command, capture_output=True, text=True)


def rules_text(costs):
    """ "96.1% by name, 2.1% by order" """
    shares = {rule: us / costs["total_us"] for rule, us in costs["us_by_rule"].items() if us > 0}
    return ", ".join(f"{share:.1%} by {rule}" for rule, share in shares.items())


def check_report(name, level, report, before):
    """What is wrong with the report on one profile; prints a line."""
    costs = report["costs"][0]
    share = costs["matched_us"] / costs["total_us"]
    unknown = report["coverage"]["flops"]["unknown_nodes"]
    print(
        f"{name:24} {level:12} {share:6.1%} matched ({rules_text(costs)}); {costs['observed_shapes']}"
        f" shapes observed; FLOPs unknown of {unknown} nodes, {before} without the profile"
    )
    least = (LEAST_WITH_FUNCTIONS if name in WITH_FUNCTIONS else LEAST)[level]
    if share < least:
        yield f"{share:.1%} of the time matched, not {least:.0%}"
    if unknown > before:
        yield "the profile makes FLOPs unknown"
    if level == "unoptimised":
        if name == "ssdlite" and unknown > SSDLITE_UNKNOWN:
            yield f"FLOPs of {unknown} nodes stay unknown"
        if report["latency"]["all_cpu_us"] is None:
            yield "the time on the CPU is not known"


def check_model(model, support, folder):
    """The faults of one model's profiles, and the path of the first one."""
    faults = []
    try:
        feeds, _ = small_inputs(model)
    except CannotRun as error:
        print(f"{model.stem:24} is left out: {error}")
        return faults, None
    plain = json.loads(preview(model, support).stdout)
    before = plain["coverage"]["flops"]["unknown_nodes"]
    first = None
    for level in LEAST:
        path = profile(model, level, feeds, folder)
        first = first or path
        result = preview(model, support, "--costs", path)
        if result.returncode:
            faults.append(f"{model.stem}, {level}: exits {result.returncode}: {result.stderr}")
            continue
        report = json.loads(result.stdout)
        faults += [
            f"{model.stem}, {level}: {fault}"
            for fault in check_report(model.stem, level, report, before)
        ]
    return faults, first


def check_refused(model, support, profile_of_other):
    result = preview(model, support, "--costs", profile_of_other)
    if result.returncode == 3 and "profile" in result.stderr:
        return []
    return [f"{model.stem} takes {profile_of_other.name}: exits {result.returncode}"]


def main():
    models = sorted(Path(sys.argv[3]).glob("*.onnx"))
    if len(sys.argv) > 4:
        exported = sorted(Path(sys.argv[4]).glob("*.onnx"))
        if not exported:
            print(f"left out, since they are not there: exported models in {sys.argv[4]}")
        models += exported
    faults, profiles = [], {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        support = folder / "support.txt"
        support.write_text("Conv\nMatMul\nGemm\n")
        for model in models:
            found, first = check_model(model, support, folder)
            faults += found
            if first:
                profiles[model] = first
        ring = list(profiles)
        for model, other in zip(ring, ring[1:] + ring[:1]):
            faults += check_refused(model, support, profiles[other])
        print(f"{len(profiles)} models profiled, {len(ring)} wrong profiles tried")
    if not profiles:
        faults.append("no model could be profiled")
    print("\n".join(["wrong: " + fault for fault in faults]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
