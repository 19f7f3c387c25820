#!/usr/bin/env python3
"""Qualcomm's compiler and emulator as a backend: what must lower, what is kept, and what root_ep.onnx computes.

usage: qnn_test.py CLEAVE [NAME...]    the tests whose names hold one of the words

The Python of $CLEAVE_NPU, else this one, must have onnxruntime-qnn. Larger models come from the folder $CLEAVE_MODELS.
Exit status 1 when a test fails, 77 when a package is not there. Each skip is named.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lower"))
from place import PROJECT, Skip, chain, equal, run_tests, tests_in

BACKENDS = PROJECT / "samples" / "backends"
ANYTHING = PROJECT / "samples" / "anything.json"
TINY = PROJECT / "samples" / "tiny_npu.txt"


def python():
    folder = os.environ.get("CLEAVE_NPU")
    return Path(folder) / "bin" / "python3" if folder else Path(sys.executable)


def environment():
    done = subprocess.run([python(), "-c", "import onnxruntime_qnn"], capture_output=True, check=False)
    if done.returncode != 0:
        raise Skip(f"{python()} has no onnxruntime-qnn")
    path = f"{python().parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "CLEAVE_BACKENDS": str(BACKENDS)}


def model(name):
    folders = [PROJECT / "samples", Path(os.environ.get("CLEAVE_MODELS", "/nowhere"))]
    for folder in folders:
        for path in sorted(folder.rglob(f"{name}.onnx")):
            return path
    raise Skip(f"no {name}.onnx in CLEAVE_MODELS")


def lower(place, name, *more, support=ANYTHING, folder="out", code=0):
    path = name if isinstance(name, Path) else model(name)
    done = place.run("lower", path, "-s", support, "--backend", "qnn", "--until-clean", "--cache", "off", "-j", 1,
                     "--json", "-q", "-o", folder, *more, env=environment())
    equal((done.returncode, done.stderr if done.returncode not in (0, 1) else ""), (code, ""))
    return json.loads(done.stdout)


def lowers(place, name, *dims, nodes=None, runs=2):
    result = lower(place, name, "--bundle", "none", *[word for dim in dims for word in ("--dim", dim)])
    said = f"{result['nodes_lowered']} of {result['nodes']} nodes in {result['compiler_runs']} runs"
    assert result["nodes_lowered"] >= (nodes or result["nodes"]) and result["compiler_runs"] <= runs, said
    return said


def test_the_backend_works(place):
    done = place.run("backend", "check", "qnn", env=environment())
    equal((done.returncode, done.stdout.count(" ok ")), (0, 9))


def padded(path, opset):
    """Images, each padded on other sides, in each mode that the list qnn_npu takes."""
    import onnx
    from onnx import TensorProto, helper

    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 6, 5])
    nodes, outputs, constants = [], [], []
    for at, (mode, sides) in enumerate((mode, sides) for mode in ("constant", "edge", "reflect") for sides in (
            [0, 0, 0, 0, 0, 0, 1, 1], [0, 0, 1, 0, 0, 0, 0, 2], [0, 1, 2, 0, 1, 0, 0, 2], [1, 2, 0, 1, 0, 1, 2, 0])):
        constants.append(helper.make_tensor(f"p{at}", TensorProto.INT64, [8], sides))
        nodes.append(helper.make_node("Pad", ["x", f"p{at}"], [f"y{at}"], mode=mode, name=f"pad{at}"))
        shape = [size + sides[i] + sides[i + 4] for i, size in enumerate((2, 3, 6, 5))]
        outputs.append(helper.make_tensor_value_info(f"y{at}", TensorProto.FLOAT, shape))
    graph = helper.make_graph(nodes, "padded", [image], outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def test_images_are_padded_on_any_side(place):
    for opset in (11, 18):
        path = padded(place.folder / f"padded{opset}.onnx", opset)
        result = lower(place, path, "--bundle", "none", support=PROJECT / "samples" / "lists" / "qnn_npu.json", folder=f"out{opset}")
        equal((result["nodes_lowered"], result["nodes"], result["compiler_runs"]), (12, 12, 1))


def test_an_unknown_chip_is_a_backend_that_does_not_work(place):
    text = (BACKENDS / "qnn.json").read_text().replace("soc_model=57", "soc_model=9999")
    (place.folder / "qnn.json").write_text(text.replace("{here}/../..", str(PROJECT)))
    for words in (["backend", "check"], ["lower", model("mobile_block"), "-s", ANYTHING, "--dim", "N=1", "--backend"]):
        done = place.run(*words, "./qnn.json", env=environment())
        equal(done.returncode, 5)
        assert "soc_model=9999" in " ".join((done.stdout + done.stderr).split()), done.stdout + done.stderr


def test_without_the_package_its_command_is_named(place):
    environment()
    done = place.run("lower", model("mobile_block"), "-s", ANYTHING, "--backend", "qnn",
                     env={"PATH": "/usr/bin:/bin", "CLEAVE_BACKENDS": str(BACKENDS)})
    equal(done.returncode, 5)
    assert "pip install onnxruntime-qnn onnx numpy" in done.stderr, done.stderr


def test_a_refusal_has_its_reason(place):
    chain(place.folder / "m.onnx", ["Relu", "Erf", "Abs"])
    done = place.run("lower", "m.onnx", "-s", ANYTHING, "--backend", "qnn", "--json", "-q", "--cache", "off", env=environment())
    result = json.loads(done.stdout)
    equal((done.returncode, result["findings"][0]["nodes"]), (1, ["n1"]))
    assert result["parts"][0]["message"].startswith("Erf: Operators of type `Erf` are not supported"), result["parts"]


def test_mobile_block_is_whole(place):
    return lowers(place, "mobile_block", "N=1")


def test_attention_is_whole(place):
    return lowers(place, "attention", "B=1", "T=1")


def test_probe_learns_gelu(place):
    attention = [model("attention"), "--dim", "B=1", "--dim", "T=1"]
    for fold in ([], ["--fold", "write"]):
        done = place.run("probe", *attention, *fold, "--backend", "qnn", "--cache", "off", "-o", "probed.json", env=environment())
        equal(done.returncode, 0)
        said = " ".join(done.stdout.split())
        assert 'pattern "Erf in 5": taken together: Div, Erf, Add, Mul, Mul' in said, said
        equal("1 refused case is known before the model runs" in said, not fold)
        cases, runs = (int(re.search(rf"(\d+) {of}", said)[1]) for of in ("cases", "compiler runs"))
        # A run for each case, at most 12 for GELU, and one for the If with what is known.
        assert runs - cases <= 12 + (0 if fold else 1), said
    done = place.run("preview", *attention, "--fold", "write", "-s", "probed.json", "--json")
    parts = json.loads(done.stdout)["partitions"]
    equal([(part["is_acc"], len(part["nodes"])) for part in parts], [(True, 50)])
    return f"{runs} runs for {cases} cases"


def test_qdq_is_whole(place):
    return lowers(place, "qdq")


def test_quantised_nodes_that_qnn_names_are_denied_in_one_round(place):
    import onnx
    from onnx import helper

    nodes, value = [], "x"
    scale, zero = helper.make_tensor("s", 1, [], [0.05]), helper.make_tensor("z", 2, [], [128])
    for place_of, op in enumerate(["Relu", "Erf"] * 6):
        name = f"{op}{place_of}"
        nodes += [helper.make_node("QuantizeLinear", [value, "s", "z"], [f"q{place_of}"], name=f"Q{place_of}"),
                  helper.make_node("DequantizeLinear", [f"q{place_of}", "s", "z"], [f"d{place_of}"], name=f"DQ{place_of}"),
                  helper.make_node(op, [f"d{place_of}"], [name], name=name)]
        value = name
    info = [helper.make_tensor_value_info(one, 1, [1, 8, 16]) for one in ("x", value)]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], [scale, zero])
    path = place.folder / "erf.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    result = lower(place, path, "--bundle", "none")
    denied = sorted(rule["name"] for rule in result["learned"])
    equal((result["rounds"], denied), (2, sorted(f"Erf{number}" for number in range(1, 12, 2))))
    return f"{result['nodes_lowered']} of {result['nodes']} nodes in {result['compiler_runs']} runs"


def quantised(path):
    """A deep perceptron with few outputs, as quantize_static makes it: a few ties decide how far off a run is."""
    import numpy as np
    from onnx import helper, numpy_helper

    try:
        from onnxruntime.quantization import QuantType, quantize_static
    except ImportError as error:
        raise Skip("this Python has no onnxruntime") from error
    random, nodes, weights, value = np.random.default_rng(2), [], [], "x"

    def weight(*shape, size=1.0):
        weights.append(numpy_helper.from_array((random.standard_normal(shape) * size).astype("f"), f"w{len(weights)}"))
        return weights[-1].name

    def node(op, *inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, [f"v{len(nodes)}"], name=f"{op}{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    for _ in range(12):
        value = node("Relu", node("Gemm", value, weight(64, 64, size=0.18), weight(64, size=0.1)))
    value = node("Gemm", value, weight(64, 8, size=0.18), weight(8, size=0.1))
    info = [helper.make_tensor_value_info(name, 1, [2, size]) for name, size in (("x", 64), (value, 8))]
    graph = helper.make_graph(nodes, "g", info[:1], info[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    samples = iter([{"x": random.standard_normal((2, 64)).astype("f")} for _ in range(8)])
    reader = type("Samples", (), {"get_next": lambda self: next(samples, None)})()
    quantize_static(model, path, reader, activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8)
    return path


def test_quantised_values_are_as_far_from_floats_as_the_references(place):
    path = quantised(place.folder / "quantised.onnx")
    said = []
    for seed in (0, 1, 5):  # of one run each 1.35, 1.03 and 1.3 times as far off
        result = lower(place, path, "--bundle", "none", "--compare", "--seed", seed, support="qnn_npu", folder=f"out{seed}")
        equal((result["nodes_lowered"], result["rules"]), (result["nodes"], 0))
        said.append(result["parts"][0]["message"].partition(":")[0])
    return "; ".join(said)


def test_gpt_kv_is_whole(place):
    return lowers(place, "gpt_kv", "B=1", "T=1", "P=4")


def test_lstm_is_whole(place):
    return lowers(place, "lstm", "B=1", "T=1")


def test_mobilenet_v3_is_whole(place):
    return lowers(place, "mobilenet_v3", "N=1", "H=224", "W=224")


def test_recurrent_but_for_its_loop(place):
    return lowers(place, "recurrent", "N=1", nodes=6, runs=16)


def test_ctl_but_for_its_loop(place):
    return lowers(place, "ctl", nodes=4, runs=10)


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((folder / "artefacts").iterdir())}


def test_two_runs_keep_the_same_bytes(place):
    for folder in ("one", "two"):
        lower(place, "mobile_block", "--dim", "N=1", support=TINY, folder=folder)
    one, two = hashes(place.folder / "one"), hashes(place.folder / "two")
    equal((len(one), one), (8, two))


def deployed(place, name, *words, support=ANYTHING, says=""):
    lower(place, name, "--bundle", "ep", "--fold", "write", *words, support=support)
    done = subprocess.run([python(), PROJECT / "scripts" / "runner.py", "verify", model(name), place.folder / "out"],
                          capture_output=True, text=True, env=dict(os.environ, **environment()), check=False)
    equal((done.returncode, "" if done.returncode == 0 else done.stdout + done.stderr), (0, ""))
    assert says in done.stdout, done.stdout
    return done.stdout.splitlines()[-1]


def test_mobile_block_is_deployed(place):
    return deployed(place, "mobile_block", "--dim", "N=1", support=TINY)


def test_attention_is_deployed_with_the_measured_list(place):
    return deployed(place, "attention", "--dim", "B=1", "--dim", "T=1", support="qnn_npu")


def test_qdq_is_deployed_and_equal_bit_for_bit(place):
    return deployed(place, "qdq", says="equal: 1 output, bit for bit, from root_ep.onnx")


def test_a_loop_stays_on_the_cpu(place):
    return deployed(place, "recurrent", "--dim", "N=1")


def test_lstm_is_deployed(place):
    return deployed(place, "lstm", "--dim", "B=1", "--dim", "T=1", support="qnn_npu")


def test_a_damaged_artefact_is_found(place):
    environment()
    lower(place, "mobile_block", "--dim", "N=1", "--bundle", "ep", support=TINY)
    path = sorted((place.folder / "out" / "artefacts").glob("*.bin"))[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    done = subprocess.run([python(), PROJECT / "scripts" / "runner.py", "verify", model("mobile_block"), place.folder / "out"],
                          capture_output=True, text=True, check=False)
    equal(done.returncode, 3)
    assert path.name in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(run_tests(tests_in(globals()), os.path.abspath(sys.argv[1]), sys.argv[2:]))
