"""Draws calls of operators that mostly fit, for random_calls.py."""

import re

import numpy as np
from onnx import helper, numpy_helper

from random_model import BOOL, F32, F64, I8, I32, I64, ML, MS, U8, calls

# ---- windows ----


def window(m, rank, kernel, has_dilations=True):
    """Attributes of a window along that many axes."""
    auto = m.one(None, None, None, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    pads = [m.random.randint(0, k - 1) for k in kernel + kernel]
    dilations = [m.one(1, 1, 2) for _ in range(rank)] if has_dilations else None
    return {
        "strides": m.maybe([m.one(1, 2, 3) for _ in range(rank)]),
        "dilations": m.maybe(dilations, 0.4),
        "pads": m.maybe(pads) if auto in (None, "NOTSET") else None,
        "auto_pad": auto,
    }


@calls(40, "MaxPool", "AveragePool")
@calls(20, "LpPool")
def pool(m, op):
    opset = m.at(8, 11, 12, 18, 19, 22)
    rank = m.one(1, 2, 2, 3)
    kernel = [m.one(1, 2, 3, 4) for _ in range(rank)]
    dilates = opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    rounds = m.maybe(m.one(0, 1), 0.6) if opset >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op] else None
    x = m.tensor([m.one(1, 2), m.one(1, 3)] + [m.one(7, 8, 9, 10, 11) for _ in range(rank)])
    m.call(
        op,
        [x],
        m.one(1, 2) if op == "MaxPool" else 1,
        kernel_shape=kernel,
        ceil_mode=rounds,
        **window(m, rank, kernel, dilates),
    )


def convolution(m, group):
    rank = m.one(1, 2, 2, 3)
    kernel = [m.one(1, 2, 3) for _ in range(rank)]
    dims = [m.one(1, 2), 2 * group] + [m.one(6, 7, 8, 9) for _ in range(rank)]
    return rank, kernel, dims


@calls(30, "Conv")
def conv(m, op):
    m.at(8, 11, 22)
    group = m.one(1, 2)
    rank, kernel, dims = convolution(m, group)
    w = [2 * group, 2, *kernel]
    bias = m.maybe(m.tensor([2 * group]))
    m.call(
        op,
        [m.tensor(dims), m.tensor(w, share=0.1), bias],
        group=m.maybe(group) if group == 1 else group,
        kernel_shape=m.maybe(kernel),
        **window(m, rank, kernel),
    )


@calls(12, "FusedConv")
def fused_conv(m, op):
    rank, kernel, dims = convolution(m, 1)
    m.call(
        op,
        [m.tensor(dims), m.tensor([3, 2, *kernel], share=0)],
        domain=MS,
        activation="Relu",
        kernel_shape=m.maybe(kernel),
        **window(m, rank, kernel),
    )


@calls(12, "ConvInteger")
def conv_integer(m, op):
    _, kernel, dims = convolution(m, 1)
    rank = len(kernel)
    m.call(
        op,
        [m.tensor(dims, U8), m.tensor([3, 2, *kernel], U8, share=0), m.maybe(m.given(1, U8))],
        kernel_shape=m.maybe(kernel),
        **window(m, rank, kernel),
    )


@calls(12, "QLinearConv")
def quantized_conv(m, op):
    rank, kernel, dims = convolution(m, 1)
    dtype = m.one(U8, I8)
    scale, zero = (lambda: m.given(0.5, F32)), (lambda: m.given(0, dtype))
    m.call(
        op,
        [
            m.tensor(dims, dtype),
            scale(),
            zero(),
            m.tensor([3, 2, *kernel], dtype, share=0),
            scale(),
            zero(),
            scale(),
            zero(),
        ],
        kernel_shape=m.maybe(kernel),
        **window(m, rank, kernel),
    )


@calls(24, "ConvTranspose")
def conv_transpose(m, op):
    group = m.one(1, 2)
    rank, kernel, dims = convolution(m, group)
    attributes = window(m, rank, kernel)
    strides = attributes["strides"] or [1] * rank
    padding = [m.random.randint(0, s - 1) for s in strides]
    shape = None
    if m.chance(0.25):
        attributes["auto_pad"] = attributes["pads"] = attributes["dilations"] = None
        shape = [(d - 1) * s + k + p - m.one(0, 1) for d, s, k, p in zip(dims[2:], strides, kernel, padding)]
    m.call(
        op,
        [m.tensor(dims), m.tensor([2 * group, 3, *kernel], share=0.1)],
        group=m.maybe(group) if group == 1 else group,
        kernel_shape=m.maybe(kernel),
        output_padding=m.maybe(padding),
        output_shape=shape,
        **attributes,
    )


@calls(12, "DeformConv")
def deform_conv(m, op):
    m.at(19, 22)
    kernel, size, pad = [m.one(1, 2, 3), m.one(2, 3)], m.one(5, 6), m.one(0, 1)
    out = [size + 2 * pad - k + 1 for k in kernel]
    count = kernel[0] * kernel[1]
    m.call(
        op,
        [m.tensor([1, 2, size, size]), m.tensor([3, 2, *kernel], share=0.1), m.tensor([1, 2 * count, *out])],
        kernel_shape=m.maybe(kernel),
        pads=[pad] * 4,
    )


@calls(12, "Col2Im")
def col2im(m, op):
    m.at(18)
    image, block = [m.one(4, 5, 6), m.one(4, 5)], [m.one(1, 2), m.one(1, 2)]
    length = (image[0] - block[0] + 1) * (image[1] - block[1] + 1)
    m.call(op, [m.tensor([m.one(1, 2), 3 * block[0] * block[1], length]), m.given(image), m.given(block)])


@calls(16, "CenterCropPad")
def center_crop_pad(m, op):
    m.at(18)
    dims = m.sizes(2, 3)
    axes = m.maybe(m.random.sample(range(len(dims)), m.random.randint(1, len(dims))))
    if axes and m.chance(0.5):
        axes = [axis - len(dims) for axis in axes]
    m.call(op, [m.tensor(dims), m.given([m.one(1, 2, 5, 6) for _ in (axes or dims)])], axes=axes)


@calls(10, "GridSample")
def grid_sample(m, op):
    rank = m.one(2, 3)
    m.at(20) if rank == 3 else m.at(16, 20)
    m.call(op, [m.tensor([2, 3] + [4] * rank), m.tensor([2] + m.sizes(rank, rank) + [rank])])


@calls(10, "AffineGrid")
def affine_grid(m, op):
    m.at(20)
    rank = m.one(2, 3)
    m.call(op, [m.tensor([2, rank, rank + 1]), m.given([2, 3] + m.sizes(rank, rank, (2, 3, 4)))])


@calls(24, "DFT")
def dft(m, op):
    opset = m.at(17, 20)
    rank = m.one(1, 2)
    dims = [m.one(1, 2)] + [m.one(4, 5, 6) for _ in range(rank)] + [m.one(1, 2)]
    axis = m.maybe(m.random.randint(1, rank))
    onesided, inverse = (1, 0) if m.chance(0.4) else (0, m.one(0, 1))
    if onesided:
        dims[-1] = 1
    length = m.maybe(m.given(m.one(3, 4, 5, 7, 8)))
    inputs = [m.tensor(dims), length]
    if opset >= 20 and axis is not None:
        inputs.append(m.given(axis))
    m.call(
        op,
        inputs,
        axis=axis if opset < 20 else None,
        onesided=m.maybe(onesided) if not onesided else 1,
        inverse=m.maybe(inverse) if not inverse else 1,
    )


@calls(16, "STFT")
def stft(m, op):
    m.at(17)
    length, frame = m.one(16, 17, 20), m.one(4, 5, 8)
    has_window = m.chance(0.5)
    m.call(
        op,
        [
            m.tensor([m.one(1, 2), length, 1]),
            m.given(m.one(1, 2, 3, 4)),
            m.tensor([frame], share=0.1) if has_window else None,
            m.given(frame) if not has_window or m.chance(0.5) else None,
        ],
        onesided=m.maybe(m.one(0, 1)),
    )


@calls(12, "MaxUnpool")
def max_unpool(m, op):
    kernel = [m.one(2, 3), 2]
    x = [1, 2, 3, 4]
    m.at(11, 22)
    out = [1, 2, 3 * kernel[0], 4 * kernel[1]]
    index = np.arange(24, dtype=I64).reshape(x)
    m.call(op, [m.tensor(x), m.tensor(x, I64, index), m.maybe(m.given(out), 0.4)], kernel_shape=kernel, strides=kernel)


# ---- resizing ----


@calls(60, "Resize")
def resize(m, op):
    opset = m.at(10, 11, 13, 18, 19)
    dims = [m.one(1, 2), m.one(1, 2, 3), m.one(3, 4, 5), m.one(3, 4, 5)]
    if opset == 10:
        m.call(op, [m.tensor(dims), m.given([1, 1, m.one(1, 2, 0.5, 1.5), m.one(1, 2, 0.7)], F32)])
        return
    axes = m.maybe(m.one([2, 3], [-1, -2], [3], [0, 1, 2, 3])) if opset >= 18 else None
    over = [axis % 4 for axis in axes] if axes else [0, 1, 2, 3]
    x, region = m.tensor(dims), m.given([], F32, hides=0) if opset < 13 else None
    mode = {"mode": m.one("nearest", "linear")}
    if m.chance(0.5):
        policy = m.maybe(m.one("stretch", "not_larger", "not_smaller")) if opset >= 18 else None
        sizes = [dims[axis] if axis < 2 else m.one(2, 4, 6, 7, 9) for axis in over]
        if policy in ("not_larger", "not_smaller"):  # with axes from the end, ONNX Runtime keeps the sizes
            axes, over = ([3], [3]) if len(over) == 1 else ([2, 3], [2, 3])
            sizes = sizes[-len(over) :]
        m.call(
            op,
            [x, region, m.given([], F32, hides=0) if opset < 13 else None, m.given(sizes)],
            axes=axes,
            keep_aspect_ratio_policy=policy,
            **mode,
        )
        return
    scales = [1 if axis < 2 else m.one(1, 2, 0.5, 1.5, 0.7, 2.6) for axis in over]
    crops = m.chance(0.15)
    if crops:
        region = m.given([0.0] * len(over) + [1.0 if axis < 2 else m.one(1.0, 0.5) for axis in over], F32)
        mode["coordinate_transformation_mode"] = "tf_crop_and_resize"
    m.call(op, [x, region, m.given(scales, F32)], axes=axes, **mode)


@calls(12, "Upsample")
def upsample(m, op):
    dims, scales = [1, 2, m.one(3, 4), m.one(3, 4)], [1.0, 1.0, m.one(1.0, 2.0, 1.5), m.one(2.0, 2.5)]
    if m.at(8, 9) == 8:
        m.call(op, [m.tensor(dims)], scales=scales)
    else:
        m.call(op, [m.tensor(dims), m.given(scales, F32)])


@calls(8, "DepthToSpace", "SpaceToDepth")
def move_blocks(m, op):
    block = m.one(1, 2, 3)
    m.at(11, 13)
    dims = [m.one(1, 2), 2 * block * block, block * m.one(1, 2), block * m.one(2, 3)]
    m.call(op, [m.tensor(dims)], blocksize=block)


# ---- shapes as inputs; their elements ----


def numbers(m, dims, dtype=I64, low=-4, top=6):
    """Known elements: constants, or sizes of inputs."""
    count = int(np.prod(dims))
    if dtype == I64 and len(dims) == 1 and 1 <= count <= 4 and m.chance(0.4):
        return m.given([m.random.randint(1, 6) for _ in range(count)], hides=0)
    if dtype == BOOL:
        return m.given(np.array([m.one(0, 1) for _ in range(count)]).reshape(dims), BOOL, hides=0.05)
    values = [m.random.randint(low, top) / (2 if dtype in (F32, F64) else 1) for _ in range(count)]
    return m.given(np.array(values).reshape(dims), dtype, hides=0.05)


@calls(30, "Reshape")
def reshape(m, op):
    m.at(8, 13, 14, 19)
    dims = m.sizes(1, 4, (1, 2, 3, 4, 6))
    total = int(np.prod(dims))
    target, rest = [], total
    for i in range(m.random.randint(0, 3)):
        if i < len(dims) and m.chance(0.25) and rest % dims[i] == 0:
            target.append(0)
            rest //= dims[i]
            continue
        size = m.one(*[k for k in (1, 2, 3, 4, 6) if rest % k == 0])
        target.append(size)
        rest //= size
    if m.chance(0.6):
        target.insert(m.random.randint(0, len(target)), -1) if 0 not in target else target.append(-1)
    else:
        target.append(rest)
    allows = m.maybe(m.one(0, 1)) if m.opset >= 14 and 0 not in target else None
    m.call(op, [m.tensor(dims), m.given(target)], allowzero=allows)


@calls(14, "Reshape elements", "Flatten elements", "Identity elements", "Squeeze elements", "Unsqueeze elements")
def same_elements(m, op):
    op = op.split()[0]
    m.at(13)
    n = m.one(1, 2, 3, 4)
    x = numbers(m, [n])
    if op == "Reshape":
        m.call(op, [x, m.given(m.one([n, 1], [1, n], [-1], [1, -1, 1]))], watches=True)
    elif op == "Flatten":
        m.call(op, [x], watches=True, axis=m.maybe(m.one(0, 1)))
    elif op == "Identity":
        m.call(op, [x], watches=True)
    elif op == "Unsqueeze":
        m.call(op, [x, m.given(m.one([0], [1], [-1], [0, 2], [1, 2]))], watches=True)
    else:
        dims = m.one([1, n], [n, 1], [1, n, 1])
        y = m.node("Reshape", [x, m.given(dims, hides=0)])[0]
        axes = [axis for axis, dim in enumerate(dims) if dim == 1]
        m.call(op, [y, m.maybe(m.given(m.random.sample(axes, m.random.randint(1, len(axes)))), 0.7)], watches=True)


@calls(10, "Squeeze", "Unsqueeze")
def squeeze(m, op):
    opset = m.at(11, 13)
    dims = m.sizes(1, 4, (1, 1, 2, 3))
    ones = [axis for axis, dim in enumerate(dims) if dim == 1]
    axes = m.random.sample(ones, m.random.randint(1, len(ones))) if ones else None
    if op == "Unsqueeze":
        axes = m.random.sample(range(len(dims) + 2), 2)
    elif m.chance(0.4):
        axes = None
    if opset < 13:
        m.call(op, [m.tensor(dims)], axes=axes)
    else:
        m.call(op, [m.tensor(dims), m.given(axes) if axes else None])


@calls(20, "Expand", "Expand elements")
def expand(m, op):
    m.at(8, 13)
    dims = m.sizes(0, 3, (1, 2, 3, 4))
    target = [1 if m.chance(0.3) else dim if dim != 1 else m.one(1, 2, 3) for dim in dims]
    target = m.sizes(0, 2, (1, 2)) + target[m.one(0, 0, len(target) // 2) :]
    if op == "Expand":
        m.call(op, [m.tensor(dims), m.given(target)])
    else:
        m.call("Expand", [numbers(m, dims), m.given(target)], watches=True)


@calls(16, "ConstantOfShape")
def constant_of_shape(m, op):
    dtype = m.one(I64, I32, BOOL, F32)
    value = m.maybe(numpy_helper.from_array(np.array([m.one(0, 1, 3)]).astype(dtype)), 0.8)
    m.call(op, [m.given(m.sizes(1, 3))], value=value, watches=value is not None)


@calls(20, "Tile", "Tile elements")
def tile(m, op):
    dims = m.sizes(1, 3, (1, 2, 3))
    m.at(8, 13)
    repeats = m.given([m.one(1, 2, 3) for _ in dims])
    if op == "Tile":
        m.call(op, [m.tensor(dims), repeats])
    else:
        m.call("Tile", [numbers(m, dims), repeats], watches=True)


@calls(40, "Slice", "Slice elements")
def cut(m, op):
    opset = m.at(9, 10, 13)
    dims = m.sizes(1, 3, (1, 2, 3, 5, 7))
    axes = m.random.sample(range(len(dims)), m.random.randint(1, len(dims)))
    if m.chance(0.3):
        axes = list(range(len(axes)))
    starts = [m.one(0, 0, 1, 2, -1, -2, -9) for _ in axes]
    ends = [m.one(1, 2, 3, -1, 2**31 - 1, 2**63 - 1, 9, -9) for _ in axes]
    steps = [m.one(1, 1, 2, 3, -1, -2) for _ in axes] if m.chance(0.5) else None
    is_first = axes == list(range(len(axes)))
    shown = [axis - len(dims) for axis in axes] if m.chance(0.3) else axes
    is_watched = op != "Slice"
    x = numbers(m, dims) if is_watched else m.tensor(dims)
    if opset == 9:
        m.call(
            "Slice",
            [x],
            starts=starts,
            ends=ends,
            axes=None if is_first and m.chance(0.5) else shown,
            watches=is_watched,
        )
        return
    if steps:
        ends = [-(2**31) if step < 0 and end > 9 else end for step, end in zip(steps, ends)]
    has_axes = not is_first or m.chance(0.5)
    m.call(
        "Slice",
        [x, m.given(starts), m.given(ends), m.given(shown) if has_axes else None, m.given(steps) if steps else None],
        watches=is_watched,
    )


@calls(24, "Pad")
def pad(m, op):
    opset = m.at(11, 13, 18)
    dims = m.sizes(1, 4, (2, 3, 4))
    axes = m.random.sample(range(len(dims)), m.random.randint(1, len(dims))) if opset >= 18 and m.chance(0.5) else None
    pads = [m.one(0, 0, 1, 2, -1) for _ in (axes or dims)] + [m.one(0, 0, 1, 2) for _ in (axes or dims)]
    if axes and m.chance(0.5):
        axes = [axis - len(dims) for axis in axes]
    m.call(op, [m.tensor(dims), m.given(pads), None, m.given(axes) if axes else None])


@calls(30, "Range")
def make_range(m, op):
    dtype = m.one(I64, I64, I32, F32, F64)
    step = m.one(1, 1, 2, 3, -1, -2) if dtype in (I64, I32) else m.one(0.5, 1, -0.25, 0.3)
    start, limit = m.one(0, 0, 1, -2, 7), m.one(0, 3, 4, 5, -3, 8)
    if dtype == I64 and m.chance(0.3):
        size = m.one(2, 3, 5)
        limit = m.node("Squeeze", [m.node("Shape", [m.tensor([size], share=0.7)])[0]])[0]
        m.call(op, [m.given(m.one(0, 0, 1), hides=0), limit, m.given(m.one(1, 1, 2), hides=0)], watches=True)
        return
    m.call(op, [m.given(start, dtype), m.given(limit, dtype), m.given(step, dtype)], watches=dtype in (I64, I32))


@calls(24, "Split", "Split elements")
def split(m, op):
    opset = m.at(11, 13, 18)
    dims = m.sizes(1, 3, (2, 3, 4, 6, 7))
    axis, parts = m.axis(len(dims)), m.one(1, 2, 2, 3)
    whole = dims[axis]
    is_watched = op != "Split"
    x = numbers(m, dims) if is_watched else m.tensor(dims)
    sizes = None
    if m.chance(0.5) or (opset < 18 and whole % parts) or whole < parts:
        parts = min(parts, whole)
        cuts = sorted(m.random.sample(range(1, whole), parts - 1))
        sizes = [b - a for a, b in zip([0, *cuts], [*cuts, whole])]
    if opset < 13:
        m.call("Split", [x], parts, split=sizes, axis=m.maybe(axis, 0.9) if axis == 0 else axis, watches=is_watched)
    else:
        number = parts if opset >= 18 and sizes is None else None
        m.call(
            "Split", [x, m.given(sizes) if sizes else None], parts, num_outputs=number, axis=axis, watches=is_watched
        )


REDUCTIONS = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]


@calls(14, *("Reduce" + one for one in REDUCTIONS))
@calls(30, *(f"Reduce{one} elements" for one in ("Sum", "Prod", "Max", "Min", "Mean")))
def reduce(m, op):
    opset = m.at(11, 13, 18)
    is_watched = op.endswith(" elements")
    op = op.split()[0]
    dims = m.sizes(1, 3, (1, 2, 3, 4))
    x = numbers(m, dims, m.one(I64, I64, I32, F32)) if is_watched else m.tensor(dims)
    axes = m.maybe(m.random.sample(range(len(dims)), m.random.randint(1, len(dims))), 0.7)
    if axes and m.chance(0.5):
        axes = [axis - len(dims) if m.chance(0.7) else axis for axis in axes]
    keeps = m.maybe(m.one(0, 1), 0.8)
    if opset >= (13 if op == "ReduceSum" else 18):
        m.call(
            op,
            [x, m.given(axes) if axes else None],
            keepdims=keeps,
            noop_with_empty_axes=m.maybe(m.one(0, 1), 0.4),
            watches=is_watched,
        )
    else:
        m.call(op, [x], keepdims=keeps, axes=axes, watches=is_watched)


@calls(24, "NonZero")
def non_zero(m, op):
    dims = m.sizes(1, 3, (1, 2, 3))
    m.call(op, [numbers(m, dims, m.one(I64, I32, BOOL, F32), -1, 1)], watches=True)


@calls(30, "Shape")
@calls(10, "Size")
def shape(m, op):
    opset = m.at(13, 15)
    dims = m.sizes(0, 4)
    bounds = {}
    if op == "Shape" and opset >= 15:
        bounds = {"start": m.maybe(m.one(0, 1, 2, -1, -2, -9)), "end": m.maybe(m.one(0, 1, 2, 3, -1, 9, -9))}
    m.call(op, [m.tensor(dims)], watches=True, **bounds)


@calls(24, "Constant")
def constant(m, op):
    m.at(13)
    kind = m.one("value", "value_int", "value_ints", "value_float", "value_floats", "value_string", "value_strings")
    value = {
        "value": numpy_helper.from_array(m.array(m.sizes(0, 2), m.one(I64, F32, I32, BOOL))),
        "value_int": m.one(3, -2, 0),
        "value_ints": m.sizes(1, 4, (0, 1, -2, 5)),
        "value_float": m.one(0.5, -1.0),
        "value_string": "s",
        "value_floats": [1.5, -2.0][: m.one(1, 2)],
        "value_strings": ["a", "b"],
    }[kind]
    m.call(op, [], watches="string" not in kind, **{kind: value})


# ---- arithmetic with elements ----


def pair(m, dtypes, low=-4, top=6):
    dims = m.sizes(0, 2, (1, 2, 3))
    dtype = m.one(*dtypes)
    return numbers(m, dims, dtype, low, top), numbers(m, m.broadcast(dims), dtype, low, top), dtype


@calls(40, "Add", "Sub", "Mul", "Div")
def arithmetic(m, op):
    m.at(8, 14)
    dtypes = (I64, I64, I32, F32, F64)
    if m.chance(0.25):  # a size, and what changes it or not
        size = m.node("Shape", [m.tensor([m.one(2, 3, 4)], share=0.8)])[0]
        other = m.given(m.one(1, 1, 2, 3) if op == "Div" else m.one(0, 1, 1, 2), hides=0)
        m.call(op, m.one([size, other], [size, other], [other, size]), watches=True)
        return
    a, b, _ = pair(m, dtypes)
    if op == "Div":
        a, b, _ = pair(m, dtypes, 1, 6)
    m.call(op, m.one([a, b], [b, a]), watches=True)


@calls(24, "Mod")
def modulo(m, op):
    m.at(10, 13)
    a, _, dtype = pair(m, (I64, I32))
    b = m.given(m.one(1, 2, 3, -1, -2, -3), dtype)
    m.call(op, [a, b], watches=True, fmod=m.maybe(m.one(0, 0, 1), 0.3))


@calls(24, "Min", "Max")
def extreme(m, op):
    m.at(8, 12, 13)
    dtype = m.one(I64, F32, F64) if m.opset >= 12 else F32
    dims = m.sizes(0, 2, (1, 2, 3))
    inputs = [numbers(m, m.broadcast(dims), dtype) for _ in range(m.one(1, 2, 2, 3))]
    m.call(op, inputs, watches=True)


@calls(10, "Sum")
def add_all(m, op):
    dims = m.sizes(0, 2, (1, 2, 3))
    m.call(op, [numbers(m, m.broadcast(dims), F32) for _ in range(m.one(1, 2, 3))], watches=True)


@calls(24, "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def compare(m, op):
    m.at(13, 16)
    a, b, _ = pair(m, (I64, I64, I32, F32), -1, 1)
    m.call(op, m.one([a, b], [b, a]), watches=True)


@calls(16, "And", "Or")
def logic(m, op):
    a, b, _ = pair(m, (BOOL,))
    m.call(op, [a, b], watches=True)


@calls(10, "Not")
def negate(m, op):
    m.call(op, [numbers(m, m.sizes(0, 2, (1, 2, 3)), BOOL)], watches=True)


@calls(30, "Where")
def where(m, op):
    dims = m.sizes(0, 2, (1, 2, 3))
    dtype = m.one(I64, I64, F32, I32)
    m.call(
        op,
        [
            numbers(m, m.broadcast(dims), BOOL),
            numbers(m, m.broadcast(dims), dtype),
            numbers(m, m.broadcast(dims), dtype),
        ],
        watches=True,
    )


@calls(12, "Neg", "Abs", "Floor", "Ceil", "Sqrt", "Round", "Reciprocal")
def each(m, op):
    m.at(13)
    dtype = m.one(I64, I32, F32) if op in ("Neg", "Abs") else m.one(F32, F64)
    low = 1 if op in ("Sqrt", "Reciprocal") else -7
    m.call(op, [numbers(m, m.sizes(0, 2, (1, 2, 3)), dtype, low, 9)], watches=True)


@calls(60, "Cast")
def cast(m, op):
    kinds = (I64, I32, F32, F64, BOOL, U8, I8)
    m.call(
        op,
        [numbers(m, m.sizes(0, 2, (1, 2, 3)), m.one(*kinds), m.one(0, -4), m.one(6, 300))],
        watches=True,
        to=helper.np_dtype_to_tensor_dtype(np.dtype(m.one(*kinds, np.uint16, np.int16, np.uint32, np.uint64))),
    )


@calls(8, "CastLike")
def cast_like(m, op):
    m.at(15)
    m.call(op, [m.tensor(m.sizes(0, 2)), m.tensor([1], m.one(I64, I32, F64, BOOL))])


@calls(24, "Pow")
def power(m, op):
    m.at(8, 13)
    dims = m.sizes(0, 2, (1, 2, 3))
    dtype = m.one(I64, F32, F64)
    m.call(op, [numbers(m, m.broadcast(dims), dtype, -3, 6), numbers(m, m.broadcast(dims), dtype, 0, 4)], watches=True)


@calls(30, "Clip")
def clip(m, op):
    opset = m.at(8, 11, 12)
    dtype = m.one(I64, F32) if opset >= 12 else F32
    least, most = m.maybe(m.one(-1, 0, 1)), m.maybe(m.one(1, 2, 3))
    x = numbers(m, m.sizes(0, 2, (1, 2, 3)), dtype)
    if opset < 11:
        m.call(
            op,
            [x],
            watches=True,
            min=None if least is None else float(least),
            max=None if most is None else float(most),
        )
    else:
        m.call(
            op,
            [x, None if least is None else m.given(least, dtype), None if most is None else m.given(most, dtype)],
            watches=True,
        )


@calls(20, "ArgMax", "ArgMin")
def arg_best(m, op):
    m.at(11, 12, 13)
    dims = m.sizes(1, 3, (1, 2, 3, 4))
    last = m.maybe(m.one(0, 1)) if m.opset >= 12 else None
    m.call(
        op,
        [numbers(m, dims, m.one(I64, F32, I32), -2, 2)],
        watches=True,
        axis=m.maybe(m.axis(len(dims)), 0.8),
        keepdims=m.maybe(m.one(0, 1)),
        select_last_index=last,
    )


@calls(20, "CumSum")
def cumulative(m, op):
    m.at(11, 14)
    dims = m.sizes(1, 3, (1, 2, 3))
    m.call(
        op,
        [numbers(m, dims, m.one(I64, I32)), m.given(m.axis(len(dims)), hides=0.05)],
        watches=True,
        exclusive=m.maybe(m.one(0, 1)),
        reverse=m.maybe(m.one(0, 1)),
    )


# ---- choosing and placing elements ----


@calls(24, "TopK")
def top_k(m, op):
    opset = m.at(8, 10, 11)
    dims = m.sizes(1, 3, (1, 2, 3, 4))
    axis = m.axis(len(dims)) if opset >= 11 else m.random.randint(0, len(dims) - 1)
    dtype = m.one(I64, F32) if opset >= 11 else F32
    k = m.random.randint(1, dims[axis])
    x = numbers(m, dims, dtype, -3, 3)
    if opset < 10:
        m.call(op, [x], 2, k=k, axis=axis, watches=True)
    else:
        m.call(
            op,
            [x, m.given([k], hides=0.05)],
            2,
            axis=axis,
            watches=True,
            **({"largest": m.maybe(m.one(0, 1)), "sorted": m.maybe(m.one(1, 1, 0), 0.3)} if opset >= 11 else {}),
        )


def indices(m, dims, below):
    return m.given(
        np.array([m.random.randint(-below, below - 1) for _ in range(int(np.prod(dims)))]).reshape(dims), hides=0.05
    )


@calls(30, "Gather")
def gather(m, op):
    m.at(11, 13)
    dims = m.sizes(1, 3, (1, 2, 3, 4))
    axis = m.axis(len(dims))
    m.call(
        op,
        [numbers(m, dims), indices(m, m.sizes(0, 2, (1, 2, 3)), dims[axis])],
        watches=True,
        axis=m.maybe(axis, 0.9) if axis == 0 else axis,
    )


@calls(20, "GatherElements")
def gather_along(m, op):
    dims = m.sizes(1, 3, (1, 2, 3))
    axis = m.axis(len(dims))
    wanted = [m.random.randint(1, dim) for dim in dims]
    wanted[axis] = m.one(1, 2, 4)
    m.call(op, [numbers(m, dims, m.one(I64, F32)), indices(m, wanted, dims[axis])], watches=True, axis=axis)


@calls(20, "GatherND", "ScatterND")
def slices(m, op):
    m.at(13)
    dims = m.sizes(1, 3, (2, 3))
    depth = m.random.randint(1, len(dims))
    every = [list(index) for index in np.ndindex(*dims[:depth])]
    rows = m.random.sample(every, m.random.randint(1, min(3, len(every))))
    rows = [[i - dims[k] if m.chance(0.3) else i for k, i in enumerate(row)] for row in rows]
    index = m.given(np.array(rows) if m.chance(0.7) or len(rows) > 1 else np.array(rows[0]), hides=0.05)
    data = numbers(m, dims, m.one(I64, F32))
    dtype = m.arrays[data].dtype.type
    if op == "GatherND":
        m.call(op, [data, index], watches=True)
    else:
        m.call(
            op,
            [data, index, numbers(m, [*m.arrays[index].shape[:-1], *dims[depth:]], dtype)],
            watches=True,
            reduction=m.maybe("none", 0.2),
        )


@calls(20, "ScatterElements")
def scatter_along(m, op):
    m.at(13)
    dims = m.sizes(1, 2, (2, 3, 4))
    axis = m.axis(len(dims))
    wanted = [m.random.randint(1, dim) for dim in dims]
    lines = int(np.prod(wanted)) // wanted[axis]
    columns = [m.random.sample(range(dims[axis]), wanted[axis]) for _ in range(lines)]
    index = np.array(columns).reshape([w for i, w in enumerate(wanted) if i != axis % len(dims)] + [wanted[axis]])
    index = np.moveaxis(index, -1, axis)
    data = numbers(m, dims, m.one(I64, F32))
    m.call(
        op, [data, m.given(index, hides=0.05), numbers(m, wanted, m.arrays[data].dtype.type)], watches=True, axis=axis
    )


@calls(24, "OneHot")
def one_hot(m, op):
    m.at(11)
    dims = m.sizes(1, 2, (1, 2, 3))
    depth = m.one(2, 3, 4)
    is_known = m.chance(0.7)
    at = indices(m, dims, depth) if is_known else m.tensor(dims, I64)
    dtype, kind = m.one((I64, I64), (I64, F32), (F32, F32))
    m.call(
        op,
        [at, m.given(m.one(depth, [depth]), dtype, hides=0.05), m.given(m.one([0, 1], [2, 5]), kind)],
        watches=True,
        axis=m.maybe(m.axis(len(dims) + 1)),
    )


@calls(16, "Transpose")
def transpose(m, op):
    dims = m.sizes(1, 3, (1, 2, 3))
    order = m.random.sample(range(len(dims)), len(dims))
    m.call(op, [numbers(m, dims, m.one(I64, F32))], watches=True, perm=m.maybe(order, 0.7))


@calls(24, "Concat")
def concat(m, op):
    dims = m.sizes(1, 3, (1, 2, 3))
    axis = m.axis(len(dims))
    inputs = []
    for _ in range(m.one(1, 2, 3)):
        dims[axis] = m.one(1, 2, 3)
        inputs.append(numbers(m, dims, I64))
    m.call(op, inputs, watches=True, axis=axis)


@calls(16, "Compress")
def compress(m, op):
    m.at(11)
    dims = m.sizes(1, 3, (2, 3))
    axis = m.maybe(m.axis(len(dims)), 0.7)
    length = int(np.prod(dims)) if axis is None else dims[axis]
    m.call(op, [m.tensor(dims), numbers(m, [m.random.randint(1, length)], BOOL)], axis=axis)


@calls(30, "Einsum")
def einsum(m, op):
    sizes = {letter: m.one(1, 2, 3, 4) for letter in "abcdE"}
    sizes["."] = [m.one(2, 3)] * m.one(0, 1, 2)
    equation = m.one(
        "ab,bc->ac",
        "ab,bc",
        "abc,acd->abd",
        "a,a->",
        "ab->ba",
        "ab->b",
        "...ab,...bc->...ac",
        "ab...->a...",
        "ba,ca",
        "aE,Ed->ad",
        "aa->a",
        "...a,a->...",
        "a...b->...ba",
        "abc -> cab",
        "ab , b -> a",
        "...ab",
    )
    left = equation.replace(" ", "").split("->")[0]
    tensors = []
    for term in left.split(","):
        dims = []
        for part in re.findall(r"\.\.\.|\w", term):
            dims += sizes["."] if part == "..." else [sizes[part]]
        tensors.append(m.tensor(dims))
    m.call(op, tensors, equation=equation)


@calls(10, "Dropout")
def dropout(m, op):
    opset = m.at(8, 10, 12, 13)
    m.call(op, [m.tensor(m.sizes(1, 3))], m.one(1, 2), **({"ratio": 0.5} if opset < 12 else {}))


@calls(8, "StringSplit")
def string_split(m, op):
    m.at(20)
    m.call(op, [m.tensor(m.sizes(1, 2), np.str_)], 2, delimiter=",")


@calls(30, "Attention")
def attention(m, op):
    m.at(23)
    batch, heads, kv, q, k, size, vsize = 2, m.one(2, 4), 2, m.one(2, 3), m.one(3, 4), 3, m.one(3, 5)
    has_past = m.chance(0.4)
    past = 2 if has_past else 0
    outputs = 3 if has_past else 1
    if m.chance(0.5):
        inputs = [m.tensor([batch, heads, q, size]), m.tensor([batch, kv, k, size]), m.tensor([batch, kv, k, vsize])]
        attributes = {}
    else:
        inputs = [m.tensor([batch, q, heads * size]), m.tensor([batch, k, kv * size]), m.tensor([batch, k, kv * vsize])]
        attributes = {"q_num_heads": heads, "kv_num_heads": kv}
    pasts = [None, m.tensor([batch, kv, past, size]), m.tensor([batch, kv, past, vsize])] if has_past else []
    m.call(op, inputs + pasts, outputs, **attributes)


@calls(6, "RMSNormalization")
def rms_normalization(m, op):
    m.at(23)
    dims = m.sizes(2, 3)
    m.call(op, [m.tensor(dims), m.tensor([dims[-1]])])


# ---- one type after another ----


@calls(4, "Celu", "Mish", "Gelu", "Erf", "Sin", "HardSwish", "Sigmoid", "Tanh", "Exp", "Softplus")
def same_type(m, op):
    m.at(20)
    m.call(op, [m.tensor(m.sizes(0, 3))])


@calls(8, "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Xor")
def bits(m, op):
    m.at(18)
    dims = m.sizes(0, 3)
    dtype = BOOL if op == "Xor" else m.one(I64, I32)
    m.call(op, [m.tensor(m.broadcast(dims), dtype), m.tensor(m.broadcast(dims), dtype)])


@calls(16, "MatMul")
def matmul(m, op):
    batch = m.sizes(0, 2)
    a, b, c = m.sizes(3, 3)
    left, right = m.broadcast(batch) + [a, b], m.broadcast(batch) + [b, c]
    left, right = (left[-1:] if m.chance(0.15) else left), (right[-2:-1] if m.chance(0.15) else right)
    m.call(op, [m.tensor(left), m.tensor(right)])


@calls(8, "Add types", "GreaterOrEqual types", "Equal types", "Max types")
def broadcast_types(m, op):
    m.at(13, 16)
    dims = m.sizes(0, 3)
    m.call(op.split()[0], [m.tensor(m.broadcast(dims)), m.tensor(m.broadcast(dims))])


@calls(16, "QuantizeLinear", "DequantizeLinear")
def quantize(m, op):
    m.at(13, 19, 21)
    dims, kind = m.sizes(1, 3), m.one(U8, I8)
    zero = m.maybe(m.given(0, kind), 0.6)
    if op == "QuantizeLinear":
        stated = m.maybe(helper.np_dtype_to_tensor_dtype(np.dtype(kind))) if m.opset >= 21 else None
        m.call(op, [m.tensor(dims), m.given(0.5, F32), zero], output_dtype=stated)
    else:
        m.call(op, [m.tensor(dims, kind), m.given(0.5, F32), zero])


# ---- com.microsoft ----


@calls(10, "Attention of com.microsoft")
def ms_attention(m, op):
    batch, length, heads = m.one(1, 2), m.one(2, 3), 2
    hidden, v = 4, m.one(4, 6)
    sizes = [4, 4, v] if v != 4 or m.chance(0.3) else None
    wide = 8 + v
    m.call(
        "Attention",
        [m.tensor([batch, length, hidden]), m.tensor([hidden, wide], share=0.1), m.tensor([wide])],
        m.one(1, 1, 2),
        MS,
        num_heads=heads,
        qkv_hidden_sizes=sizes,
    )


@calls(10, "QAttention")
def quantized_attention(m, op):
    m.call(
        op,
        [
            m.tensor([m.one(1, 2), m.one(2, 3), 4], U8),
            m.given(m.array([4, 12], U8), U8, hides=0),
            m.tensor([12]),
            m.given(0.5, F32),
            m.given(0.5, F32),
            None,
            m.given(1, U8),
            m.given(1, U8),
        ],
        1,
        MS,
        num_heads=2,
    )


@calls(12, "MultiHeadAttention")
def multi_head_attention(m, op):
    batch, q, k, heads, v = 2, m.one(2, 3), m.one(3, 4), 2, m.one(4, 6)
    if m.chance(0.3):
        rest = [m.tensor([batch, heads, k, 2]), m.tensor([batch, heads, k, v // heads])]
    else:
        rest = [m.tensor([batch, k, 4]), m.tensor([batch, k, v])]
    m.call(op, [m.tensor([batch, q, 4]), *rest], 1, MS, num_heads=heads)


@calls(14, "GroupQueryAttention")
def group_query_attention(m, op):
    batch, length, heads, kv, size = m.one(1, 2), 3, m.one(2, 4), m.one(1, 2), 8
    if m.chance(0.5):
        packed = [m.tensor([batch, length, (heads + 2 * kv) * size]), None, None]
    else:
        packed = [m.tensor([batch, length, heads * size])] + [m.tensor([batch, length, kv * size]) for _ in range(2)]
    past = [m.tensor([batch, kv, 4, size], share=0.1) for _ in range(2)]
    m.call(
        op,
        [*packed, *past, m.given([length - 1] * batch, I32), m.given(length, I32)],
        3,
        MS,
        num_heads=heads,
        kv_num_heads=kv,
    )


@calls(10, "SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_normalization(m, op):
    dims = [m.one(1, 2), m.one(2, 3), 4]
    inputs = [m.tensor(dims), m.tensor(dims), m.tensor([4])]
    m.call(op, inputs, m.one((True,), (True, False, False, True)), MS)


@calls(8, "SimplifiedLayerNormalization")
def simplified(m, op):
    dims = m.sizes(2, 3)
    m.call(op, [m.tensor(dims), m.tensor([dims[-1]])], 1, axis=-1)


@calls(10, "EmbedLayerNormalization")
def embed(m, op):
    batch, length, hidden = m.one(1, 2), m.one(2, 3), 4
    ids = np.zeros([batch, length], I32)
    has_segment = m.chance(0.5)
    m.call(
        op,
        [
            m.tensor([batch, length], I32, ids),
            m.tensor([batch, length], I32, ids) if has_segment else None,
            m.tensor([5, hidden], share=0),
            m.tensor([6, hidden], share=0),
            m.tensor([2, hidden], share=0) if has_segment else None,
            m.tensor([hidden], share=0),
            m.tensor([hidden], share=0),
        ],
        m.one(2, 3),
        MS,
    )


@calls(12, "FusedMatMul")
def fused_matmul(m, op):
    batch = m.sizes(0, 2)
    a, b, c = m.sizes(3, 3)
    left, right, flips = batch + [a, b], batch + [b, c], [m.one(0, 1), m.one(0, 1)]
    left = left[:-2] + left[:-3:-1] if flips[0] else left
    right = right[:-2] + right[:-3:-1] if flips[1] else right
    m.call(
        op,
        [m.tensor(left), m.tensor(right)],
        1,
        MS,
        transA=m.maybe(flips[0]) if not flips[0] else 1,
        transB=m.maybe(flips[1]) if not flips[1] else 1,
    )


@calls(12, "FusedGemm", "Gemm")
def gemm(m, op):
    m.at(11)
    a, b, c = m.sizes(3, 3)
    flips = m.one(0, 1), m.one(0, 1)
    more = {"activation": "Relu"} if op == "FusedGemm" else {}
    m.call(
        op,
        [m.tensor([b, a] if flips[0] else [a, b]), m.tensor([c, b] if flips[1] else [b, c]), m.maybe(m.tensor([c]))],
        1,
        MS if more else "",
        transA=flips[0],
        transB=flips[1],
        **more,
    )


@calls(12, "QGemm")
def quantized_gemm(m, op):
    a, b, c = m.sizes(3, 3, (2, 3, 4))
    flips = m.one(0, 1), m.one(0, 1)
    kind = m.one(U8, I8)
    scale, zero = (lambda: m.given(0.5, F32)), (lambda: m.given(0, kind))
    last = [None, scale(), zero()] if m.chance(0.6) else []
    m.call(
        op,
        [
            m.tensor([b, a] if flips[0] else [a, b], kind),
            scale(),
            zero(),
            m.tensor([c, b] if flips[1] else [b, c], kind),
            scale(),
            zero(),
            *last,
        ],
        1,
        MS,
        transA=flips[0],
        transB=flips[1],
    )


@calls(12, "MatMulIntegerToFloat", "DynamicQuantizeMatMul")
def float_product(m, op):
    batch = m.sizes(0, 2)
    a, b, c = m.sizes(3, 3, (2, 3, 4))
    right = m.tensor([b, c], U8)
    if op == "DynamicQuantizeMatMul":
        m.call(op, [m.tensor(batch + [a, b]), right, m.given(0.5, F32)], 1, MS)
    else:
        m.call(op, [m.tensor(batch + [a, b], U8), right, m.given(0.5, F32), m.given(0.5, F32)], 1, MS)


@calls(8, "MatMulNBits")
def packed_matmul(m, op):
    n = m.one(2, 3)
    m.call(
        op,
        [
            m.tensor(m.sizes(1, 2) + [32]),
            m.given(m.array([n, 1, 16], U8), U8, hides=0),
            m.given(np.ones(n), F32, hides=0),
        ],
        1,
        MS,
        K=32,
        N=n,
        bits=4,
        block_size=32,
    )


@calls(10, "QLinearAdd", "QLinearMul")
def quantized_binary(m, op):
    dims, kind = m.sizes(1, 3), m.one(U8, I8)
    inputs = []
    for _ in range(2):
        inputs += [m.tensor(m.broadcast(dims), kind), m.given(0.5, F32), m.given(0, kind)]
    m.call(op, inputs + [m.given(0.5, F32), m.given(0, kind)], 1, MS)


@calls(5, "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
def quantized_unary(m, op):
    kind = m.one(U8, I8)
    more = {"opset": 13, "axis": -1} if op == "QLinearSoftmax" else {}
    m.call(
        op,
        [
            m.tensor(m.sizes(2, 3), kind),
            m.given(0.5, F32, hides=0),
            m.given(0, kind, hides=0),
            m.given(0.5, F32, hides=0),
            m.given(0, kind, hides=0),
        ],
        1,
        MS,
        **more,
    )


@calls(10, "QLinearAveragePool")
@calls(10, "QLinearGlobalAveragePool")
def quantized_pool(m, op):
    last = m.one(0, 0, 1)
    dims = [m.one(1, 2), 6, 7, m.one(2, 3)] if last else [m.one(1, 2), m.one(2, 3), 6, 7]
    kernel = [m.one(2, 3), m.one(1, 2)]
    # Without padding: ONNX Runtime divides by 0 where a window lies in it.
    more = (
        {}
        if "Global" in op
        else {"kernel_shape": kernel, "strides": m.maybe([m.one(1, 2), m.one(1, 2, 3)]), "ceil_mode": m.maybe(0)}
    )
    m.call(
        op,
        [m.tensor(dims, U8), m.given(0.5, F32), m.given(0, U8), m.given(0.5, F32), m.given(0, U8)],
        1,
        MS,
        channels_last=m.maybe(last) if not last else 1,
        **more,
    )


@calls(12, "QLinearConcat")
def quantized_concat(m, op):
    dims = m.sizes(1, 3)
    axis, inputs = m.axis(len(dims)), [m.given(0.5, F32), m.given(0, U8)]
    for _ in range(m.one(1, 2, 3)):
        dims[axis] = m.one(1, 2, 3)
        inputs += [m.tensor(dims, U8), m.given(0.5, F32, hides=0), m.given(0, U8, hides=0)]
    m.call(op, inputs, 1, MS, axis=axis)


@calls(4, "QuantizeLinear of com.microsoft", "DequantizeLinear of com.microsoft")
def ms_quantize(m, op):
    op = op.split()[0]
    kind = m.one(U8, I8)
    m.call(op, [m.tensor(m.sizes(1, 3), F32 if op[0] == "Q" else kind), m.given(0.5, F32), m.given(0, kind)], 1, MS)


@calls(4, "BiasGelu", "FastGelu", "QuickGelu", "Trilu of com.microsoft")
def ms_same_type(m, op):
    dims = m.sizes(2, 3)
    m.call(op.split()[0], [m.tensor(dims)] + ([m.tensor(dims[-1:])] if op == "BiasGelu" else []), 1, MS)


@calls(8, "DynamicQuantizeLSTM")
def quantized_lstm(m, op):
    directions, hidden, size, length, batch = m.one(1, 2), m.one(2, 3), 4, 3, m.one(1, 2)
    w, r = m.array([directions, size, 4 * hidden], U8), m.array([directions, hidden, 4 * hidden], U8)
    ones, zeros = np.ones([directions]), np.zeros([directions])
    constant = [
        m.given(ones, F32, hides=0),
        m.given(zeros, U8, hides=0),
        m.given(ones, F32, hides=0),
        m.given(zeros, U8, hides=0),
    ]
    m.call(
        op,
        [
            m.tensor([length, batch, size]),
            m.given(w, U8, hides=0),
            m.given(r, U8, hides=0),
            None,
            None,
            None,
            None,
            None,
            *constant,
        ],
        m.one(1, 2, 3),
        MS,
        direction="bidirectional" if directions == 2 else m.maybe("forward"),
        hidden_size=hidden,
    )


# ---- ai.onnx.ml ----


@calls(10, "ArrayFeatureExtractor")
def feature_extractor(m, op):
    dims = m.sizes(1, 3, (2, 3))
    m.call(op, [m.tensor(dims), m.given([m.random.randint(0, dims[-1] - 1) for _ in range(m.one(1, 2, 3))])], 1, ML)


@calls(4, "Binarizer", "Normalizer", "Imputer", "Scaler")
def ml_same(m, op):
    dims, kind = m.sizes(2, 2), m.one(F32, I64) if op in ("Normalizer", "Scaler") else F32
    more = {
        "Binarizer": {"threshold": 0.5},
        "Normalizer": {"norm": "L2"},
        "Imputer": {"imputed_value_floats": [1.0]},
        "Scaler": {"offset": [1.0], "scale": [2.0]},
    }[op]
    m.call(op, [m.tensor(dims, kind)], 1, ML, **more)


@calls(10, "LabelEncoder")
def label_encoder(m, op):
    keys = m.one({"keys_int64s": [1, 2]}, {"keys_strings": ["a", "b c"]})
    values = m.one({"values_int64s": [5, 6]}, {"values_strings": ["p", "q"]}, {"values_floats": [0.5, 1.5]})
    m.call(op, [m.tensor(m.sizes(1, 2), np.str_ if "keys_strings" in keys else I64)], 1, ML, **keys, **values)


@calls(6, "FeatureVectorizer")
def feature_vectorizer(m, op):
    sizes = m.sizes(1, 3)
    m.call(op, [m.tensor([2, size]) for size in sizes], 1, ML, inputdimensions=sizes)


@calls(6, "LinearRegressor")
def linear_regressor(m, op):
    targets = m.one(1, 2, 3)
    m.call(
        op,
        [m.tensor([m.one(1, 2, 3), 4])],
        1,
        ML,
        coefficients=[0.5] * (4 * targets),
        targets=m.maybe(targets) if targets == 1 else targets,
        intercepts=[0.0] * targets,
    )


@calls(6, "LinearClassifier")
def linear_classifier(m, op):
    names = m.one({"classlabels_ints": [0, 1, 2]}, {"classlabels_strings": ["a", "b", "c"]})
    m.call(op, [m.tensor([m.one(1, 2, 3), 4])], 2, ML, coefficients=[0.5] * 12, intercepts=[0.0] * 3, **names)


@calls(6, "TreeEnsembleRegressor")
def tree_regressor(m, op):
    targets = m.one(1, 2)
    m.call(
        op,
        [m.tensor([m.one(1, 2, 3), 4])],
        1,
        ML,
        n_targets=targets,
        nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[1, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[0.5, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        target_treeids=[0, 0],
        target_nodeids=[1, 2],
        target_ids=[0, targets - 1],
        target_weights=[1.0, 2.0],
    )
