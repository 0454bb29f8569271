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
    def __init__(self, kind, batch_first=True, padding=0.0, starts=False, extra=0, as_list=False, **settings):
        super().__init__()
        self.batch_first, self.padding, self.extra, self.as_list = batch_first, padding, extra, as_list
        self.starts = nn.Parameter(torch.rand(2, settings.get("num_layers", 1), 1, WIDTH)) if starts else None
        self.enter, self.layers = nn.Embedding(WORDS, WIDTH), kind(WIDTH, WIDTH, batch_first=batch_first, **settings)
        self.out = nn.Linear((2 if settings.get("bidirectional") else 1) * (settings.get("proj_size") or WIDTH), 1)

    def forward(self, ids, lengths, wanted):
        x = self.enter(ids) if self.batch_first else self.enter(ids).transpose(0, 1)
        packed = pack_padded_sequence(x, lengths.tolist() if self.as_list else lengths, self.batch_first, enforce_sorted=False)
        if self.starts is None:
            states, end = self.layers(packed)
        else:
            start = tuple(each.expand(-1, ids.shape[0], -1).contiguous() for each in self.starts)
            states, end = self.layers(packed, start if isinstance(self.layers, nn.LSTM) else start[0])
        states, _ = pad_packed_sequence(states, self.batch_first, self.padding, total_length=ids.shape[1] + self.extra)
        states = states if self.batch_first else states.transpose(0, 1)
        wanted = nn.functional.pad(wanted, (0, self.extra))
        loss = (self.out(states).squeeze(-1) - wanted).square().mean()
        for number, each in enumerate(end if isinstance(end, tuple) else (end,)):
            loss = loss + (each - number).square().mean()
        return loss


MODELS = {
    "lstm": lambda: Model(nn.LSTM),
    "lstm_both": lambda: Model(nn.LSTM, num_layers=2, bidirectional=True, padding=0.5),
    "gru_both": lambda: Model(nn.GRU, num_layers=2, bidirectional=True, batch_first=False),
    "tanh": lambda: Model(nn.RNN, num_layers=2, bias=False),
    "lstm_from": lambda: Model(nn.LSTM, starts=True, extra=2),
    "lstm_narrow": lambda: Model(nn.LSTM, num_layers=2, proj_size=3),
    "gru_listed": lambda: Model(nn.GRU, as_list=True),
    "gru_from": lambda: Model(nn.GRU, num_layers=2, starts=True),
}
ROWS = against_torch.STEPS * against_torch.BATCH

if __name__ == "__main__":
    random = numpy.random.default_rng(6)
    data = {name: random.integers(0, most, (ROWS, LENGTH)) for name, most in (("ids", WORDS), ("wanted", 3))}
    # No batch is sorted, and none but the first has a sample of full length.
    data["lengths"] = numpy.array([[6, 9, 1, 4], [8, 2, 8, 5], [1, 2, 7, 3]]).reshape(ROWS)
    sys.exit(against_torch.main(MODELS, data, LENGTH))
