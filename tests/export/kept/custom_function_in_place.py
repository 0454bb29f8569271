# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A backward pass that fills its result in place."""
import torch


class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        result = gradient.clone()
        result[x < 0] = 0
        return ctx.slope * result, None


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        h = Step.apply(self.first(x), 0.1)
        return (self.second(h) - target).square().mean()
