# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that are compared with their files in a way of their own: checked_forms.py FOLDER

With dropout among rows that a mask picks and in packed sequences, a trace draws other numbers than the module, and so does a
file with noise. ONNX's reference evaluator gives an LSTM no cell, a log_softmax minus infinity where the softmax is 0, and takes
only scalars as the axes of sums, which PyTorch's exporter writes as vectors. Attention's layers name its operands by place.
"""
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

import dtcc_export


class Picked(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.drop, self.head = nn.Embedding(9, 8), nn.Dropout(0.3), nn.Linear(8, 9)

    def forward(self, ids, labels):
        keep = labels >= 0
        return F.cross_entropy(self.head(self.drop(torch.tanh(self.table(ids))[keep])), labels[keep])


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(3, 4, num_layers=2, dropout=0.2, bidirectional=True, batch_first=True)

    def forward(self, x, lengths):
        _, (state, cell) = self.layers(pack_padded_sequence(x, lengths.cpu(), True, enforce_sorted=False))
        return state.square().mean() + cell.square().mean()


class Contrasted(nn.Module):
    """The supervised contrastive loss: a sample is no pair of its own."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 8)

    def forward(self, x, labels):
        rows = F.normalize(self.layer(x), dim=1)
        same = torch.eye(x.shape[0], dtype=torch.bool)
        pairs = (labels[:, None] == labels[None]) & ~same
        scores = (rows @ rows.T / 0.1).masked_fill(same, -1e9).log_softmax(1)
        return -((scores * pairs).sum(1) / pairs.sum(1).clamp(min=1)).mean()


class Attended(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)

    def forward(self, x):
        return torch.logcumsumexp(self.layer(x), 1).square().mean()


class Normed(nn.Module):
    """Its layer holds a weight that forward computes, which PyTorch does not copy."""

    def __init__(self):
        super().__init__()
        self.layer = nn.utils.weight_norm(nn.Linear(3, 8))

    def forward(self, x):
        return self.layer(x).square().mean()


class Drawn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 8)

    def forward(self, x):
        mean, spread = self.layer(x).chunk(2, -1)
        return torch.distributions.Normal(mean, spread.exp()).rsample().square().mean()


MODELS = ((Picked(), {"ids": torch.randint(0, 9, (4, 6)), "labels": torch.randint(-4, 9, (4, 6))}),
          (Packed(), {"x": torch.rand(4, 5, 3), "lengths": torch.tensor([5, 1, 3, 4])}),
          (Contrasted(), {"x": torch.rand(6, 3), "labels": torch.tensor([0, 1, 0, 1, 2, 2])}),
          (Attended(), {"x": torch.rand(4, 5, 8)}), (Normed(), {"x": torch.rand(4, 3)}), (Drawn(), {"x": torch.rand(4, 3)}))
for model, inputs in MODELS:
    path = os.path.join(sys.argv[1], "model.onnx")
    dtcc_export.export(model, inputs, path)
    loss, gradient = dtcc_export.check(path, model, inputs)
    said = "not compared" if loss is None else "equal" if loss < 1e-5 and gradient < 1e-5 else (loss, gradient)
    print(f"{type(model).__name__}: {said}")
