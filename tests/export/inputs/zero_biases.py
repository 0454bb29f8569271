# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a module whose biases are zero by torch.onnx.export alone, which removes them, and trains the module:

    zero_biases.py FOLDER      writes zero_biases.onnx, zero_biases.jsonl and data/, as kept.py does
"""
import json
import logging
import os
import sys
import warnings

import numpy
import torch

STEPS, ROWS = 5, 4


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.up = torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.ConvTranspose2d(4, 3, 2, 2)
        self.first, self.second = torch.nn.Linear(3, 6), torch.nn.Linear(6, 5)
        for layer in (self.conv, self.up, self.first, self.second):
            torch.nn.init.zeros_(layer.bias)

    def forward(self, x, labels):
        h = self.up(torch.tanh(self.conv(x))).mean((2, 3))
        return torch.nn.functional.cross_entropy(self.second(torch.tanh(self.first(h))), labels)


warnings.filterwarnings("ignore")
logging.getLogger("torch").setLevel(logging.ERROR)
folder = sys.argv[1]
torch.manual_seed(0)
module, xs, labels = Model(), torch.randn(STEPS * ROWS, 2, 4, 4), torch.randint(0, 5, (STEPS * ROWS,))
torch.onnx.export(module, (), os.path.join(folder, "zero_biases.onnx"), kwargs={"x": xs[:ROWS], "labels": labels[:ROWS]},
                  dynamo=True, dynamic_shapes={"x": {0: "batch"}, "labels": {0: "batch"}}, verbose=False,
                  external_data=False)
os.makedirs(os.path.join(folder, "data"), exist_ok=True)
numpy.save(os.path.join(folder, "data", "x.npy"), xs.numpy())
numpy.save(os.path.join(folder, "data", "labels.npy"), labels.numpy())
module.double()
optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2, weight_decay=0.1)
with open(os.path.join(folder, "zero_biases.jsonl"), "w") as file:
    for step in range(STEPS):
        rows = slice(step * ROWS, (step + 1) * ROWS)
        optimizer.zero_grad()
        loss = module(xs[rows].double(), labels[rows])
        loss.backward()
        norm = torch.sqrt(sum((p.grad ** 2).sum() for p in module.parameters())).item()
        optimizer.step()
        file.write(json.dumps({"step": step + 1, "loss": loss.item(), "grad_norm": norm}) + "\n")
    file.write(json.dumps({"buffers": {}}) + "\n")
