# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention written by hand in PyTorch, or by its own layers."""
import torch
from torch import nn

from .registry import WORDS, add


class NanoGpt(nn.Module):
    """Attention written out, with a stored mask."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, 32), nn.Embedding(64, 32)
        self.mix, self.out, self.norm = nn.Linear(32, 96), nn.Linear(32, 32), nn.LayerNorm(32)
        self.mlp = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 32))
        self.head = nn.Linear(32, WORDS, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))

    def forward(self, input_ids):
        batch, length = input_ids.shape
        x = self.words(input_ids) + self.places(torch.arange(length))
        q, k, v = (t.view(batch, length, 4, 8).transpose(1, 2) for t in self.mix(self.norm(x)).split(32, 2))
        scores = (q @ k.transpose(-2, -1)) * 8 ** -0.5
        shares = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf")).softmax(-1)
        x = x + self.out((shares @ v).transpose(1, 2).reshape(batch, length, 32))
        return self.head(x + self.mlp(x))


class Encoder(nn.Module):
    """torch.nn.TransformerEncoder."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.words, self.head = nn.Embedding(WORDS, 32), nn.Linear(32, WORDS)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, input_ids):
        return self.head(self.layers(self.words(input_ids)))


add(__name__, "tokens", "nanogpt", NanoGpt)
add(__name__, "tokens", "torch_encoder", Encoder)
