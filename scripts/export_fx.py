#!/usr/bin/env python3
"""Traces a PyTorch model with torch.fx and writes native graph JSON (cleave.graph, version 1).

usage:
  export_fx.py MODEL [-o FILE] [--shape 1x3x224x224]
  export_fx.py --module FILE:CALLABLE [-o FILE]
  export_fx.py --list

MODEL is a built-in sample (`--list` names them) or any torchvision classification model; its
weights are random, since only shapes are written. CALLABLE takes no arguments and returns
(module, inputs): a torch.nn.Module, a torch.fx.GraphModule that is traced already, or what
torch.export.export returns; and a tuple of arguments, or a dict of keyword arguments, to run it
with once. FILE may be `-`, the default, for standard output.

As a library:
  graph = export_graph(trace(module), inputs, "my model")
  write_graph(graph, "my_model.json")

How the graph is written:
  placeholder   an entry of `inputs`; `target` where the argument is called otherwise, `default`
  get_attr      an entry of `parameters` with "get_attr": true, its path in the module as `target`
  call_*        a node; `op` is the target's qualified name, the module's class, or the method's name
  output        `outputs`, flattened; `output_tree` where more than one plain value is returned
Arguments that refer to other nodes go to `inputs` and `kwargs`; literals go to `attributes`, as
`arg<i>` or under their keyword; so do a module's hyperparameters (stride, in_features, ...), so
that rules can test them. An argument that mixes both, such as a list of sizes of which one is
computed, is also an attribute, with {"value": NAME} for each reference. The weights themselves are
not written.

An exported program is not run: its graph has the type of each value, with names for symbolic dims.
Its guards are removed, and the bodies of autocast and no-grad regions become nodes of the graph
(exported_graph.py). cleave also splits the .pt2 file of such a program directly, and follows writes in
place there; use this script for the structure alone, and for apply_fx.py.

Needs PyTorch 1.13 or newer (Debian: python3-torch, python3-torchvision).
Exit status: 0 done; 1 the model cannot be loaded, traced or run; 2 wrong usage; 4 FILE cannot be written, or is there already
(--force).
"""

import argparse
import contextlib
import dis
import fnmatch
import importlib.util
import inspect
import json
import keyword
import math
import os
import sys
from pathlib import Path

import guard

try:
    import torch
    import torch.fx
    from torch.fx.immutable_collections import immutable_dict, immutable_list
    from torch.fx.node import _get_qualified_name
    from torch.fx.passes.shape_prop import ShapeProp
except ImportError as error:
    guard.missing(__name__, "export_fx.py", error, "torch; Debian: apt install python3-torch")

import exported_graph

DTYPES = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.bool: "bool",
    torch.complex64: "complex64",
    torch.complex128: "complex128",
    torch.qint8: "int8",  # quantised tensors: the type that is stored
    torch.quint8: "uint8",
    torch.qint32: "int32",
}
for _newer in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"):
    if hasattr(torch, _newer):
        DTYPES[getattr(torch, _newer)] = _newer

NAMED_OR_REST = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
SCALARS = (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout)
SYMBOLIC = {"SymInt": "int", "SymFloat": "float", "SymBool": "bool"}
PLAIN_CONTAINERS = (tuple, list, dict, immutable_list, immutable_dict)
SCOPE = "cleave_scope"  # key of node.meta: dotted path of the module whose forward made the node
VALUE = "cleave_value"  # key of node.meta: describe() of what the node returned


class ExportError(Exception):
    """The model cannot be exported; the message tells the user why."""


class UsageError(Exception):
    """The command line names something that does not exist."""


# ---- tracing -------------------------------------------------------------------------------------


class Unpacking:
    """Lets `a, b = x.chunk(2)` be traced, which PyTorch 1.13 cannot do under Python 3.11."""

    def __iter__(self):
        frame = sys._getframe(1)  # the code that asks for the iterator
        for step in dis.get_instructions(frame.f_code):
            if step.offset == frame.f_lasti and step.opname == "UNPACK_SEQUENCE":
                return (self[i] for i in range(step.argval))  # type: ignore[index]  # __getattr__ is not seen
        raise torch.fx.proxy.TraceError("a loop over a traced value: its length is not known")

    def __getattr__(self, name):
        return UnpackingAttribute(self, name)


class UnpackingProxy(Unpacking, torch.fx.Proxy):
    pass


class UnpackingAttribute(Unpacking, torch.fx.proxy.Attribute):
    pass


class ScopeTracer(torch.fx.Tracer):
    """A tracer that remembers in which module each node was made."""

    def __init__(self, leaf_patterns=()):
        super().__init__()
        self.leaf_patterns = leaf_patterns
        self.scopes = [""]

    def is_leaf_module(self, module, module_qualified_name):
        if any(fnmatch.fnmatchcase(class_name(module), glob) for glob in self.leaf_patterns):
            return True
        return super().is_leaf_module(module, module_qualified_name)

    def call_module(self, module, *args, **kwargs):
        self.scopes.append(self.path_of_module(module))
        try:
            return super().call_module(module, *args, **kwargs)
        finally:
            self.scopes.pop()

    def create_node(self, *args, **kwargs):
        node = super().create_node(*args, **kwargs)
        node.meta[SCOPE] = self.scopes[-1]
        return node

    def proxy(self, node):
        return UnpackingProxy(node, self)


@contextlib.contextmanager
def named_keywords(module, inputs):
    """While this lasts, the forward() of the module has an argument for each of the inputs, a dict, that it takes as **kw:
    torch.fx passes none of these on."""
    forward, kind = type(module).forward, type(module)
    parameters = inspect.signature(forward).parameters.values()
    kinds = {one.kind for one in parameters}
    if inspect.Parameter.VAR_KEYWORD not in kinds or not kinds <= NAMED_OR_REST or not isinstance(inputs, dict):
        yield
        return
    named = {one.name: one.default for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD}
    own, *names = named
    names += [name for name in inputs if name not in named]
    defaults = {name: value for name, value in named.items() if value is not inspect.Parameter.empty}
    names.sort(key=lambda name: name in defaults)  # those are last
    wrong = [name for name in names if not str(name).isidentifier() or keyword.iskeyword(name)]
    if wrong:
        raise ExportError(f'"{wrong[0]}" is no name of an argument')
    known = {"_forward": forward}
    exec(f"def forward({', '.join([own, *names])}): return _forward({', '.join([own, *(f'{n}={n}' for n in names)])})", known)
    known["forward"].__defaults__ = tuple(defaults[name] for name in names if name in defaults)
    module.__class__ = type(kind.__name__, (kind,), {"forward": known["forward"], "__module__": kind.__module__,
                                                     "__qualname__": kind.__qualname__})  # fmt: skip
    try:
        yield
    finally:
        module.__class__ = kind


def trace(module, leaf_patterns=(), inputs=()):
    """The module as a torch.fx.GraphModule whose nodes know their scope. `inputs`: a dict names those that it takes as **kw."""
    if exported_graph.is_program(module) or isinstance(module, torch.fx.GraphModule):
        try:
            return exported_graph.flat_module(module)
        except exported_graph.NotFlat as refusal:
            raise ExportError(str(refusal)) from refusal
    try:
        with named_keywords(module, inputs):
            graph = ScopeTracer(leaf_patterns).trace(module)
    except ExportError:
        raise
    except Exception as cause:  # tracing runs the user's code: anything may come out of it
        mend = "mark the module that branches on data as a leaf with --leaf CLASS, or wrap it"
        if "code()" in str(cause):  # PyTorch 1.13 rebuilds such functions, in a way 3.11 refuses
            mend = "give forward plain arguments: no *args, **kwargs or keyword-only ones"
        raise ExportError(
            f"torch.fx cannot trace {class_name(module)}: {cause}\n  mend: {mend}"
        ) from cause
    return torch.fx.GraphModule(module, graph)


class ValueRecorder(ShapeProp):
    """Runs a graph once and notes for each node what kind of value it returned."""

    def run_node(self, node):
        result = super().run_node(node)
        node.meta[VALUE] = describe(result, node.name)
        return result


def record_values(graph_module, sample_inputs):
    """Notes for each node what it returns: as the graph says, where it does, else by running it."""
    if not exported_graph.has_recorded_values(graph_module):
        run_once(graph_module, sample_inputs)
        return
    for node in graph_module.graph.nodes:
        if "val" in node.meta or not node.users:  # asserts return nothing, and say nothing
            node.meta[VALUE] = describe(node.meta.get("val"), node.name)
        else:
            node.meta[VALUE] = {"type": "unknown"}


def run_once(graph_module, sample_inputs):
    args = arguments_in_order(graph_module, sample_inputs)
    try:
        with torch.no_grad():
            ValueRecorder(graph_module).propagate(*args)
    except ExportError:
        raise
    except Exception as cause:  # the model's own code again
        raise ExportError(f"the model does not run on its sample inputs: {cause}") from cause


def arguments_in_order(graph_module, sample_inputs):
    """Sample inputs as a tuple in the order of the placeholders; a dict goes by argument name."""
    if not isinstance(sample_inputs, dict):
        is_sequence = isinstance(sample_inputs, (tuple, list))
        return tuple(sample_inputs) if is_sequence else (sample_inputs,)
    placeholders = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
    known = {n.target for n in placeholders}
    unknown = [name for name in sample_inputs if name not in known]
    if unknown:
        raise ExportError(
            f'the model has no argument "{unknown[0]}"; it has {", ".join(sorted(known))}'
            + ("\n  mend: give trace() the inputs, or write a forward() without **kw" if "**" in "".join(known) else "")
        )
    args = []
    for node in placeholders:
        if node.target in sample_inputs:
            args.append(sample_inputs[node.target])
        elif node.args:
            args.append(node.args[0])
        else:
            raise ExportError(f'no sample input for the argument "{node.target}"')
    return tuple(args)


# ---- values and literals -------------------------------------------------------------------------


def describe(value, where):
    """A value as the format has it: type, then dtype and shape, or py_type and elements."""
    if isinstance(value, torch.Tensor):
        if value.dtype not in DTYPES:
            raise ExportError(f'"{where}" has dtype {value.dtype}, which the format does not know')
        shape = [dim if isinstance(dim, int) else str(dim) for dim in value.shape]
        return {"type": "tensor", "dtype": DTYPES[value.dtype], "shape": shape}
    if value is None:
        return {"type": "none"}
    if type(value).__name__ in SYMBOLIC:
        return {"type": "scalar", "py_type": SYMBOLIC[type(value).__name__]}
    if isinstance(value, (tuple, list, dict)):
        return describe_container(value, where)
    kind = "scalar" if isinstance(value, SCALARS) else "unknown"
    return {"type": kind, "py_type": class_name(value)}


def describe_container(value, where):
    kinds = {tuple: "tuple", list: "list", dict: "map"}
    kind = next(name for base, name in kinds.items() if isinstance(value, base))
    items = value.values() if kind == "map" else value
    described: dict[str, object] = {"type": kind}
    if type(value) not in PLAIN_CONTAINERS:
        described["py_type"] = class_name(value)
    described["elements"] = [describe(item, where) for item in items]
    return described


def class_name(value):
    """`torch.nn.modules.conv.Conv2d` for a Conv2d, `int` for 7."""
    cls = getattr(value, "_base_class_origin", None) or type(value)
    return (
        cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    )


def literal(value):
    """A Python literal as JSON: {"slice": [start, stop, step]}, a dtype or device by its name.

    A node in it becomes {"value": its name}.
    """
    if isinstance(value, torch.fx.Node):
        return {"value": value.name}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [literal(item) for item in value]
    if isinstance(value, dict):
        return {str(key): literal(item) for key, item in value.items()}
    if isinstance(value, slice):
        return {"slice": [literal(part) for part in (value.start, value.stop, value.step)]}
    return "..." if value is Ellipsis else str(value)


def references(argument):
    """The nodes inside an argument, in the order in which torch.fx visits them."""
    found = []
    torch.fx.node.map_arg(argument, found.append)
    return [node.name for node in found]


def reference(argument):
    """A node's name; {"list": names} for nodes inside a container; None for a literal."""
    if isinstance(argument, torch.fx.Node):
        return argument.name
    names = references(argument)
    return {"list": names} if names else None


def mixes_literals(argument):
    """True for a container that holds nodes and something else, such as [n, 3] or x[:n]."""
    if isinstance(argument, slice):
        return bool(references(argument))
    if isinstance(argument, dict):
        argument = list(argument.values())
    if not isinstance(argument, (tuple, list)) or not references(argument):
        return False
    return not all(isinstance(item, torch.fx.Node) for item in argument)


# ---- nodes ---------------------------------------------------------------------------------------


def operator_name(node, modules):
    if node.op == "call_module":
        return class_name(modules[node.target])
    if node.op == "call_method":
        return node.target
    if isinstance(node.target, torch._ops.OpOverload):
        return f"torch.ops.{node.target}"  # torch.ops.aten.add.Tensor
    return _get_qualified_name(node.target)


def hyperparameters(module):
    """What a module was built with, by name.

    PyTorch's classes list those names in __constants__; for others every public attribute counts.
    """
    names = list(getattr(module, "__constants__", ()))
    if not names:
        names = [name for name in vars(module) if not name.startswith("_") and name != "training"]
    names += [name for name in ("embed_dim", "num_heads") if name in vars(module)]  # attention
    values = {name: getattr(module, name) for name in names if hasattr(module, name)}
    return {name: literal(value) for name, value in values.items() if is_simple(value)}


def is_simple(value):
    if isinstance(value, (tuple, list)):
        return all(is_simple(item) for item in value)
    return isinstance(value, (bool, int, float, str))


def node_attributes(node, modules):
    attributes = hyperparameters(modules[node.target]) if node.op == "call_module" else {}
    arguments = {f"arg{i}": argument for i, argument in enumerate(node.args)}
    for name, argument in {**arguments, **node.kwargs}.items():
        if reference(argument) is None or mixes_literals(argument):
            attributes[name] = literal(argument)
    return attributes


def node_scope(node):
    if SCOPE in node.meta:
        return node.meta[SCOPE]
    stack = node.meta.get("nn_module_stack")  # graphs traced elsewhere
    if stack:
        innermost = list(stack.values())[-1] if isinstance(stack, dict) else None
        path = innermost[0] if isinstance(innermost, tuple) else list(stack)[-1]
        is_from_user = not path.startswith("_empty_nn_module_stack")  # torch adds nodes of its own
        return path if is_from_user else ""
    return node.target if node.op == "call_module" else ""


def export_node(node, modules, parameters):
    entry = {"name": node.name, "op": operator_name(node, modules), "kind": node.op}
    if node.op == "call_module":
        entry["target"] = node.target
    entry["inputs"] = [reference(argument) for argument in node.args]
    kwargs = {name: reference(argument) for name, argument in node.kwargs.items()}
    kwargs = {name: referred for name, referred in kwargs.items() if referred is not None}
    if kwargs:
        entry["kwargs"] = kwargs
    if node.op == "call_module":
        owned = parameters.add_module(node.target, modules[node.target])
        if owned:
            entry["module_parameters"] = owned
    entry["outputs"] = [{"name": node.name, **node.meta[VALUE]}]
    attributes = node_attributes(node, modules)
    if attributes:
        entry["attributes"] = attributes
    scope = node_scope(node)
    if scope:
        entry["scope"] = scope
    return entry


# ---- parameters ----------------------------------------------------------------------------------


class ParameterTable:
    """The graph's `parameters`: each tensor under its first path, with other names as aliases."""

    def __init__(self):
        self.entries = {}  # name -> entry, in the order of first use
        self.first_name = {}  # id of a tensor -> the name of its first entry
        self.tensors = []  # keeps the ids above from being used again

    def add_module(self, path, module):
        """Adds what the module at `path` owns; returns the names."""
        owned = []
        for prefix, part in module.named_modules(prefix=path, remove_duplicate=False):
            for name, tensor in [*part._parameters.items(), *part._buffers.items()]:
                if tensor is not None:
                    owned.append(f"{prefix}.{name}")
                    extra = buffer_fields(part, name, tensor)
                    self.add(owned[-1], tensor, describe(tensor, owned[-1]), extra)
        return owned

    def add_get_attr(self, node, module):
        """`module` is the one that node.target is a path in."""
        path, _, name = node.target.rpartition(".")
        value = attribute_at(module, node.target)
        if isinstance(value, torch.nn.Module):
            taken_by = ", ".join(user.name for user in node.users)
            guard.say(
                f'export_fx.py: warning: module "{node.target}" is an argument of {taken_by}: its work and its weights '
                "are not in the graph",
                "  mend: call the module in forward(), or make the function a module and a leaf of it",
                to_errors=True,
            )
        fields = buffer_fields(attribute_at(module, path), name, value)
        extra = {"get_attr": True, "target": node.target, **fields}
        self.add(node.name, value, node.meta[VALUE], extra)

    def add(self, name, value, described, extra=None):
        if name in self.entries:
            return
        entry = {"name": name, **described, **(extra or {})}
        if entry.get("type") == "tensor":
            del entry["type"]  # what a parameter is anyway
            self.tensors.append(value)
            first = self.first_name.setdefault(id(value), name)
            if first != name and not self.reads_same(entry, self.entries[first]):
                entry["alias_of"] = first
        self.entries[name] = entry

    @staticmethod
    def reads_same(one, other):
        """Two get_attr nodes of one target are one parameter already, without an alias."""
        return "target" in one and one["target"] == other.get("target")


def buffer_fields(owner, name, value):
    """The fields of an entry that say whether the module's attribute is a buffer, and of which kind."""
    if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter):
        return {}
    is_hidden = name in getattr(owner, "_non_persistent_buffers_set", ())
    return {"buffer": True, **({"persistent": False} if is_hidden else {})}


def attribute_at(module, path):
    for part in filter(None, path.split(".")):
        module = getattr(module, part)
    return module


# ---- the graph -----------------------------------------------------------------------------------


def export_graph(graph_module, sample_inputs, name):
    """The graph as a dict in cleave.graph form, version 1.

    Runs the module once on `sample_inputs` (a tuple, or a dict by argument name) to learn types and
    shapes, unless its graph has them. Nodes keep the order they have in the graph. Raises
    ExportError.
    """
    record_values(graph_module, sample_inputs)
    modules = dict(graph_module.named_modules(remove_duplicate=False))
    parameters = ParameterTable()
    inputs, nodes, get_attrs, returned = [], [], [], None
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            inputs.append(export_input(node))
        elif node.op == "get_attr":
            get_attrs.append(node)
        elif node.op == "output":
            returned = returned_tree(graph_module, node.args[0])
        else:
            nodes.append(export_node(node, modules, parameters))
    for node in get_attrs:  # after the modules, so that a tied weight is named by its module
        parameters.add_get_attr(node, graph_module)
    graph = {"format": "cleave.graph", "version": 1, "name": name, "inputs": inputs}
    graph["outputs"] = references(returned)
    if not isinstance(returned, torch.fx.Node):
        graph["output_tree"] = output_tree(returned)
    graph["parameters"] = list(parameters.entries.values())
    graph["nodes"] = nodes
    check_graph(graph)
    return graph


def export_input(node):
    entry = {"name": node.name, **node.meta[VALUE]}
    if node.target != node.name:
        entry["target"] = node.target
    if node.args:
        entry["default"] = literal(node.args[0])
    return entry


def returned_tree(graph_module, returned):
    """What the module returns; an exported graph returns a flat tuple and knows the structure."""
    tree = getattr(getattr(graph_module.graph._codegen, "pytree_info", None), "out_spec", None)
    if tree is None:
        return returned
    from torch.utils import _pytree

    try:
        structure = _pytree.tree_unflatten(list(returned), tree)
    except Exception:  # a class of the user's that is made of tensors only
        return returned
    return structure if isinstance(structure, (torch.fx.Node, tuple, list, dict)) else returned


def output_tree(returned):
    if isinstance(returned, torch.fx.Node):
        return returned.name
    if isinstance(returned, (tuple, list)):
        return [output_tree(item) for item in returned]
    if isinstance(returned, dict):
        return {str(key): output_tree(item) for key, item in returned.items()}
    return None  # a literal: no value bears it


def check_graph(graph):
    """Checks a finished graph: names are unique, everything that is read exists."""
    declared = [entry["name"] for entry in graph["inputs"] + graph["parameters"]]
    owned_names = {entry["name"] for entry in graph["parameters"]}
    known = set(declared)
    if len(known) != len(declared):
        raise ExportError("an input and a parameter, or two of them, share a name")
    for entry in graph["parameters"]:
        if entry.get("alias_of", entry["name"]) not in owned_names:
            raise ExportError(f'parameter "{entry["name"]}" is an alias of an unknown parameter')
    for node in graph["nodes"]:
        for argument in [*node["inputs"], *node.get("kwargs", {}).values()]:
            names = argument["list"] if isinstance(argument, dict) else [argument]
            for name in names:
                if name is not None and name not in known:
                    raise ExportError(
                        f'node "{node["name"]}" reads "{name}", which no node produces'
                    )
        missing = [n for n in node.get("module_parameters", []) if n not in owned_names]
        if missing:
            raise ExportError(
                f'node "{node["name"]}" owns "{missing[0]}", which is not a parameter'
            )
        if node["name"] in known:
            raise ExportError(f'the name "{node["name"]}" is used twice')
        known.add(node["name"])
    for name in graph["outputs"]:
        if name not in known:
            raise ExportError(f'the graph returns "{name}", which no node produces')


def graph_text(graph):
    """The graph as JSON with one input, parameter or node a line."""
    fields = []
    for key, value in graph.items():
        if key in ("inputs", "parameters", "nodes") and value:
            lines = ",\n".join("    " + one_line(item) for item in value)
            fields.append(f'  "{key}": [\n{lines}\n  ]')
        else:
            fields.append(f'  "{key}": {one_line(value)}')
    return "{\n" + ",\n".join(fields) + "\n}\n"


def one_line(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def write_graph(graph, path, force=True, inputs=()):
    """Writes the graph to a file, which appears whole or not at all. Without `force` none is replaced, and no `inputs` ever."""
    with guard.new_file(path, force, inputs) as out:
        out.write(graph_text(graph).encode())


# ---- command line --------------------------------------------------------------------------------


def load_builtin(name, shape):
    """(module, inputs) of a sample, or of a torchvision model that reads an image of `shape`."""
    import sample_models

    torch.manual_seed(0)
    if name in sample_models.MODELS and not shape:
        return sample_models.MODELS[name]()
    if name in sample_models.MODELS and name not in sample_models.IMAGE_MODELS:
        raise UsageError(f'--shape: "{name}" does not read images')
    try:
        return sample_models.torchvision_model(name, shape or (1, 3, 224, 224))
    except LookupError as cause:
        raise UsageError(f'unknown model "{name}": see --list\n  {cause}') from cause


def load_callable(spec):
    """(module, inputs) from FILE:CALLABLE."""
    path, colon, function = spec.rpartition(":")
    if not colon or not path or not function:
        raise UsageError(f'"{spec}" is not of the form FILE:CALLABLE')
    if not os.path.isfile(path):
        raise ExportError(f"{path}: no such file")
    module_spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if module_spec is None:
        raise ExportError(f"{path}: not a Python file")
    loaded = importlib.util.module_from_spec(module_spec)
    sys.path.insert(0, str(Path(path).resolve().parent))
    torch.manual_seed(0)
    try:
        module_spec.loader.exec_module(loaded)
        result = getattr(loaded, function)()
    except Exception as cause:  # the user's file
        raise ExportError(f"{spec}: {type(cause).__name__}: {cause}") from cause
    if exported_graph.is_program(result):
        return result, ()
    if not (isinstance(result, tuple) and len(result) == 2):
        raise ExportError(f"{spec}: must return (module, inputs)")
    if not isinstance(result[0], torch.nn.Module) and not exported_graph.is_program(result[0]):
        raise ExportError(f"{spec}: returned {class_name(result[0])}, not a torch.nn.Module")
    return result


def image_shape(text):
    try:
        shape = tuple(int(dim) for dim in text.replace(",", "x").split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a shape like 1x3x224x224') from None
    if not shape or min(shape) < 1:
        raise argparse.ArgumentTypeError(f'"{text}": every dim must be 1 or more')
    return shape


def parse_options(argv):
    parser = argparse.ArgumentParser(
        description="Trace a PyTorch model with torch.fx and write native graph JSON.",
        epilog="Exit status: 0 done, 1 the model cannot be exported, 2 wrong usage, 4 FILE is not written.",
    )
    parser.add_argument("model", nargs="?", help="built-in sample, or torchvision classifier")
    parser.add_argument("--module", metavar="FILE:CALLABLE", help="returns (module, inputs)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: stdout")
    parser.add_argument("--force", action="store_true", help="replace FILE")
    parser.add_argument("--name", help="the graph's name; default: the model's")
    parser.add_argument("--shape", type=image_shape, help="input shape of an image model")
    parser.add_argument(
        "--leaf",
        action="append",
        default=[],
        metavar="CLASS",
        help="do not trace into modules of this class (qualified name, * and ?); repeatable",
    )
    parser.add_argument("--train", action="store_true", help="keep training mode (default: eval)")
    parser.add_argument("--list", action="store_true", help="list the built-in models")
    options = parser.parse_args(argv)
    if not options.list and bool(options.model) == bool(options.module):
        parser.error("give either MODEL or --module FILE:CALLABLE")
    if options.module and options.shape:
        parser.error("--shape belongs to a built-in MODEL; CALLABLE returns its own inputs")
    return options


def default_name(options):
    if options.name:
        return options.name
    return options.model or options.module.rpartition(":")[2]


def set_mode(module, is_training):
    """Sets training or evaluation mode; an exported module has its mode in the graph."""
    is_exported = exported_graph.is_program(module) or exported_graph.has_recorded_values(module)
    if not is_exported:
        module.train(is_training)
    elif is_training:
        raise UsageError("--train: an exported program keeps the mode that it was exported in")


def inputs_of(options):
    return [options.module.rpartition(":")[0]] if options.module else []


def run(options):
    if options.output != "-":
        guard.check_new_file(options.output, options.force, inputs_of(options))
    if options.list:
        import sample_models

        guard.say(*sample_models.names())
        return
    if options.module:
        module, inputs = load_callable(options.module)
    else:
        module, inputs = load_builtin(options.model, options.shape)
    set_mode(module, options.train)
    graph = export_graph(trace(module, options.leaf, inputs), inputs, default_name(options))
    if options.output == "-":
        sys.stdout.write(graph_text(graph))
        sys.stdout.flush()
    else:
        write_graph(graph, options.output, options.force, inputs_of(options))


def main(argv=None):
    options = parse_options(argv)
    try:
        run(options)
    except BrokenPipeError:  # the reader of our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ExportError, UsageError, OSError, guard.NotWritten) as error:
        guard.say(*f"export_fx.py: error: {error}".splitlines(), to_errors=True)
        return 2 if isinstance(error, UsageError) else getattr(error, "status", 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
