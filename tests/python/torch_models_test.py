# SPDX-License-Identifier: Apache-2.0
"""Models as people have them, at full size: minutes and 10 GiB of memory, so only where LANESCOPE_FULL_MODELS is set.

    LANESCOPE_FULL_MODELS=1 LANESCOPE=build/release/bin/lanescope PYTHONPATH=python:build/release/python \\
      python -m pytest tests/python/torch_models_test.py
"""

import copy
import json
import os
import pathlib
import resource

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not os.environ.get("LANESCOPE_FULL_MODELS"):
    pytest.skip("full-size models run with LANESCOPE_FULL_MODELS=1", allow_module_level=True)

from lanescope.torch import device_map, export, place_modules, split_points  # noqa: E402
from torch_steps import losses, losses_of_pytorch, run  # noqa: E402

nn = torch.nn
MACHINE = pathlib.Path(__file__).parent.parent.parent / "samples" / "machines" / "two-virtual-gpus.json"


class Logits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).logits.flatten(0, -2)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cells, self.out = nn.Embedding(10000, 512), nn.LSTM(512, 1024, 2, batch_first=True), nn.Linear(1024, 10000)

    def forward(self, x):
        return self.out(self.cells(self.words(x))[0]).flatten(0, 1)


def bert():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(attn_implementation="eager", num_labels=2, pad_token_id=None)
    return Logits(transformers.BertForSequenceClassification(config)).eval(), torch.randint(1, 30522, (2, 32)), 2, 2


def gpt2():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(attn_implementation="eager", use_cache=False)
    return Logits(transformers.GPT2LMHeadModel(config)).eval(), torch.randint(0, 50257, (1, 32)), 32, 50257


def lstm():
    return Words(), torch.randint(0, 10000, (4, 16)), 64, 10000


def resnet50():
    torchvision = pytest.importorskip("torchvision")
    return torchvision.models.resnet50(weights=None, num_classes=10), torch.randn(4, 3, 96, 96), 4, 10


@pytest.fixture(name="machine")
def large_machine(tmp_path):
    """Two devices with memory for any of the models."""
    machine = json.loads(MACHINE.read_text())
    for device in machine["devices"]:
        device["memory"] = "12GiB"
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    return "--machine", tmp_path / "machine.json"


@pytest.mark.parametrize("make", [lstm, gpt2, bert], ids=lambda make: make.__name__)
def test_three_steps_have_pytorchs_losses(make, machine, tmp_path):
    torch.manual_seed(1)
    model, x, rows, classes = make()
    y, loss = torch.randint(0, classes, (rows,)), nn.functional.cross_entropy
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    exported = export(model, x, optimizer, loss, labels=(y,), keep_values=True)
    assert not exported.cost_only
    assert {name for name, _ in model.named_parameters()} <= set(exported.parameters)
    theirs = losses_of_pytorch(model, optimizer, loss, x, y)
    assert losses(run(exported, tmp_path, 3, *machine)) == pytest.approx(theirs, rel=1e-4)


def test_resnet50_trains_three_steps_in_double_precision(machine, tmp_path):
    """Where rounding does not decide, every loss is PyTorch's: the arithmetic, the statistics and the updates are."""
    torch.manual_seed(1)
    model, x, rows, classes = resnet50()
    model, x, y, loss = model.double(), x.double(), torch.randint(0, classes, (rows,)), nn.functional.cross_entropy
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    exported = export(model, x, optimizer, loss, labels=(y,), keep_values=True)
    assert not exported.cost_only
    theirs = losses_of_pytorch(model, optimizer, loss, x, y)
    assert losses(run(exported, tmp_path, 3, *machine)) == pytest.approx(theirs, rel=1e-7)


def test_resnet50_has_gradients_as_good_as_pytorchs(machine, tmp_path):
    """In single precision fresh weights and few images make its gradients badly conditioned: rounding alone moves them by
    a percent, and the loss of the second step with them. So ours are held to the exact ones (float64), and may be at most
    twice as far from them as PyTorch's own are."""
    torch.manual_seed(1)
    model, x, rows, classes = resnet50()
    y = torch.randint(0, classes, (rows,))

    def gradients(of, images):
        loss = nn.functional.cross_entropy(of(images), y)
        return dict(zip(dict(of.named_parameters()), torch.autograd.grad(loss, list(of.parameters()))))

    exported = export(model, x, None, nn.functional.cross_entropy, labels=(y,), keep_values=True)
    exact = gradients(copy.deepcopy(model).double(), x.double())
    theirs = gradients(copy.deepcopy(model), x)
    folder = run(exported, tmp_path, 1, *machine)

    def distance(of):
        return max(((of[name].double() - value).norm() / value.norm()).item() for name, value in exact.items()
                   if name.endswith("weight"))

    ours = {name: torch.from_numpy(numpy.load(folder / f"step000000_gradients_{name.replace('.', '_')}_0.npy")) for name in exact}
    assert distance(ours) < 2 * distance(theirs)


@pytest.mark.parametrize("make", [gpt2, bert, resnet50], ids=lambda make: make.__name__)
def test_two_gpus_that_hold_it_together_are_searched_and_accelerate_loads_what_was_found(make, tmp_path):
    lanescope = pytest.importorskip("lanescope")
    pytest.importorskip("lanescope._core", reason="the module of the package is not built (it needs nanobind)")
    accelerate = pytest.importorskip("accelerate")
    torch.manual_seed(1)
    model, x, *_ = make()
    model.eval()
    exported = export(model, x, keep_values=False)
    # Each has memory for seven tenths of the parameters, so that the other one is needed; filters of images are turned
    # around in the step, which takes as much again.
    size = sum(exported.parameters.values()) * (17 if make is resnet50 else 7) // 10
    gpu = {"kind": "modelled", "model": "NVIDIA A100", "memory": f"{size}B"}
    host = {"name": "CPU:0", "kind": "host", "memory": f"{size // 4}B", "workers": 2}
    machine = lanescope.Machine({"name": "two", "devices": [host, {"name": "GPU:0", **gpu}, {"name": "GPU:1", **gpu}], "links": [
        {"between": ["CPU:0", f"GPU:{i}"], "bandwidth": "10GB/s", "latency": "10us"} for i in (0, 1)]})
    found = lanescope.search(exported, machine, rounds=1, restarts=1, threads=1, budget_s=600)
    simulated = lanescope.simulate(exported, machine, found.placement)
    assert simulated.step_ns == found.step_ns
    devices = device_map(exported, found.placement, devices={"GPU:0": "cpu", "GPU:1": "disk"})
    assert set(devices.values()) == {"cpu", "disk"}
    want = model(x)
    accelerate.dispatch_model(model, devices, offload_dir=str(tmp_path))
    assert torch.equal(model(x), want)


@pytest.fixture(name="bfloat16")
def default_bfloat16():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    yield
    torch.set_default_dtype(before)


@pytest.mark.usefixtures("bfloat16")
def test_a_training_step_of_seventy_billion_parameters_takes_little_memory():
    lanescope = pytest.importorskip("lanescope")
    pytest.importorskip("lanescope._core", reason="the module of the package is not built (it needs nanobind)")
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(vocab_size=128256, hidden_size=8192, intermediate_size=28672, num_hidden_layers=80,
                                      num_attention_heads=64, num_key_value_heads=8, attn_implementation="eager",
                                      use_cache=False)
    with torch._subclasses.FakeTensorMode():
        model = Logits(transformers.LlamaForCausalLM(config))
        x, y = torch.zeros(1, 4096, dtype=torch.int64), torch.zeros(4096, dtype=torch.int64)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    exported = export(model, x, torch.optim.AdamW(model.parameters(), 1e-4), nn.functional.cross_entropy, labels=(y,))
    assert sum(parameter.numel() for parameter in model.parameters()) > 70e9
    assert len(exported.graph_def) < 100 << 20
    # Sixteen GPUs of 80 GiB hold it, five layers each.
    machine = lanescope.Machine.make("dgx-h100:16")
    gpus = [device for device in machine.devices if "GPU" in device]
    by_module = {"": gpus[0], "model.model.norm": gpus[-1], "model.lm_head": gpus[-1]}
    by_module |= {f"model.model.layers.{number}": gpus[number // 5] for number in range(80)}
    placement = lanescope.place(exported, machine, place_modules(exported, by_module))
    assert split_points(exported, placement) == [f"model.model.layers.{number}" for number in range(5, 80, 5)]
    assert lanescope.simulate(exported, machine, placement).step_ns > 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4 << 20  # KiB
