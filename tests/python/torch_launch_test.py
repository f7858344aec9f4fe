# SPDX-License-Identifier: Apache-2.0
"""The code of PyTorch that a plan is printed as shares out the model that was exported: it trains as one process does."""

import os
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not hasattr(pytest.importorskip("torch.distributed.fsdp"), "fully_shard"):
    pytest.skip("this PyTorch has no fully_shard", allow_module_level=True)

from torch import distributed, multiprocessing, nn  # noqa: E402

from lanescope.torch import export  # noqa: E402

WORDS, BATCH, TOKENS, STEPS = 64, 4, 16, 3


class Attention(nn.Module):
    def __init__(self, hidden, heads, kv_heads):
        super().__init__()
        self.size = hidden // heads
        self.queries, self.out = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.keys, self.values = nn.Linear(hidden, kv_heads * self.size), nn.Linear(hidden, kv_heads * self.size)

    def forward(self, x):
        heads = [part.unflatten(-1, (-1, self.size)).transpose(1, 2) for part in (self.queries(x), self.keys(x), self.values(x))]
        mixed = nn.functional.scaled_dot_product_attention(*heads, is_causal=True, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first_norm, self.attention = nn.LayerNorm(48), Attention(48, 4, 2)
        self.second_norm, self.wide, self.narrow = nn.LayerNorm(48), nn.Linear(48, 192), nn.Linear(192, 48)

    def forward(self, x):
        x = x + self.attention(self.first_norm(x))
        return x + self.narrow(nn.functional.gelu(self.wide(self.second_norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, 48), nn.Embedding(TOKENS, 48)
        self.stack = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(48), nn.Linear(48, WORDS, bias=False)

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(words.shape[1], device=words.device))
        for block in self.stack:
            x = block(x)
        return self.head(self.norm(x))


def loss(logits, labels):
    return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def made():
    torch.manual_seed(1)
    return Model(), torch.randint(0, WORDS, (BATCH, TOKENS)), torch.randint(0, WORDS, (BATCH, TOKENS))


def train(model, words, labels):
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    values = []
    for _ in range(STEPS):
        value = loss(model(words), labels)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        values.append(value.detach())
    return torch.stack(values)


def train_part(rank, code, sharing, folder):
    """`sharing`: processes that share what the replicas do."""
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=4)
    model, words, labels = made()
    exec(code, {"model": model})  # noqa: S102: what is printed is meant to run
    own = slice(rank // sharing * BATCH * sharing // 4, (rank // sharing + 1) * BATCH * sharing // 4)
    values = train(model, words[own], labels[own])
    distributed.all_reduce(values)
    if rank == 0:
        torch.save(values / 4, f"{folder}/losses.pt")
    distributed.destroy_process_group()


@pytest.fixture(name="graph", scope="module")
def saved(tmp_path_factory):
    model, words, labels = made()
    path = tmp_path_factory.mktemp("exported") / "model.pb"
    export(model, words, torch.optim.AdamW(model.parameters(), 0.01), loss, labels=(labels,)).save(str(path))
    return path


def code_of(graph, plan):
    """As it is printed, on processors and without narrow numbers."""
    done = subprocess.run([os.environ["LANESCOPE"], "simulate", graph, "--plan", plan + ",kernels=eager", "--machine", "dgx-h100:4",
                           "--global-batch", str(BATCH), "--sequence", str(TOKENS), "--launch", "pytorch"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace("'cuda'", "'cpu'").replace("bfloat16", "float32")


@pytest.mark.parametrize(("plan", "sharing"), [("dp=2,tp=2,shard=fsdp2,sp,recompute=full", 2), ("dp=2,tp=2,shard=zero1", 2),
                                               ("dp=4,shard=hsdp,shard-size=2,recompute=selective", 1)])
def test_trains_as_one_process(plan, sharing, graph, tmp_path):
    """Law: three losses, of weights that were updated in parts, are those of the whole model and batch."""
    multiprocessing.spawn(train_part, (code_of(graph, plan), sharing, str(tmp_path)), nprocs=4)
    model, words, labels = made()
    assert torch.load(tmp_path / "losses.pt").tolist() == pytest.approx(train(model, words, labels).tolist(), rel=1e-5)


def test_names_the_modules_of_the_model(graph):
    code = code_of(graph, "dp=2,tp=2,shard=zero1,sp,precision=fp8")
    for line in ("model.get_submodule('stack')", "'attention.queries': ColwiseParallel(input_layouts=Shard(1))",
                 "'attention.out': RowwiseParallel(output_layouts=Shard(1))", "'first_norm': SequenceParallel()",
                 "'narrow': RowwiseParallel(output_layouts=Shard(1))", "'words': RowwiseParallel(input_layouts=Replicate())",
                 "'head': ColwiseParallel(output_layouts=Replicate())", "reshard_after_forward=False",
                 "# zero1: PyTorch has no public call", "# precision=fp8: PyTorch has no public call"):
        assert line in code, line
    stages = code_of(graph, "dp=2,pp=2")
    compile(stages, "printed", "exec")
    assert "split_spec = {f'stack.{i}': SplitPoint.BEGINNING" in stages
