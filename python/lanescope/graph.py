# SPDX-License-Identifier: Apache-2.0
"""Graphs with their steps."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from typing import Any

from lanescope import _core
from lanescope.machine import Machine, as_machine

log = logging.getLogger("lanescope")


class Graph:
    """An operator graph with its step: what is fed, fetched and run for its effect.

    source            a GraphDef file (.pb, .pbtxt) or a SavedModel folder, with the run configuration beside it; the
                      bytes of a GraphDef; or what `lanescope.torch.export` returns.
    run               for bytes: the run configuration, as in G.run.json.
    feeds             by name: arrays that are fed instead of what the run configuration says.
    fetches, targets  instead of the configured ones.
    soft_placement    False: to fail where a requested device cannot be used.
    fusion            True: nodes that can share a launch do, as with --fusion.
    machine           whose links say by which algorithm its collectives cost least; None: their size does.

    Immutable. It can be pickled; that of a file names the file.
    """

    def __init__(self, source: Any, *, name: str | None = None, run: Mapping[str, Any] | None = None,
                 feeds: Mapping[str, Any] | None = None, fetches: Iterable[str] = (), targets: Iterable[str] = (),
                 soft_placement: bool = True, fusion: bool = False, machine: Any = None):
        if hasattr(source, "graph_def"):
            feeds = {**source.feeds, **(feeds or {})}
            run = run if run is not None else source.run
            source = source.graph_def
        path, data = "", b""
        if isinstance(source, (bytes, bytearray, memoryview)):
            data, name = bytes(source), name or "graph.pb"
        else:
            path = os.path.abspath(os.fspath(source))
        self._arguments = (path, name or "", data, json.dumps(run or {}), os.getcwd(), dict(feeds or {}),
                           list(fetches), list(targets), soft_placement, fusion,
                           None if machine is None else as_machine(machine))
        self._core = _core_of(*self._arguments)
        for note in self._core.notes:
            log.info(note)

    def __reduce__(self):
        return _graph_of, self._arguments

    @property
    def name(self) -> str:
        """File name without folders."""
        return self._core.name

    @property
    def feeds(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """By name: dtype and shape of what a step is fed."""
        return self._core.feeds

    @property
    def fusion(self) -> bool:
        """Whether nodes share launches."""
        return self._arguments[-2]

    @property
    def fetches(self) -> list[str]:
        return self._core.fetches

    @property
    def targets(self) -> list[str]:
        return self._core.targets

    @property
    def notes(self) -> list[str]:
        """What is assumed of a step that is not configured."""
        return self._core.notes

    def nodes(self) -> list[tuple[str, str, str]]:
        """(name, op, requested device) of every node."""
        return self._core.nodes()

    def to_bytes(self) -> bytes:
        """A serialized GraphDef."""
        return self._core.to_bytes()

    def to_text(self) -> str:
        """A GraphDef as text."""
        return self._core.to_text()

    def __len__(self) -> int:
        return len(self._core.nodes())

    def __repr__(self) -> str:
        return f"<lanescope.Graph {self.name}: {len(self)} nodes>"


def _graph_of(*arguments):
    graph = Graph.__new__(Graph)
    graph._arguments = arguments
    graph._core = _core_of(*arguments)
    return graph


def _core_of(*arguments):
    *others, machine = arguments
    return _core.Graph(*others, None if machine is None else machine._core)


def as_graph(graph: Any, machine: Machine | None = None, fusion: bool | None = None) -> Graph:
    """`machine`: that it is for, where it is read now. `fusion`: whether its nodes share launches; None: as it says."""
    if not isinstance(graph, Graph):
        return Graph(graph, fusion=bool(fusion), machine=machine)
    if fusion is None or fusion == graph.fusion:
        return graph
    *others, _, of = graph._arguments
    return _graph_of(*others, fusion, of)
