# SPDX-License-Identifier: Apache-2.0
"""Bags of rows of a table: sums and means."""

import torch

from lanescope.torch.decomposed import decomposition

_SUM, _MEAN = 0, 1


def _counts(indices, weights, padding):
    """How much each row counts."""
    ones = torch.ones(indices.shape, device=indices.device) if weights is None else weights
    return ones if padding < 0 else torch.where(indices == padding, 0, ones)


@decomposition("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(table, indices, offsets, scale_grad_by_freq=False, mode=_SUM, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=-1):
    if mode not in (_SUM, _MEAN) or scale_grad_by_freq:
        return NotImplemented
    bags = offsets.shape[0] - bool(include_last_offset)
    numbers = torch.arange(indices.shape[0], device=indices.device, dtype=offsets.dtype)
    bag_of = torch.searchsorted(offsets[:bags], numbers, right=True) - 1
    counts = _counts(indices, per_sample_weights, padding_idx).to(table.dtype)
    size = torch.zeros(bags, dtype=table.dtype, device=table.device).index_add(0, bag_of, (counts != 0).to(table.dtype))
    made = table.new_zeros(bags, table.shape[1]).index_add(0, bag_of, table[indices] * counts[:, None])
    if mode == _MEAN:
        made = made / size.clamp(min=1)[:, None]
    return made, bag_of, size.to(indices.dtype), torch.zeros(bags, dtype=indices.dtype, device=indices.device)


@decomposition("_embedding_bag_dense_backward")
def dense_backward(gradient, indices, bag_of, size, maxima, rows, scale_grad_by_freq, mode, per_sample_weights=None, padding_idx=-1):
    if mode not in (_SUM, _MEAN) or scale_grad_by_freq:
        return NotImplemented
    if mode == _MEAN:
        gradient = gradient / size.clamp(min=1).to(gradient.dtype)[:, None]
    counts = _counts(indices, per_sample_weights, padding_idx).to(gradient.dtype)
    return gradient.new_zeros(rows, gradient.shape[1]).index_add(0, indices, gradient[bag_of] * counts[:, None])


@decomposition("_embedding_bag_backward")
def backward(gradient, indices, offsets, bag_of, size, maxima, rows, scale_grad_by_freq, mode, sparse, per_sample_weights=None,
             padding_idx=-1):
    return dense_backward(gradient, indices, bag_of, size, maxima, rows, scale_grad_by_freq, mode, per_sample_weights, padding_idx)
