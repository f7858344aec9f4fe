#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# HolisticTraceAnalysis 0.5.0 on a valid trace of PyTorch whose kernels are Triton's or those of a CUDA graph.
#
# Launches are known by a list of names, and cuLaunchKernelEx, by which Triton launches, is in none, no more than cudaGraphLaunch.
# The length of a stream's queue is 0 all the while, and statistics of launches leave the kernels out, without a word.
# cuLaunchKernel is in one list and not in the other, so the two analyses speak of different kernels.
# A compiled model seems never to run ahead of its GPU, which is what the analysis is asked for.
#
# Seen (ten kernels launched within 30 us, the first runs at 100 us):
#   cudaLaunchKernel:   longest queue 10, launches in the statistics 10
#   cudaLaunchKernelExC: longest queue 10, launches in the statistics 10
#   cuLaunchKernel:     longest queue 10, launches in the statistics 0
#   cuLaunchKernelEx:   longest queue 0, launches in the statistics 0
#   cudaGraphLaunch:    longest queue 0, launches in the statistics 0
#
# Led to nothing new: a launch is found by its kernel's correlation, whatever it is called (traces/read/launch_links.cpp).
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


def analysis(launch):
    folder = f"{sys.argv[1]}/{launch}"
    os.makedirs(folder)
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 9, "tid": 100, "ts": 0, "dur": 1000, "args": {}}]
    category = "cuda_driver" if launch.startswith("cuL") else "cuda_runtime"
    for kernel in range(10):
        correlation = {"correlation": 1 if launch == "cudaGraphLaunch" else 1 + kernel}
        if kernel == 0 or launch != "cudaGraphLaunch":
            events.append({"ph": "X", "cat": category, "name": launch, "pid": 9, "tid": 100, "ts": 10 + 3 * kernel, "dur": 2, "args": correlation})
        events.append({"ph": "X", "cat": "kernel", "name": "triton_poi_fused_add", "pid": 0, "tid": 7, "ts": 100 + 20 * kernel, "dur": 15,
                       "args": {"device": 0, "stream": 7, **correlation}})
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "baseTimeNanoseconds": 0,
             "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceEvents": events}
    with open(f"{folder}/rank0.json", "w", encoding="utf-8") as file:
        json.dump(trace, file)
    of_trace = TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)
    lengths = of_trace.get_queue_length_time_series().get(0)
    return 0 if lengths is None else int(lengths["queue_length"].max()), len(of_trace.get_cuda_kernel_launch_stats(visualize=False)[0])


seen = {launch: analysis(launch) for launch in ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaGraphLaunch")}
for launch, (queue, launches) in seen.items():
    print(f"{launch + ':':19} longest queue {queue}, launches in the statistics {launches}")
assert list(seen.values()) == [(10, 10), (10, 10), (10, 0), (0, 0), (0, 0)], "other launches are known now"
END
