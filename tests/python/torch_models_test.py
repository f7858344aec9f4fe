"""Models as people have them, at full size: minutes and 10 GiB of memory, so only where LANESCOPE_FULL_MODELS is set.

    LANESCOPE_FULL_MODELS=1 LANESCOPE=build/release/bin/lanescope PYTHONPATH=python:build/release/python \\
      python -m pytest tests/python/torch_models_test.py
"""

import copy
import json
import os
import pathlib
import subprocess

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not os.environ.get("LANESCOPE_FULL_MODELS"):
    pytest.skip("full-size models run with LANESCOPE_FULL_MODELS=1", allow_module_level=True)

from lanescope.torch import export  # noqa: E402

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


def run(exported, folder, steps):
    machine = json.loads(MACHINE.read_text())
    for device in machine["devices"]:
        device["memory"] = "12GiB"
    (folder / "machine.json").write_text(json.dumps(machine))
    exported.save(str(folder / "model.pb"))
    done = subprocess.run([os.environ["LANESCOPE"], "run", str(folder / "model.pb"), "--machine", str(folder / "machine.json"), "--steps",
                           str(steps), "--warmup", "0", "--save-fetches", str(folder / "f")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "f"


@pytest.mark.parametrize("make", [lstm, gpt2, bert], ids=lambda make: make.__name__)
def test_three_steps_have_pytorchs_losses(make, tmp_path):
    torch.manual_seed(1)
    model, x, rows, classes = make()
    y, loss = torch.randint(0, classes, (rows,)), nn.functional.cross_entropy
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    exported = export(model, x, optimizer, loss, labels=(y,), keep_values=True)
    assert not exported.cost_only
    assert {name for name, _ in model.named_parameters()} <= set(exported.parameters)
    theirs = []
    for _ in range(3):
        value = loss(model(x), y)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        theirs.append(value.item())
    folder = run(exported, tmp_path, 3)
    ours = [float(numpy.load(folder / f"step{step:06}_loss_0.npy")) for step in range(3)]
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_resnet50_trains_three_steps_in_double_precision(tmp_path):
    """Where rounding does not decide, every loss is PyTorch's: the arithmetic, the statistics and the updates are."""
    torch.manual_seed(1)
    model, x, rows, classes = resnet50()
    model, x, y, loss = model.double(), x.double(), torch.randint(0, classes, (rows,)), nn.functional.cross_entropy
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    exported = export(model, x, optimizer, loss, labels=(y,), keep_values=True)
    assert not exported.cost_only
    theirs = []
    for _ in range(3):
        value = loss(model(x), y)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        theirs.append(value.item())
    folder = run(exported, tmp_path, 3)
    ours = [float(numpy.load(folder / f"step{step:06}_loss_0.npy")) for step in range(3)]
    assert ours == pytest.approx(theirs, rel=1e-7)


def test_resnet50_has_gradients_as_good_as_pytorchs(tmp_path):
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
    folder = run(exported, tmp_path, 1)

    def distance(of):
        return max(((of[name].double() - value).norm() / value.norm()).item() for name, value in exact.items()
                   if name.endswith("weight"))

    ours = {name: torch.from_numpy(numpy.load(folder / f"step000000_gradients_{name.replace('.', '_')}_0.npy")) for name in exact}
    assert distance(ours) < 2 * distance(theirs)
