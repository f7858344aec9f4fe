# SPDX-License-Identifier: Apache-2.0
"""Placements as what PyTorch's own libraries take: Accelerate's device maps, the split points of
torch.distributed.pipelining, and lists of the modules that FSDP wraps. `lanescope place` and `search` print the same
with --format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lanescope.torch.exported import Exported


def place_modules(exported: Exported, devices: Mapping[str, str]) -> dict[str, str]:
    """A placement by hand: by module its device, which those inside it share unless they have their own, going forward
    and going back. Nodes that no kernel of the device computes, as padding of integers, are on the host beside it. Returns
    a mapping from nodes to devices, which every `strategy` takes.

        place_modules(exported, {"blocks.2": "GPU:1", "blocks.3": "GPU:1"})
    """

    from lanescope import _core

    def device_of(path):
        while path not in devices and path:
            path = path.rpartition(".")[0]
        return devices.get(path)

    owners = [(node, call.module.removeprefix("gradients/")) for call in exported.calls for node in call.nodes]
    owners += [(name.replace(".", "/"), name.rpartition(".")[0]) for name in exported.parameters]
    placed = {node: device for node, path in owners if (device := device_of(path)) is not None}
    return _core.with_nodes_of_hosts(exported.graph_def, placed)


def _default_device(device):
    if "/" in device:
        raise ValueError(f"a device map is of one process, and '{device}' is a device of another one; say in `devices` "
                         "what the map calls it")
    kind, number = device.split(":")
    return int(number) if kind == "GPU" else "cpu"


def device_map(exported: Exported, placement: Mapping[str, str], *, no_split: Iterable[str] = (),
               devices: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A device map of Accelerate: by module where its parameters lie, and so where it works.

    exported   what `export` returned
    placement  of its graph: `lanescope.place`'s; or `SearchResult.placement`, of which the best map of whole modules that
               the search found is taken, never slower than one GPU
    no_split   classes whose modules stay whole (`model._no_split_modules`): each goes where most of its bytes lie
    devices    by "GPU:0", "CPU:0" what the map calls them; None: 0, "cpu"
    """
    from lanescope import _core

    called = devices or {}
    placement = getattr(placement, "by_modules", None) or placement
    parts = _core.module_parts(exported.modules_json(), dict(placement), set(no_split))
    return {path: called[device] if device in called else _default_device(device) for path, device in parts}


def split_points(exported: Exported, placement: Mapping[str, str], *, no_split: Iterable[str] = ()) -> list[str]:
    """The modules before which a pipeline is cut, in the order in which they work: for
    `torch.distributed.pipelining.pipeline(..., split_spec={name: SplitPoint.BEGINNING for name in ...})`.

    Raises lanescope.Error where a placement comes back to a device that it has left: a pipeline cannot.
    """
    from lanescope import _core

    placement = getattr(placement, "by_cuts", None) or placement
    return _core.split_points(exported.modules_json(), dict(placement), set(no_split))


def fsdp_wraps(exported: Exported, placement: Mapping[str, str] | None = None) -> list[str]:
    """The modules that FSDP (`fully_shard`, or a lambda policy) wraps beside the root: blocks that repeat, the outermost
    of each kind; with a placement those that lie on several devices give way to their parts that lie on one."""
    from lanescope import _core

    if placement is None:
        placement = {name.replace(".", "/"): "GPU:0" for name in exported.parameters}
    return _core.fsdp_wraps(exported.modules_json(), dict(placement))
