#!/usr/bin/env python3
"""Does once, as a process of its own, what bench_peers.py compares with a run of cleave.

usage: peer_work.py PEER FOLDER OUT      prints {"parts": N} where it makes parts
       peer_work.py --installed          prints {PACKAGE: VERSION} of the peers' packages

FOLDER is a model as peer_models.py and bench_peers.py lay it: model.pt with support.json and map.json, or
model.onnx with inputs.json (the shapes of its inputs), parts.json (every partition's name, inputs and outputs) and
cut.json (those of one). A peer reads its model from there, and what it writes goes into the folder OUT, which is
there and empty. Each peer does what a user of it would: no work that its row of the table does not name, and its
own way to read and write.
"""

import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent


def read(folder, name):
    return json.loads((folder / name).read_text())


# ---- torch.fx, on a module that torch.save wrote ----


def loaded_module(folder):
    """The module, and operator_name(node) as the support list calls operators."""
    import torch

    sys.path.insert(0, str(SCRIPTS))
    import export_fx

    torch.set_grad_enabled(False)
    # The file is one that peer_models.py has made.
    traced = torch.load(folder / "model.pt", weights_only=False)
    modules = dict(traced.named_modules())
    return traced, lambda node: export_fx.operator_name(node, modules)


def supported_by(folder, name_of):
    from torch.fx.passes.operator_support import OperatorSupportBase

    allowed = set(read(folder, "support.json")["allow"])

    class Support(OperatorSupportBase):
        def is_node_supported(self, submodules, node):
            return node.op.startswith("call_") and name_of(node) in allowed

    return Support()


def save_module(module, out):
    import torch

    torch.save(module, out / "split.pt")


def split_by_support(folder):
    """As torch.fx.passes.splitter_base divides; its constructor runs the model once."""
    import torch
    from torch.fx.passes import splitter_base

    class Splitter(splitter_base._SplitterBase):
        """What the base leaves to its users is not asked for by a split."""

    traced, name_of = loaded_module(folder)
    inputs = torch.load(folder / "inputs.pt")
    settings = splitter_base._SplitterSettingBase()
    return Splitter(traced, inputs, supported_by(folder, name_of), settings)()


def parts_of(module):
    return sum(node.op == "call_module" for node in module.graph.nodes)


def torch_splitter(folder, out):
    return parts_of(split_by_support(folder))


def torch_splitter_saved(folder, out):
    split = split_by_support(folder)
    save_module(split, out)
    return parts_of(split)


def torch_partitioner(folder, out):
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner

    traced, name_of = loaded_module(folder)
    CapabilityBasedPartitioner(traced, supported_by(folder, name_of)).propose_partitions()


def torch_split_module(folder, out):
    from torch.fx.passes.split_module import split_module

    traced, _ = loaded_module(folder)
    part_of = read(folder, "map.json")
    save_module(split_module(traced, None, lambda node: part_of[node.name]), out)


# ---- ONNX ----


def model_of(folder):
    return str(folder / "model.onnx")


def onnx_infer(folder, out):
    import onnx

    onnx.shape_inference.infer_shapes(onnx.load(model_of(folder)))


def onnx_extract(folder, out):
    import onnx
    from onnx.utils import Extractor

    extractor = Extractor(onnx.shape_inference.infer_shapes(onnx.load(model_of(folder))))
    parts = read(folder, "parts.json")
    for part in parts:
        model = extractor.extract_model(part["inputs"], part["outputs"])
        onnx.save(model, out / f"{part['name']}.onnx")
    return len(parts)


def ort_session(folder, out):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    ort.InferenceSession(model_of(folder), options, providers=["CPUExecutionProvider"])


def openvino_query(folder, out):
    import openvino

    core = openvino.Core()
    core.query_model(core.read_model(model_of(folder)), "CPU")


def polygraphy(*arguments):
    from polygraphy.tools import main

    if main(list(arguments)):
        sys.exit("exit status 1")


def polygraphy_inspect(folder, out):
    polygraphy("inspect", "model", model_of(folder), "--show", "layers")


def polygraphy_extract(folder, out):
    part = read(folder, "cut.json")
    sides = [
        word
        for side in ("inputs", "outputs")
        for word in (f"--{side}", *(f"{name}:auto" + ":auto" * (side == "inputs") for name in part[side]))
    ]
    polygraphy("surgeon", "extract", model_of(folder), *sides, "-o", str(out / "cut.onnx"))


def onnx_tool_shapes(folder, out):
    import numpy as np
    import onnx_tool

    graph = onnx_tool.Model(model_of(folder), {"verbose": False}).graph
    graph.shape_infer({name: np.zeros(shape, np.float32) for name, shape in read(folder, "inputs.json").items()})


# ---- the peers ----


@dataclass(frozen=True)
class Peer:
    package: str  # as PyPI calls it
    does: str  # its cell in the table
    beside: str  # the command of cleave
    run: Callable[[Path, Path], int | None]  # of FOLDER and OUT; returns the number of parts


TORCH_PEERS = {
    "torch-splitter": Peer("torch", "torch.fx splitter", "preview", torch_splitter),
    "torch-partitioner": Peer("torch", "CapabilityBasedPartitioner", "preview", torch_partitioner),
    "torch-splitter-saved": Peer("torch", "torch.fx splitter, saved", "split", torch_splitter_saved),
    "torch-split-module": Peer("torch", "split_module by a map, saved", "split --map", torch_split_module),
}
ONNX_PEERS = {
    "onnx-infer": Peer("onnx", "onnx load, infer_shapes", "preview", onnx_infer),
    "ort-session": Peer("onnxruntime", "ONNX Runtime session, not optimised", "preview", ort_session),
    "openvino-query": Peer("openvino", "OpenVINO read, query_model", "preview", openvino_query),
    "polygraphy-inspect": Peer("polygraphy", "polygraphy inspect model", "preview", polygraphy_inspect),
    "onnx-tool-shapes": Peer("onnx-tool", "onnx-tool load, shape_infer", "preview", onnx_tool_shapes),
    "onnx-extract": Peer("onnx", "onnx extract_model of each part", "split", onnx_extract),
    "polygraphy-extract": Peer("polygraphy", "polygraphy surgeon extract", "cut", polygraphy_extract),
}
PEERS = {**TORCH_PEERS, **ONNX_PEERS}


def installed():
    found = {}
    for package in sorted({peer.package for peer in PEERS.values()}):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main():
    if sys.argv[1:] == ["--installed"]:
        print(json.dumps(installed()))
        return
    if len(sys.argv) != 4 or sys.argv[1] not in PEERS:
        sys.exit(f"usage: peer_work.py {'|'.join(PEERS)} FOLDER OUT")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print
    parts = PEERS[sys.argv[1]].run(Path(sys.argv[2]), Path(sys.argv[3]))
    if parts is not None:
        print(json.dumps({"parts": parts}), file=out, flush=True)


if __name__ == "__main__":
    main()
