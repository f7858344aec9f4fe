# SPDX-License-Identifier: Apache-2.0
"""Deviations and elements by their rank in an order."""

import torch

from lanescope.torch.decomposed import decomposition


@decomposition("std.correction")
def std(x, dim=None, *, correction=1, keepdim=False):
    return torch.ops.aten.var.correction(x, dim, correction=correction, keepdim=keepdim).sqrt()


@decomposition("std_mean.correction")
def std_mean(x, dim=None, *, correction=1, keepdim=False):
    variance, mean = torch.ops.aten.var_mean.correction(x, dim, correction=correction, keepdim=keepdim)
    return variance.sqrt(), mean


def _ranked(x, rank, dim, keepdim):
    """The element of this rank, from 0, and where it was."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.long)
    values, places = x.sort(dim=dim, stable=True)
    values, places = values.narrow(dim, rank, 1), places.narrow(dim, rank, 1)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


@decomposition("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    return _ranked(x, k - 1, dim, keepdim)


@decomposition("median.dim")
def median_of_rows(x, dim, keepdim=False):
    return _ranked(x, (x.shape[dim] - 1) // 2 if x.dim() else 0, dim, keepdim)


@decomposition("median")
def median(x):
    return _ranked(x.reshape(-1), (x.numel() - 1) // 2, 0, False)[0]


@decomposition("nanmedian.dim")
def nanmedian_of_rows(x, dim, keepdim=False):
    missing = x.isnan()
    values, places = x.masked_fill(missing, float("inf")).sort(dim=dim, stable=True)
    rank = ((~missing).sum(dim, keepdim=True) - 1).clamp(min=0) // 2
    values, places = values.gather(dim, rank), places.gather(dim, rank)
    values = values.masked_fill(missing.all(dim, keepdim=True), float("nan"))
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


@decomposition("nanmedian")
def nanmedian(x):
    return nanmedian_of_rows(x.reshape(-1), 0)[0]


@decomposition("mode")
def mode(x, dim=-1, keepdim=False):
    """The least of the most frequent ones, and the last place where it is."""
    rows = x.movedim(dim, -1)
    values = rows.sort(-1)[0]
    often = (values[..., :, None] == values[..., None, :]).sum(-1)
    value = values.gather(-1, often.argmax(-1, keepdim=True))
    numbers = torch.arange(rows.shape[-1], device=x.device)
    place = torch.where(rows == value, numbers, -1).amax(-1, keepdim=True)
    value, place = value.movedim(-1, dim), place.movedim(-1, dim)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


@decomposition("searchsorted.Tensor")
def searchsorted(ordered, values, *, out_int32=False, right=False, side=None, sorter=None):
    """How many elements are before each value."""
    if sorter is not None:
        ordered = ordered.gather(-1, sorter)
    ordered = ordered.unsqueeze(-2)
    after = values.unsqueeze(-1)
    before = ordered <= after if right or side == "right" else ordered < after
    return before.sum(-1, dtype=torch.int32 if out_int32 else torch.long)


@decomposition("searchsorted.Scalar")
def searchsorted_number(ordered, value, **options):
    value = torch.full((1,), value, dtype=torch.promote_types(ordered.dtype, torch.float32), device=ordered.device)
    return searchsorted(ordered, value, **options).reshape(())


@decomposition("bucketize.Tensor")
def bucketize(x, limits, *, out_int32=False, right=False):
    return searchsorted(limits, x, out_int32=out_int32, right=right)
