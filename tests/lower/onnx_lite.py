"""Reads of an ONNX file what the fake backends look at, in a few milliseconds: the onnx module takes a second to
load, and a test starts hundreds of fakes.

    model.nodes     Node(op, name, domain, inputs, outputs, attributes), in file order; attributes: {name: a whole number, a
                    list of such, or a text}
    model.inputs    Value(name, dims, element), dims None without a shape, a dim None when it is open; element: the
                    number of the element type
    model.opset     of the default domain

Raises Unreadable for what is no ONNX model.
"""
from collections import namedtuple

Node = namedtuple("Node", "op name domain inputs outputs attributes")
Value = namedtuple("Value", "name dims element")
Model = namedtuple("Model", "nodes inputs outputs opset")


class Unreadable(Exception):
    pass


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def fields(data):
    """(number, value) of each field: bytes of what has a length, else a number or bytes."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            if at + size > end:
                raise Unreadable("a field is cut off")
            value, at = data[at : at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at : at + size], at + size
        else:
            raise Unreadable(f"a field of kind {kind}")
        yield key >> 3, value


def text(value):
    return bytes(value).decode("utf-8", "replace")


def whole(number):
    return number - (1 << 64) if number >> 63 else number


def whole_numbers(value):
    """Of a repeated field: one number, or packed."""
    if isinstance(value, int):
        return [whole(value)]
    numbers, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        numbers.append(whole(number))
    return numbers


def read_attribute(data):
    name, made = "", []
    for number, value in fields(data):
        if number == 1:
            name = text(value)
        elif number == 3:
            made = whole(value)
        elif number == 4:
            made = text(value)
        elif number == 8:
            made = made + whole_numbers(value)
    return name, made


def read_node(data):
    node = {1: [], 2: [], 3: "", 4: "", 7: ""}
    attributes = {}
    for number, value in fields(data):
        if number == 5:
            name, made = read_attribute(value)
            attributes[name] = made
        elif number in (1, 2):
            node[number].append(text(value))
        elif number in node:
            node[number] = text(value)
    return Node(node[4], node[3], node[7], node[1], node[2], attributes)


def read_dims(shape):
    dims = []
    for number, dim in fields(shape):
        if number == 1:
            size = [value for key, value in fields(dim) if key == 1]
            dims.append(size[0] if size else None)
    return dims


def read_value(data):
    name, dims, element = "", None, None
    for number, value in fields(data):
        if number == 1:
            name = text(value)
        elif number == 2:
            for kind, tensor in fields(value):
                shapes = [shape for key, shape in fields(tensor) if key == 2] if kind == 1 else []
                dims = read_dims(shapes[0]) if shapes else None
                element = next((item for key, item in fields(tensor) if key == 1), None) if kind == 1 else None
    return Value(name, dims, element)


def read_opset(data):
    found = dict(fields(data))
    return None if found.get(1) else found.get(2)


def read_model(path):
    with open(path, "rb") as file:
        data = memoryview(file.read())
    nodes, inputs, outputs, opset = [], [], [], None
    try:
        for number, value in fields(data):
            if number == 8:
                opset = read_opset(value) or opset
            if number != 7:
                continue
            for key, part in fields(value):
                if key == 1:
                    nodes.append(read_node(part))
                elif key == 11:
                    inputs.append(read_value(part))
                elif key == 12:
                    outputs.append(read_value(part))
    except (IndexError, TypeError) as error:
        raise Unreadable(f"no ONNX model: {error}") from error
    if not nodes or opset is None:
        raise Unreadable("no ONNX model: it has no nodes or no opset")
    return Model(nodes, inputs, outputs, opset)
