#!/usr/bin/env python3
"""Splits a PyTorch module in torch as cleave split its graph, so that splits of native JSON can run.

usage:
  apply_fx.py DIR MODEL [--leaf CLASS]... [--return-tuple] [--pipe]
  apply_fx.py DIR --module FILE:CALLABLE [--leaf CLASS]... [--return-tuple] [--pipe]

DIR (or its manifest.json) is the output of `cleave split` or `stage` for the graph that
export_fx.py made of the same module. Builds the split module, runs it and the original on the sample
inputs, and compares the results bit for bit. With --pipe the stages become a Pipe of
torch.distributed.pipelining, with the backward pass where the manifest has one.

As a library:
  split = split_module(module, manifest)          a torch.fx.GraphModule with a child per partition
  pipe = pipeline(module, manifest)               torch.distributed.pipelining's Pipe
  stage = pipe.build_stage(i, devices(manifest)[i], group)

How the module is split:
  inputs       become placeholders of the partition, in the manifest's order; may include parameters
  outputs      one value is returned as it is, several as a tuple; --return-tuple: always a tuple
  parameters   are those of the module, under their paths; not copied (a Pipe copies those that
               several stages use)
  regions      autocast and no-grad regions are entered and left in each partition
  devices      a partition is moved to its device in the manifest, and values with it

Needs torch 1.13, with --pipe torch 2.4 or newer. Exit status: 0 equal; 1 the manifest does not fit
the module, or results differ; 2 wrong usage; 3 the manifest is wrong, or something cannot run; 77 torch is not there.
"""

import argparse
import operator
import re
import sys
import time
from pathlib import Path

import guard

try:
    import torch
    import torch.fx
    from torch.fx.node import map_arg

    import export_fx
    from exported_graph import AUTOCAST, REGIONS
    from torch_chain import is_same
except ImportError as error:
    guard.missing(__name__, "apply_fx.py", error, "torch", __doc__)

WANTED = {
    "format": str,
    "partitions": [{"name": str, "nodes": [str], "inputs": guard.NAMES, "outputs": guard.NAMES, "device?": (str, None)}],
    "root?": {"loss?": (str, None)},
}


class DoesNotFit(guard.Fault):
    """The manifest does not fit the module; the message says why."""

    status = 1


# ---- the manifest --------------------------------------------------------------------------------


def read_manifest(path):
    path = Path(path)
    path = path if path.is_dir() else path.parent
    manifest = guard.read_manifest(path, WANTED)
    if manifest["format"] not in ("cleave.report", "cleave.stages"):
        raise DoesNotFit(f"{path}: not a manifest of cleave split or stage")
    return manifest


def parts_of(manifest):
    """The manifest's partitions in call order."""
    return manifest["stages"] if "stages" in manifest else manifest["partitions"]


def devices(manifest):
    """The device of each partition, or None."""
    return [part.get("device") for part in parts_of(manifest)]


def child_name(part):
    """The partition's name as a valid Python attribute."""
    name = re.sub(r"\W", "_", part["name"])
    return f"_{name}" if not name or name[0].isdigit() else name


# ---- parts ---------------------------------------------------------------------------------------


class Regions:
    """Adds calls to a graph that enter and leave the regions of the nodes that are added to it."""

    def __init__(self, graph):
        self.graph = graph
        self.open = []  # (region, the node that leaving it refers to)

    def go_to(self, regions):
        shared = 0
        for (region, _), wanted in zip(self.open, regions):
            if region != wanted:
                break
            shared += 1
        while len(self.open) > shared:
            self._leave(*self.open.pop())
        for region in regions[shared:]:
            self.open.append((region, self._enter(region)))

    def _enter(self, region):
        if region[0] == AUTOCAST:
            return self.graph.call_function(torch.amp.autocast_mode._enter_autocast, region[1:])
        before = self.graph.call_function(torch.is_grad_enabled)
        self.graph.call_function(torch._C._set_grad_enabled, (region[1],))
        return before

    def _leave(self, region, entered):
        if region[0] == AUTOCAST:
            self.graph.call_function(torch.amp.autocast_mode._exit_autocast, (entered,))
        else:
            self.graph.call_function(torch._C._set_grad_enabled, (entered,))


def names_of(values):
    return [value["name"] for value in values]


def build_part(traced, originals, part, return_tuple):
    """The part as a torch.fx.GraphModule; `originals`: name -> node of the traced graph."""
    graph = torch.fx.Graph()
    regions = Regions(graph)
    copies = {}
    for name in names_of(part["inputs"]):
        copies[originals[name]] = graph.placeholder(name)
        copies[originals[name]].meta = dict(originals[name].meta)

    def copy_of(node):
        if node not in copies:
            if node.op != "get_attr":
                raise DoesNotFit(f'partition "{part["name"]}" reads "{node.name}", which is not an input of it')
            copies[node] = graph.node_copy(node)
        return copies[node]

    wanted = set(part["nodes"])
    for node in traced.graph.nodes:
        if node.name in wanted:
            map_arg((node.args, node.kwargs), copy_of)  # parameters are read before a region begins
            regions.go_to(node.meta.get(REGIONS, ()))
            copies[node] = graph.node_copy(node, copy_of)
    regions.go_to(())
    results = [copy_of(originals[name]) for name in names_of(part["outputs"])]
    graph.output(results[0] if len(results) == 1 and not return_tuple else tuple(results))
    graph.lint()
    return torch.fx.GraphModule(traced, graph, child_name(part))


def check_nodes(traced, manifest, originals):
    """Refuses a manifest of another model."""
    placed = set()
    for part in parts_of(manifest):
        for name in [*part["nodes"], *names_of(part["inputs"]), *names_of(part["outputs"])]:
            if name not in originals:
                raise DoesNotFit(
                    f'the module has no node "{name}", which partition "{part["name"]}" has: split the graph that '
                    "export_fx.py writes of this very module"
                )
        placed.update(part["nodes"])
    for node in traced.graph.nodes:
        is_plain = node.op not in ("placeholder", "get_attr", "output")
        if is_plain and node.users and node.name not in placed:
            raise DoesNotFit(f'no partition of the manifest has the node "{node.name}"')


# ---- the root ------------------------------------------------------------------------------------


def moved_to(value, device):
    return value.to(device) if isinstance(value, torch.Tensor) else value


class Root:
    """The graph that calls the partitions."""

    def __init__(self, traced, originals, has_devices, return_tuple):
        self.traced = traced
        self.originals = originals
        self.has_devices = has_devices
        self.return_tuple = return_tuple
        self.graph = torch.fx.Graph()
        self.values = {}
        for node in traced.graph.nodes:
            if node.op == "placeholder":
                self.values[node] = self.graph.node_copy(node)

    def value(self, node):
        if node not in self.values:
            self.values[node] = self.graph.node_copy(node)  # a parameter
        return self.values[node]

    def call(self, part):
        arguments = [self.value(self.originals[name]) for name in names_of(part["inputs"])]
        if self.has_devices and part.get("device"):
            arguments = [
                self.graph.call_function(moved_to, (argument, part["device"]))
                for argument in arguments
            ]
        called = self.graph.call_module(child_name(part), tuple(arguments))
        outputs = names_of(part["outputs"])
        if len(outputs) == 1 and not self.return_tuple:
            self.values[self.originals[outputs[0]]] = called
            return
        for i, name in enumerate(outputs):
            item = self.graph.call_function(operator.getitem, (called, i))
            self.values[self.originals[name]] = item

    def finish(self):
        output = next(node for node in self.traced.graph.nodes if node.op == "output")
        self.graph.output(map_arg(output.args[0], self.value)).meta = dict(output.meta)
        self.graph.set_codegen(self.traced.graph._codegen)
        self.graph.lint()
        return self.graph


def split_module(module, manifest, leaf_patterns=(), with_devices=True, return_tuple=False, inputs=()):
    """A torch.fx.GraphModule that calls a child for each partition, as cleave's root does.

    `module` is a torch.nn.Module, a traced one, or an exported program; `inputs`: as for export_fx.trace(). Raises DoesNotFit, and
    export_fx.ExportError where the module cannot be traced.
    """
    traced = export_fx.trace(module, leaf_patterns, inputs)
    originals = {node.name: node for node in traced.graph.nodes}
    check_nodes(traced, manifest, originals)
    root = Root(traced, originals, with_devices, return_tuple)
    children = torch.nn.Module()
    for part in parts_of(manifest):
        child = build_part(traced, originals, part, return_tuple)
        if with_devices and part.get("device"):
            place(child, part["device"])
        children.add_module(child_name(part), child)
        root.call(part)
    keep_root_parameters(traced, children)
    return torch.fx.GraphModule(children, root.finish())


def keep_root_parameters(traced, children):
    """Gives the root the attributes that its get_attr nodes read."""
    for node in traced.graph.nodes:
        if node.op == "get_attr":
            torch.fx.graph_module._copy_attr(traced, children, node.target)


def place(part, device):
    """Moves a partition and the tensors that it makes to a device."""
    part.to(device)
    for node in part.graph.nodes:
        if node.op == "call_function" and "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device(device)}
    part.recompile()


# ---- a pipeline ----------------------------------------------------------------------------------


def pipeline(module, manifest, leaf_patterns=()):
    """torch.distributed.pipelining's Pipe of the stages, with the manifest's backward pass.

    The stages get the names that Pipe has for them: submod_pp_0 and so on.
    Devices are left to `pipe.build_stage(i, devices(manifest)[i], group)`.
    """
    from torch.distributed.pipelining import _IR

    if "stages" not in manifest:
        raise DoesNotFit("a Pipe needs stages: use cleave stage")
    stages = [{**part, "name": f"submod_pp_{i}"} for i, part in enumerate(parts_of(manifest))]
    manifest = {**manifest, "stages": stages}
    split = split_module(module, manifest, leaf_patterns, with_devices=False)
    loss = manifest.get("root", {}).get("loss")
    loss_spec = None
    if loss is not None:
        output = next(node for node in split.graph.nodes if node.op == "output")
        loss_node = loss_of(split.graph, manifest, loss)
        loss_spec = map_arg(output.args[0], lambda node: node is loss_node)
        _IR._insert_stage_symbolic_backward(split.graph, loss_node, output)
        split.recompile()
    return _IR.Pipe(split, len(stages), loss is not None, loss_spec)


def loss_of(graph, manifest, loss):
    """The node of the root that computes the loss."""
    part = next(part for part in parts_of(manifest) if loss in names_of(part["outputs"]))
    called = next(node for node in graph.nodes if node.target == child_name(part))
    outputs = names_of(part["outputs"])
    if len(outputs) == 1:
        return called
    return next(user for user in called.users if user.args[1] == outputs.index(loss))


# ---- command line --------------------------------------------------------------------------------


def flat(results):
    from torch.utils import _pytree

    return _pytree.tree_flatten(results)[0]


def run(function, inputs, keywords=None):
    """Results as a flat list, and the seconds it took. A dict of inputs is keywords."""
    torch.manual_seed(0)
    begin = time.perf_counter()
    if isinstance(inputs, dict):
        results = function(**inputs)
    else:
        arguments = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        results = function(*arguments, **(keywords or {}))
    return flat(results), time.perf_counter() - begin


def parse_options(argv):
    parser = argparse.ArgumentParser(
        prog="apply_fx.py", description="Split a module in torch as a manifest of cleave says."
    )
    parser.add_argument("folder", metavar="DIR", help="what cleave split or stage wrote")
    parser.add_argument("model", nargs="?", help="built-in sample, or torchvision classifier")
    parser.add_argument("--module", metavar="FILE:CALLABLE", help="returns (module, inputs)")
    parser.add_argument("--leaf", action="append", default=[], metavar="CLASS")
    parser.add_argument("--pipe", action="store_true", help="build a Pipe of the stages")
    parser.add_argument("--return-tuple", action="store_true", help="partitions always return tuples")
    options = parser.parse_args(argv)
    if bool(options.model) == bool(options.module):
        parser.error("give either MODEL or --module FILE:CALLABLE")
    return options


def apply(options):
    """0 if the split module computes the same as the original, else 1."""
    if options.module:
        module, inputs = export_fx.load_callable(options.module)
    else:
        module, inputs = export_fx.load_builtin(options.model, None)
    export_fx.set_mode(module, False)
    manifest = read_manifest(options.folder)
    if options.pipe:
        split = pipeline(module, manifest, options.leaf)
    else:
        split = split_module(module, manifest, options.leaf, return_tuple=options.return_tuple, inputs=inputs)
    whole = module
    keywords = None
    if export_fx.exported_graph.is_program(module):
        whole = module.module()
        if not inputs:
            inputs, keywords = module.example_inputs
    wanted, whole_seconds = run(whole, inputs, keywords)
    got, split_seconds = run(split, inputs, keywords)
    same = len(wanted) == len(got) and all(map(is_same, wanted, got))
    count = len(parts_of(manifest))
    verdict = "results differ" if not same else "equal, bit for bit" if wanted else "nothing was compared: no results"
    guard.say(
        f"{options.folder}: {count} partitions: {verdict}",
        f"  a call {whole_seconds * 1e3:9.2f} ms whole, {split_seconds * 1e3:9.2f} ms split",
    )
    return 0 if same else 1


def main(argv=None):
    options = parse_options(argv)
    with guard.told("apply_fx.py", options.folder):
        try:
            return apply(options)
        except (export_fx.ExportError, export_fx.UsageError) as error:
            guard.say(*f"apply_fx.py: error: {error}".splitlines(), to_errors=True)
            return 2 if isinstance(error, export_fx.UsageError) else 1


if __name__ == "__main__":
    sys.exit(main())
