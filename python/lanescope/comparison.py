# SPDX-License-Identifier: Apache-2.0
"""Placements beside each other: which is faster, and why."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lanescope import _core
from lanescope.graph import as_graph, log
from lanescope.machine import as_machine
from lanescope.placement import names_of, strategy_text
from lanescope.prediction import Report, costs_text

_DRAWN = 8  # runs in a notebook


class Comparison(Report):
    """What `lanescope compare --json` prints. A notebook shows it as a table and timelines."""

    def __init__(self, content: dict[str, Any], trace: str, folder: tempfile.TemporaryDirectory | None):
        super().__init__(content)
        self._trace, self._folder = trace, folder  # a trace that nobody asked for goes with this object

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self["rows"]

    @property
    def verdict(self) -> str:
        """One sentence: who is slower than whom, and why."""
        return self["verdict"]

    def timelines(self, width: int = 900) -> list[str]:
        """A step of each row as an SVG document, all over the same span: measured, else predicted."""
        runs = [row["run"]["measured"] or row["run"]["simulated"] for row in self.rows[:_DRAWN]]
        runs = [run for run in runs if run]
        return [svg for svg in _core.timeline_svgs(self._trace, runs, -1, width) if svg] if runs else []

    def _cells(self) -> list[tuple[str, ...]]:
        cells: list[tuple[str, ...]] = [("Placement", "Measured", "Predicted", "low", "high", "Error")]
        for row in self.rows:
            measured, predicted = row["measured"], row["predicted"]
            step = predicted["step_ns"] if predicted else None
            cells.append((f"{row['graph']} {row['strategy']}", _ms(measured and measured["step_ns"]["median"]),
                          *(_ms(step and step[key]) for key in ("value", "low", "high")),
                          "-" if row["error"] is None else f"{row['error']:+.1%}"))
        return cells

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
        lines = ["  ".join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:]))])
                 for name, *rest in cells]
        return "\n".join([self.verdict, "", *lines])

    def _repr_html_(self) -> str:
        cells = self._cells()
        head, *body = ["".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in line)
                       for tag, line in zip(["th"] + ["td"] * len(self.rows), cells)]
        table = "".join(f"<tr>{line}</tr>" for line in [head, *body])
        return (f"<p>{html.escape(self.verdict)}</p><table>{table}</table>"
                + "".join(f"<div>{svg}</div>" for svg in self.timelines()))

    def __repr__(self) -> str:
        return f"<lanescope.Comparison of {len(self.rows)} rows: {', '.join(row['strategy'] for row in self.rows)}>"


def _ms(ns: float | None) -> str:
    return "-" if ns is None else f"{ns / 1e6:.3f} ms"


def compare(graphs: Any, machine: Any = None, strategies: Iterable[Any] = ("annotated",), *, costs: Any = None,
            run: bool = True, trace: str | os.PathLike[str] | None = None, steps: int = 10, rounds: int = 6,
            repeats: int = 3, warmup: int = 3, ablate: bool = False, seed: int | None = None,
            reference_step_s: float = 0, fusion: bool | None = None, any_algorithm: bool = False,
            note: Callable[[str], None] = log.info) -> Comparison:
    """Runs and simulates placements, and says which is faster and why.

    graphs      a graph, several, or a mapping from the graph to its own strategies
    strategies  of the graphs: names, "@FILE.json", or placements
    costs       to predict with, as of `simulate`, instead of costs calibrated on the first row
    run         False: only simulate
    trace       trace file that all runs are appended to
    fusion      whether nodes that can share a launch do; None: as the graphs say
    any_algorithm  as of a session
    The others are the options of `lanescope compare`.
    """
    machine = as_machine(machine)
    if isinstance(graphs, Mapping):
        pairs = [(as_graph(graph, machine, fusion), list(own)) for graph, own in graphs.items()]
    else:
        several = graphs if isinstance(graphs, (list, tuple)) else [graphs]
        pairs = [(as_graph(graph, machine, fusion), list(strategies)) for graph in several]
    folder = None if trace else tempfile.TemporaryDirectory(prefix="lanescope-")
    path = os.path.join(folder.name, "trace.db") if folder is not None else os.fspath(trace or "")
    rows = [(graph._core, [strategy_text(each) for each in own], names_of(own)) for graph, own in pairs]
    counts = (steps, rounds, repeats, warmup)
    result = json.loads(_core.compare(rows, machine._core, costs_text(costs), path, run, counts, ablate, seed,
                                      int(reference_step_s * 1e9), any_algorithm, note))
    if not trace:
        result["trace"] = None
    return Comparison(result, path, folder)
