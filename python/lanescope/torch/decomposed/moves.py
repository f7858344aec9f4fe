# SPDX-License-Identifier: Apache-2.0
"""Writes to numbered places, to diagonals and beyond edges."""

import torch

from lanescope.torch.decomposed import decomposition


@decomposition("diagonal", "diagonal_copy")
def diagonal(x, offset=0, dim1=0, dim2=1):
    """Sums of rows in which nothing else is left: other axes may be a batch."""
    x = x.movedim((dim1, dim2), (-2, -1))
    first, second = max(0, -offset), max(0, offset)
    size = max(0, min(x.shape[-2] - first, x.shape[-1] - second))
    numbers = torch.arange(size, device=x.device)
    made = torch.where(numbers[:, None] == numbers, x.narrow(-2, first, size).narrow(-1, second, size), 0)
    return made.any(-1) if x.dtype == torch.bool else made.sum(-1, dtype=x.dtype)


@decomposition("diagonal_scatter")
def diagonal_scatter(x, source, offset=0, dim1=0, dim2=1):
    """Rows and columns are told by their numbers: any shape has a diagonal."""
    x = x.movedim((dim1, dim2), (-2, -1))
    rows, columns = (torch.arange(size, device=x.device) for size in x.shape[-2:])
    first, last = max(0, -offset), x.shape[-2] - max(0, -offset) - source.shape[-1]
    spread = torch.nn.functional.pad(source, (first, last)).unsqueeze(-1)
    made = torch.where(columns - rows[:, None] == offset, spread, x)
    return made.movedim((-2, -1), (dim1, dim2))


@decomposition("diagonal_backward")
def diagonal_backward(gradient, shape, offset, dim1, dim2):
    return diagonal_scatter(gradient.new_zeros(shape), gradient, offset, dim1, dim2)


@decomposition("put")
def put(x, index, source, accumulate=False):
    return x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate).reshape(x.shape)


@decomposition("masked_scatter")
def masked_scatter(x, mask, source):
    shape = torch.broadcast_shapes(x.shape, mask.shape)
    x, mask = x.expand(shape), mask.expand(shape)
    places = (mask.reshape(-1).long().cumsum(0) - 1).clamp(min=0)
    return torch.where(mask, source.reshape(-1)[places].reshape(shape), x)


@decomposition("repeat_interleave.Tensor")
def repeat_interleave(repeats, *, output_size=None):
    """Numbers, each as often as it is to come."""
    if output_size is None:
        return NotImplemented
    return torch.searchsorted(repeats.cumsum(0), torch.arange(output_size, device=repeats.device), right=True)


def _index_reduced(how):
    def run(x, dim, index, source, include_self):
        shape = [1] * x.dim()
        shape[dim] = index.shape[0]
        return x.scatter_reduce(dim, index.reshape(shape).expand(source.shape), source, how, include_self=include_self)
    return run


@decomposition("index_reduce")
def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    return _index_reduced(reduce)(x, dim, index, source, include_self)


def _at_edge(places, size):
    return places.clamp(0, size - 1)


def _reflected(places, size):
    """Within one size beyond either edge, as PyTorch wants it."""
    return (size - 1) - ((size - 1) - places.abs()).abs()


def _added_within(gradient, x, padding, within):
    """What was read beyond an edge goes to where it was read."""
    for number in range(len(padding) // 2):
        dim, before = x.dim() - 1 - number, padding[2 * number]
        places = within(torch.arange(gradient.shape[dim], device=gradient.device) - before, x.shape[dim])
        shape = [*gradient.shape]
        shape[dim] = x.shape[dim]
        gradient = gradient.new_zeros(shape).index_add(dim, places, gradient)
    return gradient


@decomposition("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward")
def replication_pad_backward(gradient, x, padding):
    return _added_within(gradient, x, padding, _at_edge)


@decomposition("reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward")
def reflection_pad_backward(gradient, x, padding):
    return _added_within(gradient, x, padding, _reflected)
