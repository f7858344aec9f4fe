# SPDX-License-Identifier: Apache-2.0
"""Placements: which device runs each node."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from lanescope import _core
from lanescope.graph import Graph, as_graph


class Placement(Mapping[str, str]):
    """Which device runs each node: a mapping from the node's name to the device's."""

    # Of a search over a model of PyTorch: the best map of its whole modules, and the best that is cut in their order.
    by_modules: Placement | None = None
    by_cuts: Placement | None = None

    def __init__(self, nodes: Mapping[str, Mapping[str, Any]], strategy: str = ""):
        self._nodes, self.strategy = dict(nodes), strategy

    def __getitem__(self, node: str) -> str:
        return self._nodes[node]["device"]

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def to_dict(self) -> dict[str, Any]:
        """The content of a placement file, which `--strategy @FILE` takes."""
        return {"nodes": self._nodes}

    def save(self, path: str | os.PathLike[str]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, indent=1)

    def __repr__(self) -> str:
        used = sorted(set(self.values()))
        return f"<lanescope.Placement {self.strategy}: {len(self)} nodes on {', '.join(used)}>"


def strategy_text(strategy: Any) -> str:
    """The text that the library takes: a name, or the content of a placement file."""
    if isinstance(strategy, str):
        return strategy
    content = strategy.to_dict() if isinstance(strategy, Placement) else {
        "nodes": {node: {"device": device} for node, device in strategy.items()}}
    return json.dumps(content)


def name_of(strategy: Any) -> str:
    """How tables call it."""
    if isinstance(strategy, str):
        return strategy
    return getattr(strategy, "strategy", "") or "placement"


def names_of(strategies: list[Any]) -> list[str]:
    """How one table calls them all: placements of the same name are told apart by numbers."""
    names = [name_of(each) for each in strategies]
    return [name if isinstance(each, str) or names.count(name) == 1 else f"{name} {names[:i + 1].count(name)}"
            for i, (each, name) in enumerate(zip(strategies, names))]


def placed(predictor: _core.Predictor, graph: Graph, strategy: Any, timeout_s: int = 600) -> _core.Placement:
    return predictor.place(graph._core, strategy_text(strategy), timeout_s)


def placement_of(core: _core.Placement, strategy: str) -> Placement:
    return Placement(json.loads(core.to_json())["nodes"], strategy)


def place(graph: Any, machine: Any = None, strategy: Any = "annotated", *, costs: Any = None,
          program_timeout_s: int = 600) -> Placement:
    """Places a graph without running it.

    strategy  a name (`lanescope place --help` lists them), "exec:PROGRAM", "@FILE.json", or a mapping from nodes to
              devices; nodes that it does not name go as in "annotated".
    costs     what strategies that look at times go by, as of `simulate`.
    """
    from lanescope.prediction import as_predictor

    predictor = as_predictor(machine, costs)
    core = placed(predictor._core, as_graph(graph, predictor._machine), strategy, program_timeout_s)
    return placement_of(core, name_of(strategy))
