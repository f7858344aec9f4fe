# SPDX-License-Identifier: Apache-2.0
"""The step of Adafactor (Shazeer and Stern, arXiv:1804.04235), with PyTorch's choices (torch.optim.Adafactor, 2.15), for a
trace: PyTorch's own reads sizes of parameters and updates as numbers, which a trace does not have."""

import math

import torch


def _rms(tensor):
    return tensor.square().mean().sqrt()


def _mean_square(gradient, dim):
    return gradient.square().mean(dim=dim, keepdim=True)


def fresh_state(parameter):
    """Of a parameter with several axes, what is kept of its last two is factored: means of rows and of columns."""
    state = {"step": torch.zeros((), dtype=torch.float32, device=parameter.device)}
    if parameter.dim() < 2:
        return {**state, "variance": torch.zeros_like(parameter)}
    *more, rows, columns = parameter.shape
    return {**state, "row_var": parameter.new_zeros((*more, rows, 1)), "col_var": parameter.new_zeros((*more, 1, columns))}


def adafactor_step(group, parameter, gradient, state):
    """Changes the parameter; returns the state after the step. All tensors may be traced."""
    eps1, eps2 = group["eps"]
    eps1 = torch.finfo(parameter.dtype).eps if eps1 is None else eps1
    gradient = -gradient if group["maximize"] else gradient
    step = state["step"] + 1
    newest = step ** group["beta2_decay"]
    rate = _rms(parameter).clamp(min=eps2) * torch.clamp(step.rsqrt(), max=group["lr"])
    if group["weight_decay"]:
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
    kept = {"step": step}
    if parameter.dim() < 2:
        kept["variance"] = variance = torch.lerp(state["variance"], gradient.square(), newest)
    else:
        kept["row_var"] = rows = torch.lerp(state["row_var"], _mean_square(gradient, -1), newest)
        kept["col_var"] = columns = torch.lerp(state["col_var"], _mean_square(gradient, -2), newest)
        variance = rows @ columns / rows.mean(dim=-2, keepdim=True).clamp(min=eps1)
    update = gradient * variance.clamp(min=eps1 * eps1).rsqrt()
    size = torch.clamp(_rms(update) / group["d"], min=1.0) if math.prod(parameter.shape) else 1.0
    parameter.sub_(update * (rate / size))
    return kept
