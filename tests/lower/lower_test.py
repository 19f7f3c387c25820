#!/usr/bin/env python3
"""`cleave lower`, `reduce`, `probe` and `backend` against fake backends.

usage: lower_test.py CLEAVE [NAME...]      runs the tests, or those whose names hold one of the words

Exit status 1 when one fails, 77 when the Python modules are not there. Each skip is named.
"""
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from place import (
    ALL,
    FAKE,
    PROJECT,
    PYTHON,
    Skip,
    chain,
    equal,
    gelu,
    is_of,
    run_tests,
    running,
    tests_in,
    without_times,
)

# ---- backend files ----


def test_check_passes_a_good_backend(place):
    done = place.run("backend", "check", place.backend())
    equal(done.returncode, 0)
    assert "fake: works" in done.stdout, done.stdout
    done = place.run("backend", "check", place.backend(serve=True))
    equal(done.returncode, 0)
    assert "answers 20 calls alike" in done.stdout, done.stdout


def test_check_fails_one_that_accepts_garbage(place):
    done = place.run("backend", "check", place.backend(["garbage"]))
    equal(done.returncode, 5)
    assert "it accepts that" in done.stdout, done.stdout


def test_check_fails_a_program_that_is_not_there(place):
    done = place.run("backend", "check", "x=no-such-program {model}")
    equal(done.returncode, 5)
    assert "No such file or directory" in done.stdout, done.stdout


def test_a_bad_backend_file_is_bad_input(place):
    (place.folder / "bad.json").write_text('{"format": "cleave.backend", "name": "n",\n "serve": 3}')
    done = place.run("backend", "check", "./bad.json")
    equal(done.returncode, 3)
    assert "bad.json:2:11" in done.stderr, done.stderr


def test_list_names_the_shipped_backends(place):
    env = dict(os.environ, CLEAVE_BACKENDS=str(PROJECT / "samples" / "backends"))
    done = subprocess.run(
        place.command("backend", "list"), env=env, capture_output=True, text=True, check=False
    )
    equal(done.returncode, 0)
    for name in ("onnxruntime", "tract", "openvino", "iree", "tvm"):
        assert f"\n{name} " in done.stdout, done.stdout


    for line in done.stdout.splitlines()[1:]:
        name = line.split()[0]
        found = subprocess.run(place.command("lower", "none.onnx", "-s", "none.json", "--backend", name), env=env,
                               capture_output=True, text=True, check=False)
        assert "no backend of that name" not in found.stderr, found.stderr


# ---- lower ----


def test_a_model_that_is_taken_is_lowered(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs"])
    done, result = place.lower(model, place.backend())
    equal(done.returncode, 0)
    top = {key: result[key] for key in ("clean", "nodes", "nodes_lowered", "rounds", "compiler_runs")}
    equal(top, {"clean": True, "nodes": 3, "nodes_lowered": 3, "rounds": 1, "compiler_runs": 1})
    equal(result["parts"][0]["verdict"], "lowered")


def test_a_verdict_is_known_the_second_time(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg"])
    place.lower(model, place.backend())
    _, result = place.lower(model, place.backend())
    equal((result["compiler_runs"], result["cache_hits"]), (0, 1))
    equal(place.calls(), 1)
    _, result = place.lower(model, place.backend(), "--cache", "off")
    equal(result["compiler_runs"], 1)


def test_a_named_culprit_takes_two_runs_and_becomes_a_rule(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Sin", "Abs", "Exp"])
    done, result = place.lower(model, place.backend(["op=Sin"]))
    equal(done.returncode, 1)
    finding = result["findings"][0]
    equal((finding["kind"], finding["nodes"]), ("culprit", ["n2"]))
    assert finding["runs"] <= 2, finding
    learned = place.folder / "learned.json"
    done, result = place.lower(
        model, place.backend(["op=Sin"]), "--until-clean", "--deny-out", learned
    )
    equal(done.returncode, 0)
    equal((result["clean"], result["nodes_lowered"], result["rules"]), (True, 4, 1))
    rules = json.loads(learned.read_text())["deny"]
    equal([rule["op"] for rule in rules], ["Sin"])
    preview = place.run("preview", model, "-s", learned, "--json")
    parts = json.loads(preview.stdout)["partitions"]
    equal([part["nodes"] for part in parts if part["is_acc"]], [["n0", "n1"], ["n3", "n4"]])


# Of two nodes of an op, what differs, and how much of it is refused.
ATTRIBUTES = [
    ("Softmax", {"axis": 1}, {"axis": -1}), ("MaxPool", {"ceil_mode": 1}, {}), ("MaxPool", {"dilations": [2, 2]}, {"dilations": [1, 1]}),
    ("MaxPool", {"auto_pad": "SAME_UPPER"}, {}), ("MaxPool", {"strides": [2, 2]}, {}), ("AveragePool", {"count_include_pad": 1}, {}),
    ("ReduceMax", {"keepdims": 0, "axes": [1]}, {"axes": [1]}), ("Transpose", {"perm": [3, 2, 1, 0]}, {"perm": [0, 2, 3, 1]}),
    ("DepthToSpace", {"mode": "CRD", "blocksize": 2}, {"mode": "DCR", "blocksize": 2}), ("Flatten", {"axis": 2}, {"axis": 1}),
]


def two_of(path, op, refused, taken):
    """Two nodes of an op beside each other."""
    pool = {"kernel_shape": [2, 2]} if "Pool" in op else {}
    nodes = [helper.make_node(op, ["r"], [f"y{i}"], name=f"n{i}", **pool, **attributes) for i, attributes in enumerate((taken, refused))]
    nodes.insert(0, helper.make_node("Relu", ["x"], ["r"], name="relu"))
    info = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 8, 8])]
    graph = helper.make_graph(nodes, "two", info, [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None) for i in range(2)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def learned_of(place, model, rule):
    done, result = place.lower(model, place.backend([rule]), "--until-clean", "--cache", "off", "--deny-out", "learned.json", "--force")
    equal(done.returncode, 0)
    [rule] = json.loads((place.folder / "learned.json").read_text())["deny"]
    return result, rule


def test_a_refused_value_of_an_attribute_is_the_condition_of_the_rule(place):
    for op, refused, taken in ATTRIBUTES:
        name, value = next(iter(refused.items()))
        model = two_of(place.folder / "m.onnx", op, refused, taken)
        result, rule = learned_of(place, model, f"set={op}:{name}:{value}")
        equal((op, name, rule.get("attributes"), result["nodes_lowered"]), (op, name, {name: [value]}, 2))


def gru(path, direction):
    weights = [helper.make_tensor(name, TensorProto.FLOAT, shape, [0.1] * (shape[0] * shape[1] * shape[2])) for name, shape in (
        ("w", [1 + (direction == "bidirectional"), 12, 4]), ("r", [1 + (direction == "bidirectional"), 12, 4]))]
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="relu"),
             helper.make_node("GRU", ["a", "w", "r"], ["y"], name="gru", direction=direction, hidden_size=4)]
    info = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 1, 4]), helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "gru", info[:1], info[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_of_the_only_node_of_an_op_the_word_is_denied_that_is_no_default(place):
    for direction, wants in (("bidirectional", {"direction": ["bidirectional"]}), ("forward", None)):
        _, rule = learned_of(place, gru(place.folder / "m.onnx", direction), "mute=GRU")
        equal((rule["op"], rule.get("attributes")), ("GRU", wants))


# ---- several targets ----


def two_targets(place, npu_rules, gpu_rules, *more):
    """Lowers a chain of five nodes for an NPU and a GPU, each with a fake compiler; (done, lowering.json)."""
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg", "Abs", "Exp"])
    (place.folder / "npu.txt").write_text("Relu\nSin\nNeg\nExp\n")
    (place.folder / "gpu.txt").write_text("Sin\nAbs\nExp\n")
    backends = []
    for name, rules in (("npu", npu_rules), ("gpu", gpu_rules)):
        path = place.folder / f"{name}.json"
        place.backend(rules, name=f"{name}c").rename(path)
        backends += ["--backend", f"{name}={path}"]
    done = place.run("lower", model, "-s", "npu=npu.txt", "-s", "gpu=gpu.txt", *backends, "--json", "-q", *more)
    assert done.stdout, done.stderr
    return done, json.loads(done.stdout)


def placed(result):
    return {part["name"]: (part["backend"], part["nodes"], part["verdict"]) for part in result["parts"]}


def test_each_partition_goes_to_the_backend_of_its_target(place):
    done, result = two_targets(place, [], [])
    equal(done.returncode, 0)
    equal(placed(result), {
        "_run_on_npu_0": ("npuc", 3, "lowered"), "_run_on_gpu_1": ("gpuc", 1, "lowered"),
        "_run_on_npu_2": ("npuc", 1, "lowered"),
    })
    equal([backend["target"] for backend in result["backends"]], ["npu", "gpu"])
    equal([(one["name"], one["partitions_lowered"], one["nodes_lowered"]) for one in result["targets"]],
          [("npu", 2, 4), ("gpu", 1, 1)])


def test_what_one_target_refuses_goes_to_the_next(place):
    done, result = two_targets(place, ["op=Sin"], [], "--until-clean", "-o", "out")
    equal(done.returncode, 0)
    equal((result["clean"], result["rounds"], result["nodes_lowered"]), (True, 2, 5))
    equal([(rule["target"], rule["op"]) for rule in result["learned"]], [("npu", "Sin")])
    equal(placed(result)["_run_on_gpu_1"], ("gpuc", 1, "lowered"))
    text = (place.folder / "out" / "lowering.txt").read_text()
    assert "deny op Sin for npu" in text, text
    assert "npu: 3 of 3 partitions lowered, 3 of 3 nodes" in text, text
    # The learned lists make the same partitions.
    lists = [word for name in ("npu", "gpu") for word in ("-s", f"{name}=out/learned_{name}.json")]
    preview = json.loads(place.run("preview", "m.onnx", *lists, "--json").stdout)
    on = {node: part["target"] for part in preview["partitions"] for node in part["nodes"]}
    equal(on, {"n0": "npu", "n1": "gpu", "n2": "npu", "n3": "gpu", "n4": "npu"})


def test_what_every_target_refuses_goes_to_the_cpu(place):
    done, result = two_targets(place, ["op=Sin"], ["op=Sin"], "--until-clean")
    equal(done.returncode, 0)
    equal((result["clean"], result["rounds"], result["nodes_lowered"]), (True, 3, 4))
    equal([(rule["target"], rule["op"]) for rule in result["learned"]], [("npu", "Sin"), ("gpu", "Sin")])


def test_a_target_without_a_backend_is_not_compiled(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Abs"])
    (place.folder / "npu.txt").write_text("Relu\n")
    (place.folder / "gpu.txt").write_text("Abs\n")
    words = ("lower", model, "-s", "npu=npu.txt", "-s", "gpu=gpu.txt")
    done = place.run(*words, "--backend", f"npu={place.backend()}")
    equal(done.returncode, 0)
    assert "gpu: 1 partition of 1 node not compiled: it has no backend (--backend gpu=NAME)" in done.stdout, done.stdout
    # One without a target is for those that have none of their own.
    done = place.run(*words, "--backend", place.backend(), "--json")
    equal([part["backend"] for part in json.loads(done.stdout)["parts"]], ["fake", "fake"])
    # The short form of the target's name is its command.
    done = place.run(*words, "--backend", f"gpu={shlex.join([*PYTHON, str(FAKE)])} {{model}} {{out}}", "--json")
    parts = json.loads(done.stdout)["parts"]
    equal([(part["name"], part["backend"], part["verdict"]) for part in parts], [("_run_on_gpu_1", "gpu", "lowered")])
    done = place.run(*words, "--backend", "tpu=fake.json")
    equal(done.returncode, 3)
    assert "tpu" in done.stderr and "npu" in done.stderr, done.stderr


def test_one_file_for_onnxruntime_has_one_backend_for_each_target(place):
    model = chain(place.folder / "m.onnx", ["Relu"])
    backends = ["--backend", f"npu={place.backend()}"] * 2
    done = place.run("lower", model, "-s", "npu=all.json", "-s", "gpu=all.json", *backends, "--bundle", "ep", "-o", "out")
    equal(done.returncode, 2)
    assert "--bundle ep takes one backend for each of several targets, and npu has 2" in done.stderr, done.stderr


def test_pieces_of_a_tflite_model_are_tflite_files(place):
    # The fake refuses what makes the tensor "words", and says so.
    (place.folder / "fake.py").write_text(
        "import pathlib, sys\n"
        "model = pathlib.Path(sys.argv[1])\n"
        "data = model.read_bytes()\n"
        "assert model.suffix == '.tflite' and data[4:8] == b'TFL3', model\n"
        "if b'words' in data:\n"
        "    sys.exit('\"words\" (DEQUANTIZE) stays on the CPU')\n"
        "pathlib.Path(sys.argv[2]).write_bytes(b'compiled')\n"
    )
    backend = "fake=" + " ".join([*PYTHON, str(place.folder / "fake.py"), "{model} {out}"])
    learned = place.folder / "learned.json"
    done, result = place.lower(PROJECT / "samples" / "keyword.tflite", backend, "--until-clean", "--deny-out", learned,
                               "-o", "out")  # fmt: skip
    equal(done.returncode, 0)
    equal((result["clean"], result["nodes_lowered"]), (True, 8))
    finding = result["findings"][0]
    equal((finding["kind"], finding["nodes"]), ("culprit", ["words"]))
    equal([rule["op"] for rule in json.loads(learned.read_text())["deny"]], ["SOFTMAX"])
    assert list(place.folder.glob("out/findings/*/model.tflite")), "no piece beside the finding"
    probed = place.folder / "probed.json"
    done = place.run("probe", PROJECT / "samples" / "keyword.tflite", "--backend", backend, "-o", probed)
    equal(done.returncode, 0)
    done = place.run("preview", PROJECT / "samples" / "keyword.tflite", "-s", probed, "--json")
    parts = json.loads(done.stdout)["partitions"]
    equal(sum(len(part["nodes"]) for part in parts if part["is_acc"]), 8)
    done = place.run("probe", *[PROJECT / "samples" / "keyword.tflite"] * 2, "--backend", backend, "-o", probed, "--force")
    assert done.returncode != 0 and "are probed one at a time" in done.stderr, done.stderr


# A partitioner for pieces of .pt2 models: leaves out nodes of an op, except when the piece is exported anew.
PARTITIONER = """
import json, sys, zipfile
OP = sys.argv[1]
print(json.dumps({"ready": "fake", "version": "1"}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    assert request["model"].endswith(".pt2"), request
    with zipfile.ZipFile(request["model"]) as archive:
        [name] = [one for one in archive.namelist() if "/models/" in one]
        nodes = json.loads(archive.read(name))["graph_module"]["graph"]["nodes"]
    left = [{"node": node["name"], "op": "edge." + OP, "why": "not on this device"} for node in nodes
            if "aten." + OP + "." in node["target"] and not request.get("pin")]
    with open(sys.argv[2], "a") as log:
        log.write(f"{request['op']} {len(nodes)} {len(left)} {len(request['inputs'])}\\n")
    is_nothing = all("flatten" in node["target"] for node in nodes)
    print(json.dumps({"ok": True, **({"left": left} if left else {}), **({"nothing": True} if is_nothing else {})}), flush=True)
"""


def partitioner(place, op):
    (place.folder / "partitioner.py").write_text(PARTITIONER)
    (place.folder / "partitioner.json").write_text(json.dumps({
        "format": "cleave.backend", "version": 1, "name": "fake", "takes": ["pt2"],
        "serve": {"argv": [*PYTHON, str(place.folder / "partitioner.py"), op, str(place.folder / "log")], "ops": ["compile"]},
    }))  # fmt: skip
    return place.folder / "partitioner.json"


PROGRAM = PROJECT / "tests" / "pt2" / "models" / "tiny_resnet.train.t215.pt2"


def test_what_a_partitioner_leaves_out_is_learned_without_a_search(place):
    backend, learned = partitioner(place, "batch_norm"), place.folder / "learned.json"
    done, result = place.lower(PROGRAM, backend, "--until-clean", "--reference", "none", "--deny-out", learned, "-o", "out",
                               "--bundle", "none")
    equal((done.returncode, result["clean"]), (0, True))
    [finding] = result["findings"]
    equal((finding["kind"], finding["round"], finding["nodes"][0]), ("left out", 1, "batch_norm"))
    equal(finding["signature"], "edge.batch_norm: not on this device")
    [rule] = json.loads(learned.read_text())["deny"]
    equal(rule["op"], "torch.ops.aten.batch_norm.default")
    equal((result["rounds"], result["compiler_runs"]), (2, place.calls()))
    assert all(part["verdict"] in ("lowered", "nothing to lower") for part in result["parts"]), result["parts"]
    [model] = place.folder.glob("out/findings/1/model.pt2")
    assert model.read_bytes()[:2] == b"PK"
    repeated = subprocess.run(["sh", "command.sh"], cwd=model.parent, capture_output=True, text=True, check=False)
    equal(repeated.returncode, 1)
    assert "left out" in repeated.stdout and "not on this device" in repeated.stdout, repeated.stdout


def test_what_is_left_out_is_in_the_report_and_can_be_reduced(place):
    (place.folder / "first.txt").write_text("flatten\n")
    backend = partitioner(place, "flatten")
    done, result = place.lower(PROGRAM, backend, "--reference", "none")
    equal(done.returncode, 1)
    part = result["parts"][0]
    equal((part["verdict"], [one["node"] for one in part["left"]]), ("partly lowered", ["flatten"]))
    done = place.run("reduce", PROGRAM, "--backend", backend, "--nodes", "first.txt", "--reference", "none", "--json")
    equal(json.loads(done.stdout)["verdict"], "partly lowered")


def test_one_compile_of_a_program_is_a_list_of_what_a_partitioner_takes(place):
    backend, probed = partitioner(place, "relu_"), place.folder / "probed.json"
    done = place.run("probe", PROGRAM, "--backend", backend, "-o", probed)
    equal((done.returncode, place.calls()), (0, 1))
    equal(place.run("lists", "lint", probed, PROGRAM).returncode, 0)
    shown = json.loads(place.run("preview", PROGRAM, "-s", probed, "--json").stdout)
    taken = [node for part in shown["partitions"] if part["is_acc"] for node in part["nodes"]]
    assert taken and not any(node.startswith("relu_") for node in taken), taken


def test_a_backend_says_which_models_it_takes(place):
    model = chain(place.folder / "m.onnx", ["Relu"])
    done = place.run("lower", model, "-s", "all.json", "--backend", partitioner(place, "relu_"))
    equal(done.returncode, 3)
    assert "takes .pt2 models, and this is none" in done.stderr, done.stderr


def test_a_compiler_of_tflite_models_is_tested_by_such_and_takes_no_other(place):
    (place.folder / "fake.py").write_text(
        "import pathlib, sys\n"
        "model = pathlib.Path(sys.argv[1])\n"
        "data = model.read_bytes()\n"
        "if model.suffix != '.tflite' or data[4:8] != b'TFL3' or b'NoSuchOp' in data:\n"
        "    sys.exit('no model for me')\n"
        "pathlib.Path(sys.argv[2]).write_bytes(b'compiled')\n"
    )
    argv = [*PYTHON, str(place.folder / "fake.py"), "{model}", "{out}"]
    backend = place.folder / "takes.json"
    content = {"format": "cleave.backend", "version": 1, "name": "fake", "takes": ["tflite"],
               "compile": {"argv": argv, "produces": ["{out}"], "timeout": "60s"}}  # fmt: skip
    backend.write_text(json.dumps(content))
    done = place.run("backend", "check", backend)
    equal(done.returncode, 0)
    assert "compiles FULLY_CONNECTED with weights" in done.stdout, done.stdout
    for command in (["lower", "-s", "all.json"], ["reduce", "-o", "reduced"], ["probe", "-o", "probed.json"]):
        done = place.run(*command, PROJECT / "samples" / "mobile_block.onnx", "--backend", backend)
        equal(done.returncode, 3)
        assert "takes .tflite models, and this is none" in done.stderr, done.stderr


def test_native_json_is_not_for_compilers(place):
    done = place.run("lower", PROJECT / "samples" / "resnet18.json", "-s", "all.json", "--backend", place.backend())
    equal(done.returncode, 3)
    assert "is native JSON" in done.stderr, done.stderr


SLOW_CPU = ["--target", "cpu:flops=1GFLOP/s,bandwidth=1GB/s"]


def test_what_is_lowered_is_the_split_of_preview(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Relu", "Exp", "Tanh", "Neg", "Tanh", "Abs", "Exp", "Sin"], (64, 64))
    accept = ["Relu", "Exp", "Neg", "Abs", "Sin"]
    numbers = {"launch": "4us", "flops": "1TFLOP/s", "bandwidth": "100GB/s"}
    lists = {"all.json": {}, "fast.json": {"target": numbers}}
    for name, more in lists.items():
        (place.folder / name).write_text(json.dumps({**ALL, "allow": accept, **more}))
    (place.folder / "cpu.csv").write_text("".join(f"n{i},{time}\n" for i, time in enumerate([9, 9, 9, 9, 9, 30, 30, 30])))
    (place.folder / "acc.csv").write_text("".join(f"n{i},{time}\n" for i, time in enumerate([9, 9, 9, 9, 9, 1, 1, 1])))
    cost = ["--place", "cost", *SLOW_CPU]
    launch = ["--target", "acc:launch=1s,flops=1TFLOP/s,bandwidth=100GB/s"]
    found = {}
    for options in (
        ["-s", "all.json"],
        ["-s", "fast.json", *cost],
        ["-s", "all.json", *cost, *launch],
        ["-s", "all.json", *cost, *launch, "--require", "n3"],
        ["-s", "fast.json", "--keep-acc-subgraphs", "auto", *SLOW_CPU],
        ["-s", "fast.json", "--min-acc-module-size", "auto", *SLOW_CPU],
        ["-s", "all.json", "--place", "cost", "--costs", "cpu.csv", "--costs", "acc=acc.csv", "--target", "acc:launch=9us"],
    ):
        done = place.run("preview", model, *options, "--json")
        assert done.returncode == 0, (options, done.stderr)
        parts = json.loads(done.stdout)["partitions"]
        wants = {part["name"]: len(part["nodes"]) for part in parts if part["is_acc"]}
        for form in ([], ["--show", "preview"]):
            done = place.run("lower", model, *options, "--backend", values_backend(place), *form, "--json", "-q", env=env)
            assert done.returncode == 0, (options, form, done.returncode, done.stderr)
            result = json.loads(done.stdout)
            lowered = result.get("lowering", result)["parts"]
            equal({part["name"]: part["nodes"] for part in lowered}, wants)
        found[json.dumps(wants)] = options
    assert len(found) >= 4, found


def test_an_unnamed_culprit_takes_log_n_runs(place):
    ops = ["Relu"] * 40 + ["Sin"] + ["Neg"] * 23
    model = chain(place.folder / "m.onnx", ops)
    _, result = place.lower(model, place.backend(["mute=Sin"], serve=True))
    finding = result["findings"][0]
    equal((finding["kind"], finding["nodes"]), ("culprit", ["n40"]))
    assert finding["runs"] <= 6 + 2, finding


def test_a_lie_is_not_believed(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Sin", "Abs"])
    _, result = place.lower(model, place.backend(["lie=Sin:Neg"], serve=True))
    equal(result["findings"][0]["nodes"], ["n2"])


def test_nodes_that_fail_together_are_said_to(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Abs", "Cos", "Neg"])
    done, result = place.lower(model, place.backend(["pair=Sin+Cos"], serve=True), "--until-clean")
    equal(done.returncode, 0)
    equal((result["findings"][0]["kind"], result["clean"]), ("together", True))


def test_several_culprits_are_found(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Abs", "Cos", "Neg", "Tan", "Exp"])
    backend = place.backend(["op=Sin", "mute=Cos", "op=Tan"], serve=True)
    done, result = place.lower(model, backend, "--until-clean")
    equal(done.returncode, 0)
    equal(sorted(rule["op"] for rule in result["learned"]), ["Cos", "Sin", "Tan"])


def test_partitions_are_reported_in_order_whatever_the_jobs(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg", "Sin", "Abs", "Sin", "Exp"])
    (place.folder / "all.json").write_text(json.dumps({**ALL, "deny": [{"op": "Sin"}]}))
    backend = place.backend(["op=Neg"], serve=True)
    names = []
    for jobs in (1, 3):
        _, result = place.lower(model, backend, "-j", jobs, "--cache", "off")
        names.append([(part["name"], part["verdict"]) for part in result["parts"]])
    equal(names[0], names[1])
    equal([verdict for _, verdict in names[0]], ["lowered", "refused", "lowered", "lowered"])


# ---- isolation ----


def verdict_of(place, backend, model=None):
    model = model or chain(place.folder / "m.onnx", ["Relu", "Sin"])
    done, result = place.lower(model, backend, "--culprit", "none")
    equal(done.returncode, 1)
    return result["parts"][0]["verdict"], result["parts"][0]["detail"]


def test_a_crash_is_a_verdict(place):
    equal(verdict_of(place, place.backend(["crash=Sin"])), ("crashed", "SIGSEGV"))
    equal(verdict_of(place, place.backend(["crash=Sin"], serve=True))[0], "crashed")


def test_a_hang_is_ended(place):
    verdict = verdict_of(place, place.backend(["hang=Sin"], timeout="2s"))
    equal(verdict[0], "timed out")
    words = [*PYTHON, str(FAKE)]
    assert not list(running(words)), "a fake is left"


def test_what_a_backend_forks_is_ended(place):
    equal(verdict_of(place, place.backend(["fork=Sin"]))[0], "refused")
    equal(running(["sleep", "1000"]) + running(["sleep", "1001"]), [])


def test_a_flood_is_cut(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    done, result = place.lower(model, place.backend(["flood=Sin"]), "--culprit", "none")
    equal(done.returncode, 1)
    assert len(result["parts"][0]["message"]) < 2_000_000


def test_memory_is_limited(place):
    verdict = verdict_of(place, place.backend(["eat=Sin"], memory="1GiB"))
    equal(verdict[0], "out of memory")


def test_success_needs_output(place):
    equal(verdict_of(place, place.backend(["silent=Sin"]))[0], "no output")


def test_a_command_that_names_an_output_must_write_it(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    program = place.folder / "quiet.sh"
    program.write_text('grep -q Sin "$1" || cp "$1" "$2.bin"\nexit 0\n')
    done, result = place.lower(model, f"quiet=sh {program} {{model}} {{out}}")
    equal((done.returncode, result["parts"][0]["verdict"]), (1, "no output"))
    assert "did not write its output" in result["parts"][0]["message"], result["parts"][0]["message"]
    equal(result["findings"][0]["nodes"], ["n1"])
    done, result = place.lower(model, f"quiet=sh {program} {{model}}")
    equal((done.returncode, result["parts"][0]["verdict"]), (0, "lowered"))


def test_an_interrupt_ends_the_children(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    backend = place.backend(["hang=Sin"], timeout="100s")
    process = subprocess.Popen(
        place.command("lower", model, "-s", "all.json", "--backend", backend, "-q"),
        cwd=place.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    for _ in range(300):
        if place.calls():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    equal(process.wait(60), -signal.SIGINT)
    time.sleep(0.5)
    argv = json.loads(backend.read_text())["compile"]["argv"]
    left = [pid for pid in Path("/proc").iterdir() if pid.name.isdigit() and is_of(pid, argv[:6])]
    equal(left, [])


def hanging(place):
    """A backend that hangs, and starts a process in a session of its own; and that process's command line."""
    seconds = str(70000 + os.getpid() % 9999)
    program = place.folder / "hang.sh"
    program.write_text(f'setsid sleep {seconds} & touch {place.folder}/begun; exec sleep 8{seconds}\n')
    return f"hang=sh {program} {{model}} {{out}}", ["sleep", seconds]


def begin_to_lower(place, backend, **env):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    process = subprocess.Popen(
        place.command("lower", model, "-s", "all.json", "--backend", backend, "-q", "--cache", "off"), cwd=place.folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **env})
    for _ in range(300):
        if (place.folder / "begun").exists():
            break
        time.sleep(0.1)
    time.sleep(0.2)
    return process


def test_a_stop_ends_what_left_the_session(place):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        backend, words = hanging(place)
        process = begin_to_lower(place, backend)
        equal(len(running(words)), 1)
        process.send_signal(number)
        equal(process.wait(60), -number)
        equal(running(words), [])
        (place.folder / "begun").unlink()


def test_the_work_folder_of_a_killed_run_is_removed_by_a_later_one(place):
    temporary = place.folder / "tmp"
    temporary.mkdir()
    backend, words = hanging(place)
    process = begin_to_lower(place, backend, TMPDIR=str(temporary))
    process.kill()
    process.wait()
    for pid in running(words):
        os.kill(pid, signal.SIGKILL)
    left = list(temporary.iterdir())
    equal(len(left), 1)
    # Another's folder, whose number is of no process either, has no lock of ours.
    other = temporary / ".cleave-999999999-0"
    other.mkdir()
    os.utime(left[0] / "work.lock", (0, 0))
    done = place.run("lower", "m.onnx", "-s", "all.json", "--backend", place.backend(), env={"TMPDIR": str(temporary)})
    equal((done.returncode, list(temporary.iterdir())), (0, [other]))


# ---- remedies, values, limits ----


def reference(place):
    """The environment in which ONNX Runtime is the reference, or a skip."""
    done = subprocess.run([sys.executable, "-c", "import onnxruntime, numpy"], capture_output=True, check=False)
    if done.returncode != 0:
        raise Skip("this Python has no onnxruntime")
    folder = place.folder / "bin"
    folder.mkdir(exist_ok=True)
    if not (folder / "python3").exists():
        (folder / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (folder / "python3").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "CLEAVE_BACKENDS": str(PROJECT / "samples" / "backends"),
            "CLEAVE_SCRIPTS": str(PROJECT / "scripts")}


def open_chain(path, ops):
    return chain(path, ops, shape=("n", 3))


def values_backend(place, *rules):
    content = {"format": "cleave.backend", "version": 1, "name": "fake",
               "serve": {"argv": [sys.executable, str(FAKE.parent / "fake_values.py"), *rules],
                         "ops": ["compile", "run"]}}
    path = place.folder / "values.json"
    path.write_text(json.dumps(content))
    return path


def test_open_shapes_are_pinned_before_a_node_is_blamed(place):
    env = reference(place)
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg", "Exp"])
    backend = place.backend(["open"], serve=True)
    done, result = place.lower(model, backend, "--reference", "onnxruntime", "--until-clean", env=env)
    equal((done.returncode, result["rules"], result["nodes_lowered"]), (0, 0, 3))
    equal(result["parts"][0]["remedies"]["pinned_inputs"], 1)
    done, result = place.lower(model, backend, "--reference", "onnxruntime", "--pin-shapes", "off", env=env)
    equal((done.returncode, result["clean"]), (1, False))


def start_slow(place, *more):
    """Starts a run whose compiles take a while; returns the process and its command."""
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg", "Cos", "Abs"])
    backend = place.backend(["op=Sin", "op=Cos", "slow=0.4"], serve=True)
    command = place.command("lower", model, "-s", "all.json", "--backend", backend, "--until-clean", "--cache", "off", *more)
    (place.folder / "tmp").mkdir(exist_ok=True)
    process = subprocess.Popen(command, cwd=place.folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=dict(os.environ, TMPDIR=str(place.folder / "tmp")))
    return process, command


def has_verdict(place):
    journal, end = place.folder / "out.journal.jsonl", time.time() + 30
    while time.time() < end:
        if journal.exists() and '"verdict"' in journal.read_text():
            return True
        time.sleep(0.01)
    return False


def test_an_interrupt_says_what_is_kept_and_the_next_run_that_it_continues(place):
    process, command = start_slow(place, "-o", "out")
    assert has_verdict(place)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    equal(process.returncode, -signal.SIGINT)
    assert "stopped; the verdicts so far are in out.journal.jsonl: the same command continues" in said, said
    done = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=False)
    equal(done.returncode, 0)
    assert "continues with" in done.stderr and "from out.journal.jsonl, the last of 20" in done.stderr, done.stderr
    assert "continues" not in (place.folder / "out" / "lowering.txt").read_text()
    process, _ = start_slow(place)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    assert "no verdict is kept" in said, said


def test_what_a_killed_run_left_is_removed_by_the_next(place):
    process, command = start_slow(place, "-o", "out")
    assert has_verdict(place)
    done = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=False)
    equal(done.returncode, 4)  # while the other one runs
    assert "another cleave lower is writing it" in done.stderr, done.stderr
    process.kill()
    process.communicate()
    left = [*place.folder.glob(".cleave-*"), *(place.folder / "tmp").glob(".cleave-*")]
    equal(len(left), 2)
    own = place.folder / ".cleave-99999999-0"  # of the user
    own.mkdir()
    (own / "kept").touch()
    # The same name again, but another folder: not what the journal names.
    left[0].rename(place.folder / "elsewhere")
    left[0].mkdir()
    done = subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr.count("error")), (0, 0))
    equal([path.exists() for path in (left[0], left[1], own / "kept")], [True, False, True])
    equal(list(place.folder.glob("*.jsonl")), [])


def test_a_learned_list_beside_another_is_warned_of(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    place.lower(model, place.backend(["op=Sin"]), "--until-clean", "--deny-out", "learned.json")
    done = place.run("preview", model, "-s", "all.json", "-s", "learned.json")
    assert "is a list that cleave lower learned" in done.stderr and "give it alone" in done.stderr, done.stderr
    assert "3 of 3 nodes" in done.stdout or "100" in done.stdout, done.stdout
    for lists in (["-s", "learned.json"], ["-s", "all.json", "-s", "learned.json", "--combine", "all"]):
        done = place.run("preview", model, *lists)
        equal(done.stderr.count("cleave lower learned"), 0)


def test_the_learned_list_has_what_the_command_line_denied(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg", "Exp", "Abs"])
    done = place.run("lower", model, "-s", "all.json", "--backend", place.backend(["op=Sin"]), "--until-clean",
                     "--deny", "Exp", "--deny", "n0", "--deny-out", "learned.json", "-o", "out")
    equal((done.returncode, done.stderr.count("warning")), (0, 0))
    for path in (place.folder / "learned.json", place.folder / "out" / "learned.json"):
        assert [rule.get("why") for rule in json.loads(path.read_text())["deny"]].count("given by --deny") >= 2, path
        parts = json.loads(place.run("preview", model, "-s", path, "--json").stdout)["partitions"]
        equal([part["nodes"] for part in parts if part["is_acc"]], [["n2"], ["n4"]])


def test_equal_partitions_are_compiled_once_whatever_the_jobs(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs", "Exp", "Sin"] * 8 + ["Relu"])
    backend = place.backend(["slow=0.2"], serve=True)
    results = []
    for jobs in (1, 4):
        _, result = place.lower(model, backend, "--deny", "Sin", "--cache", "off", "-j", jobs)
        equal((result["compiler_runs"], result["cache_hits"]), (2, 7))
        equal([part["cached"] for part in result["parts"]], [False] + [True] * 7 + [False])
        results.append({**without_times(result), "jobs": None})
    equal(*results)


def test_an_open_dim_is_no_reason_to_deny_an_op(place):
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg", "Exp"])
    backend = place.backend(["open"], serve=True)
    done, result = place.lower(model, backend, "--until-clean")
    equal((done.returncode, result["rules"], result["compiler_runs"]), (1, 0, 2))
    equal(result["size_options"], ["--dim", "n=1"])
    equal(result["parts"][0]["remedies"]["needs_sizes"], True)
    advice, = result["advice"]
    assert "; 3 more nodes with --dim n=1" in place.run(
        "lower", model, "-s", "all.json", "--backend", backend).stdout.replace("\n  ", " ")
    assert "add --dim n=1" in advice and "v0: float32[n, 3]" in advice, advice
    done, result = place.lower(model, backend, "--until-clean", *result["size_options"])
    equal((done.returncode, result["nodes_lowered"], result["advice"]), (0, 3, []))
    # the user may want the dim open
    done, result = place.lower(model, backend, "--until-clean", "--pin-shapes", "off")
    equal((result["rules"], result["nodes_lowered"]), (3, 0))
    assert "--dim n=SIZE or --reference onnxruntime" in result["advice"][0], result["advice"]
    assert all("with open shapes" in rule["why"] for rule in result["learned"]), result["learned"]


def test_a_culprit_is_found_among_open_dims(place):
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg", "Sin", "Exp", "Abs"])
    backend = place.backend(["open", "mute=Sin"], serve=True)
    done, result = place.lower(model, backend, "--until-clean")
    equal((done.returncode, [rule["op"] for rule in result["learned"]]), (1, ["Sin"]))
    assert "open shapes" not in result["learned"][0]["why"], result["learned"]
    done, result = place.lower(model, backend, "--until-clean", *result["size_options"])
    equal((done.returncode, result["nodes_lowered"], result["rules"]), (0, 4, 1))


def test_a_size_that_was_assumed_is_not_held_against_a_node(place):
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg", "Exp"])
    backend = place.backend(["open=2", "fixed=Neg"], serve=True)
    done, result = place.lower(model, backend, "--until-clean")
    equal((done.returncode, result["rules"], result["findings"][0]["kind"]), (1, 0, "unexplained"))
    equal(result["size_options"], [])


def test_pinned_shapes_are_said_with_the_split_that_has_them(place):
    env = reference(place)
    model = open_chain(place.folder / "m.onnx", ["Relu", "Sin", "Exp"])
    backend = place.backend(["open", "op=Sin"], serve=True)
    done, result = place.lower(model, backend, "--reference", "onnxruntime", "--until-clean", "--host-shapes",
                               "--deny-out", "learned list.json", "--ci", "report.md", env=env)
    equal((done.returncode, result["rules"], len(result["parts"])), (0, 1, 2))
    pinned = result["parts"][0]["remedies"]["pinned"]
    equal([(one["input"], one["type"]) for one in pinned], [("v0", "float32[n, 3]")])
    size = pinned[0]["shape"][0]
    equal(result["size_options"], ["--dim", f"n={size}"])
    equal(result["split_command"], f"cleave split {model} -s 'learned list.json' --host-shapes --dim n={size} -o parts")
    assert "the same partitions with these shapes: `cleave split" in (place.folder / "report.md").read_text()
    equal(place.run(*shlex.split(result["split_command"])[1:]).returncode, 0)
    for part in result["parts"]:
        piece = onnx.load(place.folder / "parts" / f"{part['name']}.onnx")
        shape = [dim.dim_value for dim in piece.graph.input[0].type.tensor_type.shape.dim]
        equal(shape, part["remedies"]["pinned"][0]["shape"])


def test_a_later_opset_is_proposed_before_a_node_is_blamed(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Exp"], opset=13)
    backend = place.backend(["low=17"], serve=True, opset=[17, 21])
    done, result = place.lower(model, backend, "--reference", "onnxruntime", "--until-clean", env=env)
    equal((done.returncode, result["rules"]), (0, 0))
    equal(result["parts"][0]["remedies"]["opset"], 17)
    # The report's command writes what compiled.
    equal(result["split_command"], f"cleave split {model} -s all.json --opset 17 -o parts")
    done = place.run(*shlex.split(result["split_command"])[1:], env=env)
    equal((done.returncode, done.stderr.count("error")), (0, 0))
    for name in (result["parts"][0]["name"], "root"):
        written = onnx.load(place.folder / "parts" / f"{name}.onnx")
        equal([one.version for one in written.opset_import if one.domain == ""], [17])


def test_split_writes_another_opset_that_computes_the_same(place):
    env = reference(place)
    # A form that changed: Squeeze had its axes as an attribute before opset 13; and a weight of 64 KiB.
    weight = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [128, 128], [0.01] * 128 * 128)
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["a"], name="a"), onnx.helper.make_node("Sin", ["a"], ["b"], name="b"),
             onnx.helper.make_node("Unsqueeze", ["b"], ["c"], name="c", axes=[0]),
             onnx.helper.make_node("Squeeze", ["c"], ["d"], name="d", axes=[0]), onnx.helper.make_node("Relu", ["d"], ["y"], name="e")]
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 128]) for name in ("x", "y")]
    graph = onnx.helper.make_graph(nodes, "old", value[:1], value[1:], [weight])
    model = place.folder / "old.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 12)], ir_version=8), model)
    split = ["split", model, "-s", "all.json", "--deny", "Sin", "-o"]
    done = place.run(*split, "out", "--opset", "18", env=env)
    equal(done.returncode, 0)
    assert "parts and root are of opset 18, the model of 12" in done.stdout, done.stdout
    for path in (place.folder / "out").glob("*.onnx"):
        equal([one.version for one in onnx.load(path).opset_import if one.domain == ""], [18])
    verify = [sys.executable, PROJECT / "scripts" / "runner.py", "verify", model, place.folder / "out"]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout.count("differs")), (0, 0))
    # Nothing is written where a part cannot be converted, and the part is named.
    for opset, said in (("999", "knows opsets 1 to"), ("6", "_run_on_")):
        done = place.run(*split, "none", "--opset", opset, env=env)
        equal(done.returncode, 3)
        assert said in done.stderr and not (place.folder / "none").exists(), done.stderr
    done = place.run("split", PROJECT / "samples" / "resnet18.json", "-s", "all.json", "-o", "none", "--opset", "18")
    assert done.returncode == 3 and "--opset is for ONNX models" in done.stderr, done.stderr


def test_another_opset_is_written_beside_domains_of_others(place):
    env = reference(place)
    model = onnx.load(chain(place.folder / "m.onnx", ["Relu", "Sin"], opset=13))
    model.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    onnx.save(model, place.folder / "m.onnx")
    done = place.run("split", "m.onnx", "-s", "all.json", "--opset", "17", "-o", "out", env=env)
    equal((done.returncode, done.stderr.count("Traceback")), (0, 0))


def test_wrong_values_are_found_by_bisection(place):
    env = reference(place)
    ops = ["Relu"] * 12 + ["Tanh"] + ["Neg"] * 19
    model = chain(place.folder / "m.onnx", ops)
    done, result = place.lower(model, values_backend(place, "wrong=Tanh"), "--compare", env=env)
    equal(done.returncode, 1)
    finding = result["findings"][0]
    equal((finding["values"], finding["nodes"]), ("culprit", ["n12"]))
    assert finding["runs"] <= 2 * 5, finding
    done, result = place.lower(model, values_backend(place, "wrong=Tanh"), "--compare", "--until-clean", env=env)
    equal((done.returncode, [rule["op"] for rule in result["learned"]]), (0, ["Tanh"]))


def test_nan_of_the_reference_blames_no_node(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Log", "Relu", "Neg", "Tanh"])
    backend = values_backend(place, "wrong=Relu")
    # What is drawn below 0 is drawn anew.
    done, result = place.lower(model, backend, "--compare", env=env)
    equal([(one["values"], one["nodes"]) for one in result["findings"]], [("culprit", ["n1"])])
    numpy = __import__("numpy")
    numpy.savez(place.folder / "below.npz", v0=numpy.array([[-1, 2, 3], [4, 5, -6]], "f"))
    done, result = place.lower(model, backend, "--compare", "--until-clean", "--inputs", "below.npz", env=env)
    equal((done.returncode, result["rules"], result["clean"]), (1, 0, False))
    # The node where NaN begins is told, without asking the compiler again.
    equal([(one["values"], one["nodes"]) for one in result["findings"]], [("not finite", ["n0"])])
    equal(result["compiler_runs"], 1)
    done = place.run("lower", model, "-s", "all.json", "--backend", backend, "--compare", "--inputs", "below.npz", env=env)
    assert "the reference has NaN or infinity there" in " ".join(done.stdout.split()), done.stdout


def test_a_mask_of_infinities_is_no_reason_to_learn_nothing(place):
    env = reference(place)
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    numpy = __import__("numpy")
    mask = numpy.triu(numpy.full((4, 4), -numpy.inf, "f"), 1)
    nodes = [helper.make_node("Add", ["x", "mask"], ["masked"], name="add"), helper.make_node("Relu", ["masked"], ["r"], name="relu"),
             helper.make_node("Add", ["masked", "r"], ["m"], name="sum"), helper.make_node("Sigmoid", ["m"], ["y"], name="sigmoid")]
    graph = helper.make_graph(nodes, "g", [info("x", 1, [4, 4])], [info("y", 1, [4, 4])], [onnx.numpy_helper.from_array(mask, "mask")])
    model = place.folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    done, result = place.lower(model, values_backend(place, "wrong=Relu"), "--compare", "--until-clean", env=env)
    equal([(one["values"], one["nodes"]) for one in result["findings"]], [("culprit", ["relu"])])
    equal((done.returncode, [rule["op"] for rule in result["learned"]]), (0, ["Relu"]))


def decided_if(path):
    """Exp, Relu, Neg within both branches of an If that the input k decides."""
    def value(name, kind=onnx.TensorProto.FLOAT, shape=(2, 3)):
        return onnx.helper.make_tensor_value_info(name, kind, shape)

    def branch(prefix):
        names = ["x", *(prefix + str(i) for i in range(3))]
        nodes = [onnx.helper.make_node(op, [names[i]], [names[i + 1]], name=prefix + op)
                 for i, op in enumerate(("Exp", "Relu", "Neg"))]
        return onnx.helper.make_graph(nodes, prefix, [], [value(names[-1])])

    node = onnx.helper.make_node("If", ["k"], ["y"], name="if", then_branch=branch("t"), else_branch=branch("f"))
    graph = onnx.helper.make_graph([node], "g", [value("x"), value("k", onnx.TensorProto.BOOL, [])], [value("y")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_partitions_of_a_decided_branch_are_compared_too(place):
    env = reference(place)
    model = decided_if(place.folder / "m.onnx")
    given = ["--set-input", "k=true", "--deny", "Relu", "--compare"]
    done, result = place.lower(model, values_backend(place), *given, env=env)
    equal((done.returncode, [len(part["values"]) for part in result["parts"]]), (0, [1, 1]))
    done, result = place.lower(model, values_backend(place, "wrong=Exp"), *given, "-o", "out", env=env)
    equal((done.returncode, [finding["values"] for finding in result["findings"]]), (1, ["culprit"]))
    equal(repeated(place.folder / "out" / "findings" / "1").returncode, 1)


def test_of_nodes_of_one_case_only_those_with_wrong_values_are_denied(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Tanh", "Abs", "Tanh", "Tanh"])
    done, result = place.lower(model, values_backend(place, "below=Tanh"), "--compare", "--until-clean", env=env)
    equal((done.returncode, result["nodes_lowered"]), (0, 3))
    equal([(rule["op"], rule.get("name")) for rule in result["learned"]], [("Tanh", "n0")])


def loop(path, dim=None):
    """Neg, then a Loop of three trips over a Relu, whose body states no shape, or that of `dim`; then Abs."""
    def value(name, kind=onnx.TensorProto.FLOAT, shape=(dim, 3) if dim else None):
        return onnx.helper.make_tensor_value_info(name, kind, shape)

    make = onnx.helper.make_node
    body = onnx.helper.make_graph(
        [make("Relu", ["s"], ["s2"], name="r"), make("Identity", ["c"], ["c2"], name="i")], "body",
        [value("k", onnx.TensorProto.INT64, []), value("c", onnx.TensorProto.BOOL, []), value("s")],
        [value("c2", onnx.TensorProto.BOOL, []), value("s2")])
    nodes = [make("Neg", ["x"], ["a"], name="a"), make("Loop", ["trips", "", "a"], ["b"], name="b", body=body),
             make("Abs", ["b"], ["y"], name="c")]
    shape = [dim or 2, 3]
    graph = onnx.helper.make_graph(
        nodes, "loop", [value("x", shape=shape)], [value("y", shape=shape)],
        [onnx.helper.make_tensor("trips", onnx.TensorProto.INT64, [], [3])])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def shapes_of_body(path):
    node = next(one for one in onnx.load(path).graph.node if one.op_type == "Loop")
    body = node.attribute[0].g
    return [[dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in (body.input[2], body.output[1])]


def test_shapes_inside_are_written_before_a_node_is_blamed(place):
    env = reference(place)
    model = loop(place.folder / "m.onnx")
    done, result = place.lower(model, values_backend(place, "stated=Loop"), "--compare", "--until-clean", "-o", "out", env=env)
    equal((done.returncode, result["rules"], result["nodes_lowered"]), (0, 0, 3))
    equal([one["kind"] for one in result["findings"]], ["remedy"])
    said = " ".join((place.folder / "out" / "lowering.txt").read_text().split())
    assert "the reference's shapes written inside, also in bodies" in said, said
    equal([part["remedies"]["stated_inside"] for part in result["parts"]], [True])


def test_a_given_size_is_written_into_bodies(place):
    env = reference(place)
    model = loop(place.folder / "m.onnx", dim="N")
    equal(place.run("split", model, "-s", "all.json", "--dim", "N=2", "-o", "parts").returncode, 0)
    equal(shapes_of_body(place.folder / "parts" / "_run_on_acc_0.onnx"), [[2, 3], [2, 3]])
    equal(place.run("split", model, "-s", "all.json", "-o", "open").returncode, 0)
    equal(shapes_of_body(place.folder / "open" / "_run_on_acc_0.onnx"), [[0, 3], [0, 3]])
    done, result = place.lower(model, values_backend(place, "stated=Loop"), "--compare", "--dim", "N=2", env=env)
    equal((done.returncode, result["findings"]), (0, []))


def test_a_refusal_by_chance_has_a_second_try(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    program = place.folder / "once.sh"
    program.write_text(f'test -e {place.folder}/met || {{ touch {place.folder}/met; echo "error: no license" >&2; exit 1; }}\n'
                       'cp "$1" "$2"\n')
    done, result = place.lower(model, f"once=sh {program} {{model}} {{out}}", "--cache", "off", "-j", 1)
    equal((done.returncode, result["parts"][0]["verdict"], result["nodes_lowered"]), (0, "lowered", 3))
    assert result["parts"][0]["before"].startswith("refused"), result["parts"][0]


def test_lower_precision_is_no_fault_of_a_node(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Sigmoid", "Sqrt", "Exp"])
    backend = values_backend(place, "bf16")
    done, result = place.lower(model, backend, "--compare", "--until-clean", env=env)
    equal((done.returncode, result["rules"], result["nodes_lowered"]), (0, 0, 3))
    equal(result["parts"][0]["verdict"], "lower precision")
    said = place.run("lower", model, "-s", "all.json", "--backend", backend, "--compare", env=env).stdout
    assert "3 nodes in lower precision" in said, said


def scaled(path, factor):
    """y = x * factor, then Sin."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["m"], name="mul"), helper.make_node("Sin", ["m"], ["y"], name="sin")]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    graph = helper.make_graph(nodes, "scaled", value[:1], value[1:], [helper.make_tensor("w", TensorProto.FLOAT, [], [factor])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_small_outputs_are_held_against_a_share_of_their_size(place):
    env = reference(place)
    model = scaled(place.folder / "m.onnx", 6e-5)
    done, result = place.lower(model, values_backend(place), "--compare", env=env)
    equal((done.returncode, result["parts"][0]["values"][0]["tested"]), (0, True))
    assert 0 < result["parts"][0]["values"][0]["largest_value"] <= 6e-5, result["parts"][0]["values"]
    done, result = place.lower(model, values_backend(place, "zero=Sin"), "--compare", env=env)
    equal((done.returncode, result["parts"][0]["verdict"]), (1, "wrong values"))


def test_outputs_that_zeros_would_pass_are_said_to_be_untested(place):
    env = reference(place)
    model = scaled(place.folder / "m.onnx", 1e-9)
    done = place.run("lower", model, "-s", "all.json", "--backend", values_backend(place, "zero=Sin"), "--compare", env=env)
    equal(done.returncode, 0)
    assert "NOT tested" in done.stdout and "y (at most" in done.stdout, done.stdout


def test_how_far_values_are_apart_is_said_when_they_pass(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Sigmoid", "Sqrt"])
    words = ["lower", model, "-s", "all.json", "--backend", values_backend(place), "--compare"]
    for _ in range(2):  # the second time the verdict is known
        done = place.run(*words, env=env)
        said = " ".join(done.stdout.split())
        assert "values: 1 output compared" in said and "v2 0 of 0." in said, said


def test_lower_says_of_the_split_what_preview_says(place):
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg"])
    done = place.run("lower", model, "-s", "all.json", "--backend", place.backend(serve=True))
    said = " ".join(done.stderr.split())
    assert "open: n (give --dim n=SIZE)" in said and "worth it: " in said, said


def test_a_value_without_a_type_makes_no_rule(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs"])
    proto = onnx.load(model)
    proto.graph.node[0].domain = "acme"
    proto.opset_import.append(helper.make_opsetid("acme", 1))
    onnx.save(proto, model)
    (place.folder / "all.json").write_text(json.dumps({**ALL, "deny": ["acme::Relu"]}))
    done, result = place.lower(model, place.backend(["op=Neg"], serve=True), "--until-clean")
    equal((done.returncode, result["rules"]), (1, 0))
    assert "the type of v1" in result["findings"][0]["blocked"], result["findings"]


def test_a_list_without_quantizelinear_is_told(place):
    model = quantised(place.folder / "m.onnx")
    (place.folder / "all.json").write_text(json.dumps({**ALL, "deny": ["QuantizeLinear", "DequantizeLinear"]}))
    _, result = place.lower(model, place.backend(serve=True))
    assert any("--keep-qdq" in text and "another -s" in text for text in result["advice"]), result["advice"]


def test_a_list_of_quantizelinear_that_waits_for_sizes_is_told_so(place):
    model = onnx.load(quantised(place.folder / "m.onnx"))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(model, place.folder / "m.onnx")
    rules = ["Relu", *({"op": op, "where": "in[0].dim[0] <= 8"} for op in ("QuantizeLinear", "DequantizeLinear"))]
    (place.folder / "all.json").write_text(json.dumps({**ALL, "allow": rules}))
    _, result = place.lower(place.folder / "m.onnx", place.backend(serve=True))
    assert any("take none of the 2" in text and "add --dim n=SIZE" in text for text in result["advice"]), result["advice"]
    assert not any("--keep-qdq" in text for text in result["advice"]), result["advice"]


def test_a_compiler_that_always_fails_is_not_believed(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    program = place.folder / "broken.sh"
    program.write_text('echo "license has expired" >&2\nexit 1\n')
    broken = f"broken=sh {program} {{model}} {{out}}"
    for command in (["lower", model, "-s", "all.json", "--until-clean", "--deny-out", "l.json"], ["reduce", model]):
        done = place.run(*command, "--backend", broken)
        equal(done.returncode, 5)
        assert "one Add" in done.stderr and "license has expired" in done.stderr, done.stderr
    assert not (place.folder / "l.json").exists()
    # One that never writes its output, too.
    done = place.run("lower", model, "-s", "all.json", "--backend", "quiet=true {model} {out}")
    equal(done.returncode, 5)
    assert "did not write its output" in done.stderr, done.stderr


def test_a_compiler_that_lacks_simple_ops_is_believed(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    backend = place.backend(["op=Add", "op=Relu", "op=Identity"], serve=True)
    done, result = place.lower(model, backend, "--until-clean")
    equal((done.returncode, [rule["op"] for rule in result["learned"]]), (0, ["Relu"]))


def test_what_fails_now_and_then_becomes_no_rule(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    backend = place.backend([f"flaky=Sin:{place.folder / 'count'}"], serve=True)
    done, result = place.lower(model, backend, "--until-clean", "--cache", "off")
    equal((done.returncode, result["rules"]), (1, 0))
    equal({finding["kind"] for finding in result["findings"]}, {"flaky"})


def test_a_crash_by_chance_becomes_no_rule(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg", "Abs"])
    for _ in range(10):
        done, result = place.lower(model, place.backend(["chance=3"], serve=True), "--until-clean", "--cache", "off")
        equal((result["rules"], result["max_nodes"]), (0, None))
    program = place.folder / "once.sh"
    program.write_text(f'cp "$1" "$2"; test -e {place.folder}/met || {{ touch {place.folder}/met; kill -SEGV $$; }}\n')
    done, result = place.lower(model, f"once=sh {program} {{model}} {{out}}", "--cache", "off")
    equal((done.returncode, result["parts"][0]["verdict"], result["parts"][0]["before"]),
          (0, "lowered", "crashed (SIGSEGV)"))


def test_the_whole_piece_fails_once_more_before_a_node_is_blamed(place):
    # A search of what fails for a while finds nothing but culprits.
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg", "Abs"])
    backend = place.backend([f"cold=6:{place.folder / 'count'}"], serve=True)
    _, result = place.lower(model, backend, "--until-clean", "--cache", "off")
    equal((result["rules"], {finding["kind"] for finding in result["findings"]}), (0, {"flaky"}))


def test_a_busy_device_is_waited_for_and_blames_nothing(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs", "Exp", "Sin"] * 6)
    backend = place.backend([f"alone={place.folder / 'lock'}", "op=Exp"])
    for jobs in (1, 4):
        done, result = place.lower(model, backend, "--deny", "Sin", "--until-clean", "--cache", "off", "-j", jobs)
        equal((done.returncode, [rule["op"] for rule in result["learned"]]), (0, ["Exp"]))
    # One that stays busy says nothing of the piece.
    (place.folder / "lock").touch()
    done, result = place.lower(model, backend, "--until-clean", "--cache", "off")
    equal((done.returncode, result["rules"], result["parts"][0]["verdict"]), (5, 0, "driver"))


def test_a_limit_of_size_is_a_limit_of_the_list(place):
    ops = ["Relu", "Neg", "Abs", "Exp"] * 6 + ["Sin", "Neg"]
    model = chain(place.folder / "m.onnx", ops)
    backend = place.backend(["above=12"], serve=True)
    done, result = place.lower(model, backend, "--until-clean", "--deny-out", "learned.json")
    equal((done.returncode, result["rules"], result["max_nodes"], result["nodes_lowered"]), (0, 0, 12, 26))
    equal([finding["kind"] for finding in result["findings"]], ["size"])
    equal(json.loads((place.folder / "learned.json").read_text())["max_nodes"], 12)
    parts = json.loads(place.run("preview", model, "-s", "learned.json", "--json").stdout)["partitions"]
    assert max(len(part["nodes"]) for part in parts) <= 12 and len(parts) == 3, parts


def test_a_pair_that_is_refused_in_many_places_is_no_limit_of_size(place):
    others = ["Neg", "Sin", "Floor", "Ceil", "Sqrt", "Cos"]
    ops = ([*others, "Exp", "Abs", *others] * 4)[:50]
    model = chain(place.folder / "m.onnx", ops)
    for rules in (["edge=Exp+Abs"], ["above=30", "edge=Exp+Abs"]):
        done, result = place.lower(model, place.backend(rules, serve=True), "--until-clean", "--cache", "off")
        case = (rules, result["findings"], result["learned"])
        equal((case, done.returncode, result["max_nodes"]), (case, 0, None))
        equal((case, {rule["op"] for rule in result["learned"]}), (case, {"Abs"}))
        equal((case, result["nodes_lowered"]), (case, 50 - ops.count("Abs")))
    said = place.run("reduce", model, "--backend", place.backend(["edge=Exp+Abs"]), "--culprit", "node").stdout
    assert "fails on 2 nodes of 50" in said and "Exp -> Abs" in said, said


def test_no_node_is_denied_for_a_limit_that_the_compiler_counts_otherwise(place):
    # Constants are nodes of the piece and none of cleave's, so no size of cleave's tells exactly what is refused.
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    for seed in (0, 3, 5, 6, 9):
        nodes, values, numbers = [], ["x"], random.Random(seed)
        for i in range(60):
            if numbers.random() < 0.3:
                nodes.append(helper.make_node("Constant", [], [f"c{i}"], name=f"c{i}", value_float=0.5))
                op, read = "Add", [values[-1], f"c{i}"]
            elif numbers.random() < 0.3:
                op, read = "Mul", [values[-1], numbers.choice(values[-8:])]
            else:
                op, read = numbers.choice(["Relu", "Neg", "Abs", "Exp"]), [values[-1]]
            nodes.append(helper.make_node(op, read, [f"v{i}"], name=f"n{i}"))
            values.append(f"v{i}")
        graph = helper.make_graph(nodes, "g", [info("x", 1, [2, 3])], [info(values[-1], 1, [2, 3])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                  place.folder / "m.onnx")
        done, result = place.lower("m.onnx", place.backend(["above=25"], serve=True), "--until-clean", "--cache", "off")
        case = (seed, result["findings"], result["learned"], result["max_nodes"])
        equal((case, done.returncode, result["learned"], result["nodes_lowered"]), (case, 0, [], result["nodes"]))


def test_two_timeouts_in_a_row_are_told_at_once(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    backend = place.backend(["slow=9"], timeout="1s")
    done = place.run("lower", model, "-s", "all.json", "--backend", backend, "-j", 1)
    equal(done.returncode, 5)
    assert "two compiles in a row timed out after 1 s: each further one that does so costs as long" in done.stderr, done.stderr
    equal(done.stderr.count("two compiles in a row"), 1)


def copied_backend(place, *rules):
    """A backend with scripts of its own."""
    for name in ("fake_backend.py", "onnx_lite.py"):
        shutil.copy(FAKE.parent / name, place.folder / name)
    words = [*PYTHON, str(place.folder / "fake_backend.py"), "--log", str(place.folder / "log"), *rules, "{model}", "{out}"]
    path = place.folder / "copied.json"
    path.write_text(json.dumps({"format": "cleave.backend", "version": 1, "name": "copied",
                                "compile": {"argv": words}, "env": {"pass": ["PATH", "CHIP"]}}))
    return path


def test_verdicts_hold_for_the_scripts_and_variables_that_made_them(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg"])
    backend = copied_backend(place)
    runs = []
    for chip, more in (("1", ""), ("1", ""), ("2", ""), ("1", "# mended\n"), ("1", "")):
        with open(place.folder / "onnx_lite.py", "a", encoding="utf-8") as file:
            file.write(more)
        _, result = place.lower(model, backend, env={"CHIP": chip})
        runs.append(result["compiler_runs"])
    equal(runs, [1, 0, 1, 1, 0])


def test_a_kept_refusal_is_asked_again_before_it_is_a_rule(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    broken = place.folder / "broken"
    broken.touch()
    backend = place.backend([f"while=Sin:{broken}"])
    _, result = place.lower(model, backend, "--until-clean")
    equal([rule["op"] for rule in result["learned"]], ["Sin"])
    broken.unlink()
    for _ in range(2):
        done, result = place.lower(model, backend, "--until-clean")
        equal((done.returncode, result["rules"], result["nodes_lowered"]), (0, 0, 3))


def test_no_cache_is_proposed_where_an_earlier_run_did_better(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    broken = place.folder / "broken"
    backend = copied_backend(place, f"while=Sin:{broken}")
    equal(place.lower(model, backend, "--until-clean")[1]["nodes_lowered"], 3)
    broken.touch()
    with open(place.folder / "onnx_lite.py", "a", encoding="utf-8") as file:
        file.write("# other\n")
    place.lower(model, backend, "--until-clean")
    _, result = place.lower(model, backend, "--until-clean")
    equal(result["nodes_lowered"], 2)
    assert any("an earlier run of the same lowered 3 nodes" in one and "--cache off" in one for one in result["advice"]), result


def test_words_of_a_command_that_name_files_are_found_from_the_working_folder(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg"])
    copied_backend(place)
    done = place.run("lower", model, "-s", "all.json", "--backend",
                     f"own={shlex.join(PYTHON)} fake_backend.py {{model}} {{out}}", "--json")
    equal((done.returncode, json.loads(done.stdout)["nodes_lowered"]), (0, 2))


def test_why_a_reference_does_not_start_ends_with_its_last_word(place):
    model = chain(place.folder / "m.onnx", ["Relu"])
    (place.folder / "none.py").write_text("import sys\nprint('no numpy here', file=sys.stderr)\nsys.exit(5)\n")
    (place.folder / "none.json").write_text(json.dumps(
        {"format": "cleave.backend", "version": 1, "name": "none",
         "serve": {"argv": [sys.executable, "{here}/none.py"], "ops": ["compile", "run", "capture"]}}))
    done = place.run("lower", model, "-s", "all.json", "--backend", place.backend(), "--reference", "./none.json")
    equal(done.returncode, 5)
    assert "no numpy here" in done.stderr and "x0A" not in done.stderr, done.stderr


def coarse(path):
    """Values on steps of 0.4, three times over, as quantize_static writes them."""
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    nodes, last = [], "x"
    for i, op in enumerate(("Relu", "Sigmoid", "Exp")):
        nodes += [helper.make_node("QuantizeLinear", [last, "s", "z"], [f"q{i}"], name=f"quantise{i}"),
                  helper.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"], name=f"dequantise{i}"),
                  helper.make_node(op, [f"d{i}"], [f"v{i}"], name=f"node{i}")]
        last = f"v{i}"
    weights = [helper.make_tensor("s", 1, [], [0.4]), helper.make_tensor("z", 2, [], [128])]
    graph = helper.make_graph(nodes, "g", [info("x", 1, [8, 32])], [info(last, 1, [8, 32])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def float_backend(place, *words, **compare):
    (place.folder / "floats.json").write_text(json.dumps(
        {"format": "cleave.backend", "version": 1, "name": "floats", "compare": compare,
         "serve": {"argv": [sys.executable, str(FAKE.parent / "float_backend.py"), *words], "ops": ["compile", "run"]}}))
    return "./floats.json"


def test_ties_that_fell_badly_on_one_input_are_judged_on_others_near_it(place):
    env = reference(place)
    model = coarse(place.folder / "m.onnx")

    def judged(*factors, steps=0):
        # No node is wrong by itself, and ten times the tolerance takes the errors for such that add up.
        backend = float_backend(place, "9", *factors, rtol=0.05, atol=0.05, int_tolerance=steps)
        done, result = place.lower(model, backend, "--compare", "--until-clean", "--cache", "off", env=env)
        part = result["parts"][0]
        return done.returncode, result["nodes_lowered"], part["verdict"], re.findall(r"in \d+ runs", part["message"])

    # The squares' mean, of 1.6 and then 0.9 times the reference's distance, is below 1.25 squared with the third.
    equal(judged("1.6", "0.9"), (0, 9, "one quantisation step", ["in 3 runs"]))
    equal(judged("1.6"), (1, 0, "wrong values", ["in 16 runs"]))
    # Also where single values may be a step off: so far as a whole is no chance.
    equal(judged("1.4", steps=1), (1, 0, "wrong values", ["in 16 runs"]))


def test_what_is_as_near_to_floats_as_the_reference_is_equal_but_for_ties(place):
    env = reference(place)
    model = coarse(place.folder / "m.onnx")
    done, result = place.lower(model, float_backend(place), "--compare", "--until-clean", env=env)
    equal((done.returncode, result["rules"], result["nodes_lowered"]), (0, 0, 9))
    part = result["parts"][0]
    equal(part["verdict"], "one quantisation step")
    assert "equal but for ties" in part["message"] and "off the model in floats, the reference" in part["message"], part
    # What is wrong stays so.
    done, result = place.lower(model, values_backend(place, "wrong=Sigmoid"), "--compare", "--until-clean", env=env)
    equal([rule["op"] for rule in result["learned"]], ["Sigmoid"])


def between_quantisers(path, ops):
    """Operators of one input, each between a DequantizeLinear and a QuantizeLinear."""
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    nodes, last = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="quantise")], "q"
    for i, op in enumerate(ops):
        nodes += [helper.make_node("DequantizeLinear", [last, "s", "z"], [f"d{i}"], name=f"dequantise{i}"),
                  helper.make_node(op, [f"d{i}"], [f"v{i}"], name=f"{op}{i}"),
                  helper.make_node("QuantizeLinear", [f"v{i}", "s", "z"], [f"q{i}"], name=f"quantise{i}")]
        last = f"q{i}"
    nodes.append(helper.make_node("DequantizeLinear", [last, "s", "z"], ["y"], name="dequantise"))
    weights = [helper.make_tensor("s", 1, [], [0.02]), helper.make_tensor("z", 2, [], [128])]
    graph = helper.make_graph(nodes, "g", [info("x", 1, [8, 32])], [info("y", 1, [8, 32])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_wrong_quantised_operators_are_denied_by_name_where_quantisers_alone_are_refused(place):
    env = reference(place)
    model = between_quantisers(place.folder / "m.onnx", ["Relu", "Sin", "Neg", "Tanh", "Abs", "Cos", "Neg", "Sigmoid"] * 2)

    def denied(*rules):
        backend = values_backend(place, "bare", *rules)
        done, result = place.lower(model, backend, "--compare", "--until-clean", "--cache", "off", env=env)
        names = sorted(rule["name"] for rule in result["learned"])
        # Its quantisers are lowered, with its neighbours.
        equal((done.returncode, result["nodes_lowered"]), (0, result["nodes"] - len(names)))
        return names, result["rounds"], [finding["values"] for finding in result["findings"]]

    equal(denied("wrong=Cos"), (["Cos13", "Cos5"], 2, ["culprit"] * 2))
    # Each alone is right.
    equal(denied("with=Cos:Abs"), (["Cos13", "Cos5"], 2, ["together"] * 2))


def test_values_that_are_wrong_in_large_pieces_only_are_a_limit_of_size(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Sin", "Neg", "Abs", "Cos"] * 8)
    done, result = place.lower(model, values_backend(place, "above=12"), "--compare", "--until-clean", "-o", "out", env=env)
    equal((done.returncode, result["rules"], result["max_nodes"], result["nodes_lowered"]), (0, 0, 12, 32))
    equal([(finding["kind"], finding["nodes_within"]) for finding in result["findings"]], [("size", 13)])
    assert "too large" in (place.folder / "out" / "findings" / "1" / "README.md").read_text()
    equal(repeated(place.folder / "out" / "findings" / "1").returncode, 1)


def test_onnxruntime_is_the_reference_where_shapes_are_open(place):
    env = reference(place)
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg", "Exp"])
    backend = place.backend(["open"], serve=True)
    done, result = place.lower(model, backend, "--until-clean", env=env)
    equal((done.returncode, result["rules"], result["nodes_lowered"]), (0, 0, 3))
    assert result["reference"].startswith("onnxruntime "), result["reference"]
    equal(result["reference_sizes"], [{"input": "v0", "axis": 0, "size": 1, "why": "one inference"}])
    said = place.run("lower", model, "-s", "all.json", "--backend", backend, env=env).stdout.replace("\n  ", " ")
    assert "since shapes are open (--reference none: none)" in said and "v0:0 = 1 (one inference)" in said, said
    _, result = place.lower(model, backend, "--reference", "none", env=env)
    equal((result["reference"], result["size_options"]), (None, ["--dim", "n=1"]))
    _, result = place.lower(chain(place.folder / "f.onnx", ["Relu"]), backend, env=env)
    equal(result["reference"], None)
    done = place.run("lower", model, "-s", "all.json", "--backend", backend, "--compare", "--show", "preview", env=env)
    assert done.returncode == 0 and "lowered 3 of 3 nodes" in done.stdout, done.stdout
    # One that cannot be imported is no fault, since nobody asked for it.
    (place.folder / "bin" / "python3").write_text('#!/bin/sh\necho no module named onnxruntime >&2\nexit 1\n')
    done, result = place.lower(model, backend, env=env)
    equal((result["reference"], result["size_options"]), (None, ["--dim", "n=1"]))
    assert "no module named onnxruntime" in result["reference_note"], result["reference_note"]


def test_sizes_and_values_that_the_user_gives_reach_the_reference(place):
    env = reference(place)
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    unnamed = chain(place.folder / "u.onnx", ["Relu", "Neg"], shape=("?", "?"))
    done, result = place.lower(unnamed, values_backend(place), "--compare", "--input-shape", "v0=2,5", env=env)
    equal((done.returncode, result["nodes_lowered"], result["reference_sizes"]), (0, 2, [
        {"input": "v0", "axis": axis, "size": size, "why": "as given"} for axis, size in enumerate((2, 5))]))
    branch = [helper.make_graph([helper.make_node(op, ["x"], [op], name=op)], op, [], [info(op, 1, [2])])
              for op in ("Relu", "Neg")]
    nodes = [helper.make_node("Equal", ["sr", "want"], ["is"], name="equal"),
             helper.make_node("If", ["is"], ["y"], name="if", then_branch=branch[0], else_branch=branch[1]),
             helper.make_node("Abs", ["y"], ["z"], name="abs")]
    graph = helper.make_graph(nodes, "g", [info("x", 1, [2]), info("sr", 7, [])], [info("z", 1, [2])],
                              [helper.make_tensor("want", 7, [], [16000])])
    model = place.folder / "s.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    for value, rules in ((16000, []), (8000, ["Neg"])):
        done, result = place.lower(model, values_backend(place, "wrong=Neg"), "--compare", "--until-clean", "--set-input",
                                   f"sr={value}", "--cache", "off", env=env)
        equal((done.returncode, [rule["op"] for rule in result["learned"]]), (0, rules))


def test_sizes_that_no_run_takes_blame_no_node(place):
    env = reference(place)
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    nodes = [helper.make_node("Abs", ["x"], ["a"], name="abs"), helper.make_node("Reshape", ["a", "two"], ["b"], name="two"),
             helper.make_node("Concat", ["b", "y"], ["c"], name="concat", axis=0)]
    graph = helper.make_graph(nodes, "g", [info("x", 1, ["n"]), info("y", 1, [1, "m"])], [info("c", 1, None)],
                              [helper.make_tensor("two", 7, [2], [2, -1])])
    model = place.folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    given = ["lower", model, "-s", "all.json", "--backend", place.backend(["op=Concat"], serve=True), "--until-clean",
             "--dim", "n=4", "--deny-out", "denied.json"]
    done = place.run(*given, "--dim", "m=3", env=env)
    equal(done.returncode, 3)
    assert "no run of the model with the sizes given: the reference onnxruntime does not run" in done.stderr, done.stderr
    assert "--reference none" in done.stderr and not (place.folder / "denied.json").exists(), done.stderr
    equal(place.run(*given, "--dim", "m=3", "--reference", "none", env=env).returncode, 0)
    (place.folder / "denied.json").unlink()
    # Sizes that fit: the compiler is asked.
    equal(place.run(*given, "--dim", "m=2", env=env).returncode, 0)
    assert "Concat" in (place.folder / "denied.json").read_text()


REFERENCE = """
import json, sys
print(json.dumps({"ready": "odd", "version": "1"}), flush=True)
for line in sys.stdin:
    tensors = [{"name": f"v{i}", "dtype": "tensor(float)", "shape": [2, 2], "file": "none", "values": None} for i in range(4)]
    print(json.dumps({"ok": True, "tensors": tensors}), flush=True)
"""


def test_a_reference_of_other_sizes_blames_no_node(place):
    (place.folder / "odd.py").write_text(REFERENCE)
    (place.folder / "odd.json").write_text(json.dumps({"format": "cleave.backend", "version": 1, "name": "odd",
        "serve": {"argv": [*PYTHON, str(place.folder / "odd.py")], "ops": ["capture"]}}))
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg", "Exp"])
    for rules in (["open"], ["op=Neg"]):
        done, result = place.lower(model, place.backend(rules, serve=True), "--reference", "./odd.json", "--until-clean")
        equal((done.returncode, result["rules"], result["parts"][0]["verdict"]), (5, 0, "driver"))
        assert "the reference's v0 is float32 (2,2), and the model declares float32 (n,3)" in \
            result["parts"][0]["message"], result["parts"][0]


def test_shape_values_that_cross_a_cut_are_constants_of_the_piece(place):
    env = reference(place)
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    nodes = [helper.make_node("Shape", ["x"], ["s"], name="shape"), helper.make_node("Neg", ["x"], ["a"], name="neg"),
             helper.make_node("Abs", ["a"], ["b"], name="abs"), helper.make_node("Exp", ["b"], ["c"], name="exp"),
             helper.make_node("Reshape", ["c", "s"], ["d"], name="reshape"),
             helper.make_node("Sin", ["d"], ["e"], name="sin"), helper.make_node("Relu", ["e"], ["y"], name="relu")]
    graph = helper.make_graph(nodes, "g", [info("x", 1, ["n", 3])], [info("y", 1, None)])
    model = place.folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    done, result = place.lower(model, place.backend(["ints", "mute=Sin"], serve=True), "--until-clean",
                               "--fold", "off", "--culprit", "minimal", env=env)
    equal([rule["op"] for rule in result["learned"]], ["Sin"])


def quantised(path):
    """Quantises, dequantises and moves its input of (8, 32)."""
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["r"], name="relu"),
             helper.make_node("QuantizeLinear", ["r", "s", "z"], ["q"], name="quantise"),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], name="dequantise"),
             helper.make_node("Transpose", ["d"], ["t"], name="transpose"),
             helper.make_node("Exp", ["t"], ["y"], name="exp")]
    weights = [helper.make_tensor("s", 1, [], [0.05]), helper.make_tensor("z", 2, [], [128])]
    graph = helper.make_graph(nodes, "g", [info("x", 1, [8, 32])], [info("t", 1, None), info("y", 1, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_one_quantisation_step_is_a_tie_and_told(place):
    env = reference(place)
    model = quantised(place.folder / "m.onnx")
    backend = values_backend(place, "step=8x32")
    done, result = place.lower(model, backend, "--compare", "--until-clean", "--deny", "Exp", env=env)
    equal((done.returncode, result["rules"], result["parts"][0]["verdict"]), (0, 0, "one quantisation step"))
    assert "1 of 256 differ" in result["parts"][0]["message"], result["parts"][0]
    said = place.run("lower", model, "-s", "all.json", "--backend", backend, "--compare", "--deny", "Exp", env=env).stdout
    assert "one quantisation step" in said and "1 of 256" in said, said
    # What is computed of it is off by little as a whole.
    done, result = place.lower(model, backend, "--compare", "--until-clean", env=env)
    equal((done.returncode, result["rules"], result["findings"]), (0, 0, []))
    equal(result["parts"][0]["verdict"], "one quantisation step")
    done, result = place.lower(model, backend, "--compare", "--deny", "Exp", "--tolerance", "int=1", env=env)
    equal(result["parts"][0]["verdict"], "lowered")
    # A step does not excuse what is wrong.
    done, result = place.lower(model, values_backend(place, "step=8x32", "wrong=Exp"), "--compare", "--until-clean", env=env)
    equal([rule["op"] for rule in result["learned"]], ["Exp"])


def test_lower_precision_of_a_piece_is_no_verdict_on_the_partition(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Exp", "Exp", "Exp", "Sin"])
    done, result = place.lower(model, values_backend(place, "bf16"), "--compare", "--until-clean", env=env)
    equal((done.returncode, result["rules"], result["parts"][0]["verdict"]), (1, 0, "wrong values"))
    equal(result["findings"][0]["values"], "lower precision")


def test_a_crash_by_chance_beside_a_true_failure_makes_no_rule(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Cos", "Neg", "Sin", "Abs"])
    (place.folder / "seen").mkdir()
    backend = place.backend(["mute=Sin", f"shaky=Cos:{place.folder / 'seen'}"])
    _, result = place.lower(model, backend, "--until-clean", "--cache", "off", "-j", 1)
    equal([rule["op"] for rule in result["learned"]], ["Sin"])


def test_others_of_an_op_are_asked_before_it_is_denied(place):
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["a"], ["r"], name="small"), helper.make_node("Neg", ["r"], ["x"], name="n0"),
             helper.make_node("Relu", ["b"], ["s"], name="large"), helper.make_node("Neg", ["s"], ["y"], name="n1")]
    graph = helper.make_graph(nodes, "g", [info("a", 1, [2, 3]), info("b", 1, [2, 5])],
                              [info("x", 1, [2, 3]), info("y", 1, [2, 5])])
    model = place.folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    done, result = place.lower(model, place.backend(["size=Relu:5"], serve=True), "--until-clean")
    equal((done.returncode, result["nodes_lowered"]), (0, 3))
    # What was refused is larger than what was taken: the rule is a bound, and names no node.
    equal([(rule["op"], rule["name"]) for rule in result["learned"]], [("Relu", "")])
    assert "31 bytes of one tensor at most; 40 are refused" in result["learned"][0]["why"], result["learned"]


def test_a_message_that_varies_is_no_flaky_failure(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    done, result = place.lower(model, place.backend(["vary=Sin"], serve=True), "--until-clean", "--cache", "off")
    equal((done.returncode, [rule["op"] for rule in result["learned"]]), (0, ["Sin"]))
    equal(result["findings"][0]["kind"], "culprit")


def test_a_machine_that_goes_away_is_no_verdict(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    backend = place.backend([f"lost=Sin:{place.folder / 'count'}"])
    done, result = place.lower(model, backend, "--launcher", "env")
    equal((done.returncode, result["parts"][0]["verdict"]), (0, "lowered"))


def test_a_full_disk_ends_the_run_and_is_no_verdict(place):
    small = place.folder / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", small], capture_output=True, check=False)
    if mounted.returncode != 0:
        raise Skip("a small file system cannot be mounted here")
    try:
        model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
        done = place.run("lower", model, "-s", "all.json", "--backend", place.backend(["fill=Sin"]), "-q",
                         env={"TMPDIR": str(small)})
        equal(done.returncode, 4)
        assert "no space left" in done.stderr, done.stderr
    finally:
        subprocess.run(["umount", small], check=False)


def test_a_search_ends_at_its_limits(place):
    model = chain(place.folder / "m.onnx", ["Relu"] * 200 + ["Sin"] + ["Neg"] * 200)
    backend = place.backend(["mute=Sin"], serve=True)
    _, result = place.lower(model, backend, "--limit", "search-runs=3")
    assert result["compiler_runs"] <= 1 + 4, result["compiler_runs"]
    done = place.run("lower", model, "-s", "all.json", "--backend", backend, "--limit", "time=soon")
    equal(done.returncode, 2)


def test_crashes_are_cached_when_failures_are_trusted(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    backend = place.backend(["crash=Sin"])
    runs = [place.lower(model, backend, "--culprit", "none", "--cache", "failures")[1]["compiler_runs"] for _ in "ab"]
    equal(runs, [1, 0])


# ---- what is written ----


def repeated(folder):
    """Runs the command of a finding's folder, without cleave."""
    env = {"PATH": os.environ["PATH"], "PYTHON": sys.executable}
    return subprocess.run(["sh", folder / "command.sh"], env=env, capture_output=True, text=True, check=False)


def test_the_folder_of_wrong_values_shows_them_again(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Tanh", "Abs", "Neg"])
    backend = values_backend(place, "wrong=Tanh")
    done, result = place.lower(model, backend, "--compare", "-o", "out", env=env)
    equal((done.returncode, result["findings"][0]["nodes"]), (1, ["n2"]))
    folder = place.folder / "out" / "findings" / "1"
    equal([node.op_type for node in onnx.load(folder / "model.onnx").graph.node], ["Tanh"])
    again = repeated(folder)
    equal(again.returncode, 1)
    assert 'output "v3": 6 of 6 differ' in again.stdout and "a difference of 1" in again.stdout, again.stdout
    readme = (folder / "README.md").read_text()
    assert "fake 1: wrong values: v3: 6 of 6 differ" in readme, readme
    assert "1 node.\n\nThis node computes wrong values on right inputs:\n\n- `n2` (Tanh)" in readme, readme
    # A compiler that was mended passes.
    content = json.loads((folder / "backend.json").read_text())
    content["serve"]["argv"].remove("wrong=Tanh")
    (folder / "backend.json").write_text(json.dumps(content))
    again = repeated(folder)
    equal((again.returncode, "its values are right" in again.stdout), (0, True))


def test_the_folder_of_a_crash_or_a_timeout_says_so(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    for rule, words in (("crash=Sin", "crashed (SIGSEGV)"), ("hang=Sin", "timed out after 2 s")):
        place.lower(model, place.backend([rule], timeout="2s"), "-o", "out", "--force")
        folder = place.folder / "out" / "findings" / "1"
        title = (folder / "README.md").read_text().splitlines()[0]
        equal(title, f"# fake: {words}")
        again = repeated(folder)
        equal((again.returncode, again.stdout), (1, f"fails: compile: {words}\n"))
        equal(list(running([*PYTHON, str(FAKE)])), [])


def test_the_folder_has_the_scripts_of_the_backend(place):
    home = place.folder / "compiler"
    home.mkdir()
    for name in ("fake_backend.py", "onnx_lite.py"):
        (home / name).write_text((FAKE.parent / name).read_text())
    (home / "onnx_lite.py").rename(home / "worker.py")
    (home / "fake_backend.py").write_text((home / "fake_backend.py").read_text().replace("onnx_lite", "worker"))
    fields = {"format": "cleave.backend", "version": 1, "name": "fake"}
    serve = {"argv": ["python3", "{here}/fake_backend.py", "--serve", "op=Sin"], "ops": ["compile"]}
    (home / "fake.json").write_text(json.dumps({**fields, "serve": serve}))
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    place.lower(model, home / "fake.json", "-o", "out")
    (place.folder / "out" / "findings" / "1").rename(place.folder / "elsewhere")
    shutil.rmtree(home)
    again = repeated(place.folder / "elsewhere")
    equal(again.returncode, 1)
    assert "op Sin is not supported" in again.stdout, again.stdout


def test_the_folder_of_a_command_names_what_it_lacks(place):
    program = place.folder / "picky.sh"
    program.write_text('grep -q Sin "$1" && { echo "not implemented: Sin" >&2; exit 1; }\ncp "$1" "$2"\n')
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    place.lower(model, f"picky=sh {program} {{model}} {{out}}", "-o", "out")
    folder = place.folder / "out" / "findings" / "1"
    assert f"# Needs, and it is not in this folder: {program}" in (folder / "command.sh").read_text()
    again = repeated(folder)
    equal((again.returncode, again.stdout), (1, "fails: compile: exit status 1\nnot implemented: Sin\n"))


def test_a_finding_is_a_folder_to_attach_to_an_issue(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Sin", "Abs"])
    backend = place.backend(["op=Sin"], serve=True)
    done, result = place.lower(model, backend, "--reference", "onnxruntime", "-o", "out", env=env)
    equal((done.returncode, result["findings"][0]["folder"]), (1, "findings/1"))
    folder = place.folder / "out" / "findings" / "1"
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    equal(names, ["README.md", "backend.json", "command.sh", "model.onnx", "repeat.py", "stderr.txt",
                  "test_data_set_0/input_0.pb", "test_data_set_0/output_0.pb"])
    equal([node.op_type for node in onnx.load(folder / "model.onnx").graph.node], ["Sin"])
    again = repeated(folder)
    equal(again.returncode, 1)
    assert "op Sin is not supported" in again.stdout, again.stdout
    equal(place.run("reduce", folder / "model.onnx", "--backend", folder / "backend.json").returncode, 0)
    # --force replaces the folder, with the folders in it.
    done, _ = place.lower(model, place.backend(), "-o", "out", "--force")
    equal((done.returncode, folder.exists()), (0, False))
    (place.folder / "out" / "mine").write_text("x")
    done = place.run("lower", model, "-s", "all.json", "--backend", place.backend(), "-o", "out", "--force")
    equal(done.returncode, 4)


def test_names_of_a_hostile_model_are_escaped_in_a_finding(place):
    helper, info = onnx.helper, onnx.helper.make_tensor_value_info
    op, domain = "WEIRD\n# <b>bold\x1b[31m", "evil<i>\n- [x](http://x)"
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="relu"),
             helper.make_node(op, ["a"], ["b"], name="n\n# <u>\x1b[1m", domain=domain),
             helper.make_node("Neg", ["b"], ["y"], name="neg")]
    graph = helper.make_graph(nodes, "g", [info("x", 1, [2])], [info("y", 1, [2])])
    model = place.folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)],
                                ir_version=8), model)
    program = place.folder / "picky.sh"
    program.write_text('if grep -q WEIRD "$1"; then echo "no kernel" >&2; exit 1; fi\ncp "$1" "$2"\n')
    (place.folder / "all.json").write_text(json.dumps({**ALL, "allow": ["*", {"op": op, "domain": domain}]}))
    done, result = place.lower(model, f"picky=sh {program} {{model}} {{out}}", "-o", "out")
    equal((done.returncode, len(result["findings"])), (1, 1))
    for file in ("findings/1/README.md", "lowering.txt"):
        text = (place.folder / "out" / file).read_text()
        for raw in ("\x1b", "\n# <b>", "\n# <u>", "\n- ["):
            assert raw not in text, f"{file} has {raw!r}: {text}"
    readme = (place.folder / "out" / "findings" / "1" / "README.md").read_text()
    assert "<b>" not in readme and "<i>" not in readme and "<u>" not in readme, readme


def test_reports_for_others_hold_what_was_found(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Sin", "Abs"])
    done = place.run("lower", model, "-s", "all.json", "--backend", place.backend(["op=Sin"], serve=True),
                     "--ci", "l.xml", "--ci", "l.sarif", "--ci", "l.md", "--ci", "github")
    equal(done.returncode, 1)
    suite = xml.etree.ElementTree.parse(place.folder / "l.xml").getroot()[0]
    equal((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("1", "1", "0"))
    assert "op Sin is not supported" in suite[0][0].get("message")
    [finding] = json.loads((place.folder / "l.sarif").read_text())["runs"][0]["results"]
    equal((finding["ruleId"], finding["level"]), ("culprit", "error"))
    equal(finding["locations"][0]["logicalLocations"][0]["name"], "n2")
    assert "FAILED" in (place.folder / "l.md").read_text()
    assert "::error file=" in done.stdout, done.stdout


def test_inputs_that_are_not_there_are_bad_input(place):
    model = chain(place.folder / "m.onnx", ["Relu"])
    done = place.run("lower", model, "-s", "all.json", "--backend", place.backend(), "--inputs", "none.npz")
    equal(done.returncode, 3)


# ---- reduce, probe, and what other commands say of compilers ----


def test_reduce_writes_the_smallest_piece_that_fails(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Abs", "Cos", "Neg", "Exp"])
    done = place.run("reduce", model, "--backend", place.backend(["pair=Sin+Cos"], serve=True), "-o", "least")
    equal(done.returncode, 0)
    ops = [node.op_type for node in onnx.load(place.folder / "least" / "model.onnx").graph.node]
    equal(ops, ["Sin", "Abs", "Cos"])
    assert "3 nodes of 6" in done.stdout, done.stdout
    done = place.run("reduce", model, "--backend", place.backend(), "-o", "none")
    equal((done.returncode, (place.folder / "none").exists()), (1, False))


def test_reduce_folds_known_integers_as_lower_does(place):
    model = gelu(place.folder / "m.onnx", [0.5], known=True)
    backend = place.backend(["op=Shape", "pair=Erf+Slice"], serve=True)
    done = place.run("reduce", model, "--backend", backend, "--json")
    equal(done.returncode, 0)
    piece = json.loads(done.stdout)["piece"]
    assert "e0" in piece and "s" not in piece and "only compute known integers" in done.stderr, (piece, done.stderr)
    done = place.run("reduce", model, "--backend", backend, "--fold", "report", "--json")
    equal((json.loads(done.stdout)["piece"], done.stderr.count("known integers")), (["s"], 0))


def test_reduce_takes_a_partition_or_a_list_of_nodes(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Cos", "Tan", "Neg", "Sin"])
    (place.folder / "some.json").write_text(json.dumps({**ALL, "deny": [{"op": "Tan"}]}))
    backend = place.backend(["op=Sin"], serve=True)
    done = place.run("reduce", model, "--backend", backend, "-s", "some.json", "--partition", "_run_on_acc_2",
                     "--json")
    equal((done.returncode, json.loads(done.stdout)["piece"]), (0, ["n5"]))
    (place.folder / "nodes").write_text("n0\nn1\n")
    done = place.run("reduce", model, "--backend", backend, "--nodes", "nodes", "--json")
    equal((done.returncode, json.loads(done.stdout)["piece"]), (0, ["n1"]))
    done = place.run("reduce", model, "--backend", backend, "-s", "some.json", "--partition", "none")
    equal(done.returncode, 3)


def test_probe_measures_a_list(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Relu", "Cos", "Neg"])
    done = place.run("probe", model, "--backend", place.backend(["op=Sin"], serve=True), "-o", "probed.json")
    equal(done.returncode, 0)
    assert "takes 3 of 4 cases of 5 nodes" in done.stdout, done.stdout
    content = json.loads((place.folder / "probed.json").read_text())
    equal([rule["op"] for rule in content["allow"]], ["Cos", "Neg", "Relu"])
    equal([rule["op"] for rule in content["deny"]], ["Sin"])
    lines = (place.folder / "probed.json.evidence.jsonl").read_text().splitlines()
    equal([json.loads(line)["verdict"] for line in lines], ["lowered", "refused", "lowered", "lowered"])
    preview = place.run("preview", model, "-s", "probed.json", "--json")
    parts = json.loads(preview.stdout)["partitions"]
    equal([part["nodes"] for part in parts if part["is_acc"]], [["n0"], ["n2", "n3", "n4"]])


def probed(place, model, rules, *more):
    done = place.run("probe", model, "--backend", place.backend(rules, serve=True), "-o", "probed.json", "--force", *more)
    equal(done.returncode, 0)
    lines = (place.folder / "probed.json.evidence.jsonl").read_text().splitlines()
    evidence = {one["node"]: one for one in map(json.loads, lines)}
    return done.stdout, json.loads((place.folder / "probed.json").read_text()), evidence


def on_accelerator(place, model, *more):
    done = place.run("preview", model, "-s", "probed.json", "--json", *more)
    parts = json.loads(done.stdout)["partitions"]
    return [part["nodes"] for part in parts if part["is_acc"]]


def test_probe_learns_the_pattern_around_a_node_that_is_refused_alone(place):
    model = gelu(place.folder / "m.onnx", [0.5, 0.5])
    said, content, evidence = probed(place, model, ["lone=Erf+Div+Mul"])
    assert 'pattern "Erf in 4": taken together: Div, Erf, Add, Mul' in said, said
    equal([rule["op"] for rule in content["deny"]], [])
    [pattern] = content["patterns"]
    equal([rule["op"] for rule in pattern["ops"]], ["Div", "Erf", "Add", "Mul"])
    equal(pattern["ops"][0]["values"], {"1": {"list": [1.4142135381698608]}})
    equal(evidence["e0"]["together"], ["d0", "e0", "a0", "m0"])
    equal([len(nodes) for nodes in on_accelerator(place, model)], [11])
    equal(place.run("lists", "lint", "probed.json", model).returncode, 0)


def test_probe_generalises_a_pattern_by_what_the_compiler_says_of_others(place):
    model = gelu(place.folder / "m.onnx", [0.5, 0.25, 0.5])
    _, content, _ = probed(place, model, ["lone=Erf+Div+Mul+Sqrt"])
    assert "patterns" not in content and [rule["op"] for rule in content["deny"]] == ["Erf"], content
    # The factor at the end is in the pattern when the compiler wants two Mul.
    _, content, _ = probed(place, model, ["gelu"])
    [pattern] = content["patterns"]
    equal([rule["op"] for rule in pattern["ops"]], ["Div", "Erf", "Add", "Mul", "Mul"])
    equal((pattern["ops"][4].get("values"), pattern["ops"][4]["constant"]), (None, {"1": True}))
    equal([len(nodes) for nodes in on_accelerator(place, model)], [16])
    # One that is refused for its factor: the pattern keeps the factor, and that one stays on the CPU.
    _, content, _ = probed(place, model, ["gelu", "without=half1"])
    equal([pattern["ops"][4]["values"] for pattern in content["patterns"]], [{"1": {"list": [0.5]}}])
    assert "e1" not in sum(on_accelerator(place, model), []), content


def test_a_search_for_a_pattern_takes_as_many_runs_as_it_may(place):
    model = gelu(place.folder / "m.onnx", [0.5])
    said, content, _ = probed(place, model, ["op=Erf"], "--limit", "search-runs=2", "--cache", "off")
    assert "patterns" not in content and "; 8 compiler runs" in said.replace("\n  ", " "), said
    said, content, _ = probed(place, model, ["op=Erf"], "--limit", "search-runs=0", "--cache", "off")
    assert "patterns" not in content and "; 6 compiler runs" in said.replace("\n  ", " "), said


def test_probe_tells_refused_nodes_that_are_known_before_the_model_runs(place):
    model = gelu(place.folder / "m.onnx", [0.5], known=True)
    said, content, evidence = probed(place, model, ["ints", "op=Shape"])
    assert "are known before the model runs: pass --fold write" in said, said
    equal({name: one["known"] for name, one in evidence.items() if one["verdict"] == "refused"},
          {"s": True, "e_s": True, "out": True})
    [rule] = [rule for rule in content["allow"] if rule["op"] == "Slice"]
    equal(rule["constant"], {"2": True})
    equal(on_accelerator(place, model, "--fold", "write")[0][-1], "out")
    equal("out" in sum(on_accelerator(place, model), []), False)


def test_probe_asks_about_open_shapes_again_with_sizes(place):
    env = reference(place)
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg", "Sin"])
    backend = place.backend(["open", "op=Sin"], serve=True)
    for more, size in [([], 1), (["--dim", "n=4"], None), (["--reference", "none"], 1)]:
        done = place.run("probe", model, "--backend", backend, "-o", "probed.json", "--force", *more, env=env)
        equal(done.returncode, 0)
        content = json.loads((place.folder / "probed.json").read_text())
        equal(([rule["op"] for rule in content["allow"]], [rule["op"] for rule in content["deny"]]),
              (["Neg", "Relu"], ["Sin"]))
        lines = (place.folder / "probed.json.evidence.jsonl").read_text().splitlines()
        equal([json.loads(line)["pinned"] for line in lines[:2]], [size is not None] * 2)
        said = done.stdout.replace("\n  ", " ")
        equal("2 cases of " in said and "m.onnx are taken with known sizes only: give" in said and "as in --dim n=1" in said, bool(size))
        assert "values are not compared" in said, said


def test_reduce_pins_open_shapes_as_lower_does(place):
    env = reference(place)
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg", "Sin"])
    done = place.run("reduce", model, "--backend", place.backend(["open", "op=Sin"], serve=True), "--json", env=env)
    equal((done.returncode, json.loads(done.stdout)["piece"]), (0, ["n2"]))


def test_probe_writes_no_list_when_the_compiler_does_not_start(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    done = place.run("probe", model, "--backend", "ghost=/no/such/tool {model} -o {out}", "-o", "probed.json")
    equal((done.returncode, (place.folder / "probed.json").exists()), (5, False))
    assert "answers none of the 2 cases: /no/such/tool" in done.stderr, done.stderr


def test_probe_writes_the_list_and_its_evidence_or_neither(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Cos", "Neg"])
    backend = place.backend(["op=Sin"], serve=True)
    words = place.command("probe", model, "--backend", backend, "-o", "probed.json", "--cache", "off")
    files = [place.folder / "probed.json", place.folder / "probed.json.evidence.jsonl"]
    ended = set()
    for most in (*range(200, 1400, 100), 100_000):
        done = subprocess.run(words, cwd=place.folder, capture_output=True, text=True, timeout=60, check=False,
                              preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        equal((most, [file.exists() for file in files]), (most, [done.returncode == 0] * 2))
        assert done.returncode in (0, 4), (most, done.returncode, done.stderr)
        ended.add(done.returncode)
        for file in files:
            file.unlink(missing_ok=True)
    equal(ended, {0, 4})
    equal(list(place.folder.glob(".cleave-*")), [])


def test_no_file_of_the_user_is_lost(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    script = place.folder / "compile.sh"
    script.write_text('cp "$1" "$2"\n')
    backend = f"copies=sh {script} {{model}} {{out}}"
    os.link(model, place.folder / "linked.journal.jsonl")
    notes = [place.folder / "parts.journal.jsonl", place.folder / "list.json.evidence.jsonl"]
    for file in notes:
        file.write_text("my notes\n")
    kept = {file: file.read_bytes() for file in [Path(model), script, *notes]}

    def lower(*args):
        done = place.run("lower", model, "-s", "all.json", "--backend", backend, "--cache", "off", *args)
        return done.returncode, done.stderr

    code, said = lower("-o", "parts")
    assert code == 4 and "parts.journal.jsonl: is not a journal of cleave lower" in said, (code, said)
    code, said = lower("-o", "linked")
    assert code == 2 and "would overwrite an input" in said, (code, said)
    code, said = lower("-o", "other", "--deny-out", "other.journal.jsonl")
    assert code == 2 and "write the same file" in said, (code, said)
    code, said = lower("--deny-out", script, "--force")
    assert code == 4 and "would overwrite an input" in said, (code, said)
    done = place.run("probe", model, "--backend", backend, "-o", "list.json", "--force")
    assert done.returncode == 4 and "is not the evidence of a probe" in done.stderr, done.stderr
    equal({file: file.read_bytes() for file in kept}, kept)
    equal(sorted(file.name for file in place.folder.glob("*") if file.name in ("parts", "other", "list.json")), [])


REPORT = ["-s", "all.json", "--compare", "--show", "preview", "--backend"]


def test_the_report_ends_with_what_the_compiler_says(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Relu", "Tanh", "Neg"])
    done = place.run("lower", model, *REPORT, values_backend(place), env=env)
    equal(done.returncode, 0)
    assert "lowered 3 of 3 nodes" in done.stdout, done.stdout
    done = place.run("lower", model, *REPORT, values_backend(place, "wrong=Tanh"), env=env)
    equal(done.returncode, 1)
    assert "n1 (wrong on right inputs)" in done.stdout, done.stdout
    done = place.run("lower", model, *REPORT, values_backend(place), "--json", env=env)
    equal(json.loads(done.stdout)["lowering"]["clean"], True)


def test_the_report_is_printed_when_no_compiler_can_be_judged(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Tanh", "Neg"])
    (place.folder / "none.json").write_text(json.dumps({
        "format": "cleave.backend", "version": 1, "name": "none", "serve": {"argv": ["false"], "ops": ["capture"]}}))
    lowered = [*REPORT, values_backend(place), "--reference", "none.json"]
    for form in ([], ["--json"]):
        plain = place.run("preview", model, "-s", "all.json", *form)
        done = place.run("lower", model, *lowered, *form)
        equal((done.returncode, done.stdout), (5, plain.stdout))
        assert "the reference \"none\" does not start" in done.stderr, done.stderr
    # What is wrong on the command line is no report.
    done = place.run("lower", model, *REPORT, "nobody")
    equal((done.returncode, done.stdout), (3, ""))


def test_split_captures_what_parts_take_and_make(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"], last=(2, 3))
    (place.folder / "some.json").write_text(json.dumps({**ALL, "deny": [{"op": "Sin"}]}))
    done = place.run("split", model, "-s", "some.json", "-o", "out", "--capture", env=env)
    equal((done.returncode, done.stderr.count("error")), (0, 0))
    assert "in out/captured\n" in done.stderr, done.stderr  # not the folder in which it was made
    captured = place.folder / "out" / "captured"
    files = sorted(str(path.relative_to(captured)) for path in captured.rglob("*.pb"))
    equal(len(files), 6)
    equal(sorted(path.name for path in captured.iterdir()), ["_run_on_acc_0", "_run_on_acc_2", "_run_on_cpu_1", "captured.json"])
    done = place.run("split", model, "-s", "some.json", "-o", "out", "--capture", "--force", env=env)
    equal(done.returncode, 0)


if __name__ == "__main__":
    sys.exit(run_tests(tests_in(globals()), sys.argv[1], sys.argv[2:]))
