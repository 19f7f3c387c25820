#!/usr/bin/env python3
"""Tests the workers of scripts/backends with the compilers of this Python, or of $CLEAVE_COMPILERS.

usage: worker_test.py

Exit status 1 if one fails, 77 if none could be tested. Each skip is named.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"worker_test.py: skipped: needs the Python module {error.name}")
    sys.exit(77)

PROJECT = Path(__file__).resolve().parent.parent.parent
WORKERS = PROJECT / "scripts" / "backends"
# Worker, its arguments, and the module that it needs.
COMPILERS = [
    ("onnxruntime_worker.py", [], "onnxruntime"),
    ("tract_worker.py", [], "tract"),
    ("openvino_worker.py", ["f32"], "openvino"),
    ("iree_worker.py", [], "iree.compiler"),
    ("tvm_worker.py", [], "tvm"),
    ("qnn_worker.py", [], "onnxruntime_qnn"),
]


def pythons():
    folder = os.environ.get("CLEAVE_COMPILERS")
    return [Path(folder) / "bin" / "python", Path(sys.executable)] if folder else [Path(sys.executable)]


def python_with(module):
    """A Python that has the module, or None."""
    for python in pythons():
        done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
        if done.returncode == 0:
            return python
    return None


class Worker:
    def __init__(self, python, script, arguments):
        self.process = subprocess.Popen(
            [python, WORKERS / script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )
        self.greeting = json.loads(self.process.stdout.readline())

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        return self.process.wait(60)


def two_outputs(folder):
    """A model with a scalar input and outputs that are not in alphabetical order."""
    nodes = [
        helper.make_node("Mul", ["a", "scale"], ["product"], name="mul"),
        helper.make_node("Neg", ["product"], ["difference"], name="neg"),
    ]
    graph = helper.make_graph(
        nodes,
        "two_outputs",
        [
            helper.make_tensor_value_info("scale", TensorProto.FLOAT, []),
            helper.make_tensor_value_info("a", TensorProto.FLOAT, [2]),
        ],
        [
            helper.make_tensor_value_info("product", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("difference", TensorProto.FLOAT, [2]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "two_outputs.onnx"
    onnx.save(model, path)
    return str(path)


def tensor_file(folder, name, array):
    path = folder / f"{name}.pb"
    path.write_bytes(numpy_helper.from_array(np.asarray(array), name).SerializeToString())
    return {"name": name, "file": str(path)}


def read(one):
    return numpy_helper.to_array(TensorProto.FromString(Path(one["file"]).read_bytes()))


def check_run(worker, folder):
    inputs = [
        tensor_file(folder, "scale", np.float32(3)),
        tensor_file(folder, "a", np.array([1, 2], np.float32)),
    ]
    outputs = [{"name": n, "file": str(folder / f"out_{n}.pb")} for n in ("product", "difference")]
    model = two_outputs(folder)
    assert worker.ask(op="compile", model=model, out=str(folder / "o")) == {"ok": True}
    answer = worker.ask(op="run", model=model, out=str(folder / "o"), inputs=inputs, outputs=outputs)
    assert answer == {"ok": True}, answer
    assert read(outputs[0]).tolist() == [3, 6], read(outputs[0])
    assert read(outputs[1]).tolist() == [-3, -6], read(outputs[1])


def check_refusals(worker, folder):
    garbage = folder / "garbage.onnx"
    garbage.write_text("this is no model\n")
    answer = worker.ask(op="compile", model=str(garbage), out=str(folder / "o"))
    assert answer["ok"] is False and answer["error"], answer
    answer = worker.ask(op="no-such-op", model=str(garbage))
    assert answer["stage"] == "driver", answer
    model = onnx.load(two_outputs(folder))
    model.graph.node[1].op_type = "NoSuchOpOfOnnx"
    onnx.save(model, folder / "unknown.onnx")
    answer = worker.ask(op="compile", model=str(folder / "unknown.onnx"), out=str(folder / "o"))
    assert answer["ok"] is False, answer


def check_reference(worker, folder):
    model = two_outputs(folder)
    (folder / "captured").mkdir()
    answer = worker.ask(
        op="capture", model=model, out=str(folder / "captured"), inputs=[], seed=1
    )
    assert answer["ok"], answer
    tensors = {one["name"]: one for one in answer["tensors"]}
    assert sorted(tensors) == ["a", "difference", "product", "scale"], tensors
    assert (read(tensors["difference"]) == -read(tensors["product"])).all()
    check_infinities(worker, folder)
    check_floats(worker, folder)
    raised = str(folder / "raised.onnx")
    answer = worker.ask(op="convert", model=model, out=raised, opset=19)
    assert answer["ok"], answer
    assert onnx.load(raised).opset_import[0].version == 19


def check_floats(worker, folder):
    """A quantised model as it is and in floats; on inputs near those given, the same in each session."""
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    tensors = [numpy_helper.from_array(np.array(0.5, "f"), "s"), numpy_helper.from_array(np.array(0, "u1"), "z")]
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    graph = helper.make_graph(nodes, "g", [info("x", 1, ["n"])], [info("y", 1, ["n"])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "quantised.onnx")
    inputs = [tensor_file(folder, "x", np.array([1.1, -3], "f"))]

    def values(moved, inputs=inputs, **more):
        outputs = {name: [{"name": one, "file": str(folder / f"{one}_{name}.pb")} for one in named]
                   for name, named in (("outputs", "y"), ("rounded", "xqy"))}
        answer = worker.ask(op="float", model=str(folder / "quantised.onnx"), moved=moved, inputs=inputs, **outputs, **more)
        assert answer["ok"], answer
        return [read(one).tolist() for named in outputs.values() for one in named]

    # In floats a quantiser still clips.
    exact, given, quantised, rounded = values(0)
    assert np.allclose(exact, [1.1, 0]) and (quantised, rounded) == ([2, 0], [1, 0]), (exact, quantised, rounded)
    assert np.allclose(given, [1.1, -3]), given
    moved = values(1)[1]
    assert moved != given and np.allclose(moved, given, rtol=0.02001), moved
    assert moved == values(1)[1] != values(2)[1], moved
    many = np.arange(1, 65, dtype="f")
    orders = [values(run, [tensor_file(folder, "x", many)], drawn=True)[1] for run in (1, 2)]
    near = [np.abs(np.sort(one) / many - 1).max() for one in orders]
    assert max(near) < 0.05 and not np.allclose(orders[0], many, rtol=0.1) and not np.allclose(*orders, rtol=0.1), orders


def check_infinities(worker, folder):
    """Those that constants bring in are told apart from those that numbers make."""
    import numpy as np

    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    tensors = [onnx.numpy_helper.from_array(np.array([0, -np.inf], "f"), "mask"),
               onnx.numpy_helper.from_array(np.array([0, 0], "f"), "zero")]
    nodes = [helper.make_node("Add", ["x", "mask"], ["masked"]), helper.make_node("Mul", ["x", "zero"], ["none"]),
             helper.make_node("Log", ["none"], ["log"]), helper.make_node("Add", ["masked", "log"], ["y"])]
    graph = helper.make_graph(nodes, "g", [info("x", 1, ["n"])], [info("y", 1, ["n"])], tensors)
    model = folder / "mask.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    (folder / "masked").mkdir()
    answer = worker.ask(op="capture", model=str(model), out=str(folder / "masked"), inputs=[], seed=1)
    assert answer["ok"], answer
    found = sorted(one["name"] for one in answer["tensors"] if one["infinite_by_constants"])
    assert found == ["masked", "y"], answer


def check_garbage(worker, folder):
    garbage = folder / "garbage.tflite"
    garbage.write_text("this is no model\n")
    answer = worker.ask(op="compile", model=str(garbage), out=str(folder / "o"))
    assert answer["ok"] is False and answer["error"], answer


def check_litert(worker, folder):
    answer = worker.ask(op="capture", model=KEYWORD, out=str(folder), given=None, dims={}, shapes={}, seed=1)
    assert answer["ok"], answer
    tensors = {one["name"]: one for one in answer["tensors"]}
    assert tensors["words"]["shape"] == [1, 4] and tensors["net/pool"]["dtype"] == "int8", tensors
    words = {"name": "words", "file": str(folder / "again.pb")}
    answer = worker.ask(op="run", model=KEYWORD, out=str(folder / "o"), inputs=[tensors["sound"]], outputs=[words])
    assert answer == {"ok": True}, answer
    assert (read(words) == read(tensors["words"])).all()


def check_vela(worker, folder):
    answer = worker.ask(op="compile", model=KEYWORD, out=str(folder / "o"))
    assert '"quantize" (QUANTIZE) stays on the CPU: ' in answer["error"], answer
    assert "net/pool" not in answer["error"], answer


KEYWORD = str(PROJECT / "samples" / "keyword.tflite")
# Workers for .tflite models, the module that they need, and their check.
OF_TFLITE = [
    ("litert_worker.py", "ai_edge_litert", check_litert),
    ("vela_worker.py", "ethosu.vela", check_vela),
]


def check_tflite(python, script, more):
    with tempfile.TemporaryDirectory(prefix="worker") as name:
        worker = Worker(python, script, [])
        assert worker.greeting["ready"] and worker.greeting["version"], worker.greeting
        more(worker, Path(name))
        check_garbage(worker, Path(name))
        assert worker.close() == 0


def check(python, script, arguments):
    with tempfile.TemporaryDirectory(prefix="worker") as name:
        folder = Path(name)
        worker = Worker(python, script, arguments)
        assert worker.greeting["ready"] and worker.greeting["version"], worker.greeting
        check_run(worker, folder)
        check_refusals(worker, folder)
        if script.startswith("onnxruntime"):
            check_reference(worker, folder)
        assert worker.close() == 0


def main():
    tried = failed = 0
    checks = [(script, module, check, arguments) for script, arguments, module in COMPILERS]
    checks += [(script, module, check_tflite, more) for script, module, more in OF_TFLITE]
    for script, module, run, rest in checks:
        python = python_with(module)
        if python is None:
            print(f"skipped  {script}: no Python here has {module}")
            continue
        tried += 1
        try:
            run(python, script, rest)
            print(f"passed   {script}")
        except (AssertionError, ValueError, OSError) as error:
            failed += 1
            print(f"FAILED   {script}: {error!r}")
    sys.exit(1 if failed else 0 if tried else 77)


if __name__ == "__main__":
    main()
