# SPDX-License-Identifier: Apache-2.0
"""The traces that were asked for: found, made readable once, and known by their runs and tables."""

from __future__ import annotations

import collections
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from lanescope.mcp.folders import Folders
from lanescope.mcp.program import Lacks, Program, Refusal

_SQLITE = b"SQLite format 3\0"
_SIMULATED = "simulated"
_KEPT = 8  # imports at once, more than the calls at once have traces
_MOST_RUNS = 65_535
_MOST_COLUMNS = 2_000  # as many as SQLite has
_RUNS = f"FROM LANESCOPE_RUN WHERE typeof(runId) = 'integer' AND runId BETWEEN 1 AND {_MOST_RUNS} ORDER BY runId"
_RUN_COLUMNS = ("kind", "emulated", "graph", "strategy", "steps", "complete", "error", "predictionOf", "inSample", "stepMedianNs",
                "stepP25Ns", "stepP75Ns")


@dataclass
class Trace:
    """A trace as an SQLite file. `path` is the file that the program gets, whose name is ours; `name` what the asker calls it."""

    name: str
    path: str
    tables: frozenset[str] = frozenset()
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    recorded_by_us: bool = False

    def run(self, number: int | None) -> Run:
        """That run, or the last. Raises Lacks where there is none of that number."""
        if number is None:
            return Run(self, max(self.runs))
        if number not in self.runs:
            raise Lacks("NotFound", f"{self.name} has no run {number}; it has {', '.join(map(str, self.runs))}")
        return Run(self, number)

    def measured_runs(self) -> list[Run]:
        """Those that `gate` judges: measured, to their end."""
        return [Run(self, number) for number, known in self.runs.items()
                if known["label"] != _SIMULATED and known.get("complete", 1)]


@dataclass(frozen=True)
class Run:
    """A run of a trace."""

    trace: Trace
    number: int

    @property
    def label(self) -> str:
        """Whether its times are measured or simulated, and on what."""
        return self.trace.runs[self.number]["label"]

    @property
    def operand(self) -> str:
        """As the program's commands take it."""
        return f"{self.trace.path}:{self.number}"

    @property
    def named(self) -> dict[str, Any]:
        return {"trace": self.trace.name, "run": self.number}

    @property
    def facts(self) -> dict[str, Any]:
        return {**self.named, "label": self.label}


class Traces:
    """Opens traces by the names that the asker gives.

    A file of another profiler is imported into a folder of ours, once for as long as it stays the same; the last imports are
    kept. Every trace gets a name of ours there, which the program is given: no name of an asker or of a file reaches it
    but that of a file to import.
    """

    def __init__(self, folders: Folders, program: Program, place: Path):
        self._folders, self._program, self._place = folders, program, place
        self._opened: collections.OrderedDict[tuple, Trace] = collections.OrderedDict()
        self._turn = anyio.Lock()
        self._made = 0

    async def open(self, name: str) -> Trace:
        """Raises Refusal where there is no such file, it may not be read, or it is no trace."""
        path = self._folders.find(name)
        async with self._turn:
            key = _state(path)
            trace = self._opened.get(key)
            if trace is None:
                trace = self._opened[key] = await self._open(path)
                if len(self._opened) > _KEPT:
                    self._forget(self._opened.popitem(last=False)[1])
            self._opened.move_to_end(key)
        return trace

    async def query(self, trace: Trace, sql: str, rows: int) -> tuple[list[str], list[list[Any]]]:
        """At most so many rows of one SELECT, as the program's `query` answers it."""
        printed = await self._program.json("query", f"--limit={rows}", operands=(trace.path, sql))
        return printed.content["columns"], printed.content["rows"]

    async def _open(self, path: Path) -> Trace:
        self._made += 1
        readable = self._place / f"{self._made}.sqlite"
        trace = Trace(self._folders.shown(path), str(readable))
        self._program.shown[trace.path] = trace.name
        try:
            if _is_sqlite(path):
                readable.symlink_to(path)
            else:
                await self._import(path, trace)
            await self._look(trace)
        except BaseException:
            self._forget(trace)
            raise
        return trace

    async def _import(self, path: Path, trace: Trace) -> None:
        self._program.shown[str(path)] = trace.name
        try:
            trace.notes = await self._program.make("import", f"--output={trace.path}", operands=(str(path),))
        finally:
            del self._program.shown[str(path)]
        if not _is_sqlite(Path(trace.path)):
            raise Refusal("InvalidArgument", f"'{trace.name}' is a model, not a trace")

    async def _look(self, trace: Trace) -> None:
        _, rows = await self.query(trace, "SELECT name FROM sqlite_master WHERE type = 'table'", 10_000)
        trace.tables = frozenset(name for (name,) in rows)
        trace.recorded_by_us = "LANESCOPE_RUN" in trace.tables
        if not trace.recorded_by_us:
            trace.runs = {1: {"label": "measured"}}  # files of other tools are one run
            return
        _, known = await self.query(trace, "SELECT name FROM pragma_table_info('LANESCOPE_RUN')", _MOST_COLUMNS)
        columns = [name for name in _RUN_COLUMNS if [name] in known]  # older versions have fewer
        _, rows = await self.query(trace, f"SELECT {', '.join(['runId', *columns])} {_RUNS}", _MOST_RUNS)
        for number, *values in rows:
            run = {name: value for name, value in zip(columns, values) if value is not None}
            trace.runs[number] = {"label": _label(run), **run}
        if not trace.runs:
            raise Refusal("NotFound", f"{trace.name} holds no run")

    def _forget(self, trace: Trace) -> None:
        Path(trace.path).unlink(missing_ok=True)
        self._program.shown.pop(trace.path, None)


def _label(run: dict[str, Any]) -> str:
    if run.get("kind") == "simulated":
        return _SIMULATED
    return "measured on emulated devices" if run.get("emulated") else "measured"


def _is_sqlite(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _state(path: Path) -> tuple:
    """Differs once a file, what is written to it (its -wal), or one of a folder is another."""
    if path.is_dir():
        files = sorted(Path(place) / name for place, _, names in os.walk(path) for name in names)
    else:
        files = [path, path.with_name(path.name + "-wal")]
    states = [(str(file), file.stat()) for file in files if file.exists()]
    return (str(path), *((name, state.st_size, state.st_mtime_ns, state.st_ino) for name, state in states))
