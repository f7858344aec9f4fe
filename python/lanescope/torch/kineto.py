# SPDX-License-Identifier: Apache-2.0
"""Profiles of torch.profiler (Kineto) as trees of what ran, each with the time that it took itself."""

from __future__ import annotations

import bisect
import gzip
import json
import os
from collections import defaultdict
from dataclasses import dataclass, field

# Categories, as traces/import/kineto_events.cpp has them: tests/scripts/kineto_names_test.py compares the two.
_GPU_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
_RUNTIME = {"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "xpu_runtime", "xpu_driver", "mtia_runtime",
            "privateuse1_runtime", "privateuse1_driver"}
_NODES = {"cpu_op", "user_annotation"}


@dataclass
class Event:
    """An op, an annotation or a module with what it called. `own_ns`: without that; of a profile with GPU activities
    the time of the kernels that it launched itself, else its own time on the processor."""

    name: str
    start: float
    end: float
    shapes: tuple = ()
    is_module: bool = False
    own_ns: float = 0.0
    children: list = field(default_factory=list)

    def total_ns(self):
        return self.own_ns + sum(child.total_ns() for child in self.children)


@dataclass
class Profile:
    """`steps`: what each step called at the top, all its threads in the order of time; `device`: the GPU's name, or
    empty for a profile of the processor alone."""

    steps: list
    device: str


def _shapes_of(dims):
    """The shapes of the tensors among the arguments: a scalar's is [] too, as that of whatever is no tensor."""
    found = []
    for each in dims or []:
        if not isinstance(each, list) or not each:
            continue
        if isinstance(each[0], list):
            found += [tuple(inner) for inner in each if inner]
        else:
            found.append(tuple(each))
    return tuple(found)


def _tree(events):
    """Nests the events of one thread. Returns those that no other holds."""
    roots, stack = [], []
    for event in sorted(events, key=lambda each: (each.start, -each.end)):
        while stack and stack[-1].end <= event.start:
            stack.pop()
        (stack[-1].children if stack else roots).append(event)
        stack.append(event)
    return roots


def _walk(events):
    for event in events:
        yield event
        yield from _walk(event.children)


def _innermost(roots, when):
    """The innermost op that runs at that time, or None."""
    found = None
    while roots:
        at = bisect.bisect_right([each.start for each in roots], when) - 1
        if at < 0 or roots[at].end < when:
            break
        if not roots[at].is_module:
            found = roots[at]
        roots = roots[at].children
    return found


def read_profile(path):
    """Reads what `export_chrome_trace` wrote, compressed or not."""
    opener = gzip.open if os.fspath(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    threads, launches, works, marks = defaultdict(list), {}, [], []
    for raw in trace["traceEvents"]:
        if raw.get("ph") != "X":
            continue
        category, name, args = raw.get("cat"), raw["name"], raw.get("args", {})
        start, end = float(raw["ts"]), float(raw["ts"]) + float(raw.get("dur", 0))
        if category in _GPU_WORK:
            works.append((args.get("correlation"), (end - start) * 1000))
        elif category in _RUNTIME:
            launches[args.get("correlation")] = (raw["tid"], start)
        elif category in _NODES or (category == "python_function" and name.startswith("nn.Module: ")):
            is_module = category == "python_function"
            event = Event(name.removeprefix("nn.Module: "), start, end, _shapes_of(args.get("Input Dims")), is_module)
            if name.startswith("ProfilerStep#"):
                marks.append(event)
            else:
                threads[raw["tid"]].append(event)
    roots = {thread: _tree(events) for thread, events in threads.items()}
    if works:
        _give_kernels(roots, launches, works)
    else:
        for event in _walk([each for tree in roots.values() for each in tree]):
            inside = sum(child.end - child.start for child in event.children)
            event.own_ns = 0.0 if event.is_module else max(event.end - event.start - inside, 0.0) * 1000
    steps = _steps(roots, marks)
    devices = trace.get("deviceProperties") or [{}]
    return Profile(steps, devices[0].get("name", "GPU") if works else "")


def _give_kernels(roots, launches, works):
    for correlation, ns in works:
        thread, when = launches.get(correlation, (None, 0))
        event = _innermost(roots.get(thread, []), when)
        if event is not None:
            event.own_ns += ns


def _steps(roots, marks):
    """The top of each step: by the profiler's marks, or all at once where there are none."""
    top = sorted((event for tree in roots.values() for event in tree), key=lambda each: each.start)
    if not marks:
        return [top]
    spans = sorted({(mark.start, mark.end) for mark in marks})
    return [[event for event in top if start <= event.start < end] for start, end in spans]
