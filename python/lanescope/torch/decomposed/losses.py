# SPDX-License-Identifier: Apache-2.0
"""Losses of margins between classes, and their gradients."""

import torch

from lanescope.torch.decomposed import decomposition


def _rows(x, target):
    return (x, target) if x.dim() == 2 else (x.reshape(1, -1), target.reshape(1, *target.shape[x.dim() - 1:]))


def _is_class(x, target):
    return torch.arange(x.shape[1], device=x.device) == target.reshape(-1, 1)


def _reduced_gradient(gradient, reduction, rows):
    """Of every row."""
    return (gradient / rows if reduction == 1 else gradient).reshape(-1, 1)


@decomposition("multi_margin_loss_backward")
def multi_margin_loss_backward(gradient, x, target, p, margin, weight=None, reduction=1):
    shape = x.shape
    x, target = _rows(x, target)
    own = _is_class(x, target)
    distance = (margin - x.gather(1, target.reshape(-1, 1)) + x).clamp(min=0).masked_fill(own, 0)
    slope = (distance > 0).to(x.dtype) if p == 1 else 2 * distance
    if weight is not None:
        slope = slope * weight[target].reshape(-1, 1)
    slope = slope / x.shape[1] * _reduced_gradient(gradient, reduction, x.shape[0])
    return torch.where(own, -slope.sum(1, keepdim=True), slope).reshape(shape)


def _labels(target):
    """Those before the first -1 count; the others become 0."""
    counts = (target < 0).long().cumsum(1) == 0
    return counts, torch.where(counts, target, 0)


def _pairs(x, target):
    """By row, label and class: whether the pair counts, and by how much the class is too close to the label."""
    counts, labels = _labels(target)
    classes = torch.arange(x.shape[1], device=x.device)
    is_label = ((labels[:, :, None] == classes) & counts[:, :, None]).any(1)
    distance = 1 - x.gather(1, labels)[:, :, None] + x[:, None, :]
    close = counts[:, :, None] & ~is_label[:, None, :] & (distance > 0)
    return labels, is_label, torch.where(close, distance, 0), close.to(x.dtype)


@decomposition("multilabel_margin_loss_forward")
def multilabel_margin_loss_forward(x, target, reduction):
    scalar = x.dim() < 2
    x, target = _rows(x, target)
    _, is_label, distance, _ = _pairs(x, target)
    losses = distance.sum((1, 2)) / x.shape[1]
    is_label = is_label.to(x.dtype)
    if reduction == 0:
        return (losses.reshape(()) if scalar else losses), is_label
    return (losses.mean() if reduction == 1 else losses.sum()), is_label


@decomposition("multilabel_margin_loss_backward")
def multilabel_margin_loss_backward(gradient, x, target, reduction, is_label):
    shape = x.shape
    x, target = _rows(x, target)
    labels, _, _, close = _pairs(x, target)
    made = close.sum(1).scatter_add(1, labels, -close.sum(2))
    return (made / x.shape[1] * _reduced_gradient(gradient, reduction, x.shape[0])).reshape(shape)
