# SPDX-License-Identifier: Apache-2.0
"""Softmax, layer normalization and dropout."""

from lanescope.torch.emitter import dtype_of
from lanescope.torch.ops import rule
from lanescope.torch.ops.elementwise import result_dtype, select


def _softmax(op):
    def emit(e, node, x, dim, to_float):
        if to_float:
            return None
        order = [axis for axis in range(x.rank) if axis != dim % x.rank] + [dim % x.rank]
        stored = [x.shape[axis] for axis in order]
        axes = [order.index(axis) for axis in range(x.rank)]
        return e.op(op, [e.ordered(x, order)], x.dtype, stored, axes)

    return emit


rule("_softmax.default")(_softmax("Softmax"))
rule("_log_softmax.default")(_softmax("LogSoftmax"))


@rule("_safe_softmax.default")
def safe_softmax(e, node, x, dim, dtype=None):
    """Rows that are masked as a whole give zeros."""
    if dtype is not None and str(dtype) != "torch." + x.dtype:
        return None
    most = e.reduce("Max", x, [dim], True)
    masked = e.binary("Equal", most, e.scalar(float("-inf"), x.dtype), "bool", incompatible_shape_error=True)
    return select(e, masked, e.scalar(0, x.dtype), _softmax("Softmax")(e, node, x, dim, False), x.shape)


@rule("native_layer_norm.default")
def layer_norm(e, node, x, shape, weight, bias, epsilon):
    """Small floats are wide inside; weights may be of another dtype, as in automatic mixed precision."""
    wide = "float64" if x.dtype == "float64" else "float32"
    out, *moments = (dtype_of(each) for each in node.meta["val"])
    x, dims = e.cast(x, wide), list(range(x.rank - len(shape), x.rank))
    mean = e.reduce("Mean", x, dims, True)
    variance = e.reduce("Mean", e.binary("SquaredDifference", x, mean), dims, True)
    scale = e.unary("Rsqrt", e.binary("AddV2", variance, e.scalar(epsilon, wide)))
    made = e.binary("Mul", e.binary("Sub", x, mean), scale)
    if weight is not None:
        made = e.binary("Mul", made, e.cast(weight, wide))
    if bias is not None:
        made = e.binary("AddV2", made, e.cast(bias, wide))
    return e.cast(made, out), e.cast(mean, moments[0]), e.cast(scale, moments[1])


@rule("_weight_norm_interface_backward.default")
def weight_norm_backward(e, node, gradient, direction, length, norms, dim):
    """Of length * direction / norm by direction and by length."""
    others = [axis for axis in range(direction.rank) if axis != dim % direction.rank]
    norms = e.cast(norms, direction.dtype)
    unit = e.binary("RealDiv", direction, norms)
    along = e.reduce("Sum", e.binary("Mul", gradient, unit), others, True)
    across = e.binary("Sub", gradient, e.binary("Mul", unit, along))
    return e.binary("Mul", across, e.binary("RealDiv", length, norms)), along


def _uniform(e, shape, dtype, axes=None):
    """Numbers from 0 to 1, drawn anew in every step."""
    made = e.op("RandomUniform", [e.ints(shape)], "float32", shape, axes, seed=0, seed2=0,
                types={"dtype": "float32", "T": "int32"})
    e.draws = True
    return e.cast(made, dtype)


@rule("native_dropout.default")
def dropout(e, node, x, probability, training):
    if not training or not 0 <= probability < 1:
        return None
    noise = _uniform(e, x.stored_shape, "float32", x.axes)
    mask = e.binary("GreaterEqual", noise, e.scalar(probability, "float32"), "bool")
    kept = e.binary("Mul", x, e.cast(mask, x.dtype))
    return e.binary("Mul", kept, e.scalar(1 / (1 - probability), x.dtype)), mask


@rule("bernoulli.p", "bernoulli.default")
def bernoulli(e, node, x, probability=None, **_):
    noise = _uniform(e, x.shape, "float32")
    limit = e.scalar(probability, "float32") if probability is not None else e.cast(x, "float32")
    return e.cast(e.binary("Less", noise, limit, "bool"), x.dtype)


@rule("rand.default", "rand.generator", "rand_like.default", "uniform.default")
def rand(e, node, x=None, low=0, high=1, **_):
    made = _uniform(e, tuple(node.meta["val"].shape), result_dtype(node))
    if "uniform" not in str(node.target) or (low, high) == (0, 1):
        return made
    made = e.binary("Mul", made, e.scalar(high - low, made.dtype))
    return e.binary("AddV2", made, e.scalar(low, made.dtype))


@rule("randn.default", "randn.generator", "randn_like.default", "normal_functional.default")
def randn(e, node, x=None, mean=0, deviation=1, **_):
    shape = tuple(node.meta["val"].shape)
    e.draws = True
    made = e.op("RandomStandardNormal", [e.ints(shape)], "float32", shape, seed=0, seed2=0,
                types={"dtype": "float32", "T": "int32"})
    made = e.cast(made, result_dtype(node))
    if "normal_functional" not in str(node.target):
        return made
    made = e.binary("Mul", made, e.scalar(deviation, made.dtype))
    return e.binary("AddV2", made, e.scalar(mean, made.dtype))
