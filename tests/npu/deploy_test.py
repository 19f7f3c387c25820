#!/usr/bin/env python3
"""What `cleave lower` keeps of compiled partitions, and root_ep.onnx: with a fake of a compiler.

usage: deploy_test.py CLEAVE [NAME...]    the tests whose names hold one of the words

Exit status 1 when a test fails, 77 when the Python module onnx is not there.
"""
import hashlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lower"))
import onnx
from onnx import TensorProto, helper

from place import chain, equal, run_tests, tests_in

FAKE = Path(__file__).resolve().parent / "fake_npu.py"


def backend(place, *rules, name="npu"):
    path = place.folder / f"{name}.json"
    path.write_text(json.dumps({
        "format": "cleave.backend", "version": 1, "name": name,
        "serve": {"argv": [sys.executable, str(FAKE), *rules], "ops": ["compile", "load"]},
        "env": {"pass": ["PATH", "HOME", "LANG"]},
    }))
    return path


def without(place, *ops):
    path = place.folder / "list.json"
    path.write_text(json.dumps({"format": "cleave.support", "version": 1, "name": "some", "allow": ["*"],
                                "deny": list(ops)}))
    return path


def lower(place, model, support, *more, rules=()):
    return place.run("lower", model, "-s", support, "--backend", backend(place, *rules), "-o", "out", "--cache", "off", *more)


def lowering(place):
    return json.loads((place.folder / "out" / "lowering.json").read_text())


def files(place):
    out = place.folder / "out"
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


def done_well(done):
    assert done.returncode == 0, done.stderr


def test_artefacts_are_kept_with_their_hashes(place):
    chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs"])
    done_well(lower(place, "m.onnx", without(place, "Neg"), "-q"))
    equal([name for name in files(place) if name.startswith("artefacts")],
          [f"artefacts/_run_on_acc_{i}.npu{end}" for i in (0, 2) for end in (".onnx", "_fake.bin")])
    part = lowering(place)["parts"][0]
    equal([one["role"] for one in part["artefacts"]], ["main", "data"])
    for one in part["artefacts"]:
        content = (place.folder / "out" / one["file"]).read_bytes()
        equal((one["bytes"], one["sha256"]), (len(content), hashlib.sha256(content).hexdigest()))
    equal((part["artefact_inputs"], part["artefact_outputs"]), (["v0"], ["v1"]))
    equal((part["artefact_why"], part["target"]), (None, {"soc_model": "57"}))


def test_none_is_kept_when_it_is_not_wanted(place):
    chain(place.folder / "m.onnx", ["Relu"])
    done_well(lower(place, "m.onnx", "all.json", "-q", "--bundle", "none"))
    assert not any(name.startswith("artefacts") for name in files(place)), files(place)
    assert "artefacts" not in lowering(place)["parts"][0]


def test_a_worker_that_keeps_nothing_is_fine(place):
    chain(place.folder / "m.onnx", ["Relu"])
    done_well(lower(place, "m.onnx", "all.json", "-q", rules=["nothing"]))
    part = lowering(place)["parts"][0]
    equal((part["artefacts"], part["artefact_why"]), ([], "this backend keeps nothing"))


def test_a_file_of_another_name_is_not_taken(place):
    chain(place.folder / "m.onnx", ["Relu"])
    done_well(lower(place, "m.onnx", "all.json", "-q", rules=["stray"]))
    part = lowering(place)["parts"][0]
    equal(part["artefacts"], [])
    assert "elsewhere.onnx" in part["artefact_why"], part
    assert not any("elsewhere" in name for name in files(place)), files(place)


def test_what_is_refused_has_no_artefacts(place):
    chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs"])
    done = lower(place, "m.onnx", "all.json", "-q", "--until-clean", rules=["refuse=Neg"])
    done_well(done)
    kept = [name for name in files(place) if name.startswith("artefacts")]
    equal(len(kept), 2 * len(lowering(place)["parts"]))


def deployed(place):
    return onnx.load(place.folder / "out" / "root_ep.onnx")


def attribute(node, name):
    return next(helper.get_attribute_value(one) for one in node.attribute if one.name == name)


def test_one_file_has_compiled_and_other_parts(place):
    chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs", "Exp"], last=(2, 3))
    done = lower(place, "m.onnx", without(place, "Neg"), "--bundle", "ep")
    done_well(done)
    assert "root_ep.onnx: 2 compiled partitions" in done.stderr, done.stderr
    model = deployed(place)
    nodes = list(model.graph.node)
    equal([node.op_type for node in nodes], ["EPContext", "_run_on_cpu_1", "EPContext"])
    equal([(list(node.input), list(node.output)) for node in nodes], [(["v0"], ["v1"]), (["v1"], ["v2"]), (["v2"], ["v4"])])
    equal([nodes[0].name, nodes[2].name], ["_run_on_acc_0/context_0", "_run_on_acc_2/context_0"])
    for node in (nodes[0], nodes[2]):
        data = attribute(node, "ep_cache_context").decode()
        assert (place.folder / "out" / data).is_file(), data
        equal(attribute(node, "source"), b"FakeExecutionProvider")
    equal([function.name for function in model.functions], ["_run_on_cpu_1"])
    assert "v1" in [info.name for info in model.graph.value_info]
    assert ("com.microsoft", 1) in [(one.domain, one.version) for one in model.opset_import]


def of_targets(place, *rules):
    """npu takes all but Neg and Abs, gpu all but Abs; only the npu's compiler keeps what it makes."""
    for name, ops in (("npu", ["Neg", "Abs"]), ("gpu", ["Abs"])):
        without(place, *ops).rename(place.folder / f"{name}_list.json")
    backends = (f"npu={backend(place, *rules)}", f"gpu={backend(place, 'nothing', name='gpu')}")
    return place.run("lower", "m.onnx", "-s", "npu=npu_list.json", "-s", "gpu=gpu_list.json", "--backend", backends[0],
                     "--backend", backends[1], "-o", "out", "--cache", "off", "--bundle", "ep", "--until-clean")


def test_one_file_has_the_parts_of_all_targets(place):
    chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs", "Exp"], last=(2, 3))
    done = of_targets(place)
    done_well(done)
    said = "root_ep.onnx: 2 compiled partitions; it loads with 2 of 2\n  by ONNX Runtime: _run_on_gpu_1: this backend keeps nothing"
    assert said in done.stderr, done.stderr
    equal([node.op_type for node in deployed(place).graph.node], ["EPContext", "_run_on_gpu_1", "_run_on_cpu_2", "EPContext"])


def test_what_one_targets_compiler_refuses_is_of_the_next_target_in_the_file(place):
    chain(place.folder / "m.onnx", ["Relu", "Exp", "Abs"], last=(2, 3))
    done_well(of_targets(place, "refuse=Exp"))
    equal([node.op_type for node in deployed(place).graph.node], ["EPContext", "_run_on_gpu_1", "_run_on_cpu_2"])


def test_several_nodes_of_a_part_have_names_of_their_own(place):
    chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs"], last=(2, 3))
    done_well(lower(place, "m.onnx", without(place, "Neg"), "--bundle", "ep", "-q", rules=["two"]))
    nodes = [node for node in deployed(place).graph.node if node.op_type == "EPContext"]
    equal(len({node.name for node in nodes}), 4)
    equal([list(node.input) for node in nodes[:2]], [["v0"], ["_run_on_acc_0/inner"]])
    names = [value for node in nodes for value in node.output]
    equal(len(names), len(set(names)))


def test_inputs_have_the_sizes_that_they_are_bound_to(place):
    chain(place.folder / "m.onnx", ["Relu"], shape=("N", 3))
    done = lower(place, "m.onnx", "all.json", "--bundle", "ep", "-q")
    equal(done.returncode, 3)
    assert '"v0"' in done.stderr and "--dim" in done.stderr, done.stderr
    assert not (place.folder / "out" / "root_ep.onnx").exists()
    done_well(lower(place, "m.onnx", "all.json", "--bundle", "ep", "-q", "--dim", "N=2", "--force"))
    shape = deployed(place).graph.input[0].type.tensor_type.shape
    equal([dim.dim_value for dim in shape.dim], [2, 3])


def folded(path):
    """A part on the accelerator reads a shape that the CPU computes."""
    nodes = [helper.make_node("Shape", ["x"], ["s"], name="shape"), helper.make_node("Neg", ["x"], ["n"], name="neg"),
             helper.make_node("Reshape", ["n", "s"], ["y"], name="reshape")]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    graph = helper.make_graph(nodes, "folded", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_a_value_that_the_session_folds_away_is_refused_by_name(place):
    folded(place.folder / "m.onnx")
    done = lower(place, "m.onnx", without(place, "Shape"), "--bundle", "ep", "-q", "--fold", "report")
    equal(done.returncode, 3)
    assert '"s"' in done.stderr and "--fold write" in done.stderr, done.stderr
    assert "lowering.json" in files(place) and "root_ep.onnx" not in files(place), files(place)
    for fold in ([], ["--fold", "write"]):  # what is known is compiled as such unless it is asked for
        done_well(lower(place, "m.onnx", without(place, "Shape"), "--bundle", "ep", "-q", "--force", *fold))


def test_an_operator_that_the_session_expands_is_refused_by_name(place):
    chain(place.folder / "m.onnx", ["Relu", "HardSwish", "Abs"])
    done = lower(place, "m.onnx", without(place, "HardSwish"), "--bundle", "ep", "-q")
    equal(done.returncode, 3)
    assert '"n1" (HardSwish)' in done.stderr, done.stderr


def test_nothing_compiled_is_nothing_to_deploy(place):
    chain(place.folder / "m.onnx", ["Relu"])
    done = lower(place, "m.onnx", "all.json", "--bundle", "ep", "-q", rules=["nothing"])
    equal(done.returncode, 3)
    assert "nothing to deploy" in done.stderr and "keeps nothing" in done.stderr, done.stderr


def test_what_is_not_deployed_is_reported_all_the_same(place):
    chain(place.folder / "m.onnx", ["Relu"] * 12)
    done = lower(place, "m.onnx", "all.json", "--bundle", "ep", rules=["refuse=Relu"])
    equal(done.returncode, 3)
    assert "NOT clean" in done.stdout and "fails alone" in done.stdout, done.stdout
    assert "refused: op Relu is not supported" in done.stderr, done.stderr
    assert {"lowering.json", "lowering.txt", "learned.json"} <= set(files(place)), files(place)


def equal_inputs(path, ops=("Neg", "Neg")):
    """A part on the accelerator reads what equal nodes on the CPU make."""
    nodes = [helper.make_node(op, ["x"], [f"c{i}"], name=f"c{i}") for i, op in enumerate(ops)]
    nodes.append(helper.make_node("Add", ["c0", "c1"], ["y"], name="add"))
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    graph = helper.make_graph(nodes, "equal", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_of_inputs_that_the_session_makes_one_the_part_reads_one(place):
    equal_inputs(place.folder / "m.onnx")
    done = lower(place, "m.onnx", without(place, "Neg"), "--bundle", "ep", rules=["dies=c0+c1"])
    done_well(done)
    assert "it loads with 1 of 1" in done.stderr, done.stderr
    equal([list(node.input) for node in deployed(place).graph.node if node.op_type == "EPContext"], [["c0"]])
    equal(lowering(place)["parts"][0]["artefact_inputs"], ["c0"])
    # What is only kept has the split's own inputs.
    done_well(lower(place, "m.onnx", without(place, "Neg"), "-q", "--force"))
    equal(lowering(place)["parts"][0]["artefact_inputs"], ["c0", "c1"])


def test_a_removed_node_is_the_same_input(place):
    equal_inputs(place.folder / "m.onnx", ["Neg", "Identity"])
    nodes = onnx.load(place.folder / "m.onnx")
    nodes.graph.node[1].input[0] = "c0"
    onnx.save(nodes, place.folder / "m.onnx")
    done_well(lower(place, "m.onnx", without(place, "Neg", "Identity"), "--bundle", "ep", "-q"))
    equal([list(node.input) for node in deployed(place).graph.node if node.op_type == "EPContext"], [["c0"]])


def test_a_file_that_ends_its_session_is_not_written(place):
    equal_inputs(place.folder / "m.onnx", ["Neg", "Abs"])
    done = lower(place, "m.onnx", without(place, "Neg", "Abs"), "--bundle", "ep", rules=["dies=c0+c1"])
    equal(done.returncode, 3)
    assert "root_ep.onnx does not load in ONNX Runtime" in done.stderr, done.stderr
    assert "lowered 1 of 3 nodes" in done.stdout, done.stdout
    assert "root_ep.onnx" not in files(place) and "lowering.json" in files(place), files(place)
    done = lower(place, "m.onnx", without(place, "Neg", "Abs"), "--bundle", "ep", "--force", rules=["load=INVALID_TENSOR"])
    assert done.returncode == 3 and "INVALID_TENSOR" in done.stderr, done.stderr


def test_one_file_without_others_has_what_was_compiled(place):
    chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs"], last=(2, 3))
    done_well(lower(place, "m.onnx", without(place, "Neg"), "--bundle", "ep-embedded", "-q"))
    nodes = [node for node in deployed(place).graph.node if node.op_type == "EPContext"]
    equal([attribute(node, "embed_mode") for node in nodes], [1, 1])
    equal([attribute(node, "ep_cache_context") for node in nodes], [b"compiled Relu", b"compiled Abs"])


def test_an_operator_of_another_domain_is_refused_by_name(place):
    chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs"], last=(2, 3))
    model = onnx.load(place.folder / "m.onnx")
    model.graph.node[1].domain = "acme"
    model.opset_import.append(helper.make_opsetid("acme", 1))
    model.graph.value_info.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("v1", "v2"))
    onnx.save(model, place.folder / "m.onnx")
    done = lower(place, "m.onnx", without(place, "acme::Neg"), "--bundle", "ep", "-q")
    assert done.returncode == 3 and '"n1" (acme::Neg)' in done.stderr, done.stderr


def test_what_the_model_was_given_is_recorded(place):
    chain(place.folder / "m.onnx", ["Relu"], shape=("N", 3))
    done_well(lower(place, "m.onnx", "all.json", "-q", "--dim", "N=2"))
    equal(lowering(place)["bound"], {"dims": {"N": 2}, "shapes": {}, "values": {}})


def test_a_folder_with_artefacts_is_needed(place):
    chain(place.folder / "m.onnx", ["Relu"])
    equal(place.run("lower", "m.onnx", "-s", "all.json", "--backend", backend(place), "--bundle", "ep").returncode, 2)


if __name__ == "__main__":
    sys.exit(run_tests(tests_in(globals()), os.path.abspath(sys.argv[1]), sys.argv[2:]))
