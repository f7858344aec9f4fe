# SPDX-License-Identifier: Apache-2.0
"""A transformer of one's own: 40 blocks, grouped queries, RMSNorm, SwiGLU."""
import torch
from torch import nn

from lanescope.torch import export


class Attention(nn.Module):
    def __init__(self, hidden, heads, kv_heads):
        super().__init__()
        self.size, self.group = hidden // heads, heads // kv_heads
        self.queries = nn.Linear(hidden, hidden, bias=False)
        self.keys = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.values = nn.Linear(hidden, kv_heads * self.size, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x):
        heads = [part.unflatten(-1, (-1, self.size)).transpose(1, 2) for part in (self.queries(x), self.keys(x), self.values(x))]
        mixed = nn.functional.scaled_dot_product_attention(*heads, is_causal=True, enable_gqa=self.group > 1)
        return self.out(mixed.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    def __init__(self, hidden, width):
        super().__init__()
        self.gate, self.up = nn.Linear(hidden, width, bias=False), nn.Linear(hidden, width, bias=False)
        self.down = nn.Linear(width, hidden, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, hidden, heads, kv_heads, width):
        super().__init__()
        self.attention_norm, self.attention = nn.RMSNorm(hidden), Attention(hidden, heads, kv_heads)
        self.ffn_norm, self.ffn = nn.RMSNorm(hidden), FeedForward(hidden, width)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.ffn(self.ffn_norm(x))


class Transformer(nn.Module):
    def __init__(self, blocks, hidden, heads, kv_heads, width, words, tokens):
        super().__init__()
        self.words, self.places = nn.Embedding(words, hidden), nn.Embedding(tokens, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads, kv_heads, width) for _ in range(blocks))
        self.norm, self.head = nn.RMSNorm(hidden), nn.Linear(hidden, words, bias=False)

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(words.shape[1], device=words.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss(logits, labels):
    return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


if __name__ == "__main__":
    with torch.device("meta"):
        model = Transformer(blocks=40, hidden=5120, heads=40, kv_heads=8, width=17408, words=128256, tokens=8192)
        words = torch.zeros(64, 8192, dtype=torch.int64)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    export(model, words, optimizer, loss, labels=(words,)).save("mine.pb")
