#!/usr/bin/env python3
"""Runs the partitions of a split ONNX model and writes their inputs and outputs as test data.

usage: capture_inputs.py DIR [-o OUT] [--inputs FILE.npz|FOLDER] [--dim N=8]... [--seed N] [--force]

DIR is the folder that `cleave split` or `stage` wrote for an ONNX model (-o DIR). Inputs
of the model come from --inputs, as arrays by name or as a folder with input_0.pb, input_1.pb, ...
(ONNX's test_data_set_0), or are random by the declared types and shapes, the same for the same --seed;
--dim fixes a symbolic dimension. The partitions run in call order, unoptimised, in ONNX Runtime. For each
partition it writes

    OUT/<part>/model.onnx                     the partition, with its weights
    OUT/<part>/test_data_set_0/input_0.pb     its inputs, in the order of model.onnx
    OUT/<part>/test_data_set_0/output_0.pb    its outputs

so that each partition is a test like ONNX's backend tests: with the default OUT, DIR/captured,
`onnx.backend.test.loader.load_model_tests(DIR, "captured")` finds them. Tensors, sequences and optionals
are written (TensorProto, SequenceProto, OptionalProto); ONNX has no such file for a map.

Then each partition runs again, alone, on these files, and must make the same bits.

OUT appears when all are done. OUT/captured.json lists the files that were written: --force replaces a folder that holds
these and nothing else, and no input of the run.

Exit status: 0 all partitions captured; 1 some could not be captured, or make other bits when run again;
2 wrong usage; 3 the split model cannot run, or its manifest is wrong; 4 OUT cannot be written, or is not replaced; 77 onnx,
onnxruntime or numpy is missing.
"""

import argparse
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import guard
from guard import counted, first_line, parse_dim
from reports import aligned, size_text

try:
    import onnx
    import onnxruntime as ort

    from onnx_chain import passed_parameters, read_inputs, read_split
    from ort_inputs import find_inputs
    from ort_state import as_split
    from ort_values import (
        UNOPTIMISED,
        CannotWrite,
        open_session,
        output_names,
        proto_of,
        read_value,
        run,
    )
except ImportError as error:
    guard.missing(__name__, "capture_inputs.py", error, "onnx onnxruntime numpy", __doc__)

DATA_SET = "test_data_set_0"


@dataclass
class Captured:
    name: str
    inputs: int = 0
    outputs: int = 0
    data_bytes: int = 0
    same: str = "-"
    faults: list = field(default_factory=list)


# ---- one part ----


def place_model(source, folder):
    """Copies the partition into `folder` as model.onnx, with its external data: ONNX's checker refuses
    links to weights."""
    shutil.copyfile(source, folder / "model.onnx")
    places = {
        entry.value
        for tensor in onnx.load(str(source), load_external_data=False).graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    for place in sorted(places):
        weights = guard.inside(source.parent, place, f"{source}: location")
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(weights, folder / place)


def write_values(folder, prefix, declared, values):
    """The bytes written. Raises CannotWrite."""
    written = 0
    for i, value in enumerate(declared):
        data = proto_of(values[value.name], value.type, value.name).SerializeToString()
        (folder / f"{prefix}_{i}.pb").write_bytes(data)
        written += len(data)
    return written


def read_values(folder, prefix, declared):
    return {
        value.name: read_value(folder / f"{prefix}_{i}.pb", value.type)
        for i, value in enumerate(declared)
    }


def run_again(folder):
    """The names of the outputs in `folder` that the partition does not make again from the inputs there."""
    ort.set_seed(0)
    session = open_session(folder / "model.onnx", UNOPTIMISED)
    feeds = read_values(folder / DATA_SET, "input", session.get_inputs())
    wanted = read_values(folder / DATA_SET, "output", session.get_outputs())
    made = run(session, feeds, output_names(session))
    return [name for name in wanted if made[name].content() != wanted[name].content()]


def capture_part(model, folder, values):
    """Writes one partition's folder and adds its outputs to `values`."""
    captured = Captured(folder.name)
    try:
        ort.set_seed(0)
        session = open_session(model, UNOPTIMISED)
        lacking = [i.name for i in session.get_inputs() if i.name not in values]
        if lacking:
            captured.faults.append(f"not run: {', '.join(lacking)} was not made before")
            return captured
        values.update(run(session, values, output_names(session)))
    except Exception as error:  # whatever ONNX Runtime raises
        captured.faults.append(first_line(error))
        return captured
    captured.inputs, captured.outputs = len(session.get_inputs()), len(session.get_outputs())
    data = folder / DATA_SET
    data.mkdir(parents=True)
    place_model(model, folder)
    try:
        captured.data_bytes = write_values(data, "input", session.get_inputs(), values)
        captured.data_bytes += write_values(data, "output", session.get_outputs(), values)
    except CannotWrite as error:
        captured.faults.append(f"ONNX has no file for {error}")
        return captured
    changed = run_again(folder)
    captured.same = "no" if changed else "yes"
    captured.faults += [f'output "{name}" is another when run alone' for name in changed]
    return captured


# ---- all parts, and the table ----


def capture(folder, parts, out, values):
    """Captures each partition. `values`: the inputs of root.onnx, by name."""
    values = {**values, **passed_parameters(folder / "root.onnx", parts, values)}
    return [capture_part(folder / file, out / Path(file).stem, values) for file in files_of(parts)]


def files_of(parts):
    return [part["file"] for part in parts if part["file"] is not None]


def table(captured, out):
    """Lines."""
    faulty = [one for one in captured if one.faults]
    head = f"captured: {counted(len(captured) - len(faulty), 'partition')} of {len(captured)}, in {out}"
    rows = [("partition", "inputs", "outputs", "data", "same when run alone")]
    for one in captured:
        size = size_text(one.data_bytes)
        rows.append((guard.shown(one.name), str(one.inputs), str(one.outputs), size, one.same))
    lines = aligned(rows, right=(1, 2, 3))
    faults = [f"fault: {one.name}: {fault}" for one in faulty for fault in one.faults]
    return [head, "", *lines, *([""] if faults else []), *faults]


def parse_options():
    what, _, details = __doc__.split("\n\n", 2)  # without its usage, which argparse prints
    parser = argparse.ArgumentParser(
        prog=os.environ.get("CLEAVE_SCRIPT"),  # python -m cleave.capture
        description=f"{what}\n\n{details}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("-o", "--out", metavar="OUT", type=Path, help="DIR/captured if not given")
    parser.add_argument("--inputs", metavar="WHERE", help="a .npz file, or a folder of .pb files")
    parser.add_argument("--dim", type=parse_dim, action="append", default=[])
    parser.add_argument("--seed", type=int, default=0, help="of the inputs that are drawn (0)")
    parser.add_argument("--force", action="store_true", help="replace OUT")
    return parser.parse_args()


def find_values(options, manifest):
    """Values of the inputs of root.onnx, by name. Raises CannotRun, WrongUsage."""
    root = options.folder / "root.onnx"
    given = read_inputs(options.inputs, root) if options.inputs else {}
    dims, given = as_split(root, manifest, dict(options.dim), given, options.seed)
    return find_inputs(root, given, dims, options.seed)[0]


def inputs_of_run(options, files):
    """All that the run reads, links followed."""
    read = [options.folder / name for name in ("manifest.json", "root.onnx", *files)]
    if options.inputs:
        given = Path(options.inputs)
        read += [given, *(given.glob("input_*.pb") if given.is_dir() else [])]
    return read


def main():
    options = parse_options()
    out = options.out or options.folder / "captured"
    with guard.told("capture_inputs.py", options.folder):
        manifest = read_split(options.folder)
        parts = manifest["partitions"]
        with guard.new_folder(out, options.force, inputs_of_run(options, files_of(parts))) as made:
            captured = capture(options.folder, parts, made, find_values(options, manifest))
        guard.say(*table(captured, out))
        sys.exit(1 if any(one.faults for one in captured) else 0)


if __name__ == "__main__":
    main()
