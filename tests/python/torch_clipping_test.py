# SPDX-License-Identifier: Apache-2.0
"""Gradients that are clipped before the update: strategies that split the batch clip what the whole batch gives, run by the
program LANESCOPE."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch_tensor_parallel_test import MACHINES, train  # noqa: E402

import lanescope.torch  # noqa: E402

STEPS = 3
LIMIT = 0.3


def model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))


def loss_of(output):
    return 10 * (output * output).mean()


def clip(parameters):
    return torch.nn.utils.clip_grad_norm_(parameters, LIMIT)


def clipped_losses(inputs):
    """The losses of PyTorch itself; the first norms lie above the limit."""
    trained, losses = model(), []
    optimizer = torch.optim.SGD(trained.parameters(), lr=1.0)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(trained(inputs))
        loss.backward()
        norm = clip(trained.parameters())
        assert step > 0 or norm > LIMIT
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_clips_gradients_of_the_whole_batch(tmp_path):
    torch.manual_seed(1)
    inputs = torch.randn(8, 8)
    exported_model = model()
    exported = lanescope.torch.export(exported_model, (inputs,), loss=loss_of, batch_axis=0, before_update=clip,
                                      optimizer=torch.optim.SGD(exported_model.parameters(), lr=1.0))
    graph = tmp_path / "clipped.pb"
    exported.save(str(graph))
    expected = clipped_losses(inputs)
    for strategy, gpus in [("single", "two"), ("data-parallel", "four"), ("zero1", "two"), ("zero2", "four"),
                           ("fsdp", "four"), ("pipeline", "two"), ("tensor-parallel", "two"),
                           ("data-parallel+fsdp:2", "four"), ("data-parallel+tensor-parallel:2", "four")]:
        found = train(graph, tmp_path / (strategy.replace(":", "_") + gpus), "--strategy", strategy, "--machine",
                      MACHINES / f"{gpus}-virtual-gpus.json")
        assert found == pytest.approx(expected, rel=1e-6), (strategy, gpus)
