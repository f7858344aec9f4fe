# SPDX-License-Identifier: Apache-2.0
"""ATen ops as other ATen ops, where PyTorch has no such rule or one that ends in ops that no graph has. DECOMPOSED gives by overload
a function that takes what the op takes."""

import torch

DECOMPOSED = {}


def decomposition(*names):
    """`names`: of overloads ("median.dim"); those that this version of PyTorch does not know are left out."""
    def register(function):
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
            if found is not None:
                DECOMPOSED[found] = function
        return function

    return register


from lanescope.torch.decomposed import bags, distances, elements, losses, moves, pooling, scans, statistics  # noqa: E402, F401
