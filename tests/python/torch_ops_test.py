# SPDX-License-Identifier: Apache-2.0
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


def strided(x, size, steps, offset):
    return torch.as_strided_scatter(x.contiguous(), torch.arange(1.0, 1 + size[0] * size[1]).reshape(size), size, steps, offset)


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
    "as_strided in place": lambda x: (strided(x, (2, 2), (4, 1), 1), strided(x, (4, 4), (1, 4), 0), strided(x.t(), (2, 3), (4, 1), 4)),
    "below a diagonal": lambda x: (x.tril(-1), x.triu(1), x.tril(1), VOLUME.tril(-2)),
    "linspace": lambda x: x * torch.linspace(-1, 2, 4),
    "cut by padding": lambda x: (nn.functional.pad(x, (-1, 2)), nn.functional.pad(x, (0, 0, -2, -1))),
    "largest of rows": lambda x: (*x.max(1), *x.min(0, keepdim=True), x.argmax(), x.argmin(1, keepdim=True)),
    "cubic": lambda x: (nn.functional.interpolate(x[None, None], size=(7, 3), mode="bicubic"),
                        nn.functional.interpolate(x[None, None], size=(6, 6), mode="bicubic", align_corners=True)),
    "histc": lambda x: torch.histc(x, 4, -1, 1),
    "signs": lambda x: (x.sgn(), (x.abs() * 0).sgn()),
    "x log y": lambda x: (torch.xlogy(x, x.abs() + 0.5), torch.xlogy(x * 0, x), torch.xlogy(2.0, x.abs() + 1)),
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


SIGNAL, IMAGE, VOLUME_ = torch.linspace(-1, 1, 72), torch.linspace(-2, 2, 576), torch.linspace(-2, 2, 1680)
SIGNAL, IMAGE, VOLUME_ = (values.sin().mul(7).cos().reshape(shape) for values, shape in (
    (SIGNAL, (2, 4, 9)), (IMAGE, (2, 4, 9, 8)), (VOLUME_, (2, 4, 6, 5, 7))))
LAYERS = {
    "signals in groups": (lambda: nn.Conv1d(4, 6, 3, 2, 1, groups=2), SIGNAL),
    "signals of single channels": (lambda: nn.Conv1d(4, 4, 3, padding=2, groups=4, dilation=2), SIGNAL),
    "transposed signals": (lambda: nn.ConvTranspose1d(4, 6, 3, 2), SIGNAL),
    "images in groups": (lambda: nn.Conv2d(4, 6, 3, 2, 1, groups=2), IMAGE),
    "transposed images": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1), IMAGE),
    "transposed images in groups": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, groups=2), IMAGE),
    "volumes": (lambda: nn.Conv3d(4, 6, 3, stride=2, padding=(0, 1, 1)), VOLUME_),
    "transposed volumes": (lambda: nn.ConvTranspose3d(4, 2, 2, 2), VOLUME_),
    "maxima of signals": (lambda: nn.MaxPool1d(2), SIGNAL),
    "maxima beyond the end": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), IMAGE),
    "maxima of volumes": (lambda: nn.MaxPool3d(2), VOLUME_),
    "means of padded images": (lambda: nn.AvgPool2d(3, 1, 1), IMAGE),
    "means without pads": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "means beyond the end": (lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), IMAGE),
    "means of volumes": (lambda: nn.AvgPool3d(2), VOLUME_),
    "means of parts": (lambda: nn.AdaptiveAvgPool2d((3, 5)), IMAGE),
    "between pixels": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "between corners": (lambda: nn.Upsample(size=(5, 13), mode="bilinear", align_corners=True), IMAGE),
    "nearest pixels": (lambda: nn.Upsample(scale_factor=1.5), IMAGE),
    "norms of groups": (lambda: nn.GroupNorm(2, 4), IMAGE),
}


class OfParameter(nn.Module):
    """Lets the gradient of a layer's input be fetched: it is a parameter."""

    def __init__(self, layer, x):
        super().__init__()
        self.layer, self.x = layer, nn.Parameter(x.clone())

    def forward(self):
        return self.layer(self.x)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_and_their_gradients_are_pytorchs(name, tmp_path):
    make, x = LAYERS[name]
    torch.manual_seed(1)
    model = OfParameter(make(), x)
    exported = export(model, (), loss=lambda y: (y**2).sum())
    assert exported.cost_only == collections.Counter()
    fetched = run(exported, tmp_path, 1)
    loss = (model() ** 2).sum()
    loss.backward()
    [file] = fetched.glob("*_loss_0.npy")
    assert float(numpy.load(file)) == pytest.approx(loss.item(), rel=1e-5)
    for parameter_name, parameter in model.named_parameters():
        [file] = fetched.glob(f"*gradients_{parameter_name.replace('.', '_')}_0.npy")
        assert numpy.load(file) == pytest.approx(parameter.grad.numpy(), rel=1e-4, abs=1e-4)
