#!/usr/bin/env python3
"""Compares the shapes that cleave infers with those of a run in ONNX Runtime, value by value.

usage: shapes_test.py CLEAVE MODEL... [--most N]

Each model is read with the options that models.py has for its name, and with --infer full. Every tensor
that a node of the main graph makes is an output of the run, without optimisation. A dim that cleave
states must be the run's; one that it does not state is counted. Prints a row for each model. --most N
stops after N models that ran.

Exit status: 0 no shape differs; 1 one does, or a model ran and cleave did not read it; 77 onnx,
onnxruntime or numpy is missing, or no model runs.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "scripts"), str(Path(__file__).resolve().parent)]
try:
    import onnx

    import models as real_models
    from guard import first_line
    from ort_inputs import CannotRun, find_inputs
    from ort_values import UNOPTIMISED, open_session, output_names, run
except ImportError as error:
    print(f"skipped: needs the Python module {error.name}", file=sys.stderr)
    sys.exit(77)


def dims_of(options):
    """The sizes by symbol of --dim options, and by (input, axis) of --input-shape options."""
    texts = [option.removeprefix("--dim=") for option in options if option.startswith("--dim=")]
    texts += [value for name, value in zip(options, options[1:]) if name == "--dim"]
    dims = {name: int(size) for name, _, size in (text.rpartition("=") for text in texts)}
    for name, value in zip(options, options[1:]):
        if name == "--input-shape":
            value, _, shape = value.partition("=")
            dims |= {(value, axis): int(size) for axis, size in enumerate(shape.split(","))}
    return dims


def shapes_of_run(path, dims):
    """The shape of each tensor that nodes of the main graph make, by name. Raises CannotRun."""
    model = onnx.load(str(path), load_external_data=False)
    known = {symbol for i in model.graph.input for d in i.type.tensor_type.shape.dim if (symbol := d.dim_param)}
    feeds, _ = find_inputs(path, {}, {name: size for name, size in dims.items()
                                      if not isinstance(name, str) or name in known}, 0)
    declared = {output.name for output in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name and name not in declared]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = open_session(model.SerializeToString(), UNOPTIMISED, Path(path).parent)
    values = run(session, feeds, output_names(session))
    shapes = {}
    for name, value in values.items():
        if value.kept is not None and value.kept.is_tensor():
            shapes[name] = list(value.kept.shape())
    return shapes


def inferred_shapes(cleave, path, options):
    """By name: dims, None where one is not known; None for a tensor of unknown rank."""
    command = [cleave, "convert", str(path), *options, "--fold", "off", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip()[:200])
    graph = json.loads(done.stdout)
    shapes = {}
    for node in graph["nodes"] + graph.get("constants", []):
        for output in node.get("outputs", []):
            if output.get("type") == "tensor":
                shape = output.get("shape")
                shapes[output["name"]] = shape and [d if isinstance(d, int) else None for d in shape] \
                    if shape is not None else None
    return shapes


def compare(cleave, path):
    """(values compared, all dims known, faults); raises CannotRun, ValueError."""
    options = real_models.bindings_of(path.name)
    seen = shapes_of_run(path, dims_of(options))
    inferred = inferred_shapes(cleave, path, options)
    compared = known = 0
    faults = []
    for name, dims in inferred.items():
        if name not in seen:
            continue
        compared += 1
        actual = seen[name]
        if dims is None:
            continue
        known += None not in dims
        if len(dims) != len(actual) or any(d is not None and d != a for d, a in zip(dims, actual)):
            faults.append(f'value "{name}" is {dims}, in the run {actual}')
    return compared, known, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cleave", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=0, metavar="N")
    options = parser.parse_args()
    ran = total = total_known = 0
    wrong = []
    for path in options.models:
        try:
            compared, known, faults = compare(options.cleave, path)
        except CannotRun as error:
            print(f"{path.stem:55} not run: {error}")
            continue
        except ValueError as error:
            wrong.append(f"{path.name}: {error}")
            continue
        except Exception as error:  # what ONNX Runtime raises of the model with more outputs
            print(f"{path.stem:55} not run: {first_line(error)[:100]}")
            continue
        ran, total, total_known = ran + 1, total + compared, total_known + known
        print(f"{path.stem:55} {known:6} of {compared:6} known, {len(faults)} differ", flush=True)
        wrong += [f"{path.name}: {fault}" for fault in faults]
        if ran == options.most:
            break
    print(f"{ran} models, {total} values, {total_known} of them of known shape, {len(wrong)} faults")
    for fault in wrong[:50]:
        print(f"FAULT {fault}")
    sys.exit(1 if wrong else 0 if ran else 77)


if __name__ == "__main__":
    main()
