# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expert layers that sort tokens by their expert, count them, and split the rows by the counts, as JetMoE's do. How it is
called: against_torch.py."""
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch

LENGTH, WIDTH, WORDS, EXPERTS, PICKS = 5, 8, 20, 4, 2


class Experts(nn.Module):
    """One matrix an expert, and what becomes of its part of the rows."""

    def __init__(self, inner, outer, activate=None):
        super().__init__()
        self.weight, self.activate = nn.Parameter(torch.randn(EXPERTS, outer, inner) / inner**0.5), activate

    def forward(self, rows, sizes):
        parts = [F.linear(part, self.weight[i]) for i, part in enumerate(rows.split(sizes, dim=0))]
        return torch.cat([self.activate(self, i, part) if self.activate else part for i, part in enumerate(parts)], 0)


class Model(nn.Module):
    def __init__(self, activate=None):
        super().__init__()
        self.enter, self.route, self.out = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, EXPERTS), nn.Linear(WIDTH, 1)
        self.up, self.down = Experts(WIDTH, 2 * WIDTH), Experts(WIDTH, WIDTH, activate)
        self.down.bias = nn.Parameter(torch.randn(EXPERTS, WIDTH))

    def forward(self, ids, wanted):
        x = self.enter(ids).reshape(-1, WIDTH)
        scores, picks = self.route(x).topk(PICKS, dim=1)
        gates = torch.softmax(scores, dim=1).flatten()
        sizes = torch.zeros(x.shape[0], EXPERTS).scatter(1, picks, 1).long().sum(0).tolist()
        _, order = picks.flatten().sort(0)
        rows = order.div(PICKS, rounding_mode="trunc")
        gate, up = self.up(x[rows], sizes).chunk(2, dim=-1)
        done = self.down(F.silu(gate) * up, sizes) * gates[order][:, None]
        mixed = torch.zeros_like(x).index_add(0, rows, done)
        return (self.out(x + mixed).reshape(wanted.shape) - wanted).square().mean()


def activated(self, i, part):
    """Functions of single rows between the product and the join."""
    return torch.tanh(part + self.bias[i]) * part


FORMS = {"counted": Model, "activated": lambda: Model(activated)}
ROWS = against_torch.STEPS * against_torch.BATCH

if __name__ == "__main__":
    random = numpy.random.default_rng(6)
    data = {name: random.integers(0, most, (ROWS, LENGTH)) for name, most in (("ids", WORDS), ("wanted", 3))}
    sys.exit(against_torch.main(FORMS, data, LENGTH))
