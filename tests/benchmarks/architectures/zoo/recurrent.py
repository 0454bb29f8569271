# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent layers."""
from torch import nn

from .registry import WORDS, add


class Recurrent(nn.Module):
    def __init__(self, kind, **settings):
        super().__init__()
        self.words, self.layers = nn.Embedding(WORDS, 32), kind(32, 16, 2, batch_first=True, bidirectional=True, **settings)
        self.head = nn.Linear(32, WORDS)

    def forward(self, input_ids):
        return self.head(self.layers(self.words(input_ids))[0])


add(__name__, "tokens", "rnn", lambda: Recurrent(nn.RNN, nonlinearity="relu"))
add(__name__, "tokens", "gru", lambda: Recurrent(nn.GRU))
add(__name__, "tokens", "lstm", lambda: Recurrent(nn.LSTM))
