# SPDX-License-Identifier: Apache-2.0
"""Exported mixtures of experts train with their blocks computed again as without, in less memory, by the program LANESCOPE."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch_steps import lanescope  # noqa: E402
from torch_tensor_parallel_test import MACHINES, gpt2, grouped, save  # noqa: E402
from torch_zero_test import losses, mixtral  # noqa: E402


def peak(graph, strategy):
    options = ("--strategy", strategy, "--machine", MACHINES / "two-virtual-gpus.json")
    return lanescope("simulate", graph, *options)["peak_bytes"]["GPU:0"]


def test_experts_are_computed_again(tmp_path):
    """Law: the gradients that enter a block of experts meet numbers first that are made of the block's values alone, the places of
    tokens; losses are those of one device, and activations of one block lie in memory at a time."""
    torch.manual_seed(1)
    graph = save(mixtral(), tmp_path)
    one = losses(graph, tmp_path, "single", "two")
    assert len(one) == 3
    for strategy, gpus in (("recompute", "two"), ("recompute+data-parallel", "two"), ("recompute+fsdp", "four")):
        assert losses(graph, tmp_path, strategy, gpus) == pytest.approx(one, rel=1e-6), (strategy, gpus)
    assert peak(graph, "recompute") < 0.95 * peak(graph, "single")


@pytest.mark.parametrize("make", [gpt2, grouped])
def test_products_are_kept(make, tmp_path):
    """Law: losses are those of one device. Selectively, memory lies between that of no block and of every block computed again;
    the GPT-2 is so small that updates are its peak."""
    torch.manual_seed(1)
    graph = save(make(), tmp_path)
    one = losses(graph, tmp_path, "single", "two")
    for strategy, gpus in (("recompute-selective", "two"), ("recompute-selective+tensor-parallel", "two"),
                           ("recompute-selective+fsdp", "four"), ("recompute-selective+context-parallel", "two")):
        assert losses(graph, tmp_path, strategy, gpus) == pytest.approx(one, rel=1e-6), (strategy, gpus)
    if make is grouped:
        assert peak(graph, "recompute") < peak(graph, "recompute-selective") < peak(graph, "single")
