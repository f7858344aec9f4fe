# SPDX-License-Identifier: Apache-2.0
"""Exported transformers train in parts on several devices as on one, run by the program LANESCOPE."""

import json
import os
import pathlib
import subprocess

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from lanescope.torch import export  # noqa: E402
from torch_steps import lanescope  # noqa: E402

nn = torch.nn
WORDS, BATCH, TOKENS = 64, 4, 16
MACHINES = pathlib.Path(__file__).parents[2] / "samples" / "machines"


class Logits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, words):
        return self.model(input_ids=words, use_cache=False).logits


def gpt2(heads=4):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    return Logits(transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=2, n_head=heads, n_embd=48, vocab_size=WORDS, n_positions=TOKENS, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)))


def llama(heads=4, shared_by=1):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    return Logits(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=heads, num_key_value_heads=heads // shared_by,
        vocab_size=WORDS, max_position_embeddings=TOKENS)))


def one_shared():
    return llama(shared_by=4)


class Encoder(nn.Module):
    """Queries, keys and values of all heads are one product, in three parts."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 48)
        self.layer = nn.TransformerEncoderLayer(48, 4, 64, dropout=0, batch_first=True)
        self.head = nn.Linear(48, WORDS)

    def forward(self, words):
        return self.head(self.layer(self.words(words)))


def save(model, folder):
    words, following = torch.randint(0, WORDS, (BATCH, TOKENS)), torch.randint(0, WORDS, (BATCH, TOKENS))
    exported = export(model, words, torch.optim.AdamW(model.parameters(), 0.01),
                      lambda logits, labels: nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()),
                      labels=(following,))
    exported.save(str(folder / "model.pb"))
    return folder / "model.pb"


def train(graph, folder, *options):
    lanescope("run", graph, "--steps", 3, "--warmup", 0, "--save-fetches", folder, *options)
    return [float(numpy.load(file)) for file in sorted(folder.glob("step*loss*.npy"))]


@pytest.mark.parametrize("make", [gpt2, llama])
def test_trains_in_parts_as_whole(make, tmp_path):
    """Three losses: the second and third are of weights that were updated in parts."""
    torch.manual_seed(1)
    graph = save(make(), tmp_path)
    one = train(graph, tmp_path / "one", "--strategy", "single")
    assert len(one) == 3
    for gpus in ("two", "four"):
        parts = train(graph, tmp_path / gpus, "--strategy", "tensor-parallel", "--machine",
                      MACHINES / f"{gpus}-virtual-gpus.json")
        assert parts == pytest.approx(one, rel=1e-5)
    for outer in ("data-parallel", "fsdp", "pipeline"):
        parts = train(graph, tmp_path / outer, "--strategy", outer + "+tensor-parallel:2", "--machine",
                      MACHINES / "four-virtual-gpus.json")
        assert parts == pytest.approx(one, rel=1e-5), outer
    parts = train(graph, tmp_path / "pipelines", "--strategy", "data-parallel+pipeline:2", "--machine",
                  MACHINES / "four-virtual-gpus.json")
    assert parts == pytest.approx(one, rel=1e-5)


def grouped():
    return llama(shared_by=2)


@pytest.mark.parametrize("strategy", ["sequence-parallel", "context-parallel", "ring-attention"])
@pytest.mark.parametrize("make", [gpt2, grouped])
def test_trains_with_tokens_in_parts_as_whole(make, strategy, tmp_path):
    """Heads of keys and values that two heads of queries share are gathered for all of them."""
    torch.manual_seed(1)
    graph = save(make(), tmp_path)
    one = train(graph, tmp_path / "one", "--strategy", "single")
    parts = train(graph, tmp_path / "two", "--strategy", strategy, "--machine", MACHINES / "two-virtual-gpus.json")
    assert parts == pytest.approx(one, rel=1e-6)
    for outer in ("data-parallel", "fsdp", "pipeline"):
        parts = train(graph, tmp_path / outer, "--strategy", f"{outer}+{strategy}:2", "--machine",
                      MACHINES / "four-virtual-gpus.json")
        assert parts == pytest.approx(one, rel=1e-6), outer


@pytest.mark.parametrize("inner", ["tensor-parallel", "sequence-parallel"])
@pytest.mark.parametrize("make", [gpt2, grouped])
def test_trains_with_tokens_and_matrices_in_parts_as_whole(make, inner, tmp_path):
    torch.manual_seed(1)
    graph = save(make(), tmp_path)
    one = train(graph, tmp_path / "one", "--strategy", "single")
    machines = {4: MACHINES / "four-virtual-gpus.json", 8: eight_virtual_gpus(tmp_path)}
    for outer, gpus in (("", 4), ("data-parallel+", 8), ("fsdp+", 8), ("zero1+", 8), ("zero2+", 8), ("pipeline+", 8)):
        tokens = "context-parallel:2" if outer else "context-parallel"
        parts = train(graph, tmp_path / f"parts{outer}", "--strategy", f"{outer}{tokens}+{inner}:2", "--machine", machines[gpus])
        assert parts == pytest.approx(one, rel=1e-6), outer


@pytest.mark.parametrize("strategy", ["tensor-parallel", "sequence-parallel", "data-parallel+sequence-parallel:2"])
@pytest.mark.parametrize("make", [Encoder, one_shared])
def test_heads_that_lie_together_or_serve_all(make, strategy, tmp_path):
    torch.manual_seed(1)
    graph = save(make(), tmp_path)
    one = train(graph, tmp_path / "one", "--strategy", "single")
    parts = train(graph, tmp_path / "parts", "--strategy", strategy, "--machine", MACHINES / "four-virtual-gpus.json")
    assert parts == pytest.approx(one, rel=1e-6)


def eight_virtual_gpus(folder):
    names = [f"GPU:{number}" for number in range(8)]
    devices = [{"name": "CPU:0", "kind": "host", "memory": "16GiB", "workers": 1}]
    devices += [{"name": name, "kind": "virtual", "memory": "2GiB", "workers": 1, "copy_engines": 2, "queue": "ready-first"} for name in names]
    ends = ["CPU:0", *names]
    links = [{"between": [a, b], "bandwidth": "8GB/s", "latency": "6us"} for i, a in enumerate(ends) for b in ends[i + 1:]]
    file = folder / "eight.json"
    file.write_text(json.dumps({"name": "8 virtual GPUs", "devices": devices, "links": links}))
    return file


class ByHand(nn.Module):
    """Attention in the open, with its scores capped as Gemma 2 does, masked or not."""

    def __init__(self, capped, masked):
        super().__init__()
        self.capped, self.masked = capped, masked
        self.table, self.attention, self.out = nn.Embedding(WORDS, 32), nn.Linear(32, 96), nn.Linear(32, WORDS)

    def forward(self, words):
        x = self.table(words)
        batch, tokens, _ = x.shape
        queries, keys, values = (each.view(batch, tokens, 4, 8).transpose(1, 2) for each in self.attention(x).split(32, -1))
        scores = queries @ keys.transpose(-2, -1) / 8**0.5
        if self.capped:
            scores = 10 * torch.tanh(scores / 10)
        if self.masked:
            ones = torch.ones(tokens, tokens, dtype=torch.bool)
            scores = scores.masked_fill(ones.triu(1) if self.capped else ~ones.tril(), float("-inf"))
        seen = scores.softmax(-1) @ values
        return self.out(x + seen.transpose(1, 2).reshape(batch, tokens, 32))


@pytest.mark.parametrize("capped", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_in_the_open_goes_round(capped, masked, tmp_path):
    """Law: no keys are gathered, whatever is done to scores, and blocks are cut where a mask hides a part of them."""
    torch.manual_seed(1)
    graph = save(ByHand(capped, masked), tmp_path)
    one = train(graph, tmp_path / "one", "--strategy", "single")
    four = MACHINES / "four-virtual-gpus.json"
    assert train(graph, tmp_path / "four", "--strategy", "ring-attention", "--machine", four) == pytest.approx(one, rel=1e-6)
    lanescope("place", graph, "--strategy", "ring-attention", "--machine", four, "-o", tmp_path / "ring.pbtxt")
    text = (tmp_path / "ring.pbtxt").read_text()
    assert "/step_3/keys_again" in text
    assert ("tokens_part" in text) == masked


@pytest.mark.parametrize("make", [gpt2, grouped])
def test_keys_and_values_go_round(make, tmp_path):
    """Law: no keys are gathered, the mask of transformers hides half of the blocks, and every GPU has as much to do: of 16 tokens in
    8 pieces of 2, 4 products of its own pieces and 2 of each of the other GPUs'."""
    torch.manual_seed(1)
    graph = save(make(), tmp_path)
    one = train(graph, tmp_path / "one", "--strategy", "single")
    four = MACHINES / "four-virtual-gpus.json"
    assert train(graph, tmp_path / "four", "--strategy", "ring-attention", "--machine", four) == pytest.approx(one, rel=1e-6)
    assert train(graph, tmp_path / "again", "--strategy", "recompute+ring-attention", "--machine", four) == pytest.approx(one, rel=1e-6)
    assert train(graph, tmp_path / "both", "--strategy", "ring-attention+tensor-parallel:2", "--machine", four) == pytest.approx(one, rel=1e-6)
    file = tmp_path / "ring.pbtxt"
    lanescope("place", graph, "--strategy", "ring-attention", "--machine", four, "-o", file)
    names = [line.split('"')[1] for line in file.read_text().splitlines() if line.startswith("  name: ")]
    assert not any("CollectiveGatherV2" in line for line in file.read_text().splitlines())
    assert sum("/step_3/keys_again_" in name and name[-2] == "_" and "/keys_again_of" not in name for name in names) == 4 * 2


def test_names_the_number_of_gpus_that_divides_the_tokens(tmp_path):
    graph = save(gpt2(), tmp_path)
    machine = tmp_path / "three.json"
    done = subprocess.run([os.environ["LANESCOPE"], "devices", "--make", "dgx-h100:3", "-o", machine], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([os.environ["LANESCOPE"], "place", graph, "--strategy", "context-parallel", "--machine", machine],
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "the 16 tokens of 'input_0'" in done.stderr and "the nearest number that divides them is 2" in done.stderr
    assert done.stderr.count("\n") == 1


def test_names_the_number_of_gpus_that_divides_the_heads(tmp_path):
    graph = save(gpt2(heads=6), tmp_path)
    done = subprocess.run([os.environ["LANESCOPE"], "place", graph, "--strategy", "tensor-parallel", "--machine",
                           MACHINES / "four-virtual-gpus.json"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "the 6 heads" in done.stderr and "the nearest number that divides them is 3" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("strategy", ["tensor-parallel", "data-parallel+tensor-parallel:3"])
def test_names_the_number_of_gpus_that_divides_both_kinds_of_heads(strategy, tmp_path):
    """Law: 48 columns of 4 heads, and 24 of the 2 of keys and values, divide by 3, but the heads do not; 2 divides both."""
    graph = save(llama(shared_by=2), tmp_path)
    machine = tmp_path / "machine.json"
    subprocess.run([os.environ["LANESCOPE"], "devices", "--make", f"dgx-h100:{6 if '+' in strategy else 3}", "-o", machine],
                   capture_output=True, check=True)
    done = subprocess.run([os.environ["LANESCOPE"], "place", graph, "--strategy", strategy, "--machine", machine],
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "the 4 heads of" in done.stderr and "its 2 of keys and values cannot be shared out evenly over 3 GPUs" in done.stderr
    assert "the nearest number that divides both is 2" in done.stderr
    assert done.stderr.count("\n") == 1
