# SPDX-License-Identifier: Apache-2.0
"""Ops as PyTorch runs them on GPUs: attention is one op, forward and backward."""

import contextlib

import torch


def on_host(mode, fake):
    """A fake tensor of the processor, which has a fused attention that needs no GPU: of one on the device "meta"."""
    if fake.device.type != "meta":
        return fake
    with mode:
        return torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device="cpu")


@contextlib.contextmanager
def fused_attention():
    """Its dropout, which costs next to nothing, is left out: no kernel of the processor has it."""
    functional = torch.nn.functional
    plain = functional.scaled_dot_product_attention

    def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        return plain(query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa)

    functional.scaled_dot_product_attention = attention
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = plain
