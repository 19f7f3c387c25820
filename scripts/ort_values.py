"""Values that flow between ONNX Runtime sessions: stores, compares, reads and writes them.

A Value is a tensor, sequence, map or optional. Most stay in ONNX Runtime's own form, since numpy has no
type for some tensors (bfloat16, float8, 4-bit integers). Files have the form of ONNX's backend tests:
one TensorProto, SequenceProto or OptionalProto per file.
"""

import ctypes
import mmap
import os
import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, inliner, numpy_helper

from comparing import NUMPY_TYPES
from guard import first_line, regular

UNOPTIMISED = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
OPTIMISED = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
CPU = "CPUExecutionProvider"


class CannotWrite(Exception):
    """ONNX has no file for such a value."""


class Value:
    """A tensor, sequence, map or optional, in ONNX Runtime's form or in Python's."""

    def __init__(self, kept=None, plain=None):
        self.kept = kept if kept is not None and kept.has_value() else None
        self._plain = plain

    @staticmethod
    def of_array(array):
        """Of a numpy array of a type that ONNX Runtime knows, or of strings."""
        if array.dtype.kind in "OUS":
            return Value(plain=array.astype(object))
        contiguous = np.ascontiguousarray(array).reshape(array.shape)
        return Value(kept=ort.OrtValue.ortvalue_from_numpy(contiguous))

    def plain(self):
        """As InferenceSession.run takes it; raises where numpy has no such type."""
        if self.kept is None:
            return self._plain
        if self.kept.is_tensor():
            return self.kept.numpy().copy()  # it may be a view of what ONNX Runtime keeps
        return [item.plain() for item in items_of(self.kept)]

    def shape(self):
        """The sizes of a tensor; None of anything else."""
        if self.kept is None:
            return self._plain.shape if isinstance(self._plain, np.ndarray) else None
        return tuple(self.kept.shape()) if self.kept.is_tensor() else None

    def content(self):
        """What is compared: types, shapes and bytes, nested as the value is."""
        if self.kept is None:
            return content_of_plain(self._plain)
        if self.kept.is_tensor():
            return content_of_tensor(self.kept)
        return [item.content() for item in items_of(self.kept)]


def content_of_tensor(tensor):
    kind, shape = tensor.data_type(), tuple(tensor.shape())
    if kind == "tensor(string)":
        return kind, shape, tuple(tensor.numpy().ravel().tolist())
    size = tensor.tensor_size_in_bytes()
    return kind, shape, ctypes.string_at(tensor.data_ptr(), size) if size else b""


def content_of_plain(plain):
    if isinstance(plain, np.ndarray):
        if plain.dtype.kind in "OUS":
            return "tensor(string)", plain.shape, tuple(plain.ravel().tolist())
        return content_of_tensor(ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(plain)))
    if isinstance(plain, dict):
        return sorted(plain.items())
    if isinstance(plain, list):
        return [content_of_plain(item) for item in plain]
    return plain


def element_of(kind):
    """ONNX's number of the element type in "tensor(float)", "seq(tensor(float))" or the like."""
    return getattr(TensorProto, re.search(r"tensor\((\w+)\)", kind).group(1).upper())


def items_of(sequence):
    """The tensors of a sequence that ONNX Runtime keeps: it has no other way to hand them out."""
    number, int64 = element_of(sequence.data_type()), TensorProto.INT64
    graph = helper.make_graph(
        [
            helper.make_node("SequenceAt", ["s", "i"], ["item"]),
            helper.make_node("SequenceLength", ["s"], ["n"]),
        ],
        "item",
        [
            helper.make_tensor_sequence_value_info("s", number, None),
            helper.make_tensor_value_info("i", int64, []),
        ],
        [
            helper.make_tensor_value_info("item", number, None),
            helper.make_tensor_value_info("n", int64, []),
        ],
    )
    session = open_graph(graph)

    def ask(output, index):
        at = ort.OrtValue.ortvalue_from_numpy(np.array(index, np.int64))
        return session.run_with_ort_values([output], {"s": sequence, "i": at})[0]

    try:
        length = int(ask("n", 0).numpy())
    except ort.capi.onnxruntime_pybind11_state.Fail:  # SequenceAt 0 of an empty sequence
        length = 0
    return [Value(ask("item", i)) for i in range(length)]


# ---- sessions ----

SUMS_OF_BYTES = ("MatMulInteger", "ConvInteger")


def may_have_sums_of_bytes(content):
    """A quick look: most models are not decoded for it."""
    return content.find(b"Integer") >= 0


def with_unsigned_weights(model):
    """Changes MatMulInteger and ConvInteger with constant weights of int8 to weights of uint8, with the same results: on x86
    processors without VNNI ONNX Runtime saturates the sums of uint8 by int8 products. Whether there was one."""
    constants = {one.name: one for one in model.graph.initializer if one.data_type == TensorProto.INT8}
    added = set()

    def moved(name):
        """The name of the constant with 128 added to each element."""
        array = numpy_helper.to_array(constants[name]).astype(np.int16) + 128
        return add(f"{name}/as uint8", array.astype(np.uint8))

    def add(name, array):
        if name not in added:
            added.add(name)
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(array, np.uint8), name))
        return name

    is_changed = False
    for node in model.graph.node:
        given = [*node.input, "", "", ""][:4]
        is_ours = node.op_type in SUMS_OF_BYTES and node.domain in ("", "ai.onnx") and given[1] in constants
        if not is_ours or (given[3] and given[3] not in constants) or constants[given[1]].external_data:
            continue
        given[1], given[3] = moved(given[1]), moved(given[3]) if given[3] else add("zero/as uint8", 128)
        node.input[:] = given
        is_changed = True
    return is_changed


def exact(model, folder):
    """The model, a path or bytes, so that sums of bytes are right on every processor; and the folder of its external data."""
    if isinstance(model, bytes):
        if not may_have_sums_of_bytes(model):
            return model, folder
        loaded = onnx.load_from_string(model)
    else:
        with open(regular(model), "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return str(model), folder
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if not may_have_sums_of_bytes(content):
                    return str(model), folder
        loaded = onnx.load(str(model), load_external_data=False)
    if not with_unsigned_weights(loaded):
        return model if isinstance(model, bytes) else str(model), folder
    is_path = not isinstance(model, bytes)
    return loaded.SerializeToString(), Path(model).parent if is_path and folder is None else folder


def open_session(model, level, folder=None, settings=None, provider=None):
    """A session on the CPU, one thread, nothing logged. `model`: a path, or the bytes of one whose
    external data lie in `folder`; `settings`: session options of ONNX Runtime, by key; `provider`: the
    name of one that is asked before the CPU."""
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    model, folder = exact(model, folder)
    if folder is not None:
        key = "session.model_external_initializers_file_folder_path"
        options.add_session_config_entry(key, str(Path(folder).resolve()))
    for key, value in (settings or {}).items():
        options.add_session_config_entry(key, value)
    names = [provider] if provider and provider != CPU else []
    return ort.InferenceSession(model, options, providers=[*names, CPU])


def open_whole(path, level, settings=None):
    """A session, and "": ONNX Runtime refuses some operators inside of functions, as QLinearConcat. Then they are inlined, and
    the text says so."""
    try:
        return open_session(path, level, settings=settings), ""
    except Exception as error:
        model = onnx.load(str(path), load_external_data=False)
        if not model.functions:
            raise
        inlined = inliner.inline_local_functions(model).SerializeToString()
        text = f"ONNX Runtime takes it with its functions inlined only: {first_line(error)}"
        return open_session(inlined, level, Path(path).parent, settings), text


def open_graph(graph):
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return open_session(model.SerializeToString(), UNOPTIMISED)


def output_names(session):
    """Each once: an output may be listed twice."""
    return list(dict.fromkeys(output.name for output in session.get_outputs()))


def run(session, feeds, names):
    """The named outputs as Values, from Values by name; inputs that have a default may lack."""
    inputs = [*session.get_inputs(), *session.get_overridable_initializers()]
    taken = {i.name: feeds[i.name] for i in inputs if i.name in feeds}
    has_maps = any("map(" in output.type for output in session.get_outputs())
    if not has_maps and all(value.kept is not None for value in taken.values()):
        kept = session.run_with_ort_values(
            names, {name: value.kept for name, value in taken.items()}
        )
        return {name: Value(kept=value) for name, value in zip(names, kept)}
    plain = session.run(names, {name: value.plain() for name, value in taken.items()})
    return {name: Value(plain=value) for name, value in zip(names, plain)}


def run_model(path, level, feeds, seed=0, settings=None):
    ort.set_seed(seed)
    session, _ = open_whole(path, level, settings)
    return run(session, feeds, output_names(session))


# ---- files, as ONNX's backend tests have them ----


def value_of_tensor(tensor):
    """The Value of a TensorProto."""
    if tensor.data_type == TensorProto.STRING:
        return Value(plain=numpy_helper.to_array(tensor).astype(object))
    if TensorProto.DataType.Name(tensor.data_type).lower() in NUMPY_TYPES:
        return Value.of_array(numpy_helper.to_array(tensor))
    # ONNX Runtime makes it itself, as a graph that has it for its weight and output.
    named = TensorProto()
    named.CopyFrom(tensor)
    named.name = "t"
    out = helper.make_tensor_value_info("t", tensor.data_type, list(tensor.dims))
    session = open_graph(helper.make_graph([], "constant", [], [out], [named]))
    return Value(kept=session.run_with_ort_values(["t"], {})[0])


def value_of_sequence(sequence):
    kind = onnx.SequenceProto.DataType.Name(sequence.elem_type)
    if kind == "SEQUENCE":
        return Value(plain=[value_of_sequence(one).plain() for one in sequence.sequence_values])
    if kind == "MAP":
        return Value(plain=[numpy_helper.to_dict(one) for one in sequence.map_values])
    return Value(plain=[value_of_tensor(one).plain() for one in sequence.tensor_values])


def value_of_optional(optional):
    if optional.HasField("tensor_value"):
        return value_of_tensor(optional.tensor_value)
    if optional.HasField("sequence_value"):
        return value_of_sequence(optional.sequence_value)
    return Value()


def read_value(path, kind):
    """The Value in a file. `kind`: ONNX Runtime's name of the type, which is not in the file."""
    data = regular(path).read_bytes()
    if kind.startswith("seq("):
        return value_of_sequence(onnx.SequenceProto.FromString(data))
    if kind.startswith("optional("):
        return value_of_optional(onnx.OptionalProto.FromString(data))
    return value_of_tensor(TensorProto.FromString(data))


def tensor_proto(content, name):
    kind, shape, data = content
    proto = TensorProto(name=name, dims=shape, data_type=element_of(kind))
    if proto.data_type == TensorProto.STRING:
        proto.string_data.extend(text.encode() for text in data)
    else:
        proto.raw_data = data
    return proto


def sequence_proto(items, name):
    if not all(isinstance(item, tuple) for item in items):
        raise CannotWrite("a sequence of non-tensors")
    return onnx.SequenceProto(
        name=name,
        elem_type=onnx.SequenceProto.TENSOR,
        tensor_values=[tensor_proto(item, "") for item in items],
    )


def optional_proto(content, name):
    proto = onnx.OptionalProto(name=name)
    if isinstance(content, list):
        proto.elem_type = onnx.OptionalProto.SEQUENCE
        proto.sequence_value.CopyFrom(sequence_proto(content, ""))
    elif content is not None:
        proto.elem_type = onnx.OptionalProto.TENSOR
        proto.tensor_value.CopyFrom(tensor_proto(content, ""))
    return proto


def proto_of(value, kind, name):
    """The message that read_value reads; raises CannotWrite for a map."""
    content = value.content()
    if kind.startswith("optional("):
        return optional_proto(content, name)
    if kind.startswith("seq("):
        return sequence_proto(content, name)
    if not isinstance(content, tuple):
        raise CannotWrite(f"a value of {kind}")
    return tensor_proto(content, name)
