# SPDX-License-Identifier: Apache-2.0
"""Machines: devices and the links between them."""

from __future__ import annotations

import json
import os
from typing import Any

from lanescope import _core


class Machine:
    """Devices and the links between them.

    Machine("dgx.json")         a machine file (docs/reference/machine-file.md), or a dict of its content
    Machine.here()              the GPUs of this computer if there are two or more, else two virtual ones
    Machine.physical()          the GPUs of this computer, however few
    Machine.virtual(2)          GPUs made of host threads
    Machine.make("dgx-h100:8")  nodes of GPUs as data sheets describe them, which need not be here
    machine.tasks("ps=a:1,worker=b:2")  so many tasks of that machine's devices each, on these hosts

    visible_devices, logical_devices, memory_fraction, memory_limit: as the options of the command line.
    """

    def __init__(self, source: Any = "", *, memory_fraction: float = 0.0, memory_limit: str = "",
                 visible_devices: str = "", logical_devices: str = ""):
        if isinstance(source, dict):
            self._core = _core.parse_machine(json.dumps(source))
        else:
            self._core = _core.load_machine(os.fspath(source), memory_fraction, memory_limit, visible_devices,
                                            logical_devices)

    @classmethod
    def here(cls, **options: Any) -> Machine:
        return cls("", **options)

    @classmethod
    def physical(cls, **options: Any) -> Machine:
        return cls("physical", **options)

    @classmethod
    def virtual(cls, gpus: int = 2, workers: int = 1) -> Machine:
        """CPU:0 and GPUs that are `workers` threads of the host each."""
        return _machine_of(_core.virtual_machine(gpus, workers).to_json())

    @classmethod
    def make(cls, text: str) -> Machine:
        """As `lanescope devices --make`: "dgx-a100:512,fat-tree,400Gb/s" is 512 GPUs of such nodes in such a network."""
        return _machine_of(_core.make_machine(text).to_json())

    def tasks(self, cluster: str) -> Machine:
        """As `--cluster`: the devices once for every task, joined by a network (docs/guides/clusters.md)."""
        return _machine_of(_core.machine_of_tasks(self._core, cluster).to_json())

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def devices(self) -> list[str]:
        """ "CPU:0", "GPU:0", ..."""
        return self._core.devices

    def to_dict(self) -> dict[str, Any]:
        """The content of a machine file."""
        return json.loads(self._core.to_json())

    def __reduce__(self):
        return _machine_of, (self._core.to_json(),)

    def __repr__(self) -> str:
        return f"<lanescope.Machine {self.name}: {', '.join(self.devices)}>"


def _machine_of(text: str) -> Machine:
    machine = Machine.__new__(Machine)
    machine._core = _core.parse_machine(text)
    return machine


def as_machine(machine: Any) -> Machine:
    return machine if isinstance(machine, Machine) else Machine(machine or "")
