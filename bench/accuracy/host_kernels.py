#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of sims/cost/host_kernels.cpp: how fast this program's kernels are on one worker of a host.

host_kernels.py TRACE.db...

Reads the cost files that predictions kept in traces of comparisons on virtual devices of one worker. Of every op it
takes the launches within a factor of four of its largest, as far as they are large at all, and prints the median of
their rates: operations or bytes in a ns.
"""
import collections
import json
import sqlite3
import statistics
import sys

LARGE_BYTES = 512 << 10
LARGE_FLOPS = 2_000_000
NEAR_LARGEST = 4
FLOPS_PER_BYTE = 4  # more is computing, as in sims/engine/effect_constants.h


def launches(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for (costs,) in connection.execute("SELECT costs FROM LANESCOPE_COST_MODEL"):
        for launch in json.loads(costs)["launches"]:
            if launch["device"] in ("host 1 worker", "virtual 1 worker"):
                yield launch


def main(paths):
    by_op = collections.defaultdict(list)  # op: (computes, operations or bytes, rate)
    for path in paths:
        for launch in launches(path):
            flops, moved, ns = (launch[key] for key in ("flops", "bytes", "ns"))
            computes = flops >= FLOPS_PER_BYTE * moved
            work = flops if computes else moved
            renames = launch["op"] == "Assign"  # moves a pointer
            if ns > 0 and work >= (LARGE_FLOPS if computes else LARGE_BYTES) and not renames:
                by_op[launch["op"]].append((computes, work, work / ns))
    for op, found in sorted(by_op.items()):
        computes, largest, _ = max(found, key=lambda one: one[1])
        rate = statistics.median(
            rate for kind, work, rate in found if kind == computes and NEAR_LARGEST * work >= largest
        )
        print(f'    {{"{op}", {str(computes).lower()}, {rate:.3g}}},')


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
