# SPDX-License-Identifier: Apache-2.0
"""Exported transformers train like one device with optimizer, gradients, parameters or experts in parts, run by the program
LANESCOPE."""

import pathlib

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch_steps import lanescope  # noqa: E402
from torch_tensor_parallel_test import MACHINES, TOKENS, WORDS, Logits, gpt2, llama, save, train  # noqa: E402


def mixtral():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    return Logits(transformers.MixtralForCausalLM(transformers.MixtralConfig(
        hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
        vocab_size=WORDS, max_position_embeddings=TOKENS, num_local_experts=4, num_experts_per_tok=2)))


def losses(graph: pathlib.Path, folder: pathlib.Path, strategy: str, gpus: str):
    return train(graph, folder / (strategy.replace(":", "_") + gpus), "--strategy", strategy, "--machine",
                 MACHINES / f"{gpus}-virtual-gpus.json")


@pytest.mark.parametrize("make", [gpt2, llama, mixtral])
def test_trains_in_parts_as_whole(make, tmp_path):
    """Three losses: the second and third are of weights that were updated in parts."""
    torch.manual_seed(1)
    graph = save(make(), tmp_path)
    one = train(graph, tmp_path / "one", "--strategy", "single")
    assert len(one) == 3
    strategies = ["zero1", "zero2"] + ["expert-parallel"] * (make is mixtral)
    for strategy, gpus in [(each, number) for each in strategies for number in ("two", "four")]:
        assert losses(graph, tmp_path, strategy, gpus) == pytest.approx(one, rel=1e-6), (strategy, gpus)
    assert losses(graph, tmp_path, "data-parallel+fsdp:2", "four") == pytest.approx(one, rel=1e-6)


@pytest.mark.parametrize("on", ["cpu", "meta"])
def test_experts_are_read_from_an_export(on, tmp_path):
    """Plans split four experts; exports that keep ops as PyTorch runs them have another op for the top k."""
    with torch.device(on):
        graph = save(mixtral(), tmp_path)
    plans = ("--machine", "dgx-h100:4", "--global-batch", 4, "--sequence", TOKENS)
    assert lanescope("simulate", graph, "--plan", "dp=4,ep=4", *plans)["plan"] == "dp=4,ep=4,micro=1"
    assert any("ep=" in found["plan"] for found in lanescope("search", graph, "--plans", *plans)["plans"])
