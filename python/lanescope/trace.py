# SPDX-License-Identifier: Apache-2.0
"""Traces: what they hold, as tables of NumPy, pandas or Arrow."""

from __future__ import annotations

import html
import json
import os
import tempfile
from typing import Any

import numpy

from lanescope import _core

# What ran, with names instead of their numbers.
_ACTIVITIES = {
    "kernels": """
        SELECT start, end, end - start AS duration, deviceId AS device, streamId AS stream, value AS name
        FROM CUPTI_ACTIVITY_KIND_KERNEL LEFT JOIN StringIds ON StringIds.id = demangledName ORDER BY start""",
    "copies": """
        SELECT start, end, end - start AS duration, deviceId AS device, streamId AS stream, bytes, copyKind AS kind
        FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY start""",
}


def _array(values: list[Any]) -> numpy.ndarray:
    kinds = {type(value) for value in values}
    if kinds <= {int}:
        return numpy.array(values, dtype=numpy.int64)
    if kinds <= {int, float}:
        return numpy.array(values, dtype=numpy.float64)
    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array


class Trace:
    """A trace file: ours, an export of Nsight Systems, or what `lanescope import` takes, such as a profile of PyTorch.

        Trace("t.db").to_pandas("kernels")
        Trace("t.db").to_arrow("SELECT start, end, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY")
        Trace("profile.json.gz").timeline_svg()

    The tables are in docs/reference/schema.md. Reading takes no locks that a writer waits for. A file of another profiler is
    imported into a temporary file, which lives as long as the object; `notes` has what was left out or mended.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        self.notes: list[str] = []
        self._file = self.path
        if files := _core.files_to_import(self.path):
            self._folder = tempfile.TemporaryDirectory(prefix="lanescope-")
            self._file = os.path.join(self._folder.name, "trace.sqlite")
            self.notes = _core.import_traces(files, self._file)
        self._runs = _core.runs(self._file)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """What is known of every run: number, graph, strategy, whether it was simulated, ..."""
        return self._runs

    def query(self, sql: str) -> dict[str, numpy.ndarray]:
        """The answer to one SELECT, by column. "kernels" and "copies" are what ran, with its name."""
        names, columns = _core.query(self._file, _ACTIVITIES.get(sql, sql))
        return {name: _array(column) for name, column in zip(names, columns)}

    def to_pandas(self, sql: str = "kernels") -> Any:
        """The same as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.query(sql))

    def to_arrow(self, sql: str = "kernels") -> Any:
        """The same as a pyarrow.Table."""
        import pyarrow

        names, columns = _core.query(self._file, _ACTIVITIES.get(sql, sql))
        return pyarrow.table(columns, names=names)

    def summary(self, run: int | None = None) -> dict[str, Any]:
        """What a run spent its time on, as `lanescope summary --json` prints it. None: the last."""
        return json.loads(_core.summary(self._file, self._number(run)))

    def calibrate(self, run: int | None = None) -> dict[str, Any]:
        """A cost table of a measured run, which `simulate` and `search` take."""
        measured = [each["run"] for each in self._runs if not each["simulated"]]
        return json.loads(_core.calibrate(self._file, self._number(run, measured)))

    def timeline_svg(self, run: int | None = None, *, step: int = -1, width: int = 900) -> str:
        """A step of a run as an SVG document. -1: the step whose time is the median's."""
        return _core.timeline_svgs(self._file, [self._number(run)], step, width)[0]

    def _number(self, run: int | None, among: list[int] | None = None) -> int:
        if run is not None:
            return run
        numbers = among if among is not None else [each["run"] for each in self._runs]
        return numbers[-1] if numbers else 1  # the library says that there is none

    def _repr_html_(self) -> str:
        picture = self.timeline_svg() if self._runs else ""
        return picture or f"<p>{html.escape(repr(self))}</p>"

    def __repr__(self) -> str:
        return f"<lanescope.Trace {os.path.basename(self.path)}: {len(self._runs)} runs>"
