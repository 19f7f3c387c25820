#!/usr/bin/env python3
"""`cleave run` and `cleave verify` on all that cleave writes, from two sides: right splits are equal, and a planted fault is told.

usage: run_test.py PROJECT CLEAVE onnx|tflite|torch     exit status 1 if a test fails

A test's name says for which runtime it is.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np

PROJECT, CLEAVE = (Path(argument).resolve() for argument in sys.argv[1:3])
RUNNER, SAMPLES = PROJECT / "scripts" / "runner.py", PROJECT / "samples"


def run(*words, **more):
    done = subprocess.run([sys.executable, RUNNER, *map(str, words)], capture_output=True, text=True, check=False, **more)
    return done.returncode, done.stdout + done.stderr


def direct(*words):
    """The same without new processes, which import torch for seconds."""
    sys.path.insert(0, str(RUNNER.parent))
    import runner
    from guard import Fault
    from reports import Report

    options = runner.parse_options([str(word) for word in words])
    try:
        report = Report.of(runner.work(options, runner.runner_of(options.folder)))
    except Fault as fault:
        return fault.status, str(fault)
    return report.status, "\n".join(report.lines())


def expect(got, status, *words):
    assert got[0] == status and "Traceback" not in got[1], (status, got)
    for word in words:
        assert word in got[1], (word, got)


def cleave(*words):
    subprocess.run([CLEAVE, "-q", *map(str, words)], check=True, capture_output=True)


def written(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def split(folder, model, names, *more):
    """The folder of the split by a list of operators."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    cleave("split", model, "-s", written(folder, "list.txt", "\n".join(names) + "\n"), "-o", out, "--drawings", "none", *more)
    return out


def runs(model, out, *more, how="bit for bit"):
    """A right split is equal in both commands."""
    verified, ran = run("verify", model, out, *more), run("run", out, *more)
    expect(verified, 0)
    expect(ran, 0, "ran: ")
    assert f"{how}, from " in verified[1].splitlines()[0] and verified[1].startswith("equal: "), verified
    return verified, ran


# ---- ONNX ----


def onnx_model(folder, name, text, **weights):
    """A model of ONNX's own text, with weights that are drawn."""
    import onnx

    model = onnx.parser.parse_model(text)
    for own, array in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, own))
    onnx.save(model, folder / name)
    return folder / name


def drawn(*shape, kind=np.float32):
    return np.random.default_rng(0).standard_normal(shape).astype(kind)


HALF = """<ir_version: 4, opset_import: ["" : {}]>
g (float[2,4] x) => (float[2,4] z) {{
  [down] h = Cast <to: int = 10> (x)
  [first] a = MatMul (h, w)
  [relu] b = Relu (a)
  [second] c = MatMul (b, w)
  [up] z = Cast <to: int = 1> (c) }}"""


def test_onnx_stages_run(folder):
    out = folder / "stages"
    cleave("stage", SAMPLES / "mobile_block.onnx", "--stages", 2, "--dim", "N=1", "-o", out)
    _, ran = runs(SAMPLES / "mobile_block.onnx", out)
    expect(ran, 0, "ran: 2 partitions; equal: 1 output, bit for bit, from root.onnx and the chain", "submod_pp_1.onnx")


def test_onnx_halves_are_rounded_at_cuts(folder):
    """Below opset 11 there is no sequence; a chain of float16 differs from the root, and is right."""
    import onnx

    for opset in (9, 17):
        model = onnx_model(folder, "half.onnx", HALF.format(opset), w=drawn(4, 4, kind=np.float16))
        for names in (["Relu"], ["MatMul"]):
            out = split(folder, model, names)
            verified, ran = run("verify", model, out), run("run", out)
            words = "but for float16's rounding at cuts, from "
            expect(verified, 0, "bit for bit, from root.onnx; " + words)
            expect(ran, 0, "equal: 1 output, " + words)
        path = out / "_run_on_acc_1.onnx"
        part = onnx.load(path)
        weight = part.graph.initializer[0]
        weight.raw_data = (onnx.numpy_helper.to_array(weight) * np.float16(1.01)).tobytes()
        onnx.save(part, path)
        expect(run("verify", model, out), 1, "differs: chain of 5 partitions\n\nfault: chain of 5 partitions: output ")
        expect(run("run", out), 1, "differs: chain of 5 partitions\n\nfault: chain of 5 partitions: output ")


def test_onnx_sizes_that_no_partition_reads_are_those_of_the_split(folder):
    model = onnx_model(folder, "scatter.onnx", """<ir_version: 8, opset_import: ["" : 18]>
g (float[nodes] feat, int64[nodes] batch, float[graphs] slots) => (float[graphs] out) {
  [shape] n = Shape (slots)
  [zero] zero = ConstantOfShape (n)
  [scatter] sum = ScatterElements <axis: int = 0, reduction: string = "add"> (zero, batch, feat)
  [relu] out = Relu (sum) }""")  # fmt: skip
    out = split(folder, model, ["Relu", "ScatterElements"], "--dim", "graphs=5", "--fold", "write")
    expect(runs(model, out)[1], 0, "float[5]")


def test_onnx_functions_that_the_runtime_refuses_are_inlined(folder):
    model = onnx_model(folder, "concat.onnx", """<ir_version: 8, opset_import: ["" : 16, "com.microsoft" : 1]>
g (float[2,4] x) => (float[2,8] y) <float s = {0.1}, int8 z = {0}> {
  [q] q = QuantizeLinear (x, s, z)
  [cat] c = com.microsoft.QLinearConcat <axis: int = 1> (s, z, q, s, z, q, s, z)
  [dq] y = DequantizeLinear (c, s, z) }""")  # fmt: skip
    out = split(folder, model, ["Relu"])
    expect(runs(model, out)[0], 0, "note: root.onnx: ONNX Runtime takes it with its functions inlined only: ")


def test_onnx_what_the_runtime_refuses_is_no_difference(folder):
    import onnx

    out = split(folder, SAMPLES / "mobile_block.onnx", ["Conv", "Clip"], "--dim", "N=1", "--weights", "inline")
    path = out / "_run_on_acc_0.onnx"
    part = onnx.load(path)
    part.graph.node[-1].op_type = "Clop"
    onnx.save(part, path)
    got = run("verify", SAMPLES / "mobile_block.onnx", out)
    expect(got, 1)
    assert got[1].startswith(("not run: _run_on_acc_0.onnx", "not valid: ")), got
    expect(got, 1, "\n\nfault: _run_on_acc_0.onnx: ")
    assert "differs" not in got[1], got
    expect(run("run", out), 1, "not run: _run_on_acc_0.onnx", "fault: _run_on_acc_0.onnx: ONNX Runtime refuses it: ", "Clop")


def test_onnx_parameters_that_are_inputs_are_summed_alike(folder):
    """A session packs a constant, and rounds its sums otherwise than those of an input."""
    model = onnx_model(folder, "sums.onnx", """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,64] x) => (float[N,64] y) {
  [first] t = MatMul (x, w)
  [add] u = Add (t, b)
  [relu] r = Relu (u)
  [second] s = MatMul (r, w)
  [again] y = Add (s, b) }""", w=drawn(64, 64), b=drawn(64))  # fmt: skip
    parts = written(folder, "map.json", json.dumps({"first": 0, "add": 0, "relu": 1, "second": 2, "again": 2}))
    for weights in ("root", "copy"):
        out = folder / weights
        cleave("split", model, "--map", parts, "--map-option", f"parameters={weights}", "-o", out)
        runs(model, out)


def planted(model):
    """Faults in an ONNX partition: (what, change)."""
    import onnx

    def weight(graph):
        one = next(one for one in graph.initializer if one.data_type == onnx.TensorProto.FLOAT and len(one.raw_data) >= 64)
        one.raw_data = (onnx.numpy_helper.to_array(one) * np.float32(1.001)).tobytes()

    def swap(graph):
        nodes = [node for node in graph.node if node.op_type == "Relu"]
        nodes[0].input[0], nodes[1].input[0] = nodes[1].input[0], nodes[0].input[0]

    def drop(graph):
        relu = next(node for node in graph.node if node.op_type == "Relu")
        relu.op_type = "Identity"

    return [("a changed weight", weight), ("two values swapped", swap), ("a node dropped", drop)]


def test_onnx_planted_faults_are_told(folder):
    import onnx

    model = onnx_model(folder, "two.onnx", """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,16] x) => (float[2,16] y, float[2,16] z) {
  [first] t = MatMul (x, w)
  [second] u = MatMul (x, v)
  [left] y = Relu (t)
  [right] z = Relu (u) }""", w=drawn(16, 16), v=-drawn(16, 16))  # fmt: skip
    parts = written(folder, "map.json", json.dumps({"first": 0, "second": 0, "left": 0, "right": 0}))
    cleave("split", model, "--map", parts, "--weights", "inline", "--map-option", "parameters=copy", "-o", folder / "out")
    runs(model, folder / "out", "--seed", 3)
    for name in ("root.onnx", "submod_0.onnx"):
        path = folder / "out" / name
        before = path.read_bytes()
        for what, change in planted(model):
            changed = onnx.load(path)
            change(changed.functions[0] if changed.functions and what != "a changed weight" else changed.graph)
            onnx.save(changed, path)
            for words in (["verify", model], ["run"]):
                got = run(*words, folder / "out")
                assert got[0] == 1 and got[1].startswith("differs: "), (what, name, got)
            path.write_bytes(before)


def test_onnx_an_output_that_the_manifest_forgets_is_told(folder):
    model = SAMPLES / "mobile_block.onnx"
    out = split(folder, model, ["Conv", "Clip"], "--dim", "N=1")
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["partitions"][-1]["outputs"] = []
    (out / "manifest.json").write_text(json.dumps(manifest))
    for words in (["verify", model], ["run"]):
        expect(run(*words, out), 1, 'output "scores" is made by no partition')


def test_onnx_outputs_are_written_and_inputs_read(folder):
    out = split(folder, SAMPLES / "mobile_block.onnx", ["Conv", "Clip"], "--dim", "N=1")
    image = folder / "image.npz"
    np.savez(image, image=np.ones((1, 3, 32, 32), np.float32))
    result, again = folder / "result.npz", folder / "again.npz"
    expect(run("run", out, "--inputs", image, "--outputs", result, "--times", 3), 0, "3 calls")
    expect(run("run", out, "--inputs", image, "--outputs", result), 4, "is there already")
    expect(run("run", out, "--inputs", image, "--outputs", image, "--force"), 4, "is an input of this run")
    expect(run("run", out, "--outputs", out / "root.onnx", "--force"), 4, "is an input of this run")
    expect(run("run", out, "--outputs", again), 0)
    expect(run("run", out, "--inputs", image, "--outputs", again, "--force"), 0)
    with np.load(result) as one, np.load(again) as other:
        assert one.files == ["scores"] and one["scores"].shape == (1, 10) and np.array_equal(one["scores"], other["scores"])


def test_onnx_a_size_that_is_given_is_that_of_all_inputs(folder):
    model = onnx_model(folder, "shared.onnx", """<ir_version: 8, opset_import: ["" : 18]>
g (float[B,T] x, float[B,T] y, float[T] scale) => (float[B,U] z) {
  [mul] m = Mul (y, scale)
  [both] b = Concat <axis: int = 1> (x, m)
  [relu] z = Relu (b) }""")  # fmt: skip
    out = split(folder, model, ["Mul", "Relu"])
    for given in ({"y": np.ones((3, 5), np.float32)}, {"scale": np.ones(5, np.float32), "x": np.ones((3, 5), np.float32)}):
        np.savez(folder / "in.npz", **given)
        expect(runs(model, out, "--inputs", folder / "in.npz")[1], 0, "float[3, 10]")
    expect(run("run", out, "--inputs", folder / "in.npz", "--dim", "T=7"), 3, "runs with none of the inputs tried")
    out = decoder_split(folder)
    np.savez(folder / "in.npz", input_ids=np.array([[3, 1, 8], [0, 2, 5]]))
    for more, entries in (([], None), (["--steps", 3], 9)):
        expect(run("verify", folder / "decoder.onnx", out, "--inputs", folder / "in.npz", *more), 0, "equal: 5 outputs")
        expect(run("run", out, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz", "--force", *more), 0, "equal: 5 outputs")
        with np.load(folder / "out.npz") as made:
            assert made["logits"].shape == (2, 3, 9) and made["present_k"].shape[1] == (entries or made["present_k"].shape[1]), more


def test_onnx_sizes_of_the_split_stay(folder):
    model, stages = SAMPLES / "mobile_block.onnx", folder / "stages"
    cleave("stage", model, "--stages", 2, "--dim", "N=2", "-o", stages)
    for out in (stages, split(folder, model, ["Conv", "Clip"], "--dim", "N=2")):
        for words in (["run"], ["verify", model]):
            expect(run(*words, out, "--dim", "N=3"), 3, "--dim N=3: the folder was split at N=2")
            expect(run(*words, out, "--dim", "image:0=3"), 3, "--dim image:0=3: the folder was split at image:0=2")
            expect(run(*words, out, "--dim", "N=2"), 0, "equal: ")


def test_onnx_folders_of_another_model_are_told(folder):
    model = SAMPLES / "mobile_block.onnx"
    out = split(folder, model, ["Conv", "Clip"], "--dim", "N=1")
    text = 'g (float[2,{0}] {1}) => (float[2,{0}] {2}) {{ {2} = Relu ({1}) }}'
    for words, said in (((4, "x", "scores"), 'which has the input "image"; yours has "x"'),
                        ((4, "image", "y"), 'which has the output "scores"'),
                        ((4, "image", "scores"), 'whose input "image" is float[N, 3, 32, 32]; that of yours is float[2, 4]')):  # fmt: skip
        other = onnx_model(folder, "other.onnx", '<ir_version: 8, opset_import: ["" : 17]>' + text.format(*words))
        expect(run("verify", other, out), 3, f"is of another model than {other}: of ", "mobile_block.onnx", said)
    expect(run("verify", SAMPLES / "keyword.tflite", out), 3, "of an ONNX model, and this is a TensorFlow Lite model")
    expect(run("verify", SAMPLES / "tiny_resnet.pt2", out), 3, "this is a torch.export archive")
    bits = '<ir_version: 8, opset_import: ["" : 17]> g (float[2,4] x) => (float[2,4] y) {{ [a] h = Relu (x) {0} y = {1} (h) }}'
    own = onnx_model(folder, "own.onnx", bits.format("[b]", "Neg"))
    renamed, unnamed = split(folder, own, ["Neg"]).rename(folder / "renamed"), folder / "unnamed"
    own.rename(folder / "moved.onnx")
    expect(run("verify", folder / "moved.onnx", renamed), 0, "equal: ")
    other = onnx_model(folder, "other.onnx", bits.format("[c]", "Exp"))
    expect(run("verify", other, renamed), 3, f"is of another model than {other}: of ", "own.onnx", 'which has the node "b"; yours')
    own = onnx_model(folder, "own.onnx", bits.format("", "Neg"))
    split(folder, own, ["Neg"]).rename(unnamed)
    expect(run("verify", own, unnamed), 0, "equal: ")
    expect(run("verify", onnx_model(folder, "other.onnx", bits.format("", "Exp")), unnamed), 3, 'which has the node "Neg_1"; yours')
    out = decoder_split(folder)
    expect(run("verify", model, out, "--steps", 2), 3, f"is of another model than {model}")
    _, place = phases_split(folder, FIXED)
    expect(run("verify", model, place), 3, f"is of another model than {model}", "prompted")
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["phases"][0]["dims"] = {"T": 4}
    written(place, "manifest.json", json.dumps(manifest))
    other = onnx_model(folder, "named.onnx", PROMPTED.replace("[B,T", "[B,tokens"), table=drawn(9, 4), w=drawn(4, 9))
    expect(run("verify", other, place), 3, 'which has the open dim "T"; yours has "B", "P", "S" and 1 more')


def test_onnx_names_may_have_any_letters(folder):
    """In JSON they are keys: of settings, and of what OpenVINO reads."""
    import onnx
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ('x"1', "y\\\n1"))
    nodes = [helper.make_node("Relu", [x.name], ['a"b'], name='n"1'), helper.make_node("Sigmoid", ['a"b'], [y.name], name="s\\1")]
    model = folder / "names.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    out = split(folder, model, ["Relu"], "--state", f"{x.name}={y.name}")
    assert json.loads((out / "manifest.json").read_text())["settings"]["state"] == {x.name: y.name}
    expect(run("run", out), 0, "equal: 1 output")
    npu, gpu = written(folder, "npu.txt", "Relu\n"), written(folder, "gpu.txt", "Sigmoid\n")
    cleave("split", model, "-s", f"npu={npu}", "-s", f"gpu={gpu}", "-o", folder / "targets")
    affinity = json.loads((folder / "targets" / "hetero_affinity.json").read_text())
    assert affinity == {'n"1': "NPU", 'a"b': "NPU", "s\\1": "GPU", y.name: "GPU"}, affinity


def test_onnx_native_graphs_are_told_apart(folder):
    model = SAMPLES / "resnet18.json"
    cleave("stage", model, "--stages", 4, "-o", folder / "stages")
    cleave("split", model, "-s", SAMPLES / "npu.json", "-o", folder / "split")
    for name in ("stages", "split"):
        for words in (["run"], ["verify", model]):
            expect(run(*words, folder / name), 3, f"{name}: holds parts of a native JSON graph, which has no weights")


def test_onnx_providers_are_asked_by_name(folder):
    out = split(folder, SAMPLES / "mobile_block.onnx", ["Conv", "Clip"], "--dim", "N=1")
    expect(run("run", out, "--ep", "cpu"), 0, "CPU: ")
    expect(run("verify", SAMPLES / "mobile_block.onnx", out, "--ep", "none"), 3, 'has no provider "none" (it has: ', "cpu")


def test_onnx_whole_numbers_are_exact_within_a_tolerance_of_floats(folder):
    sys.path.insert(0, str(RUNNER.parent))
    from comparing import Tolerance, content_of_array, gap

    tolerance = Tolerance(0.1, 0.1)
    for kind, one, other, is_allowed in ((np.float32, 100, 101, True), (np.int64, 100, 101, False), (np.float32, 1, np.nan, False),
                                         (np.float32, np.inf, np.inf, True), (np.float32, np.inf, -np.inf, False)):  # fmt: skip
        pair = [content_of_array(np.array([0, value], kind)) for value in (one, other)]
        assert pair[0] == pair[1] or gap(*pair, tolerance).is_allowed == is_allowed, (kind, one, other)
    assert not gap(content_of_array(np.zeros(2)), content_of_array(np.zeros((2, 1))), tolerance).is_allowed
    assert gap(content_of_array(np.array([5], np.int8)), content_of_array(np.array([6], np.int8)), Tolerance(0, 1)).is_allowed
    coarse = Tolerance(0.01, 0.01, rounding=2**-10)
    assert coarse.is_tested(content_of_array(np.array([0.1]))) and not coarse.is_tested(content_of_array(np.array([1e-4])))


def test_onnx_special_files_are_refused(folder):
    """They would be read for ever."""
    for name in ("root.onnx", "root.tflite", "root.pt2", "bundle.pt2", "root_ep.onnx"):
        own = folder / name.replace(".", "_")
        own.mkdir()
        os.mkfifo(own / name)
        expect(run("run", own, timeout=60), 3, f"{name}: is no regular file")
    out = split(folder, SAMPLES / "mobile_block.onnx", ["Conv"], "--dim", "N=1", "--annotate")
    (out / "annotated.onnx").unlink()
    os.mkfifo(out / "annotated.onnx")
    expect(run("verify", SAMPLES / "mobile_block.onnx", out, timeout=60), 3, "annotated.onnx: is no regular file")
    os.mkfifo(folder / "inputs.npz")
    expect(run("run", out, "--inputs", folder / "inputs.npz", timeout=60), 3, "inputs.npz: is no regular file")
    expect(run("verify", folder / "inputs.npz", out, timeout=60), 3, "inputs.npz: is no file")


def test_onnx_folders_that_hold_no_model_are_told(folder):
    expect(run("run", folder / "none"), 3, "is no folder")
    written(folder, "lowering.json", "{}")
    expect(run("run", folder), 3, "cleave lower --bundle ep -o DIR writes one")
    expect(run("verify", SAMPLES / "mobile_block.onnx", folder), 3, "cleave lower --bundle ep -o DIR writes one")
    expect(run("run", folder, "--times", 0), 2, "--times is 1 or more")
    got = run("run", folder, "--tolerance", "0.01")
    expect(got, 2, 'cleave run: error: --tolerance: "0.01" is no tolerance: write rtol=0.01,atol=0.01', "note: try: cleave run --help")
    assert "usage" not in got[1], got


def test_onnx_inputs_that_are_no_arrays_are_told(folder):
    out = split(folder, SAMPLES / "mobile_block.onnx", ["Conv"], "--dim", "N=1")
    np.save(folder / "one.npy", np.ones(3))
    for path in (written(folder, "mine.txt", "1 2 3\n"), folder / "one.npy", written(folder, "none.npz", "")):
        expect(run("run", out, "--inputs", path), 3, f"{path}: is no .npz file: numpy.savez(FILE, NAME=ARRAY) writes one")


# ---- steps of an ONNX model with state ----

# A decoder with each kind of state; an encoder's cache is made in the first step, and is empty in later ones.
STATE = """<ir_version: 8, opset_import: ["" : 18]>
g (int64[B,T] input_ids, int64[B,S] attention_mask, int64[B,T] position_ids, bool use_cache_branch, float[B,P,4] past_k,
   float[B,1,4] h, float[B,A,4] cache, float[B,E,4] memory, float[B,E,4] past_cross)
  => (float[B,T,9] logits, float[B,PT,4] present_k, float[B,1,4] h_out, float[B,T,4] cache_new, float[B,F,4] present_cross)
  <int64[1] axis = {1}, int64[1] last = {2}, float half = {0.5}, int64[1] zero = {0}, int64[3] none = {1, 0, 4}, float three = {3}> {
  [embed] token = Gather (table, input_ids)
  [position] p = Cast <to: int = 1> (position_ids)
  [wide] q = Unsqueeze (p, last)
  [key] k = Add (token, q)
  [grow] present_k = Concat <axis: int = 1> (past_k, k)
  [mask] m = Cast <to: int = 1> (attention_mask)
  [row] n = Unsqueeze (m, axis)
  [attend] a = MatMul (n, present_k)
  [append] cache_new = Relu (k)
  [cached] c = ReduceSum <keepdims: int = 1> (cache, axis)
  [cross] present_cross = If (use_cache_branch) <
    then_branch = old () => (float[B,F,4] e) { e = ConstantOfShape (none) },
    else_branch = new () => (float[B,F,4] f) { f = Mul (memory, three) }>
  [first] both = Concat <axis: int = 1> (past_cross, present_cross)
  [crossed] x = ReduceMax <keepdims: int = 1> (both, axis)
  [one] s = Add (a, c)
  [two] u = Add (s, x)
  [three] v = Add (u, h)
  [replace] h_out = Mul (v, half)
  [all] d = Add (k, v)
  [head] logits = MatMul (d, w) }"""
PAIRS = [{"input": "past_k", "output": "present_k", "kind": "grows", "axis": 1}, {"input": "h", "output": "h_out", "kind": "replaced"},
         {"input": "cache", "output": "cache_new", "kind": "appended", "axis": 1}, {"input": "memory", "output": None, "kind": "constant"},
         {"input": "past_cross", "output": "present_cross", "kind": "constant"}]  # fmt: skip


def decoder(folder):
    return onnx_model(folder, "decoder.onnx", STATE, table=drawn(9, 4), w=drawn(4, 9))


def with_state(out, pairs):
    """The folder of a split, whose manifest then has the pairs."""
    path = out / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": pairs}))
    return out


def decoder_split(folder, *more, pairs=PAIRS):
    return with_state(split(folder, decoder(folder), ["Add", "MatMul", "Concat"], *more), pairs)


def turn_grow(out, parts):
    """Puts new entries before the old ones, or back, in the file of one of these partitions."""
    import onnx

    path = next(out / part["file"] for part in parts if "grow" in part["nodes"])
    part = onnx.load(path)
    grow = next(node for node in part.graph.node if node.name == "grow")
    grow.input[0], grow.input[1] = grow.input[1], grow.input[0]
    onnx.save(part, path)


def by_hand(ids, memory, size=None):
    """The logits of each step, in plain numpy. `size`: of the two states that grow, where it is fixed."""
    table, w = drawn(9, 4), drawn(4, 9)
    keys, cache = np.zeros((size or 0, 4), np.float32), np.zeros((size or 0, 4), np.float32)
    h, cross, logits = np.zeros(4, np.float32), np.zeros((1, 4), np.float32), []
    for step, token in enumerate(ids):
        key = table[token] + step
        present = np.concatenate([keys, key[None]])
        mask = np.arange(len(present)) >= len(present) - step - 1
        made = memory * 3 if step == 0 else np.zeros((0, 4), np.float32)
        v = present[mask].sum(0) + cache.sum(0) + np.concatenate([cross, made]).max(0) + h
        logits.append((key + v) @ w)
        cross = made if step == 0 else cross
        keys, cache, h = present, np.concatenate([cache, np.maximum(key, 0)[None]]), v / 2
        if size:
            keys, cache = keys[-size:], cache[-size:]
    return np.array(logits)


def test_onnx_steps_keep_every_kind_of_state(folder):
    ids, memory = [3, 1, 8, 8, 0], drawn(1, 4)
    np.savez(folder / "in.npz", input_ids=np.array(ids).reshape(5, 1, 1), memory=memory[None], past_cross=np.zeros((1, 1, 4), np.float32))
    for size, more in ((None, []), (3, ["--dim", "P=3", "--dim", "A=3"])):
        out = decoder_split(folder, "--dim", "B=1", "--dim", "T=1", "--dim", "E=1", *more)
        for steps in (1, 5):
            words = [out, "--inputs", folder / "in.npz", "--steps", steps, "--outputs", folder / "out.npz", "--force"]
            expect(run("run", *words), 0, "from root.onnx and the chain", "bit for bit")
            with np.load(folder / "out.npz") as made:
                assert np.allclose(made["logits"].ravel(), by_hand(ids, memory, size)[steps - 1], 1e-5, 1e-5), (size, steps)
        words = [folder / "decoder.onnx", out, "--inputs", folder / "in.npz"]
        expect(run("verify", *words, "--steps", 5), 0, "equal: 5 outputs, bit for bit, from root.onnx and the chain of ", ", 5 steps",
               "constant: 2", "1 a step, ids below 9")  # fmt: skip
        expect(run("verify", *words, "--steps", 6), 3, '"input_ids" has values for 5 steps')


def test_onnx_steps_draw_what_is_not_given(folder):
    out = decoder_split(folder)
    logits = []
    for more in ([], [], ["--seed", 1], ["--dim", "T=2"]):
        expect(run("run", out, "--steps", 4, "--outputs", folder / "out.npz", "--force", *more), 0, "4 steps; equal: 5 outputs")
        with np.load(folder / "out.npz") as made:
            logits.append(made["logits"])
            assert made["present_k"].shape == (1, 8 if "T=2" in more else 4, 4), more
    assert np.array_equal(logits[0], logits[1]) and not np.array_equal(logits[0], logits[2]), logits


def test_onnx_state_stays_where_it_is_written(folder):
    """Of 8 bytes of x and y, and state of 4 bytes before and 8 behind, by where its readers are."""
    model = onnx_model(folder, "stays.onnx", """<ir_version: 8, opset_import: ["" : 18]>
g (float[1,1] x, float[1,P] past) => (float[1,Q] present, float[1,1] y) <int64[1] axis = {1}> {
  [grow] present = Concat <axis: int = 1> (past, x)
  [size] n = Size (past)
  [wide] f = Cast <to: int = 1> (n)
  [sum] s = ReduceMean (past, axis)
  [all] y = Add (s, f) }""")  # fmt: skip
    for names, moved in ((["Concat", "Size", "Cast", "ReduceMean", "Add"], 8),  # x and y
                         (["Concat"], 4 + 8),  # x, and what others read of the state
                         (["Concat", "ReduceMean"], 4 + 4),  # x and s; the size is no byte of the state
                         (["ReduceMean"], 8 + 4),  # the state, which the CPU writes, and s
                         (["Cast"], 8 + 4)):  # n and f
        out = split(folder, model, names, "--dim", "P=1,Q=2")
        counted = json.loads((out / "manifest.json").read_text())["residency"]
        assert {counted[how]["link_bytes"] for how in ("off", "on")} == {moved}, (names, moved, counted)
        got = run("run", out)
        expect(got, 0)
        assert f"over the link {moved} B, as the manifest says" in " ".join(got[1].split()), (names, moved, got)


def test_onnx_steps_of_halves_are_rounded_at_cuts(folder):
    model = onnx_model(folder, "halves.onnx", """<ir_version: 8, opset_import: ["" : 18]>
g (float16[1,4] x, float16[1,P,4] past) => (float16[1,Q,4] present, float16[1,1,4] y) <int64[1] axis = {1}> {
  [one] a = MatMul (x, w)
  [two] b = Relu (a)
  [three] c = MatMul (b, v)
  [wide] d = Unsqueeze (c, axis)
  [grow] present = Concat <axis: int = 1> (past, d)
  [sum] s = ReduceSum <keepdims: int = 1> (present, axis)
  [four] y = MatMul (s, w) }""", w=drawn(4, 4, kind=np.float16), v=drawn(4, 4, kind=np.float16) + np.float16(0.1))  # fmt: skip
    state = [{"input": "past", "output": "present", "kind": "grows", "axis": 1}]
    out = with_state(split(folder, model, ["Relu", "Concat"]), state)
    expect(run("verify", model, out, "--steps", 4), 0, "bit for bit, from root.onnx; but for float16's rounding at cuts, from the chain")
    expect(run("run", out, "--steps", 4), 0, "equal: 2 outputs, but for float16's rounding at cuts")


def test_onnx_state_masks_and_positions_fit_in_a_single_run(folder):
    """Sizes that are drawn apart from each other are refused by the model."""
    out = decoder_split(folder)
    expect(run("verify", folder / "decoder.onnx", out), 0, "equal: 5 outputs, bit for bit")
    expect(run("run", out, "--outputs", folder / "out.npz"), 0, "equal: 5 outputs")
    with np.load(folder / "out.npz") as made:
        assert made["present_k"].shape == (1, 2, 4) and made["present_k"][0, 0].any()
    no_state = split(folder, folder / "decoder.onnx", ["Add", "MatMul", "Concat"], "--state", "off")
    expect(run("run", no_state), 3, "runs with none of the inputs tried")


def test_onnx_a_crash_on_a_state_that_is_drawn_is_not_taken_for_one_of_the_run(folder):
    """The child says the number of each draw; after a crash the next child leaves this one out."""
    sys.path.insert(0, str(RUNNER.parent))
    import child

    out, told = decoder_split(folder), []
    words = ["verify", folder / "decoder.onnx", out]
    with patch.object(child, "tell", told.append):
        expect(direct(*words), 0, "equal: 5 outputs")
    first = next(int(text.removeprefix(child.DRAWING)) for text in told if text.startswith(child.DRAWING))
    with patch.object(child, "deadly_draws", lambda: {first}):
        expect(direct(*words), 0, "equal: 5 outputs")


def test_onnx_a_fault_of_a_later_step_is_told_with_its_step(folder):
    """The first step, whose state is empty, is equal."""
    out = decoder_split(folder)
    turn_grow(out, json.loads((out / "manifest.json").read_text())["partitions"])
    for words in (["verify", folder / "decoder.onnx"], ["run"]):
        expect(run(*words, out, "--steps", 1), 0)
        got = run(*words, out, "--steps", 3)
        expect(got, 1, "differs: chain of ", 'step 2: output "present_k": ')
        assert "step 1" not in got[1] and "step 3" not in got[1], got


def test_onnx_a_crash_of_the_model_in_a_step_is_told_as_its_own(folder):
    """The child says what it runs before it runs it."""
    sys.path.insert(0, str(RUNNER.parent))
    import child
    import onnx_steps

    out, told, running, run_session = decoder_split(folder), [], [], onnx_steps.run_session

    def call(*words):
        running.append(told[-1])
        return run_session(*words)

    with patch.object(child, "tell", told.append), patch.object(onnx_steps, "run_session", call):
        expect(direct("run", out, "--steps", 2), 0, "2 steps; equal: 5 outputs")
    assert running == [child.ORIGINAL] * 2, running


def test_onnx_state_that_is_none_is_told(folder):
    out = decoder_split(folder, pairs=[])
    expect(run("run", out, "--steps", 2), 3, "manifest.json: names no state, so --steps has nothing to keep")
    for change, words in (({"input": "none"}, 'state[0].input: the model has no input "none"'),
                          ({"output": "none"}, 'state[0].output: the model has no output "none"'),
                          ({"output": None}, 'state[0].output: the model has no output "None"'),
                          ({"kind": "old"}, 'state[0].kind: is "old"'), ({"axis": 7}, "state[0].axis: is no axis"),
                          ({"axis": None}, "state[0].axis: is no axis")):  # fmt: skip
        expect(run("run", decoder_split(folder, pairs=[{**PAIRS[0], **change}]), "--steps", 2), 3, words)
    expect(run("run", out, "--steps", 0), 2, "--steps is 1 or more")
    expect(run("run", out, "--steps", 2, "--times", 2), 2, "leave --times and --overlap out")


# ---- phases ----

PROMPTED = """<ir_version: 8, opset_import: ["" : 18]>
g (int64[B,T] input_ids, int64[B,S] attention_mask, int64[B,T] position_ids, float[B,P,4] past_k)
  => (float[B,T,9] logits, float[B,PT,4] present_k) <int64[1] axis = {1}, int64[1] last = {2}, float small = {0.01}> {
  [embed] token = Gather (table, input_ids)
  [position] p = Cast <to: int = 1> (position_ids)
  [scale] o = Mul (p, small)
  [wide] q = Unsqueeze (o, last)
  [key] k = Add (token, q)
  [grow] present_k = Concat <axis: int = 1> (past_k, k)
  [mask] m = Cast <to: int = 1> (attention_mask)
  [row] n = Unsqueeze (m, axis)
  [attend] a = MatMul (n, present_k)
  [mix] d = Add (k, a)
  [bend] e = Sin (d)
  [head] logits = MatMul (e, w) }"""


def phases_split(folder, sizes, scale=1):
    """The model, and a folder as `split --phase` writes it. `sizes`: by phase the tokens of a call, and the options; `scale`: of
    the weights that make logits."""
    model = onnx_model(folder, "prompted.onnx", PROMPTED, table=drawn(9, 4), w=drawn(4, 9) * np.float32(scale))
    place, phases = folder / "phases", []
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, (tokens, dims) in sizes.items():
        out = split(folder, model, ["Add", "MatMul"], *dims, "--weights", "inline")
        manifest = json.loads((out / "manifest.json").read_text())
        for part in manifest["partitions"]:
            (out / part["file"]).rename(place / f"{name}.{part['file']}")
            part["file"] = f"{name}.{part['file']}"
        (out / "root.onnx").rename(place / f"{name}.root.onnx")
        state = [{"input": "past_k", "output": "present_k", "kind": "grows", "axis": 1}]
        phases.append({"name": name, "root": f"{name}.root.onnx", "tokens": tokens, **manifest, "state": state})
    written(place, "manifest.json", json.dumps({"format": "cleave.phases", "version": 1, "phases": phases}))
    return model, place


FIXED = {name: (tokens, ["--dim", "B=1", "--dim", f"T={tokens}", "--dim", f"P={40 - tokens}", "--dim", "S=40"])
         for name, tokens in (("prompt", 4), ("token", 1))}  # fmt: skip
OPEN = {"prompt": (None, ["--dim", "B=1"]), "token": (1, ["--dim", "B=1", "--dim", "T=1"])}


def test_onnx_phases_of_a_model_that_makes_no_tokens_run_apart(folder):
    """A streaming model: it has state, and no token ids."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
g (float[B,T] x, float[B,1] state) => (float[B,T] y, float[B,1] new_state) { a = Mul (x, state)
  y = Sin (a) m = ReduceMean <axes: ints = [1]> (a) new_state = Add (state, m) }"""
    model, listed = onnx_model(folder, "stream.onnx", text), written(folder, "mul.txt", "Mul\nAdd\n")
    phases = ["--phase", "long:B=1,T=8", "--phase", "short:B=1,T=1"]
    cleave("split", model, "-s", listed, "-o", folder / "stream", "--state", "state=new_state", *phases)
    for words in (["run"], ["verify", model]):
        expect(run(*words, folder / "stream"), 0, "equal: 2 outputs", "makes no tokens: each phase makes one call")
    expect(run("run", folder / "stream", "--steps", 2), 3, "--steps is for models with token ids and logits")


def test_onnx_partitions_of_one_named_target_say_it(folder):
    model, listed = SAMPLES / "mobile_block.onnx", SAMPLES / "tiny_npu.txt"
    for name, words in {"npu": ["-s", f"npu={listed}"], "acc": ["-s", listed]}.items():
        cleave("split", model, *words, "--dim", "N=1", "-o", folder / name)
        parts = json.loads((folder / name / "manifest.json").read_text())["partitions"]
        targets = {part.get("target") for part in parts}
        assert targets == ({"npu", "cpu"} if name == "npu" else {None}), targets
        expect(run("run", folder / name), 0, f" {name} ")


def test_onnx_phases_hand_their_state_over(folder):
    """A prompt that is padded, and then tokens; without padding the model chooses the same ids."""
    for sizes, calls in ((FIXED, 6), (OPEN, 1)):
        model, place = phases_split(folder, sizes)
        expect(run("verify", model, place), 0, "equal: 2 outputs, bit for bit, from prompt.root.onnx, prompt: chain of ",
               "token.root.onnx", "token: chain of ",
               "the model without padding, which chooses the same ids, 16 tokens", f"23, in {calls} call")  # fmt: skip
        expect(run("run", place, "--steps", 5), 0, "ran: 2 phases, 5 tokens; equal: 2 outputs, bit for bit, from prompt: ")
        expect(run("run", place, "--steps", 1), 0, "ran: 1 of 2 phases; NOT RUN: token: chain of ")
        expect(run("verify", model, place, "--steps", 1), 1, "not run: token.root.onnx and token: chain of ", "no token was left for it")
        words = "30 tokens" if sizes == OPEN else ('18 of 30 tokens are made, since the state holds 40 entries: "past_k" of the phase '
                                                   '"token" was split at P=39, and the prompt takes 23')  # fmt: skip
        expect(run("verify", model, place, "--steps", 30), 0, words)
        expect(run("run", place, "--outputs", folder / "out.npz", "--force"), 0, "output logits")
        with np.load(folder / "out.npz") as made:
            assert made["logits"].shape == (1, 1, 9), made["logits"].shape
            assert made["generated_ids"].shape == (1, 16) and made["generated_ids"][0, -1] == made["logits"][0, -1].argmax(), made
        np.savez(folder / "in.npz", input_ids=np.array([[5, 1, 7, 3, 2]]))
        got = run("verify", model, place, "--inputs", folder / "in.npz", "--steps", 9)
        expect(got, 0, "which chooses the same ids, 9 tokens", "5, in ")


def test_onnx_small_logits_of_large_terms_may_be_rounded_by_padding(folder):
    model, place = phases_split(folder, FIXED, scale=1000)
    expect(run("verify", model, place), 0, "the model without padding, which chooses the same ids", "within rtol 1e-05, atol 0.0")
    expect(run("verify", model, place, "--tolerance", "rtol=1e-5,atol=1e-5"), 1, "differs: the model without padding\n")
    turn_grow(place, json.loads((place / "manifest.json").read_text())["phases"][1]["partitions"])
    expect(run("verify", model, place), 1, "differs: token: chain of 6 partitions\n\nfault: token: chain of ")


def test_onnx_phases_without_state_run_apart(folder):
    model, place = SAMPLES / "mobile_block.onnx", folder / "sizes"
    cleave("split", model, "-s", SAMPLES / "tiny_npu.txt", "-o", place, "--phase", "one:N=1", "--phase", "four:N=4")
    expect(run("run", place), 0, "ran: 2 phases; equal: 1 output, bit for bit", "four: chain of 8 partitions")
    expect(run("verify", model, place), 0, "equal: 1 output, bit for bit, from one: one.root.onnx, one: the chain",
           "four: the chain of 8 partitions")  # fmt: skip
    expect(run("run", place, "--steps", 2), 3, "--steps is for models with state")
    manifest = json.loads((place / "manifest.json").read_text())
    parts = manifest["phases"][1]["partitions"]
    (place / parts[1]["file"]).write_bytes((place / manifest["phases"][0]["partitions"][1]["file"]).read_bytes())
    assert run("verify", model, place)[0] == 1
    expect(run("run", place, "--dim", "N=2"), 3, '--dim N=2: the phase "one" was split at N=1')
    expect(run("verify", SAMPLES / "decoder.onnx", place), 3, 'is of another model than', 'which has the input "image"')


def other_operator(path, old, new):
    """Puts another operator in the place of the first of these in a root."""
    import onnx

    root = onnx.load(path, load_external_data=False)
    node = next(node for own in [root.graph, *root.functions] for node in own.node if node.op_type == old)
    node.op_type = new
    onnx.save(root, path)


def test_onnx_roots_of_phases_are_verified(folder):
    model, place = phases_split(folder, FIXED)
    for name in ("prompt.root.onnx", "token.root.onnx"):
        other_operator(place / name, "Sin", "Tanh")
        expect(run("verify", model, place), 1, "differs: ", f"fault: {name}: step ", 'output "logits": ')
        other_operator(place / name, "Tanh", "Sin")
    expect(run("verify", model, place), 0)
    model, place = SAMPLES / "mobile_block.onnx", folder / "sizes"
    cleave("split", model, "-s", SAMPLES / "tiny_npu.txt", "-o", place, "--phase", "one:N=1", "--phase", "four:N=4")
    other_operator(place / "four.root.onnx", "Softmax", "LogSoftmax")
    expect(run("verify", model, place), 1, "fault: four: four.root.onnx: ")


def test_onnx_what_phases_do_not_use_is_refused(folder):
    model, place = phases_split(folder, FIXED)
    ids = np.array([[5, 1, 7]])
    for given, words in (({"attention_mask": np.ones((1, 9), np.int64)}, '"attention_mask" cannot be given: phases are given the ids'),
                         ({"position_ids": ids, "past_k": np.ones((1, 36, 4), np.float32)}, '"position_ids", "past_k" cannot be given'),
                         ({"input_ids": np.array([[1.7, 2.9]])}, 'an array of float64, and must be one of whole numbers'),
                         ({"input_ids": ids > 3}, 'an array of bool')):  # fmt: skip
        np.savez(folder / "in.npz", **{"input_ids": ids, **given})
        for words_of in (["run"], ["verify", model]):
            expect(run(*words_of, place, "--inputs", folder / "in.npz"), 3, words)
    expect(run("run", place, "--set-input", "attention_mask=1"), 3, '"attention_mask" cannot be given')
    expect(run("run", place, "--dim", "T=7"), 3, "--dim T=7: the folder was split at T=4")
    np.savez(folder / "in.npz", input_ids=ids.astype(np.uint8))
    expect(run("run", place, "--inputs", folder / "in.npz"), 0)
    _, place = phases_split(folder, {"prompt": (None, ["--dim", "B=1"]), "token": (1, ["--dim", "B=1", "--dim", "T=1"])})
    expect(run("run", place, "--dim", "T=7"), 3, "--dim T=7", "T")


def test_onnx_pipelines_of_genai_run(folder):
    """A part reads a state that another one makes under a second name, which the manifest does not have."""
    model, place = SAMPLES / "decoder.onnx", folder / "genai"
    cleave("split", model, "-s", SAMPLES / "tiny_npu.txt", "-o", place, "--phase", "prompt:", "--phase", "token:T=1", "--pipeline", "genai")
    assert "present.0.value.read" in (place / "genai_config.json").read_text()
    expect(run("run", place, "--steps", 5), 0, "ran: 2 phases, 5 tokens; equal: 5 outputs, bit for bit")
    expect(run("verify", model, place, "--steps", 5), 0, "equal: 5 outputs, bit for bit", "which chooses the same ids, 5 tokens")


# As PROMPTED, but without mask and positions: padding would be read as tokens.
CAUSAL = """<ir_version: 8, opset_import: ["" : 18]>
g (int64[B,T] input_ids, float[B,P,4] past_k) => (float[B,T,9] logits, float[B,PT,4] present_k) <int64[1] axis = {1}> {
  [embed] k = Gather (table, input_ids)
  [grow] present_k = Concat <axis: int = 1> (past_k, k)
  [attend] a = ReduceSum <keepdims: int = 1> (present_k, axis)
  [mix] d = Add (k, a)
  [bend] e = Sin (d)
  [head] logits = MatMul (e, w) }"""


def test_onnx_prompts_are_padded_only_where_a_mask_tells(folder):
    model = onnx_model(folder, "causal.onnx", CAUSAL, table=drawn(9, 4), w=drawn(4, 9))
    place = folder / "phases"
    cleave("split", model, "-s", written(folder, "list.txt", "Add\nMatMul\n"), "-o", place, "--dim", "B=1",
           "--phase", "prompt:T=8,P=0", "--phase", "token:T=1")  # fmt: skip
    expect(run("verify", model, place, "--steps", 6), 0, "which chooses the same ids, 6 tokens", "8, in 1 call")
    for length, status in ((8, 0), (5, 3), (16, 3)):  # 16 do not fit in one call, and the first alone begins with no state
        np.savez(folder / "in.npz", input_ids=np.arange(length)[None] % 9)
        got = run("run", place, "--inputs", folder / "in.npz")
        expect(got, status, "has no mask and positions" if length == 5 else "")
    np.savez(folder / "in.npz", logits=np.zeros((1, 8)))
    expect(run("run", place, "--inputs", folder / "in.npz"), 3, 'the model has no input "logits"')
    for wrong in (9, -1):
        np.savez(folder / "in.npz", input_ids=np.full((1, 8), wrong))
        expect(run("run", place, "--inputs", folder / "in.npz"), 3, f'has the id {wrong}, and the model has 9 ids, from 0')


def test_onnx_phases_run_a_batch_of_prompts(folder):
    """Each prompt of a batch has the ids that it has alone."""
    model, place = SAMPLES / "decoder.onnx", folder / "batch"
    made = {}
    for batch, rows in ((2, [[5, 9, 3, 7, 11, 2], [1, 60, 33, 8, 8, 4]]), (1, [[1, 60, 33, 8, 8, 4]])):
        phases = ["--phase", "prompt:T=4,P=20", "--phase", "token:T=1,P=23"]
        cleave("split", model, "-s", SAMPLES / "tiny_npu.txt", "-o", place, "--force", "--dim", f"B={batch}", *phases)
        np.savez(folder / "in.npz", input_ids=np.array(rows))
        given = ["--inputs", folder / "in.npz", "--steps", 12]
        expect(run("verify", model, place, *given), 0, "bit for bit", "the model without padding, which chooses the same ids, 12 tokens")
        expect(run("run", place, *given, "--outputs", folder / "out.npz", "--force"), 0, "6, in 2 calls")
        with np.load(folder / "out.npz") as arrays:
            made[batch] = arrays["generated_ids"]
    assert made[2].shape == (2, 12) and (made[2][1] == made[1][0]).all() and (made[2][0] != made[2][1]).any(), made
    cleave("split", model, "-s", SAMPLES / "tiny_npu.txt", "-o", place, "--force", "--dim", "B=2", *phases)
    expect(run("run", place), 0, "2 prompts of one length")
    expect(run("run", place, "--inputs", folder / "in.npz"), 3, '"input_ids" must have 2 rows of ids')


def test_onnx_faults_of_a_phase_are_told(folder):
    model, place = phases_split(folder, FIXED)
    manifest = json.loads((place / "manifest.json").read_text())
    for phase in manifest["phases"]:
        turn_grow(place, phase["partitions"])
        expect(run("verify", model, place), 1, f"differs: {phase['name']}: chain of ")
        expect(run("run", place), 1, f"differs: {phase['name']}: chain of ")
        turn_grow(place, phase["partitions"])
    for phase in manifest["phases"]:
        phase["state"][0] |= {"kind": "replaced", "axis": None}
    written(place, "manifest.json", json.dumps(manifest))
    assert run("verify", model, place)[0] in (1, 3)
    wrongs = (("tokens", 10**30, "takes 4 tokens"), ("tokens", None, "not there"), ("dims", {"N": -1}, "no dim has that size"))
    for field, wrong, said in wrongs:
        damaged = {"phases": [{**manifest["phases"][0], field: wrong}, *manifest["phases"][1:]]}
        written(place, "manifest.json", json.dumps(damaged))
        expect(run("run", place), 3, f"{place / 'manifest.json'}: phases[0].{field}", said)
    damaged = json.loads(json.dumps(manifest))
    del damaged["phases"][0]["partitions"][0]["is_acc"]
    written(place, "manifest.json", json.dumps(damaged))
    expect(run("run", place), 3, "phases[0].partitions[0].is_acc: is not there")
    manifest["phases"] = manifest["phases"][:1]
    written(place, "manifest.json", json.dumps(manifest))
    expect(run("run", place), 3, "no phase takes one token: the smallest takes 4")
    expect(run("run", place, "--times", 2), 3, "has phases, which --times and --overlap are not for")


# ---- TensorFlow Lite ----


def test_tflite_all_forms_run(folder):
    model, listed = SAMPLES / "keyword.tflite", written(folder, "list.txt", "CONV_2D\nFULLY_CONNECTED\n")
    written(folder, "gpu.txt", "MAX_POOL_2D\nQUANTIZE\n")
    forms = {"split": ["split", model, "-s", listed], "bundle": ["split", model, "-s", listed, "--bundle"],
             "stages": ["stage", model, "--stages", 2],
             "targets": ["split", model, "-s", f"npu={listed}", "-s", f"gpu={folder / 'gpu.txt'}"]}  # fmt: skip
    for name, words in forms.items():
        out = folder / name
        cleave(*words, "-o", out)
        verified, ran = runs(model, out, "--times", 2)
        expect(verified, 0, "2 calls")
        expect(ran, 0, "words  float[1, 4]", *(["not compared: a bundle has no root"] if name == "bundle" else []))
    expect(run("run", folder / "targets", "--overlap"), 0, "one after the other", "a thread a device")
    expect(run("run", folder / "split", "--overlap"), 3, "target")
    expect(run("run", folder / "split", "--ep", "cpu"), 3, "--ep is for ONNX Runtime")
    expect(run("run", folder / "split", "--steps", 2), 3, "--steps is for ONNX models")


def test_tflite_inputs_are_given(folder):
    out = split(folder, SAMPLES / "keyword.tflite", ["CONV_2D"])
    one = folder / "one.npz"
    np.savez(one, sound=np.ones((1, 16), np.float32))
    expect(run("run", out, "--inputs", one, "--outputs", folder / "a.npz"), 0)
    expect(run("run", out, "--inputs", one, "--seed", 5, "--outputs", folder / "b.npz"), 0)
    with np.load(folder / "a.npz") as left, np.load(folder / "b.npz") as right:
        assert np.array_equal(left["words"], right["words"])
    np.savez(one, noise=np.ones((1, 16), np.float32))
    expect(run("run", out, "--inputs", one), 3, 'has no input "noise" (it has: sound)')


def test_tflite_planted_faults_are_told(folder):
    model = SAMPLES / "keyword.tflite"
    out = split(folder, model, ["CONV_2D", "FULLY_CONNECTED"])
    manifest = json.loads((out / "manifest.json").read_text())
    order = manifest["chain"]["order"]
    faults = 0
    for part in order[1::2]:
        path = out / part["file"]
        before = path.read_bytes()
        for at in range(len(before) // 3, len(before) - 8, 48):  # some bytes are weights, others are not read
            path.write_bytes(before[:at] + bytes([before[at] ^ 0x55]) + before[at + 1 :])
            got = run("run", out, "--times", 2)
            assert got[0] in (0, 1, 3), got
            faults += got[0] == 1 and got[1].startswith("differs: ")
            if got[0] == 1 and got[1].startswith("differs: "):
                expect(run("verify", model, out), 1, "differs: ")
                break
        path.write_bytes(before)
    assert faults >= 2, faults
    (out / order[1]["file"]).write_bytes((out / order[0]["file"]).read_bytes())
    expect(run("verify", model, out), 1)


# ---- torch ----

CLASSES = """
from dataclasses import dataclass
import torch
@dataclass
class Both:
    sum: torch.Tensor
    product: torch.Tensor
torch.export.register_dataclass(Both, serialized_type_name="ours_of_test.outputs.Both")
"""
EXPORT = """
import sys, torch
from ours_of_test.outputs import Both
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
    def forward(self, x, y):
        h = torch.relu(self.layer(x))
        return Both(h + y, h * y)
torch.manual_seed(0)
n = torch.export.Dim("n", min=2, max=64)
program = torch.export.export(Net(), (torch.randn(3, 8), torch.randn(3, 8)), dynamic_shapes=({0: n}, {0: n}))
torch.export.save(program, sys.argv[1])
"""


def torch_model(folder):
    """A program whose outputs are a class of a package, and the environment that has it."""
    package = folder / "packages" / "ours_of_test"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    written(package, "outputs.py", CLASSES)
    known = {"env": os.environ | {"PYTHONPATH": str(package.parent)}}
    subprocess.run([sys.executable, "-c", EXPORT, folder / "net.pt2"], check=True, capture_output=True, **known)
    return folder / "net.pt2", known


def test_torch_packages_that_an_archive_names_are_imported(folder):
    model, known = torch_model(folder)
    out = split(folder, model, ["torch.ops.aten.relu.default", "torch.ops.aten.linear.default"])
    expect(run("verify", model, out, **known), 0, "equal: 2 outputs, bit for bit, from root.pt2 and the chain")
    expect(run("run", out, **known), 0, "equal: 2 outputs")
    np.savez(folder / "in.npz", y=np.ones((5, 8), np.float32))
    for words in (["run"], ["verify", model]):  # the other input has as many rows
        expect(run(*words, out, "--inputs", folder / "in.npz", **known), 0, "equal: 2 outputs")
    expect(run("verify", model, out), 77, "needs the Python module ours_of_test (pip install ours_of_test; --import MODULE ")
    expect(run("verify", model, out, "--import", "ours_of_test.outputs", cwd=folder / "packages"), 0, "equal: 2 outputs")
    expect(run("verify", model, out, cwd=folder / "packages"), 77, "--import MODULE")  # not of the folder that one is in
    expect(run("verify", model, out, "--import", "no_such_module"), 77, "no_such_module")


def test_torch_all_forms_run(folder):
    model = SAMPLES / "tiny_resnet.pt2"
    listed = SAMPLES / "torch_npu.txt"
    gpu = written(folder, "gpu.txt", "torch.ops.aten.linear.default\n")
    forms = {"split": ["split", model, "-s", listed], "bundle": ["split", model, "-s", listed, "--bundle"],
             "stages": ["stage", model, "--stages", 2], "outside": ["split", model, "-s", listed, "--weights", "external"],
             "targets": ["split", model, "-s", f"npu={listed}", "-s", f"gpu={gpu}"]}  # fmt: skip
    for name, words in forms.items():
        cleave(*words, "-o", folder / name)
        expect(direct("verify", model, folder / name), 0, "equal: 1 output, bit for bit, from ")
        expect(direct("run", folder / name, "--dim", "s77=5", *(["--overlap"] if name == "targets" else [])), 0, "float[5, 10]")
    expect(direct("verify", model, folder / "split", "--dim", "batch=5"), 3, 'no symbolic dim "batch" (it has: s77)')
    capture = [sys.executable, RUNNER.parent / "capture_torch.py", folder / "outside", "-o", folder / "captured"]
    done = subprocess.run(capture, capture_output=True, text=True, check=False)
    expect((done.returncode, done.stdout + done.stderr), 0, "captured: ")


def test_torch_has_a_tolerance_and_says_when_to_use_it(folder):
    import torch

    model, out = SAMPLES / "tiny_resnet.pt2", folder / "out"
    cleave("split", model, "-s", SAMPLES / "torch_npu.txt", "-o", out)
    path = out / json.loads((out / "manifest.json").read_text())["chain"]["order"][0]["file"]
    before = path.read_bytes()
    for factor, words in ((1 + 1e-6, ["so small a difference may be torch's own", "layout", "--tolerance rtol=1e-4,atol=1e-5"]), (1.5, [])):
        program = torch.export.load(path)
        for name, tensor in program.state_dict.items():
            if name.endswith("weight"):
                tensor.data.mul_(factor)
        torch.export.save(program, path)
        got = direct("verify", model, out)
        expect(got, 1, "differs: chain of 3 partitions\n\nfault: chain of 3 partitions: call 1: output ", *words)
        assert bool(words) == ("torch's own" in got[1]), got
        expect(direct("run", out), 1, "differs: ")
        expect(direct("verify", model, out, "--tolerance", "rtol=1e-3,atol=1e-3"), 0 if words else 1)
        path.write_bytes(before)


def test_torch_state_of_the_whole_is_not_that_of_the_chain(folder):
    """Both count their own calls."""
    import torch

    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            before = self.count * x
            self.count.add_(1)
            return torch.relu(before) + self.count

    torch.export.save(torch.export.export(Counter(), (torch.ones(3),)), folder / "counter.pt2")
    out = split(folder, folder / "counter.pt2", ["torch.ops.aten.relu.default"])
    expect(direct("verify", folder / "counter.pt2", out, "--times", 3), 0, "equal: 1 output, bit for bit", "3 calls")
    expect(direct("run", out, "--times", 2), 0, "equal: 1 output, bit for bit")


def main():
    tests = {name: test for name, test in globals().items() if name.startswith(f"test_{sys.argv[3]}_")}
    assert tests, sys.argv[3]
    for name, test in tests.items():
        with tempfile.TemporaryDirectory() as scratch:
            test(Path(scratch))
        print(f"ok      {name.removeprefix('test_').replace('_', ' ')}", flush=True)


if __name__ == "__main__":
    main()
