# SPDX-License-Identifier: Apache-2.0
"""A PyTorch model: exported, calibrated on its own profile, placed on two GPUs, and the placement back in PyTorch.

    python samples/python/from_pytorch.py
"""

import pathlib
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, schedule

import lanescope
import lanescope.torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(width), torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Model(torch.nn.Module):
    def __init__(self, width=256, depth=4, classes=10):
        super().__init__()
        self.blocks = torch.nn.Sequential(*(Block(width) for _ in range(depth)))
        self.out = torch.nn.Linear(width, classes)

    def forward(self, x):
        return self.out(self.blocks(x))


def main():
    torch.manual_seed(0)
    model, loss = Model(), torch.nn.functional.cross_entropy
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    x, y = torch.randn(256, 256), torch.randint(0, 10, (256,))
    exported = lanescope.torch.export(model, x, optimizer, loss, labels=(y,))

    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "profile.json")
        steps = schedule(wait=0, warmup=2, active=3, repeat=1)
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True, schedule=steps) as profiler:
            for _ in range(5):
                optimizer.zero_grad()
                loss(model(x), y).backward()
                optimizer.step()
                profiler.step()
        profiler.export_chrome_trace(path)
        machine = lanescope.Machine.virtual(gpus=2)
        calibration = lanescope.torch.calibrate(path, exported, machine)
    print(calibration)

    graph = lanescope.Graph(exported)
    halves = lanescope.torch.place_modules(exported, {"": "GPU:0", "blocks.2": "GPU:1", "blocks.3": "GPU:1", "out": "GPU:1"})
    for name, strategy in (("one GPU", "single"), ("halves", halves)):
        print(name, lanescope.simulate(graph, machine, strategy, costs=calibration))
    placement = lanescope.place(graph, machine, halves)
    print("split points:", lanescope.torch.split_points(exported, placement))
    print("device map:", lanescope.torch.device_map(exported, placement, no_split=["Block"]))
    print("FSDP wraps:", lanescope.torch.fsdp_wraps(exported))


if __name__ == "__main__":
    main()
