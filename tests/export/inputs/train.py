# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a module of the zoo, on its own example as the one batch, in double precision:

    train.py NAME FOLDER STEPS [PARTS]

Gradients are accumulated over PARTS equal parts of the batch, each with a loss of its own. FOLDER gets data/INPUT.npy and steps.jsonl (step, loss, grad_norm before each update). The optimizer is SGD with a
learning rate of 1e-5: a fresh network of this depth has gradients of a norm of 1,000."""
import json
import os
import sys

import numpy
import torch

import zoo

module, inputs, *_ = getattr(zoo, sys.argv[1])()
folder, steps, parts = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1
os.makedirs(os.path.join(folder, "data"), exist_ok=True)
for name, value in inputs.items():
    numpy.save(os.path.join(folder, "data", name + ".npy"), numpy.concatenate([value.numpy()] * steps))
module.double().train()
optimizer = torch.optim.SGD(module.parameters(), lr=1e-5)
labels = inputs.pop("labels")
with open(os.path.join(folder, "steps.jsonl"), "w") as file:
    for step in range(steps):
        optimizer.zero_grad()
        total = 0
        for part in range(parts):
            some = {name: value.chunk(parts)[part] for name, value in inputs.items()}
            target = labels.chunk(parts)[part]
            if hasattr(module, "config"):  # transformers' models have their loss
                loss = module(**some, labels=target).loss / parts
            else:
                result = module(*(value.double() for value in some.values()))
                loss = torch.nn.functional.cross_entropy(result, target) / parts
            loss.backward()
            total += loss.item()
        norm = torch.sqrt(sum((p.grad ** 2).sum() for p in module.parameters())).item()
        optimizer.step()
        file.write(json.dumps({"step": step + 1, "loss": total, "grad_norm": norm}) + "\n")
