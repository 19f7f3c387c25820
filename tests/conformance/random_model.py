"""Small models that are drawn at random, for random_calls.py: values, nodes, and what shows their elements."""

import random

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

F32, F64, I64, I32, U8, I8, BOOL = (np.float32, np.float64, np.int64, np.int32, np.uint8, np.int8, np.bool_)
MS, ML = "com.microsoft", "ai.onnx.ml"
CALLS = {}  # the operator: (how many calls in a round, what draws one)


def calls(count, *ops):
    """Registers a function that draws a call of each of the operators."""

    def register(function):
        for op in ops:
            CALLS[op] = count, function
        return function

    return register


class Model:
    """A model that is drawn."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.opset = 17
        self.nodes, self.watching, self.inputs, self.weights, self.feeds = [], [], [], [], {}
        self.outputs, self.watched, self.count = [], [], 0
        self.arrays = {}  # by the name of what was given
        self.reals = set()  # outputs that are reals

    # ---- choices ----

    def chance(self, share):
        return self.random.random() < share

    def one(self, *of):
        return self.random.choice(of)

    def maybe(self, what, share=0.5):
        return what if self.chance(share) else None

    def sizes(self, fewest, most, of=(1, 2, 3, 4, 5)):
        return [self.one(*of) for _ in range(self.random.randint(fewest, most))]

    def axis(self, rank):
        """An axis, counted from either end."""
        return self.random.randint(-rank, rank - 1)

    def at(self, *opsets):
        self.opset = self.one(*opsets)
        return self.opset

    def broadcast(self, dims):
        """Dims that broadcast to these."""
        kept = dims[self.one(0, 0, 1) if len(dims) > 1 else 0 :]
        return [1 if self.chance(0.25) else dim for dim in kept]

    # ---- values ----

    def new(self):
        self.count += 1
        return f"v{self.count}"

    def array(self, dims, dtype):
        count = int(np.prod(dims))
        if dtype == np.str_:
            return np.array([self.one("a", "b c", "", "d,e,f") for _ in range(count)], dtype=object).reshape(dims)
        low = -4 if np.issubdtype(dtype, np.signedinteger) or np.issubdtype(dtype, np.floating) else 0
        top = 1 if dtype == np.bool_ else 6
        return np.array([self.random.randint(low, top) for _ in range(count)]).astype(dtype).reshape(dims)

    def tensor(self, dims, dtype=F32, data=None, share=0.3):
        """An input of the model, some of whose sizes are open."""
        name = self.new()
        data = self.array(dims, dtype) if data is None else data
        is_open = self.chance(0.6)
        known = [f"S{dim}{self.one('a', 'b')}" if is_open and self.chance(share) else dim for dim in dims]
        kind = TensorProto.STRING if dtype == np.str_ else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, known))
        self.feeds[name] = data
        return name

    def given(self, array, dtype=I64, hides=0.1):
        """A value whose elements are known: a constant, in one of its forms, or the shape of an input; now and
        then an input."""
        array = np.asarray(array, dtype=dtype)
        name = self.give(array, dtype, hides)
        self.arrays[name] = array
        return name

    def give(self, array, dtype, hides):
        name = self.new()
        if self.chance(hides):
            return self.tensor(list(array.shape), dtype, array)
        is_shape = dtype == I64 and array.ndim == 1 and 1 <= array.size <= 4 and array.min() >= 1 and array.max() <= 6
        if is_shape and self.chance(0.35):
            return self.node("Shape", [self.tensor(array.tolist(), F32)])[0]
        tensor = numpy_helper.from_array(array, name)
        if self.chance(0.3) and dtype in (I64, I32, F32, F64, BOOL, U8, I8):
            tensor = helper.make_tensor(name, tensor.data_type, array.shape, array.flatten().tolist())
        if self.chance(0.2):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.weights.append(tensor)
        return name

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        """Adds a node; gives the names of its outputs. None is an input or attribute that is left out."""
        names = (
            [self.new() for _ in range(outputs)]
            if isinstance(outputs, int)
            else [self.new() if is_there else "" for is_there in outputs]
        )
        inputs = [name or "" for name in inputs]
        while inputs and not inputs[-1]:
            inputs.pop()
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **given))
        return names

    def call(self, op, inputs, outputs=1, domain="", watches=False, **attributes):
        """Adds the node that is tested, and shows its elements."""
        names = self.node(op, inputs, outputs, domain, **attributes)
        self.outputs += [name for name in names if name]
        self.watched += names if watches else []
        return names

    # ---- the models ----

    def model(self, nodes, outputs, with_dims=True):
        graph = helper.make_graph(
            nodes, "g", self.inputs, [onnx.ValueInfoProto(name=name) for name in outputs], self.weights
        )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(ML, 3), helper.make_opsetid(MS, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10 if self.opset > 18 else 8)

    def run(self):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            self.model(self.nodes, self.outputs).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        kinds = [info.type.removeprefix("tensor(").removesuffix(")") for info in session.get_outputs()]
        made = dict(zip(self.outputs, zip(kinds, session.run(self.outputs, self.feeds))))
        self.reals = {name for name, (kind, _) in made.items() if kind in ("float", "double", "float16")}
        return made

    def watched_model(self):
        """The model with a tensor made from the elements of each value that is watched, and from the
        elements with the other sign."""
        nodes, outputs = list(self.nodes), list(self.outputs)
        whole = helper.make_tensor("whole", TensorProto.INT64, [1], [-1])
        eight = helper.make_tensor("eight", TensorProto.FLOAT, [], [8.0])
        for name in self.watched:
            is_real = name in self.reals
            value = name
            if is_real:
                nodes.append(helper.make_node("Cast", [value], [f"{name}.f"], to=TensorProto.FLOAT))
                nodes.append(helper.make_node("Mul", [f"{name}.f", "eight"], [f"{name}.m"]))
                value = f"{name}.m"
            nodes += [
                helper.make_node("Cast", [value], [f"{name}.i"], to=TensorProto.INT64),
                helper.make_node("Reshape", [f"{name}.i", "whole"], [f"{name}.l"]),
                helper.make_node("Neg", [f"{name}.l"], [f"{name}.n"]),
                helper.make_node("ConstantOfShape", [f"{name}.l"], [f"{name}+"]),
                helper.make_node("ConstantOfShape", [f"{name}.n"], [f"{name}-"]),
            ]
            outputs += [f"{name}+", f"{name}-"]
        model = self.model(nodes, outputs)
        if self.watched:
            model.graph.initializer.extend([whole, eight])
        return model
