# SPDX-License-Identifier: Apache-2.0
"""The placement with the shortest predicted step."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import Any

from lanescope.executors import SearchElsewhere
from lanescope.graph import as_graph, log
from lanescope.placement import Placement
from lanescope.prediction import Report, as_predictor


class SearchResult(Report):
    """What `lanescope search --json` prints."""

    @property
    def placement(self) -> Placement:
        """The best that was found."""
        best, maps = self["best"], self.get("modules")
        found = Placement(best["placement"]["nodes"], best["strategy"])
        if maps is not None:
            found.by_modules = Placement(maps["placement"]["nodes"], "modules")
            found.by_cuts = Placement(maps["split"]["placement"]["nodes"], "modules") if maps["split"] else None
        return found

    @property
    def step_ns(self) -> int:
        return self["best"]["step_ns"]

    def __repr__(self) -> str:
        best = self["best"]
        return f"<lanescope.SearchResult {best['step_ns'] / 1e6:.3f} ms by {best['strategy']}>"


def search(graph: Any, machine: Any = None, *, costs: Any = None, start: Iterable[str] = (), budget_s: float = 60,
           rounds: int = 40, restarts: int = 1, seed: int = 1, threads: int = 0, keep: int = 3,
           executor: Executor | None = None, note: Callable[[str], None] = log.info,
           no_split: Iterable[str] = ()) -> SearchResult:
    """Looks for the placement with the shortest predicted step.

    start     strategies to start from; none: all that have names
    budget_s  seconds to search for at most
    restarts  times the chains of a round
    seed      same seed, same answer, where the budget ends nothing, however many threads or tasks there are
    threads   0: as many as there are cores
    no_split  of what `lanescope.torch.export` returned: classes whose modules stay whole in the best map of modules,
              which is looked for, too ("modules" of the result), and which `device_map` makes of the placement
    executor  any concurrent.futures.Executor, mpi4py's or Dask's among them, that runs the chains of a round
    """
    predictor = as_predictor(machine, costs)
    modules = graph.modules_json() if hasattr(graph, "modules_json") else ""
    graph = as_graph(graph, predictor._machine)
    elsewhere = SearchElsewhere(executor, predictor, graph, seed, restarts) if executor is not None else None
    return SearchResult(json.loads(predictor._core.search(
        graph._core, list(start), float(budget_s), rounds, restarts, seed, threads or os.cpu_count() or 1, keep, elsewhere,
        note, modules, set(no_split))))
