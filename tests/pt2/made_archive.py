"""Writes torch.export archives of any size without torch: a chain of linear layers and relu."""

import json
import zipfile

STACK = "L__self__,,torch.nn.Module;L__self___layers_{0},layers.{0},torch.nn.modules.linear.Linear"


def tensor(sizes, is_parameter):
    strides = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        strides[i] = strides[i + 1] * sizes[i + 1]
    return {
        "dtype": 7,
        "sizes": [{"as_int": size} for size in sizes],
        "requires_grad": is_parameter,
        "device": {"type": "cpu", "index": None},
        "strides": [{"as_int": stride} for stride in strides],
        "storage_offset": {"as_int": 0},
        "layout": 7,
    }


def node(name, target, names, number):
    """`metadata` is about as long as torch's own: the call stack and the modules."""
    stack = f'  File "/usr/lib/python3/model.py", line {number}, in forward\n    x = self.layer(x)\n' * 4
    inputs = [
        {"name": argument, "arg": {"as_tensor": {"name": value}}, "kind": 1} for argument, value in names
    ]
    return {
        "target": f"torch.ops.aten.{target}",
        "inputs": inputs,
        "outputs": [{"as_tensor": {"name": name}}],
        "metadata": {"stack_trace": stack, "nn_module_stack": STACK.format(number), "torch_fn": f"{name};{target}"},
        "is_hop_single_tensor_return": None,
        "name": name,
    }


def program(layers, width, weights):
    """The program's JSON; every layer has one of `weights` parameters."""
    nodes, values, last = [], {"x": tensor([1, width], False)}, "x"
    for i in range(weights):
        values[f"p_{i}"] = tensor([width, width], True)
    for i in range(layers):
        nodes.append(node(f"linear_{i}", "linear.default", [("input", last), ("weight", f"p_{i % weights}")], i))
        nodes.append(node(f"relu_{i}", "relu.default", [("self", f"linear_{i}")], i))
        values[f"linear_{i}"] = values[f"relu_{i}"] = tensor([1, width], False)
        last = f"relu_{i}"
    inputs = [
        {"parameter": {"arg": {"name": f"p_{i}"}, "parameter_name": f"layers.{i}.weight"}} for i in range(weights)
    ]
    user = {"as_tensor": {"name": "x"}}
    given = [{"as_tensor": {"name": f"p_{i}"}} for i in range(weights)]
    graph = {
        "inputs": [*given, user],
        "outputs": [{"as_tensor": {"name": last}}],
        "nodes": nodes,
        "tensor_values": values,
        "sym_int_values": {},
        "sym_bool_values": {},
        "sym_float_values": {},
        "custom_obj_values": {},
        "is_single_tensor_return": False,
    }
    leaf = {"type": None, "context": None, "children_spec": []}
    in_spec = [
        1,
        {
            "type": "builtins.tuple",
            "context": "null",
            "children_spec": [
                {"type": "builtins.tuple", "context": "null", "children_spec": [leaf]},
                {"type": "builtins.dict", "context": "[]", "children_spec": []},
            ],
        },
    ]
    signature = {
        "inputs": [],
        "outputs": [],
        "in_spec": json.dumps(in_spec),
        "out_spec": json.dumps([1, leaf]),
        "forward_arg_names": ["x"],
    }
    return {
        "graph_module": {
            "graph": graph,
            "signature": {
                "input_specs": [*inputs, {"user_input": {"arg": user}}],
                "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": last}}}}],
            },
            "module_call_graph": [{"fqn": "", "signature": signature}],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": {},
        "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["TRAINING"],
        "torch_version": "2.15.0",
        "guards_code": [],
    }


def write_archive(path, layers, width, weights):
    """An archive of 2 * layers nodes, with `weights` float32 parameters of width x width."""
    config = {
        f"layers.{i}.weight": {
            "path_name": f"weight_{i}",
            "is_param": True,
            "use_pickle": False,
            "tensor_meta": tensor([width, width], True),
        }
        for i in range(weights)
    }
    row = bytes(range(256)) * (width * width * 4 // 256 + 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for i in range(weights):
            archive.writestr(f"model/data/weights/weight_{i}", row[: width * width * 4])
        archive.writestr("model/data/weights/model_weights_config.json", json.dumps({"config": config}))
        archive.writestr("model/data/constants/model_constants_config.json", '{"config": {}}')
        archive.writestr("model/models/model.json", json.dumps(program(layers, width, weights)))
        archive.writestr("model/data/sample_inputs/model.pt", b"")
        for name, content in (("archive_format", "pt2"), ("archive_version", "0"), (".data/version", "6\n")):
            archive.writestr(f"model/{name}", content)
