"""Placements as what PyTorch's own libraries take: Accelerate's device maps, the split points of
torch.distributed.pipelining, and lists of the modules that FSDP wraps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_DEVICE = re.compile(r"\b(GPU|CPU):(\d+)$", re.IGNORECASE)


def _local(device):
    """ "GPU:1" of any spelling of a device's name."""
    match = _DEVICE.search(device)
    if match is None:
        raise ValueError(f"'{device}' is the name of no device")
    return f"{match[1].upper()}:{int(match[2])}"


def _default_device(device):
    kind, number = device.split(":")
    return int(number) if kind == "GPU" else "cpu"


class _Modules:
    """Modules with their parameters, and where those lie."""

    def __init__(self, exported, placement: Mapping[str, str]):
        self.kinds = exported.modules
        self.bytes = exported.parameters
        self.device = {}
        for name in exported.parameters:
            node = name.replace(".", "/")
            if node not in placement:
                raise ValueError(f"the placement does not name the node '{node}'; is it one of this export?")
            self.device[name] = _local(placement[node])
        self.order = {}
        for call in exported.calls:
            path = call.module.removeprefix("model.")
            while path and path not in self.order and not call.module.startswith("gradients/"):
                self.order[path] = len(self.order)
                path = path.rpartition(".")[0]

    def below(self, path):
        return [name for name in self.device if not path or name.startswith(path + ".")]

    def children(self, path):
        depth = path.count(".") + 1 if path else 0
        return [each for each in self.kinds
                if each and each.count(".") == depth and (not path or each.startswith(path + "."))]

    def main_device(self, path):
        sizes = {}
        for name in self.below(path):
            sizes[self.device[name]] = sizes.get(self.device[name], 0) + self.bytes[name]
        return max(sizes, key=lambda device: (sizes[device], device))

    def on_one_device(self, path, whole):
        """(module or parameter, device): modules as large as they can be. `whole`: classes that are not cut."""
        names = self.below(path)
        if not names:
            return
        if len({self.device[name] for name in names}) == 1 or self.kinds.get(path) in whole:
            yield path, self.main_device(path)
            return
        children = self.children(path)
        for child in children:
            yield from self.on_one_device(child, whole)
        for name in names:
            if not any(name.startswith(child + ".") for child in children):
                yield name, self.device[name]


def place_modules(exported, devices: Mapping[str, str]):
    """A placement by hand: by module its device, which those inside it share unless they have their own, going forward
    and going back. Returns a mapping from nodes to devices, which every `strategy` takes.

        place_modules(exported, {"blocks.2": "GPU:1", "blocks.3": "GPU:1"})
    """

    def device_of(path):
        while path not in devices and path:
            path = path.rpartition(".")[0]
        return devices.get(path)

    owners = [(node, call.module.removeprefix("gradients/").removeprefix("model."))
              for call in exported.calls for node in call.nodes]
    owners += [(name.replace(".", "/"), name.rpartition(".")[0]) for name in exported.parameters]
    return {node: device for node, path in owners if (device := device_of(path)) is not None}


def device_map(exported, placement, *, no_split: Iterable[str] = (), devices=None):
    """A device map of Accelerate: by module where its parameters lie, and so where it works.

    exported   what `export` returned
    placement  of its graph: `lanescope.place`'s, or `SearchResult.placement`
    no_split   classes whose modules stay whole (`model._no_split_modules`): each goes where most of its bytes lie
    devices    by "GPU:0", "CPU:0" what the map calls them; None: 0, "cpu"
    """
    found = dict(_Modules(exported, placement).on_one_device("", set(no_split)))
    called = devices or {}
    return {path: called.get(device, _default_device(device)) for path, device in found.items()}


def split_points(exported, placement, *, no_split: Iterable[str] = ()):
    """The modules before which a pipeline is cut, in the order in which they work: for
    `torch.distributed.pipelining.pipeline(..., split_spec={name: SplitPoint.BEGINNING for name in ...})`.

    Throws ValueError where a placement comes back to a device that it has left: a pipeline cannot.
    """
    modules = _Modules(exported, placement)
    parts = [(path, device) for path, device in modules.on_one_device("", set(no_split)) if path in modules.order]
    parts.sort(key=lambda part: min(modules.order[each] for each in modules.order
                                    if each == part[0] or each.startswith(part[0] + ".")))
    points, left, now = [], set(), None
    for path, device in parts:
        if device == now:
            continue
        if device in left:
            raise ValueError(f"the placement comes back to {device} at '{path}', which no pipeline does; "
                             "place by 'pipeline' or name the blocks that stay whole in no_split")
        if now is not None:
            points.append(path)
            left.add(now)
        now = device
    return points


def fsdp_wraps(exported, placement=None):
    """The modules that FSDP (`fully_shard`, or a lambda policy) wraps beside the root: blocks that repeat, the outermost
    of each kind; with a placement those that lie on several devices give way to their parts that lie on one."""
    wraps = []
    modules = _Modules(exported, placement or {name.replace(".", "/"): "GPU:0" for name in exported.parameters})

    def visit(path):
        for child in modules.children(path):
            if not modules.below(child):
                continue
            alike = [each for each in modules.children(path) if modules.kinds[each] == modules.kinds[child]]
            if modules.kinds.get(path) in ("ModuleList", "Sequential", "ModuleDict") and len(alike) > 1:
                wraps.extend(part for part, _ in modules.on_one_device(child, set()) if part in modules.kinds)
            else:
                visit(child)

    visit("")
    return wraps


FORMATS = {"device-map": device_map, "split-points": split_points, "fsdp": fsdp_wraps}
