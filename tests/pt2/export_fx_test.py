#!/usr/bin/env python3
"""Tests scripts/export_fx.py on modules that torch.export made: guards, regions, symbolic dims.

usage: export_fx_test.py ROOT_OF_THE_PROJECT
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(sys.argv[1])
sys.path[:0] = [str(root / "scripts"), str(Path(__file__).parent)]
import torch

import export_fx
import torch_modules


def graph_of(maker):
    module, inputs = maker()
    export_fx.set_mode(module, False)  # must not call train() on an exported module
    return export_fx.export_graph(export_fx.trace(module), inputs, maker.__name__)


def node(graph, op, count=1):
    found = [entry for entry in graph["nodes"] if entry["op"] == op]
    assert len(found) == count, f"{op}: {len(found)} nodes, not {count}"
    return found[0]


def guards_and_wrappers_are_gone():
    graph = graph_of(torch_modules.regions)
    ops = [entry["op"] for entry in graph["nodes"]]
    assert not [op for op in ops if "guards" in op or "wrap" in op], ops
    assert ops.count("torch.ops.aten.linear.default") == 2, ops
    assert node(graph, "torch.ops.aten.topk.default")["outputs"][0]["type"] == "tuple"


def dims_have_names():
    graph = graph_of(torch_modules.regions)
    rows = graph["inputs"][0]["shape"][0]
    assert isinstance(rows, str) and graph["inputs"][0]["shape"][1] == 4, graph["inputs"]
    assert node(graph, "torch.ops.aten.cat.default")["outputs"][0]["shape"] == [rows, 4]
    size = node(graph, "torch.ops.aten.sym_size.int")["outputs"][0]
    assert size == {"name": size["name"], "type": "scalar", "py_type": "int"}, size
    wide = node(graph, "torch.ops.aten.reshape.default")["outputs"][0]
    assert wide["shape"] == [f"4*{rows}", 1], wide


def sizes_without_a_name_are_numbers():
    graph = graph_of(torch_modules.regions_program)
    assert node(graph, "torch.ops.aten.cat.default")["outputs"][0]["shape"] == [3, 4]


def literals_in_lists_are_kept():
    graph = graph_of(torch_modules.regions)
    size = node(graph, "torch.ops.aten.sym_size.int")["name"]
    zeros = node(graph, "torch.ops.aten.zeros.default")
    assert zeros["inputs"] == [{"list": [size]}], zeros
    assert zeros["attributes"]["arg0"] == [{"value": size}, 2], zeros
    cat = node(graph, "torch.ops.aten.cat.default")
    assert "arg0" not in cat["attributes"], cat  # nodes alone: the inputs say it all


def results_have_the_structure_of_the_module():
    tree = graph_of(torch_modules.regions)["output_tree"]
    assert list(tree) == ["wide", "sizes"] and len(tree["sizes"]) == 1, tree


def parameters_have_their_paths():
    by_target = {entry["target"]: entry for entry in graph_of(torch_modules.regions)["parameters"]}
    assert set(by_target) == {"layer.weight", "layer.bias", "offset", "scale"}, by_target
    assert by_target["scale"]["buffer"] and "buffer" not in by_target["layer.weight"]
    assert by_target["scale"]["persistent"] is False and "persistent" not in by_target["offset"], by_target


def scopes_are_module_paths():
    scopes = {entry.get("scope", "") for entry in graph_of(torch_modules.regions)["nodes"]}
    assert scopes == {"", "layer"}, scopes


def control_flow_is_refused_with_a_way_out():
    try:
        graph_of(torch_modules.branch)
    except export_fx.ExportError as refusal:
        assert "true_graph_0" in str(refusal) and ".pt2" in str(refusal), refusal
        return
    raise AssertionError("a module for an argument is not refused")


def training_mode_of_exported_modules_is_refused():
    command = [sys.executable, str(root / "scripts/export_fx.py"), "--train", "--module"]
    spec = f"{Path(__file__).parent / 'torch_modules.py'}:regions"
    result = subprocess.run([*command, spec], capture_output=True, text=True)
    assert result.returncode == 2 and "--train" in result.stderr, result


def the_module_stays_as_it_is():
    module, inputs = torch_modules.regions()
    before = [(entry.op, entry.name) for entry in module.graph.nodes]
    wanted = module(*inputs)
    export_fx.export_graph(export_fx.trace(module), inputs, "regions")
    assert [(entry.op, entry.name) for entry in module.graph.nodes] == before
    assert torch.equal(module(*inputs)["wide"], wanted["wide"])


def modules_of_forward_code_are_traced_as_before():
    graph = graph_of(torch_modules.tied)
    assert node(graph, "torch.nn.modules.sparse.Embedding")["kind"] == "call_module"
    assert json.loads(export_fx.graph_text(graph)) == graph


class Keywords(torch.nn.Module):
    """Takes the rest of its arguments by keyword, one that may lack among them."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x, scale=2.0, **more):
        return torch.sigmoid(self.layer(x)) * scale + more["shift"] - more.get("less", 0.0)


def keywords_of_any_name_are_passed_on():
    module, inputs = Keywords().eval(), {"x": torch.randn(2, 4), "shift": torch.ones(4)}
    for more in ({}, {"less": torch.ones(1)}, {"scale": 3.0}):
        given = {**inputs, **more}
        traced = export_fx.trace(module, (), given)
        graph = export_fx.export_graph(traced, given, "keywords")
        assert {entry["name"] for entry in graph["inputs"]} == {"scale", *given}, graph["inputs"]
        assert torch.equal(traced(**given), module(**given))
        assert type(module) is Keywords and any(one.get("target") == "layer" for one in graph["nodes"]), graph["nodes"]
    try:
        export_fx.export_graph(export_fx.trace(module), inputs, "keywords")
    except export_fx.ExportError as refusal:
        assert "mend: give trace() the inputs" in str(refusal), refusal
    else:
        raise AssertionError("keywords that are lost are not refused")


def a_file_is_replaced_by_force_alone():
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        out.write_text("mine")
        command = [sys.executable, str(root / "scripts/export_fx.py"), "dlrm", "-o", out]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 4 and "is there already" in result.stderr and out.read_text() == "mine", result
        result = subprocess.run([*command, "--force"], capture_output=True, text=True)
        assert result.returncode == 0 and json.loads(out.read_text())["format"] == "cleave.graph", result
        made = Path(folder) / "made.py"
        made.write_text("import torch\ndef make():\n    return torch.nn.ReLU(), (torch.ones(2),)\n")
        before = made.read_text()
        result = subprocess.run([*command[:2], "--module", f"{made}:make", "-o", made, "--force"], capture_output=True, text=True)
        assert result.returncode == 4 and "is an input of this run" in result.stderr and made.read_text() == before, result


CASES = [value for value in list(globals().values()) if getattr(value, "__module__", "") == "__main__"]
for case in CASES:
    if case not in (graph_of, node, Keywords):
        case()
        print(f"ok  {case.__name__}")
