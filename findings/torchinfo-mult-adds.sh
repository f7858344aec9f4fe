#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torchinfo 1.8.0 with PyTorch 2.15.0, "mult-adds" of a model's summary.
#
# A layer that is no convolution counts its parameters once for each element of the batch: a Linear over a sequence has the same number
# for 16 words and for 16,000, so a transformer has as many times too few as its sequences are long, and its attention has none.
# An Embedding counts its whole table, though it multiplies nothing. A transposed convolution counts by its result and not by its image,
# which is stride squared times too many.
# Convolutions and layers of vectors, by which one would check the tool, are right (with the bias added).
#
# Seen (mult-adds, and products of the definition):
#   Linear, 1 vector             2112 of   2048
#   Linear, 16 words             2112 of  32768
#   encoder layer, 16 words      4320 of 147456
#   Embedding, 16 words         32000 of      0
#   Conv2d                     149504 of 147456
#   ConvTranspose2d, stride 2  313632 of  73728
#
# Concerns whoever holds a plan or a simulation here against such a summary.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6 torchinfo==1.8.0
PYTHONPATH="$scratch/packages" python3 -W ignore - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import torch
from torch import nn
from torchinfo import summary

words = torch.zeros(1, 16, 32)
layer = 4 * 16 * 32 * 32 + 2 * 16 * 16 * 32 + 2 * 16 * 32 * 64
cases = [
    ("Linear, 1 vector", nn.Linear(32, 64), torch.zeros(1, 32), 32 * 64),
    ("Linear, 16 words", nn.Linear(32, 64), words, 16 * 32 * 64),
    ("encoder layer, 16 words", nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), words, layer),
    ("Embedding, 16 words", nn.Embedding(1000, 32), torch.zeros(1, 16, dtype=torch.long), 0),
    ("Conv2d", nn.Conv2d(8, 8, 3, padding=1), torch.zeros(1, 8, 16, 16), 8 * 8 * 9 * 16 * 16),
    ("ConvTranspose2d, stride 2", nn.ConvTranspose2d(8, 4, 3, stride=2, bias=False), torch.zeros(1, 8, 16, 16), 8 * 4 * 9 * 16 * 16),
]
seen = []
for name, module, given, right in cases:
    seen.append(int(summary(module, input_data=given, verbose=0).total_mult_adds))
    print(f"{name:25} {seen[-1]:7} of {right:6}")
assert seen == [2112, 2112, 4320, 32000, 149504, 313632], "torchinfo counts otherwise now"
END
