# SPDX-License-Identifier: Apache-2.0
"""The memory that a step is planned to take, beside what PyTorch's MemTracker counts of the same step."""

import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
tracker = pytest.importorskip("torch.distributed._tools.mem_tracker", reason="this PyTorch has no MemTracker")

from lanescope.torch import export  # noqa: E402
from torch_steps import lanescope  # noqa: E402

nn, functional = torch.nn, torch.nn.functional
HOST = {"name": "CPU:0", "kind": "host", "memory": "16GiB", "workers": 2}
GPU = {"name": "GPU:0", "kind": "modelled", "model": "NVIDIA H100-SXM5-80GB", "memory": "80GiB", "queue": "in-order"}
LINK = {"between": ["CPU:0", "GPU:0"], "bandwidth": "50GB/s", "latency": "10us"}


class Transformer(nn.Module):
    """Four layers over 256 positions, 8192 words."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(8192, 512)
        options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.layers = nn.Sequential(*[nn.TransformerEncoderLayer(512, 8, 2048, **options) for _ in range(4)])
        self.out = nn.Linear(512, 8192)

    def forward(self, x):
        return self.out(self.layers(self.words(x))).flatten(0, 1)


def convolutions(inputs, outputs):
    widths = [inputs, outputs, outputs, outputs]
    layers = [nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))
              for a, b in zip(widths, widths[1:])]
    return nn.Sequential(*layers, nn.MaxPool2d(2))


class Images(nn.Module):
    """Four blocks of three convolutions."""

    def __init__(self):
        super().__init__()
        widths = [3, 32, 64, 128, 256]
        self.blocks = nn.Sequential(*[convolutions(a, b) for a, b in zip(widths, widths[1:])])
        self.out = nn.Linear(256, 10)

    def forward(self, x):
        return self.out(self.blocks(x).mean((2, 3)))


def words():
    return Transformer(), torch.zeros(8, 256, dtype=torch.int64), torch.zeros(2048, dtype=torch.int64)


def images():
    return Images(), torch.zeros(16, 3, 128, 128), torch.zeros(16, dtype=torch.int64)


def counted_by_pytorch(make):
    """Bytes at the peak of the second step, in which the optimizer has its state."""
    with torch._subclasses.FakeTensorMode():
        model, x, y = make()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
        counted = tracker.MemTracker()
        counted.track_external(model, optimizer, x, y)
        with counted:
            for step in range(2):
                if step == 1:
                    counted.reset_mod_stats()
                functional.cross_entropy(model(x), y).backward()
                optimizer.step()
                optimizer.zero_grad()
        return counted.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"]


@pytest.mark.parametrize("make", [words, images], ids=lambda make: make.__name__)
def test_a_training_step_is_planned_within_five_percent_of_pytorchs_peak(make, tmp_path):
    with torch._subclasses.FakeTensorMode():
        model, x, y = make()
    exported = export(model, x, torch.optim.AdamW(model.parameters(), 1e-3), functional.cross_entropy, labels=(y,))
    exported.save(str(tmp_path / "model.pb"))
    (tmp_path / "machine.json").write_text(json.dumps({"name": "one", "devices": [HOST, GPU], "links": [LINK]}))
    planned = lanescope("simulate", tmp_path / "model.pb", "--strategy", "single", "--machine", tmp_path / "machine.json")
    assert max(planned["peak_bytes"].values()) == pytest.approx(counted_by_pytorch(make), rel=0.05)
