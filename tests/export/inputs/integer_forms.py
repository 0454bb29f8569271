# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers and booleans that masks, positions and indices are built with: a model for each form, and "all", which adds
them up. How it is called: against_torch.py."""
import sys

import numpy
import torch
from torch import nn

import against_torch

LENGTH = 16

# Functions of two tensors of ids [b, t], from 0 to 29.
FORMS = {
    "running_sum": lambda a, b: torch.cumsum(a, 1),
    "running_count": lambda a, b: torch.cumsum((a > 9).long(), 1) * (a > 9),
    "running_extremes": lambda a, b: torch.cummax(a - 15, 1).values - torch.cummin(b - 15, 1).values,
    "running_extremes_of_flags": lambda a, b: torch.cummax((a > 25).int(), 1).values + torch.cummin(b > 3, 1).indices,
    "running_product": lambda a, b: torch.cumprod(a % 2 + 1, 1) // 64,
    "positions": lambda a, b: torch.cumsum((a != 3).int(), 1) - 1,
    "sum": lambda a, b: a.sum(1, keepdim=True),
    "sum_of_all": lambda a, b: a.sum() + b,
    "largest": lambda a, b: a.amax(1, keepdim=True) - a.amin(1, keepdim=True),
    "any": lambda a, b: (a > 27).any(1, keepdim=True),
    "all": lambda a, b: (a > 0).all(1, keepdim=True),
    "argmax": lambda a, b: a.argmax(1, keepdim=True),
    "sign": lambda a, b: torch.sign(a - 15),
    "absolute": lambda a, b: (a - 15).abs() - (-b),
    "floor_division": lambda a, b: (a - 15) // 4,
    "remainder": lambda a, b: (a - 15) % 7,
    "bits": lambda a, b: (a & b) + (a | b) - (a ^ 5),
    "shifts": lambda a, b: ((a - 15) << 2) + ((b - 15) >> 1),
    "shifts_of_large": lambda a, b: ((a * 2**21 + b) >> 3) % 13,
    "not": lambda a, b: ~(a > 9),
    "powers": lambda a, b: a ** 2 - (b - 15) ** 3,
    "extremes": lambda a, b: torch.maximum(a, b) - torch.minimum(a, b),
    "where": lambda a, b: torch.where(a > b, a, b - 3),
    "greatest_of_all": lambda a, b: torch.where(a > 9, a, 2**63 - 1).amin(1, keepdim=True).clamp(max=99),
    "between": lambda a, b: a.clamp(3, 11),
    "narrow": lambda a, b: (a.to(torch.int32) * 3).to(torch.int64),
    "narrow_sum": lambda a, b: a.to(torch.int32).cumsum(1, dtype=torch.int32),
    "flags": lambda a, b: (a > 9) ^ (b > 9) | (a == b),
    "boolean_of_integer": lambda a, b: (a % 3).bool(),
    "integer_of_float": lambda a, b: (a.float() / 3).long(),
    "segments": lambda a, b: torch.cumsum((a == 3).long(), 1),
    "gathered": lambda a, b: torch.gather(b, 1, a % LENGTH),
    "gathered_flags": lambda a, b: torch.gather(b > 9, 1, a % LENGTH),
    "sorted": lambda a, b: b[:, torch.arange(LENGTH - 1, -1, -1)] + a,
}


def checked(a, b):
    torch._check_tensor_all(a.sum() >= b.amin(), lambda: "too few")
    return a + b


FORMS["checked"] = checked


class Model(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.names, self.factors, self.out = names, nn.Parameter(torch.randn(len(names))), nn.Linear(LENGTH, LENGTH)

    def forward(self, x, ids, others):
        for name, factor in zip(self.names, self.factors):
            x = x + torch.tanh(factor * FORMS[name](ids, others).to(x.dtype) / 40)
        return (self.out(x) ** 2).mean()


def inputs():
    random, shape = numpy.random.default_rng(6), (against_torch.BATCH * against_torch.STEPS, LENGTH)
    return {"x": random.standard_normal(shape).astype(numpy.float32), "ids": random.integers(0, 30, shape),
            "others": random.integers(0, 30, shape)}


MODELS = {form: lambda form=form: Model([form]) for form in FORMS} | {"together": lambda: Model(list(FORMS))}

if __name__ == "__main__":
    sys.exit(against_torch.main(MODELS, inputs(), LENGTH))
