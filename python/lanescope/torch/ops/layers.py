"""Softmax, layer normalization and dropout."""

from lanescope.torch.ops import rule
from lanescope.torch.ops.elementwise import select


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
    dims = list(range(x.rank - len(shape), x.rank))
    mean = e.reduce("Mean", x, dims, True)
    variance = e.reduce("Mean", e.binary("SquaredDifference", x, mean), dims, True)
    scale = e.unary("Rsqrt", e.binary("AddV2", variance, e.scalar(epsilon, x.dtype)))
    out = e.binary("Mul", e.binary("Sub", x, mean), scale)
    if weight is not None:
        out = e.binary("Mul", out, weight)
    return (out if bias is None else e.binary("AddV2", out, bias)), mean, scale


@rule("native_dropout.default")
def dropout(e, node, x, probability, training):
    if not training or not 0 <= probability < 1:
        return None
    noise = e.op("RandomUniform", [e.ints(x.stored_shape)], "float32", x.stored_shape, x.axes, seed=0, seed2=0,
                 types={"dtype": "float32", "T": "int32"})
    mask = e.binary("GreaterEqual", noise, e.scalar(probability, "float32"), "bool")
    kept = e.binary("Mul", x, e.cast(mask, x.dtype))
    return e.binary("Mul", kept, e.scalar(1 / (1 - probability), x.dtype)), mask
