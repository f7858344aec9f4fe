# SPDX-License-Identifier: Apache-2.0
"""What a trace holds, by table, and what cannot be told of one without."""

from __future__ import annotations

from lanescope.mcp.traces import Trace, Traces

# Table: what its rows are, what only they tell.
TOLD_BY = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("kernels", "what ran on devices: no kernel is recorded"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("copies", "what was copied: no copy is recorded"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("api_calls", "what launching costs: no API call is recorded"),
    "NVTX_EVENTS": ("ranges", "which range or operator launched what: no range is recorded"),
    "LANESCOPE_OPERATOR": ("operators", "shapes and call stacks of operators: the trace says none"),
    "LANESCOPE_COLLECTIVE": ("collectives", "how many bytes collectives moved, among whom: the trace does not say"),
    "LANESCOPE_MEMORY": ("memory", "memory over time: none is recorded"),
    "LANESCOPE_COMMAND": ("commands", "which command waited for which: no schedule is recorded (a replay infers it)"),
}


async def rows_by_kind(traces: Traces, trace: Trace) -> dict[str, int]:
    """How many rows of each kind the file holds, of all its runs."""
    held = [table for table in TOLD_BY if table in trace.tables]
    counts = {}
    if held:
        _, (row,) = await traces.query(trace, "SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in held), 1)
        counts = dict(zip(held, row))
    return {kind: counts.get(table, 0) for table, (kind, _) in TOLD_BY.items()}


def lacks(counts: dict[str, int]) -> list[str]:
    return [without for kind, without in TOLD_BY.values() if not counts[kind]]
