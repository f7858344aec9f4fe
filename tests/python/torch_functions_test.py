# SPDX-License-Identifier: Apache-2.0
"""Losses and functions of tensors, their values and gradients beside PyTorch's, run by the program LANESCOPE."""

import collections
import zlib

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import export  # noqa: E402
from torch_steps import run  # noqa: E402

functional = torch.nn.functional


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(zlib.crc32(str(shape).encode())))


def classes(count, *shape):
    return torch.randint(0, count, shape, generator=torch.Generator().manual_seed(sum(shape)))


WEIGHT, ROWS, OTHERS = torch.linspace(0.5, 2, 5), numbers(4, 6), numbers(4, 6).flip(1) * 0.3 + 0.1
WORDS, PIXELS = classes(5, 3, 4), classes(5, 2, 3, 4)
WORDS[0, 1] = -100
SIGNS, WHETHER, COUNTS = (ROWS.flip(0) + 0.1).sign(), (ROWS.flip(0) > 0).float(), ROWS.flip(0).abs() * 4
MANY, LABELS = classes(6, 4), torch.tensor([[3, 0, -1, 1, 0, 0], [1, -1, 0, 0, 0, 0], [5, 4, 3, 2, 1, 0], [-1, 0, 0, 0, 0, 0]])
MORE, PAIRS = numbers(31, 4), numbers(2, 4, 4)
LIMITS, BLOCK, PLACES = torch.tensor([-1.0, 0, 1]), numbers(2, 3, 4), classes(4, 4, 6)
LOSSES = {
    "cross_entropy of words": (numbers(3, 5, 4), lambda x: functional.cross_entropy(x, WORDS)),
    "cross_entropy by word": (numbers(3, 5, 4), lambda x: functional.cross_entropy(x, WORDS, reduction="none")),
    "cross_entropy of pixels": (numbers(2, 5, 3, 4), lambda x: functional.cross_entropy(x, PIXELS, weight=WEIGHT, ignore_index=2)),
    "cross_entropy, smooth": (numbers(2, 5, 3, 4), lambda x: functional.cross_entropy(x, PIXELS, label_smoothing=0.1)),
    "cross_entropy of one": (numbers(5), lambda x: functional.cross_entropy(x, torch.tensor(2))),
    "triplet_margin": (ROWS, lambda x: functional.triplet_margin_loss(x, x.flip(0) * 0.5, OTHERS, swap=True)),
    "cosine_embedding": (ROWS, lambda x: functional.cosine_embedding_loss(x, OTHERS, SIGNS[:, 0], margin=0.2)),
    "multi_margin": (ROWS, lambda x: functional.multi_margin_loss(x, MANY)),
    "multi_margin, squared": (ROWS, lambda x: functional.multi_margin_loss(x, MANY, 2, 0.7, torch.linspace(0.5, 2, 6), reduction="none")),
    "multilabel_margin": (ROWS, lambda x: functional.multilabel_margin_loss(x, LABELS)),
    "multilabel_margin by row": (ROWS, lambda x: functional.multilabel_margin_loss(x, LABELS, reduction="none")),
    "multilabel_soft_margin": (ROWS, lambda x: functional.multilabel_soft_margin_loss(x, WHETHER)),
    "hinge_embedding": (ROWS, lambda x: functional.hinge_embedding_loss(x, SIGNS)),
    "margin_ranking": (ROWS, lambda x: functional.margin_ranking_loss(x, OTHERS, SIGNS)),
    "poisson_nll": (ROWS, lambda x: functional.poisson_nll_loss(x, COUNTS, full=True)),
    "gaussian_nll": (ROWS, lambda x: functional.gaussian_nll_loss(x, OTHERS, functional.softplus(x), full=True)),
    "huber": (ROWS, lambda x: functional.huber_loss(x * 2, OTHERS, delta=0.7)),
    "smooth_l1": (ROWS, lambda x: functional.smooth_l1_loss(x * 2, OTHERS, beta=0.7)),
    "soft_margin": (ROWS, lambda x: functional.soft_margin_loss(x, SIGNS)),
}
FUNCTIONS = {
    "var": (BLOCK, lambda x: (x.var(), x.var(1), x.var((0, 2), unbiased=False), x.std(1), x.std((0, 2), unbiased=False, keepdim=True),
                              *torch.std_mean(x, 1), *torch.var_mean(x, (0, 1)))),
    "median": (ROWS, lambda x: (x.median(), *x.median(1), *x.median(0, keepdim=True), *x.kthvalue(3), *x.kthvalue(1, 0))),
    "nanmedian": (ROWS, lambda x: (x.nanmedian(), *torch.where(x > 1, float("nan"), x).nanmedian(1))),
    "mode": (classes(3, 4, 6).float(), lambda x: x.mode(1)),
    "extremes": (BLOCK, lambda x: (x.max(), x.min(), *x.max(1), *x.min(0, keepdim=True), x.amax((0, 2)), x.amin(1), *torch.aminmax(x, dim=1))),
    "running extremes": (ROWS, lambda x: (*x.cummax(1), *x.cummin(0))),
    "running products": (ROWS, lambda x: (x.cumprod(1), x.prod(), x.prod(1), x.logcumsumexp(1), x.logsumexp((0, 1)))),
    "norms": (ROWS, lambda x: (x.norm(), x.norm(1), x.norm(3, dim=1), x.norm(float("inf"), 0), x.norm(0.5, 1), torch.linalg.norm(x))),
    "distances": (ROWS, lambda x: (functional.pairwise_distance(x, OTHERS), functional.pairwise_distance(x, OTHERS, 3), functional.pdist(x),
                                   torch.cdist(x, OTHERS[:3]), torch.cdist(x, OTHERS, 1), torch.cdist(x, OTHERS, 3))),
    "distances of many": (numbers(30, 4), lambda x: torch.cdist(x, MORE)),
    "eye": (numbers(4, 4), lambda x: (x + torch.eye(4), torch.eye(3, 5), torch.eye(4, dtype=torch.long), x @ torch.eye(4, 2).double().float())),
    "diagonals": (numbers(4, 4), lambda x: (x.diagonal(), x.diag(-1), x[0].diag(), x.diag_embed(), torch.einsum("ii->i", x),
                                            x.diagonal_scatter(x[0, :3], 1), x.clone().fill_diagonal_(0.0))),
    "diagonals of blocks": (BLOCK, lambda x: (x.diagonal(dim1=1, dim2=2), x.diagonal(1, 0, 2), torch.trace(x[0]))),
    "triangles": (BLOCK, lambda x: (x.tril(1), x.triu(-1), x[0][torch.tril_indices(3, 4).unbind()])),
    "rolls": (ROWS, lambda x: (x.roll((1, -2), (0, 1)), x.flip((0, 1)), x.rot90())),
    "windows": (numbers(1, 2, 6, 6), lambda x: (functional.unfold(x, (2, 3), 2, 1, 2), x.unfold(3, 3, 2),
                                               functional.fold(functional.unfold(x, 2), (6, 6), 2))),
    "shuffles": (numbers(1, 8, 3, 3), lambda x: (functional.pixel_shuffle(x, 2), functional.channel_shuffle(x, 2))),
    "edges": (numbers(1, 2, 5, 6), lambda x: (functional.pad(x, (2, 1, 1, 2), mode="reflect"), functional.pad(x, (2, 1, 1, 2), mode="replicate"))),
    "sorted limits": (ROWS, lambda x: (torch.bucketize(x, LIMITS), torch.bucketize(x, LIMITS, right=True, out_int32=True),
                                       torch.searchsorted(x.sort(1)[0], OTHERS))),
    "joined": (ROWS, lambda x: tuple(x.scatter_reduce(0, PLACES % 4, x * 2, how, include_self=own) for own in (True, False)
                                     for how in ("sum", "prod", "mean", "amax", "amin"))),
    "rows joined": (ROWS, lambda x: (x.index_add(0, torch.tensor([0, 2, 0]), x[:3], alpha=-2.0), x.put(torch.tensor([0, 5]), x[0, :2]),
                                     x.index_reduce(0, torch.tensor([0, 2, 0]), OTHERS[:3], "amax"))),
    "repeated": (ROWS, lambda x: (x.repeat_interleave(2, 0), x.repeat_interleave(torch.tensor([1, 2, 0, 3]), 0, output_size=6))),
    "masked": (ROWS, lambda x: (x.masked_scatter(WHETHER > 0, OTHERS), x.masked_fill(WHETHER > 0, 0.0), functional.one_hot(x[0].long().abs(), 4))),
    "products": (BLOCK, lambda x: (torch.einsum("bij,bkj->bik", x, x), torch.einsum("bij,jk->bik", x, x[0].T @ x[0]), torch.einsum("bij->", x),
                                   functional.bilinear(x[0], x[1], PAIRS), torch.tensordot(x, x, ([1, 2], [1, 2])))),
    "elements": (ROWS, lambda x: ((x * 0.2).erfinv(), x.exp2(), x.fmod(0.7), x.round(decimals=1), torch.signbit(x), torch.logaddexp2(x, OTHERS),
                                  functional.hardshrink(x), functional.softshrink(x), functional.threshold(x, 0.3, 0.1), functional.mish(x),
                                  x.clamp(OTHERS - 0.1, OTHERS + 0.1), functional.prelu(x, torch.tensor([0.2])))),
    "largest of parts": (numbers(1, 2, 6, 7), lambda x: (functional.adaptive_max_pool2d(x, 1), functional.adaptive_max_pool2d(x, (3, 4)),
                                                         functional.adaptive_max_pool1d(x[0], 4), functional.max_pool2d(x[0], 2))),
    "largest with gaps": (numbers(1, 2, 9, 8), lambda x: (functional.max_pool2d(x, 3, 1, dilation=2),
                                                          functional.max_pool2d(x, 3, 2, 1, 2, ceil_mode=True))),
    "largest of volumes": (numbers(1, 2, 5, 4, 7), lambda x: (functional.adaptive_max_pool3d(x, (2, 3, 2)), functional.max_pool3d(x[0], 2))),
    "places of the largest": (numbers(1, 2, 6, 6), lambda x: (*functional.max_pool2d(x, 2, return_indices=True), functional.max_pool2d(x, 3),
                                                              functional.max_unpool2d(*functional.max_pool2d(x, 2, return_indices=True), 2))),
    "middles of pixels": (numbers(1, 2, 5, 6), lambda x: (functional.interpolate(x, scale_factor=2, mode="nearest-exact"),
                                                          functional.interpolate(x, size=(7, 3), mode="nearest-exact"))),
    "bits": (classes(9, 3, 4), lambda x: (x & 3, x | 4, x ^ 5, ~x, x << 1, x >> 1, torch.logical_xor(x > 2, x), torch.logical_not(x), x.sort(1)[0])),
    "bags": (numbers(7, 3), lambda x: (functional.embedding_bag(torch.tensor([[1, 2, 4], [0, 3, 6]]), x),
                                       functional.embedding_bag(torch.tensor([1, 2, 4, 0, 3, 6]), x, torch.tensor([0, 4]), mode="sum"),
                                       functional.embedding(torch.tensor([0, 0, 1]), x, scale_grad_by_freq=True))),
}


class OfParameter(torch.nn.Module):
    """Lets the gradient of what the function takes be fetched: it is a parameter, but for whole numbers."""

    def __init__(self, function, x):
        super().__init__()
        self.function = function
        self.x = torch.nn.Parameter(x.clone(), x.is_floating_point())

    def forward(self):
        made = self.function(self.x)
        return tuple(made) if isinstance(made, tuple) else (made,)


def loss_of(outputs):
    """Every element counts otherwise."""
    return sum((each * torch.arange(1.0, 1 + each.numel()).cos().reshape(each.shape)).sum() for each in outputs if each.requires_grad)


def fetched_of(folder, name):
    [file] = folder.glob(f"*_{name}_0.npy")
    return numpy.load(file)


@pytest.mark.parametrize("name", [*LOSSES, *FUNCTIONS])
def test_values_and_gradients_are_pytorchs(name, tmp_path):
    x, function = {**LOSSES, **FUNCTIONS}[name]
    model = OfParameter(function, x)
    theirs = model()
    trains = any(each.requires_grad for each in theirs)
    exported = export(model, (), loss=loss_of if trains else None, fetch_outputs=True)
    assert exported.cost_only == collections.Counter()
    fetched = run(exported, tmp_path, 1)
    for number, other in enumerate(theirs):
        assert fetched_of(fetched, f"output_{number}") == pytest.approx(other.detach().numpy(), rel=1e-5, abs=1e-5, nan_ok=True), number
    if trains:
        loss_of(theirs).backward()
        assert fetched_of(fetched, "gradients_x") == pytest.approx(model.x.grad.numpy(), rel=1e-5, abs=2e-5)
