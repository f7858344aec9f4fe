# SPDX-License-Identifier: Apache-2.0
"""A trace as tables, and costs from it.

    python samples/python/read_traces.py [TRACE.db]
"""

import pathlib
import sys

import lanescope

SAMPLES = pathlib.Path(__file__).parent.parent


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else SAMPLES / "traces" / "deepconn-two-virtual-gpus.db"
    trace = lanescope.Trace(path)
    for run in trace.runs:
        print(run["run"], run["graph"], run["strategy"], "simulated" if run["simulated"] else "measured")
    kernels = trace.query("kernels")  # to_pandas and to_arrow give the same as their tables
    longest = int(kernels["duration"].argmax())
    print(f"{len(kernels['start'])} kernels; the longest is {kernels['name'][longest]}, "
          f"{kernels['duration'][longest] / 1e6:.3f} ms")
    costs = trace.calibrate(run=1)
    print(f"{len(costs['launches'])} kinds of launches, {costs['calibrated_on']}")


if __name__ == "__main__":
    main()
