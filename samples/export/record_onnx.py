#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small models exported to ONNX by PyTorch, and what onnxruntime computes with them, for tests/golden/onnx.

Wants torch, transformers, onnx, onnxscript and onnxruntime. Usage: record_onnx.py FOLDER
"""

import pathlib
import sys

import numpy
import onnx
import onnxruntime
import torch
import transformers

nn = torch.nn


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.down = nn.Conv2d(inputs, outputs, 1, stride) if stride != 1 else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.down(x))


class ResNet(nn.Module):
    """The layers of ResNet-50, few and thin."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
                                  nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Residual(4, 4, 1), Residual(4, 6, 2))
        self.depthwise = nn.Conv2d(6, 12, 3, padding=1, groups=6)
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        x = nn.functional.hardswish(self.depthwise(self.blocks(self.stem(x))))
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = transformers.BertModel(transformers.BertConfig(
            vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
            max_position_embeddings=16, attn_implementation="eager"))

    def forward(self, ids, mask):
        out = self.bert(input_ids=ids, attention_mask=mask)
        return out.last_hidden_state, out.pooler_output


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.gpt = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=16, attn_implementation="eager",
            use_cache=False))

    def forward(self, ids):
        return self.gpt(input_ids=ids, use_cache=False).logits


def cases():
    ids = torch.randint(0, 40, (2, 7))
    mask = torch.ones(2, 7, dtype=torch.int64)
    mask[1, 5:] = 0
    return {"resnet": (ResNet(), (torch.randn(2, 3, 16, 16),), ["images"], ["logits"]),
            "bert": (Encoder(), (ids, mask), ["ids", "mask"], ["hidden", "pooled"]),
            "gpt2": (Decoder(), (ids,), ["ids"], ["logits"])}


def strip(path):
    """Without what says where in the source a node is from."""
    model = onnx.load(path)
    del model.metadata_props[:], model.graph.metadata_props[:], model.graph.value_info[:]
    for node in model.graph.node:
        node.ClearField("doc_string")
        del node.metadata_props[:]
    for value in [*model.graph.input, *model.graph.output, *model.graph.initializer]:
        del value.metadata_props[:]
    onnx.save(model, path)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    for name, (model, inputs, input_names, output_names) in cases().items():
        model.eval()
        for module in model.modules():  # as after training
            if isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.running_mean, -0.5, 0.5)
                nn.init.uniform_(module.running_var, 0.5, 2)
        for exporter, opset in (("dynamo", 20), ("script", 14)):
            path = folder / f"{name}_{exporter}.onnx"
            try:
                torch.onnx.export(model, inputs, str(path), input_names=input_names, output_names=output_names,
                                  opset_version=opset, dynamo=exporter == "dynamo", external_data=False)
            except Exception as error:  # which exporters are there depends on the versions
                print(f"{path.name}: not exported: {type(error).__name__}: {str(error).splitlines()[-1][:200]}")
                continue
            strip(path)
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            feeds = {name: tensor.numpy() for name, tensor in zip(input_names, inputs)}
            made = session.run(output_names, feeds)
            for key, value in [*feeds.items(), *zip(output_names, made)]:
                numpy.save(folder / f"{path.stem}.{key}.npy", value)
            print(path.name, path.stat().st_size, "bytes,", [numpy.shape(each) for each in made])


if __name__ == "__main__":
    main()
