#!/usr/bin/env python3
"""Runs root_ep.onnx, which `cleave lower --deploy -o DIR` wrote, and compares it with the original model.

usage: run_deployed.py MODEL DIR [--inputs FILE.npz|FOLDER] [--set-input NAME=VALUE]... [--dim N=8]... [--seed N]
                       [--atol X] [--rtol X]

MODEL is the original, and runs on the CPU as it is written, not optimised. First each artefact that lowering.json lists is
held against its size and SHA-256: a file of another build, or a damaged one, is refused by the provider in words that nobody
understands, and a wrong chip not at all. Then ONNX Runtime opens root_ep.onnx with the provider that its nodes name, without
asking it to compile anything, and both run on the same inputs. A Hexagon NPU computes floats in float16, whatever its options
are, so a deep model may be beyond the tolerances: an op that must be exact stays on the CPU with `cleave lower --deny OP`.
open_deployed() is all that a program needs.

Inputs come from --inputs, as arrays by name or as a folder with input_0.pb, input_1.pb, ..., or are random, the same for
the same --seed. An input that was set when the model was lowered (--set-input) has that value here, too, unless
another is given: what was compiled holds for no other.

Numbers may differ by atol + rtol * |the original's|. Where all of an output are below 1, atol is that share of the
largest, but not less than the rounding of numbers near 1 on the device. An output that is wholly below that is not
tested: zeros would pass.

Exit status: 0 equal within the tolerances; 1 not, or no output was tested; 2 wrong usage; 3 it cannot run, or an artefact
is not the one that was listed; 77 a package is not there.
"""

import argparse
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

import guard
from guard import WrongUsage, parse_dim, say

try:
    import numpy as np
    import onnx
    import onnxruntime as ort

    from ort_inputs import find_inputs, values_of_texts
    from ort_values import OPTIMISED, UNOPTIMISED, open_session
    from verify_split import read_inputs
except ImportError as error:
    guard.missing(__name__, "run_deployed.py", error, "onnx onnxruntime onnxruntime-qnn numpy", __doc__)

PROVIDER = "QNNExecutionProvider"
LOWERING = {
    "parts": [{
        "target?": {"soc_model?": (str, int), "precision?": str},
        "artefacts?": [{"file": guard.FileName, "bytes": int, "sha256": str}],
    }],
    "bound?": {"values?": {"*": str}},
}


def open_deployed(path):
    """A session of root_ep.onnx on Qualcomm's provider (pip install onnxruntime-qnn)."""
    import onnxruntime_qnn as qnn

    ort.register_execution_provider_library(PROVIDER, qnn.get_library_path())
    devices = [device for device in ort.get_ep_devices() if device.ep_name == PROVIDER]
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.add_provider_for_devices(devices[:1], {"backend_path": qnn.get_qnn_htp_path(), "soc_model": soc_of(path)})
    session = ort.InferenceSession(str(path), options)
    session.disable_fallback()  # else a fault of the provider is hidden by one of the CPU
    return session


def soc_of(path):
    """The chip that the artefacts were made for."""
    for part in guard.read_json(Path(path).parent / "lowering.json", LOWERING)["parts"]:
        if "soc_model" in part.get("target", {}):
            return part["target"]["soc_model"]
    return "57"


def check_artefacts(folder, lowering):
    """Raises BadFile for one that is not as it was."""
    for part in lowering["parts"]:
        for one in part.get("artefacts", []):
            path = folder / one["file"]
            is_same = path.stat().st_size == one["bytes"] and hashlib.sha256(path.read_bytes()).hexdigest() == one["sha256"]
            if not is_same:
                raise guard.BadFile(f"{one['file']} is not the file that lowering.json lists")


def inputs_of(options, lowering):
    """Values by name that the original takes. Sizes are those of root_ep.onnx."""
    given = read_inputs(options.inputs, options.model) if options.inputs else {}
    texts = {**lowering.get("bound", {}).get("values", {}), **dict(options.set_input)}
    given = {**values_of_texts(options.model, texts), **given}
    graph = onnx.load(options.folder / "root_ep.onnx", load_external_data=False).graph
    shapes = {one.name: [dim.dim_value or -1 for dim in one.type.tensor_type.shape.dim] for one in graph.input}
    feeds, _ = find_inputs(options.model, given, dict(options.dim), options.seed, shapes)
    return feeds


def precisions_of(lowering):
    """What the compiled parts compute floats in, as the backends say."""
    targets = [part.get("target", {}) for part in lowering["parts"]]
    return sorted({target["precision"] for target in targets if "precision" in target})


def rounding_of(precisions):
    """Of numbers near 1, on the device; of float32, of sums of them."""
    return 2**-10 if "float16" in precisions else 2**-17


@dataclass
class Difference:
    text: str
    is_equal: bool
    is_tested: bool = True


def difference(wants, is_, options, rounding):
    if wants.shape != is_.shape:
        return Difference(f"shape {wants.shape} is {is_.shape}", False)
    if wants.dtype.kind != "f" or not wants.size:
        count = int((wants != is_).sum())
        return Difference(f"{count} of {wants.size} differ", count == 0)
    wide, other = wants.astype(np.float64), is_.astype(np.float64)
    finite = np.isfinite(wide) & np.isfinite(other)
    apart = np.where(finite, np.abs(wide - other), np.where((wide == other) | (np.isnan(wide) & np.isnan(other)), 0, np.inf))
    largest = np.max(np.abs(wide[np.isfinite(wide)]), initial=0)
    atol = min(options.atol, max(options.atol * largest, rounding))
    beyond = int((~(apart <= atol + options.rtol * np.where(finite, np.abs(wide), 0))).sum())
    size = np.sqrt(np.mean(np.square(wide[finite]))) if finite.any() else 0
    rms = f" (rms {100 * np.sqrt(np.mean(np.square(apart[finite]))) / size:.3g}%)" if size else ""
    text = f"largest difference {np.max(apart):.3g}, the largest number is {largest:.3g}{rms}"
    if beyond:
        text += f": BEYOND {atol:.3g} + {options.rtol:g} of the number in {beyond} of {wants.size}"
    return Difference(text, beyond == 0, bool(largest > atol))


def compare(wanted, made, options, rounding):
    """Prints a line for each output; whether all are equal, and whether one is tested."""
    found = {name: difference(np.asarray(wanted[name]), np.asarray(made[name]), options, rounding) for name in wanted}
    for name, one in found.items():
        is_untested = one.is_equal and not one.is_tested
        end = ": NOT tested, since all that is wanted is within the tolerance of 0" if is_untested else ""
        say(f"{name}: {one.text}{end}")
    is_tested = any(one.is_tested for one in found.values())
    if not is_tested:
        say("no output was tested: give inputs of which the model makes larger numbers (--inputs)")
    return all(one.is_equal for one in found.values()), is_tested


def run_original(options, feeds, names, level):
    """The model's outputs on the CPU. Not optimised, it is computed as written; optimised, ONNX Runtime rounds a quantised
    model in other places."""
    session = open_session(options.model, level)
    return session.run(names, {value.name: feeds[value.name].plain() for value in session.get_inputs()})


def explain(options, feeds, wanted, precisions):
    """Says what may be behind a difference, and what finds the nodes."""
    graph = onnx.load(options.model, load_external_data=False).graph
    if any(node.op_type == "QuantizeLinear" for node in graph.node):
        made = run_original(options, feeds, list(wanted), OPTIMISED)
        for (name, one), other in zip(wanted.items(), made):
            text = difference(np.asarray(one), np.asarray(other), options, rounding_of([])).text.split(": BEYOND")[0]
            say(f"  for comparison, ONNX Runtime's own optimised run of this quantised model on the CPU: {name}: {text}")
    if "float16" in precisions:
        say("  the device computes floats in float16")
    say("  `cleave lower --compare --inputs FILE` finds nodes that compute something else, and leaves them to the CPU;",
        "  --atol and --rtol say what is near enough for you")


def run(options):
    path = options.folder / "root_ep.onnx"
    if not path.exists():
        raise WrongUsage(f"{path} does not exist: cleave lower --deploy -o DIR writes it")
    lowering = guard.read_json(options.folder / "lowering.json", LOWERING)
    check_artefacts(options.folder, lowering)
    ort.set_default_logger_severity(4)
    feeds = inputs_of(options, lowering)
    session = open_deployed(path)
    contexts = sum(node.op_type == "EPContext" for node in onnx.load(path, load_external_data=False).graph.node)
    on_provider = sum(node.op_type == "EPContext" for part in session.get_provider_graph_assignment_info()
                      if part.ep_name == PROVIDER for node in part.get_nodes())
    names = [value.name for value in session.get_outputs()]
    made = session.run(names, {value.name: feeds[value.name].plain() for value in session.get_inputs()})
    wanted = run_original(options, feeds, names, UNOPTIMISED)
    precisions = precisions_of(lowering)
    is_equal, is_tested = compare(dict(zip(names, wanted)), dict(zip(names, made)), options, rounding_of(precisions))
    if not is_equal:
        explain(options, feeds, dict(zip(names, wanted)), precisions)
    say(f"deployed: {contexts} compiled parts, {on_provider} of them on {PROVIDER}, which computes floats in "
        f"{' and '.join(precisions) or 'a precision that it does not state'}")
    return 0 if is_equal and is_tested and on_provider == contexts else 1


def parse_value(text):
    name, _, value = text.partition("=")
    if not name or not value:
        raise argparse.ArgumentTypeError(f'"{text}" is not NAME=VALUE')
    return name, value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--inputs", metavar="WHERE", help="a .npz file, or a folder of .pb files")
    parser.add_argument("--set-input", type=parse_value, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--dim", type=parse_dim, action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rtol", type=float, default=1e-2)
    parser.add_argument("--atol", type=float, default=1e-2)
    options = parser.parse_args()
    with guard.told("run_deployed.py", options.model):
        sys.exit(run(options))


if __name__ == "__main__":
    main()
