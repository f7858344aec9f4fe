# SPDX-License-Identifier: Apache-2.0
"""Placement of computation graphs on many devices, measured and simulated.

    import lanescope

    graph = lanescope.Graph("model.pb")
    machine = lanescope.Machine.virtual(gpus=2)
    lanescope.compare(graph, machine, ["single", "alternating"])

`lanescope.torch` makes graphs of PyTorch programs.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what __getattr__ below imports when it is first asked for
    from lanescope._core import Error as Error
    from lanescope._core import __version__ as __version__
    from lanescope.comparison import Comparison as Comparison
    from lanescope.comparison import compare as compare
    from lanescope.graph import Graph as Graph
    from lanescope.machine import Machine as Machine
    from lanescope.placement import Placement as Placement
    from lanescope.placement import place as place
    from lanescope.plans import FoundPlans as FoundPlans
    from lanescope.plans import Plan as Plan
    from lanescope.plans import PlanReport as PlanReport
    from lanescope.plans import search_plans as search_plans
    from lanescope.prediction import Prediction as Prediction
    from lanescope.prediction import Predictor as Predictor
    from lanescope.prediction import Sweep as Sweep
    from lanescope.prediction import simulate as simulate
    from lanescope.prediction import sweep as sweep
    from lanescope.searching import SearchResult as SearchResult
    from lanescope.searching import search as search
    from lanescope.session import RunResult as RunResult
    from lanescope.session import Session as Session
    from lanescope.session import run as run
    from lanescope.trace import Trace as Trace

# A build puts the compiled module in another folder than these files.
__path__ = pkgutil.extend_path(__path__, __name__)

_WHERE = {
    "Error": "_core", "__version__": "_core",
    "Graph": "graph", "Machine": "machine",
    "Placement": "placement", "place": "placement",
    "FoundPlans": "plans", "Plan": "plans", "PlanReport": "plans", "search_plans": "plans",
    "Predictor": "prediction", "Prediction": "prediction", "Sweep": "prediction", "simulate": "prediction",
    "sweep": "prediction",
    "SearchResult": "searching", "search": "searching",
    "Comparison": "comparison", "compare": "comparison",
    "Session": "session", "run": "session", "RunResult": "session",
    "Trace": "trace",
}

__all__ = sorted(name for name in _WHERE if not name.startswith("_"))


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'lanescope' has no attribute '{name}'")
    return getattr(importlib.import_module(f"lanescope.{_WHERE[name]}"), name)


def __dir__():
    return sorted([*globals(), *_WHERE])
