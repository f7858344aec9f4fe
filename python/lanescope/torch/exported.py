# SPDX-License-Identifier: Apache-2.0
"""A graph with its step, as files have it."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field

import numpy

FED = {"float16": "float32", "bfloat16": "float32", "int8": "int32", "int16": "int32"}  # what no feed may be


@dataclass(repr=False)
class Exported:
    """A graph with its step. `graph_def`: the GraphDef's bytes; `run`: its run configuration; `feeds`: by name the
    values of the example inputs; `cost_only`: how often which ATen op stands for its cost, for want of a kernel;
    `calls`: the ATen ops of the step with the nodes that stand for them; `modules`: by path the class of every module;
    `parameters`: by name the bytes of every parameter and buffer; `tied`: by their further names the first ones of
    those that have several; `updates`: the optimizer's nodes; `notes`: in what the graph differs from the model."""

    graph_def: bytes
    run: dict
    feeds: dict = field(default_factory=dict)
    cost_only: Counter = field(default_factory=Counter)
    calls: list = field(default_factory=list)
    modules: dict = field(default_factory=dict)
    updates: list = field(default_factory=list)
    parameters: dict = field(default_factory=dict)
    tied: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    def __repr__(self) -> str:
        by_cost = f", {sum(self.cost_only.values())} ops by cost alone" if self.cost_only else ""
        return f"<lanescope.torch.Exported: {len(self.graph_def)} bytes, {len(self.calls)} calls{by_cost}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `path`, which should end in .pb, with its run configuration and the values fed beside it."""
        stem = os.path.splitext(path)[0]
        run = dict(self.run, feeds=dict(self.run["feeds"]))
        for name, values in self.feeds.items():
            file = f"{stem}.{name}.npy"
            numpy.save(file, values)
            run["feeds"][name] = {"file": os.path.basename(file)}
        with open(path, "wb") as out:
            out.write(self.graph_def)
        with open(stem + ".run.json", "w", encoding="utf-8") as out:
            json.dump(run, out, indent=2)
            out.write("\n")
        with open(stem + ".modules.json", "w", encoding="utf-8") as out:
            out.write(self.modules_json())

    def modules_json(self) -> str:
        """What turns placements into those of other libraries: modules, parameters with their further names, and the
        order in which modules work; and by line of the model its nodes, for messages."""
        order = dict.fromkeys(call.module for call in self.calls if not call.module.startswith("gradients/"))
        lines = {}
        for call in self.calls:
            if call.line and call.nodes:
                lines.setdefault(call.line, []).extend(call.nodes)
        return json.dumps({"modules": self.modules, "parameters": self.parameters, "tied": self.tied, "order": list(order),
                           "lines": lines})
