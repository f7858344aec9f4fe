# SPDX-License-Identifier: Apache-2.0
"""Graphs exported from PyTorch compute what PyTorch computes, run by the program LANESCOPE."""

import collections

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import export  # noqa: E402
from torch_steps import lanescope, losses, losses_of_pytorch, run  # noqa: E402

nn = torch.nn


def train(model, optimizer, loss, x, y, folder):
    """Losses of three steps, ours and PyTorch's, and what was exported."""
    exported = export(model, x, optimizer, loss, labels=(y,))
    theirs = losses_of_pytorch(model, optimizer, loss, x, y)
    return losses(run(exported, folder, 3)), theirs, exported


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 5, 2, 2, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
                                   nn.MaxPool2d(3, 2, 1))
        self.second = nn.Sequential(nn.Conv2d(4, 4, 3, 1, 1), nn.BatchNorm2d(4))
        self.out = nn.Linear(4, 5)

    def forward(self, x):
        x = self.first(x)
        y = self.second(x)
        y += x
        return self.out(y.mean((2, 3)))


class Signals(nn.Module):
    """Batch normalization of what has two axes, three and four, and filters of single channels."""

    def __init__(self):
        super().__init__()
        self.images = nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1, groups=3), nn.BatchNorm2d(6), nn.Hardswish())
        self.alone = nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False)
        self.rows, self.out = nn.BatchNorm1d(6), nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5, affine=False))

    def forward(self, x):
        return self.out(self.rows(self.alone(self.images(x)).flatten(2)).mean(2))


class Instances(nn.Module):
    """Norms that keep no statistics."""

    def __init__(self):
        super().__init__()
        self.first, self.norms = nn.Conv2d(3, 4, 3, 2, bias=False), nn.Sequential(nn.InstanceNorm2d(4), nn.InstanceNorm2d(4, affine=True))
        self.out = nn.Linear(4, 5)

    def forward(self, x):
        return self.out(self.norms(self.first(x)).relu().mean((2, 3)))


class Tied(nn.Module):
    """An attention whose input and output words are one table."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 11, bias=False)
        self.out.weight = self.words.weight

    def forward(self, x):
        x = self.words(x)
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (6, 4)).transpose(1, 2).split(2, dim=1)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(nn.functional.gelu(x + y.transpose(1, 2).flatten(2))).flatten(0, 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(3, 4, batch_first=True)
        self.out = nn.Linear(4, 5)

    def forward(self, x):
        return self.out(self.cells(x)[0][:, -1])


CASES = {
    "images": (Images, lambda: torch.randn(2, 3, 16, 16), (2, 5),
               lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01)),
    "signals": (Signals, lambda: torch.randn(4, 3, 8, 8), (4, 5), lambda p: torch.optim.SGD(p, 0.1)),
    "instances": (Instances, lambda: torch.randn(2, 3, 9, 9), (2, 5), lambda p: torch.optim.SGD(p, 0.1)),
    "tied": (Tied, lambda: torch.randint(0, 11, (2, 3)), (6, 11), lambda p: torch.optim.AdamW(p, 0.01)),
    "recurrent": (Recurrent, lambda: torch.randn(2, 3, 3), (2, 5), lambda p: torch.optim.Adam(p, 0.01)),
}


def test_what_is_exported_has_a_short_name():
    exported = export(nn.Linear(64, 64), torch.ones(2, 64))
    assert repr(exported) == f"<lanescope.torch.Exported: {len(exported.graph_def)} bytes, {len(exported.calls)} calls>"


@pytest.mark.parametrize("case", CASES)
def test_trains_like_pytorch(case, tmp_path):
    make, inputs, (rows, classes), optimizer = CASES[case]
    torch.manual_seed(1)
    model = make()
    x, y = inputs(), torch.randint(0, classes, (rows,))
    ours, theirs, exported = train(model, optimizer(model.parameters()), nn.functional.cross_entropy, x, y, tmp_path)
    assert ours == pytest.approx(theirs, rel=1e-5)
    assert exported.cost_only == collections.Counter()
    nodes = {node["name"] for node in lanescope("place", tmp_path / "model.pb")["nodes"]}
    assert {name.replace(".", "/") for name in model.state_dict() if name in exported.parameters} <= nodes
    assert set(exported.parameters) == {name for name in model.state_dict() if (case, name) != ("tied", "out.weight")}
    assert any(name.startswith("gradients/out/") for name in nodes)


@pytest.mark.parametrize("case", ["images", "signals"])
def test_double_precision_stays_double(case, tmp_path):
    """What rounding makes different in single precision is the same here to ten digits."""
    make, inputs, (rows, classes), optimizer = CASES[case]
    torch.manual_seed(1)
    model, x, y = make().double(), inputs().double(), torch.randint(0, classes, (rows,))
    ours, theirs, exported = train(model, optimizer(model.parameters()), nn.functional.cross_entropy, x, y, tmp_path)
    assert ours == pytest.approx(theirs, rel=1e-10)
    assert exported.cost_only == collections.Counter()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 3e-2), (torch.float16, 4e-3)])
@pytest.mark.parametrize("case", ["images", "tied"])
def test_small_floats_train_too(case, dtype, tolerance, tmp_path):
    make, inputs, (rows, classes), optimizer = CASES[case]
    torch.manual_seed(1)
    model, x, y = make().to(dtype), inputs(), torch.randint(0, classes, (rows,))
    x = x.to(dtype) if x.is_floating_point() else x
    ours, theirs, exported = train(model, torch.optim.SGD(model.parameters(), 0.05), nn.functional.cross_entropy, x, y, tmp_path)
    assert ours == pytest.approx(theirs, rel=tolerance)
    assert exported.cost_only == collections.Counter()


@pytest.mark.parametrize("optimizer", [
    lambda p: torch.optim.AdamW(p, 0.05, weight_decay=0.1), lambda p: torch.optim.Adam(p, 0.05, weight_decay=0.1),
    lambda p: torch.optim.SGD(p, 0.5, momentum=0.9, nesterov=True, weight_decay=0.01)], ids=["AdamW", "Adam", "SGD"])
def test_bfloat16_trains_with_what_it_has_no_numbers_for(optimizer, tmp_path):
    """0.999 and 1 are one number in bfloat16, and GPUs have no update ops of it: nothing of the step goes to the host."""
    make, inputs, (rows, classes), _ = CASES["tied"]
    torch.manual_seed(1)
    model, x, y = make().bfloat16(), inputs(), torch.randint(0, classes, (rows,))
    ours, theirs, _ = train(model, optimizer(model.parameters()), nn.functional.cross_entropy, x, y, tmp_path)
    assert ours == pytest.approx(theirs, rel=3e-2)
    assert ours[2] < 0.9 * ours[0]
    lanescope("devices", "--make", "dgx-h100:8", "-o", tmp_path / "dgx.json")
    placed = lanescope("place", tmp_path / "model.pb", "--machine", tmp_path / "dgx.json", "--strategy", "single")["nodes"]
    assert {node["op"] for node in placed if node["device"].endswith("CPU:0")} <= {"Placeholder", "Const"}


def test_frozen_statistics_are_not_trained(tmp_path):
    """Batch norms of a model in eval mode, whose weights train all the same."""
    torch.manual_seed(1)
    model, x, y = Images().eval(), torch.randn(2, 3, 16, 16), torch.randint(0, 5, (2,))
    ours, theirs, exported = train(model, torch.optim.SGD(model.parameters(), 0.1), nn.functional.cross_entropy, x, y, tmp_path)
    assert ours == pytest.approx(theirs, rel=1e-5)
    assert exported.cost_only == collections.Counter()


def test_inference_gives_the_same_outputs(tmp_path):
    torch.manual_seed(2)
    model, x = Images().eval(), torch.randn(2, 3, 16, 16)
    fetched = run(export(model, x), tmp_path, 1, "--trace", tmp_path / "t.db")
    [ours] = [numpy.load(file) for file in fetched.glob("*output_0*.npy")]
    assert ours == pytest.approx(model(x).detach().numpy(), rel=1e-4, abs=1e-6)


class Picked(nn.Module):
    def forward(self, x, rows, columns):
        return x[rows[:, None], columns], x[:, columns], x[rows], x.gather(1, columns[None, :, None] % 5)


def test_numbers_of_several_axes_pick_elements(tmp_path):
    x, rows, columns = torch.randn(4, 5, 2), torch.tensor([3, -1]), torch.tensor([0, 2, -5])
    exported = export(Picked(), (x, rows, columns))
    assert exported.cost_only == collections.Counter()
    fetched = run(exported, tmp_path, 1)
    for number, want in enumerate(Picked()(x, rows, columns)):
        [ours] = [numpy.load(file) for file in fetched.glob(f"*output_{number}*.npy")]
        assert numpy.array_equal(ours, want.numpy())


def convolution(channels, width):
    with torch.device("meta"):
        return export(nn.Sequential(nn.Conv1d(1, channels, 3), nn.ReLU()), torch.empty(1, 1, width + 2))


def test_an_op_without_a_kernel_stands_for_its_cost(tmp_path):
    exported = convolution(64, 1024)
    assert exported.cost_only == {"aten.convolution.default": 1}
    exported.save(str(tmp_path / "m.pb"))
    nodes = {node["name"]: node for node in lanescope("place", tmp_path / "m.pb")["nodes"]}
    node = nodes["0/AtenConvolution"]
    assert node["flops"] == 2 * 3 * 64 * 1024
    assert node["bytes"] == 4 * (1026 + (3 + 1) * 64 + 64 * 1024)
    assert node["shapes"] == [[1, 64, 1024]]


def test_large_models_need_no_memory():
    exported = convolution(1 << 20, 1 << 20)  # whose output has 4 TiB
    assert len(exported.graph_def) < 1 << 14
