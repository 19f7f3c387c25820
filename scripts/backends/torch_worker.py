#!/usr/bin/env python3
"""A worker for compilers of torch.export programs, and for torch itself, the reference: see worker.py.

usage: torch_worker.py [--backend eager|xnnpack|coreml|aoti] [--import MODULE]...

eager     torch as it is: "capture" runs a program once and writes every value (pip install torch numpy)
xnnpack   ExecuTorch with the XNNPACK partitioner (pip install executorch)
coreml    ExecuTorch with the Core ML partitioner: compiles only (pip install executorch coremltools scikit-learn)
aoti      AOTInductor, which needs g++

A partitioner compiles around what it does not take. So the answer to "compile" then has "left": each node of the piece
that is not in a delegate, by its name in the piece, with the operator that is left of it and why, and "nothing": true
for a piece of which nothing is left and nothing is delegated. --import loads a module that registers operators or types
of a program. Modules of transformers, torchao and torchvision are loaded when they are there.
"""

import argparse
import importlib.metadata
import logging
import re
import tempfile

from worker import in_stage, packages, serve

with packages("torch numpy"):
    import torch
    from torch.utils import _pytree as pytree

    from torch_programs import Compiled, capture, compile_piece, import_known, run_piece

# Operators that compute nothing that a compiler could take; and of these alone a piece is nothing to lower.
NO_WORK = ("dim_order_ops._clone_dim_order", "aten.clone", "aten.alias_copy")
CHECKS = re.compile(r"(^|\.)(_assert\w*|sym_constrain\w*|sym_size|sym_numel|sym_stride)\b")


# ---- torch itself ----


def eager(program):
    module = program.module()
    return Compiled(lambda values: pytree.tree_leaves(module(*values)))


# ---- AOTInductor ----


def aoti(program):
    torch._dynamo.reset()
    with tempfile.NamedTemporaryFile(suffix=".pt2", delete=False) as file:
        path = file.name
    made = in_stage("compile", torch._inductor.aoti_compile_and_package, program, package_path=path)
    loaded = []

    def run(values):
        if not loaded:
            loaded.append(torch._inductor.aoti_load_package(made))
        return pytree.tree_leaves(loaded[0](*values))

    return Compiled(run, content=made)


# ---- ExecuTorch ----


def sources(node):
    """Names in the piece of the nodes that a node comes from, through decompositions."""
    found = []
    pending = list(node.meta.get("from_node") or [])
    while pending:
        one = pending.pop()
        if one.from_node:
            pending.extend(one.from_node)
        elif one.name not in found:
            found.append(one.name)
    return found


def op_name(node):
    return str(getattr(node.target, "_name", node.target)).replace("::", ".")


class Reasons(logging.Handler):
    """Why partitioners leave nodes out, by name of the node: they say so in their logs."""

    LINE = re.compile(r"Node (\S+) was not partitioned because (.*)")

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.by_node = {}

    def emit(self, record):
        for name, why in self.LINE.findall(record.getMessage()):
            self.by_node.setdefault(name, why.strip().rstrip("."))

    def __enter__(self):
        # Others of their loggers print whole graphs.
        names = [one for one in logging.root.manager.loggerDict if one.startswith("executorch") and "partition" in one]
        self.loggers = [logging.getLogger(one) for one in names]
        for one in self.loggers:
            one.setLevel(logging.DEBUG)
            one.addHandler(self)
            one.propagate = False
        return self

    def __exit__(self, *_):
        for one in self.loggers:
            one.removeHandler(self)


def with_constants(program):
    """The program with what is computed on its parameters alone as constants: it is no work for a device."""
    from executorch.exir.passes.constant_prop_pass import constant_prop_pass

    return constant_prop_pass(program)


def delegated(program, partitioner, silence=""):
    """`silence`: what it means that the partitioner gives no reason."""
    from executorch.exir import to_edge_transform_and_lower

    names = {node.name for node in program.graph.nodes}
    with Reasons() as reasons:
        try:
            edge = to_edge_transform_and_lower(with_constants(program), partitioner=[partitioner])
        except Exception:  # a constant that is written later, for one
            edge = in_stage("compile", to_edge_transform_and_lower, program, partitioner=[partitioner])
    lowered = edge.exported_program()
    left, delegates = {}, 0
    for node in lowered.graph_module.graph.nodes:
        if node.op != "call_function":
            continue
        target = op_name(node)
        if "executorch_call_delegate" in target:
            delegates += 1
            continue
        if "getitem" in target or CHECKS.search(target):
            continue
        own = [one for one in sources(node) if one in names]
        if not own and target.startswith(NO_WORK):
            continue  # a copy that ExecuTorch adds: of a result that is a constant, for one
        for name in own or [node.name]:
            left.setdefault(name, {"node": name, "op": target, "why": reasons.by_node.get(node.name, silence)})
    if delegates == 0 and all(one["op"].startswith(NO_WORK) for one in left.values()):
        left = {}
    written = sum(one.kind.name.endswith("MUTATION") for one in lowered.graph_signature.output_specs)
    buffer = in_stage("compile", edge.to_executorch).buffer

    def run(values):
        from executorch.runtime import Runtime

        method = Runtime.get().load_program(buffer).load_method("forward")
        given = [one.contiguous() if isinstance(one, torch.Tensor) else one for one in values]
        # Written inputs come first, as results.
        results = method.execute(given)
        return results[written:] if len(results) > written else results

    return Compiled(run, left.values(), not left and delegates == 0, buffer)


def xnnpack(program):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return delegated(program, XnnpackPartitioner(verbose=True), "XNNPACK does not have the operator")


def coreml(program):
    from executorch.backends.apple.coreml.partition import CoreMLPartitioner

    return delegated(program, CoreMLPartitioner())


# By name: the compiler, the package whose version is told, how the names of kept files end.
BACKENDS = {
    "eager": (eager, "torch", ""),
    "aoti": (aoti, "torch", ".aoti.pt2"),
    "xnnpack": (xnnpack, "executorch", ".pte"),
    "coreml": (coreml, "executorch", ".pte"),
}


def version_of(package):
    return importlib.metadata.version(package) + ("" if package == "torch" else f", torch {torch.__version__}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0])
    parser.add_argument("--backend", choices=BACKENDS, default="eager")
    parser.add_argument("--import", dest="modules", action="append", default=[])
    options = parser.parse_args()
    compiler, package, ending = BACKENDS[options.backend]
    import_known(options.modules)
    if package == "executorch":
        with packages("executorch"):
            import executorch.exir
            import executorch.kernels.quantized  # noqa: F401 (operators of quantised programs)
    handlers = {
        "compile": lambda request: compile_piece(request, compiler, ending),
        "run": lambda request: run_piece(request, compiler),
    }
    if options.backend == "eager":
        handlers["capture"] = capture
    serve(options.backend, version_of(package), handlers)


if __name__ == "__main__":
    main()
