# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A byte-level GPT-2 of 0.9 million parameters, in plain PyTorch.

Its export is model.onnx beside this file, which tools/quickstart trains. To make it again:

    PYTHONPATH=tools/export:examples/bytegpt python -m dtcc_export bytegpt:example -o examples/bytegpt/model.onnx --check
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, LENGTH, WIDTH, LAYERS, HEADS = 256, 256, 128, 4, 4


class Block(nn.Module):
    """Attention over the past, then a perceptron, each on a normalised copy of the residual stream."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, past):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=past)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class ByteGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                # GPT-2's initial values: the outputs of residual branches shrink with their number.
                branch = name.endswith(("proj.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * LAYERS) if branch else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, input_ids):
        position = torch.arange(input_ids.shape[1], device=input_ids.device)
        past = position[None, :] <= position[:, None]
        x = self.tokens(input_ids) + self.positions(position)
        for block in self.blocks:
            x = block(x, past)
        return F.linear(self.norm(x), self.tokens.weight)  # the table of tokens is also the head


def example():
    """What python -m dtcc_export asks for: the module, inputs of the right shape, and its loss."""
    torch.manual_seed(1)
    ids = torch.randint(0, VOCABULARY, (2, 64))
    return ByteGPT(), {"input_ids": ids, "labels": ids}, {"loss": "causal_lm"}
