#!/usr/bin/env python3
"""Compiles a model for several devices of OpenVINO as a split says, and compares it with OpenVINO's own result.

usage: run_hetero.py DIR MODEL.onnx [NAME=DEVICE]... [--check]

DIR is a folder that `cleave split` wrote for several targets: its hetero_affinity.json has the device of each operator,
by the operator's name and by the names of what it makes. NAME=DEVICE replaces a device that this machine has not:
NPU=AUTO. fold() and place() are all that a program needs; OpenVINO loses what it sets when a model is saved as IR.

--check needs no accelerator: AUTO and MULTI, which are the CPU, stand for the first two targets. Prints how many models
OpenVINO made and how far its outputs are from those of the CPU alone. OpenVINO knows no partitions: it makes a model of
each set of operators that is connected on one device, so a partition of two branches becomes two models, and partitions of one
device that nothing keeps apart become one. submodels() foresees their number from the devices alone.

Exit status: 0 as many models as foreseen, outputs within 1e-5; 1 not; 2 wrong usage; 3 OpenVINO refuses it; 77 openvino is not there.
"""

import argparse
import sys
from pathlib import Path

import guard

try:
    import numpy as np
    import openvino as ov
    import openvino.passes
except ImportError as error:
    guard.missing(__name__, "run_hetero.py", error, "openvino numpy", __doc__)

WANTED = {"partitions": [{"inputs": guard.SHAPES}], "targets": [{"name": str}]}
STAND_INS = ("AUTO", "MULTI")


def fold(model):
    """Computes what depends on constants alone, as each device would. HETERO divides before that, and then a part has a shape
    that it reads from another part, which OpenVINO takes for an open one."""
    passes = ov.passes.Manager()
    passes.register_pass(ov.passes.ConstantFolding())
    passes.run_passes(model)


def place(model, affinity):
    """Sets the device of each operator of an openvino.Model, after fold()."""
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


def submodels(model, at):
    """The number of models that HETERO makes of operators with these devices: one of each set that is connected on one
    device. A set that would wait for itself, by way of another, is cut until none does. Quadratic in the values that
    cross, as HETERO is."""
    ops = model.get_ordered_ops()
    number = {op.get_name(): i for i, op in enumerate(ops)}
    sources = [[number[value.get_node().get_name()] for value in op.input_values()] for op in ops]
    kinds = [op.get_type_name() for op in ops]
    device = [at[op.get_name()] for op in ops]
    cut = {}  # an input that another set makes: the operator that reads it and which of its inputs
    for i, made_by in enumerate(sources):
        if kinds[i] in ("Parameter", "Constant"):
            cut[i, 0] = None
        for k, source in enumerate(made_by):
            if device[source] == device[i]:
                continue
            if kinds[i] == "Result":
                device[i] = device[source]
            else:
                cut[i, k] = source

    def sets():
        parent = list(range(len(ops)))

        def root(i):
            while parent[i] != i:
                parent[i] = i = parent[parent[i]]
            return i

        for i, made_by in enumerate(sources):
            for k, source in enumerate(made_by):
                if (i, k) not in cut:
                    parent[root(i)] = root(source)
        return [root(i) for i in range(len(ops))]

    while True:
        of, known = sets(), list(cut.items())
        bit = {place: 1 << n for n, (place, _) in enumerate(known)}
        reads, makes = {}, {}  # by set: the cut inputs that it reads, and those that it makes
        for (i, k), source in known:
            reads[of[i]] = reads.get(of[i], 0) | bit[i, k]
            if source is not None:
                makes[of[source]] = makes.get(of[source], 0) | bit[i, k]
        behind = []  # by operator: the cut inputs that it depends on
        for i, made_by in enumerate(sources):
            bits = bit.get((i, 0), 0) if not made_by else 0
            for k, source in enumerate(made_by):
                bits |= behind[source] | bit.get((i, k), 0)
            behind.append(bits)
        own = [behind[i] & reads.get(of[i], 0) for i in range(len(ops))]
        back = [behind[i] & makes.get(of[i], 0) for i in range(len(ops))]  # left the set and came back
        more = {}
        for i, made_by in enumerate(sources):
            if not back[i]:
                continue
            before = 0
            for (reader, k), source in known:
                if source is not None and bit[reader, k] & back[i]:
                    before |= own[source]
            for k, source in enumerate(made_by):
                if not back[i] & back[source] and before & own[source]:
                    more[i, k] = source
        more = {place: source for place, source in more.items() if place not in cut}
        if not more:
            return len({of[i] for i in range(len(ops)) if kinds[i] != "Constant"})
        cut.update(more)


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
    fold(model)
    return model


def has_open_sizes(manifest):
    shapes = [value["shape"] for part in manifest["partitions"] for value in part["inputs"]]
    return any(shape is None or not all(isinstance(size, int) for size in shape) for shape in shapes)


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
    with guard.told("run_hetero.py", options.folder):
        manifest = guard.read_manifest(options.folder, WANTED)
        affinity = guard.read_json(options.folder / "hetero_affinity.json", {"*": str})
        names = [target["name"].upper() for target in manifest["targets"]]
        wrong = [pair for pair in options.instead if "=" not in pair]
        if wrong:
            raise guard.WrongUsage(f'"{wrong[0]}" is not NAME=DEVICE')
        instead = dict(pair.split("=", 1) for pair in options.instead)
    core = ov.Core()
    if options.check:
        core.set_property("MULTI", {"MULTI_DEVICE_PRIORITIES": "CPU"})
        instead = dict(zip((name for name in names if name in set(affinity.values()) - {"CPU"}), STAND_INS))
    devices = [instead.get(name, name) for name in names]
    try:
        affinity = {name: instead.get(device, device) for name, device in affinity.items()}
        model = read_model(core, options.model, manifest)
        wanted, feeds = submodels(model, spread(model, affinity, "CPU")), drawn_inputs(model)
        alone = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        compiled = compile_model(core, model, affinity, devices)
        made = compiled.get_property("HETERO_NUMBER_OF_SUBMODELS")
        most = max(difference(*pair) for pair in zip(compiled(feeds).values(), alone(feeds).values()))
    except Exception as error:  # whatever OpenVINO raises
        lines = [line for line in str(error).splitlines() if len(line) > 2 and not line.startswith("Exception from")]
        note = "note: the split has open sizes, which OpenVINO's HETERO often does not run: split with --dim NAME=SIZE"
        notes = [note] if has_open_sizes(manifest) else []
        guard.say(f"run_hetero.py: OpenVINO: {lines[-1] if lines else error}", *notes, to_errors=True)
        sys.exit(3)
    parts = len(manifest["partitions"])
    guard.say(
        f"OpenVINO {ov.__version__.split('-')[0]}: {made} models of {parts} partitions, {wanted} foreseen; outputs differ by "
        f"{most:.1e} of those of the CPU alone"
    )
    sys.exit(0 if made == wanted and most <= 1e-5 else 1)


if __name__ == "__main__":
    main()
