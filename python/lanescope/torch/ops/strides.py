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


@rule("as_strided.default", "as_strided_copy.default")
def as_strided(e, node, x, size, stride, offset=None):
    own = node.args[0].meta["val"]
    order = _by_stride(own.shape, own.stride())
    if not _is_dense([own.shape[axis] for axis in order], [own.stride()[axis] for axis in order]):
        return None
    flat = Value(e.ordered(x, order), x.dtype, [own.shape[axis] for axis in order])
    offset = 0 if offset is None else offset - own.storage_offset()
    thin = [1 if step == 0 else each for each, step in zip(size, stride)]
    order = _by_stride(thin, stride)
    sizes = [thin[axis] for axis in order]
    if offset == 0 and math.prod(sizes) == math.prod(own.shape) and _is_dense(sizes, [stride[axis] for axis in order]):
        made = e.reshape(flat, sizes)
        made = Value(made.ref, x.dtype, sizes, [order.index(axis) for axis in range(len(order))])
    else:
        places = sum((numpy.arange(each).reshape(-1, *[1] * (len(thin) - axis - 1)) * stride[axis]
                      for axis, each in enumerate(thin)), numpy.array(offset))
        if places.size and int(places.max()) >= math.prod(own.shape):
            return None
        numbers = Value(e.const(places, "int64"), "int64", places.shape)
        made = gather(e, e.reshape(flat, (math.prod(own.shape),)), numbers, 0, tuple(thin))
    return broadcast(e, made, tuple(size))
