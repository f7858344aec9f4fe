"""Ops that are arithmetic and moves of TensorFlow's ops compute what PyTorch computes, run by the program LANESCOPE."""

import collections

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import export  # noqa: E402
from torch_steps import run  # noqa: E402

nn = torch.nn
SQUARE, ROWS = torch.linspace(-1, 1, 16).reshape(4, 4).sin() * torch.tensor([1.0, -2, 3, -0.5]), torch.tensor([1, 3])
VOLUME = SQUARE[:, :, None] * torch.tensor([1.0, 2, 3])


def written(x, places, value):
    y = x.clone()
    y[places] = value
    return y


FUNCTIONS = {
    "flip": lambda x: x.flip(1),
    "roll": lambda x: (x.roll((1, -2), (0, 1)), x.roll(3)),
    "as_strided": lambda x: (x.as_strided((2, 3), (1, 2)), x.t().as_strided((4, 4), (4, 1)), x.as_strided((2, 2), (3, 1), 1),
                             x.as_strided((2, 4, 4), (0, 4, 1))),
    "ranges": lambda x: (written(x, (slice(None), slice(1, 3)), 5.0), written(x, 2, 1.0)),
    "index_put": lambda x: (written(x, (ROWS, ROWS), 0.5), written(x, ROWS, x[ROWS] * 2), written(x, x > 0, 0.0)),
    "index_put of inner axes": lambda x: (written(VOLUME + x[..., None], (slice(None), ROWS), 1.0),
                                          written(VOLUME + x[..., None], (ROWS, slice(None), ROWS - 1), 3.0)),
    "index of inner axes": lambda x: (x[:, ROWS], (VOLUME + x[..., None])[:, ROWS, ROWS - 1],
                                      (VOLUME + x[..., None])[ROWS, :, ROWS - 1]),
    "index_copy": lambda x: (x.index_copy(1, ROWS, x[:, :2]), x.index_add(0, ROWS, x[:2])),
    "scatter": lambda x: (x.scatter(1, ROWS[None].expand(4, 2), 2.0), x.scatter_add(1, ROWS[None].expand(4, 2), x)),
    "topk": lambda x: (*x.topk(2, 1), *x.topk(2, 0, largest=False)),
    "sort": lambda x: (*x.sort(1), *x.sort(0, descending=True), x.argsort(1)),
    "histc": lambda x: torch.histc(x, 4, -1, 1),
    "div": lambda x: (torch.div(x, 0.3, rounding_mode="trunc"), torch.div(x, 0.3, rounding_mode="floor"), x // 0.3),
}


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


def computed(model, x, folder):
    exported = export(model, x, batch_axis=None)
    assert exported.cost_only == collections.Counter()
    fetched = run(exported, folder, 1)
    [first] = fetched.glob("*output_0*.npy")
    return [numpy.load(str(first).replace("output_0", f"output_{number}")) for number in range(len(exported.run["fetches"]))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_computes_as_pytorch_does(name, tmp_path):
    model = Function(FUNCTIONS[name])
    theirs = model(SQUARE)
    theirs = theirs if isinstance(theirs, tuple) else (theirs,)
    for mine, other in zip(computed(model, SQUARE, tmp_path), theirs, strict=True):
        assert mine == pytest.approx(other.numpy(), abs=1e-6)
