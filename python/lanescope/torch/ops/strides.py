# SPDX-License-Identifier: Apache-2.0
"""Views by strides: what they mean for the elements."""

import math

import numpy

from lanescope.torch.emitter import Value
from lanescope.torch.ops import rule
from lanescope.torch.ops.indexing import gather
from lanescope.torch.ops.shapes import broadcast


def _by_stride(shape, strides):
    """Axes from the longest step to the shortest."""
    return sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis))


def _is_dense(shape, strides):
    """Whether the axes, in this order, are all that lies in memory."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def _flat(e, node, x):
    """The elements as they lie, and the axes from the longest step to the shortest; None where there are holes between."""
    own = node.args[0].meta["val"]
    order = _by_stride(own.shape, own.stride())
    if not _is_dense([own.shape[axis] for axis in order], [own.stride()[axis] for axis in order]):
        return None, order
    return Value(e.ordered(x, order), x.dtype, [own.shape[axis] for axis in order]), order


def _places(shape, stride, offset):
    """Of elements by strides, where they lie."""
    return sum((numpy.arange(each).reshape(-1, *[1] * (len(shape) - axis - 1)) * stride[axis] for axis, each in enumerate(shape)),
               numpy.array(offset))


@rule("as_strided.default", "as_strided_copy.default")
def as_strided(e, node, x, size, stride, offset=None):
    flat, _ = _flat(e, node, x)
    if flat is None:
        return None
    offset = 0 if offset is None else offset - node.args[0].meta["val"].storage_offset()
    thin = [1 if step == 0 else each for each, step in zip(size, stride)]
    order = _by_stride(thin, stride)
    sizes = [thin[axis] for axis in order]
    count = math.prod(x.shape)
    if offset == 0 and math.prod(sizes) == count and _is_dense(sizes, [stride[axis] for axis in order]):
        made = e.reshape(flat, sizes)
        made = Value(made.ref, x.dtype, sizes, [order.index(axis) for axis in range(len(order))])
    else:
        places = _places(thin, stride, offset)
        if places.size and int(places.max()) >= count:
            return None
        numbers = Value(e.const(places, "int64"), "int64", places.shape)
        made = gather(e, e.reshape(flat, (count,)), numbers, 0, tuple(thin))
    return broadcast(e, made, tuple(size))


@rule("as_strided_scatter.default")
def as_strided_scatter(e, node, x, source, size, stride, offset=None):
    flat, order = _flat(e, node, x)
    places = _places(size, stride, 0 if offset is None else offset - node.args[0].meta["val"].storage_offset())
    count = math.prod(x.shape)
    if flat is None or x.dtype == "bool" or numpy.unique(places).size < places.size or (places.size and int(places.max()) >= count):
        return None
    if places.size == count:  # all is written
        inverse = numpy.argsort(places.reshape(-1))
        same = (inverse == numpy.arange(count)).all()
        made = e.reshape(source, (count,))
        made = made if same else gather(e, made, Value(e.const(inverse, "int64"), "int64", (count,)), 0, (count,))
    else:
        numbers = e.const(places.reshape(-1, 1), "int64")
        made = e.op("TensorScatterUpdate", [e.reshape(flat, (count,)).ref, numbers, e.reshape(source, (places.size,)).ref], x.dtype, (count,),
                    types={"T": x.dtype, "Tindices": "int64"})
    made = e.reshape(made, flat.shape)
    return Value(made.ref, x.dtype, flat.shape, [order.index(axis) for axis in range(x.rank)])
