#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, torch.utils.flop_counter.FlopCounterMode on a processor.
#
# A layer that PyTorch runs as one fused op counts as no work at all, and nothing says so.
# The same encoder layer has 589,824 FLOPs while gradients are recorded and 0 under no_grad, because its fast path is one op.
# An LSTM has 0 and a GRU, which is not fused there, its right number.
# Products that are not mm, addmm, bmm or baddbmm (a matrix times a vector, int8 weights, experts by offsets) have 0, too.
#
# Seen:
#   encoder layer, gradients recorded     589824
#   encoder layer, no_grad                     0
#   LSTM                                       0 of 1966080
#   GRU                                  1474560 of 1474560
#   matrix times vector                        0 of 128
#   int8 matrices                              0 of 65536
#   experts                                    0 of 1048576
#
# One fused op was added by name after pytorch/pytorch issue 195460 (attention on processors); these are like it.
# Concerns python/lanescope/torch/costs.py, which asks the same table for ops that are known by cost alone.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 -W ignore - <<'END'
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def flops(work):
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


encoder = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
words = torch.randn(2, 16, 32)
with torch.no_grad():
    fused = flops(lambda: encoder(words))
sequence = torch.randn(10, 4, 32)
counts = [
    ("encoder layer, gradients recorded", flops(lambda: encoder(words)), None),
    ("encoder layer, no_grad", fused, None),
    ("LSTM", flops(lambda: nn.LSTM(32, 64)(sequence)), 2 * 10 * 4 * 4 * 64 * (32 + 64)),
    ("GRU", flops(lambda: nn.GRU(32, 64)(sequence)), 2 * 10 * 4 * 3 * 64 * (32 + 64)),
    ("matrix times vector", flops(lambda: torch.randn(8, 8) @ torch.randn(8)), 2 * 8 * 8),
    ("int8 matrices", flops(lambda: torch._int_mm(torch.ones(32, 32, dtype=torch.int8), torch.ones(32, 32, dtype=torch.int8))), 2 * 32**3),
    ("experts", flops(lambda: torch._grouped_mm(torch.randn(64, 64).bfloat16(), torch.randn(4, 64, 128).bfloat16(),
                                                offs=torch.tensor([16, 32, 48, 64], dtype=torch.int32))), 2 * 64 * 64 * 128),
]
for name, counted, right in counts:
    print(f"{name:34} {counted:8}" + (f" of {right}" if right else ""))
assert [counted for _, counted, _ in counts] == [589824, 0, 0, 1474560, 0, 0, 0], "FlopCounterMode counts otherwise now"
END
