"""Convolutions and pooling of images. TensorFlow's kernels of hosts want channels last."""

from lanescope.torch.emitter import Value
from lanescope.torch.ops import rule

_IMAGES = (0, 2, 3, 1)
_BACK = (0, 3, 1, 2)
_FILTER = (2, 3, 1, 0)
_FILTER_BACK = (3, 2, 0, 1)
_DEPTHWISE = (2, 3, 0, 1)  # rows, columns, channels, filters of each


def _pair(numbers):
    numbers = [numbers] if isinstance(numbers, int) else list(numbers)
    return numbers * 2 if len(numbers) == 1 else numbers


def _stored(shape):
    return [shape[axis] for axis in _IMAGES]


def _attrs(stride, padding, dilation):
    (sy, sx), (py, px), (dy, dx) = (_pair(each) for each in (stride, padding, dilation))
    padded = py or px
    return {"strides": [1, sy, sx, 1], "dilations": [1, dy, dx, 1], "data_format": "NHWC",
            "padding": "EXPLICIT" if padded else "VALID",
            "explicit_paddings": [0, 0, py, py, px, px, 0, 0] if padded else []}


class _Convolution:
    """By which of TensorFlow's ops, and how its filter lies in memory."""

    def __init__(self, e, weight, stride, padding, dilation, groups):
        self._e, self._weight, self._depthwise = e, weight, groups > 1
        self._split = (groups, weight.shape[0] // groups, *weight.shape[2:])
        self.attrs = _attrs(stride, padding, dilation)
        if self._depthwise:
            self.op, self.filter_shape = "DepthwiseConv2dNative", [self._split[axis] for axis in _DEPTHWISE]
        else:
            self.op, self.filter_shape = "Conv2D", [weight.shape[axis] for axis in _FILTER]
            self.attrs["use_cudnn_on_gpu"] = True

    def filter(self):
        if not self._depthwise:
            return self._e.ordered(self._weight, _FILTER)
        apart = self._weight if self._split[1] == 1 else self._e.reshape(self._weight, self._split)
        return self._e.ordered(apart, _DEPTHWISE)

    def weight_of(self, made):
        """The gradient of the weight, from the filter's."""
        if not self._depthwise:
            return Value(made.ref, made.dtype, made.stored_shape, _FILTER_BACK)
        apart = Value(made.ref, made.dtype, made.stored_shape, _DEPTHWISE)
        return apart if self._split[1] == 1 else self._e.reshape(apart, self._weight.shape)


def _is_known(x, transposed, groups):
    return x.rank == 4 and not transposed and groups in (1, x.shape[1])


@rule("convolution.default")
def convolution(e, node, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if not _is_known(x, transposed, groups):
        return None
    how = _Convolution(e, weight, stride, padding, dilation, groups)
    out = e.op(how.op, [e.ordered(x, _IMAGES), how.filter()], x.dtype, _stored(node.meta["val"].shape), _BACK,
               **how.attrs)
    if bias is not None:
        out = e.op("BiasAdd", [out.ref, bias.ref], x.dtype, out.stored_shape, _BACK, data_format="NHWC")
    return out


@rule("convolution_backward.default")
def convolution_backward(e, node, gradient, x, weight, bias_sizes, stride, padding, dilation, transposed,
                         output_padding, groups, wanted):
    if not _is_known(x, transposed, groups):
        return None
    how = _Convolution(e, weight, stride, padding, dilation, groups)
    outs = [None, None, None]
    grad = e.ordered(gradient, _IMAGES)
    if wanted[0]:
        stored = _stored(x.shape)
        inputs = [e.ints(stored), how.filter(), grad]
        outs[0] = e.op(how.op + "BackpropInput", inputs, x.dtype, stored, _BACK, **how.attrs)
    if wanted[1]:
        inputs = [e.ordered(x, _IMAGES), e.ints(how.filter_shape), grad]
        made = e.op(how.op + "BackpropFilter", inputs, x.dtype, how.filter_shape, **how.attrs)
        outs[1] = how.weight_of(made)
    if wanted[2]:
        outs[2] = e.op("BiasAddGrad", [grad], x.dtype, (gradient.shape[1],), data_format="NHWC")
    return tuple(outs)


def _window(kernel, stride):
    (ky, kx), (sy, sx) = _pair(kernel), _pair(stride or kernel)
    return {"ksize": [1, ky, kx, 1], "strides": [1, sy, sx, 1], "padding": "VALID", "data_format": "NHWC"}


def _pooling(x, kernel, stride, padding):
    return ("max_pool", x.ref, *(tuple(_pair(each)) for each in (kernel, stride or kernel, padding)))


_LEAST = {"float32": -3.4028234663852886e38, "float64": -1.7976931348623157e308, "float16": -65504.0,
          "bfloat16": -3.3895313892515355e38}


@rule("max_pool2d_with_indices.default")
def max_pool(e, node, x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    if x.rank != 4 or _pair(dilation) != [1, 1] or ceil_mode or x.dtype not in _LEAST:
        return None
    padded = e.ordered(x, _IMAGES)
    py, px = _pair(padding)
    n, h, w, c = _stored(x.shape)
    if py or px:
        pads = e.ints([[0, 0], [py, py], [px, px], [0, 0]])
        padded = e.op("PadV2", [padded, pads, e.const(_LEAST[x.dtype], x.dtype)], x.dtype,
                      (n, h + 2 * py, w + 2 * px, c), types={"T": x.dtype, "Tpaddings": "int32"}).ref
    out = e.op("MaxPool", [padded], x.dtype, _stored(node.meta["val"][0].shape), _BACK, **_window(kernel, stride))
    e.notes[_pooling(x, kernel, stride, padding)] = (padded, out.ref)
    return out, None


@rule("max_pool2d_with_indices_backward.default")
def max_pool_backward(e, node, gradient, x, kernel, stride, padding, dilation, ceil_mode, indices):
    forward = e.notes.get(_pooling(x, kernel, stride, padding))
    if forward is None:
        return None
    n, h, w, c = _stored(x.shape)
    py, px = _pair(padding)
    out = e.op("MaxPoolGrad", [*forward, e.ordered(gradient, _IMAGES)], x.dtype, (n, h + 2 * py, w + 2 * px, c), _BACK,
               **_window(kernel, stride))
    if not (py or px):
        return out
    return e.op("Slice", [out.ref, e.ints([0, py, px, 0]), e.ints([n, h, w, c])], x.dtype, (n, h, w, c), _BACK,
                types={"T": x.dtype, "Index": "int32"})


@rule("avg_pool2d.default")
def avg_pool(e, node, x, kernel, stride=(), padding=0, ceil_mode=False, count_padding=True, divisor=None):
    if x.rank != 4 or _pair(padding) != [0, 0] or ceil_mode or divisor is not None:
        return None
    return e.op("AvgPool", [e.ordered(x, _IMAGES)], x.dtype, _stored(node.meta["val"].shape), _BACK,
                **_window(kernel, stride))


@rule("avg_pool2d_backward.default")
def avg_pool_backward(e, node, gradient, x, kernel, stride, padding, ceil_mode, count_padding, divisor):
    if x.rank != 4 or _pair(padding) != [0, 0] or ceil_mode or divisor is not None:
        return None
    stored = _stored(x.shape)
    return e.op("AvgPoolGrad", [e.ints(stored), e.ordered(gradient, _IMAGES)], x.dtype, stored, _BACK,
                **_window(kernel, stride))
