"""Normalization, softmax and dropout."""

from lanescope.torch.emitter import Value
from lanescope.torch.graph_def import Dtype
from lanescope.torch.ops import rule
from lanescope.torch.ops.elementwise import select

_IMAGES = (0, 2, 3, 1)  # PyTorch's axes in the order that TensorFlow's kernels want
_BACK = (0, 3, 1, 2)


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


def _is_image(x):
    return x.rank == 4


def _float_vector(ref, size):
    return Value(ref, "float32", (size,))


def _forward(e, x, weight, bias, mean, variance, training, epsilon):
    channels = x.shape[1]
    weight = weight or e.fill((channels,), 1, "float32")
    bias = bias or e.fill((channels,), 0, "float32")
    empty = e.const([], "float32")
    moments = [empty, empty] if training else [mean.ref, variance.ref]
    name = e.node("FusedBatchNormV3", "FusedBatchNormV3", [e.ordered(x, _IMAGES), weight.ref, bias.ref, *moments],
                  T=Dtype(x.dtype), U=Dtype("float32"), epsilon=float(epsilon), is_training=training,
                  data_format="NHWC", exponential_avg_factor=1.0)
    if training:
        e.notes[("batch_norm", x.ref)] = name
    return name, Value(name, x.dtype, [x.shape[axis] for axis in _IMAGES], _BACK)


@rule("_native_batch_norm_legit_no_training.default")
def batch_norm_inference(e, node, x, weight, bias, mean, variance, momentum, epsilon):
    if not _is_image(x):
        return None
    _, out = _forward(e, x, weight, bias, mean, variance, False, epsilon)
    return out, mean, variance


@rule("_native_batch_norm_legit_functional.default", "_batch_norm_with_update_functional.default")
def batch_norm(e, node, x, weight, bias, mean, variance, *rest):
    *training, momentum, epsilon = rest
    if not _is_image(x):
        return None
    if not all(training):
        _, out = _forward(e, x, weight, bias, mean, variance, False, epsilon)
        none = e.fill((0,), 0, "float32")
        return out, none, none, mean, variance
    channels = x.shape[1]
    name, out = _forward(e, x, weight, bias, mean, variance, True, epsilon)
    moved = []
    for old, number in ((mean, 1), (variance, 2)):
        change = e.binary("Sub", _float_vector(f"{name}:{number}", channels), old)
        moved.append(e.binary("AddV2", old, e.binary("Mul", change, e.scalar(momentum, "float32"))))
    saved = [_float_vector(f"{name}:{number}", channels) for number in (3, 4)]
    if "with_update" in str(node.target):
        return out, *saved, e.fill((0,), 0, "uint8"), *moved
    return out, *saved, *moved


@rule("native_batch_norm_backward.default", "batch_norm_backward.default")
def batch_norm_backward(e, node, gradient, x, weight, mean, variance, saved_mean, saved_scale, training, epsilon, *_):
    forward = e.notes.get(("batch_norm", x.ref))
    if forward is None or not training:
        return None
    channels = x.shape[1]
    weight = weight or e.fill((channels,), 1, "float32")
    inputs = [e.ordered(gradient, _IMAGES), e.ordered(x, _IMAGES), weight.ref, *(f"{forward}:{i}" for i in (3, 4, 5))]
    name = e.node("FusedBatchNormGradV3", "FusedBatchNormGradV3", inputs, T=Dtype(x.dtype), U=Dtype("float32"),
                  epsilon=float(epsilon), is_training=True, data_format="NHWC")
    return (Value(name, x.dtype, [x.shape[axis] for axis in _IMAGES], _BACK), _float_vector(f"{name}:1", channels),
            _float_vector(f"{name}:2", channels))


@rule("native_dropout.default")
def dropout(e, node, x, probability, training):
    if not training or not 0 <= probability < 1:
        return None
    noise = e.op("RandomUniform", [e.ints(x.stored_shape)], "float32", x.stored_shape, x.axes, seed=0, seed2=0,
                 types={"dtype": "float32", "T": "int32"})
    mask = e.binary("GreaterEqual", noise, e.scalar(probability, "float32"), "bool")
    kept = e.binary("Mul", x, e.cast(mask, x.dtype))
    return e.binary("Mul", kept, e.scalar(1 / (1 - probability), x.dtype)), mask
