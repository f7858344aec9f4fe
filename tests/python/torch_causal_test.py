# SPDX-License-Identifier: Apache-2.0
"""Plans take attention as the exported graph has it: a token of a language model sees those before it alone, one of an encoder all."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from lanescope.torch import export  # noqa: E402
from torch_steps import lanescope  # noqa: E402

SIZES = {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
         "max_position_embeddings": 32}
MODELS = {
    "BertForMaskedLM": lambda kind: transformers.BertConfig(**SIZES, attn_implementation=kind),
    "LlamaForCausalLM": lambda kind: transformers.LlamaConfig(**SIZES, attn_implementation=kind),
}


@pytest.mark.parametrize("fused", [False, True], ids=["runs", "fused"])
@pytest.mark.parametrize("kind", ["sdpa", "eager"])
@pytest.mark.parametrize("name", MODELS)
def test_masks_of_exports_say_what_tokens_see(name, kind, fused, tmp_path):
    """Law: padding hides no later tokens; the mask of a language model does, in one kernel as in several."""
    model = getattr(transformers, name)(MODELS[name](kind))
    padding = torch.ones(4, 16, dtype=torch.long)
    exported = export(model, torch.zeros(4, 16, dtype=torch.long), example_kwargs={"attention_mask": padding}, fused=fused)
    exported.save(str(tmp_path / "model.pb"))
    predicted = lanescope("simulate", tmp_path / "model.pb", "--plan", "dp=8", "--machine", "dgx-h100:8", "--global-batch", 64)
    assert predicted["causal"] == (name == "LlamaForCausalLM")
