# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that ask in Python about a size that stays open: dtcc takes the sizes with the example's answer, and no others.

    size_conditions.py FOLDER
"""
import itertools
import os
import subprocess
import sys
import warnings

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import dtcc_export
from against_torch import BATCH, STEPS, reference, train, worst

EXAMPLE = (3, 8)  # samples and tokens
BATCHES, LENGTHS = (1, 2, 3, 4), (2, 5, 6, 7, 8, 9, 10, 11, 12, 16, 24)


def halvings(size):
    count = 1
    while size > 5:
        size, count = (size + 1) // 2, count + 1
    return count


def checked(size):
    if size > 11:
        raise ValueError("too long")
    return 1


def asserted(size):
    assert size % 2 == 0
    return 1


# Condition in the file -> what forward asks about samples and tokens.
ASKED = {
    "seq <= 10": lambda b, t: 2 if t > 10 else 1,
    "seq != 12": lambda b, t: 3 if t == 12 else 1,
    "seq % 4 == 0": lambda b, t: 2 if t % 4 == 0 else 1,
    "seq > 6": lambda b, t: 2 if t > 6 and b < 4 else 1,
    "batch < 4": lambda b, t: 2 if t > 6 and b < 4 else 1,
    "batch != 2": lambda b, t: 2 if t % 3 == 0 or b == 2 else 1,
    "batch * seq >= 24": lambda b, t: 2 if b * t >= 24 else 1,
    "seq > 2 * batch + 1": lambda b, t: 2 if t > 2 * b + 1 else 1,
    "int(seq ** 0.5) == 2": lambda b, t: int(t**0.5),
    "seq & seq - 1 == 0": lambda b, t: 2 if t & (t - 1) == 0 else 1,
    "(seq + 2) // 5 == 2": lambda b, t: 2 if (t + 2) // 5 == 2 else 1,
    "(seq + 1) // 2 <= 5": lambda b, t: halvings(t),
    "seq / 3 < 3.0": lambda b, t: 2 if t / 3 < 3 else 1,
    "seq <= 11": lambda b, t: checked(t),
    "seq % 2 == 0": lambda b, t: asserted(t),
    "batch > 1": lambda b, t: 2 if b == 1 else 1,
    # Asked of 1, and the answer changes nothing.
    "seq <= 9": lambda b, t: (2 if t > 9 else 1) * (1 if b == 1 else 1),
    # No condition that dtcc computes: it takes the example's sizes alone.
    "seq == 8": lambda b, t: 2 if t ^ 3 == 11 else 1,
}


class Asking(nn.Module):
    def __init__(self, ask):
        super().__init__()
        self.words, self.logits, self.ask = nn.Embedding(50, 8), nn.Linear(8, 50), ask

    def forward(self, x, y):
        h = self.words(x) * self.ask(x.shape[0], x.shape[1])
        return F.cross_entropy(self.logits(h).flatten(0, 1), y.flatten())


def answer(ask, batch, length):
    try:
        return ask(batch, length)
    except (AssertionError, ValueError) as error:
        return type(error)


def tokens(*shape):
    return torch.randint(0, 50, shape, generator=torch.Generator().manual_seed(len(shape)))


def refusal(path, batch, length):
    done = subprocess.run(["dtcc-import", path, f"--bind=batch={batch},seq={length}"], capture_output=True, text=True, timeout=60)
    return done.stderr if done.returncode else ""


def check(condition, ask, folder):
    path, known = os.path.join(folder, "asking.onnx"), condition != "seq == 8"
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        facts = dtcc_export.export(Asking(ask), {"x": tokens(*EXAMPLE), "y": tokens(*EXAMPLE)}, path)
    said = [str(each.message) for each in shown]
    assert ([] if known else [condition]) == [condition for text in said if condition in text], said
    row, = [each for each in facts["conditions"] if each["condition"] == condition]
    taken = 0
    for batch, length in itertools.product(BATCHES, LENGTHS):
        same = answer(ask, batch, length) == answer(ask, *EXAMPLE) if known else length == EXAMPLE[1]
        error = refusal(path, batch, length)
        assert same == (not error), (condition, batch, length, error)
        taken += same
        if error and len(facts["conditions"]) == 1:
            assert f"({row['line']}), and the file holds what follows for sizes with {condition}, got: " in error, error
    print(f"{condition}: {taken} sizes of {len(BATCHES) * len(LENGTHS)}, asked by {row['line']}")


def check_training(folder, length):
    """A size with the example's answer trains as PyTorch does."""
    data = {"x": tokens(STEPS * BATCH, length), "y": tokens(STEPS * BATCH, length).flip(1)}
    for name, cells in data.items():
        numpy.save(os.path.join(folder, "data", name + ".npy"), cells.numpy())
    model, path = Asking(ASKED["seq <= 10"]), os.path.join(folder, "asking.onnx")
    dtcc_export.export(model, {"x": tokens(*EXAMPLE), "y": tokens(*EXAMPLE)}, path)
    got = train(path, "dp=2", {"batch": BATCH, "seq": length}, folder)
    if isinstance(got, str):
        return got
    return "trains as PyTorch does" if worst(got, reference(model, data, torch.float64)) < 2e-6 else "trains otherwise"


def check_fixed(folder):
    """A size that is fixed in the trace is bound to no other."""
    path = os.path.join(folder, "fixed.onnx")
    dtcc_export.export(Asking(lambda b, t: 1 / float(b)), {"x": tokens(*EXAMPLE), "y": tokens(*EXAMPLE)}, path, dynamic={})
    done = subprocess.run(["dtcc-import", path, "--bind=x.0=4,y.0=4"], capture_output=True, text=True, timeout=60)
    return done.stderr.strip()


def main(folder):
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    for condition, ask in ASKED.items():
        check(condition, ask, folder)
    for length in (5, 16):
        print(f"length {length}: {check_training(folder, length)}")
    print(check_fixed(folder))


main(sys.argv[1])
