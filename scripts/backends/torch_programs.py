"""Pieces of torch.export programs (.pt2), as the workers that take them see them: loading, tensors, values of a run.

Tensors travel as TensorProto, ONNX's, which is read and written here without the package onnx: four fields of protobuf.
"""

import contextlib
import importlib
import logging
import os
import re
import shutil
import sys
import warnings
import zipfile
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

from worker import StageError, in_stage, kept

warnings.filterwarnings("ignore")
logging.getLogger("torch.export").setLevel(logging.ERROR)
torch.set_num_threads(1)
FEW = 16

# ---- tensors ----

# TensorProto's numbers of element types.
TYPES = {
    torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.uint16: 4, torch.int16: 5, torch.int32: 6, torch.int64: 7,
    torch.bool: 9, torch.float16: 10, torch.float64: 11, torch.uint32: 12, torch.uint64: 13, torch.complex64: 14,
    torch.complex128: 15, torch.bfloat16: 16, torch.float8_e4m3fn: 17, torch.float8_e4m3fnuz: 18, torch.float8_e5m2: 19,
    torch.float8_e5m2fnuz: 20,
}
DTYPES = {number: dtype for dtype, number in TYPES.items()}
VARINT, BYTES = 0, 2
DIMS, DATA_TYPE, NAME, RAW_DATA = 1, 2, 8, 9


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, content):
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def write_tensor(path, name, tensor):
    """Numbers and truth values are tensors of rank 0."""
    tensor = torch.as_tensor(tensor).detach().contiguous().cpu()
    raw = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    head = b"".join(varint(DIMS << 3 | VARINT) + varint(size) for size in tensor.shape)
    head += varint(DATA_TYPE << 3 | VARINT) + varint(TYPES[tensor.dtype])
    Path(path).write_bytes(head + field(NAME, name.encode()) + field(RAW_DATA, raw))


def read_tensor(path):
    data = Path(path).read_bytes()
    at, dims, kind, raw = 0, [], 1, b""

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == VARINT:
            value = number()
            if tag >> 3 == DIMS:
                dims.append(value)
            elif tag >> 3 == DATA_TYPE:
                kind = value
            continue
        if tag & 7 != BYTES:
            raise ValueError(f"{path}: is not a tensor as workers write it")
        size = number()
        content = data[at : at + size]
        at += size
        if tag >> 3 == DIMS:  # packed
            end, at = at, at - size
            while at < end:
                dims.append(number())
        elif tag >> 3 == RAW_DATA:
            raw = content
    if not raw:
        return torch.empty(dims, dtype=DTYPES[kind])
    return torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(DTYPES[kind]).reshape(dims)


def leaves_of(value):
    return [value] if isinstance(value, torch.Tensor) else pytree.tree_leaves(value)


def copied(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


# ---- programs ----


def import_known(modules=()):
    """Imports what programs of others need: types of their inputs and outputs, operators."""
    for name in ("transformers.modeling_outputs", "torchao", "torch.distributed.pipelining", "torchvision"):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    for name in modules:
        importlib.import_module(name)


# Names of classes in the descriptions of inputs and outputs, and of operators.
NAMED = re.compile(rb'type\\*"\s*:\s*\\*"([A-Za-z_][\w.]*)\.\w+\\*"')
OPERATORS = re.compile(rb'"torch\.ops\.(\w+)\.')
# Modules whose operators have another name.
REGISTERED_BY = {"pippy": "torch.distributed.pipelining", "quantized_decomposed": "torch.ao.quantization.fx._decomposed",
                 "fbgemm": "fbgemm_gpu"}  # fmt: skip
OF_PYTHON = {*sys.stdlib_module_names, "aten", "prim", "prims", "higher_order"}


def names_in(path):
    """The modules of the classes and operators that the archive names."""
    names = set()
    with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        for record in archive.infolist():
            if record.filename.endswith(("models/model.json", "serialized_exported_program.json")) or "/models/" in record.filename:
                text = archive.read(record)
                names |= {name.decode() for name in NAMED.findall(text)}
                names |= {REGISTERED_BY.get(name.decode(), name.decode()) for name in set(OPERATORS.findall(text))}
    return sorted(name for name in names if name.partition(".")[0] not in OF_PYTHON)


def import_named(path):
    """Imports what is installed of the modules that an archive names, which register its classes and operators. Returns what
    importing others raised: where torch then lacks them, that says why."""
    failed = []
    for name in names_in(path):
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever a package raises
            failed.append(error)
    return failed


def load(path):
    """A program is loaded for each request: what is made of one shares its state."""
    import_named(path)
    return in_stage("compile", torch.export.load, path)


def user_inputs(program):
    """The placeholders of the arguments, in order."""
    names = [one.arg.name for one in program.graph_signature.input_specs if one.kind.name == "USER_INPUT"]
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    return [nodes[name] for name in names if name in nodes]


def size_of(size):
    """A size of the archive, or the one that it was traced with."""
    if isinstance(size, int):
        return size
    hint = getattr(size.node, "hint", None)
    return int(hint) if hint is not None else 2


def made_input(node):
    """A value of the type of the placeholder: for compilers that only look at it."""
    kind = node.meta.get("val")
    if not isinstance(kind, torch.Tensor):
        return size_of(kind) if isinstance(kind, torch.SymInt) else kind
    shape = [size_of(size) for size in kind.shape]
    return torch.zeros(shape, dtype=kind.dtype)


def given_inputs(request, program):
    """The arguments among the request's inputs, in the program's order; None when some are missing."""
    files = {one["name"]: one["file"] for one in request.get("inputs", [])}
    values = []
    for node in user_inputs(program):
        if node.name not in files:
            return None
        tensor = in_stage("driver", read_tensor, files[node.name])
        is_tensor = isinstance(node.meta.get("val"), torch.Tensor)
        values.append(tensor if is_tensor else tensor.item())
    return values


def piece_of(request):
    """The program of a request, with example inputs. With "pin" it is exported anew on the request's inputs: its
    shapes are theirs, and all of them are contiguous; names of nodes stay."""
    program = load(request["model"])
    values = given_inputs(request, program)
    if request.get("pin"):
        if values is None:
            raise StageError("driver", "the inputs to pin to are not all given")
        with torch.no_grad():
            program = in_stage("compile", torch.export.export, program.module(), tuple(copied(one) for one in values))
    examples = values or [made_input(node) for node in user_inputs(program)]
    program.example_inputs = (tuple(copied(one) for one in examples), {})
    return program


def write_results(request, program, results):
    """`results`: of the user's outputs, in the program's order, as cleave names them."""
    names = [one.arg.name for one in program.graph_signature.output_specs if one.kind.name == "USER_OUTPUT"]
    made = dict(zip(names, results))
    for i, one in enumerate(request["outputs"]):
        # A program that was exported anew has names of its own, in the same order.
        value = made.get(one["name"], results[i] if len(results) == len(request["outputs"]) else None)
        if value is None:
            raise StageError("driver", f'the program has no output "{one["name"]}"')
        in_stage("driver", write_tensor, one["file"], one["name"], value)


# ---- the reference: every value of a run ----


class Values(torch.fx.Interpreter):
    """Runs a graph and keeps a copy of each value when it is made: later nodes may write it."""

    def __init__(self, module):
        super().__init__(module)
        self.made = {}

    def run_node(self, n):
        value = super().run_node(n)
        if isinstance(value, (torch.Tensor, int, float, bool)):
            self.made[n.name] = copied(value)
        return value


def random_input(node, shape, rng):
    kind = node.meta["val"].dtype
    if kind == torch.bool:
        return torch.randint(0, 2, shape, generator=rng).bool()
    if not kind.is_floating_point and not kind.is_complex:
        # Wide integers are often indices: small ones are in range more often.
        return torch.randint(0, 2, shape, generator=rng).to(kind)
    return torch.randn(shape, generator=rng).to(kind)


def sizes_taken(node, request, examples):
    """(the sizes of an argument, which of them the program leaves open and why each was taken)"""
    kind = node.meta["val"]
    given = request.get("shapes", {}).get(node.name)
    dims = request.get("dims", {})
    shape, taken = [], []
    for axis, size in enumerate(kind.shape):
        if isinstance(size, int):
            shape.append(size)
            continue
        if given and given[axis] >= 0:
            shape.append(given[axis])
            why = "as given"
        elif str(size) in dims:
            shape.append(dims[str(size)])
            why = "as given"
        else:
            shape.append(examples.shape[axis] if examples is not None else size_of(size))
            why = "as exported"
        taken.append({"input": node.name, "axis": axis, "size": int(shape[-1]), "why": why})
    return shape, taken


def read_given(path):
    """Arrays of a .npz file, or of a folder with input_0.pb, ... by position, as {name or number: tensor}."""
    if Path(path).is_dir():
        files = sorted(Path(path).glob("input_*.pb"), key=lambda one: int(one.stem.split("_")[1]))
        return {int(one.stem.split("_")[1]): read_tensor(one) for one in files}
    import numpy as np

    with np.load(path) as arrays:
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


def dims_of_given(nodes, given):
    """The sizes that given values have, of symbolic dims, which other inputs may share."""
    dims = {}
    for i, node in enumerate(nodes):
        value, kind = given.get(node.name, given.get(i)), node.meta.get("val")
        for dim, size in zip(kind.shape if isinstance(kind, torch.Tensor) else (), () if value is None else value.shape):
            if not isinstance(dim, int):
                dims.setdefault(str(dim), size)
    return dims


def find_inputs(request, program):
    """(arguments in order, sizes taken): the given ones, else those of the archive where the sizes agree, else random."""
    given = in_stage("inputs", read_given, request["given"]) if request.get("given") else {}
    nodes = user_inputs(program)
    examples = pytree.tree_leaves(program.example_inputs) if program.example_inputs else []
    examples = [one for one in examples if one is not None] if len(examples) != len(nodes) else examples
    rng = torch.Generator().manual_seed(request.get("seed", 0))
    request = {**request, "dims": {**dims_of_given(nodes, given), **request.get("dims", {})}}
    values, taken = [], []
    for i, node in enumerate(nodes):
        kind = node.meta.get("val")
        example = examples[i] if len(examples) == len(nodes) else None
        text = request.get("texts", {}).get(node.name)
        if not isinstance(kind, torch.Tensor):
            made = example if example is not None else made_input(node)
            values.append(made if text is None else type(made)(float(text)))
            continue
        shape, more = sizes_taken(node, request, example)
        taken += more
        value = given.pop(node.name, given.pop(i, None))
        value = torch.full(shape, float(text)).to(kind.dtype) if value is None and text is not None else value
        if value is None and example is not None and list(example.shape) == shape:
            value = example
        values.append(random_input(node, shape, rng) if value is None else value)
    if given:
        raise StageError("inputs", f'the program has no input "{next(iter(given))}"')
    return values, taken


def capture(request):
    program = load(request["model"])
    values, taken = find_inputs(request, program)
    flat = iter(values)
    arguments = []
    for one in program.graph_signature.input_specs:
        kind = one.kind.name
        if kind == "USER_INPUT":
            is_value = not hasattr(one.arg, "value")
            arguments.append(copied(next(flat)) if is_value else one.arg.value)
        else:
            held = program.state_dict if one.target in program.state_dict else program.constants
            arguments.append(copied(held[one.target]))
    run = Values(program.graph_module)
    with torch.no_grad():
        in_stage("run", run.run, *arguments)
    tensors = []
    for name, value in run.made.items():
        tensor = torch.as_tensor(value)
        if tensor.dtype not in TYPES or tensor.layout != torch.strided:
            continue
        path = Path(request["out"]) / f"{len(tensors)}.pb"
        in_stage("driver", write_tensor, path, name, tensor)
        few = tensor.dtype in (torch.int32, torch.int64) and tensor.numel() <= FEW
        dtype = str(tensor.dtype).removeprefix("torch.")
        tensors.append({"name": name, "dtype": f"tensor({dtype})", "shape": list(tensor.shape), "file": str(path),
                        "values": [int(one) for one in tensor.reshape(-1).tolist()] if few else None})  # fmt: skip
    return {"tensors": tensors, "sizes": taken}


# ---- requests ----


class Compiled:
    """What a compiler made of a piece. `run`: of a list of arguments, the user's results as a list. `left`: what it leaves
    out, as the answer has it. `content`: bytes, or the path of a temporary file."""

    def __init__(self, run, left=(), is_nothing=False, content=None):
        self.run, self.left, self.is_nothing, self.content = run, list(left), is_nothing, content

    def extent(self):
        """The fields of an answer that say how much of the piece was taken."""
        return {**({"left": self.left} if self.left else {}), **({"nothing": True} if self.is_nothing else {})}

    def drop(self):
        if isinstance(self.content, str) and os.path.exists(self.content):
            os.unlink(self.content)

    def keep(self, request, program, ending, target):
        path = request["out"] + ending
        if isinstance(self.content, str):
            shutil.copyfile(self.content, path)
        else:
            Path(path).write_bytes(self.content)
        outputs = [one.arg.name for one in program.graph_signature.output_specs if one.kind.name == "USER_OUTPUT"]
        return kept(path, [node.name for node in user_inputs(program)], outputs, {"torch": torch.__version__, **target})


def compile_piece(request, compile_program, ending="", target=None):
    """Answers "compile". `compile_program`: of a program, a Compiled. `ending`, `target`: of what is kept."""
    with torch.no_grad():
        program = piece_of(request)
        made = compile_program(program)
    answer = made.extent()
    if request.get("keep") and made.content is not None and not made.left:
        answer |= made.keep(request, program, ending, target or {})
    made.drop()
    return answer


def run_piece(request, compile_program):
    """Answers "run"."""
    with torch.no_grad():
        program = piece_of(request)
        values = given_inputs(request, load(request["model"]) if request.get("pin") else program)
        if values is None:
            raise StageError("driver", "the inputs are not all given")
        made = compile_program(program)
        if not made.left:
            write_results(request, program, in_stage("run", made.run, values))
        made.drop()
    return made.extent()
