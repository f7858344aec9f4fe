# SPDX-License-Identifier: Apache-2.0
"""A model that is shared out over processes exports as the one model that it is."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
fsdp = pytest.importorskip("torch.distributed.fsdp")
if not hasattr(fsdp, "fully_shard"):
    pytest.skip("this PyTorch has no fully_shard", allow_module_level=True)

from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

from lanescope.torch import export  # noqa: E402
from torch_steps import losses, losses_of_pytorch, run  # noqa: E402

nn, distributed = torch.nn, torch.distributed
X, Y = torch.linspace(-1, 1, 64).sin().reshape(8, 8), torch.arange(8) % 5


def loss(y, labels):
    return nn.functional.cross_entropy(y.float(), labels)


@pytest.fixture(name="mesh_of")
def meshes():
    """A mesh of so many processes. Of several this one is all that there is."""
    def make(size):
        if size == 1:
            distributed.init_process_group("gloo", rank=0, world_size=1, store=distributed.HashStore())
        else:
            distributed.init_process_group("fake", rank=0, world_size=size, store=FakeStore())
        return init_device_mesh("cpu", (size,))

    yield make
    distributed.destroy_process_group()


def by_fully_shard(model, mesh, dtype=None):
    policy = fsdp.MixedPrecisionPolicy(param_dtype=dtype)
    fsdp.fully_shard(model[2], mesh=mesh, mp_policy=policy)
    return fsdp.fully_shard(model, mesh=mesh, mp_policy=policy)


def by_parallelize(model, mesh):
    return parallelize_module(model, mesh, {"0": ColwiseParallel(), "2.0": RowwiseParallel()})


def narrow(model, mesh):
    return by_fully_shard(model, mesh, torch.bfloat16)


def layers():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16)), nn.Linear(16, 5))


@pytest.mark.parametrize(("share", "tolerance"), [(by_fully_shard, 1e-5), (by_parallelize, 1e-5), (narrow, 2e-2)])
def test_one_process_has_all_values(share, tolerance, mesh_of, tmp_path):
    model = share(layers(), mesh_of(1))
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    with pytest.warns(UserWarning, match="of the whole model on one device"):
        exported = export(model, X, optimizer, loss, labels=(Y,))
    assert exported.parameters == {name: 4 * each.numel() for name, each in layers().named_parameters()}
    wanted = losses_of_pytorch(model, optimizer, loss, X, Y)
    assert losses(run(exported, tmp_path, 3)) == pytest.approx(wanted, rel=tolerance)


@pytest.mark.parametrize("share", [by_fully_shard, by_parallelize])
def test_of_several_processes_it_has_the_whole_shapes(share, mesh_of):
    model = share(layers(), mesh_of(4))
    exported = export(model, X, torch.optim.AdamW(model.parameters(), 0.05), loss, labels=(Y,))
    assert exported.parameters == {name: 4 * each.numel() for name, each in layers().named_parameters()}


def test_narrow_gathers_compute_narrow(mesh_of):
    """Three products forward and five backward, the first has no gradient by its input: all in bfloat16."""
    exported = export(narrow(layers(), mesh_of(4)), X, None, loss, labels=(Y,), fused=False)
    assert exported.graph_def.count(b"MatMul") > 0
    assert {call.op for call in exported.calls} >= {"aten::_to_copy", "aten::addmm"}
