#!/usr/bin/env python3
"""Profiles models in ONNX Runtime and gives the profiles to `cleave stage --costs`.

usage: profiles_test.py PROJECT_FOLDER CLEAVE MADE_MODELS [EXPORTED_MODELS]

Profiles each model of MADE_MODELS, and of EXPORTED_MODELS where that is a folder, unoptimised and
optimised, on one thread, and prints which share of the time was matched, and by which rule. Exit
status 1 when

  - less than 95% of an unoptimised profile or 75% of an optimised one is matched,
  - the profile of one model is accepted for another.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import onnxruntime as ort

PROJECT = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(PROJECT / "scripts"))
from ort_inputs import CannotRun, find_inputs  # noqa: E402
from ort_values import output_names, run  # noqa: E402

CLEAVE = Path(sys.argv[2]).resolve()
LEAST = {"unoptimised": 0.95, "optimised": 0.75}
LEVELS = {
    "unoptimised": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "optimised": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
RUNS = 5
MATCHED = re.compile(r"costs .*?: ([0-9.]+)% of [0-9.]+ \w+ matched(?: \((.*?)\))?, ")


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


def stage(model, profile_path):
    command = [CLEAVE, "stage", model, "--stages", "2", "--effort", "low", "--costs", profile_path]
    return subprocess.run(command, capture_output=True, text=True)


def matched(text):
    """The share of the profile's time that was matched, and by which rules."""
    found = MATCHED.search(" ".join(text.split()))
    assert found, f"the report does not say what was matched: {text}"
    return float(found[1]) / 100, found[2] or ""


def check_model(model, folder):
    """The faults of one model's profiles; prints a line for each profile."""
    faults = []
    try:
        feeds, _ = find_inputs(model, {}, {}, 0)
    except CannotRun as error:
        print(f"{model.stem:24} is left out: {error}")
        return faults, None
    first = None
    for level, least in LEAST.items():
        path = profile(model, level, feeds, folder)
        first = first or path
        result = stage(model, path)
        if result.returncode:
            faults.append(f"{model.stem}, {level}: exits {result.returncode}: {result.stderr}")
            continue
        share, rules = matched(result.stdout)
        print(f"{model.stem:24} {level:12} {share:6.1%} matched ({rules})")
        if share < least:
            faults.append(f"{model.stem}, {level}: {share:.1%} of the time matched, not {least:.0%}")
    return faults, first


def check_refused(model, profile_of_other):
    result = stage(model, profile_of_other)
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
        for model in models:
            found, first = check_model(model, folder)
            faults += found
            if first:
                profiles[model] = first
        ring = list(profiles)
        for model, other in zip(ring, ring[1:] + ring[:1]):
            faults += check_refused(model, profiles[other])
        print(f"{len(profiles)} models profiled, {len(ring)} wrong profiles tried")
    if not profiles:
        faults.append("no model could be profiled")
    print("\n".join(["wrong: " + fault for fault in faults]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
