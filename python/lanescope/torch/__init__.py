"""Graphs from PyTorch."""

from lanescope.torch.export import Exported, export

__all__ = ["Exported", "export"]
