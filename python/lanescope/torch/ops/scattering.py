# SPDX-License-Identifier: Apache-2.0
"""Elements in another order, and writes to numbered places."""

import math

import numpy

from lanescope.torch.emitter import Value
from lanescope.torch.graph_def import FLOATS, Dtype
from lanescope.torch.ops import rule
from lanescope.torch.ops.elementwise import result_dtype, select, value_of
from lanescope.torch.ops.indexing import places_along, places_of, wrapped
from lanescope.torch.ops.shapes import broadcast, joined, part


@rule("flip.default")
def flip(e, node, x, dims):
    return e.op("ReverseV2", [e.plain(x), e.ints([dim % x.rank for dim in dims])], x.dtype, x.shape,
                types={"T": x.dtype, "Tidx": "int32"})


@rule("roll.default")
def roll(e, node, x, shifts, dims=()):
    if not dims:
        flat = e.reshape(x, (math.prod(x.shape),))
        return e.reshape(roll(e, node, flat, shifts, [0]), x.shape)
    for shift, dim in zip(shifts, dims):
        dim %= x.rank
        size = x.shape[dim]
        cut = -shift % size if size else 0
        if cut:
            x = joined(e, [part(e, x, dim, cut, size), part(e, x, dim, 0, cut)], dim)
    return x


@rule("slice_scatter.default")
def slice_scatter(e, node, x, source, dim=0, start=None, end=None, step=1):
    size = x.shape[dim]
    start, end, _ = slice(start, None if end is None else min(end, size), 1).indices(size)
    if step != 1:
        return None
    around = [part(e, x, dim, 0, start), source, part(e, x, dim, end, size)]
    return joined(e, [each for each in around if each.shape[dim]], dim)


@rule("select_scatter.default")
def select_scatter(e, node, x, source, dim, index):
    index %= x.shape[dim]
    thin = list(x.shape)
    thin[dim] = 1
    return slice_scatter(e, node, x, e.reshape(source, thin), dim, index, index + 1)


def _write(e, x, places, values, adds):
    return e.op("TensorScatterAdd" if adds else "TensorScatterUpdate", [e.plain(x), places, e.plain(values)], x.dtype, x.shape,
                types={"T": x.dtype, "Tindices": "int64"})


def _moved(x, order):
    return Value(x.ref, x.dtype, x.stored_shape, [x.axes[axis] for axis in order])


@rule("index_put.default", "_unsafe_index_put.default", "index_put_.default")
def index_put(e, node, x, indices, values, accumulate=False):
    given = [axis for axis, each in enumerate(indices) if each is not None]
    if [indices[axis].dtype for axis in given] == ["bool"] and given == [0] and values.rank == 0 and not accumulate:
        mask = indices[0]
        mask = e.reshape(mask, (*mask.shape, *[1] * (x.rank - mask.rank)))
        return select(e, mask, values, x, x.shape)
    numbers = wrapped(e, x, indices, given)
    if numbers is None or x.dtype == "bool":
        return None
    order = [*given, *(axis for axis in range(x.rank) if axis not in given)]
    shape = numpy.broadcast_shapes(*(each.shape for each in numbers))
    first = given[0] if given == list(range(given[0], given[0] + len(given))) else 0
    whole = [x.shape[axis] for axis in order[len(given):]]
    whole[first:first] = shape
    values = broadcast(e, value_of(e, values, x.dtype), tuple(whole))
    middle = list(range(first, first + len(shape)))
    values = _moved(values, [*middle, *(axis for axis in range(len(whole)) if axis not in middle)])
    made = _write(e, _moved(x, order), places_of(e, numbers, shape), values, accumulate)
    return _moved(made, [order.index(axis) for axis in range(x.rank)])


def _along(adds):
    def emit(e, node, x, dim, indices, source, reduce=None, **_):
        if x.rank == 0 or reduce is not None or x.dtype == "bool":
            return None
        numbers = places_along(e, x, dim, indices)
        source = value_of(e, source, x.dtype)
        if source.rank == 0:
            source = broadcast(e, source, indices.shape)
        for axis, size in enumerate(indices.shape):
            if source.shape[axis] != size:
                source = part(e, source, axis, 0, size)
        return _write(e, x, places_of(e, numbers, indices.shape), source, adds)

    return emit


rule("scatter.src", "scatter.value")(_along(False))
rule("scatter_add.default")(_along(True))


def _rows(adds):
    def emit(e, node, x, dim, index, source, alpha=1):
        if x.rank == 0 or x.dtype == "bool":
            return None
        source = source if alpha == 1 else e.binary("Mul", source, e.scalar(alpha, source.dtype))
        dim %= x.rank
        order = [dim, *(axis for axis in range(x.rank) if axis != dim)]
        index = index if index.rank else e.reshape(index, (1,))
        made = _write(e, _moved(x, order), places_of(e, [index], index.shape), _moved(source, order), adds)
        return _moved(made, [order.index(axis) for axis in range(x.rank)])

    return emit


rule("index_copy.default")(_rows(False))
rule("index_add.default")(_rows(True))


def _largest(e, x, count, dim, largest):
    """The `count` first of each row of axis `dim`, and where they were."""
    order = [axis for axis in range(x.rank) if axis != dim] + [dim]
    back = [order.index(axis) for axis in range(x.rank)]
    rows = Value(e.ordered(x, order), x.dtype, [x.shape[axis] for axis in order])
    rows = rows if largest else e.unary("Neg", rows)
    stored = (*rows.shape[:-1], count)
    name = e.node("TopKV2", "TopKV2", [rows.ref, e.const(count, "int32")], sorted=True, T=Dtype(rows.dtype))
    found = e.remember(Value(name, x.dtype, stored))
    found = found if largest else e.unary("Neg", found)
    numbers = e.cast(e.remember(Value(name + ":1", "int32", stored)), "int64")
    return Value(found.ref, x.dtype, stored, back), Value(numbers.ref, "int64", stored, back)


@rule("topk.default")
def topk(e, node, x, count, dim=-1, largest=True, sorted=True):
    if x.rank == 0 or x.dtype == "bool":
        return None
    return _largest(e, x, count, dim % x.rank, largest)


@rule("sort.default", "sort.stable")
def sort(e, node, x, dim=-1, descending=False, stable=None):
    if x.rank == 0:
        return x, e.scalar(0, "int64")
    if x.dtype == "bool":
        values, places = _largest(e, e.cast(x, "int32"), x.shape[dim], dim % x.rank, descending)
        return e.cast(values, "bool"), places
    return _largest(e, x, x.shape[dim], dim % x.rank, descending)


_SEGMENTS = {"sum": "Sum", "mean": "Sum", "prod": "Prod", "amax": "Max", "amin": "Min"}
_JOINS = {"sum": "AddV2", "mean": "AddV2", "prod": "Mul", "amax": "Maximum", "amin": "Minimum"}


def _segments(e, how, flat, numbers, count):
    return e.op("UnsortedSegment" + how, [flat.ref, numbers.ref, e.const(count, "int64")], flat.dtype, (count,),
                types={"T": flat.dtype, "Tindices": "int64", "Tnumsegments": "int64"})


def _flat_places(e, x, dim, indices):
    """By index the number of the element in order."""
    found, step = None, 1
    for size, number in reversed(list(zip(x.shape, places_along(e, x, dim, indices)))):
        part_ = e.binary("Mul", e.cast(number, "int64"), e.scalar(step, "int64"))
        found, step = part_ if found is None else e.binary("AddV2", found, part_), step * size
    return e.reshape(broadcast(e, found, indices.shape), (math.prod(indices.shape),))


@rule("scatter_reduce.two")
def scatter_reduce(e, node, x, dim, indices, source, reduce, include_self=True):
    """Elements that go to one place are joined as segments are, and then with what was there."""
    if x.rank == 0 or x.dtype == "bool":
        return None
    for axis, size in enumerate(indices.shape):
        source = part(e, source, axis, 0, size)
    count, numbers = math.prod(x.shape), _flat_places(e, x, dim, indices)
    flat = e.reshape(source, numbers.shape)
    made = _segments(e, _SEGMENTS[reduce], flat, numbers, count)
    ones = e.fill(numbers.shape, 1, x.dtype)
    arrived = _segments(e, "Sum", ones, numbers, count)
    old = e.reshape(x, (count,))
    if include_self:
        made = e.binary(_JOINS[reduce], old, made)
    if reduce == "mean":
        number = e.binary("AddV2", arrived, e.scalar(1, x.dtype)) if include_self else e.binary("Maximum", arrived, e.scalar(1, x.dtype))
        made = e.binary("RealDiv" if x.dtype in FLOATS else "FloorDiv", made, number)
    changed = e.binary("Greater", arrived, e.scalar(0, x.dtype), "bool")
    return e.reshape(select(e, changed, made, old, (count,)), x.shape)


@rule("scatter.reduce", "scatter.value_reduce")
def scatter_joined(e, node, x, dim, indices, source, *, reduce):
    source = value_of(e, source, x.dtype)
    source = source if source.rank else broadcast(e, source, indices.shape)
    return scatter_reduce(e, node, x, dim, indices, source, {"add": "sum", "multiply": "prod"}[reduce])


@rule("histc.default")
def histc(e, node, x, bins=100, low=0, high=0):
    """Numbers of elements by part of a range; those outside are in none."""
    if low == high:
        return None
    x, dtype = e.cast(x, "float32"), result_dtype(node)
    flat = e.reshape(x, (math.prod(x.shape),))
    part_ = e.binary("Mul", e.binary("Sub", flat, e.scalar(low, "float32")), e.scalar(bins / (high - low), "float32"))
    number = e.cast(e.binary("Minimum", e.unary("Floor", part_), e.scalar(bins - 1, "float32")), "int32")
    inside = e.binary("LessEqual", flat, e.scalar(high, "float32"), "bool")
    number = select(e, inside, number, e.scalar(-1, "int32"), number.shape)
    ones = e.fill(number.shape, 1, dtype)
    return e.op("UnsortedSegmentSum", [ones.ref, number.ref, e.const(bins, "int32")], dtype, (bins,),
                types={"T": dtype, "Tindices": "int32", "Tnumsegments": "int32"})


@rule("index_fill.int_Scalar")
def index_fill(e, node, x, dim, index, value):
    shape = [*x.shape]
    shape[dim] = index.shape[0] if index.rank else 1
    return _rows(False)(e, node, x, dim, index, broadcast(e, e.scalar(value, x.dtype), tuple(shape)))
