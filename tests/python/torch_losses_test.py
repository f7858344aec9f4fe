# SPDX-License-Identifier: Apache-2.0
"""Losses that are no plain mean over the batch: strategies that split it train as one device does, and one device as PyTorch,
run by the program LANESCOPE."""

import os
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch_tensor_parallel_test as models  # noqa: E402
from torch_tensor_parallel_test import MACHINES, TOKENS, WORDS, train  # noqa: E402

import lanescope.torch  # noqa: E402

BATCH, STEPS, IGNORED = 8, 3, -100
functional = torch.nn.functional


def ignored_labels(logits, labels, mask):
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)


def weighted(logits, labels, mask):
    weight = torch.linspace(0.5, 3, WORDS)
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), weight=weight, ignore_index=IGNORED)


def added_up(logits, labels, mask):
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum", ignore_index=IGNORED) / 64


def masked_mean(logits, labels, mask):
    each = functional.cross_entropy(logits.flatten(0, 1), labels.clamp(min=0).flatten(), reduction="none")
    return (each * mask.flatten()).sum() / mask.sum()


def mean_of_at_least_one(logits, labels, mask):
    each = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none", ignore_index=IGNORED)
    return each.sum() / (labels != IGNORED).sum().clamp(min=1)


def sum_and_mean(logits, labels, mask):
    return added_up(logits, labels, mask) + 0.1 * logits.square().mean()


def shifted(logits, labels, mask):
    """As models of transformers have it: the last label follows nothing."""
    after = functional.pad(labels, (0, 1), value=IGNORED)[..., 1:]
    return functional.cross_entropy(logits.flatten(0, 1), after.flatten(), ignore_index=IGNORED)


def inputs():
    """Sequences of other lengths: each part of the batch has another number of labels that count."""
    torch.manual_seed(1)
    words, labels = torch.randint(0, WORDS, (2, BATCH, TOKENS))
    lengths = torch.tensor([16, 15, 3, 1, 9, 12, 2, 4])
    mask = torch.arange(TOKENS) < lengths[:, None]
    return words, labels.masked_fill(~mask, IGNORED), mask.float()


def made(name):
    torch.manual_seed(2)
    return getattr(models, name)()


def optimizer_of(name, model):
    return torch.optim.AdamW(model.parameters(), 0.01) if name == "AdamW" else torch.optim.SGD(model.parameters(), 0.1)


def losses_of_pytorch(model, optimizer, loss):
    words, labels, mask = inputs()
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss(model(words), labels, mask)
        value.backward()
        optimizer.step()
        found.append(value.item())
    return found


def saved(family, optimizer, loss, folder):
    words, labels, mask = inputs()
    model = made(family)
    exported = lanescope.torch.export(model, (words,), optimizer_of(optimizer, model), loss, labels=(labels, mask), batch_axis=0)
    exported.save(str(folder / "model.pb"))
    return folder / "model.pb"


BY_REPLICAS = [("data-parallel", "two"), ("data-parallel", "four"), ("fsdp", "four"), ("zero1", "two"), ("zero2", "four"),
               ("data-parallel+fsdp:2", "four")]
BY_STAGES = [("pipeline", "two"), ("pipeline-gpipe", "two"), ("pipeline-interleaved", "two"), ("pipeline-zero-bubble", "four"),
             ("data-parallel+pipeline:2", "four")]
BY_TENSORS = [("tensor-parallel", "two"), ("context-parallel", "two"), ("ring-attention", "two"), ("sequence-parallel", "two"),
              ("fsdp+tensor-parallel:2", "four"), ("data-parallel+context-parallel:2", "four")]


@pytest.mark.parametrize("family, optimizer, loss, strategies", [
    ("gpt2", "AdamW", ignored_labels, BY_REPLICAS + BY_STAGES + BY_TENSORS),
    ("llama", "SGD", ignored_labels, BY_REPLICAS[1:3] + BY_STAGES[:1]),
    ("llama", "AdamW", weighted, BY_REPLICAS[1:4] + BY_STAGES[:1] + BY_TENSORS[:2]),
    ("gpt2", "SGD", added_up, BY_REPLICAS + BY_STAGES + BY_TENSORS),
    ("llama", "AdamW", masked_mean, BY_REPLICAS + BY_STAGES + BY_TENSORS[:3]),
    ("gpt2", "SGD", mean_of_at_least_one, BY_REPLICAS[:3] + BY_STAGES[:1] + BY_TENSORS[:2]),
    ("gpt2", "AdamW", sum_and_mean, BY_REPLICAS[:3] + BY_STAGES[:1]),
    ("llama", "SGD", shifted, BY_REPLICAS[:3] + BY_STAGES[:1] + BY_TENSORS[:2]),
], ids=lambda value: getattr(value, "__name__", value if isinstance(value, str) else ""))
def test_trains_as_one_device(family, optimizer, loss, strategies, tmp_path):
    pytest.importorskip("transformers", reason="transformers is not installed")
    graph = saved(family, optimizer, loss, tmp_path)
    one = train(graph, tmp_path / "single", "--strategy", "single")
    model = made(family)
    assert one == pytest.approx(losses_of_pytorch(model, optimizer_of(optimizer, model), loss), rel=1e-5)
    found = {each: train(graph, tmp_path / (each[0].replace(":", "_") + each[1]), "--strategy", each[0], "--machine",
                         MACHINES / f"{each[1]}-virtual-gpus.json") for each in strategies}
    assert {each: losses for each, losses in found.items() if losses != pytest.approx(one, rel=1e-6)} == {}, one


class Mixed(torch.nn.Module):
    """Rows of the batch meet in the last op."""

    def __init__(self, mix):
        super().__init__()
        self.linear, self.mix = torch.nn.Linear(4, 4), mix

    def forward(self, x):
        y = self.linear(x)
        if self.mix == "cumsum":
            return y.cumsum(0)
        return (y @ y.T).tanh().sum(1) if self.mix == "pairs" else y.sort(dim=0).values


@pytest.mark.parametrize("mix, expected", [("cumsum", "goes along the rows of the batch"), ("pairs", "sets rows of the batch against each other"),
                                           ("sort", "compares rows of the batch")])
def test_refuses_what_sets_rows_against_each_other(mix, expected, tmp_path):
    """One line with the node, what it does, and the line of the model."""
    torch.manual_seed(1)
    model = Mixed(mix)
    exported = lanescope.torch.export(model, (torch.randn(8, 4),), torch.optim.SGD(model.parameters(), 0.1),
                                      lambda y: y.square().mean(), batch_axis=0)
    exported.save(str(tmp_path / "model.pb"))
    check_refusals(tmp_path / "model.pb", expected)


def check_refusals(graph, expected):
    for strategy in ("data-parallel", "pipeline"):
        done = subprocess.run([os.environ["LANESCOPE"], "place", graph, "--strategy", strategy, "--machine",
                               MACHINES / "two-virtual-gpus.json"], capture_output=True, text=True, check=False)
        assert done.returncode != 0
        message = done.stderr.strip()
        assert len(message.splitlines()) == 1 and message.startswith(f"error: InvalidArgument: {strategy}: '"), message
        assert expected in message and " at torch_losses_test.py:" in message, message


def contrast_of(rows):
    return functional.cross_entropy(rows @ rows.T, torch.arange(rows.shape[0]))


def test_refuses_a_contrastive_loss_with_its_line(tmp_path):
    """Law: every row of the batch is set against all others; one device trains with it. The loss is a function, no module."""
    torch.manual_seed(1)
    model, x = torch.nn.Linear(4, 4), torch.randn(8, 4)
    export = lanescope.torch.export(model, (x,), torch.optim.SGD(model.parameters(), 0.1), contrast_of, batch_axis=0)
    export.save(str(tmp_path / "model.pb"))
    assert train(tmp_path / "model.pb", tmp_path / "one", "--strategy", "single")[0] == pytest.approx(contrast_of(model(x)).item(), rel=1e-5)
    check_refusals(tmp_path / "model.pb", "'loss/MatMul' at torch_losses_test.py:")
    [line] = {call.line for call in export.calls if call.op == "aten::mm" and call.module == "loss"}
    assert line in {call.line for call in export.calls if call.op == "aten::mm" and call.module == "gradients/loss"}, "of what it derives"
