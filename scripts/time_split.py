#!/usr/bin/env python3
"""Times one inference of a split ONNX model: CPU partitions in ONNX Runtime, the others in OpenVINO.

usage: time_split.py DIR|PART.onnx [--device CPU] [--runs 20] [--threads N]

DIR is the folder that `cleave split -o DIR` wrote. Its partitions run in call order, each as one session or
compiled model; values go from one to the next as arrays. Inputs are random, with the sizes of the model, an
open dim as 1. The first runs are not counted. The last line that is printed is the median in milliseconds, so
that this is a command for `cleave tune --run` with {split}. A split without accelerator partitions is the model on the
CPU alone. PART.onnx is a single partition on the accelerator: for `cleave tune --run`.

--device is OpenVINO's name of the accelerator: NPU, GPU or, to try this without one, CPU.

Exit status: 0 timed; 2 wrong usage; 3 a partition cannot run; 77 a Python module is missing.
"""

import argparse
import statistics
import time
from pathlib import Path

import guard

try:
    import numpy as np
    import onnxruntime as ort
    import openvino as ov
except ImportError as error:
    guard.missing(__name__, "time_split.py", error, "onnxruntime openvino numpy", __doc__)

WARM_RUNS = 3
WANTED = {"partitions": [{"file": (guard.FileName, None), "is_acc": bool}], "settings?": guard.SETTINGS}
KINDS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_,
         "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}


def cpu_part(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    takes = [one.name for one in session.get_inputs()]
    return lambda values: zip(names, session.run(names, {name: values[name] for name in takes}), strict=True)


def plain(array):
    """The array with the usual type of its size: what ONNX Runtime makes may be of C's `long long`, which OpenVINO refuses."""
    return array.view(np.dtype(array.dtype.str))


def acc_part(path, core, device):
    model = core.read_model(str(path))
    names = [one.any_name for one in model.outputs]
    asked = [one.any_name for one in model.inputs]
    compiled = core.compile_model(model, device)
    request = compiled.create_infer_request()
    # Compiled, a value may have several names, as where a Cast of it changes nothing; an input that is not needed has none.
    known = {name for one in compiled.inputs for name in one.get_names()}
    takes = [name for name in asked if name in known]

    def run(values):
        request.infer({name: plain(values[name]) for name in takes}, share_inputs=True)
        return [(name, np.array(request.get_tensor(name).data)) for name in names]

    return run


def drawn_inputs(model, settings):
    """Random arrays for the inputs of the ONNX file, by name. `settings`: of the split, which has bound sizes."""
    dims, shapes = settings.get("dims", {}), settings.get("input_shapes", {})
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    values = {}
    for one in session.get_inputs():
        given = shapes.get(one.name, one.shape)
        shape = guard.size_of_draw(one.name, [size if isinstance(size, int) else dims.get(size, 1) for size in given])
        kind = KINDS[one.type]
        drawn = generator.random(shape) if np.issubdtype(kind, np.floating) else generator.integers(0, 2, shape)
        values[one.name] = drawn.astype(kind)
    return values


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs is 1 or more: without a run nothing is timed")
    with guard.told("time_split.py", options.folder):
        is_part = options.folder.is_file()
        manifest = {"partitions": [{"file": "", "is_acc": True}]} if is_part else guard.read_manifest(options.folder, WANTED)
        core = ov.Core()
        core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        if options.threads > 0:
            core.set_property("CPU", {"INFERENCE_NUM_THREADS": options.threads})
        steps = []
        for part in manifest["partitions"]:
            if part["file"] is None:  # it makes no value, and is not written
                continue
            path = options.folder / part["file"]
            steps.append(acc_part(path, core, options.device) if part["is_acc"] else cpu_part(path, options.threads))
        model = options.folder if is_part else options.folder / "root.onnx"
        inputs = drawn_inputs(model, manifest.get("settings", {}))
        taken = []
        for _ in range(WARM_RUNS + options.runs):
            values = dict(inputs)
            begin = time.perf_counter()
            for step in steps:
                values.update(step(values))
            taken.append(1000 * (time.perf_counter() - begin))
    guard.say(f"{statistics.median(taken[WARM_RUNS:]):.4f} ms")


if __name__ == "__main__":
    main()
