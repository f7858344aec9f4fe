# SPDX-License-Identifier: Apache-2.0
"""What a step of training does beside its model's ops is in the graph, or is said."""

import collections
import copy
import functools

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import export  # noqa: E402
from torch_steps import lanescope, losses, losses_of_pytorch, run  # noqa: E402

nn, cross_entropy = torch.nn, torch.nn.functional.cross_entropy
X, Y = torch.linspace(-1, 1, 64).sin().reshape(8, 8), torch.arange(8) % 5


def layers(*more):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), *more, nn.LayerNorm(16), nn.Linear(16, 5))


def trains_alike(model, optimizer, folder, rel=1e-5, **options):
    exported = export(model, X, optimizer, cross_entropy, labels=(Y,), **options)
    assert exported.cost_only == collections.Counter()
    ours = losses(run(exported, folder, 3))
    assert ours == pytest.approx(losses_of_pytorch(model, optimizer, cross_entropy, X, Y), rel=rel)
    return exported


def test_hooks_of_parameters_change_gradients(tmp_path):
    model = layers()
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: gradient.clamp(-1e-3, 1e-3))
    assert trains_alike(model, torch.optim.SGD(model.parameters(), 1.0), tmp_path).notes == []


@pytest.mark.parametrize("make", [lambda p: torch.optim.AdamW(p, 0.05), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)],
                         ids=["AdamW", "SGD"])
def test_an_optimizer_goes_on_from_its_state(make, tmp_path):
    model = layers()
    optimizer = make(model.parameters())
    losses_of_pytorch(model, optimizer, cross_entropy, X, Y, 5)
    optimizer.zero_grad()
    assert trains_alike(model, optimizer, tmp_path).notes == []


def test_gradients_are_clipped_before_the_update(tmp_path):
    model = layers()
    plain = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    clip = torch.nn.utils.clip_grad_norm_
    exported = export(model, X, optimizer, cross_entropy, labels=(Y,), before_update=lambda p: clip(p, 0.1))
    theirs, other = [], torch.optim.SGD(plain.parameters(), 1.0)
    for _ in range(3):
        other.zero_grad()
        loss = cross_entropy(plain(X), Y)
        loss.backward()
        clip(plain.parameters(), 0.1)
        other.step()
        theirs.append(loss.item())
    assert losses(run(exported, tmp_path, 3)) == pytest.approx(theirs, rel=1e-5)


def test_one_tensor_may_be_several_inputs(tmp_path):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x, labels):
            return ((self.linear(x) - labels) ** 2).mean()

    torch.manual_seed(1)
    model = Own()
    want = model(X, X).item()
    exported = export(model, (X, X), torch.optim.SGD(model.parameters(), 0.1))
    assert losses(run(exported, tmp_path, 1)) == pytest.approx([want], rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_norms_are_wide_in_mixed_precision(dtype, tmp_path):
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers()

        def forward(self, x):
            with torch.autocast("cpu", dtype=dtype):
                return self.layers(x)

    model = Mixed()
    trains_alike(model, torch.optim.SGD(model.parameters(), 0.1), tmp_path, rel=2e-2)


@pytest.mark.parametrize("compiled", ["inside", "whole", "in place"])
def test_compiled_modules_are_as_written(compiled, tmp_path):
    middle = nn.Linear(16, 16)
    plain = copy.deepcopy(layers(middle))
    model = layers(torch.compile(middle) if compiled == "inside" else middle)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    if compiled == "whole":
        model = torch.compile(model)
    if compiled == "in place":
        model[2].compile()
    exported = export(model, X, optimizer, cross_entropy, labels=(Y,))
    assert list(exported.parameters) == list(plain.state_dict())
    theirs = losses_of_pytorch(plain, torch.optim.SGD(plain.parameters(), 0.1), cross_entropy, X, Y)
    assert losses(run(exported, tmp_path, 3)) == pytest.approx(theirs, rel=1e-5)


class Checkpointed(nn.Module):
    def __init__(self, width, reentrant):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.reentrant = nn.Linear(8, 16), reentrant
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, width), nn.Tanh(), nn.Linear(width, 16)) for _ in range(6))
        self.out = nn.Linear(16, 5)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x) if self.reentrant is None else torch.utils.checkpoint.checkpoint(block, x, use_reentrant=self.reentrant)
        return self.out(x)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_compute_again_and_keep_less(reentrant, tmp_path):
    """512 rows of 1024 numbers are 2 MiB, which each of six blocks keeps, or one at a time."""
    peaks, counts, machine = [], [], tmp_path / "dgx.json"
    lanescope("devices", "--make", "dgx-h100:8", "-o", machine)
    for how in (None, reentrant):
        model = Checkpointed(1024, how)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        trains_alike(model, optimizer, tmp_path)
        exported = export(model, X.repeat(64, 1), optimizer, cross_entropy, labels=(Y.repeat(64),))
        counts.append(sum(call.op == "aten::tanh" for call in exported.calls))
        exported.save(str(tmp_path / "large.pb"))
        peaks.append(lanescope("simulate", tmp_path / "large.pb", "--machine", machine, "--strategy", "single")["peak_bytes"]["GPU:0"])
    assert counts == [6, 12]
    assert peaks[1] < peaks[0] - 4 * 512 * 1024 * 4


def test_a_model_that_copied_itself_on_fake_tensors_exports():
    """nn.TransformerEncoder copies its layer, and on fake tensors each copy has a mode of its own: 2 layers of 12 tensors."""
    with torch._subclasses.FakeTensorMode():
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        x = torch.zeros(4, 8, 16)
    exported = export(model, x, torch.optim.SGD(model.parameters(), 0.1), lambda y: y.sum())
    assert len(exported.parameters) == 24


def test_dropout_is_drawn_anew_and_said():
    model = layers(nn.Dropout(0.5))
    with pytest.warns(UserWarning, match="drawn at random"):
        exported = export(model, X, torch.optim.SGD(model.parameters(), 0.1), cross_entropy, labels=(Y,))
    assert exported.cost_only == collections.Counter()
    assert len(exported.notes) == 1


def test_what_a_loop_has_beside_the_graph_is_said():
    model = layers()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 2)
    model[0].weight.register_post_accumulate_grad_hook(lambda parameter: None)
    cross_entropy(model(X), Y).backward()
    with pytest.warns(UserWarning, match="left out"):
        notes = export(model, X, optimizer, cross_entropy, labels=(Y,)).notes
    assert ["'0.weight'" in notes[0], "already" in notes[1], "stays 0.1" in notes[2]] == [True] * 3


@pytest.mark.parametrize(("name", "options"), [("RMSprop", {}), ("RMSprop", {"momentum": 0.9, "centered": True}),
                                               ("Adagrad", {}), ("Adadelta", {}), ("Muon", {}), ("Adafactor", {}),
                                               ("Adafactor", {"weight_decay": 0.1, "lr": 0.5}), ("Adamax", {}), ("NAdam", {}),
                                               ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
                                               ("RAdam", {}), ("ASGD", {}), ("Rprop", {})])
def test_other_optimizers_are_traced(name, options, tmp_path):
    if not hasattr(torch.optim, name):
        pytest.skip(f"this PyTorch has no {name}")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 16, bias=name == "Adafactor"), nn.GELU(), nn.Linear(16, 5, bias=False))
    optimizer = getattr(torch.optim, name)(model.parameters(), **options)
    tolerance = 1e-3 if name == "Muon" else 1e-5  # which computes in bfloat16
    assert trains_alike(model, optimizer, tmp_path, rel=tolerance).notes == []


def test_an_optimizer_that_counts_steps_says_so():
    model = nn.Linear(8, 5)
    with pytest.warns(UserWarning, match="number of the step stays that of step 1"):
        export(model, X, torch.optim.Adagrad(model.parameters(), lr_decay=0.1), cross_entropy, labels=(Y,))


def test_an_optimizer_without_a_graph_is_refused():
    model = nn.Linear(8, 5)
    with pytest.raises(NotImplementedError, match="optimizer LBFGS has no graph here; take SGD"):
        export(model, X, torch.optim.LBFGS(model.parameters()), cross_entropy, labels=(Y,))


def test_exported_programs_and_their_files_are_models(tmp_path):
    model = layers().eval()
    program = torch.export.export(model, (X,))
    torch.export.save(program, tmp_path / "program.pt2")
    for source in (program, str(tmp_path / "program.pt2")):
        assert [node for node in export(source, X).cost_only] == []


def test_what_depends_on_values_is_told_its_line():
    class Branch(nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(ValueError, match=r"^the model \(torch_fidelity_test.py:\d+\): '__bool__' depends on the values of tensors.*torch.where"):
        export(Branch(), X)


@pytest.mark.parametrize("norm", [nn.LayerNorm(4), nn.BatchNorm1d(4)], ids=["layer", "batch"])
def test_a_norm_has_its_tensors_on_one_device(norm, tmp_path):
    """Also where a strategy puts every other node on the other device."""
    export(nn.Sequential(nn.Linear(4, 4), norm, nn.Linear(4, 4)), torch.ones(3, 4)).save(str(tmp_path / "m.pb"))
    nodes = lanescope("place", tmp_path / "m.pb", "--strategy", "alternating")["nodes"]
    devices = {node["name"]: node["device"] for node in nodes if node["op"] == "VarHandleOp"}
    assert len({device for name, device in devices.items() if name.startswith("1/")}) == 1
    assert len(set(devices.values())) == 2


class Cached(nn.Module):
    """Adds what it is given to a cache, which is a buffer of its or lies beside it."""

    def __init__(self, beside):
        super().__init__()
        cache = torch.zeros(4, 8)
        self.kept = [cache] if beside else None
        if not beside:
            self.register_buffer("cache", cache)

    def forward(self, x, row):
        cache = self.kept[0] if self.kept else self.cache
        cache[1:].index_copy_(0, row, x)
        return cache.sum(0)


@pytest.mark.parametrize("beside", [False, True])
def test_a_cache_is_kept_from_step_to_step(beside, tmp_path):
    """The second step adds what the first one has written: a row of ones, then of the cache's sum."""
    class Adds(Cached):
        def forward(self, x, row):
            return super().forward(x + (self.kept[0] if self.kept else self.cache).sum(0), row)

    model, step = Adds(beside), (torch.ones(1, 8), torch.tensor([2]))
    exported = export(model, step)
    assert list(exported.parameters) == ([] if beside else ["cache"])
    assert len(exported.notes) == 2 * beside  # of the cache, and of the batch
    fetched = run(exported, tmp_path, 3)
    for number in range(3):
        [file] = fetched.glob(f"step00000{number}_output_0*.npy")
        assert numpy.load(file).tolist() == model(*step).tolist()


def test_lazy_modules_take_their_shapes_from_the_inputs(tmp_path):
    torch.manual_seed(1)
    model = nn.Sequential(nn.LazyLinear(16), nn.LazyBatchNorm1d(), nn.Linear(16, 5))
    trains_alike(model, torch.optim.SGD(model.parameters(), 0.1), tmp_path)
    assert model.training
    with pytest.raises(ValueError, match="'weight' of the model has no shape before a call"):
        export(nn.LazyLinear(16), torch.empty(8, 8, device="meta"))


def test_numbers_are_taken_to_be_finite_where_a_model_asks(tmp_path):
    class Careful(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers()

        def forward(self, x):
            if torch.isnan(x).any() or not torch.isfinite(self.layers[0](x)).all():
                x = torch.clamp(x, -1, 1)
            return self.layers(x)

    with pytest.warns(UserWarning, match="asks whether its numbers are finite"):
        model = Careful()
        trains_alike(model, torch.optim.SGD(model.parameters(), 0.1), tmp_path)


def test_a_model_keeps_nothing_of_a_trace():
    """Its cache would hold tensors without content: the next call has none to give."""
    @functools.lru_cache
    def table(size):
        return torch.arange(size)

    class Remembers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.tables = layers(), {}

        def forward(self, x):
            if not hasattr(self, "watched"):
                self.watched = self.layers.register_forward_hook(lambda *_: None)
            self.last = self.tables.setdefault("scale", x.new_ones(1) * 2)
            return self.layers(x * self.last + table(8))

    model = Remembers()
    export(model, X, torch.optim.SGD(model.parameters(), 0.1), cross_entropy, labels=(Y,))
    assert model.tables == {} and not hasattr(model, "last")
    assert not hasattr(model, "watched") and not model.layers._forward_hooks
    assert table(8).tolist() == list(range(8))
