# SPDX-License-Identifier: Apache-2.0
"""What runs along an axis, in steps that double (Hillis and Steele, 1986)."""

import torch
from torch.nn.functional import pad

from lanescope.torch.decomposed import decomposition


def _later(x, dim, shift, neutral):
    """Every element `shift` places further; the first ones are `neutral`."""
    before = [0, 0] * (x.dim() - dim - 1) + [shift, 0]
    return pad(x.narrow(dim, 0, x.shape[dim] - shift), before, value=neutral)


def _shifts(x, dim):
    shift = 1
    while shift < x.shape[dim]:
        yield shift
        shift *= 2


@decomposition("logcumsumexp")
def logcumsumexp(x, dim):
    if x.dim() == 0:
        return x.clone()
    dim %= x.dim()
    for shift in _shifts(x, dim):
        other = _later(x, dim, shift, float("-inf"))
        most, least = torch.maximum(x, other), torch.minimum(x, other)
        x = torch.where(least == most, most + torch.where(most.isinf(), 0.0, 0.6931471805599453),
                        most + (least - most).exp().log1p())
    return x


def _extremes(x, dim, is_next, neutral):
    places = torch.zeros_like(x, dtype=torch.long)
    if x.dim() == 0:
        return x.clone(), places
    dim %= x.dim()
    shape = [1] * x.dim()
    shape[dim] = x.shape[dim]
    places = places + torch.arange(x.shape[dim], device=x.device).reshape(shape)
    for shift in _shifts(x, dim):
        others, other_places = _later(x, dim, shift, neutral), _later(places, dim, shift, 0)
        own = is_next(x, others)
        x, places = torch.where(own, x, others), torch.where(own, places, other_places)
    return x, places


def _limit(dtype, least):
    if dtype.is_floating_point:
        return float("-inf" if least else "inf")
    limits = torch.iinfo(dtype)
    return limits.min if least else limits.max


@decomposition("cummax")
def cummax(x, dim):
    return _extremes(x, dim, torch.ge, _limit(x.dtype, True))


@decomposition("cummin")
def cummin(x, dim):
    return _extremes(x, dim, torch.le, _limit(x.dtype, False))
