# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses of language models besides that of the next token: heads of later tokens (MTP), z-losses of logits and of
routers, and DeepSeek-V3's balance loss of each sequence. How it is called: against_torch.py."""
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch

WORDS, WIDTH, LENGTH, EXPERTS = 11, 16, 8, 4


class Block(nn.Module):
    """Attention, and units that a router scales."""

    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, 2, WIDTH // 2).transpose(1, 2) for y in self.qkv(self.before(x)).split(WIDTH, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, WIDTH))
        h = self.between(x)
        scores = self.router(h)
        return x + self.down(F.gelu(self.up(h))) * scores.softmax(-1).amax(-1, keepdim=True), scores


def cross_entropy(logits, labels):
    return F.cross_entropy(logits.view(-1, WORDS), labels.reshape(-1))


def balance(scores):
    p = scores.softmax(-1)
    picked = F.one_hot(p.argmax(-1), EXPERTS).to(p.dtype)
    return (EXPERTS * picked.mean(1) * p.mean(1)).sum(-1).mean()


class Model(nn.Module):
    def __init__(self, terms):
        super().__init__()
        self.terms = terms
        self.table, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.final, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.joint = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, input_ids, labels):
        x = self.table(input_ids) + self.positions(torch.arange(LENGTH))
        routers = []
        for block in self.blocks:
            x, scores = block(x)
            routers.append(scores)
        h = self.final(x)
        logits = self.head(h)
        later = [F.pad(labels[:, n:], (0, n), value=-100) for n in (1, 2)]
        loss = cross_entropy(logits, later[0])
        if "heads" in self.terms:
            following = F.pad(self.table(input_ids)[:, 1:], (0, 0, 0, 1))
            loss = loss + 0.3 * cross_entropy(self.head(self.final(self.joint(torch.cat([h, following], -1)))), later[1])
        if "z_loss" in self.terms:
            counted = (later[0] != -100).to(h.dtype)
            loss = loss + 0.01 * (torch.logsumexp(logits, -1).pow(2) * counted).sum() / counted.sum()
        if "routers" in self.terms:
            loss = loss + 0.01 * sum(torch.logsumexp(scores, -1).pow(2).mean() for scores in routers)
        if "balance" in self.terms:
            loss = loss + 0.01 * sum(balance(scores) for scores in routers)
        return loss


def inputs():
    random = numpy.random.default_rng(4)
    rows = against_torch.BATCH * against_torch.STEPS
    ids = random.integers(0, WORDS, (rows, LENGTH))
    labels = ids.copy()
    for row in range(rows):
        labels[row, :row % 5] = -100
    return {"input_ids": ids, "labels": labels}


if __name__ == "__main__":
    forms = {"heads": ["heads"], "z_loss": ["z_loss"], "routers": ["routers"], "balance": ["balance"],
             "all": ["heads", "z_loss", "routers", "balance"]}
    sys.exit(against_torch.main({name: lambda terms=terms: Model(terms) for name, terms in forms.items()}, inputs(), LENGTH))
