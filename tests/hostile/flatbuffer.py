"""Makes TensorFlow Lite files byte by byte: the schema's fields by their numbers, and no library in between."""

import struct


class Table:
    """Fields by number: bytes are a scalar; a string, a Table, a list of Tables or a Numbers are offsets."""

    def __init__(self, fields):
        self.fields = {number: value for number, value in fields.items() if value is not None}


class Numbers:
    """A vector of numbers."""

    def __init__(self, kind, values):
        self.kind, self.values = kind, list(values)


def byte(value):
    return struct.pack("<B", value)


def int32(value):
    return struct.pack("<i", value)


def uint64(value):
    return struct.pack("<Q", value)


def ints(values):
    return Numbers("i", values)


class Encoder:
    def __init__(self):
        self.out = bytearray()

    def align(self, size, ahead=0):
        self.out += bytes(-(len(self.out) + ahead) % size)

    def lead(self, place):
        struct.pack_into("<I", self.out, place, len(self.out) - place)

    def table(self, place, table):
        fields = sorted(table.fields.items(), key=lambda one: (-len(one[1]) if isinstance(one[1], bytes) else -4, one[0]))
        slots, size = {}, 4
        for number, value in fields:
            width = len(value) if isinstance(value, bytes) else 4
            size += -size % width
            slots[number] = size
            size += width
        self.align(2)
        vtable = len(self.out)
        count = max(slots, default=-1) + 1
        self.out += struct.pack(f"<{count + 2}H", 4 + 2 * count, size, *(slots.get(i, 0) for i in range(count)))
        self.align(8)
        at = len(self.out)
        self.lead(place)
        self.out += struct.pack("<i", at - vtable) + bytes(size - 4)
        for number, value in fields:
            if isinstance(value, bytes):
                self.out[at + slots[number] : at + slots[number] + len(value)] = value
        for number, value in fields:
            if not isinstance(value, bytes):
                self.value(at + slots[number], value)

    def value(self, place, value):
        if isinstance(value, Table):
            return self.table(place, value)
        if isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
            self.align(4)
            self.lead(place)
            self.out += struct.pack("<I", len(data)) + data + b"\0"
        elif isinstance(value, Numbers):
            self.align(8, 4)
            self.lead(place)
            self.out += struct.pack(f"<I{len(value.values)}{value.kind}", len(value.values), *value.values)
        else:
            self.align(4)
            self.lead(place)
            begin = len(self.out) + 4
            self.out += struct.pack("<I", len(value)) + bytes(4 * len(value))
            for i, one in enumerate(value):
                self.table(begin + 4 * i, one)
        return None


def encoded(root):
    encoder = Encoder()
    encoder.out += bytes(4) + b"TFL3"
    encoder.table(0, root)
    return bytes(encoder.out)


# ---- the schema's tables ----

CUSTOM, ADD, RELU = 32, 0, 19


def tensor(name, shape=(2, 3), buffer=0, external=0):
    return Table({0: ints(shape), 2: int32(buffer), 3: name, 10: int32(external) if external else None})


def code(number, custom=None):
    return Table({0: byte(min(number, 127)), 1: custom, 3: int32(number)})


def operator(code_number, inputs, outputs):
    return Table({0: int32(code_number), 1: ints(inputs), 2: ints(outputs)})


def model(tensors, codes, operators, inputs, outputs, buffers=(), name="main", signature=None, files=(), external=()):
    """`buffers`: bytes; `files`: names; `external`: (id, file, offset, length)"""
    graph = Table({0: list(tensors), 1: ints(inputs), 2: ints(outputs), 3: list(operators), 4: name})
    key = None
    if signature is not None:
        maps = [Table({0: signature, 1: int32(inputs[0])})]
        key = [Table({0: maps, 1: [Table({0: signature, 1: int32(outputs[0])})], 2: signature, 4: int32(0)})]
    stored = [Table({}), *(Table({0: Numbers("B", data)}) for data in buffers)]
    groups = [Table({0: one}) for one in files]
    outside = [Table({0: int32(one), 1: int32(file), 2: uint64(offset), 3: uint64(length)}) for one, file, offset, length in external]
    return encoded(Table({0: int32(3), 1: list(codes), 2: [graph], 4: stored, 7: key, 8: groups or None, 9: outside or None}))
