# SPDX-License-Identifier: Apache-2.0
"""Files of torch.export.save are read without PyTorch, whatever is in them."""

import json
import os
import subprocess
import sys
import zipfile

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import read_program  # noqa: E402
from torch_steps import run  # noqa: E402

nn, functional = torch.nn, torch.nn.functional
IMAGES, ROWS = torch.linspace(-1, 1, 2 * 3 * 64).sin().reshape(2, 3, 8, 8), torch.linspace(-1, 1, 48).sin().reshape(2, 3, 8)


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.second = nn.Sequential(nn.Conv2d(4, 8, 3, 2, 1, groups=2), nn.GroupNorm(2, 8), nn.Hardswish(), nn.AdaptiveAvgPool2d(1))
        self.out = nn.Linear(8, 5)

    def forward(self, x):
        y = self.first(x)
        y += functional.interpolate(x, scale_factor=0.5)[:, :1]
        return self.out(self.second(y).flatten(1)), y.topk(2, 1)[1]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.last = nn.LayerNorm(8), nn.Linear(8, 24), nn.RMSNorm(8, 1e-6)
        self.register_buffer("seen", torch.zeros(8))

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (2, 4)).transpose(1, 2) for each in self.qkv(self.norm(x)).chunk(3, -1))
        with torch.no_grad():
            self.seen += x.mean((0, 1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.last(functional.gelu(y, approximate="tanh") + self.seen)


def saved(model, x, folder):
    path = folder / "program.pt2"
    torch.export.save(torch.export.export(model, (x,)), path)
    return path


@pytest.mark.parametrize(("make", "x"), [(Images, IMAGES), (Attention, ROWS)])
def test_a_program_computes_what_pytorch_computes(make, x, tmp_path):
    torch.manual_seed(1)
    model = make().eval()
    exported = read_program(saved(model, x, tmp_path))
    assert not exported.cost_only
    exported.feeds["input_0"] = x.numpy()
    fetched = run(exported, tmp_path, 2)
    for step in range(2):  # buffers go on
        wanted = model(x)
        for number, want in enumerate(wanted if isinstance(wanted, tuple) else (wanted,)):
            [file] = fetched.glob(f"step00000{step}_output_{number}*.npy")
            numpy.testing.assert_allclose(numpy.load(file), want.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_pytorch_is_not_needed(tmp_path):
    path = saved(nn.Linear(8, 5), ROWS[0], tmp_path)
    code = f"import sys; sys.modules['torch'] = None\nfrom lanescope.torch import read_program\nprint(read_program({str(path)!r}).parameters)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stdout.strip() == "{'weight': 160, 'bias': 20}", done.stderr


def test_a_part_that_is_written_is_told(tmp_path):
    class Parts(nn.Module):
        def forward(self, x):
            y = x * 2
            y[:, 1:] += 1
            return y

    with pytest.raises(ValueError, match=r"writes a part of a tensor that is read afterwards; save program.run_decompositions"):
        read_program(saved(Parts(), ROWS, tmp_path))


@pytest.fixture(name="members", scope="module")
def members_of_a_file(tmp_path_factory):
    path = saved(nn.Linear(8, 5), ROWS[0], tmp_path_factory.mktemp("program"))
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def written(path, members, how=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", how) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def weights_with(members, **changes):
    name = next(name for name in members if name.endswith("model_weights_config.json"))
    config = json.loads(members[name])
    for key, value in changes.items():
        entry = config["config"]["weight"]
        (entry if key in entry else entry["tensor_meta"])[key] = value
    return {**members, name: json.dumps(config).encode()}


def model_with(members, text):
    return {**members, next(name for name in members if name.endswith("model.json")): text}


@pytest.mark.parametrize(("changes", "said"), [
    ({"path_name": "../../../etc/passwd"}, "lacks 'data/weights/../../../etc/passwd'"), ({"use_pickle": True}, "is pickled"),
    ({"sizes": [{"as_int": 1 << 20}, {"as_int": 8}]}, "too few for"), ({"storage_offset": {"as_int": 1}}, "too few for"),
    ({"sizes": [{"as_int": -5}, {"as_int": 8}]}, "-5 is no size"), ({"strides": [{"as_int": 1 << 30}, {"as_int": 1}]}, "too few for"),
    ({"sizes": [{"as_int": 8}, {"as_int": 5}], "strides": [{"as_int": 5}, {"as_int": 1}]}, r"'weight' is float32 \[8, 5\], the program says"),
    ({"dtype": 99}, "KeyError: 99"),
])
def test_weights_that_are_not_as_said_are_one_line(members, changes, said, tmp_path):
    with pytest.raises(ValueError, match=said) as problem:
        read_program(written(tmp_path / "m.pt2", weights_with(members, **changes)))
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(("text", "said"), [(b"[" * 100000, "RecursionError"), (b"{}", "KeyError"), (b"\xff", "cannot be read"), (b"null", "TypeError")])
def test_models_that_are_not_as_said_are_one_line(members, text, said, tmp_path):
    with pytest.raises(ValueError, match=said) as problem:
        read_program(written(tmp_path / "m.pt2", model_with(members, text)))
    assert "\n" not in str(problem.value)


def test_what_is_packed_is_not_unpacked(members, tmp_path):
    """A bomb: 64 MiB of zeros in 64 KiB."""
    path = written(tmp_path / "m.pt2", {**members, "program/data/weights/weight_9": bytes(64 << 20)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="is packed, which torch.export.save does not do"):
        read_program(path)


def test_a_file_that_ends_early_is_one_line(members, tmp_path):
    """The example inputs in it are a zip, too, which may be what is found then."""
    whole = written(tmp_path / "m.pt2", members).read_bytes()
    for size in range(0, len(whole), 97):
        (tmp_path / "cut.pt2").write_bytes(whole[:size])
        with pytest.raises(ValueError, match="is no program of torch.export.save|has no models") as problem:
            read_program(tmp_path / "cut.pt2")
        assert "\n" not in str(problem.value)


def test_bytes_that_are_others_are_one_line_or_another_program(members, tmp_path):
    """Every 41st byte of the program's text, which leaves JSON or not."""
    text = next(data for name, data in members.items() if name.endswith("model.json"))
    for place in range(0, len(text), 41):
        try:
            read_program(written(tmp_path / "m.pt2", model_with(members, text[:place] + b"7" + text[place + 1:])))
        except ValueError as problem:
            assert "\n" not in str(problem)
