# SPDX-License-Identifier: Apache-2.0
"""Largest numbers of windows that no kernel of TensorFlow has: of other widths, with gaps, of a single image."""

import math

import torch

from lanescope.torch.decomposed import decomposition
from lanescope.torch.ops.images import wants_places


def _largest(x, taps, valid):
    """Values and flat places. By axis, as [windows, width]: where each window looks, and whether that counts."""
    dims, sizes = len(taps), x.shape[-len(taps):]
    spread = x
    for axis, places in enumerate(taps):
        spread = spread.index_select(x.dim() - dims + axis, places.clamp(0, sizes[axis] - 1).reshape(-1))
    lead, counts, widths = x.shape[:-dims], [each.shape[0] for each in taps], [each.shape[1] for each in taps]
    spread = spread.reshape(*lead, *(size for pair in zip(counts, widths) for size in pair))
    counted = valid[0].reshape(counts[0], widths[0], *[1] * (2 * dims - 2))
    for axis in range(1, dims):
        counted = counted & valid[axis].reshape(*[1] * (2 * axis), counts[axis], widths[axis], *[1] * (2 * (dims - axis - 1)))
    spread = torch.where(counted, spread, float("-inf") if x.dtype.is_floating_point else torch.iinfo(x.dtype).min)
    first = len(lead)
    order = [*range(first), *range(first, first + 2 * dims, 2), *range(first + 1, first + 2 * dims, 2)]
    values, chosen = spread.permute(order).reshape(*lead, *counts, math.prod(widths)).max(-1)
    flat, step, unit = 0, 1, 1
    for axis in reversed(range(dims)):
        begin = taps[axis][:, 0].reshape(-1, *[1] * (dims - axis - 1))
        gap = taps[axis][0, 1] - taps[axis][0, 0] if widths[axis] > 1 else 1
        flat = flat + (begin + chosen // unit % widths[axis] * gap) * step
        step, unit = step * sizes[axis], unit * widths[axis]
    return values, flat


def _added(gradient, x, places, dims):
    """Each gradient goes to the place of the number that was taken."""
    lead, size = x.shape[:-dims], math.prod(x.shape[-dims:])
    made = gradient.new_zeros(*lead, size).scatter_add(-1, places.reshape(*lead, -1), gradient.reshape(*lead, -1))
    return made.reshape(x.shape)


def _adaptive(dims):
    def run(x, output_size):
        taps, valid = [], []
        for size, count in zip(x.shape[-dims:], output_size):
            begins = [number * size // count for number in range(count)]
            ends = [-(-(number + 1) * size // count) for number in range(count)]
            width = max(end - begin for begin, end in zip(begins, ends))
            taps.append(torch.tensor([[begin + tap for tap in range(width)] for begin in begins], device=x.device))
            valid.append(torch.tensor([[begin + tap < end for tap in range(width)] for begin, end in zip(begins, ends)], device=x.device))
        return _largest(x, taps, valid)
    return run


def _max_pool(dims):
    def each(number):
        number = list(number) if isinstance(number, (list, tuple)) else [number]
        return number * dims if len(number) == 1 else number

    def is_others(x, dilation):
        return x.dim() == dims + 2 and set(each(dilation)) == {1}

    def run(x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
        return NotImplemented if is_others(x, dilation) else always(x, kernel, stride, padding, dilation, ceil_mode)

    def always(x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
        taps, valid = [], []
        for size, width, step, pads, gap in zip(x.shape[-dims:], each(kernel), each(stride or kernel), each(padding), each(dilation)):
            more = size + 2 * pads - gap * (width - 1) - 1
            count = (-(-more // step) if ceil_mode else more // step) + 1
            count -= ceil_mode and (count - 1) * step >= size + pads  # no window begins beyond the end
            begins = torch.arange(count, device=x.device)[:, None] * step - pads
            taps.append(begins + torch.arange(width, device=x.device) * gap)
            valid.append((taps[-1] >= 0) & (taps[-1] < size))
        return _largest(x, taps, valid)

    def backward(gradient, x, kernel, stride, padding, dilation, ceil_mode, places):
        return NotImplemented if is_others(x, dilation) else _added(gradient, x, places, dims)

    return run, backward, always


_PLACED = {}  # by op that makes places: what makes them as a decomposition, and the gradient's op with its own
for _dims in (2, 3):
    decomposition(f"adaptive_max_pool{_dims}d")(_adaptive(_dims))
    decomposition(f"adaptive_max_pool{_dims}d_backward")(lambda gradient, x, places, dims=_dims: _added(gradient, x, places, dims))
    _forward, _backward, _always = _max_pool(_dims)
    _PLACED[getattr(torch.ops.aten, f"max_pool{_dims}d_with_indices").default] = (
        _always, getattr(torch.ops.aten, f"max_pool{_dims}d_with_indices_backward").default,
        lambda gradient, x, *rest, dims=_dims: _added(gradient, x, rest[-1], dims))
    decomposition(f"max_pool{_dims}d_with_indices")(_forward)
    decomposition(f"max_pool{_dims}d_with_indices_backward")(_backward)


def take_places(graph):
    """Pools whose places the model reads, as max_unpool2d does, are taken apart, with their gradients."""
    for node in graph.graph.nodes:
        made = _PLACED.get(node.target) if node.op == "call_function" else None
        if made is None or not wants_places(node):
            continue
        node.target, backward, gradient = made[0], made[1], made[2]
        for user in node.users:
            for reader in user.users:
                if reader.target is backward:
                    reader.target = gradient


@decomposition("_upsample_nearest_exact1d_backward", "_upsample_nearest_exact2d_backward", "_upsample_nearest_exact3d_backward")
def nearest_exact_backward(gradient, output_size, input_size, *scales):
    """Each pixel was read at its middle."""
    dims = len(output_size)
    for axis, (made, size) in enumerate(zip(output_size, input_size[-dims:])):
        scale = scales[axis] if axis < len(scales) else None
        ratio = size / made if scale is None else 1 / scale
        places = [min(int((number + 0.5) * ratio), size - 1) for number in range(made)]
        dim = gradient.dim() - dims + axis
        shape = [*gradient.shape]
        shape[dim] = size
        gradient = gradient.new_zeros(shape).index_add(dim, torch.tensor(places, device=gradient.device), gradient)
    return gradient
