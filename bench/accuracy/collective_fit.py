# SPDX-License-Identifier: Apache-2.0
"""Fits the law of collectives within a node: collective_fit.py ROWS.csv > core/machine/collectives.tsv. Needs numpy and scipy.

Law, of x bytes that pass a GPU's link, among n GPUs:

    T = min over NCCL's protocols of (latency(n) + x * share / rate(n))

The latencies of LL and LL128 are base + hop * (n - 1), with one base and hop for a kind of collective; that of Simple and the rates
of LL128 and Simple are one for each n; LL has one rate. `share` is 1 but for sums of 8-bit integers. GPUs of one NVLink generation
share a law.
"""

from __future__ import annotations

import csv
import math
import sys

import numpy
from scipy.optimize import least_squares

LAW_OF = {
    "A100-SXM-80GB": "A100-SXM-80GB", "H100-SXM": "H100-SXM", "H200-SXM": "H100-SXM", "B200-SXM": "B200-SXM", "B300-SXM": "B200-SXM",
    "GB200": "B200-SXM", "GB300": "B200-SXM", "L40S": "L40S", "RTX-PRO-6000": "RTX-PRO-6000",
}
KINDS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
REDUCING = {"all_reduce", "reduce_scatter"}
COUNTS = numpy.array([2, 4, 8])
LEAST_BYTES = 256
LARGE_BYTES = 16 << 20
LARGE_WEIGHT = 3.0  # their goal is a third of the small ones'
STARTS = 25


def passed(kind: str, n: int) -> float:
    """How often each byte passes a GPU's link."""
    return (n - 1) / n * (2 if kind == "all_reduce" else 1)


class Rows:
    """The rows of a law and kind: GPUs, kilobytes that pass a link, microseconds."""

    def __init__(self, rows: list[dict[str, str]], kind: str):
        self.n = numpy.array([int(row["gpus"]) for row in rows])
        self.bytes = numpy.array([float(row["bytes"]) for row in rows])
        self.us = numpy.array([float(row["us"]) for row in rows])
        self.kilobytes = self.bytes * passed(kind, self.n) / 1e3
        self.is_byte_sum = numpy.array([row["dtype"] == "int8" and kind in REDUCING for row in rows])
        self.count = numpy.searchsorted(COUNTS, self.n)

    def at(self, n: int, size: float) -> numpy.ndarray:
        return self.us[(self.n == n) & (self.bytes == size)]


class Law:
    """Constants by count: microseconds, GB/s, a ratio."""

    def __init__(self, x: numpy.ndarray):
        value = numpy.exp(x)
        hops = COUNTS - 1
        self.ll_us, self.ll_rate = value[0] + value[1] * hops, numpy.full(3, value[2])
        self.ll128_us, self.ll128_rate = value[3] + value[4] * hops, value[5:8]
        self.simple_us, self.simple_rate = value[8:11], value[11:14]
        self.byte_sums = value[14:17]

    def times(self, rows: Rows) -> numpy.ndarray:
        share = numpy.where(rows.is_byte_sum, self.byte_sums[rows.count], 1.0)
        lines = [
            self.ll_us[rows.count] + rows.kilobytes / self.ll_rate[rows.count],
            self.ll128_us[rows.count] + rows.kilobytes * share / self.ll128_rate[rows.count],
            self.simple_us[rows.count] + rows.kilobytes * share / self.simple_rate[rows.count],
        ]
        return numpy.minimum.reduce(lines)


def start(rows: Rows, random: numpy.random.Generator) -> numpy.ndarray:
    least, most = rows.bytes.min(), rows.bytes.max()
    small = [numpy.median(rows.at(n, least)) for n in COUNTS]
    largest = [numpy.median(rows.kilobytes[(rows.n == n) & (rows.bytes == most)]) / numpy.median(rows.at(n, most)) for n in COUNTS]
    rate = numpy.log(largest)
    hop = max(0.05, (small[2] - small[0]) / 6)
    base = max(1.0, small[0] - hop)
    ll128 = rate - random.uniform(0.1, 1.5)
    return numpy.concatenate([
        [math.log(base), math.log(hop), rate.mean() - random.uniform(1, 3)],
        [math.log(base * random.uniform(1, 2.5)), math.log(hop * random.uniform(1, 2.5))], ll128,
        [math.log(us * random.uniform(1.3, 4)) for us in small], rate + 0.03, [0.0, 0.0, 0.0],
    ])


def fit(rows: Rows) -> Law:
    random = numpy.random.default_rng(1)
    weight = numpy.where(rows.bytes > LARGE_BYTES, LARGE_WEIGHT, 1.0)
    best = None
    for _ in range(STARTS):
        begin = start(rows, random)

        def residuals(x: numpy.ndarray) -> numpy.ndarray:
            # The second term holds constants that no row sees to plausible values.
            return numpy.concatenate([weight * numpy.log(Law(x).times(rows) / rows.us), 0.02 * (x - begin)])

        found = least_squares(residuals, begin, loss="soft_l1", f_scale=0.08, max_nfev=200)
        if best is None or found.cost < best.cost:
            best = found
    return Law(best.x)


def spread(law: Law, rows: Rows, chosen: numpy.ndarray) -> float:
    errors = numpy.log(rows.us / law.times(rows))[chosen]
    return float(numpy.sqrt(numpy.mean(errors**2)))


def main() -> None:
    with open(sys.argv[1], newline="") as file:
        table = [row for row in csv.DictReader(file) if row["gpu"] in LAW_OF and int(row["bytes"]) >= LEAST_BYTES]
    columns = ["law", "kind", "gpus", "ll_us", "ll_rate", "ll128_us", "ll128_rate", "simple_us", "simple_rate", "byte_sums", "spread",
               "large_spread"]
    print("# Collectives within a node: microseconds and GB/s by NCCL's protocols, fitted by bench/accuracy/collective_fit.py to")
    print("# measurements of ai-dynamo/aiconfigurator (Apache-2.0, commit 095f58a, NCCL 2.23 to 2.29, nccl-tests, one process).")
    print("# " + "\t".join(columns))
    for name in dict.fromkeys(LAW_OF.values()):
        for kind in KINDS:
            rows = Rows([row for row in table if LAW_OF[row["gpu"]] == name and row["op"] == kind], kind)
            law = fit(rows)
            error = abs(law.times(rows) / rows.us - 1)
            for i, n in enumerate(COUNTS):
                constants = [law.ll_us, law.ll_rate, law.ll128_us, law.ll128_rate, law.simple_us, law.simple_rate, law.byte_sums]
                here, large = rows.n == n, rows.bytes > LARGE_BYTES
                spreads = [spread(law, rows, here & ~large), spread(law, rows, here & large)]
                print(name, kind.replace("_", "-"), n, *[f"{c[i]:.4g}" for c in constants], *[f"{s:.2g}" for s in spreads], sep="\t", flush=True)
                print(f"{name} {kind} {n}: mean error {error[here].mean():.1%}, of large {error[here & large].mean():.1%}", file=sys.stderr)


if __name__ == "__main__":
    main()
