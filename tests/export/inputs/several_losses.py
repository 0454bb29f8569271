# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses of several terms that are divided by numbers of their own: labels that are not ignored, weights of classes,
sums and extremes of masks, sizes. Micro-batches need these numbers of the whole batch. How it is called: against_torch.py.
The forms of REFUSED need a number of the whole batch that depends on parameters, and may have one micro-batch.

    several_losses.py --write FOLDER

writes what tests/e2e/Inputs/losses holds: for each of FIXTURES its file and 5 steps of AdamW in double precision, as
tests/e2e/Inputs/kept.py reads them, and the data of all."""
import json
import os
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch
import dtcc_export

CLASSES, WIDTH = 5, 8
FIXTURES = ["two_labels", "class_weights", "masked", "divided_by_mean", "z_loss_of_counted"]
STEPS, ROWS = 5, 4


def masked(values, mask):
    return (values * mask).sum() / mask.sum()


def z_loss(y):
    return torch.logsumexp(y, -1).pow(2)


def squares(y, t):
    return F.mse_loss(y, t, reduction="none").mean(1)


def weighted(y, a):
    return F.cross_entropy(y, a, weight=torch.tensor([1, 2, 0.5, 3, 1.5], dtype=y.dtype))


def by_frequency(y, a):
    """Each class counts alike, however often the batch has it."""
    a = a.clamp(min=0)
    share = 1 / F.one_hot(a, CLASSES).to(y.dtype).sum(0).clamp(min=1)
    return (F.cross_entropy(y, a, reduction="none") * share[a]).sum()


def switch(y):
    """The balance loss of the Switch transformer: a product of two means."""
    p = y.softmax(-1)
    return CLASSES * (F.one_hot(p.argmax(-1), CLASSES).to(y.dtype).mean(0) * p.mean(0)).sum()


# Of two heads y and z, labels a and b of which other samples are ignored, a mask m and targets t.
FORMS = {
    "two_labels": lambda y, z, a, b, m, t: F.cross_entropy(y, a) + 0.5 * F.cross_entropy(z, b),
    "three_terms": lambda y, z, a, b, m, t: (F.cross_entropy(y, a) + F.cross_entropy(z, b) + F.smooth_l1_loss(y, t)) / 3,
    "sum_beside_mean": lambda y, z, a, b, m, t: F.cross_entropy(y, a) / 3 - F.cross_entropy(z, b, reduction="sum") / 40,
    "z_loss": lambda y, z, a, b, m, t: F.cross_entropy(y, a) + 0.01 * z_loss(y).mean(),
    "z_loss_of_counted": lambda y, z, a, b, m, t: F.cross_entropy(y, a) + 0.01 * masked(z_loss(z), b != -100),
    "squares": lambda y, z, a, b, m, t: F.cross_entropy(y, a) + F.mse_loss(z, t),
    "masked": lambda y, z, a, b, m, t: F.cross_entropy(y, a) + 0.3 * masked(squares(z, t), m),
    "class_weights": lambda y, z, a, b, m, t: weighted(y, a) + F.cross_entropy(z, b, label_smoothing=0.1),
    "divided_by_mean": lambda y, z, a, b, m, t: (squares(y, t) * m / m.mean()).mean() + 0.1 * F.l1_loss(z, t),
    "divided_by_maximum": lambda y, z, a, b, m, t: F.cross_entropy(y, a) + (squares(z, t) * m).mean() / m.max(),
    "by_frequency": lambda y, z, a, b, m, t: by_frequency(y, a) + F.cross_entropy(z, b),
}
REFUSED = {
    "switch": lambda y, z, a, b, m, t: F.cross_entropy(y, a) + 0.01 * switch(z),
    "root": lambda y, z, a, b, m, t: F.cross_entropy(y, a) + F.mse_loss(z, t).sqrt(),
    "divided_by_scores": lambda y, z, a, b, m, t: F.cross_entropy(y, a) / z.detach().abs().max(),
    "all_pairs": lambda y, z, a, b, m, t: F.cross_entropy(y @ z.T, torch.arange(y.shape[0])),
}


class Model(nn.Module):
    def __init__(self, form):
        super().__init__()
        self.form = form
        self.layers = nn.Sequential(nn.Linear(WIDTH, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
        self.one, self.two = nn.Linear(16, CLASSES), nn.Linear(16, CLASSES)

    def forward(self, x, a, b, mask, target):
        h = self.layers(x)
        return (FORMS | REFUSED)[self.form](self.one(h), self.two(h), a, b, mask, target)


def inputs(rows=against_torch.BATCH * against_torch.STEPS):
    random = numpy.random.default_rng(4)
    a, b = (random.integers(0, CLASSES, rows) for _ in range(2))
    a[::3], b[1::4] = -100, -100
    return {"x": random.normal(size=(rows, WIDTH)).astype(numpy.float32), "a": a, "b": b,
            "mask": (random.random(rows) < 0.7).astype(numpy.float32) + 0.25,
            "target": random.normal(size=(rows, CLASSES)).astype(numpy.float32)}


def write(folder):
    data = inputs(STEPS * ROWS)
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    for name, cells in data.items():
        numpy.save(os.path.join(folder, "data", name + ".npy"), cells)
    data = {name: torch.as_tensor(cells) for name, cells in data.items()}
    for form in FIXTURES:
        torch.manual_seed(1)
        model = Model(form)
        dtcc_export.export(model, {name: cells[:ROWS] for name, cells in data.items()}, os.path.join(folder, form + ".onnx"))
        model.double()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
        with open(os.path.join(folder, form + ".jsonl"), "w") as file:
            for step in range(STEPS):
                rows = slice(step * ROWS, (step + 1) * ROWS)
                batch = {n: c[rows].double() if c.is_floating_point() else c[rows] for n, c in data.items()}
                optimizer.zero_grad()
                loss = model(**batch)
                loss.backward()
                norm = torch.sqrt(sum((p.grad ** 2).sum() for p in model.parameters())).item()
                optimizer.step()
                file.write(json.dumps({"step": step + 1, "loss": loss.item(), "grad_norm": norm}) + "\n")
            file.write(json.dumps({"buffers": {}}) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        sys.exit(write(sys.argv[2]))
    known = FORMS if "--only" not in sys.argv else FORMS | REFUSED
    sys.exit(against_torch.main({form: lambda form=form: Model(form) for form in known}, inputs()))
