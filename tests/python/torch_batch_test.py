# SPDX-License-Identifier: Apache-2.0
"""Graphs exported from PyTorch follow the batch that they are fed, so that strategies share it out."""

import json
import os
import re
import subprocess

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import export  # noqa: E402
from torch_steps import lanescope, losses_of_pytorch, run  # noqa: E402

nn = torch.nn


class Sizes(nn.Module):
    """Takes sizes from its batch in every way: axes put together, ranges, what is made of nothing, counts, parts."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4)
        self.qkv, self.out = nn.Linear(4, 12), nn.Linear(4, 3)

    def forward(self, x):
        batch = x.shape[0]
        y = self.norm(self.first(x)).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(y.reshape(batch * 16, 4)).view(batch, 16, 3, 4).unbind(2)
        y = y + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        rows = torch.arange(batch)[:, None].expand(batch, 16)
        y = y[rows, torch.arange(16).flip(0)] + torch.ones(batch, 16, 1) * y.sum((1, 2), keepdim=True)
        return self.out(y[:, 3:9].roll(1, 1).mean(1) / batch * x.shape[0])


def mean_square(y, labels):
    return ((y - labels) ** 2).sum() / labels.numel()


def loss_of_steps(fetched):
    """By whatever name the strategy has given the loss: the only fetch without axes."""
    files = sorted(fetched.glob("step*.npy"))
    return [float(values) for values in map(numpy.load, files) if values.size == 1]


@pytest.mark.parametrize("strategy", ["single", "data-parallel", "pipeline"])
def test_parts_of_a_batch_train_as_the_whole(strategy, tmp_path):
    torch.manual_seed(1)
    model, x, y = Sizes(), torch.randn(4, 2, 4, 4), torch.randn(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    exported = export(model, x, optimizer, mean_square, labels=(y,), batch_axis=0)
    assert exported.run["batch_axis"] == {"input_0": 0, "input_1": 0}
    assert exported.notes == []
    theirs = losses_of_pytorch(model, optimizer, mean_square, x, y)
    assert loss_of_steps(run(exported, tmp_path, 3, "--strategy", strategy)) == pytest.approx(theirs, rel=1e-5)


def test_calls_have_the_shapes_of_the_example():
    """Two traces of other batches stand for it: 2 * 3 * 5 * 7 FLOPs are of a batch of 3."""
    [call] = [call for call in export(nn.Linear(5, 7), torch.ones(3, 5)).calls if call.op == "aten::addmm"]
    assert call.flops == 2 * 3 * 5 * 7
    assert (3, 5) in call.shapes


class Fixed(nn.Module):
    def forward(self, x):
        return x.reshape(4, 6) * 2


class Pairs(nn.Module):
    def forward(self, x):
        return sum(row.sum() for row in x)


@pytest.mark.parametrize(("make", "what"), [(Fixed, "shape '[4, 6]'"), (Pairs, "another 'num'")])
def test_what_fixes_the_batch_is_named_with_its_line(make, what):
    model = nn.Sequential(nn.Tanh(), make())
    with pytest.raises(ValueError, match=r"a batch of 4 alone: .*torch_batch_test\.py:\d+.*") as problem:
        export(model, torch.ones(4, 6), batch_axis=0)
    assert what in str(problem.value)
    with pytest.warns(UserWarning, match="a batch of 4 alone"):
        exported = export(model, torch.ones(4, 6))
    assert len(exported.notes) == 1
    assert "batch_axis" not in exported.run
    assert export(model, torch.ones(4, 6), batch_axis=None).notes == []


class AllPairs(nn.Module):
    def forward(self, x):
        x = x.tanh()
        return x + (x[:, None] - x).abs().mean()


def test_what_fixes_the_batch_in_a_gradient_is_named_with_the_line_that_it_derives():
    """The gradient of a mean of all pairs has the square of the batch; PyTorch calls it behind the model's lines."""
    model = nn.Sequential(nn.Linear(6, 6), AllPairs())
    with pytest.raises(ValueError, match=r"aten::div of the gradient of module '1' \(torch_batch_test\.py:\d+\): it computes with"):
        export(model, torch.ones(4, 6), torch.optim.SGD(model.parameters(), 0.1), lambda y: y.square().mean(), batch_axis=0)


class Standardized(nn.Module):
    """Deviations of the batch divide by its rows less one, their gradients by half of that."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        x = self.linear(x).tanh()
        return (x - x.mean(0)) / x.std(0) + x.var(0)


@pytest.mark.parametrize("strategy", ["single", "data-parallel", "fsdp"])
def test_deviations_of_a_batch_are_of_the_whole(strategy, tmp_path):
    torch.manual_seed(1)
    model, x, y = Standardized(), torch.randn(8, 6), torch.randn(8, 6)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    exported = export(model, x, optimizer, mean_square, labels=(y,), batch_axis=0)
    theirs = losses_of_pytorch(model, optimizer, mean_square, x, y)
    machine = os.path.join(os.path.dirname(__file__), "../../samples/machines/two-virtual-gpus.json")
    assert loss_of_steps(run(exported, tmp_path, 3, "--strategy", strategy, "--machine", machine)) == pytest.approx(theirs, rel=1e-5)


def test_a_batch_that_inputs_do_not_share_is_told_apart():
    class Scaled(nn.Module):
        def forward(self, x, scale):
            return x * scale

    x, scale = torch.ones(4, 6), torch.ones(6)
    assert "batch_axis" not in export(Scaled(), (x, scale)).run
    assert export(Scaled(), (x, scale), batch_axis=(0, None)).run["batch_axis"] == {"input_0": 0}
    with pytest.raises(ValueError, match="batches of 4, 6; give a list"):
        export(Scaled(), (x, scale), batch_axis=0)
    with pytest.raises(ValueError, match="2 axes, none of them is 2"):
        export(Scaled(), (x, scale), batch_axis=(2, None))


def test_another_number_for_another_batch_is_no_law():
    """A model that takes 1 for the example's batch and 2 for others computes with no multiple of it."""
    class Branch(nn.Module):
        def forward(self, x):
            return x.tanh() * (1.5 if x.shape[0] == 4 else 3)

    with pytest.raises(ValueError, match="computes with 1.5 at a batch of 4, with 3"):
        export(Branch(), torch.ones(4, 6), batch_axis=0)


def test_a_square_of_the_batch_is_no_law():
    """Two batches are compared pair by pair; no line through two sizes is taken for their square."""
    class Contrast(nn.Module):
        def forward(self, x):
            return (x @ x.T).reshape(-1)[: x.shape[0] ** 2 - 1]

    with pytest.raises(ValueError, match="a batch of 4 alone"):
        export(Contrast(), torch.ones(4, 6), batch_axis=0)


class Sampled(nn.Module):
    """Has an op that is known by its cost alone."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3 * 64, 5)

    def forward(self, x):
        grid = torch.zeros(1, 1, 8, 8, 3).expand(x.shape[0], 1, 8, 8, 3) + x[:, None].movedim(2, -1)
        return self.out(nn.functional.grid_sample(x[:, :, None], grid, align_corners=False).flatten(1))


@pytest.fixture(name="sampled")
def graph_with_costs(tmp_path):
    model, x, y = Sampled(), torch.ones(8, 3, 8, 8), torch.arange(8) % 5
    exported = export(model, x, torch.optim.SGD(model.parameters(), 0.1), nn.functional.cross_entropy, labels=(y,), batch_axis=0)
    assert exported.cost_only
    lanescope("devices", "--make", "dgx-h100:8", "-o", tmp_path / "dgx.json")
    return exported


@pytest.mark.parametrize("strategy", ["data-parallel", "fsdp", "pipeline"])
def test_ops_that_are_known_by_cost_are_shared_out(strategy, sampled, tmp_path):
    sampled.save(str(tmp_path / "m.pb"))
    assert "step_ns" in lanescope("simulate", tmp_path / "m.pb", "--machine", tmp_path / "dgx.json", "--strategy", strategy)


def test_a_part_has_its_share_of_the_work(sampled, tmp_path):
    """Nothing of these ops' work is there without a batch, so that each of eight replicas has an eighth of it."""
    sampled.save(str(tmp_path / "m.pb"))
    written = tmp_path / "parts.pb"
    lanescope("place", tmp_path / "m.pb", "--machine", tmp_path / "dgx.json", "--strategy", "data-parallel", "-o", written)
    costs = [json.loads(text) for text in costs_in(sampled.graph_def)]
    parts = [json.loads(text) for text in costs_in(written.read_bytes())]
    assert len(parts) == 8 * len(costs)
    assert sum(each["flops"] for each in parts) == sum(each["flops"] for each in costs)


def costs_in(graph_def):
    return re.findall(rb'\{"(?:flops|bytes)"[^{}]*\}', graph_def)


@pytest.mark.parametrize(("damage", "said"), [(b'"axes": [[9]]', "an axis that the output has not"), (b'"axis": [[0]]', "no JSON object with axes")])
def test_a_damaged_share_is_told(damage, said, sampled, tmp_path):
    sampled.graph_def = sampled.graph_def.replace(b'"axes": [[0]]', damage)
    sampled.save(str(tmp_path / "m.pb"))
    done = subprocess.run([os.environ["LANESCOPE"], "simulate", tmp_path / "m.pb", "--machine", tmp_path / "dgx.json", "--strategy",
                           "data-parallel"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
