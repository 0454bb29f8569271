# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bilinear function with its own backward pass, in setup_context form. A third operand gets zeros as its gradient."""
import torch


class Product(torch.autograd.Function):
    @staticmethod
    def forward(x, y, z):
        return x * y * (z > 0.3)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        x, y, z = ctx.saved_tensors
        gradient = torch.where(z > 0.3, gradient, torch.zeros_like(z))
        return gradient * y, 0.5 * (gradient * x), torch.zeros_like(z)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        self.gate = torch.nn.Parameter(torch.rand(8))

    def forward(self, x, target):
        h = Product.apply(self.first(x), self.gate.expand(x.shape[0], 8), self.gate.expand(x.shape[0], 8))
        return (self.second(h) - target).square().mean()
