# SPDX-License-Identifier: Apache-2.0
"""The rows that an answer rests on: for each thing that it names, where the trace has it."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Mapping
from typing import Any

from lanescope.mcp.contents import TOLD_BY, rows_by_kind
from lanescope.mcp.program import Refusal
from lanescope.mcp.traces import Run, Traces

_IDS = 5  # of each thing, the longest first
_MOST_NAME = 8000  # characters; longer names are not looked up
_COPY_KIND = re.compile(r"\[CUDA memcpy [^\]]*\]")

# Kind of a thing: its table, the column whose upper 16 bits are the run, and how its rows meet `wanted`, the names.
_NAMED = "(SELECT id, name FROM wanted JOIN StringIds ON {}) AS named"
_LAUNCHES = f"CROSS JOIN {_NAMED.format('value = name')} ON named.id IN (row.demangledName, row.shortName)"
_ON_HOST = ("JOIN LANESCOPE_DEVICE AS device ON device.runId = row.globalPid >> 48 AND device.deviceId = row.deviceId "
            "AND (device.kind = 'host') = ")
_PLACES = {
    "kernel": ("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid", _LAUNCHES),
    "device kernel": ("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid", f"{_LAUNCHES} {_ON_HOST} 0"),
    "host kernel": ("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid", f"{_LAUNCHES} {_ON_HOST} 1"),
    # Nsight Systems puts the version behind a call: cudaLaunchKernel_v7000.
    "api": ("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid",
            f"CROSS JOIN {_NAMED.format('''value = name OR substr(value, 1, length(name) + 2) = name || '_v' ''')} "
            "ON named.id = row.nameId"),
    "memcpy": ("CUPTI_ACTIVITY_KIND_MEMCPY", "globalPid",
               "JOIN ENUM_CUDA_MEMCPY_OPER AS oper ON oper.id = row.copyKind JOIN wanted AS named ON upper(named.name) = "
               "'[CUDA MEMCPY ' || replace(substr(oper.name, length('CUDA_MEMCPY_KIND_') + 1), 'UVM_', 'UNIFIED ') || ']'"),
    "memset": ("CUPTI_ACTIVITY_KIND_MEMSET", "globalPid", "JOIN wanted AS named"),
    # "embedding GPU:0 -> GPU:1": a node's output, from device to device.
    "copy": ("CUPTI_ACTIVITY_KIND_MEMCPY", "globalPid",
             "JOIN LANESCOPE_ACTIVITY AS act ON act.correlationId = row.correlationId AND act.globalPid = row.globalPid "
             "JOIN LANESCOPE_COMMAND AS com ON com.runId = act.globalPid >> 48 AND com.schedule = act.schedule "
             "AND com.commandId = act.commandId AND com.kind = 'copy' "
             "JOIN LANESCOPE_NODE AS node ON node.runId = com.runId AND node.nodeId = com.nodeId "
             "JOIN LANESCOPE_DEVICE AS src ON src.runId = com.runId AND src.deviceId = com.src "
             "JOIN LANESCOPE_DEVICE AS dst ON dst.runId = com.runId AND dst.deviceId = com.dst "
             "JOIN wanted AS named ON named.name = node.name || ' ' || substr(src.name, instr(src.name, 'device:') + 7) "
             "|| ' -> ' || substr(dst.name, instr(dst.name, 'device:') + 7)"),
}


def kind_of(entry: Mapping[str, Any]) -> str:
    """What an entry of a summary (`type`) or of a comparison (`kind`) is: a key of the places above, or ""."""
    name, kind = entry["name"], entry.get("type") or entry.get("kind") or "launch"
    if name == "[CUDA memset]":
        return "memset"
    if kind in ("copy", "memcpy"):
        return "memcpy" if _COPY_KIND.match(name) else "copy"
    return {"launch": "kernel", "collective": "kernel"}.get(kind, kind if kind in _PLACES else "")


def named_in(summary: Mapping[str, Any], run: Run, most: int) -> list[dict[str, Any]]:
    """What a summary names: so many of each of its lists. An op of ours may have run on devices and on the host."""
    named = []
    for key, place in (("gpu_activities", "device "), ("host_activities", "host "), ("api_calls", "")):
        for entry in summary[key][:most]:
            placed = place if entry["type"] == "kernel" and run.trace.recorded_by_us else ""
            named.append({**entry, "type": placed + entry["type"]})
    return named


async def rows_of(traces: Traces, run: Run, entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where the run has what the entries name: table, ids of the longest rows (SQLite's rowid), and how many there are."""
    wanted: dict[str, list[str]] = collections.defaultdict(list)
    order = []
    for entry in entries:
        kind, name = kind_of(entry), entry["name"]
        looked_up = _COPY_KIND.match(name).group() if kind == "memcpy" else name
        known = kind in _PLACES and _PLACES[kind][0] in run.trace.tables and len(name) <= _MOST_NAME
        if known and looked_up not in wanted[kind]:
            wanted[kind].append(looked_up)
            order.append((kind, looked_up))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, names in wanted.items():
        if not names:
            continue
        try:
            _, rows = await traces.query(run.trace, _sql(run, kind, names), _IDS * len(names))
        except Refusal:  # another version of the tables, or rows without ids
            continue
        for name, row, count in rows:
            place = {**run.named, "table": _PLACES[kind][0], "ids": [], "rows": count, "of": name}
            found.setdefault((kind, name), place)["ids"].append(row)
    return [found[each] for each in order if each in found]


async def whole_run(traces: Traces, run: Run) -> list[dict[str, Any]]:
    """What figures rest on that take in all rows: the run's own row, or, where a file is one run, its tables as a whole."""
    if run.trace.recorded_by_us:
        return [{**run.named, "table": "LANESCOPE_RUN", "ids": [run.number], "rows": 1, "of": "the run"}]
    counts = await rows_by_kind(traces, run.trace)
    return [{**run.named, "table": table, "ids": [], "rows": counts[kind], "of": "all rows"}
            for table, (kind, _) in TOLD_BY.items() if counts[kind]]


async def steps_of(traces: Traces, run: Run, most: int) -> list[dict[str, Any]]:
    """The steps of a run of ours. Steps of other files are inferred, from ranges or repetition, and have no rows."""
    if "LANESCOPE_STEP" not in run.trace.tables:
        return []
    sql = f"SELECT rowid, count(*) OVER () FROM LANESCOPE_STEP WHERE runId = {run.number} ORDER BY step"
    _, rows = await traces.query(run.trace, sql, most)
    ids = [row for row, _ in rows]
    return [{**run.named, "table": "LANESCOPE_STEP", "ids": ids, "rows": rows[0][1], "of": "steps"}] if rows else []


def _sql(run: Run, kind: str, names: list[str]) -> str:
    table, of_run, meets = _PLACES[kind]
    values = ", ".join("('" + name.replace("'", "''") + "')" for name in names)
    only = f"WHERE row.{of_run} >> 48 = {run.number}" if run.trace.recorded_by_us else ""
    return f"""WITH wanted(name) AS (VALUES {values}), found AS (
        SELECT named.name AS name, row.rowid AS id, count(*) OVER (PARTITION BY named.name) AS rows,
               row_number() OVER (PARTITION BY named.name ORDER BY row."end" - row.start DESC, row.rowid) AS place
        FROM {table} AS row {meets} {only})
        SELECT name, id, rows FROM found WHERE place <= {_IDS} ORDER BY name, place"""
