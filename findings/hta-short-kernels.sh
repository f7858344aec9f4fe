#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# HolisticTraceAnalysis 0.5.0 on a valid trace of PyTorch whose kernels last about a microsecond, as decoding makes them.
#
# The begin of every event is rounded up and its end down to whole microseconds before anything is added up. A kernel that lies within
# one microsecond has a length of -1 us, and one of 2.9 us has 1. Such intervals do not unite: a GPU that computes for 95% of the time
# seems to compute for none of it, and the table of kernels has a negative sum.
# The log says that times are rounded, not what that does. HTA_DISABLE_NS_ROUNDING=1 gives the right numbers.
# (Where all kernels are so short, get_temporal_breakdown stops with an AssertionError.)
#
# Seen (1000 kernels of 0.9 us and 1000 of 2.9 us in 4 ms):
#   rounded:      compute 0.0%, gemv -1000.0 us in all
#   not rounded:  compute 95.0%, gemv 900.0 us in all
#
# facebookresearch/HolisticTraceAnalysis issue 317 and pull request 342 are of the negative mean.
# Led to: times of Kineto are read digit by digit into whole ns (tests/traces/kineto_numbers_test.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
# Without the notebooks that the package asks for and does not import.
python3 -m pip install --quiet --no-compile --no-deps --target "$scratch/packages" HolisticTraceAnalysis==0.5.0 pandas==3.1.1 numpy==2.4.6 \
  networkx==3.6.1 plotly==7.1.0 narwhals==2.29.0 psutil==7.2.2 PyYAML==6.0.4 python-dateutil==4.0.0
cat > "$scratch/breakdown.py" <<'END'
import json
import os
import sys

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
events = []
for step in range(2):
    begin = step * 2000.0
    events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 9, "tid": 100, "ts": begin, "dur": 2000.0, "args": {}})
    for launch in range(1000):
        correlation = 1 + step * 1000 + launch
        name, start, length = ("gemv", 0.05, 0.9) if launch % 2 == 0 else ("gemm", 1.05, 2.9)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 100,
                       "ts": begin + launch, "dur": 0.4, "args": {"correlation": correlation}})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": begin + 4 * (launch // 2) + start, "dur": length,
                       "args": {"device": 0, "stream": 7, "correlation": correlation}})
trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "baseTimeNanoseconds": 0, "displayTimeUnit": "ms",
         "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceEvents": events}
with open(f"{folder}/rank0.json", "w", encoding="utf-8") as file:
    json.dump(trace, file)

from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)
share = analysis.get_temporal_breakdown(visualize=False)["compute_time_pctg"].iloc[0]
kernels = analysis.get_gpu_kernel_breakdown(visualize=False)[1].set_index("name")["sum (us)"]
print(f"compute {share:.1f}%, gemv {kernels['gemv']:.1f} us in all")
END
rounded=$(PYTHONPATH="$scratch/packages" python3 "$scratch/breakdown.py" "$scratch/trace" | tail -1)
exact=$(PYTHONPATH="$scratch/packages" HTA_DISABLE_NS_ROUNDING=1 python3 "$scratch/breakdown.py" "$scratch/trace" | tail -1)
echo "rounded:      $rounded"
echo "not rounded:  $exact"
[ "$rounded" = "compute 0.0%, gemv -1000.0 us in all" ]
[ "$exact" = "compute 95.0%, gemv 900.0 us in all" ]
