# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""REFUSED: forward takes a gradient itself (slope, = torch.autograd.grad("""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)

    def forward(self, x, target):
        x = x.clone().requires_grad_()
        h = self.first(x).tanh()
        out = self.second(h)
        slope, = torch.autograd.grad(out.sum(), x, create_graph=True)
        return (out - target).square().mean() + slope.square().mean()
