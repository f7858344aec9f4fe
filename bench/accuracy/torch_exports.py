#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three steps of training of small models of known families, exported and run, beside PyTorch's own.

    LANESCOPE=build/release/bin/lanescope PYTHONPATH=python:build/release/python bench/accuracy/torch_exports.py [MODEL...]

Prints a row a model: ATen calls of the step, ops that are known by cost alone, and the largest relative difference of a loss. The step is plain descent in float32 on the mean square of the first output, without dropout.
Models are random and small. Needs PyTorch 2.15, transformers, torchvision and diffusers.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import warnings

import diffusers
import numpy
import torch
import torchvision
import transformers
from torch import nn

from lanescope.torch import export

MACHINE = {"name": "one", "devices": [{"name": "CPU:0", "kind": "host", "memory": "8GiB", "workers": 2}]}
WORDS, ROWS, STEPS = 100, 16, 3
TEXT = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GROUPED = {**TEXT, "num_key_value_heads": 2}
EXPERTS = {**GROUPED, "num_experts_per_tok": 2}
SMALL = {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
PAIRS = {"vocab_size": WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 64,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
PICTURES = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32, "patch_size": 8}
WINDOWS = ([4, 4], 24, [1, 1], [2, 2], [4, 4])

# By name: class, what its configuration has, and which inputs it takes.
OF_TRANSFORMERS = {
    "BERT": ("BertForMaskedLM", TEXT), "RoBERTa": ("RobertaForMaskedLM", TEXT), "ELECTRA": ("ElectraForMaskedLM", {**TEXT, "embedding_size": 16}),
    "ALBERT": ("AlbertForMaskedLM", {**TEXT, "embedding_size": 16}),
    "DistilBERT": ("DistilBertForMaskedLM", {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
    "DeBERTa v2": ("DebertaV2ForMaskedLM", {**TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8}),
    "ModernBERT": ("ModernBertForMaskedLM", {**TEXT, "cls_token_id": 1, "sep_token_id": 2}),
    "XLNet": ("XLNetLMHeadModel", {"vocab_size": WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}),
    "GPT-2": ("GPT2LMHeadModel", SMALL), "GPT-J": ("GPTJForCausalLM", {**SMALL, "rotary_dim": 4}), "GPT-NeoX": ("GPTNeoXForCausalLM", TEXT),
    "OPT": ("OPTForCausalLM", {**TEXT, "ffn_dim": 64, "word_embed_proj_dim": 32}), "Phi": ("PhiForCausalLM", TEXT),
    "BLOOM": ("BloomForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "Falcon": ("FalconForCausalLM", TEXT), "Llama": ("LlamaForCausalLM", GROUPED), "Mistral": ("MistralForCausalLM", GROUPED),
    "Gemma": ("GemmaForCausalLM", {**GROUPED, "head_dim": 8}), "Gemma 2": ("Gemma2ForCausalLM", {**GROUPED, "head_dim": 8, "sliding_window": 8}),
    "Gemma 3": ("Gemma3ForCausalLM", {**GROUPED, "head_dim": 8, "sliding_window": 8}), "Qwen2": ("Qwen2ForCausalLM", GROUPED),
    "Qwen3": ("Qwen3ForCausalLM", {**GROUPED, "head_dim": 8}), "OLMo 2": ("Olmo2ForCausalLM", GROUPED),
    "Mixtral": ("MixtralForCausalLM", {**EXPERTS, "num_local_experts": 4}),
    "Qwen3 MoE": ("Qwen3MoeForCausalLM", {**EXPERTS, "head_dim": 8, "num_experts": 4, "moe_intermediate_size": 16}),
    "gpt-oss": ("GptOssForCausalLM", {**EXPERTS, "head_dim": 8, "num_local_experts": 4, "sliding_window": 8}),
    "DeepSeek-V3": ("DeepseekV3ForCausalLM", {**EXPERTS, "num_key_value_heads": 4, "n_routed_experts": 4, "n_group": 2, "topk_group": 1,
                                              "moe_intermediate_size": 16, "q_lora_rank": 16, "kv_lora_rank": 8, "qk_rope_head_dim": 4,
                                              "qk_nope_head_dim": 4, "v_head_dim": 8, "first_k_dense_replace": 1}),
    "Mamba": ("MambaForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}),
    "Mamba 2": ("Mamba2ForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "num_heads": 8,
                                      "head_dim": 8, "n_groups": 1, "chunk_size": 8}),
    "T5": ("T5ForConditionalGeneration", {"vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}, "pair"),
    "BART": ("BartForConditionalGeneration", PAIRS, "pair"),
    "Whisper": ("WhisperForConditionalGeneration", {**PAIRS, "num_mel_bins": 16, "max_source_positions": 32, "max_target_positions": 32}, "sound"),
    "wav2vec 2.0": ("Wav2Vec2ForCTC", {"vocab_size": 32, "num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4,
                                       "intermediate_size": 64, "conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3),
                                       "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2,
                                       "layerdrop": 0.0, "apply_spec_augment": False}, "wave"),
    "ViT": ("ViTForImageClassification", PICTURES, "image"), "DeiT": ("DeiTForImageClassification", PICTURES, "image"),
    "BEiT": ("BeitForImageClassification", {**PICTURES, "use_relative_position_bias": True, "drop_path_rate": 0.0}, "image"),
    "DINOv2": ("Dinov2ForImageClassification", {**PICTURES, "image_size": 48, "drop_path_rate": 0.0}, "image"),
    "Swin": ("SwinForImageClassification", {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4],
                                            "window_size": 4, "drop_path_rate": 0.0}, "image"),
    "SegFormer": ("SegformerForSemanticSegmentation", {"depths": [1] * 4, "hidden_sizes": [8, 16, 16, 32], "decoder_hidden_size": 16,
                                                       "num_attention_heads": [1, 2, 2, 4], "drop_path_rate": 0.0}, "image"),
}
MODELS_OF_IMAGES = torchvision.models
OF_TORCHVISION = {
    "AlexNet": (MODELS_OF_IMAGES.alexnet, {}), "VGG-11": (MODELS_OF_IMAGES.vgg11, {"num_classes": 10}),
    "ResNet-18": (MODELS_OF_IMAGES.resnet18, {}), "DenseNet-121": (MODELS_OF_IMAGES.densenet121, {}),
    "SqueezeNet": (MODELS_OF_IMAGES.squeezenet1_1, {}), "ShuffleNet v2": (MODELS_OF_IMAGES.shufflenet_v2_x1_0, {}),
    "MobileNet v3": (MODELS_OF_IMAGES.mobilenet_v3_small, {}), "EfficientNet": (MODELS_OF_IMAGES.efficientnet_b0, {}),
    "ConvNeXt": (MODELS_OF_IMAGES.convnext_tiny, {}),
    "Swin (torchvision)": (lambda **_: MODELS_OF_IMAGES.SwinTransformer(*WINDOWS, num_classes=10), {}),
    "Swin v2": (lambda **_: MODELS_OF_IMAGES.SwinTransformer(*WINDOWS, num_classes=10, block=MODELS_OF_IMAGES.swin_transformer.SwinTransformerBlockV2,
                                                             downsample_layer=MODELS_OF_IMAGES.swin_transformer.PatchMergingV2), {}),
    "MaxViT": (lambda **_: MODELS_OF_IMAGES.MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 16, 0.0, num_classes=10), {}),
    "DeepLab v3": (MODELS_OF_IMAGES.segmentation.deeplabv3_mobilenet_v3_large, {"weights_backbone": None}),
}
OTHERS = ("CLIP", "DETR", "RAFT", "U-Net")


def words():
    return torch.randint(3, WORDS - 1, (2, ROWS))


def inputs_of(kind, size=32):
    """Positional tensors, and those by name."""
    if kind == "image":
        return (torch.randn(2, 3, size, size),), {}
    if kind in ("pair", "sound"):
        return (words() if kind == "pair" else torch.randn(2, 16, 64),), {"decoder_input_ids": words()}
    return (torch.randn(2, 400) if kind == "wave" else words(),), {}


def model_of(name):
    """A model with its inputs, positional and by name."""
    if name in OF_TRANSFORMERS:
        made, options, *kind = OF_TRANSFORMERS[name]
        config = getattr(transformers, made).config_class(**options)
        if hasattr(config, "use_cache"):
            config.use_cache = False
        return getattr(transformers, made)(config), *inputs_of(*(kind or ["text"]), options.get("image_size", 64))
    if name in OF_TORCHVISION:
        make, options = OF_TORCHVISION[name]
        return make(weights=None, **options), *inputs_of("image", 64)
    if name == "CLIP":
        config = transformers.CLIPConfig(text_config=TEXT, vision_config=PICTURES, projection_dim=16)
        return transformers.CLIPModel(config), (words(), torch.randn(2, 3, 32, 32)), {}
    if name == "DETR":
        backbone = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"])
        config = transformers.DetrConfig(**{**PAIRS, "encoder_layers": 1, "decoder_layers": 1}, num_queries=5, use_timm_backbone=False,
                                         use_pretrained_backbone=False, backbone=None, backbone_config=backbone)
        return transformers.DetrForObjectDetection(config), *inputs_of("image")
    if name == "RAFT":
        pictures = (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128))
        return torchvision.models.optical_flow.raft_small(weights=None), pictures, {"num_flow_updates": 2}
    unet = diffusers.UNet2DConditionModel(sample_size=8, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32, norm_num_groups=8,
                                          down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), attention_head_dim=4,
                                          up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    return unet, (torch.randn(2, 4, 8, 8), torch.tensor([3, 7]), torch.randn(2, 5, 32)), {}


class First(nn.Module):
    """The first tensor of floats that a model returns, without dropout."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        for module in model.modules():
            for name, value in list(vars(module).items()):
                if "drop" in name.lower() and isinstance(value, float):
                    setattr(module, name, 0.0)
            if isinstance(module, (nn.modules.dropout._DropoutNd, torchvision.ops.StochasticDepth)):
                module.p = 0.0

    def forward(self, *args, **kwargs):
        made = self.model(*args, **kwargs)
        leaves = torch.utils._pytree.tree_leaves(made.to_tuple() if hasattr(made, "to_tuple") else made)
        return next(leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.is_floating_point())


def loss_of(y):
    return y.square().mean() / 100


def losses_of_pytorch(model, optimizer, args, kwargs):
    losses = []
    for _ in range(STEPS):
        loss = loss_of(model(*args, **kwargs))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(exported, folder):
    exported.save(str(folder / "model.pb"))
    (folder / "machine.json").write_text(json.dumps(MACHINE))
    done = subprocess.run([os.environ["LANESCOPE"], "run", folder / "model.pb", "--machine", folder / "machine.json", "--steps", str(STEPS),
                           "--warmup", "0", "--save-fetches", folder / "fetched"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return [float(numpy.load(file)) for file in sorted((folder / "fetched").glob("step*_loss_0.npy"))]


def row(name):
    torch.manual_seed(1)
    model, args, kwargs = model_of(name)
    model = First(model).train()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    exported = export(model, args, optimizer, loss_of, example_kwargs=kwargs, keep_values=True, batch_axis=None)
    if exported.cost_only:
        return f"| {name} | {len(exported.calls)} | {', '.join(exported.cost_only)} | |"
    theirs = losses_of_pytorch(model, optimizer, args, kwargs)
    with tempfile.TemporaryDirectory() as folder:
        ours = run(exported, pathlib.Path(folder))
    worst = max(abs(mine - other) / abs(other) for mine, other in zip(ours, theirs))
    return f"| {name} | {len(exported.calls)} | | {worst:.0e} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [*OF_TRANSFORMERS, *OF_TORCHVISION, *OTHERS]
    parser.add_argument("models", nargs="*", metavar="MODEL", help="of " + ", ".join(known))
    names = parser.parse_args().models or known
    warnings.simplefilter("ignore")
    print("| model | calls | by cost alone | loss differs by |\n|---|---|---|---|")
    for name in names:
        try:
            print(row(name), flush=True)
        except Exception as problem:  # of any library: the row says it
            reason = (str(problem).splitlines() or [""])[0]
            print(f"| {name} | | | {type(problem).__name__}: {reason[:120]} |", flush=True)


if __name__ == "__main__":
    main()
