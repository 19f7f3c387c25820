#!/usr/bin/env python3
"""Compares the types that cleave infers with two references.

node DIR...    The ONNX node tests (onnx/backend/test/data/node): output types are removed from each
               model, once as it is and once with its small inputs turned into constants, and what
               cleave infers is compared with what was removed. ONNX's own inference is counted too.
run PATH...    Models, or folders of models: every node's output is made an output of the model, which
               runs in ONNX Runtime on random inputs, and dtypes and dims are compared: once with
               the inputs' shapes in the file, once with the shapes that were fed.

usage: check_shapes.py DUMP_TYPES node [--least PERCENT] [--fewest N] [DIR...]
       check_shapes.py DUMP_TYPES run PATH...

DUMP_TYPES is the test tool of that name. Prints a line for each wrong type (VERBOSE=1: also for those
not fully right); exit status 1 if one is wrong that is not known to be a mistake of the reference, if too
few are fully right, if fewer than N models are found, or if one cannot be run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, shape_inference

# Declared otherwise than the operator's specification says.
WITNESS_ERRS = set()

DTYPES = {
    "bool": "bool", "float": "float32", "double": "float64", "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz", "float4e2m1": "float4_e2m1", "float8e8m0": "float8_e8m0",
}


def dtype_name(number):
    name = TensorProto.DataType.Name(number).lower()
    return "unknown" if name == "undefined" else DTYPES.get(name, name)


def escaped(text):
    return "".join(f"\\x{ord(c):02x}" if ord(c) < 0x20 or c == "\\" else c for c in text)


class Type:
    """A tensor's dtype and dims (a list of ints and None; None: no rank), or another type."""

    def __init__(self, dtype=None, dims=None, other=None):
        self.dtype, self.dims, self.other = dtype, dims, other

    @staticmethod
    def of_proto(proto):
        if not proto.HasField("tensor_type"):
            # Shapes inside sequences and optionals are not compared.
            kind = proto.WhichOneof("value")
            return Type(other=kind) if kind else Type()
        tensor = proto.tensor_type
        dims = None
        if tensor.HasField("shape"):
            dims = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
        return Type(dtype_name(tensor.elem_type), dims)

    @staticmethod
    def of_text(text):
        if text.startswith("proto:"):
            return Type.of_proto(onnx.TypeProto.FromString(bytes.fromhex(text[6:])))
        if text.endswith(" of unknown rank"):
            return Type(text.split()[0])
        if "[" not in text:
            return Type() if text == "unknown" else Type(other=text)
        dtype, dims = text[:-1].split("[", 1)
        return Type(dtype, [int(d) if d.isdigit() else None for d in dims.split(",") if d])

    def verdict(self, truth):
        """What this one, inferred, is beside the truth."""
        if truth.other:
            if self.other:
                return "right" if self.other == truth.other else "WRONG"
            return "no type" if self.dtype in (None, "unknown") else "WRONG"
        if self.other:
            return "WRONG"
        if self.dtype in (None, "unknown"):
            return "no type"
        if truth.dtype and self.dtype != truth.dtype:
            return "WRONG"
        if truth.dims is None:
            return "right"
        if self.dims is None:
            return "no rank"
        if len(self.dims) != len(truth.dims):
            return "WRONG"
        pairs = list(zip(self.dims, truth.dims))
        if any(a is not None and b is not None and a != b for a, b in pairs):
            return "WRONG"
        return "no dim" if any(a is None and b is not None for a, b in pairs) else "right"

    def __str__(self):
        if self.other:
            return self.other
        if self.dtype in (None, "unknown") and self.dims is None:
            return "unknown"
        if self.dims is None:
            return f"{self.dtype} of unknown rank"
        return f"{self.dtype}[{','.join('?' if d is None else str(d) for d in self.dims)}]"


ORDER = ["right", "no dim", "no rank", "no type", "WRONG"]


def dumped(tool, paths):
    """path -> {value name as escaped: Type}, and path -> what cleave refused it for."""
    result = subprocess.run([tool], input="\n".join(map(str, paths)), capture_output=True, text=True)
    types, refused = {str(p).split("\t")[0]: {} for p in paths}, {}
    for line in result.stdout.splitlines():
        path, name, text = line.split("\t")
        if name == "!":
            refused[path] = text
        else:
            types[path][name] = Type.of_text(text)
    if result.returncode not in (0, 1):
        sys.exit(f"{tool} ended with {result.returncode}: {result.stderr[-500:]}")
    return types, refused


def without_output_types(model):
    """The model with outputs untyped, and the types that they had."""
    truth = {}
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    for output in bare.graph.output:
        truth[output.name] = Type.of_proto(output.type)
        output.ClearField("type")
    return bare, truth


def with_constant_inputs(model, folder):
    """Small inputs, as the test's data has them, as initializers."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    keep = []
    for i, graph_input in enumerate(model.graph.input):
        path = folder / "test_data_set_0" / f"input_{i}.pb"
        tensor = None
        if graph_input.type.HasField("tensor_type") and path.exists() and path.stat().st_size < 2000:
            tensor = TensorProto.FromString(path.read_bytes())
        if tensor is None:
            keep.append(graph_input)
            continue
        tensor.name = graph_input.name
        fixed.graph.initializer.append(tensor)
    del fixed.graph.input[:]
    fixed.graph.input.extend(keep)
    return fixed


def onnx_types(model):
    try:
        inferred = shape_inference.infer_shapes(model, data_prop=True)
    except Exception:
        return {}
    graph = inferred.graph
    return {v.name: Type.of_proto(v.type) for v in [*graph.value_info, *graph.output]}


def check_nodes(tool, folders, least):
    failed = False
    for constant in (False, True):
        with tempfile.TemporaryDirectory() as scratch:
            truths, onnx_verdicts, paths = {}, Counter(), {}
            for folder in folders:
                path = folder / "model.onnx"
                if not path.exists():
                    continue
                bare, truth = without_output_types(onnx.load(path))
                if constant:
                    bare = with_constant_inputs(bare, folder)
                target = Path(scratch) / f"{folder.name}.onnx"
                target.write_bytes(bare.SerializeToString())
                paths[folder.name], truths[folder.name] = target, truth
                theirs = onnx_types(bare)
                worst = max((theirs.get(n, Type()).verdict(t) for n, t in truth.items()),
                            key=ORDER.index, default="right")
                onnx_verdicts[worst] += 1
            types, refused = dumped(tool, paths.values())
            verdicts = Counter()
            for name, truth in truths.items():
                path = str(paths[name])
                if path in refused:
                    print(f"{name}: REFUSED: {refused[path]}")
                    verdicts["WRONG"] += 1
                    continue
                worst = "right"
                for value, expected in truth.items():
                    inferred = types[path].get(escaped(value), Type())
                    verdict = inferred.verdict(expected)
                    worst = max(worst, verdict, key=ORDER.index)
                    if verdict == "WRONG":
                        print(f"{name}: WRONG: {value} is {expected}, inferred {inferred}")
                        failed = failed or name not in WITNESS_ERRS
                    elif verdict != "right" and os.environ.get("VERBOSE"):
                        print(f"{name}: {verdict}: {value} is {expected}, inferred {inferred}")
                verdicts[worst] += 1
        kind = "small inputs constant" if constant else "inputs as they are"
        total = sum(verdicts.values())
        for who, counts in (("cleave", verdicts), ("onnx", onnx_verdicts)):
            text = ", ".join(f"{counts[v]:,} {v}" for v in ORDER)
            share = 100 * counts["right"] / max(total, 1)
            print(f"{kind}: {who}: {text}, of {total:,}: {share:.1f} % fully right")
        if constant and verdicts["right"] * 100 < least * total:
            print(f"too few fully right: wanted {least} %")
            failed = True
    return failed


def random_input(random, value, sizes):
    """Random elements; `sizes` holds the size of each symbolic dim, and is filled."""
    tensor = value.type.tensor_type
    dims = []
    for i, dim in enumerate(tensor.shape.dim):
        is_image = len(tensor.shape.dim) == 4 and i >= 2
        own = dim.dim_param or f"{value.name} {i}"
        size = sizes.setdefault(own, 64 + 16 * (i % 2) if is_image else 2 + len(sizes) % 3)
        dims.append(dim.dim_value if dim.HasField("dim_value") else size)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if np.dtype(dtype) == np.bool_:
        return np.asarray(random.random(dims) < 0.5)
    if np.issubdtype(dtype, np.integer):
        return np.asarray(random.integers(0, 4, dims)).astype(dtype)
    return np.asarray(random.random(dims)).astype(dtype)


def run_types(path):
    """What ONNX Runtime makes: type of each tensor of the main graph; and the inputs' shapes."""
    import onnxruntime as ort
    model = onnx.load(path, load_external_data=False)
    constants = {t.name for t in model.graph.initializer}
    names = [n for node in model.graph.node for n in node.output if n]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in dict.fromkeys(names))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.add_session_config_entry("session.model_external_initializers_file_folder_path",
                                     os.path.dirname(os.path.abspath(path)))
    session = ort.InferenceSession(model.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    random, sizes = np.random.default_rng(7), {}
    feeds = {v.name: random_input(random, v, sizes) for v in model.graph.input
             if v.name not in constants}
    values = session.run(names, feeds)
    types = {}
    for name, value, info in zip(names, values, session.get_outputs()):
        if isinstance(value, np.ndarray) and info.type.startswith("tensor("):
            dtype = info.type.removeprefix("tensor(").removesuffix(")")
            types[name] = Type(DTYPES.get(dtype, dtype), list(value.shape))
    return types, {name: list(value.shape) for name, value in feeds.items()}


def check_runs(tool, models):
    failed = False
    for path in models:
        try:
            truth, shapes = run_types(path)
        except Exception as error:
            print(f"{path}: does not run: {str(error).splitlines()[0][:150]}")
            failed = True
            continue
        bound = "".join(f"\t{name}={','.join(map(str, dims))}" for name, dims in shapes.items())
        for how, line in (("", str(path)), (" with input shapes", f"{path}{bound}")):
            inferred, refused = dumped(tool, [line])
            if refused:
                print(f"{path}: REFUSED: {refused[line.split(chr(9))[0]]}")
                failed = True
                continue
            verdicts = Counter()
            for name, expected in truth.items():
                mine = inferred[str(path)].get(escaped(name), Type())
                verdict = mine.verdict(expected)
                verdicts[verdict] += 1
                if verdict == "WRONG":
                    print(f"{path}{how}: WRONG: {name} is {expected}, inferred {mine}")
                    failed = True
                elif verdict != "right" and os.environ.get("VERBOSE"):
                    print(f"{path}{how}: {verdict}: {name} is {expected}, inferred {mine}")
            text = ", ".join(f"{verdicts[v]} {v}" for v in ORDER)
            print(f"{path}{how}: {text}, of {len(truth)} values")
    return failed


def models_of(path):
    return sorted(map(str, path.rglob("*.onnx"))) if path.is_dir() else [str(path)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("witness", choices=["node", "run"])
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--fewest", type=int, default=1)
    parser.add_argument("paths", nargs="*")
    args = parser.parse_args()
    if args.witness == "run":
        models = [model for path in args.paths for model in models_of(Path(path))]
        sys.exit(1 if not models or check_runs(args.tool, models) else 0)
    roots = args.paths or [Path(onnx.__file__).parent / "backend/test/data/node"]
    folders = sorted(f for root in roots for f in Path(root).iterdir() if f.is_dir())
    if len(folders) < args.fewest:
        sys.exit(f"check_shapes.py: {len(folders)} models found, {args.fewest} wanted")
    sys.exit(1 if check_nodes(args.tool, folders, args.least) else 0)


if __name__ == "__main__":
    main()
