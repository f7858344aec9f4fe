#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, torch.distributed with Gloo, torch.profiler.
#
# A reduce-scatter of Gloo is an all-reduce of the whole input, of which each rank keeps its part: twice the bytes on the wire.
# The profile of a rehearsal of FSDP on processors says "gloo:all_reduce" of the whole size, on a thread of Gloo, as a range that
# the user might have opened (category user_annotation); no event is a reduce-scatter but the call that issues it.
# CommDebugMode, which looks at calls, counts one reduce-scatter.
# A plan made from such a trace has the wrong collective and the wrong size.
#
# Seen:
#   calls counted by CommDebugMode: {'_reduce_scatter_base_': 1}
#   ranges of Gloo in the profile:  [('gloo:all_reduce', 'user_annotation', [[65536]])]
#   the calling thread's ops:       ['c10d::_reduce_scatter_base_']
#
# pytorch/pytorch pull request 118911 introduced it; the documentation's table of backends lists reduce_scatter as supported.
# Concerns whoever takes a trace of Gloo for that of a cluster; Lanescope looks for collectives among NCCL's kernels alone
# (traces/read/collectives.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6
cat > "$scratch/ranks.py" <<'END'
import json
import sys
import torch
import torch.distributed as distributed
import torch.multiprocessing as processes
from torch.distributed.tensor.debug import CommDebugMode
from torch.profiler import ProfilerActivity, profile

RANKS, ELEMENTS = 4, 1 << 14


def work(rank, folder):
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    part, whole = torch.empty(ELEMENTS), torch.ones(RANKS * ELEMENTS)
    with CommDebugMode() as calls:
        distributed.reduce_scatter_tensor(part, whole)
    counted = {str(call).split(".")[-1]: count for call, count in calls.get_comm_counts().items()}
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        distributed.reduce_scatter_tensor(part, whole)
    if rank == 0:
        profiler.export_chrome_trace(f"{folder}/trace.json")
        with open(f"{folder}/trace.json", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        ranges = [(e["name"], e["cat"], e["args"]["Input Dims"]) for e in events if e["name"].startswith("gloo:")]
        issued = [e["name"] for e in events if e["name"].startswith("c10d::")]
        print(f"calls counted by CommDebugMode: {counted}")
        print(f"ranges of Gloo in the profile:  {ranges}")
        print(f"the calling thread's ops:       {issued}")
        assert counted == {"_reduce_scatter_base_": 1} and issued == ["c10d::_reduce_scatter_base_"]
        assert ranges == [("gloo:all_reduce", "user_annotation", [[RANKS * ELEMENTS]])], "Gloo does otherwise now"
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    processes.spawn(work, (sys.argv[1],), RANKS)
END
PYTHONPATH="$scratch/packages" python3 -W ignore "$scratch/ranks.py" "$scratch"
