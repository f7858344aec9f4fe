# SPDX-License-Identifier: Apache-2.0
"""Graphs from PyTorch, costs from its profiler, and placements that go back."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what __getattr__ below imports when it is first asked for: read_program does without PyTorch
    from lanescope.torch.calibration import Calibration as Calibration
    from lanescope.torch.calibration import calibrate as calibrate
    from lanescope.torch.exporting import export as export
    from lanescope.torch.exported import Exported as Exported
    from lanescope.torch.placements import device_map as device_map
    from lanescope.torch.placements import fsdp_wraps as fsdp_wraps
    from lanescope.torch.placements import place_modules as place_modules
    from lanescope.torch.placements import split_points as split_points
    from lanescope.torch.program import read_program as read_program

_WHERE = {
    "Calibration": "calibration", "calibrate": "calibration",
    "Exported": "exported", "export": "exporting", "read_program": "program",
    "device_map": "placements", "fsdp_wraps": "placements", "place_modules": "placements", "split_points": "placements",
}

__all__ = sorted(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'lanescope.torch' has no attribute '{name}'")
    return getattr(importlib.import_module(f"lanescope.torch.{_WHERE[name]}"), name)


def __dir__():
    return sorted([*globals(), *_WHERE])
