# SPDX-License-Identifier: Apache-2.0
"""Plans of parallelism for training steps of transformers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from lanescope import _core
from lanescope.prediction import Report

Model = str | os.PathLike | Mapping[str, Any]


def _asked(model: Model) -> tuple[str, str]:
    """A model's name or file, and the JSON text of a shape that is given as a mapping."""
    if isinstance(model, Mapping):
        return str(model.get("name", "model")), json.dumps(dict(model))
    return os.fspath(model), ""


class Plan:
    """How a training step is laid out over GPUs: `Plan("dp=4,tp=2,shard=fsdp2,micro=8")` or `Plan(dp=4, tp=2, sp=True)`.

    The keys are in docs/reference/plans.md. Raises lanescope.Error for what is no plan.
    """

    def __init__(self, text: str = "", **keys: Any):
        parts = [text] if text else []
        for key, value in keys.items():
            name = key.replace("_", "-")
            if value is True:
                parts.append(name)
            elif value is not False:
                parts.append(f"{name}={value}")
        self._text = _core.plan_text(",".join(parts))

    def __getitem__(self, key: str) -> str:
        """The value of a key as text; of one that stands alone its name. KeyError for a default that is not said."""
        return dict((part.partition("=")[0], part.partition("=")[2] or part) for part in self._text.split(","))[key]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"lanescope.Plan({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def simulate(self, model: Model, machine: str, global_batch: int, sequence: int | None = None, *,
                 trace: str | os.PathLike | None = None) -> PlanReport:
        """The step of a model, time and memory, on a machine by name ("dgx-h100:64").

        model         a name ("llama-3-8b"), a .json file or a mapping with the shape, or a graph of the model
        global_batch  sequences of a step, of `sequence` tokens; None: as many as the graph has, or else 4096
        trace         a trace to which the step is appended as a simulated run, with a GPU of each stage
        """
        name, shape = _asked(model)
        return PlanReport(json.loads(_core.plan_report(name, shape, self._text, machine, float(global_batch),
                                                       float(sequence or 0), os.fspath(trace or ""))))


class PlanReport(Report):
    """What `lanescope simulate MODEL --plan PLAN --json` prints."""

    @property
    def plan(self) -> Plan:
        return Plan(self["plan"])

    @property
    def step_ns(self) -> int:
        return self["step_ns"]["value"]

    def __repr__(self) -> str:
        return f"<lanescope.PlanReport {self.step_ns / 1e6:.3f} ms by {self['plan']}>"


class FoundPlans(Report):
    """What `lanescope search MODEL --plans --json` prints."""

    @property
    def plan(self) -> Plan:
        """The best that was found."""
        return Plan(self["best"]["plan"])

    @property
    def step_ns(self) -> int:
        return self["best"]["step_ns"]["value"]

    def __repr__(self) -> str:
        return f"<lanescope.FoundPlans {self.step_ns / 1e6:.3f} ms by {self['best']['plan']}>"


def search_plans(model: Model, machine: str, global_batch: int, sequence: int | None = None, *, precision: str = "bf16",
                 kernels: str = "compiled", loss: str = "plain") -> FoundPlans:
    """Looks for the plan with the shortest predicted step that fits the memory of the machine's GPUs.

    The arguments are those of `Plan.simulate`.
    """
    name, shape = _asked(model)
    return FoundPlans(json.loads(_core.search_plans(name, shape, machine, float(global_batch), float(sequence or 0), precision,
                                                    kernels, loss)))
