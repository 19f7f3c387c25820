#!/usr/bin/env python3
"""`cleave split --phase`: one folder, weights once, and parts that compute what the model does at the sizes of each phase.

usage: phases_test.py PROJECT CLEAVE      exit status 1 if a test fails
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

PROJECT, CLEAVE = (Path(argument).resolve() for argument in sys.argv[1:3])
sys.path.insert(0, str(PROJECT / "scripts" / "dev"))
import make_samples

PLAIN = onnxruntime.SessionOptions()
PLAIN.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
PLAIN.log_severity_level = 3
SIZES = {"prompt": {"T": 4, "P": 0, "S": 4}, "token": {"T": 1, "P": 8, "S": 9}}


def decoder(path, **sizes):
    path.write_bytes(make_samples.Decoder("decoder", seed=1, **sizes).build())


def cleave(*words):
    done = subprocess.run([CLEAVE, "-q", *map(str, words)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def split(folder, model, *more, phases=SIZES):
    (folder / "list.txt").write_text("MatMul\nSoftmax\nAdd\n")
    out = folder / "out"
    words = [f"--phase={name}:" + ",".join(f"{dim}={size}" for dim, size in sizes.items())
             for name, sizes in phases.items()]
    status, _, error = cleave("split", model, "-s", folder / "list.txt", "--dim", "B=1", *words, "-o", out, "--force", *more)
    assert status == 0, (status, error)
    return out, json.loads((out / "manifest.json").read_text())


def session(path):
    return onnxruntime.InferenceSession(str(path), PLAIN, providers=["CPUExecutionProvider"])


def feeds(model, sizes):
    random = np.random.default_rng(3)
    values = {}
    for wanted in session(model).get_inputs():
        shape = [{"B": 1, **sizes}.get(dim, dim) for dim in wanted.shape]
        if wanted.type == "tensor(float)":
            values[wanted.name] = random.standard_normal(shape).astype(np.float32)
        elif wanted.name == "position_ids":
            values[wanted.name] = np.arange(sizes["P"], sizes["P"] + sizes["T"])[None]
        else:
            values[wanted.name] = random.integers(0, 2 if "mask" in wanted.name else 60, shape)
    return values


def results(path, values):
    run = session(path)
    names = [output.name for output in run.get_outputs()]
    return dict(zip(names, run.run(None, {value.name: values[value.name] for value in run.get_inputs()})))


def parts_are_bit_equal(folder, model):
    out, manifest = split(folder, model)
    assert manifest["format"] == "cleave.phases" and [one["name"] for one in manifest["phases"]] == list(SIZES)
    names = {file["name"] for file in manifest["files"]}
    assert sum(name.endswith((".bin", ".data")) for name in names) == 1, names
    for phase in manifest["phases"]:
        sizes = SIZES[phase["name"]]
        assert phase["dims"] == sizes and phase["on"] == [] and phase["tokens"] == sizes["T"], phase["dims"]
        values = feeds(model, sizes)
        wanted = results(model, values)
        made = results(out / phase["root"], values)
        assert any(part["is_acc"] for part in phase["partitions"])
        chained = dict(values)
        for part in phase["partitions"]:
            assert part["file"] == f"{phase['name']}.{part['name']}.onnx" and part["file"] in names
            chained.update(results(out / part["file"], chained))
        for name, value in wanted.items():
            assert np.array_equal(value, made[name]) and np.array_equal(value, chained[name]), (phase["name"], name)


def phases_of_a_decoder_compute_what_it_does(folder):
    decoder(folder / "m.onnx")
    parts_are_bit_equal(folder, folder / "m.onnx")


def weights_are_written_once(folder):
    decoder(folder / "m.onnx", heads=8, head=32, vocabulary=2000)
    out, manifest = split(folder, folder / "m.onnx")
    model = (folder / "m.onnx").stat().st_size
    written = sum(path.stat().st_size for path in out.iterdir() if path.suffix in (".onnx", ".bin"))
    assert model > 5e6 and written <= 1.05 * model, (model, written)
    memory = {row["device"]: row["weight_bytes"] for row in manifest["memory"]}
    assert max(memory.values()) <= model < sum(memory.values()) * 1.05, memory


def stack_traces_are_not_repeated(folder):
    decoder(folder / "m.onnx")
    model = onnx.load(folder / "m.onnx")
    model.ir_version = max(model.ir_version, 10)
    for node in model.graph.node:
        for key in ("pkg.torch.onnx.stack_trace", "pkg.torch.onnx.name_scopes"):
            node.metadata_props.append(onnx.StringStringEntryProto(key=key, value="of " + node.name))
    onnx.save(model, folder / "m.onnx")
    out, _ = split(folder, folder / "m.onnx")
    for path in out.glob("*.onnx"):
        written = onnx.load(path, load_external_data=False)
        nodes = [*written.graph.node, *(node for function in written.functions for node in function.node)]
        keys = {entry.key for node in nodes for entry in node.metadata_props}
        assert "pkg.torch.onnx.name_scopes" in keys and "pkg.torch.onnx.stack_trace" not in keys, (path.name, keys)


def a_phase_runs_on_its_targets(folder):
    decoder(folder / "m.onnx")
    (folder / "list.txt").write_text("MatMul\nSoftmax\nAdd\n")
    words = ("split", folder / "m.onnx", "-s", f"npu={folder}/list.txt", "-s", f"gpu={folder}/list.txt", "--dim", "B=1")
    prompt, token = "--phase=prompt:T=4,P=0,S=4,on=npu", "--phase=token:T=1,P=8,S=9,on=cpu"
    assert cleave(*words, prompt, token, "-o", folder / "out")[0] == 0
    phases = json.loads((folder / "out" / "manifest.json").read_text())["phases"]
    assert [phase["on"] for phase in phases] == [["npu"], ["cpu"]]
    on = [{part["target"] for part in phase["partitions"]} for phase in phases]
    assert on == [{"npu", "cpu"}, {"cpu"}], on
    status, _, error = cleave(*words, prompt + ",tpu", "-o", folder / "other")
    assert status == 2 and '"tpu"' in error and not (folder / "other").exists(), error


def other_weights_are_refused(folder):
    """The size of each phase decides which branch runs, and each branch reads a weight of its own."""
    def branch(name):
        node = helper.make_node("Add", ["x", name], [f"{name}_sum"], name=f"add_{name}")
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(f"{name}_sum", TensorProto.FLOAT, None)])

    nodes = [helper.make_node("Shape", ["x"], ["size"], name="size"),
             helper.make_node("Equal", ["size", "four"], ["is_four"], name="is_four"),
             helper.make_node("If", ["is_four"], ["y"], name="if", then_branch=branch("one"), else_branch=branch("other")),
             helper.make_node("Relu", ["y"], ["z"], name="relu")]
    weights = [numpy_helper.from_array(np.full((400, 1), at, np.float32), name) for at, name in enumerate(("one", "other"))]
    weights.append(numpy_helper.from_array(np.array([4], np.int64), "four"))
    graph = helper.make_graph(nodes, "m", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T"])],
                              [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    (folder / "list.txt").write_text("Add\n")
    words = ("split", folder / "m.onnx", "-s", folder / "list.txt", "--phase=a:T=4", "-o", folder / "out")
    status, _, error = cleave(*words, "--phase=b:T=5")
    assert status == 4 and "needs others" in error and '"b."' in error, (status, error)
    assert not (folder / "out").exists()
    assert cleave(*words, "--phase=b:T=4")[0] == 0


def state_of_a_fixed_size_needs_a_mask(folder):
    """What is not filled yet would count as tokens."""
    decoder(folder / "m.onnx", masked=False)
    (folder / "list.txt").write_text("MatMul\n")
    words = ("preview", folder / "m.onnx", "-s", folder / "list.txt", "--dim", "B=1", "--phase=prompt:T=4,P=0")
    status, _, error = cleave(*words, "--phase=token:T=1,P=8")
    assert status == 3 and "past_key_values.0.key" in error and "no mask and no positions" in error, (status, error)
    assert cleave(*words, "--phase=token:T=1")[0] == 0
    decoder(folder / "m.onnx")
    assert cleave(*words, "--phase=token:T=1,P=8,S=9")[0] == 0


RATES = ("--target", "npu:flops=1GFLOP/s,bandwidth=10GB/s,launch=1us", "--target", "cpu:flops=1GFLOP/s,bandwidth=10GB/s")


def state_that_is_handed_over_is_counted(folder):
    decoder(folder / "m.onnx")
    (folder / "all.txt").write_text("*\n")
    words = ("preview", folder / "m.onnx", "-s", f"npu={folder}/all.txt", "--dim", "B=1", *RATES, "--json",
             "--phase=prompt:T=4,P=0,S=4,on=npu")
    for on, moved in (("cpu", 4 * 2 * 8 * 8 * 4), ("npu", 0)):
        status, text, error = cleave(*words, f"--phase=token:T=1,P=8,S=9,on={on}", "--tokens", "8+5")
        assert status == 0, error
        report = json.loads(text)
        assert report["handover_bytes"] == moved, report["handover_bytes"]
        prompt, token = report["phases"]
        assert (prompt["runs"], token["runs"]) == (2, 4)
        assert abs(report["first_token_us"] - 2 * prompt["latency"]["total_us"]) < 1e-6
        assert report["token_us"] == token["latency"]["total_us"] and report["token_is"] == "estimated"
    assert cleave(*words, "--phase=token:T=1", "--tokens", "8+5")[0] == 0


def handed_over(prompt, token):
    """Bytes of state that the prompt leaves on another device than the one where the token phase reads it."""
    made = {value["name"]: part["is_acc"] for part in prompt["partitions"] for value in part["outputs"]}
    moved = {value["name"]: value["bytes"] for part in token["partitions"] for value in part["inputs"] if "past" in value["name"]
             and made[value["name"].replace("past_key_values", "present")] != part["is_acc"]}
    return sum(moved.values())


def phases_are_placed_together(folder):
    """Each phase by itself would leave the state where the other does not read it."""
    decoder(folder / "m.onnx", heads=4, head=32)
    (folder / "all.txt").write_text("*\n")
    words = ("preview", folder / "m.onnx", "-s", folder / "all.txt", "--dim", "B=1", "--place", "cost", "--json", "--pcie-bw", "0.01GB/s",
             "--target", "acc:flops=500GFLOP/s,bandwidth=100GB/s,launch=30us", "--target", "cpu:flops=10GFLOP/s,bandwidth=10GB/s")
    sizes, apart = {"prompt": "T=64,P=0,S=64", "token": "T=1,P=64,S=65"}, []
    for own in sizes.values():
        status, text, error = cleave(*words, *(f"--dim={dim}" for dim in own.split(",")))
        assert status == 0, error
        apart.append(json.loads(text))
    gained = 0
    for new in (1, 2, 8, 40, 1000):
        status, text, error = cleave(*words, *(f"--phase={name}:{own}" for name, own in sizes.items()), "--tokens", f"64+{new + 1}")
        assert status == 0, error
        report = json.loads(text)
        assert report["handover_bytes"] == handed_over(*report["phases"])
        costs = [phases[0]["latency"]["total_us"] + new * phases[1]["latency"]["total_us"] + handed_over(*phases) / 0.01e3
                 for phases in (report["phases"], apart)]
        assert costs[0] <= costs[1] * (1 + 1e-9), (new, costs)
        gained += costs[0] < costs[1] * 0.999
    assert gained > 0


def greedy(step, prompt, names, count=12):
    """Ids by `step`, which takes the inputs of the model and gives its outputs."""
    past = {name: np.zeros((1, 2, 0, 8), np.float32) for name in names}
    ids, seen, new = [], 0, prompt
    while len(ids) < count:
        seen += len(new)
        made = step({"input_ids": np.array([new]), "attention_mask": np.ones((1, seen), np.int64),
                     "position_ids": np.arange(seen - len(new), seen)[None], **past})
        past = {name: made[name.replace("past_key_values", "present")] for name in names}
        new = [int(made["logits"][0, -1].argmax())]
        ids += new
    return ids


def a_pipeline_of_genai_makes_the_ids_of_the_model(folder):
    """As onnxruntime-genai calls it: no part may read a present of the same step."""
    model = PROJECT / "samples" / "decoder.onnx"
    whole = session(model)
    names = [value.name for value in whole.get_inputs() if "past" in value.name]
    (folder / "list.txt").write_text("MatMul\nSoftmax\nAdd\n")
    words = ("split", model, "-s", folder / "list.txt", "-o", folder / "out", "--force")
    status, text, error = cleave(*words, "--phase=prompt:", "--phase=token:T=1", "--pipeline=genai:eos_token_id=7")
    assert status == 0 and "bos_token_id=1, pad_token_id=0, context_length=2048" in " ".join(text.split()), (error, text)
    config = json.loads((folder / "out" / "genai_config.json").read_text())
    decoder_, sessions = config["model"]["decoder"], {}
    assert config["model"]["vocab_size"] == 64 and config["model"]["eos_token_id"] == 7
    assert decoder_["inputs"]["past_key_names"] == "past_key_values.%d.key" and decoder_["num_hidden_layers"] == 2
    assert decoder_["outputs"]["present_value_names"] == "present.%d.value" and decoder_["head_size"] == 8

    def step(values):
        is_prompt = values["input_ids"].shape[1] > 1
        made = dict(values)
        for entry in decoder_["pipeline"]:
            (part,) = entry.values()
            if not part["run_on_prompt" if is_prompt else "run_on_token_gen"]:
                continue
            assert not any(name.startswith("present") and not name.endswith(".read") for name in part["inputs"]), part
            file = part["filename"]
            run = sessions.setdefault(file, session(folder / "out" / file))
            assert [value.name for value in run.get_inputs()] == part["inputs"], part
            made.update(zip(part["outputs"], run.run(part["outputs"], {name: made[name] for name in part["inputs"]})))
        return made

    def plain(values):
        return dict(zip([output.name for output in whole.get_outputs()], whole.run(None, values)))

    assert greedy(step, [5, 9, 3], names) == greedy(plain, [5, 9, 3], names)
    for phases, said in ((["token:T=1"], "ids would be wrong"), (["prompt:", "other:"], "ids would be wrong"),
                         (["prompt:T=4", "token:T=1"], "4 tokens at a time"), (["prompt:", "token:T=1,P=5,S=6"], "fixes the size")):
        status, _, error = cleave(*words, "--pipeline=genai", *(f"--phase={phase}" for phase in phases))
        assert status == 2 and said in error, (status, error)
    status, _, error = cleave(*words, "--phase=prompt:", "--phase=token:T=1", "--pipeline=genai:colour=7")
    assert status == 2 and "eos_token_id" in error, error


def what_cannot_be_is_refused(folder):
    decoder(folder / "m.onnx")
    (folder / "list.txt").write_text("MatMul\n")
    words = ("preview", folder / "m.onnx", "-s", folder / "list.txt")
    for phases, said in (("a", "is no phase"), ("a:T=x", "is not a size"), ("a b:T=1", "is no phase"), ("a:Q=1", "Q")):
        status, _, error = cleave(*words, "--phase", phases)
        assert status in (2, 3) and said in error, (phases, status, error)
    status, _, error = cleave(*words, "--phase=a:T=1", "--phase=a:T=2")
    assert status == 2 and "two phases" in error, error
    status, _, error = cleave(*words, "--tokens", "5+5")
    assert status == 2 and "--phase" in error, error
    graph = {"format": "cleave.graph", "version": 1, "nodes": []}
    (folder / "m.json").write_text(json.dumps(graph))
    status, _, error = cleave("preview", folder / "m.json", "-s", folder / "list.txt", "--phase=a:T=1")
    assert status == 3, error


def main():
    failed = 0
    tests = [phases_of_a_decoder_compute_what_it_does, weights_are_written_once, stack_traces_are_not_repeated, a_phase_runs_on_its_targets,
             state_of_a_fixed_size_needs_a_mask, state_that_is_handed_over_is_counted, phases_are_placed_together,
             a_pipeline_of_genai_makes_the_ids_of_the_model, other_weights_are_refused, what_cannot_be_is_refused]
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Path(folder))
            except AssertionError as fault:
                failed += 1
                print(f"{test.__name__}: {fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
