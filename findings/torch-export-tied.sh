#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, torch.export.save and load of a model with a tied weight.
#
# The archive holds the tied weight once, but the loaded module has two parameters where the model had one: parameters() and every sum
# over it count the weight twice, and so does the state of an optimizer. The two share their memory; only one of them ever gets a
# gradient, the other stays None.
# Before it is saved the exported module still has one.
#
# Seen (embedding of 1000 x 64 tied to the last layer):
#   model:    1 parameter, 64000 elements
#   exported: 1 parameter, 64000 elements
#   loaded:   2 parameters, 128000 elements, one memory: True, with a gradient: ['out.weight']
#   weights in the archive: 256000 bytes
#
# Led to: a tied parameter is one variable; its further names stand in MODEL.modules.json (python/lanescope/torch/exporting.py).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 -W ignore - "$scratch/model.pt2" <<'END'
import sys
import zipfile
import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(1000, 64)
        self.out = nn.Linear(64, 1000, bias=False)
        self.out.weight = self.words.weight

    def forward(self, x):
        return self.out(self.words(x))


def count(module):
    parameters = list(module.parameters())
    return len(parameters), sum(each.numel() for each in parameters)


model, words = Tied(), torch.tensor([[1, 2, 3]])
program = torch.export.export(model, (words,))
torch.export.save(program, sys.argv[1])
loaded = torch.export.load(sys.argv[1]).module()
loaded(words).sum().backward()
shared = len({each.untyped_storage().data_ptr() for each in loaded.parameters()}) == 1
trained = [name for name, each in loaded.named_parameters() if each.grad is not None]
print("model:    {} parameter, {} elements".format(*count(model)))
print("exported: {} parameter, {} elements".format(*count(program.module())))
print("loaded:   {} parameters, {} elements, one memory: {}, with a gradient: {}".format(*count(loaded), shared, trained))
with zipfile.ZipFile(sys.argv[1]) as archive:
    weights = sum(entry.file_size for entry in archive.infolist() if "/weights/weight_" in entry.filename)
print(f"weights in the archive: {weights} bytes")
assert count(model) == count(program.module()) == (1, 64000) and weights == 4 * 64000
assert count(loaded) == (2, 128000) and shared and trained == ["out.weight"], "tied weights are loaded otherwise now"
END
