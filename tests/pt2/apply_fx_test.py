#!/usr/bin/env python3
"""Tests scripts/apply_fx.py: it splits a module as cleave split its native JSON graph, and it runs.

usage: apply_fx_test.py ROOT_OF_THE_PROJECT CLEAVE
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

root, cleave = Path(sys.argv[1]), sys.argv[2]
sys.path[:0] = [str(root / "scripts"), str(Path(__file__).parent)]
import torch

import apply_fx
import export_fx
import sample_models
import torch_modules


def manifest_of(folder, maker, *command):
    """Exports what `maker` returns, runs cleave on it, and reads the manifest."""
    module, inputs = maker()
    export_fx.set_mode(module, False)
    graph = export_fx.export_graph(export_fx.trace(module), inputs, maker.__name__)
    export_fx.write_graph(graph, folder / "graph.json")
    subprocess.run(
        [cleave, "-q", command[0], str(folder / "graph.json"), *command[1:], "-o", str(folder / "out"), "--force"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return apply_fx.read_manifest(folder / "out")


def check_equal(whole, split, inputs):
    wanted, _ = apply_fx.run(whole, inputs)
    got, _ = apply_fx.run(split, inputs)
    assert len(wanted) == len(got) and all(map(apply_fx.is_same, wanted, got))


def samples_split_by_support(folder):
    for maker in (sample_models.transformer_encoder, sample_models.dlrm):
        torch.manual_seed(0)
        module, inputs = maker()
        module.eval()
        support = str(root / "samples/npu.json")
        manifest = manifest_of(folder, maker, "split", "-s", support)
        split = apply_fx.split_module(module, manifest)
        names = [name for name, _ in split.named_children()]
        assert names == [part["name"] for part in manifest["partitions"]], names
        check_equal(module, split, inputs)
        always = apply_fx.split_module(module, manifest, return_tuple=True)
        assert isinstance(getattr(always, names[0])(*part_inputs(always, inputs)), tuple)
        check_equal(module, always, inputs)


def part_inputs(split, inputs):
    """The arguments of the first part: it reads the model's inputs only."""
    called = next(node for node in split.graph.nodes if node.op == "call_module")
    by_name = dict(zip((n.name for n in split.graph.nodes if n.op == "placeholder"), inputs))
    return [by_name[argument.name] for argument in called.args]


def stages_of_exported_programs(folder):
    module, inputs = torch_modules.regions()
    manifest = manifest_of(folder, torch_modules.regions, "stage", "--stages", "3", "--balance", "nodes")
    assert len(manifest["stages"]) == 3
    check_equal(module, apply_fx.split_module(module, manifest), inputs)
    check_equal(module, apply_fx.pipeline(module, manifest), inputs)


def regions_are_entered_in_each_part(folder):
    """The part that has the second linear alone runs it in bfloat16, though the region is not its own."""
    module, inputs = torch_modules.regions()
    graph = export_fx.export_graph(export_fx.trace(module), inputs, "regions")
    names = [node["name"] for node in graph["nodes"]]
    lowered = [node["name"] for node in graph["nodes"] if node["op"].endswith("linear.default")][1]
    cut = names.index(lowered)
    parts = {name: ("before", "inside", "after")[(i >= cut) + (i > cut)] for i, name in enumerate(names)}
    (folder / "map.json").write_text(json.dumps(parts))
    manifest = manifest_of(folder, torch_modules.regions, "split", "--map", str(folder / "map.json"))
    split = apply_fx.split_module(module, manifest)
    inside = next(child for name, child in split.named_children() if name.endswith("inside"))
    names_called = [node.target for node in inside.graph.nodes if node.op == "call_function"]
    assert torch.amp.autocast_mode._enter_autocast in names_called, names_called
    check_equal(module, split, inputs)


def a_pipe_has_the_gradients_of_the_whole(folder):
    for maker in (torch_modules.tied, torch_modules.tied_program):
        module, inputs = maker()
        manifest = manifest_of(
            folder, maker, "stage", "--stages", "3", "--balance", "nodes", "--loss-output", "loss",
            "--device-map", "0=cpu,1=cpu,2=cpu",
        )  # fmt: skip
        assert apply_fx.devices(manifest) == ["cpu"] * 3
        pipe = apply_fx.pipeline(module, manifest)
        assert pipe.has_loss_and_backward and pipe.num_stages == 3 and pipe.replicated_params
        whole = module.module() if maker is torch_modules.tied_program else module
        check_equal(whole, pipe, inputs)
        whole(*inputs)["loss"].backward()
        got = gradients(stage for _, stage in pipe.split_gm.named_children())
        wanted = gradients([whole])
        assert set(got) == set(wanted), (sorted(got), sorted(wanted))
        for name, gradient in got.items():
            torch.testing.assert_close(gradient, wanted[name])


def gradients(modules):
    """By parameter. Those of one that several modules hold are added up, as its owner would do."""
    tied = {"last.weight": "embed.weight"}
    sums = {}
    for module in modules:
        for name, value in module.named_parameters():
            if value.grad is not None:
                name = tied.get(name, name)
                sums[name] = sums.get(name, 0) + value.grad
    return sums


def a_tied_parameter_has_its_first_name_in_stages(folder):
    program, _ = torch_modules.tied_program()
    torch.export.save(program, folder / "tied.pt2")
    words = ["stage", folder / "tied.pt2", "--stages", "3", "--balance", "nodes", "-o", folder / "out", "--force"]
    subprocess.run([cleave, "-q", *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    stages = [torch.export.load(path).state_dict for path in sorted((folder / "out").glob("submod*.pt2"))]
    assert sum("embed.weight" in stage for stage in stages) > 1, stages
    assert not any("last.weight" in stage for stage in stages), stages


def parts_are_placed_on_devices(folder):
    """The device "meta" computes shapes only: a value that comes from it shows that it was there."""
    module, inputs = torch_modules.tied()
    manifest = manifest_of(
        folder, torch_modules.tied, "stage", "--stages", "2", "--balance", "nodes", "--device-map", "1=meta"
    )
    results = apply_fx.split_module(module, manifest)(*inputs)
    assert results["loss"].device.type == "meta", results["loss"].device


def another_models_manifest_is_refused(folder):
    manifest = manifest_of(folder, torch_modules.tied, "stage", "--stages", "2", "--balance", "nodes")
    try:
        apply_fx.split_module(torch_modules.regions()[0], manifest)
    except apply_fx.DoesNotFit as refusal:
        assert "export_fx.py" in str(refusal), refusal
        return
    raise AssertionError("a manifest of another model is not refused")


for case in (
    samples_split_by_support,
    stages_of_exported_programs,
    regions_are_entered_in_each_part,
    a_pipe_has_the_gradients_of_the_whole,
    a_tied_parameter_has_its_first_name_in_stages,
    parts_are_placed_on_devices,
    another_models_manifest_is_refused,
):
    with tempfile.TemporaryDirectory() as temporary:
        case(Path(temporary))
    print(f"ok  {case.__name__}")
