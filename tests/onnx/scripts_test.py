#!/usr/bin/env python3
"""Tests the output, files and exit codes of `cleave run`, `cleave verify` and scripts/capture_inputs.py.

usage: scripts_test.py PROJECT_FOLDER CLEAVE       exit status 1 if a test fails
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pitfall_models

PROJECT, CLEAVE = (Path(argument).resolve() for argument in sys.argv[1:3])


def run(what, *arguments):
    """A script, or a command of the runner."""
    words = [what] if str(what).endswith(".py") else ["runner.py", what]
    command = [sys.executable, PROJECT / "scripts" / words[0], *words[1:], *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def expect(result, status, words=""):
    said = result.stdout + result.stderr
    assert result.returncode == status, f"exits {result.returncode}, not {status}: {said}"
    assert words in said, f'says nothing of "{words}": {said}'


def split(model, ops, folder, *options):
    support = folder.with_suffix(".txt")
    support.write_text("\n".join(ops) + "\n")
    command = [CLEAVE, "split", model, "-s", support, "-o", folder, "-q", *options]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def runs_alone(part):
    """Does not use the scripts: numpy and ONNX Runtime on the files of one partition."""
    data = part / "test_data_set_0"
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(part / "model.onnx", options)

    def array(kind, i):
        return numpy_helper.to_array(onnx.TensorProto.FromString((data / f"{kind}_{i}.pb").read_bytes()))

    feeds = {v.name: array("input", i) for i, v in enumerate(session.get_inputs())}
    for i, made in enumerate(session.run(None, feeds)):
        wanted = array("output", i)
        assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape), part
        assert made.tobytes() == wanted.tobytes(), part
    assert len(list(data.iterdir())) == len(feeds) + len(session.get_outputs()), part


def test_verify_tells_a_changed_part(folder, mobile):
    model = PROJECT / "samples" / "mobile_block.onnx"
    expect(run("verify", model, mobile), 0, "equal: 1 output, bit for bit, from root.onnx and the chain of 8 partitions\n")
    part = mobile / "_run_on_cpu_1.onnx"
    before = part.read_bytes()
    changed = onnx.load_from_string(before)
    graph = changed.graph
    last = graph.output[0].name
    for node in graph.node:
        node.output[:] = ["was" if name == last else name for name in node.output]
    graph.node.append(onnx.helper.make_node("Neg", ["was"], [last]))
    part.write_bytes(changed.SerializeToString())
    expect(run("verify", model, mobile), 1, 'differs: chain of 8 partitions\n\n'
           'fault: chain of 8 partitions: output "scores": 10 of 10 numbers differ')
    part.write_bytes(before)


def test_a_split_is_replayed_with_what_the_accelerator_keeps(folder, mobile):
    expect(run("run", mobile), 0, "the manifest says nothing of it")  # N is not bound
    ops = (PROJECT / "samples" / "tiny_npu.txt").read_text().splitlines()
    model = PROJECT / "samples" / "mobile_block.onnx"
    mobile = split(model, ops, folder / "of_one", "--dim", "N=1")
    expect(run("run", mobile), 0, "as the manifest says")
    manifest = mobile / "manifest.json"
    before = manifest.read_text()
    said = json.loads(before)
    part = next(part for part in said["partitions"] if part["keep"])
    part["free"], part["keep"] = part["free"] + part["keep"], []
    manifest.write_text(json.dumps(said))
    expect(run("run", mobile), 1, "not as the manifest says: residency\n\nfault: residency: with residency on: ")
    manifest.write_text(before)
    expect(run("run", folder), 3, "there is no root.onnx, root.pt2, root.tflite or bundle")


def test_what_each_of_several_targets_holds_is_replayed(folder, mobile):
    npu, gpu = folder / "npu.txt", folder / "gpu.txt"
    npu.write_text("Conv\nClip\n")
    gpu.write_text("Add\nMul\nGemm\nGlobalAveragePool\n")
    model, out = PROJECT / "samples" / "mobile_block.onnx", folder / "of_targets"
    command = [CLEAVE, "-q", "split", model, "-s", f"npu={npu}", "-s", f"gpu={gpu}", "--dim", "N=1", "-o", out]
    subprocess.run([*command, "--link", "npu-gpu=shared", "--residency", "on"], check=True, capture_output=True)
    for more in ([], ["--overlap"]):
        expect(run("run", out, *more), 0, "as the manifest says")
    expect(run("run", out, "--overlap"), 0, "a thread a device")
    expect(run("run", mobile, "--overlap"), 3, "--overlap is for a split for several targets")
    manifest = out / "manifest.json"
    said = json.loads(manifest.read_text())
    assert any(target["bytes_to"].get("gpu") for target in said["targets"]), "nothing crosses the direct link"
    said["targets"][0]["peak_bytes"] -= 1
    manifest.write_text(json.dumps(said))
    expect(run("run", out), 1, "not as the manifest says: memory of targets\n\nfault: memory of targets: npu held")


def test_sizes_that_a_split_was_made_for_are_taken(folder, mobile):
    model = PROJECT / "samples" / "mobile_block.onnx"
    bound = split(model, ["Conv", "Relu"], folder / "bound", "--dim", "N=3")
    expect(run("verify", model, bound), 0, "equal")
    expect(run("capture_inputs.py", bound), 0, "captured")


def test_names_that_the_model_does_not_have_are_refused(folder, mobile):
    model = PROJECT / "samples" / "mobile_block.onnx"
    np.savez(folder / "other.npz", y=np.zeros((1, 8), np.float32))
    for script in (["verify", model, mobile], ["capture_inputs.py", mobile]):
        status = 2 if script[0] == "capture_inputs.py" else 3
        expect(run(*script, "--dim", "Q=3"), status, 'no symbolic dim "Q" (it has: N)')
        expect(run(*script, "--inputs", folder / "other.npz"), status, 'no input "y"')


def test_a_step_that_onnx_cannot_convert_is_told_with_a_way_out(folder, _):
    """Shape of opset 15, LayerNormalization, which is new in opset 17."""
    for text, op, least in (("y = Shape (x)", "Shape", 15), ("y = LayerNormalization (x, x)", "LayerNormalization", 17)):
        kind = "int64[2]" if op == "Shape" else "float[2,3]"
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => ({kind} y) {{ {text} }}')
        path = folder / "step.onnx"
        path.write_bytes(model.SerializeToString())
        expect(run("convert_opset.py", path, "13"), 1, f"cannot take {op} from opset {least} to opset 13: export the model with opset 13")
        expect(run("convert_opset.py", path, str(least)), 0)


def test_verify_tells_what_it_cannot_do(folder, mobile):
    model = PROJECT / "samples" / "mobile_block.onnx"
    expect(run("verify", folder / "none.onnx", mobile), 3, "none.onnx: is no file: give the model")
    expect(run("verify", mobile, model), 3, "is no folder: give one that cleave wrote (-o), as cleave split does; of two models")
    expect(run("verify", model), 2, "the following arguments are required: DIR")
    (folder / "root.onnx").touch()
    expect(run("verify", model, folder), 3, "manifest.json: there is no such file")
    (folder / "root.onnx").unlink()
    unknown = pitfall_models.make_model("41_domain_unknown")
    (folder / "unknown.onnx").write_bytes(unknown.SerializeToString())
    parts = split(folder / "unknown.onnx", ["Relu"], folder / "unknown")
    expect(run("verify", folder / "unknown.onnx", parts), 3, "acme:MyOp")


def test_capture_writes_parts_that_run_alone(folder, mobile):
    out = folder / "captured"
    expect(run("capture_inputs.py", mobile, "-o", out), 0, "captured: 8 partitions of 8")
    parts = sorted(out.iterdir())
    assert parts.pop(-1).name == "captured.json"
    assert [p.name for p in parts] == sorted(p.stem for p in mobile.glob("_run_on_*.onnx"))
    for part in parts:
        runs_alone(part)
    from onnx.backend.test.loader import load_model_tests

    found = load_model_tests(str(folder), "captured")
    assert sorted(test.name for test in found) == [p.name for p in parts]


def test_capture_is_the_same_again_and_takes_inputs(folder, mobile):
    first = {p.relative_to(folder / "captured"): p.read_bytes() for p in (folder / "captured").rglob("*.pb")}
    expect(run("capture_inputs.py", mobile, "-o", folder / "captured"), 4, "is there already")
    expect(run("capture_inputs.py", mobile, "-o", folder / "captured", "--force"), 0)
    again = {p.relative_to(folder / "captured"): p.read_bytes() for p in (folder / "captured").rglob("*.pb")}
    assert first == again
    declared = onnx.load(mobile / "root.onnx", load_external_data=False).graph.input[0]
    dims = [d.dim_value or 3 for d in declared.type.tensor_type.shape.dim]
    given = np.arange(np.prod(dims), dtype=np.float32).reshape(dims) / 100
    np.savez(folder / "given.npz", **{declared.name: given})
    expect(run("capture_inputs.py", mobile, "-o", folder / "given", "--inputs", folder / "given.npz"), 0)
    data = folder / "given" / "_run_on_acc_0" / "test_data_set_0"
    taken = onnx.TensorProto.FromString((data / "input_0.pb").read_bytes())
    assert taken.name == declared.name and numpy_helper.to_array(taken).tobytes() == given.tobytes()
    # the inputs captured for the first partition also serve the whole model
    expect(run("verify", PROJECT / "samples/mobile_block.onnx", mobile, "--inputs", data), 0)


def test_capture_writes_sequences_and_optionals(folder, mobile):
    for name, proto in (("48_sequence_crossing", onnx.SequenceProto), ("49_optional_crossing", onnx.OptionalProto)):
        model = folder / f"{name}.onnx"
        model.write_bytes(pitfall_models.make_model(name).SerializeToString())
        ops = ["SequenceConstruct", "Optional", "Relu"]
        parts = split(model, ops, folder / name, "--allow-non-tensor", "--skip-fusion")
        expect(run("capture_inputs.py", parts), 0, "captured: 3 partitions of 3")
        data = parts / "captured" / "_run_on_cpu_1" / "test_data_set_0"
        value = proto.FromString((data / "input_0.pb").read_bytes())
        tensor = value.tensor_values[1] if proto is onnx.SequenceProto else value.tensor_value
        made = onnx.TensorProto.FromString((data / "output_0.pb").read_bytes())
        assert list(tensor.dims) == [2, 3] and made.raw_data.endswith(tensor.raw_data)


def test_parts_are_found_by_the_files_that_the_manifest_names(folder, mobile):
    model = PROJECT / "samples" / "mobile_block.onnx"
    text = subprocess.run([CLEAVE, "convert", model], check=True, capture_output=True).stdout
    names = ["a/b", "a_b", "A_B"]
    nodes = json.loads(text)["nodes"]
    parts = {node["name"]: names[3 * i // len(nodes)] for i, node in enumerate(nodes)}
    (folder / "map.json").write_text(json.dumps(parts))
    command = [CLEAVE, "split", model, "--map", folder / "map.json", "-o", folder / "odd", "-q"]
    subprocess.run(command, check=True, capture_output=True)
    manifest = json.loads((folder / "odd" / "manifest.json").read_text())
    files = [part["file"] for part in manifest["stages"]]
    assert files == ["submod_a_b_2.onnx", "submod_a_b.onnx", "submod_A_B_3.onnx"], files
    expect(run("verify", model, folder / "odd"), 0, "chain of 3 partitions")
    expect(run("capture_inputs.py", folder / "odd"), 0, "captured: 3 partitions of 3")
    assert (folder / "odd" / "captured" / "submod_A_B_3" / "model.onnx").is_file()


def test_a_reader_that_stops_early_is_no_fault(folder, mobile):
    script = PROJECT / "scripts" / "runner.py"
    command = [sys.executable, script, "verify", PROJECT / "samples" / "mobile_block.onnx", mobile]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, ""), done


def save_model(graph, path):
    opsets = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_inputs_that_kill_the_runtime_are_left_out(folder, mobile):
    dies = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import child
if not child.is_child():
    ended = child.run_in_child(__file__, sys.argv[1:])
    print(ended)
    sys.exit(1 if ended.death else 0)
for draw in range(3):
    if draw in child.deadly_draws():
        continue
    child.tell(f"{child.DRAWING}{draw}")
    if draw < 2:
        os.kill(os.getpid(), signal.SIGFPE)
if len(sys.argv) > 2:
    child.tell("running part_1.onnx")
    os.kill(os.getpid(), signal.SIGSEGV)
child.work(lambda: {"draw 2": "runs"}, "")
"""
    script = folder / "dies.py"
    script.write_text(dies)
    expect(run(script, PROJECT / "scripts"), 0, "{'draw 2': 'runs'}")
    died = run(script, PROJECT / "scripts", "later")
    expect(died, 1, "doing='running part_1.onnx', result=None, fault='', status=0, death='crashed: SIGSEGV'")


def test_pictures_are_tried(folder, mobile):
    picture = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 1, "H", "W"])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    weights = onnx.numpy_helper.from_array(np.ones((1, 1, 40, 40), np.float32), "w")
    nodes = [onnx.helper.make_node("Conv", ["x", "w"], ["t"]), onnx.helper.make_node("Relu", ["t"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "picture", [picture], [out], [weights])
    model = save_model(graph, folder / "picture.onnx")
    parts = split(model, ["Conv"], folder / "picture")
    expect(run("verify", model, parts), 0, "equal: 1 output, bit for bit")


def test_the_first_part_that_drifts_is_named(folder, mobile):
    model = PROJECT / "samples" / "mobile_block.onnx"
    drifting = folder / "drifting"
    shutil.copytree(mobile, drifting)
    manifest = json.loads((drifting / "manifest.json").read_text())
    part = manifest["partitions"][1]  # it holds no weights that root.onnx reads
    changed = onnx.load(drifting / part["file"])
    name = part["outputs"][0]["name"]
    for node in changed.graph.node:
        node.output[:] = ["before" if output == name else output for output in node.output]
    factor = onnx.numpy_helper.from_array(np.float32(1 + 1e-4), "factor")
    changed.graph.initializer.append(factor)
    changed.graph.node.append(onnx.helper.make_node("Mul", ["before", "factor"], [name]))
    onnx.save(changed, drifting / part["file"])
    says = run("verify", model, drifting)
    expect(says, 1, f'{part["name"]} is the first to differ: its "{name}"')
    wanted = "bit for bit, from root.onnx; within rtol 0.1, atol 0.1, from the"
    expect(run("verify", model, drifting, "--tolerance", "rtol=0.1,atol=0.1"), 0, wanted)


def test_capture_refuses_what_is_no_split(folder, mobile):
    expect(run("capture_inputs.py", folder), 2, "DIR is not a split of an ONNX model")
    expect(run("capture_inputs.py", mobile, "--inputs", folder / "none.npz"), 2, "none.npz")
    expect(run("capture_inputs.py", mobile, "-o", mobile, "--force"), 4, "holds an input of this run")


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model = PROJECT / "samples" / "mobile_block.onnx"
        ops = (PROJECT / "samples" / "tiny_npu.txt").read_text().splitlines()
        mobile = split(model, ops, folder / "mobile")
        for name, test in tests:
            test(folder, mobile)
            print(f"ok      {name.removeprefix('test_').replace('_', ' ')}")


if __name__ == "__main__":
    main()
