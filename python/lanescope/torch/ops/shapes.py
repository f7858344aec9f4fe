# SPDX-License-Identifier: Apache-2.0
"""Views, copies of parts, and what is made of nothing."""

import math

import numpy

from lanescope.torch.emitter import Value
from lanescope.torch.graph_def import FLOATS
from lanescope.torch.ops import rule
from lanescope.torch.ops.elementwise import result_dtype
from lanescope.torch.ops.elementwise import select as chosen


def _meta_shape(node):
    return tuple(node.meta["val"].shape)


@rule("view.default", "reshape.default", "_unsafe_view.default", "unsqueeze.default", "squeeze.default", "squeeze.dim",
      "squeeze.dims", "view_copy.default")
def view(e, node, x, *_):
    shape = _meta_shape(node)
    return x if shape == x.shape else e.reshape(x, shape)


@rule("t.default")
def t(e, node, x):
    return Value(x.ref, x.dtype, x.stored_shape, x.axes[::-1])


@rule("permute.default")
def permute(e, node, x, dims):
    return Value(x.ref, x.dtype, x.stored_shape, [x.axes[dim] for dim in dims])


@rule("transpose.int")
def transpose(e, node, x, a, b):
    if x.rank == 0:
        return x
    axes = list(x.axes)
    axes[a], axes[b] = axes[b], axes[a]
    return Value(x.ref, x.dtype, x.stored_shape, axes)


@rule("expand.default")
def expand(e, node, x, *_, **__):
    return broadcast(e, x, _meta_shape(node))


def broadcast(e, x, shape):
    if shape == x.shape:
        return x
    return e.op("BroadcastTo", [e.plain(x), e.ints(shape)], x.dtype, shape, types={"T": x.dtype, "Tidx": "int32"})


def _range(rank, dim, start, end, step):
    """Limits and attributes of a range of one axis; of the others all is taken, however much there is."""
    begins, ends, steps = [0] * rank, [0] * rank, [1] * rank
    begins[dim], ends[dim], steps[dim] = start, end, step
    whole = (1 << rank) - 1 - (1 << dim % rank)
    masks = dict.fromkeys(("ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    return (begins, ends, steps), {"begin_mask": whole, "end_mask": whole, **masks}


def _bounds(size, start, end):
    start = 0 if start is None else start
    end = size if end is None else end
    start, end = (max(0, number + size) if number < 0 else min(number, size) for number in (start, end))
    return start, max(start, end)


def strided(e, x, dim, start, end, step, shape):
    limits, masks = _range(x.rank, dim, start, end, step)
    return e.op("StridedSlice", [e.plain(x), *map(e.ints, limits)], x.dtype, shape,
                types={"T": x.dtype, "Index": "int32"}, **masks)


def part(e, x, dim, start, end):
    """A range of one axis."""
    if (start, end) == (0, x.shape[dim]):
        return x
    shape = list(x.shape)
    shape[dim] = end - start
    return strided(e, x, dim, start, end, 1, tuple(shape))


def joined(e, tensors, dim):
    """Tensors of one dtype one after the other."""
    if len(tensors) == 1:
        return tensors[0]
    shape = list(tensors[0].shape)
    shape[dim] = sum(x.shape[dim] for x in tensors)
    return e.op("ConcatV2", [*map(e.plain, tensors), e.const(dim % len(shape), "int32")], tensors[0].dtype, shape,
                types={"T": tensors[0].dtype, "Tidx": "int32"}, N=len(tensors))


@rule("slice.Tensor")
def slice_(e, node, x, dim=0, start=None, end=None, step=1):
    start, end = _bounds(x.shape[dim], start, end)
    if (start, end, step) == (0, x.shape[dim], 1):
        return x
    return strided(e, x, dim, start, end, step, _meta_shape(node))


@rule("select.int")
def select(e, node, x, dim, index):
    index %= x.shape[dim]
    shape = list(x.shape)
    shape[dim] = 1
    return e.reshape(strided(e, x, dim, index, index + 1, 1, shape), _meta_shape(node))


def _gradient_of_range(e, gradient, shape, dim, limits):
    limits, masks = _range(len(shape), dim, *limits)
    return e.op("StridedSliceGrad", [*map(e.ints, (shape, *limits)), e.plain(gradient)], gradient.dtype, shape,
                types={"T": gradient.dtype, "Index": "int32"}, **masks)


@rule("slice_backward.default")
def slice_backward(e, node, gradient, shape, dim, start, end, step):
    start, end = _bounds(shape[dim], start, end)
    return _gradient_of_range(e, gradient, tuple(shape), dim, (start, end, step))


@rule("select_backward.default")
def select_backward(e, node, gradient, shape, dim, index):
    part = list(shape)
    part[dim] = 1
    index %= shape[dim]
    return _gradient_of_range(e, e.reshape(gradient, part), tuple(shape), dim, (index, index + 1, 1))


@rule("split.Tensor", "split_with_sizes.default", "chunk.default")
def split(e, node, x, _, dim=0):
    metas = node.meta["val"]
    if len(metas) == 1:
        return (x,)
    sizes = [meta.shape[dim] for meta in metas]
    name = e.node("SplitV", "SplitV", [e.plain(x), e.ints(sizes), e.const(dim % x.rank, "int32")], num_split=len(sizes),
                  **types(T=x.dtype, Tlen="int32"))
    return tuple(Value(f"{name}:{i}", x.dtype, meta.shape) for i, meta in enumerate(metas))


@rule("unbind.int")
def unbind(e, node, x, dim=0):
    metas = node.meta["val"]
    name = e.node("Unpack", "Unpack", [e.plain(x)], num=len(metas), axis=dim, **types(T=x.dtype))
    return tuple(Value(f"{name}:{i}", x.dtype, meta.shape) for i, meta in enumerate(metas))


def types(**dtypes):
    from lanescope.torch.graph_def import Dtype

    return {key: Dtype(value) for key, value in dtypes.items()}


@rule("cat.default")
def cat(e, node, tensors, dim=0):
    dtype = result_dtype(node)
    tensors = [e.cast(x, dtype) for x in tensors if x.shape != (0,)]
    return joined(e, tensors, dim)


@rule("stack.default")
def stack(e, node, tensors, dim=0):
    refs = [e.plain(x) for x in tensors]
    return e.op("Pack", refs, tensors[0].dtype, _meta_shape(node), N=len(refs), axis=dim % (tensors[0].rank + 1))


@rule("constant_pad_nd.default")
def constant_pad(e, node, x, pad, value=0):
    pairs = [[0, 0] for _ in range(x.rank)]
    for i in range(len(pad) // 2):
        pairs[-1 - i] = [max(0, size) for size in pad[2 * i:2 * i + 2]]
        less = [max(0, -size) for size in pad[2 * i:2 * i + 2]]  # what is cut off
        x = part(e, x, x.rank - 1 - i, less[0], x.shape[-1 - i] - less[1])
    if not any(map(any, pairs)):
        return x
    return e.op("PadV2", [e.plain(x), e.ints(pairs), e.const(value, x.dtype)], x.dtype, _meta_shape(node),
                types={"T": x.dtype, "Tpaddings": "int32"})


@rule("full.default", "full_like.default", "scalar_tensor.default", "new_full.default")
def full(e, node, *args, **_):
    value = args[0] if "scalar_tensor" in str(node.target) else args[-1]
    dtype = result_dtype(node)
    shape = _meta_shape(node)
    return e.fill(shape, value, dtype) if shape else e.scalar(value, dtype)


@rule("zeros.default", "zero.default", "zeros_like.default", "new_zeros.default",
      "empty.memory_format", "empty_strided.default", "empty_like.default", "new_empty.default", "new_empty_strided.default")
def zeros(e, node, *_, **__):
    return e.fill(_meta_shape(node), 0, result_dtype(node))


@rule("ones.default", "ones_like.default", "new_ones.default")
def ones(e, node, *_, **__):
    return e.fill(_meta_shape(node), 1, result_dtype(node))


@rule("arange.default", "arange.start", "arange.start_step")
def arange(e, node, *args, **_):
    dtype = result_dtype(node)
    start, end, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    count = max(0, math.ceil((end - start) / step))
    limits = (start, start + step * count, step)
    kind = dtype if dtype in ("int32", "int64", "float32", "float64") else "float32" if dtype in FLOATS else "int32"
    return e.cast(e.op("Range", [e.const(each, kind) for each in limits], kind, (count,), types={"Tidx": kind}), dtype)


@rule("linspace.default")
def linspace(e, node, start, end, count, **_):
    dtype = result_dtype(node)
    return Value(e.const(numpy.linspace(start, end, count), dtype), dtype, (count,)) if dtype in FLOATS else None


@rule("copy.default", "copy_.default")
def copy(e, node, target, source, *_):
    return expand(e, node, e.cast(source, target.dtype))


@rule("fill.Scalar")
def fill(e, node, x, value):
    return e.fill(x.shape, value, x.dtype)


@rule("tril.default", "triu.default")
def triangle(e, node, x, diagonal=0):
    lower = "tril" in str(node.target)
    limits = (-1, diagonal) if lower else (-diagonal, -1)
    if (diagonal >= 0) if lower else (diagonal <= 0):
        return e.op("MatrixBandPart", [e.plain(x), *(e.const(each, "int64") for each in limits)], x.dtype, x.shape,
                    types={"T": x.dtype, "Tindex": "int64"})
    rows, columns = (e.op("Range", [e.const(each, "int32") for each in (0, size, 1)], "int32", (size,), types={"Tidx": "int32"})
                     for size in x.shape[-2:])
    rows = e.binary("AddV2", e.reshape(rows, (x.shape[-2], 1)), e.scalar(diagonal, "int32"))
    kept = e.binary("GreaterEqual" if lower else "LessEqual", rows, columns, "bool")
    return chosen(e, kept, x, e.scalar(0, x.dtype), x.shape)
