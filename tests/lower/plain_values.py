#!/usr/bin/env python3
"""A worker that computes a few operators exactly, with the standard library alone: a compiler that runs what it
compiled, or the reference. Any machine gets the same values.

usage: plain_values.py [--version TEXT] [RULE...]

A rule of fake_backend.py says what is not compiled; others what is computed wrong:
    wrong=X    adds 1 to what an op X makes
    zero=X     makes zeros of what an op X makes
    bf16       keeps 8 bits of what each op makes
    last       of equal elements, names the last
    step=X     one value of what an op X makes is a quantisation step of 0.25 off
    left=X     leaves nodes of an op X out
    unrun      refuses at the run
    keeps      keeps what it compiles, as a model of one EPContext node and its data
    note=TEXT  keeps nothing, and says why
    load=TEXT  says so when it loads a deployed model
    lost       as the reference: cannot run the model
    bad-inputs as the reference: does not take the inputs
"""
import json
import math
import os
import struct
import sys
from collections import namedtuple
from pathlib import Path

import fake_backend
from onnx_lite import fields, read_model

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "hostile"))
import protobuf as pb

FLOAT, UINT8, INT64 = 1, 2, 7
FORMATS = {FLOAT: "f", UINT8: "B", INT64: "q"}
NAMES = {FLOAT: "tensor(float)", UINT8: "tensor(uint8)", INT64: "tensor(int64)"}
Tensor = namedtuple("Tensor", "dtype dims numbers")


def float32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def bfloat16(number):
    return struct.unpack("<f", b"\0\0" + struct.pack("<f", number)[2:])[0]


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def write_tensor(path, name, tensor):
    raw = struct.pack(f"<{len(tensor.numbers)}{FORMATS[tensor.dtype]}", *tensor.numbers)
    data = b"".join(varint(8) + varint(size) for size in tensor.dims) + varint(16) + varint(tensor.dtype)
    for number, value in ((8, name.encode()), (9, raw)):
        data += varint(number << 3 | 2) + varint(len(value)) + value
    with open(path, "wb") as file:
        file.write(data)


def tensor_of(data):
    """(name, Tensor)."""
    dims, dtype, name, raw = [], FLOAT, "", b""
    for number, value in fields(data):
        if number == 1:
            dims.append(value)
        elif number == 2:
            dtype = value
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = bytes(value)
    kind = FORMATS[dtype]
    return name, Tensor(dtype, dims, list(struct.unpack(f"<{len(raw) // struct.calcsize(kind)}{kind}", raw)))


def read_tensor(path):
    with open(path, "rb") as file:
        return tensor_of(memoryview(file.read()))[1]


def weights_of(path):
    with open(path, "rb") as file:
        data = memoryview(file.read())
    graphs = [value for number, value in fields(data) if number == 7]
    return dict(tensor_of(value) for number, value in fields(graphs[0]) if number == 5)


PLAIN = {
    "Relu": lambda a: max(a, 0.0), "Neg": lambda a: -a, "Abs": abs, "Floor": lambda a: float(math.floor(a)),
    "Sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan, "Identity": lambda a: a,
    "Reciprocal": lambda a: 1 / a if a else math.inf,
}
PAIRS = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b}


def rounded(number):
    """To the nearest integer, of two the even one."""
    return int(round(number))


def compute(op, taken, rules):
    first = taken[0]
    if op in PLAIN:
        return Tensor(FLOAT, first.dims, [float32(PLAIN[op](a)) for a in first.numbers])
    if op in PAIRS:
        other = taken[1].numbers
        pairs = [(a, other[i % len(other)]) for i, a in enumerate(first.numbers)]
        return Tensor(FLOAT, first.dims, [float32(PAIRS[op](a, b)) for a, b in pairs])
    if op == "MatMul":
        rows, inner = first.dims
        columns, other = taken[1].dims[1], taken[1].numbers
        made = [sum(first.numbers[i * inner + k] * other[k * columns + j] for k in range(inner))
                for i in range(rows) for j in range(columns)]
        return Tensor(FLOAT, [rows, columns], [float32(number) for number in made])
    if op == "QuantizeLinear":
        scale, zero = taken[1].numbers[0], taken[2].numbers[0]
        return Tensor(UINT8, first.dims, [min(max(rounded(a / scale) + zero, 0), 255) for a in first.numbers])
    if op == "DequantizeLinear":
        scale, zero = taken[1].numbers[0], taken[2].numbers[0]
        return Tensor(FLOAT, first.dims, [float32((a - zero) * scale) for a in first.numbers])
    if op == "ArgMax":
        width = first.dims[-1]
        rows = [first.numbers[i : i + width] for i in range(0, len(first.numbers), width)]
        is_last = "last" in rules
        return Tensor(INT64, first.dims[:-1],
                      [max(range(width), key=lambda i, row=row: (row[i], i if is_last else -i)) for row in rows])
    raise fake_backend.Refused(f"op {op} is not supported")


def spoilt(op, made, rules):
    numbers = made.numbers
    if f"wrong={op}" in rules:
        numbers = [number + 1 for number in numbers]
    if f"zero={op}" in rules:
        numbers = [number * 0 for number in numbers]
    if f"step={op}" in rules:
        numbers = [numbers[0] + (1 if made.dtype == UINT8 else 0.25), *numbers[1:]]
    if "bf16" in rules and made.dtype == FLOAT:
        numbers = [bfloat16(number) for number in numbers]
    return made._replace(numbers=numbers)


def values_of(path, given, rules):
    """All values by name."""
    values = {**weights_of(path), **given}
    for node in read_model(path).nodes:
        made = compute(node.op, [values[name] for name in node.inputs], rules)
        values[node.outputs[0]] = spoilt(node.op, made, rules)
    return values


def random_of(dims, seed):
    count = math.prod(dims)
    return Tensor(FLOAT, dims, [float32(((i * 37 + seed * 11) % 17 - 8) / 3.7) for i in range(count)])


def inputs_of(request, model, rules):
    """({name: Tensor}, sizes that were taken)."""
    if "bad-inputs" in rules:
        raise InputsFault("v0 has no values")
    given, sizes = {}, []
    for k, value in enumerate(model.inputs):
        path = os.path.join(request["given"] or "", f"input_{k}.pb")
        if request["given"] and os.path.exists(path):
            given[value.name] = read_tensor(path)
            continue
        dims = []
        for axis, dim in enumerate(value.dims):
            shape = request["shapes"].get(value.name)
            if dim is None or dim == 0:
                named = next(iter(request["dims"].values()), None)
                dim = shape[axis] if shape else named or axis + 4
                if not shape and not named:
                    sizes.append({"input": value.name, "axis": axis, "size": dim, "why": "a small size"})
            dims.append(dim)
        given[value.name] = random_of(dims, request["seed"])
    return given, sizes


class InputsFault(Exception):
    pass


def capture(request, rules):
    model = read_model(request["model"])
    given, sizes = inputs_of(request, model, rules)
    if "lost" in rules:
        raise RunFault("a kernel fails")
    values = values_of(request["model"], given, rules)
    made = [name for node in model.nodes for name in node.outputs]
    tensors = []
    for k, name in enumerate([value.name for value in model.inputs] + made):
        path = os.path.join(request["out"], f"tensor_{k}.pb")
        os.makedirs(request["out"], exist_ok=True)
        value = values[name]
        write_tensor(path, name, value)
        is_few = value.dtype == INT64 and len(value.numbers) <= 16
        tensors.append({"name": name, "dtype": NAMES[value.dtype], "shape": value.dims, "file": path,
                        "values": value.numbers if is_few else None, "infinite_by_constants": False})
    return {"ok": True, "tensors": tensors, "sizes": sizes}


class RunFault(Exception):
    pass


def string_attribute(name, text):
    return pb.field(5, pb.field(1, name) + pb.number(20, 3) + pb.field(4, text))


def kept(request, model):
    """Writes the piece as a provider of ONNX Runtime does."""
    name, folder = os.path.basename(request["out"]), os.path.dirname(request["out"])
    inputs, outputs = [one.name for one in model.inputs], [one.name for one in model.outputs]
    attributes = b"".join(string_attribute(*pair) for pair in (
        ("ep_cache_context", f"{name}.bin"), ("source", "PlainProvider"), ("partition_name", "context")))
    attributes += pb.int_attribute("main_context", 1) + pb.int_attribute("embed_mode", 0)
    node = pb.node("EPContext", inputs, outputs, "context", attributes, "com.microsoft")
    graph = pb.graph([node], [pb.value(one.name, one.dims) for one in model.inputs],
                     [pb.value(one.name, one.dims) for one in model.outputs])
    with open(os.path.join(folder, f"{name}.onnx"), "wb") as file:
        file.write(pb.model(graph, versions={"": 17, "com.microsoft": 1}))
    with open(os.path.join(folder, f"{name}.bin"), "wb") as file:
        file.write(b"compiled " + ",".join(one.op for one in model.nodes).encode())
    files = [{"file": f"{name}.onnx", "role": "main"}, {"file": f"{name}.bin", "role": "data"}]
    return {"ok": True, "artefacts": files, "inputs": inputs, "outputs": outputs, "target": {"chip": "57"}}


def compile_and_keep(request, rules):
    answer = compile_piece(request["model"], rules)
    if not request.get("keep") or "left" in answer:
        return answer
    notes = [rule[5:] for rule in rules if rule.startswith("note=")]
    if notes:
        return {"ok": True, "note": notes[0]}
    return kept(request, read_model(request["model"])) if "keeps" in rules else answer


def load(request, rules):
    said = [rule[5:] for rule in rules if rule.startswith("load=")]
    if said:
        return {"ok": False, "stage": "load", "error": said[0]}
    return {"ok": True, "note": f"it loads with {request['compiled']}"}


def compile_piece(path, rules):
    model = fake_backend.compile_model(path, rules)
    left = [rule[5:] for rule in rules if rule.startswith("left=")]
    found = [{"node": node.name, "op": node.op, "why": "not on this device"} for node in model.nodes if node.op in left]
    return {"ok": True, **({"left": found} if found else {})}


def run(request, rules):
    answer = compile_piece(request["model"], rules)
    if "left" in answer:
        return answer
    if "unrun" in rules:
        raise RunFault("the device does not answer")
    given = {one["name"]: read_tensor(one["file"]) for one in request["inputs"]}
    values = values_of(request["model"], given, rules)
    for one in request["outputs"]:
        write_tensor(one["file"], one["name"], values[one["name"]])
    return answer


def convert(request):
    """The model with another number of its opset."""
    with open(request["model"], "rb") as file:
        data = memoryview(file.read())
    out = b""
    for number, value in fields(data):
        if number == 8:
            value = varint(16) + varint(request["opset"])
        out += varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + varint(len(value)) + value
    with open(request["out"], "wb") as file:
        file.write(out)
    return {"ok": True}


def answer_to(request, rules):
    try:
        if request["op"] == "capture":
            return capture(request, rules)
        if request["op"] == "convert":
            return convert(request)
        if request["op"] == "load":
            return load(request, rules)
        return run(request, rules) if request["op"] == "run" else compile_and_keep(request, rules)
    except fake_backend.Refused as error:
        return {"ok": False, "stage": "compile", "error": str(error)}
    except RunFault as error:
        return {"ok": False, "stage": "run", "error": str(error)}
    except InputsFault as error:
        return {"ok": False, "stage": "inputs", "error": str(error)}


def main():
    rules, version = sys.argv[1:], "1.5"
    if rules[:1] == ["--version"]:
        version, rules = rules[1], rules[2:]
    print(json.dumps({"ready": "plain", "version": version}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer_to(json.loads(line), rules)), flush=True)


if __name__ == "__main__":
    main()
