# SPDX-License-Identifier: Apache-2.0
"""Graphs from PyTorch, costs from its profiler, and placements that go back."""

from lanescope.torch.calibration import Calibration, calibrate
from lanescope.torch.export import Exported, export
from lanescope.torch.placements import device_map, fsdp_wraps, place_modules, split_points

__all__ = ["Calibration", "Exported", "calibrate", "device_map", "export", "fsdp_wraps", "place_modules", "split_points"]
