#!/usr/bin/env python3
"""Makes samples/lists/edge_tpu.json, what Coral's Edge TPU takes.

usage: edge_tpu_list.py [-o samples/lists/edge_tpu.json]

The compiler, edgetpu_compiler, is closed, so its table of operators is all that is known. ROWS holds that table as
conditions: the operator, the runtime since which it is supported, and what the table limits. What the table leaves open
("might not be mapped") is unchecked, and so are the rows of runtimes 13 and 14, for which only older copies of the page
could be read. Every rule also asks for what the same page asks of all tensors.
"""

import argparse
import json
from pathlib import Path

SOURCE = "coral.ai/docs/edgetpu/models-intro, table of supported operations, Edge TPU runtime 14 (compiler 16.0)"
BYTES = ["int8", "uint8"]


def innermost(tensor):
    """Only the three innermost dims may be more than 1."""
    product = " * ".join(f"{tensor}.dim[-{i}]" for i in (1, 2, 3))
    return f"{tensor}.rank < 4 or {tensor}.elements == {product}"


def not_batch(axes, data="in[0]"):
    """A list of axes without the first one, counted from either end."""
    return f"all({axes} != 0) and all({axes} != 0 - {data}.rank)"


NO_ACTIVATION = 'attr.fused_activation_function == "NONE"'
SIZE_UNKNOWN = "large sizes might not be mapped, to keep the precision"
WEIGHTS = {"1": True, "2?": True}
SAME_DILATION = "attr.dilation_w_factor == attr.dilation_h_factor"


def row(op, since=0, where=(), data=0, **fields):
    """A rule. `data` is the input that is the tensor; None: all of them are."""
    tensor = "in[0]" if data is None else f"in[{data}]"
    inputs = {"all": BYTES} if data is None else [None] * data + [BYTES]
    rule = {"op": op, "inputs": inputs, "outputs": [BYTES], "input_shape": "static"}
    rule |= {"where": [*where, innermost(tensor), innermost("out[0]")], **fields}
    if not since:
        return rule
    trust = f"taken since runtime {since}, which was not compared with Coral's page"
    return rule | {"unchecked": "; ".join(filter(None, [rule.get("unchecked"), trust]))}


def elementwise(op, since=0):
    return row(op, since, data=None)


def concatenation(*where, **fields):
    return row("CONCATENATION", 0, [NO_ACTIVATION, *where], None, **fields)


def reduction(op, since, *where):
    return row(op, since, [not_batch("in[1].values"), *where], constant={"1": True})


Z_REDUCED = "any(in[1].values == -1) or any(in[1].values == in[0].rank - 1)"
ROWS = [
    elementwise("ADD"),
    row("AVERAGE_POOL_2D", 0, [NO_ACTIVATION]),
    concatenation("not any(in.constant)"),
    concatenation("any(in.constant)", "len(in) == 2", unchecked="the constant is all zeros"),
    row("CONV_2D", 0, [SAME_DILATION], constant=WEIGHTS),
    row("DEPTHWISE_CONV_2D", 0, [SAME_DILATION], constant=WEIGHTS),
    row("EXPAND_DIMS", 13),
    row("FULLY_CONNECTED", 0, ['attr.weights_format == "DEFAULT"', "out[0].elements == out[0].dim[-1]"], constant=WEIGHTS),
    row("L2_NORMALIZATION"),
    row("LOGISTIC"),
    row("UNIDIRECTIONAL_SEQUENCE_LSTM", 14),
    elementwise("MAXIMUM"),
    row("MAX_POOL_2D", 0, [NO_ACTIVATION]),
    reduction("MEAN", 0, f"not ({Z_REDUCED}) or in[0].dim[-1] % 4 == 0"),
    elementwise("MINIMUM"),
    elementwise("MUL"),
    row("PACK", 13, ["attr.axis != 0 and attr.axis != 0 - out[0].rank"], None),
    row("PAD", 0, ["in[1].values[0] == 0 and in[1].values[1] == 0"], constant={"1": True}),
    row("PRELU", 13, ["in[1].elements == in[1].dim[-1]"], constant={"1": True}),
    row("QUANTIZE", 13),
    reduction("REDUCE_MAX", 14),
    reduction("REDUCE_MIN", 14),
    row("RELU"),
    row("RELU6"),
    row("RELU_N1_TO_1"),
    row("RESHAPE", unchecked="some reshapes of large tensors might not be mapped"),
    row("RESIZE_BILINEAR", unchecked=SIZE_UNKNOWN),
    row("RESIZE_NEAREST_NEIGHBOR", unchecked=SIZE_UNKNOWN),
    row("RSQRT", 14),
    row("SLICE"),
    row("SOFTMAX", 0, ["in[0].elements == in[0].dim[-1]", "in[0].elements <= 16000"]),
    row("SPACE_TO_DEPTH"),
    row("SPLIT", 0, [not_batch("in[0].values", "in[1]")], 1, constant={"0": True}),
    row("SQUARED_DIFFERENCE", 14, data=None),
    row("SQUEEZE", 13),
    row("STRIDED_SLICE", 0, ["all(in[3].values == 1)", "attr.ellipsis_mask == 0 and attr.new_axis_mask == 0"],
        constant={"3": True}),
    elementwise("SUB"),
    reduction("SUM", 13),
    row("TANH"),
    row("TRANSPOSE", 14),
    row("TRANSPOSE_CONV", 13, data=2, constant={"1": True}),
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("samples/lists/edge_tpu.json"))
    options = parser.parse_args()
    head = {"format": "cleave.support", "version": 1, "name": "edge_tpu", "source": SOURCE, "link": {"bandwidth": "none"}}
    fields = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rules = ",\n  ".join(json.dumps(rule) for rule in ROWS)
    options.output.write_text("{\n" + ",\n".join(fields) + f',\n "allow": [\n  {rules}\n ]\n}}\n')


if __name__ == "__main__":
    main()
