#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, a model made under FakeTensorMode that copies one of its layers.
#
# FakeTensorMode makes models of any size without memory, and copy.deepcopy of a fake tensor copies its mode, too.
# So each layer of nn.TransformerEncoder, which copies the one that it is given, lies in a mode of its own, and the model cannot be called:
# not even within the mode in which it was made.
# The same layers made one by one share one mode.
#
# Seen (three layers of one width):
#   copied layers:      3 modes, none of them the one that is active; forward: AssertionError: Mixing fake modes NYI
#   layers one by one:  1 mode; forward: (4, 8, 16)
#
# Led to: an export brings a model's fake tensors to one mode (python/lanescope/torch/inputs.py).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 -W ignore - <<'END'
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


def layer():
    return nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)


def tried(model, x):
    try:
        return str(tuple(model(x).shape))
    except AssertionError as problem:
        return "AssertionError: " + str(problem).split(" x.")[0]


with FakeTensorMode() as mode:
    x = torch.zeros(4, 8, 16)
    copied = nn.TransformerEncoder(layer(), 3, enable_nested_tensor=False)
    one_by_one = nn.Sequential(layer(), layer(), layer())
    modes = [{id(each.fake_mode) for each in model.parameters()} for model in (copied, one_by_one)]
    said = [tried(model, x) for model in (copied, one_by_one)]
own = "none of them the one that is active" if id(mode) not in modes[0] else "the active one among them"
print(f"copied layers:      {len(modes[0])} modes, {own}; forward: {said[0]}")
print(f"layers one by one:  {len(modes[1])} mode; forward: {said[1]}")
assert said == ["AssertionError: Mixing fake modes NYI", "(4, 8, 16)"], "copies of fake tensors share a mode now"
END
