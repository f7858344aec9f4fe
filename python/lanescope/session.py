# SPDX-License-Identifier: Apache-2.0
"""Steps that run, on data of yours."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy

from lanescope import _core
from lanescope.graph import as_graph
from lanescope.placement import placed
from lanescope.prediction import as_predictor


class Session:
    """A placed graph on its devices, with its variables, which live as long as the session does.

        with lanescope.Session(graph, machine, trace="t.db") as session:
            for x, y in loader:
                loss = session.step({"input_0": x, "input_1": y})["loss:0"]

    graph, machine, strategy  as of `place`
    trace                     trace file (SQLite) that the steps are appended to, as a run
    seed                      of random ops and generated feeds that have none of their own
    timeout_s                 that one step may take; 0: any
    profile                   what of the GPUs the trace holds: "off", "kernels" or "full"; "auto": kernels where CUPTI
                              can be had, and then no other profiler of this process can start
    fusion                    whether nodes that can share a launch do; None: as the graph says
    any_algorithm             on GPUs: whether convolutions may add in orders that change from run to run

    One thread at a time runs steps, without the interpreter's lock. Any closes it, which ends a step in progress; so
    does the end of the program. A session is of the process that opened it: forks open their own.
    """

    def __init__(self, graph: Any, machine: Any = None, strategy: Any = "annotated", *, costs: Any = None,
                 trace: str | os.PathLike[str] | None = None, seed: int | None = None, timeout_s: float = 0,
                 profile: str = "off", fusion: bool | None = None, any_algorithm: bool = False):
        predictor = as_predictor(machine, costs)
        graph = as_graph(graph, predictor._machine, fusion)
        placement = placed(predictor._core, graph, strategy)
        self._core = _core.Session(graph._core, placement, os.fspath(trace or ""), seed, timeout_s, profile,
                                   any_algorithm)

    def step(self, feeds: Mapping[str, Any] | None = None, *, recorded: bool = True) -> dict[str, numpy.ndarray]:
        """Runs one step and returns its fetches by name.

        feeds     by name: arrays of the dtypes and shapes that the graph's step has. What is left out is fed as the
                  run configuration says.
        recorded  False: a step that warms up, which is neither timed nor in the trace
        """
        return self._core.step(None if feeds is None else dict(feeds), recorded)

    def steps(self, data: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, numpy.ndarray]]:
        """A step for each of what `data` yields."""
        for feeds in data:
            yield self.step(feeds)

    @property
    def step_ns(self) -> numpy.ndarray:
        """Times of the recorded steps; on GPUs of those in which nothing but the step was timed, if there are any."""
        return numpy.array(self._core.step_ns, dtype=numpy.int64)

    @property
    def run(self) -> int:
        """Number of the run in the trace."""
        return self._core.run

    @property
    def oversubscribed(self) -> bool:
        """Once closed: whether the work asked for more cores than there were."""
        return self._core.oversubscribed

    @property
    def timing(self) -> dict[str, Any] | None:
        """Once closed: how commands of GPUs were timed; None where none was.

        commands       by pairs of "events", or by a "profiler"
        pair_ns        that a pair lengthened its step by, which is taken out of what the trace says
        untimed_steps  in which nothing was timed
        """
        return self._core.timing

    @property
    def notes(self) -> list[str]:
        return self._core.notes

    def close(self) -> None:
        """Ends a step in progress, with an Error in its thread, and completes the run in the trace."""
        self._core.close("")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, _type: Any, raised: BaseException | None, _traceback: Any) -> None:
        self._core.close(_reason(raised))


def _reason(raised: BaseException | None) -> str:
    """What the trace says of a run that this ended: nothing of one that its program ends in order."""
    if isinstance(raised, _core.Error):
        return str(raised)
    if not isinstance(raised, (Exception, KeyboardInterrupt)):
        return ""
    message = " ".join(str(raised).split())
    return f"Cancelled: the program raised {type(raised).__name__}" + (f": {message}" if message else "")


@dataclass
class RunResult:
    """What a run gave. `fetches`: of every recorded step; `run`: its number in the trace; `timing`: as of a session."""

    step_ns: numpy.ndarray
    fetches: list[dict[str, numpy.ndarray]] = field(repr=False)
    run: int = 0
    oversubscribed: bool = False
    timing: dict[str, Any] | None = None


def run(graph: Any, machine: Any = None, strategy: Any = "annotated", *, data: Iterable[Mapping[str, Any]] | None = None,
        steps: int = 10, warmup: int = 2, trace: str | os.PathLike[str] | None = None, seed: int | None = None,
        timeout_s: float = 0, profile: str = "auto", fusion: bool | None = None,
        any_algorithm: bool = False) -> RunResult:
    """Runs steps and returns their times and fetches.

    data    yields what a step is fed, by name; it ends the run where it ends before `steps`. None: what the run
            configuration says. Those that warm up take from it too.
    steps, warmup  recorded steps, and steps before that
    profile  as of a session; with a trace CUPTI times kernels where it can be had, until the run has ended
    fusion, any_algorithm  as of a session
    """
    with Session(graph, machine, strategy, trace=trace, seed=seed, timeout_s=timeout_s, profile=profile,
                 fusion=fusion, any_algorithm=any_algorithm) as session:
        feeds = iter(data) if data is not None else None
        fetches = []
        for number in range(warmup + steps):
            fed = None
            if feeds is not None:
                fed = next(feeds, None)
                if fed is None:
                    break
            made = session.step(fed, recorded=number >= warmup)
            if number >= warmup:
                fetches.append(made)
    return RunResult(session.step_ns, fetches, session.run, session.oversubscribed, session.timing)
