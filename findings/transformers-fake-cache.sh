#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# transformers 5.24.0 with PyTorch 2.15.0, a BEiT whose attention has a table of relative positions.
#
# The table's numbers depend on the size of images alone, and a cache of the process (functools.lru_cache) keeps them.
# A call under FakeTensorMode, which has tensors without content, puts such a tensor into the cache.
# From then on no model of that size can be called in the process, however new it is, until the cache is cleared.
#
# Seen:
#   before:                          Tensor
#   a new model, after a fake call:  AssertionError
#   one for images of another size:  Tensor
#
# Led to: after a trace, caches that hold tensors without content are cleared (python/lanescope/torch/eager.py).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 transformers==5.24.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 -W ignore - <<'END'
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import BeitConfig, BeitForImageClassification


def called(size):
    config = BeitConfig(image_size=size, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                        use_relative_position_bias=True)
    try:
        with torch.no_grad():
            return type(BeitForImageClassification(config).eval()(torch.ones(1, 3, size, size)).logits).__name__
    except AssertionError:
        return "AssertionError"


before = called(16)
with FakeTensorMode():
    called(32)
after, another = called(32), called(48)
print(f"before:                          {before}")
print(f"a new model, after a fake call:  {after}")
print(f"one for images of another size:  {another}")
assert (before, after, another) == ("Tensor", "AssertionError", "Tensor"), "caches keep no fake tensors now"
END
