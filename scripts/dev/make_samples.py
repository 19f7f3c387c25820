#!/usr/bin/env python3
"""Makes every generated file in samples/ again: three traced graphs and the ONNX models.

usage: make_samples.py [--onnx | --fx] [-o DIR] [--check]

--fx      only the graphs traced from PyTorch (needs python3-torch, python3-torchvision)
--onnx    only the ONNX models (needs python3-onnx 1.12 or newer)
--check   write nothing; compare with the files that are there

The output is the same each time: weights come from a seeded generator of Python, and the ONNX files
have no dates or versions.
Exit status: 0 done, 1 a file differs or cannot be made, 2 wrong usage.
"""

import argparse
import random
import struct
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
SAMPLES = SCRIPTS.parent / "samples"
GRAPHS = ("resnet18", "transformer_encoder", "dlrm")
OPSET = 17
IR_VERSION = 8


# ---- ONNX: a builder that names things as PyTorch's exporter does --------------------------------


class ModelBuilder:
    """Collects nodes and weights; the node "/stem/Conv" makes the value "/stem/Conv_output_0"."""

    def __init__(self, name, seed):
        from onnx import TensorProto, helper

        self.helper, self.types = helper, TensorProto
        self.name = name
        self.random = random.Random(seed)
        self.nodes, self.weights = [], []
        self.taken = set()

    def node(self, scope, op, inputs, outputs=None, **attributes):
        """Adds a node in a scope like "layer1/conv"; returns its value's name."""
        path = self.unused(f"/{scope}/{op}" if scope else f"/{op}")
        outputs = outputs or [f"{path}_output_0"]
        self.nodes.append(self.helper.make_node(op, inputs, outputs, name=path, **attributes))
        return outputs[0]

    def unused(self, path):
        free, count = path, 0
        while free in self.taken:
            count += 1
            free = f"{path}_{count}"
        self.taken.add(free)
        return free

    def weight(self, name, shape, fan_in):
        """Adds a float32 initializer, uniform in +-1/sqrt(fan_in)."""
        count, bound = 1, fan_in**-0.5
        for dim in shape:
            count *= dim
        return self.floats(name, shape, [self.random.uniform(-bound, bound) for _ in range(count)])

    def floats(self, name, shape, values):
        data = struct.pack(f"<{len(values)}f", *values)
        tensor = self.helper.make_tensor(name, self.types.FLOAT, shape, data, raw=True)
        self.weights.append(tensor)
        return name

    def constant(self, scope, shape, values, integer=False):
        """Adds a Constant node of float32 or int64."""
        form, kind = ("q", self.types.INT64) if integer else ("f", self.types.FLOAT)
        data = struct.pack(f"<{len(values)}{form}", *values)
        tensor = self.helper.make_tensor("", kind, shape, data, raw=True)
        return self.node(scope, "Constant", [], value=tensor)

    def value_info(self, name, shape, kind=None):
        return self.helper.make_tensor_value_info(name, kind or self.types.FLOAT, shape)

    def model_bytes(self, inputs, outputs):
        graph = self.helper.make_graph(self.nodes, self.name, inputs, outputs, self.weights)
        opsets = [self.helper.make_opsetid("", OPSET)]
        model = self.helper.make_model(graph, opset_imports=opsets, producer_name="make_samples")
        model.ir_version = IR_VERSION
        return model.SerializeToString(deterministic=True)


# ---- mobile_block.onnx ---------------------------------------------------------------------------


class MobileBlock(ModelBuilder):
    """A small image classifier: two inverted residual blocks, one with squeeze-and-excite."""

    def conv(self, scope, x, channels_in, channels_out, kernel=1, stride=1, groups=1):
        path = scope.replace("/", ".")
        fan_in = channels_in // groups * kernel * kernel
        shape = [channels_out, channels_in // groups, kernel, kernel]
        weight = self.weight(f"{path}.weight", shape, fan_in)
        bias = self.weight(f"{path}.bias", [channels_out], fan_in)
        return self.node(
            scope,
            "Conv",
            [x, weight, bias],
            dilations=[1, 1],
            group=groups,
            kernel_shape=[kernel, kernel],
            pads=[kernel // 2] * 4,
            strides=[stride, stride],
        )

    def relu6(self, scope, x):
        low, high = self.constant(scope, [], [0.0]), self.constant(scope, [], [6.0])
        return self.node(scope, "Clip", [x, low, high])

    def squeeze_excite(self, scope, x, channels):
        pooled = self.node(f"{scope}/pool", "GlobalAveragePool", [x])
        reduced = self.node(
            f"{scope}/act", "Relu", [self.conv(f"{scope}/fc1", pooled, channels, 8)]
        )
        gate = self.conv(f"{scope}/fc2", reduced, 8, channels)
        gate = self.node(f"{scope}/gate", "HardSigmoid", [gate], alpha=1 / 6)
        return self.node(scope, "Mul", [x, gate])

    def inverted_residual(self, scope, x, channels, expanded, excite):
        y = self.relu6(f"{scope}/expand/act", self.conv(f"{scope}/expand", x, channels, expanded))
        y = self.conv(f"{scope}/depthwise", y, expanded, expanded, kernel=3, groups=expanded)
        y = self.relu6(f"{scope}/depthwise/act", y)
        if excite:
            y = self.squeeze_excite(f"{scope}/se", y, expanded)
        return self.node(scope, "Add", [x, self.conv(f"{scope}/project", y, expanded, channels)])

    def build(self):
        x = self.conv("stem/conv", "image", 3, 16, kernel=3, stride=2)
        x = self.relu6("stem/act", x)
        x = self.inverted_residual("layer1", x, 16, 48, excite=False)
        x = self.inverted_residual("layer2", x, 16, 48, excite=True)
        x = self.node("head/pool", "GlobalAveragePool", [x])
        x = self.node("head", "Flatten", [x], axis=1)
        weight = self.weight("head.classifier.weight", [10, 16], 16)
        bias = self.weight("head.classifier.bias", [10], 16)
        x = self.node("head/classifier", "Gemm", [x, weight, bias], transB=1)
        self.node("head", "Softmax", [x], outputs=["scores"], axis=-1)
        image = self.value_info("image", ["N", 3, 32, 32])
        return self.model_bytes([image], [self.value_info("scores", ["N", 10])])


# ---- attention.onnx ------------------------------------------------------------------------------


class Attention(ModelBuilder):
    """One transformer block; batch B and length T are read from the input's shape while it runs."""

    WIDTH, HEADS, HIDDEN = 32, 4, 64

    def linear(self, scope, x, size_in, size_out):
        path = scope.replace("/", ".")
        weight = self.weight(f"{path}.weight", [size_in, size_out], size_in)
        bias = self.weight(f"{path}.bias", [size_out], size_in)
        return self.node(scope, "Add", [bias, self.node(scope, "MatMul", [x, weight])])

    def layer_norm(self, scope, x):
        """Layer normalization in pieces, as exporters wrote it before opset 17 had one operator."""
        centred = self.node(scope, "Sub", [x, self.node(scope, "ReduceMean", [x], axes=[-1])])
        square = self.node(scope, "Pow", [centred, self.constant(scope, [], [2.0])])
        variance = self.node(scope, "ReduceMean", [square], axes=[-1])
        variance = self.node(scope, "Add", [variance, self.constant(scope, [], [1e-5])])
        scaled = self.node(scope, "Div", [centred, self.node(scope, "Sqrt", [variance])])
        gain = self.floats(f"{scope}.weight", [self.WIDTH], [1.0] * self.WIDTH)
        shift = self.floats(f"{scope}.bias", [self.WIDTH], [0.0] * self.WIDTH)
        return self.node(scope, "Add", [self.node(scope, "Mul", [scaled, gain]), shift])

    def dim(self, scope, x, axis):
        """One dim of x as an int64 tensor of shape [1]."""
        index = self.constant(scope, [], [axis], integer=True)
        dim = self.node(scope, "Gather", [self.node(scope, "Shape", [x]), index], axis=0)
        return self.node(scope, "Unsqueeze", [dim, self.constant(scope, [1], [0], integer=True)])

    def split_heads(self, scope, x, shape, order):
        return self.node(scope, "Transpose", [self.node(scope, "Reshape", [x, shape])], perm=order)

    def masked(self, scope, scores, length):
        """If(causal) adds a mask; both branches capture `scores`, the first also `length`."""
        make = self.helper.make_node
        low = self.helper.make_tensor("value", self.types.FLOAT, [1], [-10000.0])
        one = self.helper.make_tensor("", self.types.INT64, [], [1])
        nodes = [
            make("Concat", [length, length], ["square"], name="/then/Concat", axis=0),
            make("ConstantOfShape", ["square"], ["full"], name="/then/ConstantOfShape", value=low),
            make("Constant", [], ["above"], name="/then/Constant", value=one),
            make("Trilu", ["full", "above"], ["mask"], name="/then/Trilu", upper=1),
            make("Add", [scores, "mask"], ["with_mask"], name="/then/Add"),
        ]
        shape = ["B", self.HEADS, "T", "T"]
        then = self.helper.make_graph(nodes, "then", [], [self.value_info("with_mask", shape)])
        node = make("Identity", [scores], ["as_is"], name="/else/Identity")
        other = self.helper.make_graph([node], "else", [], [self.value_info("as_is", shape)])
        return self.node(scope, "If", ["causal"], then_branch=then, else_branch=other)

    def attention(self, scope, x):
        batch, length = self.dim(scope, x, 0), self.dim(scope, x, 1)
        heads = self.constant(scope, [1], [self.HEADS], integer=True)
        width = self.constant(scope, [1], [self.WIDTH // self.HEADS], integer=True)
        shape = self.node(scope, "Concat", [batch, length, heads, width], axis=0)
        parts = [
            self.linear(f"{scope}/{name}", x, self.WIDTH, self.WIDTH) for name in ("q", "k", "v")
        ]
        query = self.split_heads(f"{scope}/q", parts[0], shape, [0, 2, 1, 3])
        key = self.split_heads(f"{scope}/k", parts[1], shape, [0, 2, 3, 1])
        value = self.split_heads(f"{scope}/v", parts[2], shape, [0, 2, 1, 3])
        scores = self.node(scope, "MatMul", [query, key])
        root = self.constant(scope, [], [(self.WIDTH // self.HEADS) ** 0.5])
        scores = self.masked(scope, self.node(scope, "Div", [scores, root]), length)
        mixed = self.node(scope, "MatMul", [self.node(scope, "Softmax", [scores], axis=-1), value])
        mixed = self.node(scope, "Transpose", [mixed], perm=[0, 2, 1, 3])
        rest = self.constant(scope, [1], [-1], integer=True)
        joined = self.node(scope, "Concat", [batch, length, rest], axis=0)
        mixed = self.node(scope, "Reshape", [mixed, joined])
        return self.linear(f"{scope}/out", mixed, self.WIDTH, self.WIDTH)

    def gelu(self, scope, x):
        root = self.constant(scope, [], [2.0**0.5])
        erf = self.node(scope, "Erf", [self.node(scope, "Div", [x, root])])
        erf = self.node(scope, "Add", [erf, self.constant(scope, [], [1.0])])
        product = self.node(scope, "Mul", [x, erf])
        return self.node(scope, "Mul", [product, self.constant(scope, [], [0.5])])

    def build(self):
        x = self.node("", "Add", ["x", self.attention("attention", self.layer_norm("norm1", "x"))])
        hidden = self.linear("mlp/fc1", self.layer_norm("norm2", x), self.WIDTH, self.HIDDEN)
        hidden = self.linear("mlp/fc2", self.gelu("mlp/act", hidden), self.HIDDEN, self.WIDTH)
        self.node("", "Add", [x, hidden], outputs=["y"])
        shape = ["B", "T", self.WIDTH]
        inputs = [self.value_info("x", shape), self.value_info("causal", [], self.types.BOOL)]
        return self.model_bytes(inputs, [self.value_info("y", shape)])


# ---- recurrent.onnx ------------------------------------------------------------------------------


class Recurrent(ModelBuilder):
    """A dense encoder, a state that a Loop updates four times, a dense decoder."""

    INPUT, STATE, CLASSES, STEPS = 8, 16, 4, 4

    def linear(self, scope, x, width_in, width_out):
        weight = self.weight(f"{scope}.weight", [width_in, width_out], width_in)
        bias = self.weight(f"{scope}.bias", [width_out], width_in)
        product = self.node(scope, "MatMul", [x, weight])
        return self.node(scope, "Add", [product, bias])

    def body(self):
        """One step: state = tanh(state * W + b). W and b are captured."""
        make = self.helper.make_node
        nodes = [
            make("MatMul", ["state", "cell.weight"], ["product"], name="/cell/MatMul"),
            make("Add", ["product", "cell.bias"], ["sum"], name="/cell/Add"),
            make("Tanh", ["sum"], ["next_state"], name="/cell/Tanh"),
            make("Identity", ["go_on"], ["still"], name="/cell/Identity"),
        ]
        shape = ["N", self.STATE]
        inputs = [
            self.value_info("step", [], self.types.INT64),
            self.value_info("go_on", [], self.types.BOOL),
            self.value_info("state", shape),
        ]
        outputs = [
            self.value_info("still", [], self.types.BOOL),
            self.value_info("next_state", shape),
        ]
        return self.helper.make_graph(nodes, "step", inputs, outputs)

    def build(self):
        x = self.node(
            "encoder", "Relu", [self.linear("encoder", "x", self.INPUT, self.STATE)]
        )
        self.weight("cell.weight", [self.STATE, self.STATE], self.STATE)
        self.weight("cell.bias", [self.STATE], self.STATE)
        steps = self.constant("cell", [], [self.STEPS], integer=True)
        x = self.node("cell", "Loop", [steps, "", x], body=self.body())
        x = self.linear("decoder", x, self.STATE, self.CLASSES)
        self.node("decoder", "Softmax", [x], outputs=["scores"], axis=-1)
        inputs = [self.value_info("x", ["N", self.INPUT])]
        return self.model_bytes(inputs, [self.value_info("scores", ["N", self.CLASSES])])


# ---- decoder.onnx --------------------------------------------------------------------------------


class Decoder(ModelBuilder):
    """A language model as exporters write it: tokens, a mask, positions and the past come in, logits
    and the present go out. `masked`: False leaves mask and positions out."""

    def __init__(self, name, seed, heads=2, head=8, vocabulary=64, layers=2, masked=True):
        super().__init__(name, seed)
        self.heads, self.head, self.vocabulary = heads, head, vocabulary
        self.layers, self.masked, self.width = layers, masked, heads * head

    def matrix(self, scope, x, width_out):
        weight = self.weight(f"{scope}.weight", [self.width, width_out], self.width)
        return self.node(scope, "MatMul", [x, weight])

    def split_heads(self, scope, x):
        shape = self.constant(scope, [4], [0, 0, self.heads, self.head], integer=True)
        x = self.node(scope, "Reshape", [self.matrix(scope, x, self.width), shape])
        return self.node(scope, "Transpose", [x], perm=[0, 2, 1, 3])

    def hidden_scores(self):
        """0 where a token attends, and -10,000 at later tokens and where the mask hides one."""
        new = self.node("mask", "Shape", ["input_ids"], start=1)
        seen = self.node("mask", "Shape", ["attention_mask"], start=1)
        ones = self.node("mask", "Concat", [new, seen], axis=0)
        one = self.helper.make_tensor("", self.types.FLOAT, [1], [1.0])
        ones = self.node("mask", "ConstantOfShape", [ones], value=one)
        before = self.node("mask", "Trilu", [ones, self.node("mask", "Sub", [seen, new])], upper=0)
        mask = self.node("mask", "Cast", ["attention_mask"], to=self.types.FLOAT)
        mask = self.node("mask", "Unsqueeze", [mask, self.constant("mask", [2], [1, 2], integer=True)])
        mask = self.node("mask", "Mul", [mask, before])
        seen = self.node("mask", "Sub", [mask, self.constant("mask", [], [1.0])])
        return self.node("mask", "Mul", [seen, self.constant("mask", [], [1e4])])

    def layer(self, index, x, hidden):
        scope = f"layers/{index}"
        query = self.split_heads(f"{scope}/q", x)
        kept = []
        for part in ("key", "value"):
            new = self.split_heads(f"{scope}/{part}", x)
            kept.append(self.node(f"{scope}/{part}", "Concat", [f"past_key_values.{index}.{part}", new],
                                  outputs=[f"present.{index}.{part}"], axis=2))
        turned = self.node(scope, "Transpose", [kept[0]], perm=[0, 1, 3, 2])
        scores = self.node(scope, "MatMul", [query, turned])
        if hidden:
            scores = self.node(scope, "Add", [scores, hidden])
        scores = self.node(scope, "Softmax", [scores], axis=-1)
        mixed = self.node(scope, "Transpose", [self.node(scope, "MatMul", [scores, kept[1]])], perm=[0, 2, 1, 3])
        shape = self.constant(scope, [3], [0, 0, self.width], integer=True)
        mixed = self.matrix(f"{scope}/out", self.node(scope, "Reshape", [mixed, shape]), self.width)
        x = self.node(scope, "Add", [x, mixed])
        return self.node(scope, "Add", [x, self.node(scope, "Tanh", [self.matrix(f"{scope}/mlp", x, self.width)])])

    def build(self):
        table = self.weight("embedding.weight", [self.vocabulary, self.width], 1)
        x = self.node("embedding", "Gather", [table, "input_ids"])
        if self.masked:
            places = self.weight("positions.weight", [128, self.width], 1)
            x = self.node("embedding", "Add", [x, self.node("positions", "Gather", [places, "position_ids"])])
        hidden = self.hidden_scores() if self.masked else None
        for index in range(self.layers):
            x = self.layer(index, x, hidden)
        weight = self.weight("head.weight", [self.width, self.vocabulary], self.width)
        self.node("head", "MatMul", [x, weight], outputs=["logits"])
        inputs = [self.value_info("input_ids", ["B", "T"], self.types.INT64)]
        if self.masked:
            inputs.append(self.value_info("attention_mask", ["B", "S"], self.types.INT64))
            inputs.append(self.value_info("position_ids", ["B", "T"], self.types.INT64))
        outputs = [self.value_info("logits", ["B", "T", self.vocabulary])]
        for index in range(self.layers):
            for part in ("key", "value"):
                inputs.append(self.value_info(f"past_key_values.{index}.{part}", ["B", self.heads, "P", self.head]))
                outputs.append(self.value_info(f"present.{index}.{part}", ["B", self.heads, "S", self.head]))
        return self.model_bytes(inputs, outputs)


# ---- all of them ---------------------------------------------------------------------------------


def onnx_files():
    yield "mobile_block.onnx", MobileBlock("mobile_block", seed=1).build()
    yield "attention.onnx", Attention("attention", seed=2).build()
    yield "recurrent.onnx", Recurrent("recurrent", seed=3).build()
    yield "decoder.onnx", Decoder("decoder", seed=4).build()


def graph_files():
    sys.path.insert(0, str(SCRIPTS))
    import export_fx

    for name in GRAPHS:
        module, inputs = export_fx.load_builtin(name, None)
        module.eval()
        graph = export_fx.export_graph(export_fx.trace(module), inputs, name)
        yield f"{name}.json", export_fx.graph_text(graph).encode()


def chosen_files(options):
    if not options.fx:
        yield from onnx_files()
    if not options.onnx:
        yield from graph_files()


def parse_options():
    parser = argparse.ArgumentParser(prog="make_samples.py", description="Make samples/ again.")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--fx", action="store_true", help="only the graphs traced from PyTorch")
    only.add_argument("--onnx", action="store_true", help="only the ONNX models")
    parser.add_argument("-o", "--output", type=Path, default=SAMPLES, metavar="DIR")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    return parser.parse_args()


def main():
    options = parse_options()
    differing = 0
    try:
        if not options.check:
            options.output.mkdir(parents=True, exist_ok=True)
        for name, content in chosen_files(options):
            path = options.output / name
            if not options.check:
                path.write_bytes(content)
                print(f"{path.name}: {len(content)} bytes", file=sys.stderr)
            elif not path.is_file() or path.read_bytes() != content:
                print(f"make_samples.py: {path} is not what would be made now", file=sys.stderr)
                differing += 1
    except ImportError as missing:
        print(f"make_samples.py: error: {missing}; --onnx or --fx makes one half", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"make_samples.py: error: {error}", file=sys.stderr)
        return 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
