#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, torch.profiler with with_flops=True.
#
# FLOPs of the profiler follow other rules than those of FlopCounterMode in the same package:
# * A convolution with padding="same" has none, since the profiler reads padding as a list of numbers. A line on standard error is all.
# * An element-wise op counts the elements of its first operand, not of its result: [1, 64] * [64, 1] counts 64, and the operands
#   turned round another number where their sizes differ.
# * A sum, a tanh and an attention have none at all.
#
# Seen:
#   padding=1                       589824
#   padding='same'                       0
#   [8] * [64, 8]                        8
#   [64, 8] * [8]                      512
#   tanh of [64, 8]                      0
#   attention                            0
#
# Led to: a calibration takes times from a profile and work from the graph (python/lanescope/torch/calibration.py).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 -W ignore - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile


def flops(work):
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True) as profiler:
        work()
    return sum(event.flops or 0 for event in profiler.key_averages())


images, filters = torch.randn(2, 8, 16, 16), torch.randn(8, 8, 3, 3)
row, table, heads = torch.randn(8), torch.randn(64, 8), torch.randn(1, 2, 64, 16)
counts = {
    "padding=1": flops(lambda: functional.conv2d(images, filters, padding=1)),
    "padding='same'": flops(lambda: functional.conv2d(images, filters, padding="same")),
    "[8] * [64, 8]": flops(lambda: row * table),
    "[64, 8] * [8]": flops(lambda: table * row),
    "tanh of [64, 8]": flops(lambda: table.tanh()),
    "attention": flops(lambda: functional.scaled_dot_product_attention(heads, heads, heads)),
}
for name, counted in counts.items():
    print(f"{name:28} {counted:9}")
assert list(counts.values()) == [589824, 0, 8, 512, 0, 0], "the profiler counts otherwise now"
END
grep --quiet 'Failed to compute flops for op aten::conv2d' "$scratch/errors"
