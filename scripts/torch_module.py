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


class SplitModule(torch.nn.Module):
    """The partitions in `folder`, called in order. `report` is that of the split."""

    def __init__(self, program, folder, report):
        from torch_chain import Chain  # it imports packages that saving a program does not need

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


def storage(tensor):
    return tensor.untyped_storage()._cdata if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided else None


def written_storages(program):
    """The storages of the traced tensors that operators write: views share that of their base."""
    for node in program.graph.nodes:
        if node.op != "call_function":
            continue
        taken = node.all_input_nodes  # regions have no schema: they may write all that they take
        if schema := getattr(node.target, "_schema", None):
            named = {**dict(zip([argument.name for argument in schema.arguments], node.args)), **node.kwargs}
            taken = [named.get(a.name) for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        for value in pytree.tree_leaves(taken):
            yield storage(getattr(value, "meta", {}).get("val"))


def save(program, path, module=None):
    """torch.export.save(), which keeps a buffer and a constant apart that are one tensor. Raises ValueError where operators of
    the program write such a tensor, since what it computes is lost. `module`: that of the program, to name the attribute."""
    lifted = {spec.target: spec.arg.name for spec in program.graph_signature.input_specs if spec.target is not None}
    traced = {node.name: storage(node.meta.get("val")) for node in program.graph.nodes if node.op == "placeholder"}
    written = set(written_storages(program)) - {None}
    held = {}
    for name, tensor in program.state_dict.items():
        held.setdefault(storage(tensor), []).append(name)
    held.pop(None, None)
    for constant, tensor in program.constants.items():
        names = held.get(storage(tensor), [])
        if names and constant in lifted and any(traced.get(lifted.get(name)) in written for name in (constant, *names)):
            raise ValueError(
                f'"{names[0]}" and "{attribute_of(module, tensor) or constant}" are one tensor, which the program writes, and '
                f"torch.export.save keeps a copy of it for each: read it under one name in forward(), or register both as buffers")
    torch.export.save(program, path)


def attribute_of(module, tensor):
    """The path of the plain attribute that is the tensor, or a view of it; None without a module."""
    for path, owner in module.named_modules() if isinstance(module, torch.nn.Module) else ():
        for name, value in vars(owner).items():
            if storage(value) == storage(tensor):
                return f"{path}.{name}" if path else name
    return None


def split_module(split, module, args, kwargs, support, output, dynamic_shapes, options):
    """`split`: cleave.split(). See cleave.torch.split()."""
    program = exported(module, args, kwargs, dynamic_shapes)
    scratch = tempfile.TemporaryDirectory(prefix="cleave-torch-")
    folder = Path(output) if output is not None else Path(scratch.name) / "split"
    model = Path(scratch.name) / f"{type(module).__name__}.pt2"
    save(program, model, module)
    if isinstance(support, Mapping):
        written = Path(scratch.name) / "support.json"
        content = {"format": "cleave.support", "version": 1, **support}
        written.write_text(json.dumps(content), encoding="utf-8")
        support = written
    made = SplitModule(program, folder, split(model, support, folder, **options))
    made.scratch = scratch if output is None else None  # its files go with the module
    return made
