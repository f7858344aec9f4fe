# SPDX-License-Identifier: Apache-2.0
"""Ops that PyTorch takes apart as it traces, and that programs of torch.export.save still have."""

import math

from lanescope.torch.emitter import Value
from lanescope.torch.ops import RULES, rule
from lanescope.torch.ops import convolutions, elementwise, images, layers, shapes
from lanescope.torch.ops.elementwise import result_dtype, value_of
from lanescope.torch.ops.linear import addmm, product
from lanescope.torch.ops.shapes import broadcast, part

for _name, _like in (("to.dtype", "_to_copy.default"), ("to.dtype_layout", "_to_copy.default"), ("to.device", "_to_copy.default"),
                     ("type_as.default", "_to_copy.default"), ("to.other", "_to_copy.default"), ("flatten.using_ints", "view.default"),
                     ("unflatten.int", "view.default"), ("view_as.default", "view.default"), ("expand_as.default", "expand.default"),
                     ("swapaxes.default", "transpose.int"), ("swapdims.default", "transpose.int"),
                     ("unsafe_split.Tensor", "split.Tensor"), ("chunk.default", "split.Tensor"),
                     ("split.sizes", "split_with_sizes.default")):
    RULES["aten." + _name] = RULES["aten." + _like]


@rule("square.default")
def square(e, node, x):
    return e.unary("Square", x)


@rule("rsub.Scalar", "rsub.Tensor")
def rsub(e, node, a, b, alpha=1):
    return RULES["aten.sub.Tensor"](e, node, b, a, alpha)


@rule("numpy_T.default")
def numpy_t(e, node, x):
    return Value(x.ref, x.dtype, x.stored_shape, x.axes[::-1])


@rule("movedim.int")
def movedim(e, node, x, source, target):
    axes = [axis for axis in x.axes if axis != x.axes[source]]
    axes.insert(target % x.rank, x.axes[source])
    return Value(x.ref, x.dtype, x.stored_shape, axes)


@rule("narrow.default")
def narrow(e, node, x, dim, start, length):
    start %= x.shape[dim] or 1
    return part(e, x, dim % x.rank, start, start + length)


@rule("diff.default")
def diff(e, node, x, times=1, dim=-1, before=None, after=None):
    dtype, dim = result_dtype(node), dim % x.rank
    if times != 1 or x.shape[dim] < 1:
        return None
    x = shapes.joined(e, [each for each in (before, x, after) if each is not None], dim)
    later, sooner = part(e, x, dim, 1, x.shape[dim]), part(e, x, dim, 0, x.shape[dim] - 1)
    return e.binary("NotEqual" if dtype == "bool" else "Sub", later, sooner, dtype)


@rule("repeat.default")
def repeat(e, node, x, repeats):
    shape = (*[1] * (len(repeats) - x.rank), *x.shape)
    x = x if shape == x.shape else e.reshape(x, shape)
    return e.op("Tile", [e.plain(x), e.ints(repeats)], x.dtype, [size * times for size, times in zip(shape, repeats)],
                types={"T": x.dtype, "Tmultiples": "int32"})


def _rows(e, x):
    return x if x.rank == 2 else e.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


@rule("linear.default")
def linear(e, node, x, weight, bias=None):
    weight = Value(weight.ref, weight.dtype, weight.stored_shape, weight.axes[::-1])
    rows = _rows(e, x)
    made = product(e, rows, weight) if bias is None else addmm(e, node, bias, rows, weight)
    shape = (*x.shape[:-1], weight.shape[1])
    return made if shape == made.shape else e.reshape(made, shape)


@rule("matmul.default")
def matmul(e, node, a, b):
    if a.rank > 2 == b.rank:
        made = product(e, _rows(e, a), b)
        return e.reshape(made, (*a.shape[:-1], b.shape[1]))
    if a.rank == b.rank == 2:
        return product(e, a, b)
    if a.rank < 2 or b.rank < 2:
        left = a if a.rank > 1 else e.reshape(a, (1, *a.shape))
        right = b if b.rank > 1 else e.reshape(b, (*b.shape, 1))
        return e.reshape(matmul(e, node, left, right), tuple(node.meta["val"].shape))
    return _products(e, a, b)


def _products(e, a, b):
    """Of all pairs of matrices, which broadcast."""
    lead = max(a.shape[:-2], b.shape[:-2], key=lambda shape: (len(shape), math.prod(shape)))
    refs, flags = [], []
    for x in (a, b):
        swapped = x.axes == (*range(x.rank - 2), x.rank - 1, x.rank - 2)
        flags.append(swapped)
        refs.append(x.ref if swapped else e.plain(x))
    return e.op("BatchMatMulV2", refs, a.dtype, (*lead, a.shape[-2], b.shape[-1]), adj_x=flags[0], adj_y=flags[1])


@rule("baddbmm.default")
def baddbmm(e, node, bias, a, b, beta=1, alpha=1):
    made = _products(e, a, b)
    made = made if alpha == 1 else e.binary("Mul", made, e.scalar(alpha, made.dtype))
    if beta == 0:
        return made
    return e.binary("AddV2", made, bias if beta == 1 else e.binary("Mul", bias, e.scalar(beta, made.dtype)))


def _conv(dims, transposed):
    def emit(e, node, x, weight, bias=None, stride=1, padding=0, *rest):
        if isinstance(padding, str) and padding not in ("valid", "same"):
            return None
        if transposed:
            output_padding, groups, dilation = (*rest, *(0, 1, 1)[len(rest):])
        else:
            (dilation, groups), output_padding = (*rest, *(1, 1)[len(rest):]), 0
        dilation = convolutions.each(dilation, dims)
        if padding == "same":
            both = [step * (size - 1) for step, size in zip(dilation, weight.shape[2:])]
            if any(each % 2 for each in both):
                return None
            padding = [each // 2 for each in both]
        padding = 0 if padding == "valid" else padding
        return convolutions.convolution(e, node, x, weight, bias, convolutions.each(stride, dims), convolutions.each(padding, dims),
                                        dilation, transposed, convolutions.each(output_padding, dims), groups)

    return emit


for _dims in (1, 2, 3):
    rule(f"conv{_dims}d.default", f"conv{_dims}d.padding")(_conv(_dims, False))
    rule(f"conv_transpose{_dims}d.default", f"conv_transpose{_dims}d.input")(_conv(_dims, True))


@rule("batch_norm.default")
def batch_norm(e, node, x, weight, bias, mean, variance, training, momentum, epsilon, _=None):
    if training or mean is None:
        return None
    out, *_ = RULES["aten._native_batch_norm_legit_no_training.default"](e, node, x, weight, bias, mean, variance, momentum, epsilon)
    return out


def _normalized(e, x, dims, epsilon):
    mean = e.reduce("Mean", x, dims, True)
    centered = e.binary("Sub", x, mean)
    variance = e.reduce("Mean", e.unary("Square", centered), dims, True)
    return e.binary("Mul", centered, e.unary("Rsqrt", e.binary("AddV2", variance, e.scalar(epsilon, x.dtype))))


def _scaled(e, x, weight, bias, shape=None):
    for op, each in (("Mul", weight), ("AddV2", bias)):
        if each is not None:
            each = e.cast(each, x.dtype)
            x = e.binary(op, x, e.reshape(each, shape) if shape else each)
    return x


def _wide(x):
    return "float64" if x.dtype == "float64" else "float32"


@rule("layer_norm.default")
def layer_norm(e, node, x, shape, weight=None, bias=None, epsilon=1e-5, _=None):
    made = _normalized(e, e.cast(x, _wide(x)), list(range(x.rank - len(shape), x.rank)), epsilon)
    return e.cast(_scaled(e, made, weight, bias), result_dtype(node))


@rule("rms_norm.default")
def rms_norm(e, node, x, shape, weight=None, epsilon=None):
    wide = e.cast(x, _wide(x))
    epsilon = epsilon if epsilon is not None else {"float64": 2.0 ** -52}.get(x.dtype, 2.0 ** -23)
    mean = e.reduce("Mean", e.unary("Square", wide), list(range(x.rank - len(shape), x.rank)), True)
    made = e.binary("Mul", wide, e.unary("Rsqrt", e.binary("AddV2", mean, e.scalar(epsilon, wide.dtype))))
    return e.cast(_scaled(e, made, weight, None), result_dtype(node))


@rule("_weight_norm.default")
def weight_norm(e, node, direction, length, dim=0):
    others = [axis for axis in range(direction.rank) if axis != dim % direction.rank]
    size = e.unary("Sqrt", e.reduce("Sum", e.unary("Square", direction), others, True))
    return e.binary("Mul", direction, e.binary("RealDiv", length, size))


@rule("group_norm.default")
def group_norm(e, node, x, groups, weight=None, bias=None, epsilon=1e-5, _=None):
    wide = e.reshape(e.cast(x, _wide(x)), (x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    made = e.reshape(_normalized(e, wide, [2], epsilon), x.shape)
    return e.cast(_scaled(e, made, weight, bias, (x.shape[1], *[1] * (x.rank - 2))), result_dtype(node))


@rule("softmax.int", "log_softmax.int")
def softmax(e, node, x, dim, dtype=None):
    kind = "_log_softmax" if "log_softmax" in str(node.target) else "_softmax"
    return RULES[f"aten.{kind}.default"](e, node, e.cast(x, result_dtype(node)), dim, False)


@rule("scaled_dot_product_attention.default")
def attention(e, node, query, key, value, mask=None, dropout=0.0, is_causal=False, scale=None, enable_gqa=False):
    if dropout or query.rank < 3:
        return None
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        key, value = (_repeated(e, x, query.shape[-3] // x.shape[-3]) for x in (key, value))
    turned = Value(key.ref, key.dtype, key.stored_shape, [*key.axes[:-2], key.axes[-1], key.axes[-2]])
    scores = _products(e, e.binary("Mul", query, e.scalar(scale, query.dtype)), turned)
    if is_causal:
        rows, columns = scores.shape[-2:]
        numbers = [e.op("Range", [e.const(each, "int32") for each in (0, size, 1)], "int32", (size,), types={"Tidx": "int32"})
                   for size in (rows, columns)]
        mask = e.binary("GreaterEqual", e.reshape(numbers[0], (rows, 1)), numbers[1], "bool")
    if mask is not None and mask.dtype == "bool":
        scores = elementwise.select(e, mask, scores, e.scalar(float("-inf"), scores.dtype), scores.shape)
        return _products(e, layers.safe_softmax(e, node, scores, -1), value)
    if mask is not None:
        scores = e.binary("AddV2", scores, e.cast(mask, scores.dtype))
    return _products(e, layers.safe_softmax(e, node, scores, -1), value)


def _repeated(e, x, times):
    """Each head of keys or values for several of queries."""
    shape = (*x.shape[:-2], times, *x.shape[-2:])
    apart = e.reshape(x, (*x.shape[:-2], 1, *x.shape[-2:]))
    return e.reshape(broadcast(e, apart, shape), (*x.shape[:-3], x.shape[-3] * times, *x.shape[-2:]))


@rule("dropout.default", "feature_dropout.default", "alpha_dropout.default")
def dropout(e, node, x, probability, train):
    return x if not train or probability == 0 else None


def _times_sigmoid(e, x, inner):
    return e.binary("Mul", x, e.unary("Sigmoid", inner))


@rule("silu.default")
def silu(e, node, x):
    return _times_sigmoid(e, x, x)


@rule("gelu.default")
def gelu(e, node, x, approximate="none"):
    wide = e.cast(x, _wide(x))
    half = e.binary("Mul", wide, e.scalar(0.5, wide.dtype))
    if approximate == "none":
        inner = e.unary("Erf", e.binary("Mul", wide, e.scalar(math.sqrt(0.5), wide.dtype)))
    else:
        cube = e.binary("Mul", e.unary("Square", wide), wide)
        inner = e.binary("AddV2", wide, e.binary("Mul", cube, e.scalar(0.044715, wide.dtype)))
        inner = e.unary("Tanh", e.binary("Mul", inner, e.scalar(math.sqrt(2 / math.pi), wide.dtype)))
    return e.cast(e.binary("Mul", half, e.binary("AddV2", inner, e.scalar(1, wide.dtype))), x.dtype)


def _between(e, x, low, high):
    return e.binary("Minimum", e.binary("Maximum", x, e.scalar(low, x.dtype)), e.scalar(high, x.dtype))


@rule("hardtanh.default")
def hardtanh(e, node, x, low=-1, high=1):
    return _between(e, x, low, high)


@rule("relu6.default")
def relu6(e, node, x):
    return _between(e, x, 0, 6)


@rule("hardsigmoid.default")
def hardsigmoid(e, node, x):
    moved = _between(e, e.binary("AddV2", x, e.scalar(3, x.dtype)), 0, 6)
    return e.binary("Mul", moved, e.scalar(1 / 6, x.dtype))


@rule("hardswish.default")
def hardswish(e, node, x):
    return e.binary("Mul", x, hardsigmoid(e, node, x))


@rule("leaky_relu.default")
def leaky_relu(e, node, x, slope=0.01):
    return e.unary("LeakyRelu", x, alpha=float(slope))


@rule("elu.default")
def elu(e, node, x, alpha=1, scale=1, input_scale=1):
    return e.unary("Elu", x) if (alpha, scale, input_scale) == (1, 1, 1) else None


@rule("softplus.default")
def softplus(e, node, x, beta=1, threshold=20):
    return e.unary("Softplus", x) if beta == 1 else None


@rule("mish.default")
def mish(e, node, x):
    return e.binary("Mul", x, e.unary("Tanh", e.unary("Softplus", x)))


@rule("glu.default")
def glu(e, node, x, dim=-1):
    half = x.shape[dim] // 2
    return _times_sigmoid(e, *(part(e, x, dim % x.rank, start, start + half) for start in (0, half)))


for _dims in (2, 3):
    def _max_pool(e, node, x, *rest):
        node.meta["val"] = (node.meta["val"], None)
        made = images.max_pool(e, node, x, *rest)
        node.meta["val"] = node.meta["val"][0]
        return made if made is None else made[0]

    rule(f"max_pool{_dims}d.default")(_max_pool)
    RULES[f"aten.adaptive_avg_pool{_dims}d.default"] = images.adaptive_avg_pool


def _upsample(name):
    def emit(e, node, x, size, *rest):
        *corners, scales = rest
        return RULES[name](e, node, x, size, *corners, *(() if scales is None else (scales,)))

    return emit


for _dims, _kind in ((1, "linear"), (2, "bilinear"), (3, "trilinear"), (2, "bicubic"), (1, "nearest"), (2, "nearest"), (3, "nearest")):
    _full = f"upsample_{_kind}{_dims}d"
    rule(_full + ".vec")(_upsample(f"aten.{_full}.default"))


@rule("pad.default")
def pad(e, node, x, sizes, mode="constant", value=None):
    return shapes.constant_pad(e, node, x, sizes, 0 if value is None else value) if mode == "constant" else None


@rule("mse_loss.default")
def mse_loss(e, node, x, y, reduction=1):
    made = e.binary("SquaredDifference", *(value_of(e, each, result_dtype(node)) for each in (x, y)))
    return made if reduction == 0 else e.reduce("Mean" if reduction == 1 else "Sum", made, None, False)
