"""A split torch.export program as a torch.nn.Module: what cleave.torch.split() returns.

    split = split_program(program, "npu.json", folder)
    split(x)                      what the program returns
    split.report.cpu_reasons      what cleave said
    split.get_submodule("_run_on_acc_0")

Each partition is a child under its name. Values are copied when they leave a partition, as between devices, and without
gradients.
"""
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

import guard
from run_torch_split import Chain


class SplitModule(torch.nn.Module):
    """The partitions in `folder`, called in order. `report` is that of the split."""

    def __init__(self, program, folder, report):
        super().__init__()
        self.folder = Path(folder)
        self.report = report
        self.call_spec = program.call_spec
        self.chain = Chain(self.folder, guard.read_chain(self.folder, guard.TORCH), program)
        for part, module in zip(self.chain.chain["order"], self.chain.modules):
            self.add_module(part["name"], module)

    def forward(self, *args, **kwargs):
        # Keywords may come in another order than that of the export.
        names = self.call_spec.in_spec.child(1).context if hasattr(self.call_spec.in_spec, "child") else list(kwargs)
        ordered = {name: kwargs[name] for name in names if name in kwargs} if len(names) == len(kwargs) else kwargs
        flat, spec = pytree.tree_flatten((args, ordered))
        if spec != self.call_spec.in_spec:
            raise TypeError(f"the program was exported for other arguments: {self.call_spec.in_spec}")
        with torch.no_grad():
            results = self.chain(flat)
        return pytree.tree_unflatten(results, self.call_spec.out_spec)


def exported(module, args, kwargs, dynamic_shapes):
    """The program of the module; a program as it is."""
    if isinstance(module, torch.export.ExportedProgram):
        return module
    return torch.export.export(module, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes)


def split_module(split, module, args, kwargs, support, output, dynamic_shapes, options):
    """`split`: cleave.split(). See cleave.torch.split()."""
    program = exported(module, args, kwargs, dynamic_shapes)
    scratch = tempfile.TemporaryDirectory(prefix="cleave-torch-")
    folder = Path(output) if output is not None else Path(scratch.name) / "split"
    model = Path(scratch.name) / f"{type(module).__name__}.pt2"
    torch.export.save(program, model)
    if isinstance(support, Mapping):
        written = Path(scratch.name) / "support.json"
        content = {"format": "cleave.support", "version": 1, **support}
        written.write_text(json.dumps(content), encoding="utf-8")
        support = written
    made = SplitModule(program, folder, split(model, support, folder, **options))
    made.scratch = scratch if output is None else None  # its files go with the module
    return made
