#!/usr/bin/env python3
"""Compiles a model for several devices of OpenVINO as a split says, and compares it with OpenVINO's own result.

usage: run_hetero.py DIR MODEL.onnx [NAME=DEVICE]... [--check]

DIR is a folder that `cleave split` wrote for several targets: its hetero_affinity.json has the device of each operator,
by the operator's name and by the names of what it makes. NAME=DEVICE replaces a device that this machine has not:
NPU=AUTO. place() is all that a program needs; OpenVINO loses what it sets when a model is saved as IR.

--check needs no accelerator: AUTO and MULTI, which are the CPU, stand for the first two targets. Prints how many models
OpenVINO made and how far its outputs are from those of the CPU alone. OpenVINO makes a model of each piece of a
partition: of nodes that are connected by what they read from each other. It joins pieces of different partitions of one
device where that makes no cycle.

Exit status: 0 at most as many models as pieces, outputs within 1e-5; 1 not; 2 wrong usage; 3 OpenVINO refuses it; 77 openvino is not there.
"""

import argparse
import json
import sys
from pathlib import Path

try:
    import numpy as np
    import openvino as ov
except ImportError as error:
    print(f"run_hetero.py: skipped: needs the Python module {error.name} (pip install openvino)", file=sys.stderr)
    sys.exit(77)

STAND_INS = ("AUTO", "MULTI")


def place(model, affinity):
    """Sets the device of each operator of an openvino.Model."""
    at = spread(model, affinity, "CPU")
    for op in model.get_ordered_ops():
        op.get_rt_info()["affinity"] = at[op.get_name()]


def spread(model, affinity, otherwise):
    """By operator: what `affinity` has for its name or for what it makes. One that has no entry, since OpenVINO made it,
    has that of its first reader, else of its first writer."""
    ops, at = model.get_ordered_ops(), {}
    for op in ops:
        names = [op.get_friendly_name(), *(name for out in op.outputs() for name in sorted(out.get_names()))]
        found = next((affinity[name] for name in names if name in affinity), None)
        if found:
            at[op.get_name()] = found
    for op in reversed(ops):
        readers = [to.get_node().get_name() for out in op.outputs() for to in out.get_target_inputs()]
        found = next((at[name] for name in readers if name in at), None)
        if op.get_name() not in at and found:
            at[op.get_name()] = found
    for op in ops:
        writers = [value.get_node().get_name() for value in op.input_values()]
        at.setdefault(op.get_name(), next((at[name] for name in writers if name in at), otherwise))
    return at


def pieces(model, manifest):
    """The number of connected pieces of partitions."""
    part_of = dict(manifest["node_map"])
    for part in manifest["partitions"]:
        part_of.update((value["name"], part["name"]) for value in part["outputs"])
    at, parent = spread(model, part_of, ""), {}
    ops = [op for op in model.get_ordered_ops() if op.get_type_name() not in ("Constant", "Parameter", "Result")]

    def find(name):
        while parent.setdefault(name, name) != name:
            parent[name] = name = parent[parent[name]]
        return name

    for op in ops:
        for value in op.input_values():
            writer = value.get_node()
            if writer.get_name() in parent and at[writer.get_name()] == at[op.get_name()]:
                parent[find(op.get_name())] = find(writer.get_name())
        find(op.get_name())
    return len({find(op.get_name()) for op in ops})


def read_model(core, path, manifest):
    """With the shapes of inputs that the split was made for."""
    model = core.read_model(path)
    shapes = {value["name"]: value["shape"] for part in manifest["partitions"] for value in part["inputs"]}
    bound = {}
    for value in model.inputs:
        shape = next((shapes[name] for name in value.get_names() if shapes.get(name) is not None), None)
        if shape is not None and all(isinstance(size, int) for size in shape):
            bound[value.get_any_name()] = shape
    model.reshape(bound)
    return model


def compile_model(core, model, affinity, devices):
    """`devices`: the order in which HETERO knows them."""
    place(model, affinity)
    return core.compile_model(model, "HETERO:" + ",".join(dict.fromkeys(devices)), {"INFERENCE_PRECISION_HINT": "f32"})


def drawn_inputs(model):
    """Random numbers, ones for whole numbers; open dims are 1."""
    random, feeds = np.random.default_rng(0), {}
    for value in model.inputs:
        shape = [dim.get_length() if dim.is_static else 1 for dim in value.get_partial_shape()]
        dtype = value.get_element_type().to_dtype()
        is_real = np.issubdtype(dtype, np.floating)
        feeds[value.get_any_name()] = random.random(shape).astype(dtype) if is_real else np.ones(shape, dtype)
    return feeds


def difference(made, wanted):
    """The largest difference of two outputs, of the larger of 1 and the largest number."""
    made, wanted = np.asarray(made, np.float64), np.asarray(wanted, np.float64)
    if made.shape != wanted.shape:
        return float("inf")
    return float(np.max(np.abs(made - wanted)) / max(1, np.max(np.abs(wanted)))) if made.size else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("instead", metavar="NAME=DEVICE", nargs="*")
    parser.add_argument("--check", action="store_true", help="on the CPU, with stand-ins for the targets")
    options = parser.parse_args()
    try:
        manifest = json.loads((options.folder / "manifest.json").read_text())
        affinity = json.loads((options.folder / "hetero_affinity.json").read_text())
        names = [target["name"].upper() for target in manifest["targets"]]
        instead = dict(pair.split("=", 1) for pair in options.instead)
    except (OSError, KeyError, ValueError) as error:
        print(f"run_hetero.py: {options.folder}: {error}", file=sys.stderr)
        sys.exit(2)
    core = ov.Core()
    if options.check:
        core.set_property("MULTI", {"MULTI_DEVICE_PRIORITIES": "CPU"})
        instead = dict(zip((name for name in names if name in set(affinity.values()) - {"CPU"}), STAND_INS))
    devices = [instead.get(name, name) for name in names]
    try:
        affinity = {name: instead.get(device, device) for name, device in affinity.items()}
        model = read_model(core, options.model, manifest)
        wanted, feeds = pieces(model, manifest), drawn_inputs(model)
        alone = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        compiled = compile_model(core, model, affinity, devices)
        made = compiled.get_property("HETERO_NUMBER_OF_SUBMODELS")
        most = max(difference(*pair) for pair in zip(compiled(feeds).values(), alone(feeds).values()))
    except Exception as error:  # whatever OpenVINO raises
        lines = [line for line in str(error).splitlines() if len(line) > 2 and not line.startswith("Exception from")]
        print(f"run_hetero.py: OpenVINO: {lines[-1] if lines else error}", file=sys.stderr)
        sys.exit(3)
    parts = len(manifest["partitions"])
    print(
        f"OpenVINO {ov.__version__.split('-')[0]}: {made} models of {parts} partitions in {wanted} pieces; outputs differ by "
        f"{most:.1e} of those of the CPU alone"
    )
    sys.exit(0 if made <= wanted and most <= 1e-5 else 1)


if __name__ == "__main__":
    main()
