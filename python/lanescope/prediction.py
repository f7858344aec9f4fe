# SPDX-License-Identifier: Apache-2.0
"""What steps would take on a machine, without running them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import Any

from lanescope import _core
from lanescope.executors import SweepElsewhere
from lanescope.graph import as_graph
from lanescope.machine import as_machine
from lanescope.placement import names_of, placed


def costs_text(costs: Any) -> str:
    """A cost table as JSON: of a file, of its content, or none."""
    if costs is None:
        return ""
    if isinstance(costs, Mapping):
        return json.dumps(costs)
    if hasattr(costs, "to_json"):
        return costs.to_json()
    with open(costs, encoding="utf-8") as file:
        return file.read()


class Predictor:
    """A machine with the costs that predictions on it go by.

    costs    a cost file (docs/reference/cost-model.md), its content, or None: the machine file's rates, uncalibrated
    changes  to the machine, as of `simulate --set`: "link.bandwidth=10GB/s", "GPU:1.speed=0.5", ...
    """

    def __init__(self, machine: Any = None, costs: Any = None, changes: Iterable[str] = ()):
        self._machine, self._costs, self._changes = as_machine(machine), costs_text(costs), list(changes)
        self._core = _core.Predictor(self._machine._core, self._costs, self._changes)

    @property
    def origin(self) -> str:
        """ "calibrated on run 1 (...)", or "uncalibrated"."""
        return self._core.origin

    def __reduce__(self):
        return _predictor_of, (self._machine, self._costs, self._changes)

    def simulate(self, graph: Any, strategy: Any = "annotated", *, ablate: bool = False,
                 trace: str | os.PathLike[str] | None = None, steps: int = 1,
                 fusion: bool | None = None) -> Prediction:
        """Predicts a step. `trace`: the trace file to append `steps` such steps to, as a run."""
        placement = placed(self._core, as_graph(graph, self._machine, fusion), strategy)
        return Prediction(json.loads(self._core.simulate(placement, ablate, os.fspath(trace or ""), steps)))

    def sweep(self, graph: Any, strategies: Iterable[Any], low: float, high: float, points: int = 25, *,
              executor: Executor | None = None) -> Sweep:
        """Step times over a range of bandwidths (bytes a second) of the links between GPUs."""
        graph, strategies = as_graph(graph, self._machine), list(strategies)
        placements = [placed(self._core, graph, each) for each in strategies]
        rows = list(zip(names_of(strategies), placements))
        elsewhere = None
        if executor is not None:
            elsewhere = SweepElsewhere(executor, self, graph, strategies, (low, high, points))
        return Sweep(json.loads(self._core.sweep(rows, low, high, points, elsewhere)))

    def __repr__(self) -> str:
        return f"<lanescope.Predictor {self._machine.name}, {self.origin}>"


def _predictor_of(machine, costs, changes):
    return Predictor(machine, json.loads(costs) if costs else None, changes)


def as_predictor(machine: Any, costs: Any = None) -> Predictor:
    return machine if isinstance(machine, Predictor) else Predictor(machine, costs)


class Report(Mapping[str, Any]):
    """A result: the mapping that the command line prints with --json. The keys are in docs/reference/cli.md."""

    def __init__(self, content: dict[str, Any]):
        self._content = content

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __iter__(self):
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def to_dict(self) -> dict[str, Any]:
        return self._content


class Prediction(Report):
    """What `lanescope simulate --json` prints."""

    @property
    def step_ns(self) -> int:
        return self["step_ns"]["value"]

    def __repr__(self) -> str:
        step = self["step_ns"]
        return f"<lanescope.Prediction {step['value'] / 1e6:.3f} ms ({step['low'] / 1e6:.3f} to {step['high'] / 1e6:.3f})>"


class Sweep(Report):
    """Curves of step times over bandwidths, and where they cross."""

    def __repr__(self) -> str:
        return f"<lanescope.Sweep of {', '.join(curve['name'] for curve in self['curves'])}>"


def simulate(graph: Any, machine: Any = None, strategy: Any = "annotated", *, costs: Any = None,
             changes: Iterable[str] = (), ablate: bool = False, trace: str | os.PathLike[str] | None = None,
             steps: int = 1, fusion: bool | None = None) -> Prediction:
    """Predicts a step without running it. See `Predictor`, which keeps what several predictions share.

    fusion  whether nodes that can share a launch do; None: as the graph says
    """
    return Predictor(machine, costs, changes).simulate(graph, strategy, ablate=ablate, trace=trace, steps=steps,
                                                       fusion=fusion)


def sweep(graph: Any, machine: Any, strategies: Iterable[Any], low: float, high: float, points: int = 25, *,
          costs: Any = None, executor: Executor | None = None) -> Sweep:
    """Step times over a range of bandwidths (bytes a second) of the links between GPUs.

    executor  any concurrent.futures.Executor, mpi4py's or Dask's among them, that computes the points.
    """
    return as_predictor(machine, costs).sweep(graph, strategies, low, high, points, executor=executor)
