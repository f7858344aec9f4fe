# SPDX-License-Identifier: Apache-2.0
"""Checks of a model whether its numbers are finite, which a trace without numbers cannot answer."""

import math

import torch
from torch.overrides import TorchFunctionMode

_TESTS = {"isfinite": True, "isinf": False, "isnan": False}  # what is true of numbers that are finite
_ALL = {"all": True, "any": False}


def _gaussian_nll(x, target, var, full=False, eps=1e-6, reduction="mean"):
    """Without PyTorch's look for negative variances, which count as `eps`."""
    if not isinstance(var, torch.Tensor):
        var = torch.full_like(x, var)
    elif var.shape != x.shape and var.shape == x.shape[:-1]:
        var = var.unsqueeze(-1)
    var = var + (var.clamp(min=eps) - var).detach()  # the gradient goes past the limit
    losses = 0.5 * (var.log() + (x - target) ** 2 / var) + (0.5 * math.log(2 * math.pi) if full else 0)
    return {"none": lambda: losses, "mean": losses.mean, "sum": losses.sum}[reduction]()


_UNCHECKED = {torch.nn.functional.gaussian_nll_loss: _gaussian_nll}


class FiniteChecks(TorchFunctionMode):
    """`if not torch.isfinite(x).all():` and its like go on as where all numbers are finite. `asked`: whether one was met; `failed`:
    the name of the function that failed last."""

    def __init__(self):
        super().__init__()
        self.asked, self.failed = False, ""
        self._known = {}  # by id of a tensor: the tensor, and what all of it is

    def __torch_function__(self, func, types, args=(), kwargs=None):
        func = _UNCHECKED.get(func, func)
        name = getattr(func, "__name__", "")
        known = self._known.get(id(args[0]), (None, None))[1] if args else None
        if name == "__bool__" and known is not None:
            self.asked = True
            return known
        try:
            made = func(*args, **(kwargs or {}))
        except Exception:
            self.failed = name
            raise
        answer = _TESTS.get(name)
        if known is not None and _ALL.get(name) == known:
            answer = known
        if answer is not None and isinstance(made, torch.Tensor):
            self._known[id(made)] = made, answer
        return made
