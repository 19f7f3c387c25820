#!/usr/bin/env python3
"""Runs root_ep.onnx, which `cleave lower --deploy -o DIR` wrote, and compares it with the original model.

usage: run_deployed.py MODEL DIR [--seed N] [--atol X] [--rtol X]

MODEL is the original, and runs on the CPU as it is written, not optimised. First each artefact that lowering.json lists is
held against its size and SHA-256: a file of another build, or a damaged one, is refused by the provider in words that nobody
understands, and a wrong chip not at all. Then ONNX Runtime opens root_ep.onnx with the provider that its nodes name, without
asking it to compile anything, and both run on the same random inputs. Of each output it prints the largest difference, the
largest value, and how many elements differ by more than ATOL + RTOL times the value (0.01 and 0.01). A Hexagon NPU computes
floats in float16, whatever its options are, so a deep model may be beyond that: an op that must be exact stays on the CPU with
`cleave lower --deny OP`. open_deployed() is all that a program needs.

Exit status: 0 equal within the tolerances; 1 not; 2 wrong usage; 3 it cannot run, or an artefact is not the one that was
listed; 77 a package is not there.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as error:
    print(f"run_deployed.py: skipped: needs the Python module {error.name}", file=sys.stderr)
    sys.exit(77)

PROVIDER = "QNNExecutionProvider"


def open_deployed(path):
    """A session of root_ep.onnx on Qualcomm's provider (pip install onnxruntime-qnn)."""
    import onnxruntime_qnn as qnn

    ort.register_execution_provider_library(PROVIDER, qnn.get_library_path())
    devices = [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER]
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.add_provider_for_devices(devices[:1], {"backend_path": qnn.get_qnn_htp_path(), "soc_model": soc_of(path)})
    return ort.InferenceSession(str(path), options)


def soc_of(path):
    """The chip that the artefacts were made for."""
    for part in json.loads((Path(path).parent / "lowering.json").read_text())["parts"]:
        if "soc_model" in part.get("target", {}):
            return part["target"]["soc_model"]
    return "57"


def damaged(folder):
    """What is wrong with the artefacts."""
    faults = []
    for part in json.loads((folder / "lowering.json").read_text())["parts"]:
        for one in part.get("artefacts", []):
            path = folder / one["file"]
            content = path.read_bytes() if path.exists() else None
            if content is None:
                faults.append(f"{one['file']} is missing")
            elif len(content) != one["bytes"] or hashlib.sha256(content).hexdigest() != one["sha256"]:
                faults.append(f"{one['file']} is not the file that lowering.json lists")
    return faults


def random_inputs(session, seed):
    numbers = np.random.default_rng(seed)
    feeds = {}
    for value in session.get_inputs():
        shape = [one if isinstance(one, int) else 1 for one in value.shape]
        kind = value.type[len("tensor(") : -1]
        if kind in ("float", "float16", "double"):
            dtype = {"float": np.float32, "float16": np.float16, "double": np.float64}[kind]
            feeds[value.name] = numbers.standard_normal(shape).astype(dtype)
        elif kind == "bool":
            feeds[value.name] = numbers.integers(0, 2, shape).astype(bool)
        else:
            feeds[value.name] = numbers.integers(0, 4, shape).astype(kind)
    return feeds


def compare(name, wants, is_, options):
    """(what to print of an output, whether it is within the tolerances)"""
    if wants.shape != is_.shape:
        return f"{name}: has the shape {list(is_.shape)}, not {list(wants.shape)}", False
    if wants.dtype.kind not in "fc" or not wants.size:
        count = int((wants != is_).sum())
        return f"{name}: {f'{count} of {wants.size} elements differ' if count else 'equal'}", count == 0
    wide, other = wants.astype(np.float64), is_.astype(np.float64)
    both_nan = np.isnan(wide) & np.isnan(other)
    apart = np.where(both_nan, 0, np.abs(wide - other))
    beyond = int((~(apart <= options.atol + options.rtol * np.abs(wide)) & ~both_nan).sum())
    largest = np.abs(wide[np.isfinite(wide)]).max(initial=0)
    text = f"{name}: largest difference {np.nanmax(apart):.3g} (values up to {largest:.3g})"
    if beyond:
        text += f": BEYOND {options.atol:g} + {options.rtol:g} of the value in {beyond} of {wants.size} elements"
    return text, beyond == 0


def precision_of(folder):
    """What the compiled parts compute floats in, as the backend says."""
    targets = [part.get("target", {}) for part in json.loads((folder / "lowering.json").read_text())["parts"]]
    return sorted({target["precision"] for target in targets if "precision" in target})


def run(options):
    path = options.folder / "root_ep.onnx"
    if not path.exists():
        print(f"run_deployed.py: {path} does not exist: cleave lower --deploy -o DIR writes it", file=sys.stderr)
        return 2
    faults = damaged(options.folder)
    for fault in faults:
        print(f"run_deployed.py: {fault}", file=sys.stderr)
    if faults:
        return 3
    ort.set_default_logger_severity(4)
    session = open_deployed(path)
    feeds = random_inputs(session, options.seed)
    contexts = sum(node.op_type == "EPContext" for node in onnx.load(path, load_external_data=False).graph.node)
    on_provider = sum(node.op_type == "EPContext" for part in session.get_provider_graph_assignment_info()
                      if part.ep_name == PROVIDER for node in part.get_nodes())
    names = [value.name for value in session.get_outputs()]
    made = session.run(names, feeds)
    as_written = ort.SessionOptions()  # optimised, ONNX Runtime rounds a quantised model in other places
    as_written.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    reference = ort.InferenceSession(str(options.model), as_written, providers=["CPUExecutionProvider"])
    wanted = reference.run(names, {value.name: feeds[value.name] for value in reference.get_inputs()})
    is_equal = True
    for name, one, other in zip(names, wanted, made):
        text, is_within = compare(name, np.asarray(one), np.asarray(other), options)
        is_equal = is_equal and is_within
        print(text)
    precision = precision_of(options.folder)
    if "float16" in precision and not is_equal:
        print("  the device computes floats in float16: --deny OP at `cleave lower` leaves an op to the CPU, in float32;\n"
              "  --atol and --rtol say what is near enough for you")
    print(f"deployed: {contexts} compiled parts, {on_provider} of them on {PROVIDER}, which computes floats in "
          f"{' and '.join(precision) or 'a precision that it does not state'}")
    return 0 if is_equal and on_provider == contexts else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rtol", type=float, default=1e-2)
    parser.add_argument("--atol", type=float, default=1e-2)
    options = parser.parse_args()
    try:
        return run(options)
    except ImportError as error:
        print(f"run_deployed.py: skipped: needs the Python module {error.name}", file=sys.stderr)
        return 77
    except Exception as error:  # ONNX Runtime has no class of its own
        print(f"run_deployed.py: {str(error).splitlines()[0]}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
