"""Placement of computation graphs on many devices, measured and simulated.

    import lanescope

    graph = lanescope.Graph("model.pb")
    machine = lanescope.Machine.virtual(gpus=2)
    lanescope.compare(graph, machine, ["single", "alternating"])

`lanescope.torch` makes graphs of PyTorch programs.
"""

import importlib
import pkgutil

# A build puts the compiled module in another folder than these files.
__path__ = pkgutil.extend_path(__path__, __name__)

_WHERE = {
    "Error": "_core", "__version__": "_core",
    "Graph": "graph", "Machine": "machine",
    "Placement": "placement", "place": "placement",
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
