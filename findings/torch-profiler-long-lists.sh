#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, torch.profiler with record_shapes=True, ops that take a list of tensors.
#
# Up to 30 tensors their shapes are in the trace; from 31 on there are none at all, an empty list as if the op had no operands.
# The ops of an optimizer over all parameters (_foreach_add_ and its like), a cat and a stack of many parts so lose their sizes, and bytes
# that are read from traces lack just the ops that move most. Nothing marks the list as cut.
#
# Seen (shapes of the list in "Input Dims"):
#   cat of 30           30
#   cat of 31            0
#   _foreach_add of 30  30
#   _foreach_add of 31   0
#
# Concerns costs by bytes from traces; a calibration here takes them from the graph (python/lanescope/torch/calibration.py).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 -W ignore - "$scratch/trace.json" 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import json
import sys
import torch
from torch.profiler import ProfilerActivity, profile


def shapes(op, work):
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        work()
    profiler.export_chrome_trace(sys.argv[1])
    with open(sys.argv[1], encoding="utf-8") as file:
        (event,) = [event for event in json.load(file)["traceEvents"] if event.get("name") == op]
    return len(event["args"]["Input Dims"][0])


seen = []
for op, work in (("cat", torch.cat), ("_foreach_add", lambda parts: torch._foreach_add(parts, 1.0))):
    for number in (30, 31):
        parts = [torch.zeros(4, 2) for _ in range(number)]
        seen.append(shapes(f"aten::{op}", lambda: work(parts)))
        print(f"{op + ' of ' + str(number):19} {seen[-1]:2}")
assert seen == [30, 0, 30, 0], "lists are recorded otherwise now"
END
