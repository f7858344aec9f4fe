#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory and FLOPs of training steps of models that people have, beside what PyTorch's own tools count.

    LANESCOPE=build/release/bin/lanescope PYTHONPATH=python:build/release/python bench/accuracy/torch_memory.py [MODEL...]

Nothing is computed: models lie on fake tensors, in PyTorch as here. The step is cross entropy and AdamW, in float32, without
dropout. Memory is MemTracker's peak of the second step, beside the peak that one GPU is planned to have. FLOPs are
FlopCounterMode's of forward and backward, beside those of the export's products, convolutions and attention.
Needs PyTorch 2.15, transformers and torchvision.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from lanescope.torch import export

COUNTED = ("mm", "convolution", "scaled_dot_product")
MACHINE = {"name": "one", "devices": [{"name": "CPU:0", "kind": "host", "memory": "64GiB", "workers": 2},
                                      {"name": "GPU:0", "kind": "modelled", "model": "NVIDIA H100-SXM5-80GB", "memory": "80GiB", "queue": "in-order"}],
           "links": [{"between": ["CPU:0", "GPU:0"], "bandwidth": "50GB/s", "latency": "10us"}]}


class Logits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).logits.flatten(0, -2)


def language(model, config, rows, columns, **options):
    """A model of transformers: `rows` sequences of `columns` words."""
    def make():
        import transformers

        settings = getattr(transformers, config)(attn_implementation="sdpa", **options)
        settings.use_cache = False
        words = torch.zeros(rows, columns, dtype=torch.int64)
        return Logits(getattr(transformers, model)(settings)), words, torch.zeros(rows * columns, dtype=torch.int64)

    return make


def vision(name, batch, **options):
    """A model of torchvision, on images of 224 x 224."""
    def make():
        import torchvision

        images, classes = torch.zeros(batch, 3, 224, 224), torch.zeros(batch, dtype=torch.int64)
        return getattr(torchvision.models, name)(weights=None, **options), images, classes

    return make


SMALL = {"vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8, "num_attention_heads": 16,
         "num_key_value_heads": 8}
MODELS = {
    "gpt2": language("GPT2LMHeadModel", "GPT2Config", 4, 256, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
    "bert": language("BertForMaskedLM", "BertConfig", 8, 128, hidden_dropout_prob=0, attention_probs_dropout_prob=0),
    "llama": language("LlamaForCausalLM", "LlamaConfig", 2, 1024, **SMALL),
    "qwen3": language("Qwen3ForCausalLM", "Qwen3Config", 2, 1024, head_dim=64, **SMALL),
    "resnet50": vision("resnet50", 32),
    "mobilenet_v2": vision("mobilenet_v2", 32, dropout=0),
    "efficientnet_b0": vision("efficientnet_b0", 16, dropout=0, stochastic_depth_prob=0),
    "densenet121": vision("densenet121", 16),
    "vgg16": vision("vgg16", 16, dropout=0),
}


def counted_by_pytorch(make):
    """Bytes at the peak, and FLOPs."""
    with FakeTensorMode():
        model, x, y = make()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
        tracker, counter = MemTracker(), FlopCounterMode(display=False)
        tracker.track_external(model, optimizer, x, y)
        with tracker:
            for step in range(2):
                if step == 1:
                    tracker.reset_mod_stats()
                functional.cross_entropy(model(x), y).backward()
                optimizer.step()
                optimizer.zero_grad()
        with counter:
            functional.cross_entropy(model(x), y).backward()
        return tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"], counter.get_total_flops()


def counted_here(make, folder):
    with FakeTensorMode():
        model, x, y = make()
    exported = export(model, x, torch.optim.AdamW(model.parameters(), 1e-3), functional.cross_entropy, labels=(y,), batch_axis=None)
    exported.save(str(folder / "model.pb"))
    (folder / "machine.json").write_text(json.dumps(MACHINE))
    done = subprocess.run([os.environ.get("LANESCOPE", "lanescope"), "simulate", folder / "model.pb", "--strategy", "single",
                           "--machine", folder / "machine.json", "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    flops = sum(call.flops for call in exported.calls if any(name in call.op for name in COUNTED))
    return max(json.loads(done.stdout)["peak_bytes"].values()), flops


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    chosen = parser.parse_args().models or list(MODELS)
    unknown = [name for name in chosen if name not in MODELS]
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    warnings.simplefilter("ignore")
    print("| model | MemTracker, MiB | planned, MiB | | FlopCounterMode, GFLOP | here | |\n|---|---|---|---|---|---|---|")
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            (bytes_here, flops_here), (theirs, flops) = counted_here(MODELS[name], pathlib.Path(folder)), counted_by_pytorch(MODELS[name])
        print(f"| {name} | {theirs / 2**20:.0f} | {bytes_here / 2**20:.0f} | {bytes_here / theirs - 1:+.1%} | {flops / 1e9:.1f} | "
              f"{flops_here / 1e9:.1f} | {flops_here / flops - 1:+.1%} |", flush=True)


if __name__ == "__main__":
    main()
