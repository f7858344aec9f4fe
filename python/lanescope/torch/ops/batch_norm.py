# SPDX-License-Identifier: Apache-2.0
"""Batch normalization of any number of axes: by TensorFlow's fused op, which takes images with channels last, or, in
float64, which that op does not have, by its arithmetic."""

import math

from lanescope.torch.emitter import Value
from lanescope.torch.graph_def import Dtype
from lanescope.torch.ops import rule

_FUSED = ("float32", "float16", "bfloat16")


def _channels_last(e, x):
    order = (0, *range(2, x.rank), 1)
    return Value(e.ordered(x, order), x.dtype, [x.shape[axis] for axis in order])


def _image(e, x):
    """Channels-last values of any number of axes with four."""
    return x if x.rank == 4 else e.reshape(x, (x.shape[0], math.prod(x.shape[1:-1]), 1, x.shape[-1]))


def _channels_first(e, made, shape):
    """Back from an image to what had this channels-last shape."""
    if made.shape != shape:
        made = e.reshape(made, shape)
    return Value(made.ref, made.dtype, shape, (0, len(shape) - 1, *range(1, len(shape) - 1)))


def _vector(e, value, channels, default, dtype):
    return e.fill((channels,), default, dtype) if value is None else e.cast(value, dtype)


def _fused(e, x, weight, bias, mean, variance, training, epsilon):
    """The name of the node and what it makes of `x`."""
    image = _image(e, x)
    empty = e.const([], "float32")
    moments = [empty, empty] if training else [e.cast(mean, "float32").ref, e.cast(variance, "float32").ref]
    name = e.node("FusedBatchNormV3", "FusedBatchNormV3", [image.ref, weight.ref, bias.ref, *moments],
                  T=Dtype(x.dtype), U=Dtype("float32"), epsilon=float(epsilon), is_training=training,
                  data_format="NHWC", exponential_avg_factor=1.0)
    return name, Value(name, x.dtype, image.shape)


def _moments(e, x):
    axes = list(range(x.rank - 1))
    mean = e.reduce("Mean", x, axes, False)
    return mean, e.reduce("Mean", e.binary("SquaredDifference", x, mean), axes, False)


def _scale(e, variance, epsilon):
    return e.unary("Rsqrt", e.binary("AddV2", variance, e.scalar(epsilon, variance.dtype)))


def _centered(e, x, mean, scale):
    return e.binary("Mul", e.binary("Sub", x, mean), scale)


@rule("_native_batch_norm_legit_no_training.default")
def batch_norm_inference(e, node, x, weight, bias, mean, variance, momentum, epsilon):
    out, *_ = batch_norm(e, node, x, weight, bias, mean, variance, False, momentum, epsilon)
    return out, mean, variance


@rule("_native_batch_norm_legit_functional.default", "_batch_norm_with_update_functional.default")
def batch_norm(e, node, x, weight, bias, mean, variance, *rest):
    *training, momentum, epsilon = rest
    training = all(training)
    last, dtype = _channels_last(e, x), "float32" if x.dtype in _FUSED else x.dtype
    channels = x.shape[1]
    weight, bias = _vector(e, weight, channels, 1, dtype), _vector(e, bias, channels, 0, dtype)
    if x.dtype in _FUSED:
        name, out = _fused(e, last, weight, bias, mean, variance, training, epsilon)
        moments = [Value(f"{name}:{number}", dtype, (channels,)) for number in (1, 2)]
        saved = [Value(f"{name}:{number}", dtype, (channels,)) for number in (3, 4)]
        e.notes[("batch_norm", saved[0].ref)] = name
    else:
        moments = list(_moments(e, last)) if training else [mean, variance]
        saved = [moments[0], _scale(e, moments[1], epsilon)]
        out = e.binary("AddV2", e.binary("Mul", _centered(e, last, *saved), weight), bias)
        # What runs along is what the variance of all images is thought to be.
        count = math.prod(last.shape[:-1])
        moments[1] = e.binary("Mul", moments[1], e.scalar(count / max(count - 1, 1), dtype)) if training else variance
    out = _channels_first(e, out, last.shape)
    if not training:
        none = e.fill((0,), 0, "float32")
        return out, none, none, mean, variance
    if mean is None:
        return out, *saved
    moved = []
    for old, new in zip((mean, variance), moments):
        change = e.binary("Mul", e.binary("Sub", new, e.cast(old, dtype)), e.scalar(momentum, dtype))
        moved.append(e.cast(e.binary("AddV2", e.cast(old, dtype), change), old.dtype))
    if "with_update" in str(node.target):
        return out, *saved, e.fill((0,), 0, "uint8"), *moved
    return out, *saved, *moved


@rule("_native_batch_norm_legit.no_stats")
def batch_norm_alone(e, node, x, weight, bias, *rest):
    return batch_norm(e, node, x, weight, bias, None, None, *rest)


@rule("native_batch_norm_backward.default", "batch_norm_backward.default")
def batch_norm_backward(e, node, gradient, x, weight, mean, variance, saved_mean, saved_scale, training, epsilon, *_):
    forward = e.notes.get(("batch_norm", saved_mean.ref)) if training else None
    dy, last = _channels_last(e, gradient), _channels_last(e, x)
    channels, kind = x.shape[1], "float32" if weight is None else weight.dtype
    if forward is None:
        moments = [saved_mean, saved_scale] if training else [e.cast(mean, x.dtype),
                                                              _scale(e, e.cast(variance, x.dtype), epsilon)]
        dx, dw, db = _gradients(e, dy, last, _vector(e, weight, channels, 1, x.dtype), *moments, training)
    else:
        inputs = [_image(e, dy).ref, _image(e, last).ref, _vector(e, weight, channels, 1, "float32").ref]
        name = e.node("FusedBatchNormGradV3", "FusedBatchNormGradV3",
                      [*inputs, *(f"{forward}:{number}" for number in (3, 4, 5))], T=Dtype(x.dtype),
                      U=Dtype("float32"), epsilon=float(epsilon), is_training=True, data_format="NHWC")
        dx = Value(name, x.dtype, _image(e, last).shape)
        dw, db = (Value(f"{name}:{number}", "float32", (channels,)) for number in (1, 2))
    return _channels_first(e, dx, last.shape), e.cast(dw, kind), e.cast(db, kind)


def _gradients(e, dy, x, weight, mean, scale, training):
    """Of the arithmetic: by x, weight and bias. Mean and scale depend on x where the step trains."""
    axes = list(range(x.rank - 1))
    centered = _centered(e, x, mean, scale)
    dw, db = e.reduce("Sum", e.binary("Mul", dy, centered), axes, False), e.reduce("Sum", dy, axes, False)
    inner = dy
    if training:
        share = e.scalar(1 / math.prod(x.shape[:-1]), x.dtype)
        means = e.binary("AddV2", e.binary("Mul", centered, e.binary("Mul", dw, share)), e.binary("Mul", db, share))
        inner = e.binary("Sub", dy, means)
    return e.binary("Mul", inner, e.binary("Mul", weight, scale)), dw, db
