# SPDX-License-Identifier: Apache-2.0
"""Functions of single elements, and products of three tensors."""

import math

import torch

from lanescope.torch.decomposed import decomposition


@decomposition("exp2")
def exp2(x):
    return (x * math.log(2)).exp()


@decomposition("log2")
def log2(x):
    return x.log() * (1 / math.log(2))


@decomposition("log10")
def log10(x):
    return x.log() * (1 / math.log(10))


@decomposition("logaddexp2")
def logaddexp2(a, b):
    return torch.logaddexp(a * math.log(2), b * math.log(2)) * (1 / math.log(2))


@decomposition("signbit")
def signbit(x):
    return (x < 0) | ((x == 0) & (1 / x < 0)) if x.is_floating_point() else x < 0


@decomposition("round.decimals")
def round_decimals(x, *, decimals):
    scale = 10.0 ** abs(decimals)
    return (x * scale).round() / scale if decimals >= 0 else (x / scale).round() * scale


def _within(x, limit):
    return (x >= -limit) & (x <= limit)


@decomposition("hardshrink_backward", "softshrink_backward")
def shrink_backward(gradient, x, limit):
    return torch.where(_within(x, limit), 0, gradient)


@decomposition("hardshrink")
def hardshrink(x, limit=0.5):
    return torch.where(_within(x, limit), 0, x)


@decomposition("rrelu_with_noise_functional")
def rrelu(x, noise, lower=0.125, upper=1 / 3, training=False, generator=None):
    if training:
        return NotImplemented
    return torch.where(x > 0, x, x * ((lower + upper) / 2)), noise.clone()


@decomposition("addbmm")
def addbmm(x, a, b, *, beta=1, alpha=1):
    made = torch.bmm(a, b).sum(0)
    return made * alpha + x * beta


@decomposition("_trilinear")
def trilinear(a, b, c, expand1, expand2, expand3, sumdim, unroll_dim=1):
    for dim in expand1:
        a = a.unsqueeze(dim)
    for dim in expand2:
        b = b.unsqueeze(dim)
    for dim in expand3:
        c = c.unsqueeze(dim)
    made = a * b * c
    return made.sum(sumdim) if sumdim else made


@decomposition("hamming_window.periodic_alpha_beta")
def hamming_window(size, periodic, alpha, beta, **options):
    options = {key: options.get(key) for key in ("dtype", "device")}
    numbers = torch.arange(size, **options)
    return alpha - beta * (numbers * (2 * math.pi / (size if periodic else max(size - 1, 1)))).cos()


@decomposition("hamming_window")
def hamming_window_of(size, **options):
    return hamming_window(size, True, 0.54, 0.46, **options)
