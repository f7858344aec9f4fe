# SPDX-License-Identifier: Apache-2.0
"""Graphs exported from PyTorch follow the batch that they are fed, so that strategies share it out."""

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import export  # noqa: E402
from torch_steps import losses, losses_of_pytorch, run  # noqa: E402

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


def test_a_square_of_the_batch_is_no_law():
    """Two batches are compared pair by pair; no line through two sizes is taken for their square."""
    class Contrast(nn.Module):
        def forward(self, x):
            return (x @ x.T).reshape(-1)[: x.shape[0] ** 2 - 1]

    with pytest.raises(ValueError, match="a batch of 4 alone"):
        export(Contrast(), torch.ones(4, 6), batch_axis=0)
