# SPDX-License-Identifier: Apache-2.0
"""Parts of sweeps and searches as tasks of an executor: what is sent can be pickled, and needs the package there."""

from __future__ import annotations

import functools
import pickle
from concurrent.futures import Executor
from typing import Any

_TASKS = 64  # that a sweep or a round of a search is at most cut into


@functools.lru_cache(maxsize=4)
def _unpacked(packed: bytes) -> Any:
    """What many tasks share is made once in a process."""
    return pickle.loads(packed)


@functools.lru_cache(maxsize=64)
def _placement(packed: bytes, row: int) -> Any:
    from lanescope.placement import placed

    predictor, graph, strategies, _ = _unpacked(packed)
    return placed(predictor._core, graph, strategies[row])


def _sweep_part(packed: bytes, row: int, bandwidth: list[float]) -> list[int]:
    predictor, _, _, span = _unpacked(packed)
    return predictor._core.sweep_steps(_placement(packed, row), *span, bandwidth)


def _search_part(packed: bytes, state: str, first: int, count: int) -> str:
    predictor, graph, seed, restarts = _unpacked(packed)
    return predictor._core.search_chains(graph._core, seed, restarts, state, first, count)


class SweepElsewhere:
    """Step times of one row at many bandwidths, by an executor."""

    def __init__(self, executor: Executor, predictor: Any, graph: Any, strategies: list[Any], span: tuple):
        self._executor = executor
        self._packed = pickle.dumps((predictor, graph, strategies, span))

    def __call__(self, row: int, bandwidth: list[float]) -> list[int]:
        tasks = min(_TASKS, len(bandwidth))
        futures = [self._executor.submit(_sweep_part, self._packed, row, bandwidth[task::tasks]) for task in range(tasks)]
        steps = [0] * len(bandwidth)
        for task, future in enumerate(futures):
            steps[task::tasks] = future.result()
        return steps


class SearchElsewhere:
    """The chains of a round of a search, by an executor."""

    def __init__(self, executor: Executor, predictor: Any, graph: Any, seed: int, restarts: int):
        self._executor = executor
        self._packed = pickle.dumps((predictor, graph, seed, restarts))

    def __call__(self, state: str, chains: int) -> list[str]:
        tasks = min(_TASKS, chains)
        ends = [chains * task // tasks for task in range(tasks + 1)]
        futures = [self._executor.submit(_search_part, self._packed, state, first, end - first)
                   for first, end in zip(ends, ends[1:])]
        return [future.result() for future in futures]
