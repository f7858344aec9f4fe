"""Graphs from PyTorch, and placements that go back."""

from lanescope.torch.export import Exported, export
from lanescope.torch.placements import device_map, fsdp_wraps, place_modules, split_points

__all__ = ["Exported", "device_map", "export", "fsdp_wraps", "place_modules", "split_points"]
