# SPDX-License-Identifier: Apache-2.0
"""Pooling of signals and images, and images in other sizes. TensorFlow's kernels of hosts want channels last."""

import math
import operator

import numpy

from lanescope.torch.emitter import Value
from lanescope.torch.ops import rule
from lanescope.torch.ops.convolutions import channels_first, channels_last, each, pad, stored, unpad

_LEAST = {"float32": -3.4028234663852886e38, "float64": -1.7976931348623157e308, "float16": -65504.0,
          "bfloat16": -3.3895313892515355e38}


class _Windows:
    """Of two or three axes. `ceil`: whether the last window may go beyond the end, as if more were padded there."""

    def __init__(self, x, made, kernel, stride, padding, ceil):
        dims = x.rank - 2
        self.kernel, self.stride = each(kernel, dims), each(stride or kernel, dims)
        self.padding, self.op = each(padding, dims), "3D" if dims == 3 else ""
        self.more = [max(0, (out - 1) * step + width - size - 2 * pads) if ceil else 0 for out, step, width, size, pads in
                     zip(made.shape[2:], self.stride, self.kernel, x.shape[2:], self.padding)]
        self.key = (x.ref, *self.kernel, *self.stride, *self.padding, ceil)

    def attrs(self):
        return {"ksize": [1, *self.kernel, 1], "strides": [1, *self.stride, 1], "padding": "VALID",
                "data_format": "NDHWC" if self.op else "NHWC"}

    def padded(self, e, x, value):
        x = pad(e, x, self.padding, value)
        if not any(self.more):
            return x
        pairs = [[0, 0], *([0, more] for more in self.more), [0, 0]]
        shape = [size + more for size, (_, more) in zip(x.shape, pairs)]
        return e.op("PadV2", [x.ref, e.ints(pairs), e.const(value, x.dtype)], x.dtype, shape,
                    types={"T": x.dtype, "Tpaddings": "int32"})

    def unpadded(self, e, x, shape):
        if any(self.more):
            inner = [x.shape[0], *(size - more for size, more in zip(x.shape[1:-1], self.more)), x.shape[-1]]
            x = e.op("Slice", [x.ref, e.ints([0] * x.rank), e.ints(inner)], x.dtype, inner, types={"T": x.dtype, "Index": "int32"})
        return unpad(e, x, self.padding)


def wants_places(node):
    """Whether anything but the gradient reads where the largest numbers were."""
    places = [user for user in getattr(node, "users", ()) if user.target is operator.getitem and user.args[1] == 1]
    while places:
        for reader in places.pop().users:
            if any(view in str(reader.target) for view in ("squeeze", "view", "detach", "alias")):
                places.append(reader)
            elif "backward" not in str(reader.target):
                return True
    return False


def _batched(x):
    return x.rank in (4, 5)


@rule("max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def max_pool(e, node, x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    if not _batched(x) or set(each(dilation, 1)) != {1} or x.dtype not in _LEAST or wants_places(node):
        return None
    windows = _Windows(x, node.meta["val"][0], kernel, stride, padding, ceil_mode)
    padded = windows.padded(e, channels_last(e, x), _LEAST[x.dtype])
    out = e.op("MaxPool" + windows.op, [padded.ref], x.dtype, stored(node.meta["val"][0].shape), **windows.attrs())
    e.notes[("max_pool", *windows.key)] = (padded, out)
    return channels_first(out), None


@rule("max_pool2d_with_indices_backward.default", "max_pool3d_with_indices_backward.default")
def max_pool_backward(e, node, gradient, x, kernel, stride, padding, dilation, ceil_mode, indices):
    if indices is not None or not _batched(x):
        return None  # the op that made them is known by its cost
    windows = _Windows(x, node.args[0].meta["val"], kernel, stride, padding, ceil_mode)
    forward = e.notes.get(("max_pool", *windows.key))
    if forward is None:
        return None
    padded, out = forward
    types = {"T": x.dtype, **({"TInput": x.dtype} if windows.op else {})}
    made = e.op(f"MaxPool{windows.op}Grad", [padded.ref, out.ref, channels_last(e, gradient).ref], x.dtype, padded.shape,
                types=types, **windows.attrs())
    return channels_first(windows.unpadded(e, made, x.shape))


def _shares(e, windows, x, made, count_padding, divisor):
    """What a mean of padded windows is multiplied with, where windows differ in what counts; None: nothing."""
    if divisor is None and (count_padding or not any(windows.padding)) and not any(windows.more):
        return None
    whole, counts = math.prod(windows.kernel), []
    for size, out, width, step, pads in zip(x.shape[2:], made.shape[2:], windows.kernel, windows.stride, windows.padding):
        starts = numpy.arange(out) * step - pads
        low, high = (-pads, size + pads) if count_padding else (0, size)
        counts.append((numpy.minimum(starts + width, high) - numpy.maximum(starts, low)).astype("float64"))
    total = counts[0]
    for more in counts[1:]:
        total = total[..., None] * more
    shares = whole / total if divisor is None else numpy.full_like(total, whole / divisor)
    shares = shares.reshape(1, *total.shape, 1)
    return Value(e.const(shares, x.dtype), x.dtype, shares.shape)


@rule("avg_pool2d.default", "avg_pool3d.default")
def avg_pool(e, node, x, kernel, stride=(), padding=0, ceil_mode=False, count_padding=True, divisor=None):
    if not _batched(x):
        return None
    made = node.meta["val"]
    windows = _Windows(x, made, kernel, stride, padding, ceil_mode)
    out = e.op("AvgPool" + windows.op, [windows.padded(e, channels_last(e, x), 0).ref], x.dtype, stored(made.shape),
               **windows.attrs())
    shares = _shares(e, windows, x, made, count_padding, divisor)
    return channels_first(out if shares is None else e.binary("Mul", out, shares))


@rule("avg_pool2d_backward.default", "avg_pool3d_backward.default")
def avg_pool_backward(e, node, gradient, x, kernel, stride, padding, ceil_mode, count_padding, divisor):
    if not _batched(x):
        return None
    windows = _Windows(x, node.args[0].meta["val"], kernel, stride, padding, ceil_mode)
    image = channels_last(e, gradient)
    shares = _shares(e, windows, x, node.args[0].meta["val"], count_padding, divisor)
    image = image if shares is None else e.binary("Mul", image, shares)
    shape = stored(x.shape)
    padded = [shape[0], *(size + 2 * pads + more for size, pads, more in zip(shape[1:-1], windows.padding, windows.more)),
              shape[-1]]
    made = e.op(f"AvgPool{windows.op}Grad", [e.ints(padded), image.ref], x.dtype, padded, **windows.attrs())
    return channels_first(windows.unpadded(e, made, x.shape))


@rule("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default")
def adaptive_avg_pool(e, node, x, size):
    """Windows of one size where that divides; other windows overlap: products with the shares of each."""
    shape = tuple(node.meta["val"].shape)
    if not _batched(x) or x.dtype not in _LEAST:
        return None
    return _by_shares(e, x, [_adaptive(old, new) for old, new in zip(x.shape[2:], shape[2:])])


@rule("_adaptive_avg_pool2d_backward.default", "_adaptive_avg_pool3d_backward.default")
def adaptive_avg_pool_backward(e, node, gradient, x):
    if not _batched(x) or x.dtype not in _LEAST:
        return None
    return _by_shares(e, gradient, [_adaptive(old, new).T for old, new in zip(x.shape[2:], gradient.shape[2:])])


def _adaptive(old, new):
    """By result the shares of what it is the mean of."""
    shares = numpy.zeros((new, old))
    for row in range(new):
        start, end = row * old // new, -(-(row + 1) * old // new)
        shares[row, start:end] = 1 / (end - start)
    return shares


def _by_shares(e, x, matrices):
    """Every axis behind the channels by its matrix of shares: what results are of what is there."""
    for axis, shares in enumerate(matrices, 2):
        if shares.shape[0] == shares.shape[1] and (shares == numpy.eye(len(shares))).all():
            continue
        order = [other for other in range(x.rank) if other != axis] + [axis]
        rows = [x.shape[other] for other in order]
        flat = e.reshape(Value(e.ordered(x, order), x.dtype, rows), (math.prod(rows[:-1]), rows[-1]))
        made = e.op("MatMul", [flat.ref, e.const(numpy.ascontiguousarray(shares.T), x.dtype)], x.dtype,
                    (flat.shape[0], shares.shape[0]), transpose_a=False, transpose_b=False)
        made = e.reshape(made, (*rows[:-1], shares.shape[0]))
        x = Value(made.ref, made.dtype, made.shape, [order.index(other) for other in range(x.rank)])
    return x


def _places(old, new, scale, corners):
    """Where each result of a resize lies among what is there."""
    numbers = numpy.arange(new, dtype="float64")
    if corners:
        return numbers * ((old - 1) / (new - 1) if new > 1 else 0)
    return (numbers + 0.5) * (1 / scale if scale else old / new) - 0.5


def _linear(old, new, scale, corners):
    places = numpy.maximum(_places(old, new, scale, corners), 0)
    low = numpy.minimum(numpy.floor(places), old - 1).astype("int64")
    share, shares, rows = numpy.minimum(places - low, 1), numpy.zeros((new, old)), numpy.arange(new)
    shares[rows, low] += 1 - share
    shares[rows, numpy.minimum(low + 1, old - 1)] += share
    return shares


def _cubic(old, new, scale, corners):
    """Of four neighbours by the curve of Keys with -3/4; those beyond an end are the last one."""
    places = _places(old, new, scale, corners)
    low = numpy.floor(places).astype("int64")
    shares = numpy.zeros((new, old))
    for neighbour in (-1, 0, 1, 2):
        far = numpy.abs(places - low - neighbour)
        near = (1.25 * far - 2.25) * far * far + 1
        outer = -0.75 * (((far - 5) * far + 8) * far - 4)
        numpy.add.at(shares, (numpy.arange(new), numpy.clip(low + neighbour, 0, old - 1)), numpy.where(far <= 1, near, outer))
    return shares


def _nearest(old, new, scale):
    shares = numpy.zeros((new, old))
    places = numpy.floor(numpy.arange(new) * (1 / scale if scale else old / new)).astype("int64")
    shares[numpy.arange(new), numpy.minimum(places, old - 1)] = 1
    return shares


def _resize(matrices):
    def emit(e, node, x, *args):
        if x.rank < 3 or x.dtype not in _LEAST:
            return None
        made = tuple(node.meta["val"].shape)
        backward = "backward" in str(node.target)
        old, new = (made, x.shape) if backward else (x.shape, made)
        shares = matrices(old[2:], new[2:], args[2 if backward else 1:])
        return _by_shares(e, x, [each.T for each in shares] if backward else shares)

    return emit


def _curves(curve):
    def matrices(old, new, args):
        corners, scales = args[0], args[1:]
        return [curve(*sizes, scale, corners) for *sizes, scale in zip(old, new, _scale_of(scales, len(old)))]

    return matrices


def _nearests(old, new, args):
    return [_nearest(*sizes, scale) for *sizes, scale in zip(old, new, _scale_of(args, len(old)))]


def _scale_of(args, count):
    given = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    return given if len(given) == count else [None] * count


for _dims, _kind in ((1, "linear"), (2, "bilinear"), (3, "trilinear")):
    rule(f"upsample_{_kind}{_dims}d.default", f"upsample_{_kind}{_dims}d_backward.default")(_resize(_curves(_linear)))
    rule(f"upsample_nearest{_dims}d.default", f"upsample_nearest{_dims}d_backward.default")(_resize(_nearests))
rule("upsample_bicubic2d.default", "upsample_bicubic2d_backward.default")(_resize(_curves(_cubic)))
