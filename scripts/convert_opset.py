#!/usr/bin/env python3
"""Converts the partitions and the root of a split ONNX model to another opset, with ONNX's version converter.

usage: convert_opset.py DIR|FILE OPSET

FILE is a model, which is replaced; `cleave convert --opset OPSET` runs this before the file appears.
DIR holds what `cleave split` wrote for an ONNX model: root.onnx and a file for each partition, which are
replaced. `cleave split --opset OPSET` runs this before its folder appears. Inputs, outputs and weights stay as
they are: the converter sees the operators, and weights of up to 4 KiB. root.onnx calls each partition as a
function, which gets the partition's new operators.

Exit status: 0 all converted; 1 a partition cannot be converted, which is named with the reason, and files are
left half converted; 2 wrong usage; 77 the Python package onnx is missing.
"""

import re
import sys
from pathlib import Path

import guard
from guard import first_line

try:
    import onnx
    from onnx import helper, shape_inference, version_converter
except ImportError as error:
    guard.missing(__name__, "convert_opset.py", error, "onnx", __doc__)

ONNX_DOMAINS = ("", "ai.onnx")
SMALL = 4096  # bytes of a constant that an operator's new form may depend on
ANY_OPSET = ("Constant", "Identity")  # operators of a root, which are the same in all opsets


class CannotConvert(Exception):
    pass


def opset_of(model):
    return next((one.version for one in model.opset_import if one.domain in ONNX_DOMAINS), None)


def set_opset(imports, opset):
    for one in imports:
        if one.domain in ONNX_DOMAINS:
            one.version = opset


def least_ir_version(imports):
    """The IR version that the opset needs; onnx knows none for domains of others."""
    return helper.find_min_ir_version_for([one for one in imports if one.domain in ONNX_DOMAINS])


def read(path):
    return onnx.load(str(path), load_external_data=False)


def is_small(tensor):
    return tensor.data_location != onnx.TensorProto.EXTERNAL and tensor.ByteSize() <= SMALL


def without_weights(model):
    """A copy in which large weights are inputs."""
    slim = onnx.ModelProto()
    slim.CopyFrom(model)
    del slim.graph.initializer[:]
    declared = {one.name for one in model.graph.input}
    for tensor in model.graph.initializer:
        if is_small(tensor):
            slim.graph.initializer.append(tensor)
        elif tensor.name not in declared:
            slim.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return slim


def refusal_text(said, opset):
    """What the converter says, with a way out where it lacks a step of an operator."""
    said = re.sub(r"^\S+:\d+: \w+: Assertion `.*?` failed: ", "", said)
    step = re.search(r"No Adapter From Version \$(\d+) for (\w+)|No Previous Version of (\w+) exists", said)
    if not step:
        return said
    op = step[2] or step[3]
    least = int(step[1] or min(one.since_version for one in onnx.defs.get_all_schemas_with_history() if (one.domain, one.name) == ("", op)))
    return (f"ONNX's converter cannot take {op} from opset {least} to opset {opset}: export the model with opset {opset} "
            f"(torch.onnx.export(..., opset_version={opset})), or convert to opset {least}")  # fmt: skip


def converted(model, opset):
    """The model with its operators in the other opset. Raises CannotConvert."""
    if len(model.functions) > 0:
        raise CannotConvert("it has functions, which ONNX's converter leaves out")
    try:
        slim = version_converter.convert_version(without_weights(model), opset)
        slim = shape_inference.infer_shapes(slim)
        onnx.checker.check_model(slim)
    except Exception as error:  # whatever the converter raises
        raise CannotConvert(refusal_text(first_line(error), opset)) from error
    result = onnx.ModelProto()
    result.CopyFrom(model)
    set_opset(result.opset_import, opset)
    result.ir_version = max(model.ir_version, least_ir_version(result.opset_import))
    graph = result.graph
    del graph.node[:]
    graph.node.extend(slim.graph.node)
    known = {tensor.name for tensor in graph.initializer}
    graph.initializer.extend(tensor for tensor in slim.graph.initializer if tensor.name not in known)
    known = {value.name for value in (*graph.value_info, *graph.input, *graph.output, *graph.initializer)}
    graph.value_info.extend(value for value in slim.graph.value_info if value.name not in known)
    return result


def move_weights(root, file, before, after):
    """Weights of the root that are bytes of the partition's file: where they are in the new one."""
    for tensor in root.graph.initializer:
        places = {entry.key: entry for entry in tensor.external_data}
        if "location" not in places or places["location"].value != file:
            continue
        begin = int(places["offset"].value)
        at = after.find(before[begin : begin + int(places["length"].value)])
        if at < 0:
            raise CannotConvert(f"{file}: the converter has changed the weight {tensor.name}")
        places["offset"].value = str(at)


def set_body(function, part, opset):
    """Gives the function of the root the partition's operators; constants that it does not take are nodes."""
    taken = set(function.input)
    constants = [
        helper.make_node("Constant", [], [tensor.name], value=tensor)
        for tensor in part.graph.initializer
        if tensor.name not in taken
    ]
    del function.node[:]
    function.node.extend([*constants, *part.graph.node])
    set_opset(function.opset_import, opset)


def convert_folder(folder, opset):
    root = read(folder / "root.onnx")
    functions = {one.name: one for one in root.functions if one.domain == "cleave"}
    if len(functions) != len(root.functions):
        raise CannotConvert("root.onnx: it has functions of the model, which ONNX's converter leaves out")
    for node in root.graph.node:
        if node.domain in ONNX_DOMAINS and node.op_type not in ANY_OPSET:
            raise CannotConvert(f"root.onnx: {node.op_type} is in no partition")
    for path in sorted(folder.glob("*.onnx")):
        if path.name == "root.onnx":
            continue
        model = read(path)
        if opset_of(model) not in (None, opset):
            try:
                model = converted(model, opset)
            except CannotConvert as error:
                raise CannotConvert(f"{path.name}: {error}") from error
        before, after = path.read_bytes(), model.SerializeToString()
        path.write_bytes(after)
        move_weights(root, path.name, before, after)
        if path.stem in functions:
            set_body(functions[path.stem], model, opset)
    set_opset(root.opset_import, opset)
    root.ir_version = max(root.ir_version, least_ir_version(root.opset_import))
    (folder / "root.onnx").write_bytes(root.SerializeToString())


def convert_file(path, opset):
    path.write_bytes(converted(read(path), opset).SerializeToString())


def main():
    words = sys.argv[1:]
    place = Path(words[0]) if words else Path()
    if len(words) != 2 or not words[1].isdigit() or not (place.is_file() or (place / "root.onnx").is_file()):
        guard.say("usage: convert_opset.py DIR|FILE OPSET", to_errors=True)
        sys.exit(2)
    opset = int(words[1])
    newest = onnx.defs.onnx_opset_version()
    try:
        if not 1 <= opset <= newest:
            raise CannotConvert(f"onnx {onnx.__version__} knows opsets 1 to {newest}")
        if place.is_file():
            convert_file(place, opset)
        else:
            convert_folder(place, opset)
    except CannotConvert as error:
        guard.say(error, to_errors=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
