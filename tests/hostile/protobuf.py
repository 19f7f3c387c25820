"""Makes ONNX files byte by byte that no library would write."""


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def field(number_, payload):
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number_ << 3 | 2) + varint(len(payload)) + payload


def dims_type(dims, dtype=1):
    """TypeProto of a tensor: dims are sizes, names, or None."""
    shape = b"".join(
        field(1, b"" if dim is None else number(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, number(1, dtype) + field(2, shape))


def value(name, dims=(2, 3), dtype=1):
    return field(1, name) + field(2, dims_type(dims, dtype))


def node(op, inputs, outputs, name="", attributes=b"", domain=""):
    out = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
    out += field(3, name) if name else b""
    return out + field(4, op) + attributes + (field(7, domain) if domain else b"")


def graph_attribute(name, graph):
    return field(5, field(1, name) + number(20, 5) + field(6, graph))


def ints_attribute(name, ints):
    return field(5, field(1, name) + number(20, 7) + b"".join(number(8, i) for i in ints))


def int_attribute(name, value_):
    return field(5, field(1, name) + number(20, 2) + number(3, value_))


def tensor_attribute(name, tensor_):
    return field(5, field(1, name) + number(20, 4) + field(5, tensor_))


def tensor(name, dims, raw=b"", dtype=1, external=None):
    """TensorProto; external: pairs of key and value."""
    out = b"".join(number(1, dim) for dim in dims) + number(2, dtype) + field(8, name)
    if external is None:
        return out + field(9, raw)
    return out + b"".join(field(13, field(1, k) + field(2, v)) for k, v in external) + number(14, 1)


def graph(nodes, inputs=(), outputs=(), tensors=(), name="g", value_infos=()):
    out = b"".join(field(1, n) for n in nodes) + field(2, name) + b"".join(field(5, t) for t in tensors)
    out += b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)
    return out + b"".join(field(13, v) for v in value_infos)


def function(name, domain, inputs, outputs, nodes):
    out = field(1, name) + b"".join(field(4, i) for i in inputs) + b"".join(field(5, o) for o in outputs)
    return out + b"".join(field(7, n) for n in nodes) + opsets({"": 17, domain: 1}, 9) + field(10, domain)


def opsets(versions, field_number=8):
    return b"".join(field(field_number, (field(1, d) if d else b"") + number(2, v)) for d, v in versions.items())


def model(graph_, functions=(), versions=None):
    return (number(1, 8) + field(7, graph_) + opsets(versions or {"": 17}) +
            b"".join(field(25, f) for f in functions))


def simple(nodes, tensors=(), inputs=("x",), outputs=("y",), **more):
    """A model of these nodes, from x to y."""
    return model(graph(nodes, [value(i) for i in inputs], [value(o) for o in outputs], tensors), **more)
