# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions at their kinks: the first step's operands stand at them exactly, and the losses after it show which gradient was
taken. Bounds near zero are no zeros. How it is called: against_torch.py."""
import math
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn

import against_torch

WIDTH = 8
FORMS = {
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp_min": lambda x: x.clamp(min=0.5),
    "clamp_max": lambda x: x.clamp(max=0.5),
    "relu": F.relu,
    "relu6": lambda x: F.relu6(6 * x),
    "hardtanh": F.hardtanh,
    "hardswish": lambda x: F.hardswish(3 * x),
    "hardsigmoid": lambda x: F.hardsigmoid(3 * x),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "prelu": lambda x: F.prelu(x, torch.full((1,), 0.25, dtype=x.dtype)),
    "elu": F.elu,
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 2.0),
    "threshold": lambda x: F.threshold(x, 0.5, 0.1),
    "softshrink": F.softshrink,
    "softplus": F.softplus,
    "softplus_tail": lambda x: 1e4 * F.softplus(x - 11),
    "mish": F.mish,
    "asinh": torch.asinh,
    "asinh_near_zero": lambda x: 1e4 * torch.asinh(1e-4 * x),
    "atanh": lambda x: torch.atanh(x / 2) + 1e4 * torch.atanh(1e-4 * x),
    "abs": torch.abs,
    "minimum": lambda x: torch.minimum(x, x.roll(1, 0)),
    "power": lambda x: x ** 0 + x ** 2,
    "norm": lambda x: (x * (x.detach() > 5)).norm(dim=1, keepdim=True).expand_as(x) + x.norm(dim=1, keepdim=True),
    "normalized": lambda x: F.normalize(x * (x.detach() > 5).to(x.dtype), dim=1) + F.normalize(x, dim=1),
    "deviation": lambda x: (x * (x.detach() > 5)).std(1, keepdim=True) + x.std(1, keepdim=True).expand_as(x),
    "batch_deviation": lambda x: (x * (x.detach() > 5)).std(0, unbiased=False) + torch.std_mean(x, 0)[0] * x,
    "deviation_of_all": lambda x: (0 * x).std() + torch.std_mean(x)[1] * x,
    "sinc": torch.sinc,
    "log_sigmoid": lambda x: F.logsigmoid(x),
    "log_sum": lambda x: torch.logaddexp(x, x.roll(1, 0)) + torch.logaddexp(x, torch.zeros_like(x)) / 2,
    "log_sum_of_two": lambda x: torch.logaddexp2(x, x.roll(1, 1)),
    "log_sum_of_nothing": lambda x: torch.logaddexp(x, torch.full_like(x, -math.inf)).exp() + torch.logaddexp(
        *torch.full((2, 1, 1), -math.inf, dtype=x.dtype)).exp(),
    "soft_margin": lambda x: F.soft_margin_loss(x, torch.sign(x.detach() + 0.1), reduction="none"),
    "cross_entropy_of_two": lambda x: F.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.3), reduction="none"),
    "product_with_logarithm": lambda x: torch.xlogy(x, 3.0) + torch.xlogy(x, x.roll(1, 1).detach().abs() + 0.5),
    "product_with_logarithm_of_zero": lambda x: torch.xlogy(x.clamp(min=0), x.detach().clamp(min=0)),
    "product_with_logarithm_of_sum": lambda x: torch.special.xlog1py(x, 2.0) + torch.special.xlog1py(0.5, x.abs()),
    "logarithm_of_small_sum": lambda x: 1e12 * torch.log1p(1e-12 * x) + 5e5 * torch.log1p(-1e-6 * x),
    "exponential_of_small": lambda x: 1e12 * torch.expm1(1e-12 * x) + 5e5 * torch.expm1(-1e-6 * x) + torch.expm1(-x.abs()),
    "logarithm": lambda x: torch.log(x.clamp(min=1e-6)) / 10,
    "certain": lambda x: F.binary_cross_entropy(torch.sigmoid(300 * x), (x.detach() > 0.7).to(x.dtype), reduction="none") / 50,
    "greatest": lambda x: x.amax(1, keepdim=True).expand_as(x),
}


class Model(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.names, self.at = names, nn.Parameter(torch.zeros(len(names), WIDTH))
        self.scale = nn.Parameter(torch.rand(len(names), WIDTH) + 0.5)

    def forward(self, x):
        total = 0.0
        for name, at, scale in zip(self.names, self.at, self.scale):
            total = total + (torch.tanh(FORMS[name](x + at)) * scale).mean()
        return total


def inputs():
    random = numpy.random.default_rng(3)
    return {"x": (random.integers(-2, 3, (against_torch.BATCH * against_torch.STEPS, WIDTH)) / 2).astype(numpy.float32)}


MODELS = {form: lambda form=form: Model([form]) for form in FORMS} | {"together": lambda: Model(list(FORMS))}

if __name__ == "__main__":
    sys.exit(against_torch.main(MODELS, inputs()))
