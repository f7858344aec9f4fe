# SPDX-License-Identifier: Apache-2.0
"""Fits the law of tokens that go to experts and back: dispatch_fit.py moe_dispatch.csv. Needs numpy and scipy.

Law, of n tokens of b bytes on each GPU, which reach D of the GPUs and N other nodes, with s multiprocessors:

    T = start + doubling * log2(nodes) + max(near, far)
    near = n * (D * (b * byte + copy) + b * token) * (24 / s) ** power
    far = n * N * b / (share * port)

D and N follow from drawing top-k of the experts without repeating; between nodes half of the multiprocessors forward. GPUs of one
NVLink generation share a law; what is between nodes is fitted to two and four nodes of H100, with 20 multiprocessors or more.
Prints the laws as sims/plans/network.cpp has them, and how far they are from what was measured.
"""

from __future__ import annotations

import csv
import sys

import numpy
from scipy.optimize import least_squares

LAWS = {"H100-SXM": ["H100-SXM", "H200-SXM"], "B200-SXM": ["B200-SXM", "B300-SXM"], "GB200": ["GB200", "GB300"]}
WAYS = ["dispatch", "combine"]
IMPLEMENTATION = "DeepEP normal"
GPUS_OF_NODE = 8  # also where the table leaves it blank
PORT = 50e3  # bytes a microsecond of a GPU's network port
BETWEEN = [2, 4]
LEAST_BETWEEN = 20  # multiprocessors
LARGE = 512  # tokens from which on the rate counts
STARTS = [[25, 2, 2000, 2, 0.8], [40, 1, 200, 5, 0.8]]


def reached(places: float, experts: float, top_k: int) -> float:
    own, misses = experts / places, 1.0
    for drawn in range(top_k):
        misses *= max(0.0, experts - own - drawn) / (experts - drawn)
    return places * (1 - misses)


def bytes_of(way: str, hidden: int) -> float:
    """Dispatch in fp8 with a scale for 128 values, combine in bf16."""
    return hidden + 4 * hidden / 128 if way == "dispatch" else 2 * hidden


class Rows:
    def __init__(self, rows: list[dict[str, str]], way: str):
        def column(of):
            return numpy.array([float(of(row)) for row in rows])

        self.tokens = column(lambda row: row["tokens_rank"])
        self.nodes = column(lambda row: row["nodes"])
        self.multiprocessors = column(lambda row: row["sms"])
        self.bytes = column(lambda row: bytes_of(way, int(row["hidden"])))
        self.measured = column(lambda row: row[way + "_us"])
        self.reached = column(
            lambda row: reached(int(row["ranks"] or GPUS_OF_NODE), int(row["experts"]), int(row["topk"])))
        self.others = column(
            lambda row: reached(int(row["nodes"]), int(row["experts"]), int(row["topk"])) * (1 - 1 / int(row["nodes"])))


def predict(rows: Rows, law, doubling: float = 0, share: float = 1):
    start, byte, copy, token, power = law
    working = rows.multiprocessors / numpy.where(rows.nodes > 1, 2, 1)
    of_token = rows.reached * (rows.bytes * byte + copy) + rows.bytes * token
    near = rows.tokens * of_token * 1e-6 * (24 / working) ** power
    far = rows.tokens * rows.others * rows.bytes / (share * PORT)
    return start + doubling * numpy.log2(rows.nodes) + numpy.maximum(near, far)


def fit(residuals, starts):
    """The best of several starts, of positive numbers."""
    fits = [least_squares(lambda x: residuals(numpy.exp(x)), numpy.log(start), loss="soft_l1", f_scale=0.1, bounds=(-8, 12))
            for start in starts]
    return numpy.exp(min(fits, key=lambda each: each.cost).x)


def say(label: str, errors, rows: Rows):
    large = numpy.abs(errors[rows.tokens >= LARGE])
    every = numpy.abs(errors)
    print(f"| {label} | {len(every)} | {numpy.mean(every):.1%} | {numpy.percentile(every, 90):.1%} | {numpy.mean(large):.1%} | "
          f"{numpy.percentile(large, 90):.1%} |")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = [row for row in csv.DictReader(file) if row["implementation"] == IMPLEMENTATION]
    print("| law, way | rows | mean | nine of ten | mean, 512 tokens on | nine of ten |\n|---|---|---|---|---|---|")
    lines = []
    for name, gpus in LAWS.items():
        for way in WAYS:
            rows = Rows([row for row in table if row["gpu"] in gpus and row["nodes"] == "1"], way)
            law = fit(lambda x, rows=rows: numpy.log(predict(rows, x) / rows.measured), STARTS)
            say(f"{name}, {way}", numpy.log(predict(rows, law) / rows.measured), rows)
            lines.append(f"{name} {way}: " + " ".join(f"{x:.4g}" for x in law))
            if name != "H100-SXM":
                continue
            far = [row for row in table if row["gpu"] == name and int(row["sms"]) >= LEAST_BETWEEN]
            between = Rows([row for row in far if int(row["nodes"]) in BETWEEN], way)
            extra = fit(lambda x, law=law, between=between: numpy.log(predict(between, law, *x) / between.measured), [[5, 0.9]])
            lines.append(f"{name} {way}, between nodes: doubling {extra[0]:.3g}, share {extra[1]:.3g}")
            for nodes in ("2", "4", "8"):
                of = Rows([row for row in far if row["nodes"] == nodes], way)
                say(f"{name}, {way}, {nodes} nodes", numpy.log(predict(of, law, *extra) / of.measured), of)
    print("\nstart us, byte ps, copy ps, token byte ps, power", *lines, sep="\n")


if __name__ == "__main__":
    main()
