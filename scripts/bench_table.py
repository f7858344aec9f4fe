#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints one table of the repetitions in Google Benchmark's JSON files: bench_table.py FILE..."""

import json
import statistics
import sys

NS_PER_UNIT = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
# Keys of a repetition that are not counters set by the benchmark.
OWN_KEYS = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
            "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", "label",
            "error_occurred", "error_message", "aggregate_name", "aggregate_unit"}


def group_repetitions(report):
    """Repetitions by benchmark name, in the order of first appearance; raises ValueError for a failed one."""
    groups = {}
    for run in report["benchmarks"]:
        if run.get("error_occurred"):
            raise ValueError(f"{run['name']}: {run.get('error_message', 'failed')}")
        if run.get("run_type", "iteration") == "iteration":
            groups.setdefault(run.get("run_name", run["name"]), []).append(run)
    return groups


def format_ns(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def format_count(value):
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g}{prefix}"
    return f"{value:.3g}"


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third


def row_of(name, runs):
    """One row: median real time of an iteration, spread (interquartile range over median), best, worst, counters."""
    times = [run["real_time"] * NS_PER_UNIT[run["time_unit"]] for run in runs]
    median = statistics.median(times)
    first, third = quartiles(times)
    spread = (third - first) / median if median > 0 else 0.0
    counters = {key: statistics.median(run[key] for run in runs)
                for key, value in runs[0].items() if key not in OWN_KEYS and isinstance(value, (int, float))}
    extra = "  ".join(f"{key}={format_count(value)}" for key, value in counters.items())
    return [name, format_ns(median), f"{100 * spread:.1f}%", format_ns(min(times)), format_ns(max(times)),
            str(len(runs)), extra]


def render(rows):
    header = ["benchmark", "median", "spread", "min", "max", "n", "counters (medians)"]
    table = [header] + rows
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    lines = []
    for row in table:
        cells = [cell.ljust(width) if i in (0, len(row) - 1) else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def read_rows(path):
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        return [row_of(name, runs) for name, runs in group_repetitions(report).items()]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error!r}") from error


def main(paths):
    rows = [row for path in paths for row in read_rows(path)]
    if not rows:
        sys.exit("bench_table: no results")
    print(render(rows))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.exit(f"bench_table: {error}")
