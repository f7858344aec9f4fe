# SPDX-License-Identifier: Apache-2.0
"""Distances between all rows, as differences of all pairs."""

import math

import torch

from lanescope.torch.decomposed import decomposition


def _norm(difference, p):
    return torch.linalg.vector_norm(difference, p, dim=-1)


def _slope(difference, distance, gradient, p):
    """The gradient of the differences; 0 where rows are equal."""
    gradient, distance = gradient.unsqueeze(-1), distance.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(difference)
    if p == 1:
        return difference.sign() * gradient
    if math.isinf(p):
        return difference.sign() * (difference.abs() == distance) * gradient
    here = distance == 0
    safe = torch.where(here, 1, distance)
    slope = difference * difference.abs().pow(p - 2) if p != 2 else difference
    if p < 2:
        slope = torch.where(difference == 0, 0, slope)
    return torch.where(here, 0, slope / safe.pow(p - 1)) * gradient


@decomposition("_cdist_forward")
def cdist_forward(a, b, p, compute_mode=None):
    return _norm(a.unsqueeze(-2) - b.unsqueeze(-3), p)


@decomposition("_cdist_backward")
def cdist_backward(gradient, a, b, p, distance):
    return _slope(a.unsqueeze(-2) - b.unsqueeze(-3), distance, gradient, p).sum(-2).reshape(a.shape)


def _pairs(x):
    return torch.triu_indices(x.shape[0], x.shape[0], 1, device=x.device).unbind()


@decomposition("_pdist_forward")
def pdist_forward(x, p=2):
    first, second = _pairs(x)
    return _norm(x[first] - x[second], p)


@decomposition("_pdist_backward")
def pdist_backward(gradient, x, p, distance):
    first, second = _pairs(x)
    made = _slope(x[first] - x[second], distance, gradient, p)
    return torch.zeros_like(x).index_add(0, first, made).index_add(0, second, -made)
