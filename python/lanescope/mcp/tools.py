# SPDX-License-Identifier: Apache-2.0
"""The tools: each asks the program and adds what its answer rests on and what the trace cannot tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from lanescope.mcp.contents import TOLD_BY, lacks, rows_by_kind
from lanescope.mcp.evidence import named_in, rows_of, steps_of, whole_run
from lanescope.mcp.folders import Folders
from lanescope.mcp.limits import bounded
from lanescope.mcp.program import Printed, Program
from lanescope.mcp.traces import Run, Traces

_MOST_SQL = 16_000  # characters
_CANNOT_TELL = "cannot tell"

TraceName = Annotated[str, Field(
    description="A trace: the name of its file in the folders that may be read, or of a folder with one file a rank")]
RunNumber = Annotated[int | None, Field(ge=1, le=65535, description="Number of the run, as `open` lists them; null: the last")]
MeasuredRuns = Annotated[int | None, Field(
    ge=1, le=65535, description="Number of the run; null: all measured runs, by which the noise is known")]
Step = Annotated[int | None, Field(
    ge=0, le=1_000_000_000, description="Only this step; null: the mean of the middle half of all")]
Top = Annotated[int, Field(ge=1, le=200, description="Elements of each list, at most; `left_out` counts the rest")]
Rows = Annotated[int, Field(ge=1, le=1000, description="Rows, at most")]
Pattern = Annotated[str, Field(description="Shell pattern of names, as *.db")]
By = Annotated[Literal["kernel", "nvtx", "module", "line", "rank"], Field(
    description="nvtx: also by range; module, line: by module and by line of Python; rank: also what GPUs wait for")]
Sql = Annotated[str, Field(max_length=_MOST_SQL, description="One SELECT; a row's id in `evidence` is its rowid")]
Changes = Annotated[list[str], Field(min_length=1, max_length=20, description=(
    "As `lanescope simulate TRACE --set` takes them: kernel:GLOB.speed=2, host.speed=2, launch.overhead=0us, "
    "copy:GLOB=removed, straggler=removed, ..."))]
Budget = Annotated[float, Field(ge=0, le=1000, description="How much worse is tolerated, in percent")]
Quantities = Annotated[list[str], Field(
    max_length=20, description="Any of step, fastest, kernels, collectives, idle, memory, op:NAME; none: step")]


class Tools:
    """One method a tool; its docstring and its parameters are what agents read."""

    def __init__(self, folders: Folders, program: Program, traces: Traces):
        self._folders, self._program, self._traces = folders, program, traces

    async def files(self, pattern: Pattern = "*", top: Top = 50) -> dict[str, Any]:
        """Files in the folders that may be read. Which of them are traces, `open` says."""
        found, complete = self._folders.list(pattern)
        files = [{"name": self._folders.shown(path), "bytes": path.stat().st_size} for path in found]
        missing = [] if complete else ["which other files there are: the folders hold too many"]
        return _answer({"files": files}, top, cannot_tell=missing)

    async def open(self, trace: TraceName, top: Top = 50) -> dict[str, Any]:
        """What a trace holds: its runs with their labels (measured, simulated, measured on emulated devices), how many rows of
        what, and what it cannot tell. Files of PyTorch (Kineto), TensorFlow, JAX (XPlane), Nsight Systems (SQLite), nvprof and
        Chakra are traces, too."""
        opened = await self._traces.open(trace)
        counts = await rows_by_kind(self._traces, opened)
        runs = [{"run": number, **known} for number, known in opened.runs.items()]
        evidence = [row for number in list(opened.runs)[:top] for row in await whole_run(self._traces, Run(opened, number))]
        tables = [{"name": name} for name in sorted(opened.tables)]
        return _answer({"trace": opened.name, "runs": runs, "rows": counts, "tables": tables}, top,
                       evidence=evidence, cannot_tell=lacks(counts), notes=opened.notes)

    async def summary(self, trace: TraceName, run: RunNumber = None, step: Step = None, by: By = "kernel",
                      top: Top = 10) -> dict[str, Any]:
        """Where the time of a run went: kernels, copies, API calls, idle time by device and step, and a verdict. Times in ns."""
        chosen = (await self._traces.open(trace)).run(run)
        args = [f"--run={chosen.number}", f"--by={by}", *_of_step(step)]
        printed = await self._program.json("summary", *args, operands=(chosen.trace.path,))
        found = printed.content
        evidence = await rows_of(self._traces, chosen, named_in(found, chosen, top)) + await steps_of(self._traces, chosen, top)
        return _answer({**chosen.facts, "answer": found}, top, evidence=evidence, cannot_tell=_lacking(found), notes=printed.notes)

    async def diff(self, trace_a: TraceName, trace_b: TraceName, run_a: RunNumber = None, run_b: RunNumber = None,
                   step: Step = None, top: Top = 10) -> dict[str, Any]:
        """Two runs matched op by op, of one trace or of two: what the difference B - A comes from. Times in ns a step."""
        a, b = (await self._traces.open(trace_a)).run(run_a), (await self._traces.open(trace_b)).run(run_b)
        printed = await self._compare("diff", a, b, step)
        return await self._of_two(a, b, printed, printed.content["ops"][:top], top)

    async def explain(self, trace_a: TraceName, trace_b: TraceName, run_a: RunNumber = None, run_b: RunNumber = None,
                      step: Step = None, top: Top = 8) -> dict[str, Any]:
        """Why run B is slower or faster than run A, by what lies on the critical path of each. Times in ns a step."""
        a, b = (await self._traces.open(trace_a)).run(run_a), (await self._traces.open(trace_b)).run(run_b)
        printed = await self._compare("explain", a, b, step)
        reasons = [f" {reason['text']}" for key in ("longer", "shorter") for reason in printed.content[key][:top]]
        ops = (await self._compare("diff", a, b, step)).content["ops"]  # whose names the reasons have
        named = [op for op in ops if any(f" {op['name']}: " in reason for reason in reasons)]
        return await self._of_two(a, b, printed, named, top)

    async def query(self, trace: TraceName, sql: Sql, top: Rows = 100) -> dict[str, Any]:
        """One read-only SELECT on the trace's SQLite tables, which `open` lists: those of an Nsight Systems export
        (CUPTI_ACTIVITY_KIND_KERNEL, StringIds, ...) and LANESCOPE_... ones. Times in ns. In Lanescope's own traces a row's run
        is globalPid >> 48."""
        opened = await self._traces.open(trace)
        found = (await self._program.json("query", f"--limit={top}", "--timeout=0", operands=(opened.path, sql))).content
        missing = ["rows beyond these, and how many there are: ask for more, or count(*)"] if "cut" in found else []
        evidence = [{"trace": opened.name, "run": None, "table": None, "ids": [], "rows": len(found["rows"]), "of": sql}]
        return _answer({"trace": opened.name, "columns": found["columns"], "rows": found["rows"]}, top,
                       evidence=evidence, cannot_tell=missing)

    async def what_if(self, trace: TraceName, changes: Changes, run: RunNumber = None, top: Top = 10) -> dict[str, Any]:
        """What the steps of a trace of another tool would take with something changed, by replaying it (simulated). `error` is
        how far the replay is off with nothing changed, as a fraction: no prediction is better than that. Times in ns a step."""
        chosen = (await self._traces.open(trace)).run(run)
        sets = [f"--set={change}" for change in changes]
        printed = await self._program.json("simulate", f"--run={chosen.number}", *sets, operands=(chosen.trace.path,))
        labels = {"measured_ns": chosen.label, "replayed_ns": "simulated", "predicted_ns": "simulated"}
        named = [{**op, "type": kind} for op in printed.content["path"]["ops"][:top] for kind in ("kernel", "api")]
        evidence = await rows_of(self._traces, chosen, named) + await whole_run(self._traces, chosen)
        return _answer({**chosen.facts, "labels": labels, "answer": printed.content}, top, evidence=evidence, notes=printed.notes)

    async def gate(self, base: TraceName, candidate: TraceName, base_run: MeasuredRuns = None,
                   candidate_run: MeasuredRuns = None, budget_percent: Budget = 2, what: Quantities = [],
                   top: Top = 8) -> dict[str, Any]:
        """Whether a candidate is worse than a base by more than a budget, as far as noise lets anyone tell: fine, worse or
        cannot tell. More runs of each side tell more."""
        traces = [await self._traces.open(base), await self._traces.open(candidate)]
        chosen = [run and trace.run(run) for trace, run in zip(traces, (base_run, candidate_run))]
        operands = tuple(run.operand if run else trace.path for trace, run in zip(traces, chosen))
        quantities = [f"--what={each}" for each in what]
        printed = await self._program.json("gate", f"--budget={budget_percent}%", *quantities, operands=operands)
        judged = [[run] if run else trace.measured_runs() for trace, run in zip(traces, chosen)]
        evidence = []
        for runs in judged:
            for run in runs[:top]:
                evidence += await whole_run(self._traces, run)
            if len(runs) == 1:
                evidence += await rows_of(self._traces, runs[0], printed.content["ops"][:top])
        sides = [{"trace": runs[0].trace.name, "runs": [run.number for run in runs], "label": runs[0].label} for runs in judged]
        untold = [printed.content["sentence"]] if printed.content["verdict"] == _CANNOT_TELL else []
        return _answer({"base": sides[0], "candidate": sides[1], "answer": printed.content}, top,
                       evidence=evidence, cannot_tell=untold, notes=printed.notes)

    async def _compare(self, command: str, a: Run, b: Run, step: int | None) -> Printed:
        return await self._program.json(command, *_of_step(step), operands=(a.operand, b.operand))

    async def _of_two(self, a: Run, b: Run, printed: Printed, named: list[dict[str, Any]], top: int) -> dict[str, Any]:
        evidence = [row for run in (a, b) for row in await rows_of(self._traces, run, named[:2 * top])]
        verdict = printed.content["verdict"]
        untold = [verdict] if verdict.lower().startswith(_CANNOT_TELL) else []
        return _answer({"a": a.facts, "b": b.facts, "answer": printed.content}, top,
                       evidence=evidence, cannot_tell=untold, notes=printed.notes)


def _answer(content: dict[str, Any], rows: int, *, evidence: Iterable[dict[str, Any]] = (), cannot_tell: Iterable[str] = (),
            notes: Iterable[str] = ()) -> dict[str, Any]:
    """What every tool answers with, no longer than an answer may be."""
    return bounded({**content, "evidence": list(evidence), "cannot_tell": list(cannot_tell), "notes": list(notes)}, rows)


def _of_step(step: int | None) -> list[str]:
    return [] if step is None else [f"--step={step}"]


def _lacking(summary: dict[str, Any]) -> Iterable[str]:
    """What a summary has no figures of."""
    if not summary["gpu_activities"] and not summary["host_activities"]:
        yield TOLD_BY["CUPTI_ACTIVITY_KIND_KERNEL"][1]
    if not summary["api_calls"]:
        yield TOLD_BY["CUPTI_ACTIVITY_KIND_RUNTIME"][1]
    if not summary["steps"]:
        yield "steps: the trace marks none, figures are of the whole run"
    if summary["dropped"]:
        yield f"all of it: {summary['dropped']} records were lost"
