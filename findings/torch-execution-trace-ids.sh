#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, execution traces (torch.profiler.ExecutionTraceObserver), which Chakra's tools read.
#
# The ids of tensors and storages follow the addresses of the objects, so an id that was given back is given to the next tensor:
# a result of one iteration and a fresh tensor of the next one are the same tensor of the trace.
# Dependencies that are drawn from ids tie iterations together that share nothing, and a table from id to maker keeps the last maker alone.
# The format has no event that says when an id ends.
#
# Seen (three times: x = ones, y = 2 x, both deleted; how many ids is up to the allocator):
#   6 tensors of 6 storages are made; in the trace there are 4 tensors of 4 storages
#   a tensor that two iterations make: True
#
# Concerns whoever feeds such traces to a simulator; Chakra's own format, whose nodes name their dependencies, is what is read here.
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
from torch.profiler import ExecutionTraceObserver


def iteration():
    x = torch.ones(256, 256)
    return x * 2


observer = ExecutionTraceObserver().register_callback(sys.argv[1])
observer.start()
for _ in range(3):
    iteration()
observer.stop()
observer.unregister_callback()
with open(sys.argv[1], encoding="utf-8") as file:
    made = [node["outputs"]["values"][0] for node in json.load(file)["nodes"] if node["name"] in ("aten::ones", "aten::mul")]
tensors, storages = {each[0] for each in made}, {each[1] for each in made}
by_iteration = [{each[0] for each in made[at : at + 2]} for at in (0, 2, 4)]
shared = any(by_iteration[a] & by_iteration[b] for a, b in ((0, 1), (0, 2), (1, 2)))
print(f"{len(made)} tensors of {len(made)} storages are made; in the trace there are {len(tensors)} tensors of {len(storages)} storages")
print(f"a tensor that two iterations make: {shared}")
assert len(made) == 6
assert len(tensors) < 6 and len(storages) < 6 and shared, "ids are given once now"
END
