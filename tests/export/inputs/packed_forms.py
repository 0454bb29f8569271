# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent layers of packed sequences, with losses of all states and of those at each sample's end. How it is called:
against_torch.py."""
import sys

import numpy
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import against_torch

LENGTH, WIDTH, WORDS = 9, 6, 20


class Model(nn.Module):
    def __init__(self, kind, batch_first=True, enforce_sorted=False, padding=0.0, **settings):
        super().__init__()
        self.batch_first, self.enforce_sorted, self.padding = batch_first, enforce_sorted, padding
        self.enter, self.layers = nn.Embedding(WORDS, WIDTH), kind(WIDTH, WIDTH, batch_first=batch_first, **settings)
        self.out = nn.Linear((2 if settings.get("bidirectional") else 1) * (settings.get("proj_size") or WIDTH), 1)

    def forward(self, ids, lengths, wanted):
        x = self.enter(ids) if self.batch_first else self.enter(ids).transpose(0, 1)
        states, end = self.layers(pack_padded_sequence(x, lengths, self.batch_first, self.enforce_sorted))
        states, _ = pad_packed_sequence(states, self.batch_first, self.padding, total_length=ids.shape[1])
        states = states if self.batch_first else states.transpose(0, 1)
        loss = (self.out(states).squeeze(-1) - wanted).square().mean()
        for number, each in enumerate(end if isinstance(end, tuple) else (end,)):
            loss = loss + (each - number).square().mean()
        return loss


MODELS = {
    "lstm": lambda: Model(nn.LSTM),
    "lstm_both": lambda: Model(nn.LSTM, num_layers=2, bidirectional=True, padding=0.5),
    "gru_both": lambda: Model(nn.GRU, num_layers=2, bidirectional=True, batch_first=False),
    "tanh": lambda: Model(nn.RNN, num_layers=2, enforce_sorted=True),
}
ROWS = against_torch.STEPS * against_torch.BATCH

if __name__ == "__main__":
    random = numpy.random.default_rng(6)
    data = {name: random.integers(0, most, (ROWS, LENGTH)) for name, most in (("ids", WORDS), ("wanted", 3))}
    # Each batch is sorted, and none but the first has a sample of full length.
    data["lengths"] = numpy.array([[9, 6, 4, 1], [8, 8, 5, 2], [7, 3, 2, 1]]).reshape(ROWS)
    sys.exit(against_torch.main(MODELS, data, LENGTH))
