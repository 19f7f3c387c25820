"""Programs of torch.export as plain torch.fx graphs, for export_fx.py and apply_fx.py.

Terms: an exported module is a torch.export.ExportedProgram, or the torch.fx.GraphModule that its
`module()` returns. A region is a stretch of a program that runs with autocast or with gradients
switched on or off.

Steps of `flat_module`, which does not change the given module:
1. Remove guards on the inputs (a call of `_guards_fn`).
2. Replace each operator that wraps a region by the region's body. Record in each node the regions
   that it is in, so that a partition of the graph can enter them again (`REGIONS`).
3. Replace calls that a tracer wrote to enter and leave regions by such records.
4. Refuse an operator that takes a module as an argument, such as `cond`: it has no plain form.
"""

import operator

import torch
import torch.fx
from torch.fx.node import map_arg

REGIONS = "cleave_regions"  # key of node.meta: tuple of regions, outermost first
AUTOCAST = "autocast"  # a region ("autocast", device type, dtype, enabled, cache enabled)
GRADIENTS = "gradients"  # a region ("gradients", enabled)
_WRAPPERS = {"wrap_with_autocast": AUTOCAST, "wrap_with_set_grad_enabled": GRADIENTS}


class NotFlat(Exception):
    """The program has no plain graph; the message says why, and what helps."""


def is_program(value):
    return hasattr(torch, "export") and isinstance(value, torch.export.ExportedProgram)


def has_recorded_values(module):
    """True for a graph that says of each input what it is, as those of torch.export do."""
    if not isinstance(module, torch.fx.GraphModule):
        return False
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    if not placeholders:
        return any("val" in node.meta for node in module.graph.nodes)
    return all("val" in node.meta for node in placeholders)


def module_of(program):
    """The module of an exported program, without a check of guards where torch can leave it out."""
    try:
        return program.module(check_guards=False)
    except TypeError:  # torch before 2.9
        return program.module()


def flat_module(module):
    """A torch.fx.GraphModule that computes what `module` computes, as the head of this file says.

    `module` is an ExportedProgram or a torch.fx.GraphModule. Raises NotFlat.
    """
    if is_program(module):
        module = module_of(module)
    return torch.fx.GraphModule(module, _Flattener(module).graph())


class _Flattener:
    def __init__(self, root):
        self.root = root
        self.result = torch.fx.Graph()
        self.taken = {node.name for node in root.graph.nodes}
        self.entered = {}  # a tracer's node that enters a region -> the region

    def graph(self):
        values = {}
        self._copy_body(self.root, "", values, ())
        output = next(node for node in self.root.graph.nodes if node.op == "output")
        copied = self.result.output(map_arg(output.args[0], values.__getitem__))
        copied.meta = dict(output.meta)
        self.result.set_codegen(self.root.graph._codegen)
        self.result.lint()
        return self.result

    def _copy_body(self, owner, prefix, values, regions):
        """Copies the nodes of one graph but its output.

        `values` gets a node for each, or a tuple of nodes.
        """
        is_root = not prefix
        for node in owner.graph.nodes:
            if node.op == "output" or (node.op == "placeholder" and not is_root):
                continue
            if _is_module(node, owner):
                self._check_users(node)
                continue
            if node.op == "call_module" and _is_guard(node, owner):
                continue
            if _wrapper(node) is not None:
                values[node] = self._inline(node, owner, prefix, values, regions)
            elif _enters_region(node):
                regions = self._enter(node, regions)
            elif _leaves_region(node):
                regions = self._leave(node, regions)
            elif _is_item_of(node, values):
                values[node] = values[node.args[0]][node.args[1]]
            else:
                values[node] = self._copy(node, prefix, values, regions)

    def _copy(self, node, prefix, values, regions):
        name = node.name
        if prefix:  # a body's names are its own
            number = 0
            while name in self.taken:
                number += 1
                name = f"{node.name}_{number}"
            self.taken.add(name)
        target = prefix + node.target if node.op in ("get_attr", "call_module") else node.target
        copied = self.result.create_node(
            node.op,
            target,
            map_arg(node.args, values.__getitem__),
            map_arg(node.kwargs, values.__getitem__),
            name,
            node.type,
        )
        copied.meta = dict(node.meta)
        if regions:
            copied.meta[REGIONS] = regions
        return copied

    def _inline(self, node, owner, prefix, values, regions):
        region, body_node, operands = _wrapper(node)
        body = _attribute(owner, body_node.target)
        placeholders = [inner for inner in body.graph.nodes if inner.op == "placeholder"]
        inner_values = dict(zip(placeholders, map_arg(tuple(operands), values.__getitem__)))
        self._copy_body(body, f"{prefix}{body_node.target}.", inner_values, (*regions, region))
        returned = next(inner for inner in body.graph.nodes if inner.op == "output").args[0]
        return map_arg(returned, inner_values.__getitem__)

    def _check_users(self, node):
        for user in node.users:
            if _wrapper(user) is None:
                raise NotFlat(
                    f'node "{user.name}" ({user.target}) takes the module "{node.target}" for an '
                    "argument: a plain graph cannot hold it\n"
                    "  mend: make the control flow part of a leaf module, or save the program "
                    "with torch.export.save and give cleave the .pt2 file, where such an operator "
                    "is one node"
                )

    # What tracers write: enter/exit pairs, and calls that set gradients until the next such call.
    def _enter(self, node, regions):
        name = _name_of(node.target)
        if name == "_enter_autocast":
            region = (AUTOCAST, *_autocast_arguments(*node.args, **node.kwargs))
            self.entered[node] = region
            return (*regions, region)
        others = tuple(region for region in regions if region[0] != GRADIENTS)
        return (*others, (GRADIENTS, node.args[0]))

    def _leave(self, node, regions):
        innermost = [region for region in regions if region[0] == AUTOCAST][-1:]
        if innermost != [self.entered.get(node.args[0])]:
            raise NotFlat(
                f'node "{node.name}" leaves a region of autocast that is not the innermost one'
            )
        return tuple(region for region in regions if region is not innermost[0])


def _attribute(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _name_of(target):
    """The plain name of what a call_function node calls."""
    return getattr(target, "__name__", None) or getattr(target, "_name", "")


def _is_module(node, owner):
    """True for the body of an operator."""
    if node.op != "get_attr":
        return False
    return isinstance(_attribute(owner, node.target), torch.nn.Module)


def _is_item_of(node, values):
    """True for `getitem` of what a body returned."""
    if node.target is not operator.getitem or not isinstance(node.args[0], torch.fx.Node):
        return False
    return isinstance(values[node.args[0]], (tuple, list))


def _is_guard(node, owner):
    called = type(_attribute(owner, node.target)).__name__
    return called == "GuardsFn" or node.target.rpartition(".")[2].startswith("_guards_fn")


def _wrapper(node):
    """(region, node of the body, operands) of an operator that wraps a body, else None."""
    if node.op != "call_function" or isinstance(node.target, torch._ops.OpOverload):
        return None
    kind = _WRAPPERS.get(_name_of(node.target))
    if kind is None:
        return None
    settings = 4 if kind == AUTOCAST else 1
    region = (kind, *node.args[:settings])
    return region, node.args[settings], node.args[settings + 1 :]


def _enters_region(node):
    return node.op == "call_function" and _name_of(node.target) in (
        "_enter_autocast",
        "_set_grad_enabled",
    )


def _leaves_region(node):
    return node.op == "call_function" and _name_of(node.target) == "_exit_autocast"


def _autocast_arguments(device_type, dtype=None, enabled=True, cache_enabled=None):
    return device_type, dtype, enabled, cache_enabled
