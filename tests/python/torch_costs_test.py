# SPDX-License-Identifier: Apache-2.0
"""What exported ops cost without a profile: by own definitions, and as few ops as PyTorch runs."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import export  # noqa: E402
from torch_steps import lanescope  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

nn, functional = torch.nn, torch.nn.functional


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


def nodes_of(exported, folder):
    exported.save(str(folder / "model.pb"))
    return lanescope("place", folder / "model.pb")["nodes"]


def on_meta(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="meta")


def flops(exported):
    """Of products, convolutions and attention, as FlopCounterMode counts them."""
    counted = ("mm", "convolution", "scaled_dot_product")
    return sum(call.flops for call in exported.calls if any(name in call.op for name in counted))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.depth = nn.Conv2d(4, 8, 3), nn.Conv2d(8, 8, 3, groups=8)
        self.up, self.out = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(self.up(self.depth(self.first(x))).mean((2, 3)))


def test_flops_of_inference_are_pytorchs_where_those_are_right():
    model, x = Layers(), torch.ones(2, 4, 8, 8)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(x)
    assert flops(export(model, x)) == counter.get_total_flops()


def test_a_grouped_convolution_goes_back_at_twice_its_cost():
    """8 channels of 6 x 6 results, each of 3 x 3: 5184 FLOPs for one image, as many for its input, as many for its filter."""
    model = nn.Sequential(nn.Conv2d(8, 8, 1), nn.Conv2d(8, 8, 3, groups=8, bias=False))
    calls = export(model, torch.ones(1, 8, 8, 8), loss=lambda y: y.sum()).calls
    assert [call.flops for call in calls if call.op == "aten::convolution_backward"][0] == 2 * 2 * 8 * 36 * 9


@pytest.mark.skipif(not hasattr(torch.ops.aten, "_grouped_mm"), reason="this PyTorch has no grouped products")
def test_products_of_groups_cost_those_of_their_rows():
    rows, ends = on_meta(64, 64, dtype=torch.bfloat16), on_meta(4, dtype=torch.int32)
    experts = on_meta(4, 64, 128, dtype=torch.bfloat16)
    exported = export(Function(torch.ops.aten._grouped_mm), (rows, experts, ends))
    assert [call.flops for call in exported.calls if "grouped" in call.op] == [2 * 64 * 64 * 128]


def test_attention_is_one_op_that_keeps_no_scores(tmp_path):
    """4 heads of 1024 positions of 64 numbers: scores and means of values are 2 * 2 * 4 * 1024^2 * 64 FLOPs, and forward
    moves queries, keys, values and results of 1 MiB each and a number a row."""
    heads = on_meta(1, 4, 1024, 64)
    attention = Function(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True))
    nodes = nodes_of(export(attention, (heads, heads.clone(), heads.clone())), tmp_path)
    [node] = [node for node in nodes if "Attention" in node["op"]]
    assert node["flops"] == 4 * 4 * 1024**2 * 64
    assert node["bytes"] == pytest.approx(4 * (1 << 20), rel=0.01)
    assert not [each for each in nodes if [1024, 1024] in [shape[-2:] for shape in each["shapes"]]]


def test_norms_and_losses_are_one_op_each(tmp_path):
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 5))
    labels = torch.empty(4, dtype=torch.int64, device="meta")
    exported = export(model, on_meta(4, 8), loss=functional.cross_entropy, labels=(labels,))
    ops = [node["op"] for node in nodes_of(exported, tmp_path)]
    for name in ("LayerNorm", "LayerNormBackward", "NllLossForward", "NllLossBackward"):
        assert ops.count("AtenNative" + name) + ops.count("Aten" + name) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_an_update_moves_what_a_fused_one_does(dtype, tmp_path):
    """Gradient read; parameter and two moments read and written: seven numbers a parameter."""
    with torch.device("meta"):
        model = nn.Linear(256, 256, bias=False, dtype=dtype)
    exported = export(model, on_meta(4, 256, dtype=dtype), torch.optim.AdamW(model.parameters()), lambda y: y.float().sum())
    updates = [node for node in nodes_of(exported, tmp_path) if node["name"].startswith("weight/Update/")]
    assert sum(node["bytes"] for node in updates) == 7 * dtype.itemsize * 256**2


def test_a_shared_matrix_is_not_copied_for_every_row(tmp_path):
    model = nn.Sequential(Function(lambda x: x.transpose(0, 1)), nn.Linear(32, 96))
    nodes = nodes_of(export(model, torch.ones(2, 50, 32)), tmp_path)
    assert "BroadcastTo" not in [node["op"] for node in nodes]
    assert max(node["bytes"] for node in nodes if node["op"].endswith("MatMulV2")) <= 4 * (2 * 50 * 128 + 32 * 96)


def test_numbers_are_drawn_below_what_they_look_up():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.out = nn.Embedding(50, 8), nn.Linear(8, 20)

        def forward(self, ids, labels):
            padded = functional.pad(labels, (0, 1), value=-100)[:, 1:]
            return functional.cross_entropy(self.out(self.words(ids)).flatten(0, 1), padded.reshape(-1))

    with torch.device("meta"):
        model, ids = Words(), torch.zeros(2, 8, dtype=torch.int64)
    feeds = export(model, (ids, ids.clone()), loss=lambda loss: loss).run["feeds"]
    assert [feeds[name]["high"] for name in ("input_0", "input_1")] == [50, 20]


def test_a_training_step_fetches_its_loss_alone():
    model, x = nn.Linear(4, 4), torch.ones(2, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for asked, fetches in ((False, ["loss:0"]), (True, ["loss:0", "output_0:0"])):
        assert export(model, x, optimizer, lambda y: y.sum(), fetch_outputs=asked).run["fetches"] == fetches


def test_a_model_without_parameters_has_no_gradients():
    assert export(nn.Tanh(), torch.ones(2, 4), loss=lambda y: y.sum()).run["fetches"] == ["loss:0"]


def test_the_largest_numbers_of_windows_keep_their_places(tmp_path):
    """As PyTorch keeps them: of 4 images 3 x 8 x 8 in windows of 2 x 2, 192 numbers of 4 bytes and 192 places of 8."""
    images, pool = on_meta(4, 3, 8, 8), Function(lambda x: functional.max_pool2d(x, 2))
    kept = [node for node in nodes_of(export(pool, images, loss=lambda y: y.sum()), tmp_path) if "MaxPool" in node["op"]]
    assert [(node["shapes"], node["dtypes"]) for node in kept if not node["op"].endswith("Backward")] == [
        ([[4, 3, 4, 4], [4, 3, 4, 4]], ["float", "int64"])]
