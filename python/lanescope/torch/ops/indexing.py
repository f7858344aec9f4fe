# SPDX-License-Identifier: Apache-2.0
"""Rows by number, and losses that look classes up."""

import numpy

from lanescope.torch.emitter import Value
from lanescope.torch.graph_def import Dtype
from lanescope.torch.ops import rule
from lanescope.torch.ops.elementwise import select
from lanescope.torch.ops.shapes import broadcast


def gather(e, x, indices, axis, shape):
    inputs = [e.plain(x), e.plain(indices), e.const(axis, "int32")]
    return e.op("GatherV2", inputs, x.dtype, shape, batch_dims=0,
                types={"Tparams": x.dtype, "Tindices": indices.dtype, "Taxis": "int32"})


def numbers_to(e, end, dtype):
    """0, 1, 2 ... below `end`."""
    return e.op("Range", [e.const(each, dtype) for each in (0, end, 1)], dtype, (end,), types={"Tidx": dtype})


@rule("embedding.default")
def embedding(e, node, table, indices, *_):
    return gather(e, table, indices, 0, (*indices.shape, table.shape[1]))


@rule("index_select.default")
def index_select(e, node, x, dim, indices):
    return gather(e, x, indices, dim % x.rank, node.meta["val"].shape)


def wrapped(e, x, indices, given):
    """Numbers of the axes `given`, those from the end as those from the start; None where they are no numbers."""
    if not given or any(indices[axis].dtype not in ("int32", "int64") for axis in given):
        return None
    return [e.binary("FloorMod", indices[axis], e.scalar(x.shape[axis], indices[axis].dtype)) for axis in given]


@rule("index.Tensor", "_unsafe_index.Tensor")
def index(e, node, x, indices):
    given = [axis for axis, each in enumerate(indices) if each is not None]
    numbers = wrapped(e, x, indices, given)
    if numbers is None:
        return None
    result = node.meta["val"].shape
    if len(given) == 1:
        return gather(e, x, numbers[0], given[0], result)
    rest = [axis for axis in range(x.rank) if axis not in given]
    order = [*given, *rest]
    shape = numpy.broadcast_shapes(*(each.shape for each in numbers))
    picked = _pick(e, Value(x.ref, x.dtype, x.stored_shape, [x.axes[axis] for axis in order]), numbers, shape)
    # Neighbours leave what they pick in their place, others put it first.
    first = given[0] if given == list(range(given[0], given[0] + len(given))) else 0
    axes = list(range(len(shape), len(shape) + len(rest)))
    axes[first:first] = range(len(shape))
    return Value(picked.ref, picked.dtype, picked.stored_shape, axes)


def places_of(e, numbers, shape):
    """The reference of the coordinates of elements: numbers of the first axes, which broadcast against each other."""
    places = [e.plain(broadcast(e, e.cast(each, "int64"), shape)) for each in numbers]
    return e.op("Pack", places, "int64", (*shape, len(places)), N=len(places), axis=len(shape)).ref


def _pick(e, x, numbers, shape):
    """Numbers of the first axes say which of the rest are taken."""
    return e.op("GatherNd", [e.plain(x), places_of(e, numbers, shape)], x.dtype, (*shape, *x.shape[len(numbers):]),
                types={"Tparams": x.dtype, "Tindices": "int64"})


def places_along(e, x, dim, indices):
    """Numbers of all axes: of `dim` those given, of the others their own."""
    numbers = []
    for axis, size in enumerate(indices.shape):
        ones = [1] * axis + [size] + [1] * (x.rank - axis - 1)
        numbers.append(indices if axis == dim % x.rank else e.reshape(numbers_to(e, size, "int64"), ones))
    return numbers


@rule("gather.default")
def gather_along(e, node, x, dim, indices, sparse_grad=False):
    return _pick(e, x, places_along(e, x, dim, indices), indices.shape) if x.rank else None


@rule("embedding_dense_backward.default")
def embedding_dense_backward(e, node, gradient, indices, rows, padding, by_frequency):
    flat = e.reshape(indices, (-1,))
    flat = Value(flat.ref, flat.dtype, (gradient.shape and _count(indices.shape),))
    if padding >= 0:
        here = e.binary("Equal", flat, e.scalar(padding, flat.dtype), "bool", incompatible_shape_error=True)
        flat = select(e, here, e.scalar(-1, flat.dtype), flat, flat.shape)
    width = gradient.shape[-1]
    made = _added_up(e, e.reshape(gradient, (_count(indices.shape), width)), flat, rows)
    if not by_frequency:
        return made
    often = _added_up(e, e.fill(flat.shape, 1, gradient.dtype), flat, rows)
    return e.binary("RealDiv", made, e.reshape(e.binary("Maximum", often, e.scalar(1, gradient.dtype)), (rows, 1)))


def _added_up(e, data, numbers, rows):
    """Of each number below `rows` what belongs to it."""
    return e.op("UnsortedSegmentSum", [data.ref, numbers.ref, e.const(rows, "int32")], data.dtype, (rows, *data.shape[1:]),
                types={"T": data.dtype, "Tindices": numbers.dtype, "Tnumsegments": "int32"})


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def _counted(e, target, ignored):
    """Where targets count, and targets that can index."""
    mask = e.binary("NotEqual", target, e.scalar(ignored, target.dtype), "bool", incompatible_shape_error=True)
    return mask, select(e, mask, target, e.scalar(0, target.dtype), target.shape)


def _counts(e, mask, safe, weight, dtype):
    """By row how much its target counts."""
    if weight is None:
        return e.cast(mask, dtype)
    return select(e, mask, gather(e, weight, safe, 0, mask.shape), e.scalar(0, dtype), mask.shape)


@rule("nll_loss_forward.default")
def nll_loss_forward(e, node, log_p, target, weight, reduction, ignored):
    if log_p.rank == 1:
        loss, total = nll_loss_forward(e, node, e.reshape(log_p, (1, *log_p.shape)), e.reshape(target, (1,)), weight, reduction, ignored)
        return (e.reshape(loss, ()) if reduction == 0 else loss), total
    mask, safe = _counted(e, target, ignored)
    rows = log_p.shape[0]
    numbers = numbers_to(e, rows, target.dtype)
    places = e.op("Pack", [numbers.ref, safe.ref], target.dtype, (rows, 2), N=2, axis=1)
    picked = e.op("GatherNd", [e.plain(log_p), places.ref], log_p.dtype, (rows,),
                  types={"Tparams": log_p.dtype, "Tindices": target.dtype})
    losses = select(e, mask, e.unary("Neg", picked), e.scalar(0, log_p.dtype), (rows,))
    counts = _counts(e, mask, safe, weight, log_p.dtype)
    if weight is not None:
        losses = e.binary("Mul", losses, counts)
    total = e.reduce("Sum", counts, None, False)
    if reduction == 0:
        return losses, e.scalar(0, log_p.dtype)
    loss = e.reduce("Sum", losses, None, False)
    return (e.binary("RealDiv", loss, total) if reduction == 1 else loss), total


@rule("nll_loss_backward.default")
def nll_loss_backward(e, node, gradient, log_p, target, weight, reduction, ignored, total):
    if log_p.rank == 1:
        made = nll_loss_backward(e, node, gradient, e.reshape(log_p, (1, *log_p.shape)), e.reshape(target, (1,)), weight, reduction,
                                 ignored, total)
        return e.reshape(made, log_p.shape)
    mask, safe = _counted(e, target, ignored)
    rows, classes = log_p.shape
    each = e.binary("RealDiv", gradient, total) if reduction == 1 else gradient
    each = select(e, mask, e.unary("Neg", each), e.scalar(0, log_p.dtype), (rows,))
    if weight is not None:
        each = e.binary("Mul", each, _counts(e, mask, safe, weight, log_p.dtype))
    numbers = [e.const(classes, "int32"), e.const(1, log_p.dtype), e.const(0, log_p.dtype)]
    places = e.op("OneHot", [safe.ref, *numbers], log_p.dtype, (rows, classes), axis=-1,
                  types={"T": log_p.dtype, "TI": Dtype(safe.dtype)})
    return e.binary("Mul", places, e.reshape(each, (rows, 1)))


def _pixels(e, log_p, target):
    """Each pixel as a row of its own."""
    last = Value(log_p.ref, log_p.dtype, log_p.stored_shape, [log_p.axes[axis] for axis in (0, 2, 3, 1)])
    return e.reshape(last, (_count(target.shape), log_p.shape[1])), e.reshape(target, (_count(target.shape),))


@rule("nll_loss2d_forward.default")
def nll_loss2d_forward(e, node, log_p, target, weight, reduction, ignored):
    loss, total = nll_loss_forward(e, node, *_pixels(e, log_p, target), weight, reduction, ignored)
    return (e.reshape(loss, target.shape) if reduction == 0 else loss), total


@rule("nll_loss2d_backward.default")
def nll_loss2d_backward(e, node, gradient, log_p, target, weight, reduction, ignored, total):
    gradient = e.reshape(gradient, (_count(target.shape),)) if reduction == 0 else gradient
    made = nll_loss_backward(e, node, gradient, *_pixels(e, log_p, target), weight, reduction, ignored, total)
    made = e.reshape(made, (*target.shape, log_p.shape[1]))
    return Value(made.ref, made.dtype, made.stored_shape, (0, 3, 1, 2))


@rule("cumsum.default", "cumprod.default")
def cumulative(e, node, x, dim, dtype=None):
    from lanescope.torch.ops.elementwise import result_dtype

    x = e.cast(e.in_order(x), result_dtype(node))
    if x.dtype == "bool":
        return None
    if x.rank == 0:
        return x
    op = "Cumprod" if "cumprod" in str(node.target) else "Cumsum"
    return e.op(op, [x.ref, e.const(dim, "int32")], x.dtype, x.shape, types={"T": x.dtype, "Tidx": "int32"},
                exclusive=False, reverse=False)


@rule("argmax.default", "argmin.default")
def arg_extreme(e, node, x, dim=None, keepdim=False):
    if dim is None:
        x, dim = e.reshape(x, (_count(x.shape),)), 0
    return _place(e, "ArgMax" if "argmax" in str(node.target) else "ArgMin", x, dim, tuple(node.meta["val"].shape))


def _place(e, op, x, dim, shape):
    dim %= x.rank
    made = e.op(op, [e.plain(x), e.const(dim, "int32")], "int64", (*x.shape[:dim], *x.shape[dim + 1:]),
                types={"T": x.dtype, "Tidx": "int32", "output_type": "int64"})
    return made if made.shape == shape else e.reshape(made, shape)


@rule("max.dim", "min.dim")
def extreme(e, node, x, dim, keepdim=False):
    if not x.rank:
        return x, e.scalar(0, "int64")
    if x.dtype == "bool":
        value, place = extreme(e, node, e.cast(x, "int32"), dim, keepdim)
        return e.cast(value, "bool"), place
    op = "Max" if "max" in str(node.target) else "Min"
    return e.reduce(op, x, [dim], keepdim), _place(e, "Arg" + op, x, dim, tuple(node.meta["val"][1].shape))
