#!/usr/bin/env python3
"""`cleave lower` against compilers from PyPI, and the figures that it must reach with them.

usage: compilers_test.py CLEAVE [--intervals N] [NAME...]

Runs the tests, or those whose names hold one of the words.
    --intervals N    random pieces of 3 to 50 nodes that are held against a probed list, for each compiler (30)

Compilers are taken from the Python environment $CLEAVE_COMPILERS, else from this Python; models from the folder
$CLEAVE_MODELS: ssdlite.onnx, gpt_kv.onnx, ctl.onnx, attention.onnx, light_squeezenet.onnx, wherever they are in it.
Exit status 1 when a test fails, 77 when the Python modules are not there. Each skip is named.
"""
import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from place import PROJECT, Skip, equal, run_tests, tests_in
from worker_test import Worker


def environment_with(module):
    """The environment in which `python3` has the module."""
    folder = os.environ.get("CLEAVE_COMPILERS")
    python = Path(folder) / "bin" / "python3" if folder else Path(sys.executable)
    done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    if done.returncode != 0:
        raise Skip(f"{python} has no {module}")
    return dict(os.environ, PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}")


def works(place, name, module):
    env = environment_with(module)
    path = PROJECT / "samples" / "backends" / f"{name}.json"
    done = subprocess.run(
        place.command("backend", "check", path), env=env, capture_output=True, text=True,
        timeout=600, check=False,
    )
    equal((done.returncode, done.stderr), (0, ""))


def test_onnxruntime_works(place):
    works(place, "onnxruntime", "onnxruntime")


def test_tract_works(place):
    works(place, "tract", "tract")


def test_openvino_works(place):
    works(place, "openvino", "openvino")
    works(place, "openvino_f32", "openvino")


def test_iree_works(place):
    works(place, "iree", "iree.compiler")


def test_tvm_works(place):
    works(place, "tvm", "tvm")


def test_tract_refuses_a_loop_and_names_it(place):
    env = environment_with("tract")
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Abs", ["s"], ["s2"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, [2]),
        ],
        [
            helper.make_tensor_value_info("c2", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s2", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("s2", TensorProto.FLOAT, [2]),
        ],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu"),
        helper.make_node("Loop", ["n", "", "r"], ["last", "all"], name="the_loop", body=body),
        helper.make_node("Neg", ["all"], ["y"], name="neg"),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("n", TensorProto.INT64, []),
    ]
    graph = helper.make_graph(
        nodes, "loop", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, place.folder / "loop.onnx")
    tract = PROJECT / "samples" / "backends" / "tract.json"
    command = place.command("lower", "loop.onnx", "-s", "all.json", "--backend", tract, "--json", "-q")
    done = subprocess.run(
        [*command, "--cache", "off"], cwd=place.folder, env=env, capture_output=True, text=True, check=False
    )
    equal(done.returncode, 1)
    finding = json.loads(done.stdout)["findings"][0]
    equal((finding["kind"], finding["nodes"]), ("culprit", ["the_loop"]))
    assert finding["runs"] <= 2, finding


# ---- figures ----


def model(name):
    folder = os.environ.get("CLEAVE_MODELS", "")
    found = sorted(Path(folder).rglob(f"{name}.onnx")) if folder else []
    if not found:
        raise Skip(f"no {name}.onnx in CLEAVE_MODELS")
    return found[0]


def lower(place, module, name, *arguments):
    """(exit status, lowering.json) of a model, without what was known before."""
    env = environment_with(module)
    env["CLEAVE_BACKENDS"] = str(PROJECT / "samples" / "backends")
    done = subprocess.run(
        place.command("lower", model(name), "-s", "all.json", "--json", "--cache", "off", *arguments),
        cwd=place.folder, env=env, capture_output=True, text=True, timeout=3000, check=False,
    )
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}") from None


def summary(result):
    own = 1 - result["backend_seconds"] / result["seconds"] if result["jobs"] == 1 else None
    share = "" if own is None else f", {100 * own:.1f}% of it cleave's own"
    return (f"{result['nodes_lowered']} of {result['nodes']} nodes, {result['rounds']} rounds, "
            f"{result['compiler_runs']} runs, {result['rules']} rules, {result['seconds']:.1f} s{share}")


def test_tract_lowers_ssdlite_but_for_a_node(place):
    code, result = lower(place, "tract", "ssdlite", "--backend", "tract", "--reference", "onnxruntime",
                         "--until-clean", "-j", 1)
    equal((code, result["clean"]), (0, True))
    assert result["nodes_lowered"] >= 2460 and result["compiler_runs"] <= 10, summary(result)
    equal([rule["op"] for rule in result["learned"]], ["If"])
    assert result["findings"][0]["runs"] <= 4, result["findings"][0]
    return summary(result)


def test_tract_names_the_culprit_of_ctl(place):
    code, result = lower(place, "tract", "ctl", "--backend", "tract", "-j", 1)
    equal((code, result["findings"][0]["nodes"]), (1, ["/loop/Loop"]))
    assert result["findings"][0]["runs"] <= 2, result["findings"][0]
    return f"{result['findings'][0]['runs']} runs beyond the failing one"


def test_tvm_names_the_culprit_of_ctl(place):
    code, result = lower(place, "tvm", "ctl", "--backend", "tvm", "-j", 1)
    equal((code, result["findings"][0]["nodes"]), (1, ["/loop/Loop"]))
    assert result["findings"][0]["runs"] <= 2, result["findings"][0]
    return f"{result['findings'][0]['runs']} runs beyond the failing one"


def test_tvm_lowers_gpt_kv_but_for_a_node(place):
    code, result = lower(place, "tvm", "gpt_kv", "--backend", "tvm", "--reference", "onnxruntime",
                         "--until-clean", "--pin-shapes", "values", "-j", 1)
    equal((code, result["clean"]), (0, True))
    assert result["nodes_lowered"] >= 240, summary(result)
    return summary(result)


def test_tvm_finds_a_necessary_node_of_gpt_kv(place):
    code, result = lower(place, "tvm", "gpt_kv", "--backend", "tvm", "--reference", "onnxruntime", "-j", 1)
    finding = next(one for one in result["findings"] if one["kind"] == "together")
    equal((code, finding["nodes"]), (1, ["/blocks.0/Add_1"]))
    assert finding["runs"] <= 8 + 4, finding  # beyond the bisection: hints, the node alone, once more
    return f"{finding['nodes'][0]} in {finding['runs']} runs"


def test_tvm_reduces_gpt_kv_to_23_nodes(place):
    env = environment_with("tvm")
    env["CLEAVE_BACKENDS"] = str(PROJECT / "samples" / "backends")
    done = subprocess.run(
        place.command("reduce", model("gpt_kv"), "--backend", "tvm", "--reference", "onnxruntime", "--json",
                      "--cache", "off", "-o", "least"),
        cwd=place.folder, env=env, capture_output=True, text=True, timeout=3000, check=False,
    )
    equal((done.returncode, done.stderr.count("error")), (0, 0))
    result = json.loads(done.stdout)
    assert len(result["piece"]) <= 23 and result["minimal"], result
    assert result["compiler_runs"] <= 1 + 45, result
    assert (place.folder / "least" / "README.md").exists()
    return f"{len(result['piece'])} nodes in {result['compiler_runs'] - 1} runs beyond the failing one"


def test_iree_takes_squeezenet_in_a_later_opset(place):
    code, result = lower(place, "iree.compiler", "light_squeezenet", "--backend", "iree_check",
                         "--reference", "onnxruntime", "--until-clean", "-j", 1)
    equal((code, result["rules"]), (0, 0))
    equal(result["nodes_lowered"], result["nodes"])
    equal(result["parts"][0]["remedies"]["opset"], 17)
    return summary(result)


def test_iree_computes_float64_as_such(place):
    value = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [2, 3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"], name="exp")], "g", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), place.folder / "m.onnx")
    done, result = place.lower("m.onnx", PROJECT / "samples" / "backends" / "iree.json", "--reference", "onnxruntime", "--compare",
                               env=environment_with("iree.compiler"))
    equal((done.returncode, result["rules"]), (0, 0))
    equal([one["largest_difference"] < 1e-12 for one in result["parts"][0]["values"]], [True])


def test_openvino_computes_in_lower_precision_by_default(place):
    code, result = lower(place, "openvino", "gpt_kv", "--backend", "openvino", "--compare", "--until-clean",
                         "-j", 1)
    verdicts = sorted({part["verdict"] for part in result["parts"]})
    if verdicts == ["lowered"]:
        raise Skip("this machine's default is float32")
    equal((code, verdicts, result["rules"]), (1, ["lower precision"], 0))
    return summary(result)


def test_openvino_orders_ties_of_ssdlite_in_another_way(place):
    code, result = lower(place, "openvino", "ssdlite", "--backend", "openvino_f32", "--compare",
                         "--until-clean", "-j", 1)
    equal((code, result["rules"]), (0, 0))
    values = {finding["values"] for finding in result["findings"]} - {None}
    assert values <= {"order of ties", "rounding decides an order"} and values, result["findings"]
    assert any("/TopK" in finding["culprit"] for finding in result["findings"]), result["findings"]
    return summary(result) + "; " + result["findings"][-1]["culprit"]


# ---- probe ----

INTERVALS = 30


def probed(place, env, name, models):
    """Nodes of each model that a list which was probed for the compiler supports, in model order."""
    done = subprocess.run(
        place.command("probe", *models, "--backend", name, "-o", "probed.json", "--cache", "off", "-q"),
        cwd=place.folder, env=env, capture_output=True, text=True, timeout=3000, check=False,
    )
    equal((done.returncode, done.stderr.count("error:")), (0, 0))
    found = {}
    for path in models:
        graph = json.loads(subprocess.run(place.command("convert", path), cwd=place.folder, capture_output=True,
                                          check=True).stdout)
        report = json.loads(subprocess.run(
            place.command("preview", path, "-s", "probed.json", "--skip-fusion", "--allow-non-tensor", "--json"),
            cwd=place.folder, capture_output=True, check=True).stdout)
        taken = {node for part in report["partitions"] if part["is_acc"] for node in part["nodes"]}
        found[path] = [(node["name"], node["name"] in taken) for node in graph["nodes"]]
    return done.stdout.splitlines()[0], found


def hold_against_intervals(place, module, name, script, arguments=()):
    env = environment_with(module)
    env["CLEAVE_BACKENDS"] = str(PROJECT / "samples" / "backends")
    paths = [model(one) for one in ("gpt_kv", "lstm", "ctl", "light_squeezenet")]
    said, nodes = probed(place, env, name, paths)
    worker = Worker(Path(env["PATH"].split(os.pathsep)[0]) / "python3", script, list(arguments))
    numbers, counts, piece = random.Random(name), Counter(), place.folder / "piece.onnx"
    while sum(counts.values()) < INTERVALS:
        path = numbers.choice(paths)
        size = numbers.randint(3, min(50, len(nodes[path])))
        first = numbers.randrange(len(nodes[path]) - size + 1)
        chosen = nodes[path][first : first + size]
        names = place.folder / "names.json"
        names.write_text(json.dumps([one for one, _ in chosen]))
        subprocess.run(place.command("cut", path, "--nodes", names, "-o", piece, "--force", "-q"),
                       cwd=place.folder, check=True)
        answer = worker.ask(op="compile", model=str(piece), out=str(place.folder / "out"), inputs=[], outputs=[])
        expected = all(taken for _, taken in chosen)
        counts[expected, answer["ok"]] += 1
        assert answer["ok"] or not expected, f"{path.name} {chosen[0][0]} and {size - 1} more: {answer['error'][:300]}"
    worker.close()
    return (f"{said}; {INTERVALS} intervals: predicted to compile {counts[True, True]}, of which 0 fail; "
            f"predicted to fail {counts[False, False]}, and {counts[False, True]} that compile")


def test_tract_compiles_what_its_list_predicts(place):
    return hold_against_intervals(place, "tract", "tract", "tract_worker.py")


def test_tvm_compiles_what_its_list_predicts(place):
    return hold_against_intervals(place, "tvm", "tvm", "tvm_worker.py")


def test_openvino_compiles_what_its_list_predicts(place):
    return hold_against_intervals(place, "openvino", "openvino_f32", "openvino_worker.py", ["f32"])


def main():
    global INTERVALS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave")
    parser.add_argument("--intervals", type=int, default=INTERVALS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    INTERVALS = options.intervals
    return run_tests(tests_in(globals()), options.cleave, options.names)


if __name__ == "__main__":
    sys.exit(main())
