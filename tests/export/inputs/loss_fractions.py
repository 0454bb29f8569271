# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses that are one sum over samples divided by another, in the forms that people write: multiples, sums over the same
labels, smoothing, masks. Micro-batches and ranks have parts of both sums. How it is called: against_torch.py."""
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch

CLASSES, WIDTH = 5, 8


def masked(logits, labels, mask):
    losses = F.cross_entropy(logits, labels, reduction="none", ignore_index=-100)
    return (losses * mask).sum() / mask.sum()


FORMS = {
    "half": lambda z, y, m: 0.5 * F.cross_entropy(z, y),
    "negated": lambda z, y, m: -(-F.cross_entropy(z, y) / 3),
    "two": lambda z, y, m: F.cross_entropy(z, y) - 0.25 * F.cross_entropy(2 * z, y),
    "smoothed": lambda z, y, m: F.cross_entropy(z, y, label_smoothing=0.1),
    "masked": lambda z, y, m: masked(z, y, m),
    "twice_masked": lambda z, y, m: masked(z, y, m) + 0.5 * (z.pow(2).mean(1) * m).sum() / m.sum(),
}


class Model(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.layers = nn.Sequential(nn.Linear(WIDTH, 16), nn.Tanh(), nn.Linear(16, CLASSES))

    def forward(self, x, labels, mask):
        return FORMS[self.form](self.layers(x), labels, mask)


def inputs():
    random = numpy.random.default_rng(4)
    rows = against_torch.BATCH * against_torch.STEPS
    labels = random.integers(0, CLASSES, rows)
    labels[::3] = -100
    return {"x": random.normal(size=(rows, WIDTH)).astype(numpy.float32), "labels": labels,
            "mask": (random.random(rows) < 0.7).astype(numpy.float32) + 0.25}


if __name__ == "__main__":
    sys.exit(against_torch.main({form: lambda form=form: Model(form) for form in FORMS}, inputs()))
