# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules exported by torch.onnx.export alone, which merges parameters of equal numbers and moves weights, trained against
PyTorch in double precision: plain_forms.py FOLDER

Layers that nn.TransformerEncoder copies are parameters of their own; weights that a module ties are one."""
import json
import logging
import os
import sys
import warnings

import numpy
import torch
from torch import nn

import against_torch


class Copies(nn.Module):
    """Layers that begin with the same numbers, as linear layers, convolutions and norms."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.convolutions = nn.ModuleList(nn.Conv1d(16, 16, 3, padding=1) for _ in range(2))
        self.convolutions[1].load_state_dict(self.convolutions[0].state_dict())
        self.head = nn.Linear(16, 4)

    def forward(self, x, labels):
        x = self.encoder(x).transpose(1, 2)
        for convolution in self.convolutions:
            x = torch.relu(convolution(x))
        return nn.functional.cross_entropy(self.head(x.mean(2)), labels)


class Tied(nn.Module):
    """Two linear layers with one weight and biases of their own, and one norm that is called twice."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm, self.head = nn.Linear(16, 16), nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 4)
        self.second.weight = self.first.weight

    def forward(self, x, labels):
        x = self.norm(self.second(torch.tanh(self.norm(self.first(x)))))
        return nn.functional.cross_entropy(self.head(x.mean(1)), labels)


warnings.filterwarnings("ignore")
logging.getLogger("torch").setLevel(logging.ERROR)
folder = sys.argv[1]
os.makedirs(os.path.join(folder, "data"), exist_ok=True)
rows = against_torch.STEPS * against_torch.BATCH
torch.manual_seed(0)
data = {"x": torch.randn(rows, 5, 16), "labels": torch.randint(0, 4, (rows,))}
for name, cells in data.items():
    numpy.save(os.path.join(folder, "data", name + ".npy"), cells.numpy())
good = True
for make in (Copies, Tied):
    module, path = make(), os.path.join(folder, make.__name__ + ".onnx")
    batch = {name: cells[:against_torch.BATCH] for name, cells in data.items()}
    torch.onnx.export(module, (), path, kwargs=batch, dynamo=True, verbose=False,
                      dynamic_shapes={name: {0: "batch"} for name in batch})
    wanted = against_torch.reference(module, data, torch.float64)
    got = against_torch.train(path, "dp=1", {"batch": against_torch.BATCH}, folder)
    far = got if isinstance(got, str) else against_torch.worst(got, wanted)
    print(f"{make.__name__}: {far}")
    good &= not isinstance(got, str) and far <= against_torch.REACH
print("all train as PyTorch does" if good else json.dumps({"wrong": True}))
sys.exit(not good)
