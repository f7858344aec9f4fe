#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# HolisticTraceAnalysis 0.5.0 on a valid trace of PyTorch of one process with two GPUs.
#
# A rank is taken for a GPU: kernels of all devices are united as if they were one's, though each event names its own.
# Two GPUs that take turns look like one that is busy twice as long, and two that work at once like one that works alone.
# So the share is right for neither, and a pipeline of two stages in one process, which idles half the time, seems never to idle.
# The table of kernels of the same package adds both up, so the two disagree. Nothing says that there is more than one device.
#
# Seen (in 1000 us each of two GPUs computes for 500 us):
#   one after the other: compute 100.0%, table of kernels 1000.0 us
#   both at once:        compute 500.0 us, table of kernels 1000.0 us
#
# Led to nothing new: lanes are of a device and its stream (traces/import), and shares are those of each device.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
# Without the notebooks that the package asks for and does not import.
python3 -m pip install --quiet --no-compile --no-deps --target "$scratch/packages" HolisticTraceAnalysis==0.5.0 pandas==3.1.1 numpy==2.4.6 \
  networkx==3.6.1 plotly==7.1.0 narwhals==2.29.0 psutil==7.2.2 PyYAML==6.0.4 python-dateutil==4.0.0
PYTHONPATH="$scratch/packages" python3 - "$scratch" 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import json
import os
import sys
from hta.trace_analysis import TraceAnalysis


def analysis(name, starts):
    folder = f"{sys.argv[1]}/{name}"
    os.makedirs(folder)
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 9, "tid": 100, "ts": 0, "dur": 1200, "args": {}}]
    for device, start in enumerate(starts):
        correlation = {"correlation": device + 1}
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 100, "ts": 10 + 10 * device, "dur": 5,
                       "args": correlation})
        events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": device, "tid": 7, "ts": start, "dur": 500,
                       "args": {"device": device, "stream": 7, **correlation}})
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}, {"id": 1, "name": "GPU"}], "baseTimeNanoseconds": 0,
             "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceEvents": events}
    with open(f"{folder}/rank0.json", "w", encoding="utf-8") as file:
        json.dump(trace, file)
    of_trace = TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)
    shares = of_trace.get_temporal_breakdown(visualize=False).iloc[0]
    kernels = of_trace.get_gpu_kernel_breakdown(visualize=False)[1]["sum (us)"].sum()
    return float(shares["compute_time_pctg"]), float(shares["compute_time(us)"]), float(kernels)


turns = analysis("turns", (100, 600))
at_once = analysis("at_once", (100, 100))
print(f"one after the other: compute {turns[0]:.1f}%, table of kernels {turns[2]:.1f} us")
print(f"both at once:        compute {at_once[1]:.1f} us, table of kernels {at_once[2]:.1f} us")
assert turns == (100, 1000, 1000) and at_once[1:] == (500, 1000), "devices are told apart now"
END
