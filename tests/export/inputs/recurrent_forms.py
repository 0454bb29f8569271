# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent layers of more steps than are written out, of all kinds, in both directions, in stacks, with losses of the states at
the end, and from states that are trained. How it is called: against_torch.py."""
import sys

import numpy
import torch
from torch import nn

import against_torch

LENGTH, WIDTH, WORDS = 40, 12, 20


class Model(nn.Module):
    """`layers` after each other, each with its settings. The loss reads all states, and what the layers end with. What they
    begin with is zeros, or `starts` parameters that all samples share."""

    def __init__(self, kind, ends=True, starts=0, **settings):
        super().__init__()
        self.ends, self.enter = ends, nn.Embedding(WORDS, WIDTH)
        self.layers = kind(WIDTH, WIDTH, batch_first=True, **settings)
        directions = 2 if settings.get("bidirectional") else 1
        self.out = nn.Linear(directions * (settings.get("proj_size") or WIDTH), 1)
        shape = (directions * settings.get("num_layers", 1), 1, WIDTH)
        self.starts = nn.ParameterList(torch.randn(shape) for _ in range(starts))

    def forward(self, ids, wanted):
        starts = [start.expand(-1, ids.shape[0], -1) for start in self.starts]
        states, end = self.layers(self.enter(ids), *([starts[0]] if len(starts) == 1 else [tuple(starts)] if starts else []))
        loss = (self.out(states).squeeze(-1) - wanted).square().mean()
        for each in end if isinstance(end, tuple) else (end,):
            loss = loss + each.square().mean() if self.ends else loss
        return loss


class Last(nn.Module):
    """A classifier that reads the last state c alone."""

    def __init__(self):
        super().__init__()
        self.enter, self.layer, self.out = nn.Embedding(WORDS, WIDTH), nn.LSTM(WIDTH, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, ids, wanted):
        c = self.layer(self.enter(ids).transpose(0, 1))[1][1][0]
        return (self.out(c) - wanted[:, :1]).square().mean()


MODELS = {
    "lstm": lambda: Model(nn.LSTM, num_layers=2, ends=False),
    "lstm_both": lambda: Model(nn.LSTM, num_layers=2, bidirectional=True, bias=False),
    "lstm_last": Last,
    "gru": lambda: Model(nn.GRU, num_layers=2),
    "gru_both": lambda: Model(nn.GRU, bidirectional=True, bias=False),
    "tanh": lambda: Model(nn.RNN, num_layers=2),
    "relu_both": lambda: Model(nn.RNN, nonlinearity="relu", bidirectional=True),
    "lstm_started": lambda: Model(nn.LSTM, starts=2, num_layers=2),
    "gru_started": lambda: Model(nn.GRU, starts=1, bidirectional=True),
    "tanh_started": lambda: Model(nn.RNN, starts=1),
    "lstm_projected": lambda: Model(nn.LSTM, num_layers=2, bidirectional=True, proj_size=5),
    "lstm_projected_alone": lambda: Model(nn.LSTM, ends=False, proj_size=4, bias=False),
}
ROWS = against_torch.STEPS * against_torch.BATCH

if __name__ == "__main__":
    random = numpy.random.default_rng(6)
    data = {name: random.integers(0, most, (ROWS, LENGTH)) for name, most in (("ids", WORDS), ("wanted", 3))}
    sys.exit(against_torch.main(MODELS, data, LENGTH))
