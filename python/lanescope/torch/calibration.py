# SPDX-License-Identifier: Apache-2.0
"""`calibrate`: op times from a profile of the user's own, for the graph that was exported of the same step."""

from __future__ import annotations

import difflib
import json
import os
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from lanescope.torch.exported import Exported
from lanescope.torch.kineto import read_profile

# What only says how memory is looked at, or that it is taken: no kernel of ours stands for it.
_VIEWS = {"aten::" + name for name in """
as_strided as_strided_ detach detach_ empty empty_like empty_strided expand resize_ flatten narrow permute reshape
resolve_conj resolve_neg select slice split split_with_sizes squeeze t transpose unflatten unsafe_split _unsafe_view
unsqueeze view alias _reshape_alias lift_fresh chunk unbind to set_ numpy_T expand_as view_as is_same_size
result_type item _local_scalar_dense cudnn_is_acceptable can_cast movedim swapaxes unfold diagonal size stride
""".split()}
# Names under which kernels of this or that device run what one ATen op says.
_SAME = {
    "aten::_convolution": "aten::convolution", "aten::cudnn_batch_norm": "aten::native_batch_norm",
    "aten::_native_batch_norm_legit": "aten::native_batch_norm",
    "aten::cudnn_batch_norm_backward": "aten::native_batch_norm_backward",
    "aten::miopen_batch_norm": "aten::native_batch_norm", "aten::relu": "aten::clamp_min",
    "aten::relu_": "aten::clamp_min", "aten::clamp_min_": "aten::clamp_min",
    "aten::native_batch_norm.default": "aten::native_batch_norm",
}


def _plain_name(name):
    name = _SAME.get(name, name)
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    return _SAME.get(name, name)


@dataclass
class _Unit:
    """A stretch of a step: an op that the graph may have too. `module`: "Linear_3", numbered as the profiler does."""

    key: tuple
    ns: float
    module: str


@dataclass
class Calibration:
    """What `calibrate` finds.

    costs          the content of a cost file, which `simulate`, `compare` and `search` take
    step_ns        time of the profile's ops in a step: its mean over the profile's steps
    matched_ns     what of it the graph's ops took
    by_shape_ns    what of that by name and shapes; the rest by module and order, where PyTorch ran other ops than the
                   graph has: a fused attention, an optimizer
    unmatched      by name what took the rest
    call_ns        by number of Exported.calls the time of each
    """

    costs: dict = field(repr=False)
    step_ns: float
    matched_ns: float
    unmatched: Counter = field(repr=False)
    call_ns: dict = field(repr=False)
    device: str = ""
    by_shape_ns: float = 0.0

    @property
    def matched_share(self) -> float:
        return self.matched_ns / self.step_ns if self.step_ns else 0.0

    def to_json(self) -> str:
        return json.dumps(self.costs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a cost file, for `--cost`."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.costs, file, indent=1)
            file.write("\n")

    def __str__(self) -> str:
        rest = ", ".join(f"{name} {ns / 1e6:.3f} ms" for name, ns in self.unmatched.most_common(5))
        return (f"{self.matched_share:.1%} of {self.step_ns / 1e6:.3f} ms a step on {self.device} matched, "
                f"{self.by_shape_ns / self.step_ns if self.step_ns else 0:.1%} by name and shapes"
                + (f"; not matched: {rest}" if rest else ""))


def _only_calls(event):
    """Whether an op calls others that compute, and not just looks at memory on its way."""
    return any(_plain_name(child.name) not in _VIEWS for child in event.children)


class _Reader:
    """The units of one step, in order. `known`: the keys that the graph has."""

    def __init__(self, known):
        self._known = known
        self.units, self.updates_ns = [], 0.0
        self._waiting = 0.0  # of views and calls that only call others: goes to the op that follows

    def read(self, events, module=""):
        for event in events:
            if event.is_module:
                self.read(event.children, event.name)
            elif event.name.startswith("Optimizer."):
                self.updates_ns += event.total_ns() * event.name.startswith("Optimizer.step")
            elif event.name == "torch::autograd::AccumulateGrad":
                self.updates_ns += event.total_ns()  # stores a gradient, which the graph's updates take from its op
            else:
                self._read_op(event, module)

    def finish(self):
        if self.units:
            self.units[-1].ns += self._waiting
        self._waiting = 0.0
        return self

    def _read_op(self, event, module):
        if any(child.name == "torch::autograd::AccumulateGrad" for child in event.children):
            self._waiting += event.own_ns
            return self.read(event.children, module)
        name = _plain_name(event.name)
        key = (name, event.shapes)
        if name not in _VIEWS and key in self._known:
            self._add(key, event.total_ns(), module)
        elif name in _VIEWS:
            self._waiting += event.total_ns()
        elif not _only_calls(event) and "::" in name:
            self._add(key, event.total_ns(), module)
        else:
            inside = sum(child.total_ns() for child in event.children)
            computes = event.own_ns > inside and "::" in name and not name.startswith("autograd::")
            if not computes:
                self._waiting += event.own_ns
            self.read(event.children, module)
            if computes:
                self._add(key, event.own_ns, module)

    def _add(self, key, ns, module):
        self.units.append(_Unit(key, ns + self._waiting, module))
        self._waiting = 0.0


def _key(call):
    return _plain_name(call.op), tuple(shape for shape in call.shapes if shape)


def _module_names(exported):
    """By path "Linear_3": modules of a class, numbered in the order in which they first work, as the profiler does."""
    names, numbers = {}, Counter()
    for call in exported.calls:
        parts = call.module.removeprefix("gradients/").split(".") if call.module else []
        for depth in range(1, len(parts) + 1):
            path = ".".join(parts[:depth])
            kind = exported.modules.get(path)
            if kind is not None and path not in names:
                names[path] = f"{kind}_{numbers[kind]}"
                numbers[kind] += 1
    return names


def _weight(flops, size):
    """Of ops that share a time: the larger of arithmetic and traffic, at the ratio of today's devices."""
    return max(flops / 50, size, 1)


def _align(calls, keys, units):
    """Yields (numbers of calls, units) that belong together: those of one key and shape in their order, and between
    them what the graph and the profile call by other names."""
    matcher = difflib.SequenceMatcher(None, keys, [unit.key for unit in units], autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal":
            yield from (([calls[first + k]], [units[begin + k]]) for k in range(last - first))
        elif tag == "replace":
            yield from _by_module(calls[first:last], units[begin:end])
        elif tag == "insert":
            yield [], units[begin:end]


def _by_module(calls, units):
    """Of a stretch without common names: by module where both sides know it, else all of it."""
    by_name = defaultdict(lambda: ([], []))
    for call in calls:
        by_name[call.profiled][0].append(call)
    for unit in units:
        by_name[unit.module][1].append(unit)
    if any(unit.module for unit in units) and all(both[0] for both in by_name.values() if both[1]):
        yield from by_name.values()
    else:
        yield calls, units


@dataclass
class _Numbered:
    number: int
    call: object
    profiled: str


def _match(exported, step):
    """Times of calls in one step, of the updates, and what nobody took."""
    names = _module_names(exported)
    calls = [_Numbered(number, call, names.get(call.module, ""))
             for number, call in enumerate(exported.calls) if _plain_name(call.op) not in _VIEWS]
    keys = [_key(each.call) for each in calls]
    read = _Reader(set(keys))
    read.read(step)
    read.finish()
    place = {each.number: at for at, each in enumerate(calls)}
    times, unmatched, by_shape = Counter(), Counter(), 0.0
    for ours, units in _align(calls, keys, read.units):
        ours = [each for each in ours if each.call.nodes]
        total = sum(unit.ns for unit in units)
        if not ours:
            for unit in units:
                unmatched[unit.key[0]] += unit.ns
            continue
        weights = [_weight(each.call.flops, each.call.bytes) for each in ours]
        for each, weight in zip(ours, weights):
            times[each.number] += total * weight / sum(weights)
        by_shape += total * (len(ours) == len(units) == 1 and keys[place[ours[0].number]] == units[0].key)
    if not exported.updates and read.updates_ns:
        unmatched["Optimizer.step"] += read.updates_ns
        read.updates_ns = 0.0
    return times, read.updates_ns, unmatched, by_shape


def _node_times(exported, launches, call_ns, updates_ns):
    """By node its time: that of its call, or of the updates, shared by the work of those that stand for it."""
    times = {}

    def share(nodes, ns):
        nodes = [name for name in nodes if name in launches]
        weights = [_weight(*launches[name][2:]) for name in nodes]
        for name, weight in zip(nodes, weights):
            times[name] = ns * weight / sum(weights)

    for number, ns in call_ns.items():
        share(exported.calls[number].nodes, ns)
    share(exported.updates, updates_ns)
    return times


def calibrate(profile: str | os.PathLike[str], graph: Exported, machine: Any = None, *, device: str = "GPU:0",
              from_processor: bool = False) -> Calibration:
    """Op times from a profile of the same step, made by torch.profiler with record_shapes=True and, so that modules
    are known, with_stack=True.

    profile  the file that `export_chrome_trace` wrote (.json, .json.gz): steps marked by `profiler.step()`, or one step
    graph    what `export` returned for the model, the optimizer and the shapes of that step
    machine  the machine to predict for: `device` of it, and every one of that kind and model, costs what was profiled.
             None: GPUs of the model that the profile names; of a profile without a GPU this computer
    device   which of it
    from_processor  whether times of a processor may stand for those of a GPU, which no profile of one has

    Raises ValueError for a profile without a step, and for one of a processor as costs of a GPU.
    """
    from lanescope import _core
    from lanescope.graph import as_graph
    from lanescope.machine import as_machine

    read = read_profile(profile)
    matches = [_match(graph, step) for step in read.steps if step]
    if not matches:
        raise ValueError(f"the profile '{profile}' holds no step; was it exported while the profiler was recording?")
    call_ns, unmatched = Counter(), Counter()
    for times, _, others, _ in matches:
        for number, ns in times.items():
            call_ns[number] += ns / len(matches)
        for name, ns in others.items():
            unmatched[name] += ns / len(matches)
    updates_ns = statistics.fmean(updates for _, updates, _, _ in matches)
    launches = {name: (signature, op, flops, size)
                for name, signature, op, flops, size in as_graph(graph)._core.launches()}
    if machine is None and read.device:
        cost_device = "cuda " + read.device
    else:
        cost_device = _core.cost_device(as_machine(machine)._core, device)
    kind, _, model = cost_device.partition(" ")
    if not read.device and kind in ("cuda", "logical", "modelled") and not from_processor:
        raise ValueError(f"the profile '{profile}' has no times of a GPU, and '{device}' is one ({model}); profile with "
                         "ProfilerActivity.CUDA, or say from_processor=True")
    entries = defaultdict(list)
    times = _node_times(graph, launches, call_ns, updates_ns)
    for name, ns in times.items():
        entries[launches[name]].append(ns)
    # What no op of PyTorch stands behind, as reading a parameter, takes none of its time.
    missed = {node for number, call in enumerate(graph.calls) for node in call.nodes
              if number not in call_ns and _plain_name(call.op) not in _VIEWS}
    for name, launch in launches.items():
        if name not in times and name not in missed and launch not in entries:
            entries[launch] = [0.0]
    rows = [(signature, op, cost_device, round(statistics.fmean(times)), round(max(times) - statistics.fmean(times)),
             len(times) * len(matches), flops, size) for (signature, op, flops, size), times in entries.items()]
    costs = json.loads(_core.cost_table(f"a profile of {read.device or 'the processor'}", sorted(rows)))
    matched = sum(call_ns.values()) + updates_ns
    return Calibration(costs, matched + sum(unmatched.values()), matched, unmatched, dict(call_ns),
                       read.device or cost_device, statistics.fmean(by_shape for *_, by_shape in matches))
