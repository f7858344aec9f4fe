# SPDX-License-Identifier: Apache-2.0
"""Placements that go back to PyTorch: its own libraries take them, and the outputs stay the same."""

import json
import os
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("lanescope._core", reason="the module of the package is not built (it needs nanobind)")

import lanescope  # noqa: E402
from lanescope import Error  # noqa: E402
from lanescope.torch import device_map, export, fsdp_wraps, place_modules, split_points  # noqa: E402

nn = torch.nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.blocks = nn.Sequential(*(Block() for _ in range(4)))
        self.out = nn.Linear(8, 11)

    def forward(self, x):
        return self.out(self.blocks(self.words(x)))


@pytest.fixture(scope="module")
def exported():
    torch.manual_seed(1)
    model, x = Model().eval(), torch.arange(6).reshape(2, 3)
    return model, x, export(model, x)


def halves(exported, second=("blocks.2", "blocks.3", "out")):
    """A placement with these modules on the second GPU."""
    return {name.replace(".", "/"): "/job:localhost/replica:0/task:0/device:GPU:1" if name.startswith(second) else "GPU:0"
            for name in exported.parameters}


def test_parameters_keep_their_names(exported):
    model, _, made = exported
    assert set(made.parameters) == set(model.state_dict())


def test_modules_are_as_large_as_their_device_allows(exported):
    made = exported[2]
    assert device_map(made, halves(made, ())) == {"": 0}
    assert device_map(made, halves(made)) == {"words": 0, "blocks.0": 0, "blocks.1": 0, "blocks.2": 1, "blocks.3": 1, "out": 1}
    cut = halves(made, ("blocks.2.down", "blocks.3", "out"))
    assert device_map(made, cut)["blocks.2.down"] == 1
    # 8 * 16 + 16 numbers of `up` and 16 of `norm` are more than the 16 * 8 + 8 of `down`.
    assert device_map(made, cut, no_split=["Block"])["blocks.2"] == 0
    with pytest.raises(Error, match="does not name the node"):
        device_map(made, {})


def test_accelerate_takes_the_device_map(exported, tmp_path):
    accelerate = pytest.importorskip("accelerate")
    model, x, made = exported
    want = model(x)
    # What else than the processor has hooks without a GPU: parameters that are read from files when they are needed.
    found = device_map(made, halves(made), devices={"GPU:0": "cpu", "GPU:1": "disk"})
    again = Model().eval()
    again.load_state_dict(model.state_dict())
    accelerate.dispatch_model(again, found, offload_dir=str(tmp_path))
    assert again.out.weight.is_meta and not again.words.weight.is_meta
    assert torch.equal(again(x), want)


def test_a_pipeline_is_cut_where_the_placement_is(exported):
    pipelining = pytest.importorskip("torch.distributed.pipelining")
    model, x, made = exported
    points = split_points(made, halves(made))
    assert points == ["blocks.2"]
    pipe = pipelining.pipeline(model, (x,), split_spec={name: pipelining.SplitPoint.BEGINNING for name in points})
    assert pipe.num_stages == 2
    value = x
    for stage in range(pipe.num_stages):
        value = pipe.get_stage_module(stage)(value)
    assert torch.equal(value, model(x))


def test_a_pipeline_goes_forward_only(exported):
    made = exported[2]
    with pytest.raises(Error, match="comes back to GPU:0 at 'blocks.2'"):
        split_points(made, halves(made, ("blocks.1",)))


def test_fsdp_wraps_blocks(exported, tmp_path):
    model, x, made = exported
    assert fsdp_wraps(made) == [f"blocks.{i}" for i in range(4)]
    cut = fsdp_wraps(made, halves(made, ("blocks.2.down", "blocks.3", "out")))
    assert cut == ["blocks.0", "blocks.1", "blocks.2.norm", "blocks.2.up", "blocks.2.down", "blocks.3"]
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    if not hasattr(fsdp, "fully_shard"):
        pytest.skip("this PyTorch's fully_shard needs a GPU")
    from torch import distributed

    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        mesh = distributed.device_mesh.init_device_mesh("cpu", (1,))
        want, again = model(x), Model().eval()
        again.load_state_dict(model.state_dict())
        for name in fsdp_wraps(made):
            fsdp.fully_shard(again.get_submodule(name), mesh=mesh)
        fsdp.fully_shard(again, mesh=mesh)
        assert torch.equal(again(x), want)
    finally:
        distributed.destroy_process_group()


def test_the_command_prints_the_same(exported, tmp_path):
    made = exported[2]
    made.save(tmp_path / "m.pb")
    for strategy in ("round-robin", place_modules(made, {"": "GPU:0", "blocks.2": "GPU:1", "blocks.3": "GPU:1", "out": "GPU:1"})):
        placement = lanescope.place(made, lanescope.Machine.virtual(2), strategy)
        placement.save(tmp_path / "p.json")
        for name, function in (("device-map", device_map), ("fsdp", fsdp_wraps), ("split-points", split_points)):
            if strategy == "round-robin" and name == "split-points":
                continue  # comes back
            whole = {} if name == "fsdp" else {"no_split": ["Block"]}
            options = [] if name == "fsdp" else ["--no-split", "Block"]
            done = subprocess.run([os.environ["LANESCOPE"], "place", str(tmp_path / "m.pb"), "--strategy", f"@{tmp_path}/p.json", "--format",
                                   name, *options], check=True, capture_output=True, text=True)
            assert json.loads(done.stdout) == function(made, placement, **whole)


class TiedHead(nn.Module):
    """Whose output is by the table of its words, as those of GPT-2."""

    def __init__(self):
        super().__init__()
        self.words, self.blocks, self.head = nn.Embedding(11, 8), nn.Sequential(Block(), Block()), nn.Linear(8, 11, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.blocks(self.words(x)))


def test_a_tied_head_lies_where_its_words_do(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    torch.manual_seed(1)
    model, x = TiedHead().eval(), torch.arange(6).reshape(2, 3)
    made = export(model, x)
    assert made.tied == {"head.weight": "words.weight"}
    placement = halves(made, ("blocks.1",))
    assert device_map(made, placement) == {"words": 0, "blocks.0": 0, "blocks.1": 1, "head": 0}
    assert split_points(made, placement) == ["blocks.1"]
    want = model(x)
    accelerate.dispatch_model(model, device_map(made, placement, devices={"GPU:0": "cpu", "GPU:1": "disk"}), offload_dir=str(tmp_path))
    assert torch.equal(model(x), want)


class Outer(nn.Module):
    """Whose part has the name "model", as those of Hugging Face."""

    def __init__(self):
        super().__init__()
        self.model, self.head = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.model(x))


def test_a_module_may_be_called_model():
    model = Outer()
    made = export(model, torch.zeros(3, 4), torch.optim.SGD(model.parameters(), 0.1), lambda y: y.sum())
    nodes = {node for call in made.calls if call.module == "model.0" for node in call.nodes}
    assert nodes and all(node.startswith("model/0/") for node in nodes)
    devices = place_modules(made, {"model": "GPU:1", "": "GPU:0"})
    assert {devices["model/0/weight"], devices["model/1/Tanh"]} == {"GPU:1"}
    assert split_points(made, devices) == ["head"]


def test_modules_are_placed_by_hand(exported, tmp_path):
    made = exported[2]
    made.save(str(tmp_path / "m.pb"))
    nodes = place_modules(made, {"": "GPU:0", "blocks.1": "GPU:1", "blocks.1.up": "GPU:0"})
    (tmp_path / "p.json").write_text(json.dumps({"nodes": {name: {"device": device} for name, device in nodes.items()}}))
    done = subprocess.run([os.environ["LANESCOPE"], "place", str(tmp_path / "m.pb"), "--strategy", f"@{tmp_path}/p.json", "--json"],
                          check=True, capture_output=True, text=True)
    device = {node["name"]: node["device"][-5:] for node in json.loads(done.stdout)["nodes"]}
    assert {device["blocks/1/down/weight"], device["blocks/1/norm/bias"]} == {"GPU:1"}
    assert {device["blocks/1/up/weight"], device["blocks/0/down/weight"], device["out/bias"]} == {"GPU:0"}
    assert device["blocks/1/AddV2"] == "GPU:1"


def test_place_modules_leaves_to_hosts_what_they_alone_compute():
    """A loss that pads its integer labels: there is no such kernel on GPUs."""
    class Labelled(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.head = nn.Embedding(50, 16), nn.Linear(16, 50)

        def forward(self, x, labels):
            shifted = nn.functional.pad(labels, (0, 1), value=-100)[..., 1:].contiguous()
            return nn.functional.cross_entropy(self.head(self.words(x)).view(-1, 50), shifted.view(-1))

    x = torch.arange(16).reshape(2, 8)
    made = export(Labelled(), (x, x.clone()))
    devices = place_modules(made, {"": "GPU:0", "head": "GPU:1"})
    assert devices["PadV2"] == "CPU:0"
    assert devices["head/weight"] == "GPU:1" and devices["words/weight"] == "GPU:0"
    placed = lanescope.place(made, lanescope.Machine.make("dgx-h100:8"), devices)
    assert placed["PadV2"].endswith("CPU:0")


def test_a_search_finds_maps_of_whole_modules():
    wide = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(4)))
    made = export(wide, torch.zeros(512, 1024))
    machine = lanescope.Machine.make("h100x2")
    found = lanescope.search(made, machine, budget_s=4, rounds=2)
    maps = found["modules"]
    assert maps["step_ns"] <= maps["one_gpu_ns"] <= maps["split"]["step_ns"]
    parts = device_map(made, found.placement)
    assert set(parts) == set(maps["parts"])
    simulated = lanescope.simulate(made, machine, place_modules(made, {path: f"GPU:{device}" for path, device in parts.items()}))
    assert abs(simulated.step_ns / maps["step_ns"] - 1) < 0.05
    assert len(split_points(made, found.placement)) == 1
