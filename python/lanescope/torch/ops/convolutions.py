# SPDX-License-Identifier: Apache-2.0
"""Convolutions of signals, images and volumes, of groups, and transposed ones: those of TensorFlow, with channels last."""

import math

from lanescope.torch.emitter import Value
from lanescope.torch.ops import rule
from lanescope.torch.ops.shapes import joined, part

_DEPTHWISE = (2, 3, 0, 1)  # rows, columns, channels, filters of each


def last(rank):
    """The order in which channels lie last."""
    return (0, *range(2, rank), 1)


def first(rank):
    """Axes of what lies with channels last."""
    return (0, rank - 1, *range(1, rank - 1))


def stored(shape):
    return [shape[axis] for axis in last(len(shape))]


def each(numbers, count):
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    return numbers * count if len(numbers) == 1 else numbers


def channels_last(e, x):
    """As it lies with channels last, without a memory of the order it had."""
    return Value(e.ordered(x, last(x.rank)), x.dtype, stored(x.shape))


def channels_first(x):
    return Value(x.ref, x.dtype, x.stored_shape, first(x.rank))


def pad(e, x, padding, value):
    """`padding` on both sides of every axis between batch and channels."""
    if not any(padding):
        return x
    pairs = [[0, 0], *([size, size] for size in padding), [0, 0]]
    shape = [size + sum(pair) for size, pair in zip(x.shape, pairs)]
    return e.op("PadV2", [x.ref, e.ints(pairs), e.const(value, x.dtype)], x.dtype, shape,
                types={"T": x.dtype, "Tpaddings": "int32"})


def unpad(e, x, padding):
    if not any(padding):
        return x
    shape = [x.shape[0], *(size - 2 * less for size, less in zip(x.shape[1:-1], padding)), x.shape[-1]]
    return e.op("Slice", [x.ref, e.ints([0, *padding, 0]), e.ints(shape)], x.dtype, shape,
                types={"T": x.dtype, "Index": "int32"})


class _Convolution:
    """One group, or as many as there are channels. Tensors lie with channels last, filters with those of results last."""

    def __init__(self, e, stride, padding, dilation, depthwise):
        self._e, self._dims, self._padding, self._depthwise = e, len(stride), padding, depthwise
        self._attrs = {"strides": [1, *stride, 1], "dilations": [1, *dilation, 1], "padding": "VALID"}
        if self._dims == 3:
            self._op, self._attrs["data_format"] = "Conv3D", "NDHWC"
            return
        self._op, self._attrs["data_format"] = "DepthwiseConv2dNative" if depthwise else "Conv2D", "NHWC"
        pairs = [number for size in padding for number in (size, size)]
        self._attrs["explicit_paddings"] = [0, 0, *pairs, 0, 0] if any(padding) else []
        if any(padding):
            self._attrs["padding"] = "EXPLICIT"
        if not depthwise:
            self._attrs["use_cudnn_on_gpu"] = True

    def _around(self):
        """What is padded beforehand: convolutions of volumes do not pad."""
        return self._padding if self._dims == 3 else [0] * self._dims

    def forward(self, x, filter_, shape):
        x = pad(self._e, x, self._around(), 0)
        return self._e.op(self._op, [x.ref, filter_.ref], x.dtype, shape, **self._attrs)

    def input_gradient(self, shape, filter_, gradient):
        e, name = self._e, self._op + ("BackpropInputV2" if self._dims == 3 else "BackpropInput")
        padded = [shape[0], *(size + 2 * more for size, more in zip(shape[1:-1], self._around())), shape[-1]]
        types = {"T": gradient.dtype, **({"Tshape": "int32"} if self._dims == 3 else {})}
        made = e.op(name, [e.ints(padded), filter_.ref, gradient.ref], gradient.dtype, padded, types=types, **self._attrs)
        return unpad(e, made, self._around())

    def filter_gradient(self, x, shape, gradient):
        e, name = self._e, self._op + ("BackpropFilterV2" if self._dims == 3 else "BackpropFilter")
        x = pad(e, x, self._around(), 0)
        return e.op(name, [x.ref, e.ints(shape), gradient.ref], x.dtype, shape, **self._attrs)


class _Layer:
    """A convolution of PyTorch's by its groups."""

    def __init__(self, e, x, weight, stride, padding, dilation, transposed, groups):
        self._e, self._weight, self._flat = e, weight, x.rank == 3
        dims = max(2, x.rank - 2)
        front = dims - (x.rank - 2)  # a signal is an image of one row
        stride, padding, dilation = (
            [neutral] * front + each(given, x.rank - 2) for given, neutral in ((stride, 1), (padding, 0), (dilation, 1)))
        self._transposed, self._groups = transposed, groups
        self._depthwise = dims == 2 and not transposed and groups > 1 and groups == x.shape[1]
        self._parts = 1 if self._depthwise else groups
        self._how = _Convolution(e, stride, padding, dilation, self._depthwise)
        self._last = [*range(2, dims + 2), 1, 0]

    def image(self, x):
        return channels_last(self._e, self._thick(x))

    def _thick(self, x):
        return self._e.reshape(x, (*x.shape[:2], 1, *x.shape[2:])) if self._flat else x

    def thick(self, shape):
        return (*shape[:2], 1, *shape[2:]) if self._flat else tuple(shape)

    def back(self, x, shape):
        x = channels_first(x)
        return self._e.reshape(x, tuple(shape)) if self._flat else x

    def _channels(self, x):
        size = x.shape[-1] // self._parts
        return [part(self._e, x, x.rank - 1, number * size, (number + 1) * size) for number in range(self._parts)]

    def _filters(self):
        weight = self._thick(self._weight)
        if self._depthwise:
            apart = self._e.reshape(weight, (self._groups, weight.shape[0] // self._groups, *weight.shape[2:]))
            return [Value(self._e.ordered(apart, _DEPTHWISE), weight.dtype, [apart.shape[axis] for axis in _DEPTHWISE])]
        size = weight.shape[0] // self._parts
        parts = [part(self._e, weight, 0, number * size, (number + 1) * size) for number in range(self._parts)]
        return [Value(self._e.ordered(each, self._last), each.dtype, [each.shape[axis] for axis in self._last])
                for each in parts]

    def forward(self, x, shape):
        return self._run(x, shape, self._transposed)

    def input_gradient(self, gradient, shape):
        return self._run(gradient, shape, not self._transposed)

    def _run(self, x, shape, backward):
        shape = [*shape[:-1], shape[-1] // self._parts]
        made = []
        for mine, filter_ in zip(self._channels(x), self._filters()):
            made.append(self._how.input_gradient(shape, filter_, mine) if backward
                        else self._how.forward(mine, filter_, shape))
        return joined(self._e, made, made[0].rank - 1)

    def weight_gradient(self, x, gradient):
        """In the weight's own order."""
        if self._transposed:
            x, gradient = gradient, x
        made = [self._how.filter_gradient(mine, filter_.shape, theirs)
                for mine, filter_, theirs in zip(self._channels(x), self._filters(), self._channels(gradient))]
        order = _DEPTHWISE if self._depthwise else self._last
        parts = [Value(each.ref, each.dtype, each.stored_shape, [order.index(axis) for axis in range(each.rank)])
                 for each in made]
        whole = joined(self._e, parts, 0)
        return whole if whole.shape == self._weight.shape else self._e.reshape(whole, self._weight.shape)


def _is_known(x, dilation, transposed):
    if x.rank == 5 and any(number != 1 for number in each(dilation, 3)):
        return False  # no kernel of a host has holes in filters of volumes
    return x.rank in (3, 4, 5) and math.prod(x.shape) > 0


@rule("convolution.default")
def convolution(e, node, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if not _is_known(x, dilation, transposed):
        return None
    layer = _Layer(e, x, weight, stride, padding, dilation, transposed, groups)
    shape = tuple(node.meta["val"].shape)
    out = layer.forward(layer.image(x), stored(layer.thick(shape)))
    if bias is not None:
        out = e.op("BiasAdd", [out.ref, bias.ref], x.dtype, out.shape, data_format="NHWC")
    return layer.back(out, shape)


@rule("convolution_backward.default")
def convolution_backward(e, node, gradient, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
                         groups, wanted):
    if not _is_known(x, dilation, transposed):
        return None
    layer = _Layer(e, x, weight, stride, padding, dilation, transposed, groups)
    outs, image = [None, None, None], layer.image(gradient)
    if wanted[0]:
        outs[0] = layer.back(layer.input_gradient(image, stored(layer.thick(x.shape))), x.shape)
    if wanted[1]:
        outs[1] = layer.weight_gradient(layer.image(x), image)
    if wanted[2]:
        outs[2] = e.op("BiasAddGrad", [image.ref], x.dtype, (gradient.shape[1],), data_format="NHWC")
    return tuple(outs)
